package temporal

import (
	"time"
	"unicode/utf8"
)

// parser reads one text. Its methods take a token index and give the index after what they read, 0 where
// nothing was read; they never move anything themselves, so alternatives cost nothing to try.
type parser struct {
	reader
	text  string
	toks  []token
	kept  [3]kept
	keep  int
	depth int // dates inside dates
	free  int // a number that may have a mark glued to its left: the second end of a range
}

// english finds the expressions of text by the English rules.
func (r *Resolver) english(text string, ref time.Time) (out []Mention) {
	var buf [96]token
	toks, trigger := tokenize(text, buf[:])
	if !trigger && len(text) > shortText {
		return nil
	}
	p := &parser{reader: reader{r: r, ref: ref}, text: text, toks: toks, free: -1}
	p.bare = p.isBare()
	sign := -1 // the next token that a time can hang on
	for i := 0; i < len(toks); {
		for sign < i && sign < len(toks) {
			sign++
			for sign < len(toks) && !toks[sign].sign {
				sign++
			}
		}
		if sign-i > reach && len(text) > shortText {
			i = sign - reach
			if sign == len(toks) {
				break
			}
			continue
		}
		if !p.starts(i) {
			i++
			continue
		}
		p.aim(i)
		m, next, ok := p.mention(i)
		if !ok {
			i++
			continue
		}
		m.From, m.To = toks[i].from, toks[next-1].to
		if toks[next-1].poss { // without its 's
			m.To = p.unpossessed(next - 1)
		}
		m.Text = text[m.From:m.To]
		m.Tense = p.tensed
		out = append(out, m)
		i = next
	}
	return out
}

// unpossessed is where the word at i ends without its 's.
func (p *parser) unpossessed(i int) int {
	end := p.toks[i].to - 1
	for end > p.toks[i].from && p.text[end] != '\'' && p.text[end] < utf8.RuneSelf {
		end--
	}
	for end > p.toks[i].from && !utf8.RuneStart(p.text[end]) {
		end--
	}
	return end
}

// firstIdeograph is where Chinese, Japanese and Korean characters and marks begin in Unicode.
const firstIdeograph = 0x2E80

// reach is how many tokens before its first sign of time an expression can begin: "a couple of more than
// three weeks".
const reach = 7

// shortText is the length in bytes up to which a text is read though no word of it is a sign of time:
// "ten thirty", "on the first" are times only when they stand alone.
const shortText = 24

// isBare reports whether every word of the text belongs to the vocabulary of times.
func (p *parser) isBare() bool {
	for i := range p.toks {
		t := &p.toks[i]
		if t.kind == aMark && t.mark >= firstIdeograph {
			return false
		}
		if t.kind != aWord || p.isNumber(i-1) && (p.suffix(i) || p.raw(i) == "s" && p.glued(i)) {
			continue
		}
		if t.w == nil || t.w.cls&(cNumber|cOrdinal|cMonth|cWeekday|cUnit|cDeictic|cPrevious|cFollowing|cCurrent|cPart|cSeason|
			cAmPm|cClock|cDecade|cZone|cPosition|cFeast|cFunction|cPrep|cTrigger) == 0 {
			return false
		}
	}
	return true
}

// aim settles the direction for an expression that starts at token i.
func (p *parser) aim(i int) {
	if p.bare {
		p.tensed, p.dir = 0, +1
		return
	}
	p.tensed = p.tense(i, i+1)
	p.dir = -1
	if p.tensed > 0 {
		p.dir = +1
	}
}

