package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a word or one punctuation rune. A word may hold inner apostrophes and hyphens
// ("don't", "Jean-Luc"); its possessive ending is outside [from, bare).
type token struct {
	from, to int32
	bare     int32  // end without a possessive 's or '
	low      string // lower case, ' for ’
	word     bool
	capital  bool // first rune is upper or title case
	shout    bool // two letters or more, all upper case
	inner    bool // an upper-case letter after a lower-case one, or a digit
	start    bool // first word of its sentence
	glued    bool // nothing but spaces on one line between this and the token before
	masked   bool // part of a code-like mention
	flat     bool // in a headline, a label or shouting: its capital says nothing
	sent     int32
}

func (t token) is(r string) bool {
	return !t.word && t.low == r
}

// base is the lower-case word without its possessive.
func (t token) base() string {
	if t.bare < t.to {
		n := int(t.bare - t.from)
		if n <= len(t.low) && len(t.low) == int(t.to-t.from) {
			return t.low[:n]
		}
		return strings.TrimSuffix(strings.TrimSuffix(t.low, "'s"), "'")
	}
	return t.low
}

func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r)
}

func apostrophe(r rune) bool { return r == '\'' || r == '’' || r == 'ʼ' }

// maxTokens bounds the work on a text nobody wrote by hand; what follows is not looked at. A megabyte
// of prose has some 200,000 words.
const maxTokens = 1 << 20

// scan cuts text into tokens and marks where sentences start.
func scan(text string) []token {
	toks := make([]token, 0, len(text)/5+8)
	start, sent := true, int32(0)
	glued := false
	pending := false // a line break was passed: the next word decides whether the sentence ended
	for i := 0; i < len(text) && len(toks) < maxTokens; {
		c := text[i]
		switch {
		case c == ' ' || c == '\t':
			i++
			continue
		case c == '\n' || c == '\r':
			n := 0
			for i < len(text) && (text[i] == '\n' || text[i] == '\r' || text[i] == ' ' || text[i] == '\t') {
				if text[i] == '\n' {
					n++
				}
				i++
			}
			glued = false
			if n > 1 {
				start = true
			} else {
				pending = true
			}
			continue
		}
		r, w := rune(c), 1
		if c >= utf8.RuneSelf {
			r, w = utf8.DecodeRuneInString(text[i:])
			if unicode.IsSpace(r) {
				i += w
				continue
			}
		}
		if !wordRune(r) {
			t := token{from: int32(i), to: int32(i + w), bare: int32(i + w), low: text[i : i+w], glued: glued, sent: sent}
			if pending && (r == '-' || r == '*' || r == '#' || r == '>' || r == '•' || r == '"' || r == '“' || r == '[' || r == '(') {
				start = true
			}
			if pending && start && len(toks) > 0 {
				sent++
				t.sent = sent
			}
			pending = false
			toks = append(toks, t)
			glued = true
			i += w
			if ends(text, i, r, toks) {
				start = true
				sent++
			}
			continue
		}
		// A word.
		from := i
		lower, upper, inner, plain := false, 0, false, true
		letters := 0
		bare := -1
		first := r
		prev := rune(0)
		for i < len(text) {
			r, w = rune(text[i]), 1
			if text[i] >= utf8.RuneSelf {
				r, w = utf8.DecodeRuneInString(text[i:])
			}
			if wordRune(r) {
				switch {
				case r < utf8.RuneSelf && 'a' <= r && r <= 'z':
					lower = true
					letters++
				case r < utf8.RuneSelf && 'A' <= r && r <= 'Z', r >= utf8.RuneSelf && (unicode.IsUpper(r) || unicode.IsTitle(r)):
					plain = false
					upper++
					letters++
					if prev != 0 && lower && prev != '-' {
						inner = true
					}
				case '0' <= r && r <= '9':
					inner = true
				case r >= utf8.RuneSelf:
					plain = false
					lower = lower || unicode.IsLower(r)
					letters++
				}
				prev = r
				i += w
				continue
			}
			if i+w < len(text) && (apostrophe(r) || r == '-' || r == '‑') {
				n, nw := utf8.DecodeRuneInString(text[i+w:])
				if unicode.IsLetter(n) || r == '-' && n >= '0' && n <= '9' {
					if apostrophe(r) {
						if r != '\'' {
							plain = false
						}
						if (n == 's' || n == 'S') && !nextIsWord(text[i+w+nw:]) {
							bare = i
						}
					}
					prev = '-'
					i += w
					continue
				}
			}
			break
		}
		t := token{from: int32(from), to: int32(i), bare: int32(i), word: true, glued: glued, inner: inner}
		t.capital = unicode.IsUpper(first) || unicode.IsTitle(first)
		t.shout = upper >= 2 && upper == letters
		if bare >= 0 {
			t.bare = int32(bare)
			body := text[from:bare]
			t.shout = len(body) >= 2 && strings.ToUpper(body) == body && strings.ToLower(body) != body
		} else if i < len(text) && i-from > 2 && (text[i-1] == 's' || text[i-1] == 'S') && t.capital {
			if r, _ := utf8.DecodeRuneInString(text[i:]); apostrophe(r) { // Jess' book
				if len(toks) == 0 || !toks[len(toks)-1].is(text[i:i+utf8.RuneLen(r)]) {
					t.to = int32(i + utf8.RuneLen(r))
					i = int(t.to)
				}
			}
		}
		t.low = text[from:t.to]
		if !plain || t.to != int32(i) {
			t.low = strings.ToLower(t.low)
			if strings.ContainsAny(t.low, "’ʼ") {
				t.low = strings.NewReplacer("’", "'", "ʼ", "'").Replace(t.low)
			}
		}
		if pending {
			pending = false
			if t.capital || inner {
				start = true
			}
		}
		if start && len(toks) > 0 && toks[len(toks)-1].sent == sent {
			if lastWord(toks, sent) {
				sent++
			}
		}
		t.start, t.sent = start, sent
		start = false
		toks = append(toks, t)
		glued = true
	}
	return toks
}

func lastWord(toks []token, sent int32) bool {
	for i := len(toks) - 1; i >= 0 && toks[i].sent == sent; i-- {
		if toks[i].word {
			return true
		}
	}
	return false
}

func nextIsWord(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return s != "" && wordRune(r)
}

// ends tells whether the punctuation r, just passed, ends a sentence; i is the offset behind it.
func ends(text string, i int, r rune, toks []token) bool {
	switch r {
	case '!', '?', '…', '。', '！', '？', '।':
		return true
	case '.':
	default:
		return false
	}
	j := i
	for j < len(text) && strings.IndexByte("\"')]}”’.*_", text[j]) >= 0 {
		j++
	}
	if strings.HasPrefix(text[j:], "”") || strings.HasPrefix(text[j:], "’") {
		j += len("”")
	}
	if j < len(text) && text[j] != ' ' && text[j] != '\n' && text[j] != '\r' && text[j] != '\t' {
		return false
	}
	if k := len(toks) - 2; k >= 0 && toks[k].word && toks[k].to == toks[k+1].from {
		p := toks[k]
		if dotted.has(p.low) && p.low != "no" && (p.low != "co") {
			return false
		}
		if p.capital && p.to-p.from == 1 && p.low != "i" { // an initial
			return false
		}
		if p.to-p.from == 1 && k > 0 && toks[k-1].is(".") { // e.g.
			return false
		}
	}
	for j < len(text) && (text[j] == ' ' || text[j] == '\t') {
		j++
	}
	if j < len(text) && 'a' <= text[j] && text[j] <= 'z' && !strings.HasPrefix(text[j:], "i ") && !strings.HasPrefix(text[j:], "i'") {
		return text[i-1] == '.' && informal(text, i) // all-lower-case chat: "i left. then it rained"
	}
	return true
}

// informal tells whether the stretch before i starts its sentence in lower case, so that lower case
// after a full stop says nothing.
func informal(text string, i int) bool {
	from := i - 1
	for n := 0; from > 0 && n < 400; n++ {
		from--
		if strings.IndexByte(".!?\n", text[from]) >= 0 {
			from++
			break
		}
	}
	s := strings.TrimLeft(text[from:i], " \t\"'(")
	return s != "" && 'a' <= s[0] && s[0] <= 'z'
}