// starts reports whether an expression can start at token i: a cheap look before the grammar is tried.
func (p *parser) starts(i int) bool {
	t := &p.toks[i]
	switch t.kind {
	case aNumber:
		return p.leftClear(i)
	case aMark:
		return t.mark == '\'' && p.isNumber(i+1) && p.toks[i+1].digits == 2 && !p.toks[i+1].space && t.space
	}
	if t.w == nil {
		return false
	}
	if i > 0 && !t.space && p.toks[i-1].kind == aNumber {
		return false
	}
	const any = cNumber | cOrdinal | cMonth | cWeekday | cUnit | cDeictic | cPrevious | cFollowing | cCurrent | cPart | cSeason |
		cClock | cDecade | cPosition | cTrigger | cFeast
	if t.w.cls&any != 0 {
		return true
	}
	switch t.w.s {
	case "the", "a", "an", "in", "for", "by", "before", "after", "from", "between", "within", "over", "during", "through", "thru", "until",
		"untill", "almost", "nearly", "more", "less", "roughly", "approximately", "couple", "few", "several", "all", "rest", "half", "day's", "around", "about", "every", "each", "back", "as":
		return true
	}
	return false
}

// leftClear reports whether nothing is glued to the left of the number at token i that makes it part of
// something else: a version, a port, a path, a phone number.
func (p *parser) leftClear(i int) bool {
	t := &p.toks[i]
	if t.space || i == 0 || i == p.free {
		return true
	}
	l := &p.toks[i-1]
	if l.kind != aMark {
		return false
	}
	switch l.mark {
	case '(', '[', '|', '@': // not buf[8:12], recall@5
		return l.space || i == 1 || p.toks[i-2].kind == aMark
	case '"', '\'', '~', '*', '_', '“', '‘', '>', '<', '；', '，', '。', '：':
		return true
	case '-', ',', '/':
		return l.space || i < 2
	}
	return false
}

// rightClear reports whether nothing is glued to the right of token i-1 that makes it part of something else.
func (p *parser) rightClear(i int) bool {
	if i >= len(p.toks) {
		return true
	}
	t := &p.toks[i]
	if t.space {
		return true
	}
	switch t.kind {
	case aNumber:
		return false
	case aWord:
		return false
	}
	switch t.mark {
	case '.', ':', '/', '-', '_', '@', '%', '°', '$', '€', '£', '+', '=', '#', '\\', '&', '\'':
		// a full stop at the end of a sentence is clear, one before more text is not
		return i+1 >= len(p.toks) || p.toks[i+1].space || p.toks[i+1].kind == aMark && t.mark == '.'
	}
	return true
}

func (p *parser) is(i int, s string) bool {
	return i >= 0 && i < len(p.toks) && p.toks[i].w != nil && p.toks[i].w.s == s
}

func (p *parser) isAny(i int, words ...string) bool {
	for _, s := range words {
		if p.is(i, s) {
			return true
		}
	}
	return false
}

func (p *parser) has(i int, c class) bool {
	return i >= 0 && i < len(p.toks) && p.toks[i].w != nil && p.toks[i].w.cls&c != 0
}

func (p *parser) isNumber(i int) bool { return i >= 0 && i < len(p.toks) && p.toks[i].kind == aNumber }

func (p *parser) isMark(i int, m rune) bool {
	return i >= 0 && i < len(p.toks) && p.toks[i].kind == aMark && p.toks[i].mark == m
}

func (p *parser) glued(i int) bool { return i > 0 && i < len(p.toks) && !p.toks[i].space }

// after skips the word s at i if it stands there.
func (p *parser) skip(i int, words ...string) int {
	if p.isAny(i, words...) {
		return i + 1
	}
	return i
}

// led reports whether the token before i is a preposition that makes a bare month, hour or day a time, or
// the text is bare.
func (p *parser) led(i int) bool {
	if p.bare {
		return true
	}
	for k := i - 1; k >= 0 && k >= i-3; k-- {
		if p.has(k, cPrep) {
			return true
		}
		if !p.isAny(k, "the", "about", "around", "approximately", "roughly", "mid", "early", "late") && !p.isMark(k, '@') {
			return p.isMark(k, '@')
		}
	}
	return i > 0 && p.isMark(i-1, '@')
}
