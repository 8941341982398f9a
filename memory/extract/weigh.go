package extract

import (
	"strings"
	"unicode/utf8"
)

// What speaks for and against one capitalised word, and what kind of thing a name seems to name.

// withPerson stand before persons more often than before months.
var withPerson = words(`with met meet told tell asked ask saw called call named and love married thank thanks aunt grandma cousin sister friend my our hey hi hello`)

// personVerbs follow a name that opens a sentence.
var personVerbs = words(`is was has had says said tells told asks asked wants wanted went goes came comes loves loved likes liked thinks thought knows knew got gets made makes gave gives
took takes lives lived works worked moved moves started starts called calls bought buys wrote writes helped helps invited invites visited visits joined joins and will would can could isn't wasn't doesn't
didn't hasn't does did seems seemed looks looked feels felt needs needed agreed decided plays played found finds broke breaks suggested mentioned replied sent sends showed shows left leaves won married
recommended proposed noticed fixed merged deployed reported reviewed shipped runs ran crashed failed uses used supports never always also just really keeps kept`)

// alone weighs one capitalised word. weak: its capital says nothing.
func (f *finder) alone(i int, weak bool) {
	t := &f.toks[i]
	low := t.base()
	n := int(t.bare - t.from)
	if n < 2 {
		return
	}
	if f.functional(i) || low == "ok" {
		return
	}
	given := givenNames.has(low)
	if k := strings.IndexByte(low, '-'); k > 2 && !given { // Ann-Marie
		given = givenNames.has(low[:k])
	}
	amb := ambiguousNames.has(low)
	if calendarWords.has(low) && !f.monthName(i, true) {
		return
	}
	poss := t.bare < t.to
	if services.has(low) {
		f.keep(i, i+1, 0.85)
		return
	}
	if t.shout && !given {
		// An acronym, or one word shouted.
		g := f.group(i)
		if (n <= 6 || t.inner) && (!commonWord(low) || g > i+1 && !functionWords.has(low) && !weak) && !interjections.has(low) && !(weak && n > 4) && !roman(low) && !drawn(low) {
			f.keep(i, g, 0.75)
		}
		return
	}
	if t.shout && weak && amb {
		return
	}
	if k := strings.IndexByte(low, '-'); k > 0 && !given && commonWord(low[:k]) && (weak || t.start || f.afterColon(i)) {
		return // "Dairy-free", "Well-known"
	}
	afterGreeting := f.addressed(i)
	if interjections.has(low) || drawn(low) {
		return
	}
	weak = weak || t.start || f.afterColon(i)
	if !weak {
		switch {
		case given && !amb:
			f.keep(i, i+1, 0.95)
		case given || amb:
			f.keep(i, i+1, 0.8)
		case commonWord(low), placeWords.has(low), orgWords.has(low):
			if f.known != nil && f.known(low) {
				f.keep(i, i+1, 0.6)
			}
		case afterGreeting:
			f.keep(i, i+1, 0.9)
		default:
			f.keep(i, f.group(i), 0.8)
		}
		return
	}
	// The first word of a sentence.
	next := token{}
	if i+1 < len(f.toks) {
		next = f.toks[i+1]
	}
	verb := next.word && personVerbs.has(next.low)
	// "Injury's been rough" holds a verb, "Ana's book" a possessor.
	contracted := poss && (!next.word || functionWords.has(next.low) || strings.HasSuffix(next.low, "ing") || next.low == "got" || next.low == "gone")
	switch {
	case given && !amb:
		f.keep(i, i+1, 0.9)
	case f.known != nil && f.known(low) && (!commonWord(low) || amb):
		f.keep(i, i+1, 0.8)
	case strings.HasPrefix(low, "o'") && n > 4:
		f.keep(i, i+1, 0.8)
	case amb || given:
		if poss && !contracted || next.word && deedVerbs.has(next.low) && !auxName.has(low) || f.mid(low) {
			f.keep(i, i+1, 0.6)
		}
	case commonWord(low), placeWords.has(low), orgWords.has(low):
		if f.mid(low) && !f.small(low) && poss {
			f.keep(i, i+1, 0.5)
		}
	case places.has(low):
		f.keep(i, i+1, 0.85)
	case f.mid(low):
		f.keep(i, i+1, 0.8)
	case t.inner && n >= 2 && strings.IndexByte(low, '\'') < 0:
		f.keep(i, i+1, 0.7)
	case derived(low):
	case poss && !contracted:
		f.keep(i, i+1, 0.7)
	case t.flat:
	case verb && next.low != "and" && next.low != "will" || afterGreeting:
		f.keep(i, i+1, 0.65)
	case next.low == "and" && i+2 < len(f.toks) && f.toks[i+2].capital && !functionWords.has(f.toks[i+2].low):
		f.keep(i, i+1, 0.6)
	case f.query:
		f.keep(i, i+1, 0.4)
	}
}

// deedVerbs of persons alone: after them a word that is also a noun is a name.
var deedVerbs = words(`said says told tells asked asks wants wanted went thinks thought knew got gave gives lives lived moved bought wrote invited visited joined agreed decided suggested mentioned replied married recommended proposed noticed
fixed merged deployed reported reviewed left came hasn't doesn't`)

// auxName: "Will was there" is a person, "Will is ..." hardly ever anything else, yet "May had" is odd.
var auxName = words(`may said`)

func roman(w string) bool { return strings.Trim(w, "ivx") == "" }

// addressed: the word stands right after a greeting: "Hey Mel", "Thanks, Mel".
func (f *finder) addressed(i int) bool {
	k := i - 1
	if k >= 0 && f.toks[k].is(",") {
		k--
	}
	return k >= 0 && f.toks[k].word && interjections.has(f.toks[k].low) && f.toks[k].sent == f.toks[i].sent
}

// afterColon: a capital after a colon, an opening quote, a bullet or a dash may be a sentence's.
func (f *finder) afterColon(i int) bool {
	if i == 0 {
		return true
	}
	p := f.toks[i-1]
	if p.word {
		return false
	}
	switch p.low {
	case ":", "\"", "“", "(", "-", "–", "—", "*", "•", "#", ">", "[", "|", "/", "‘", "'", "«", ";", "~":
		return true
	}
	return false
}

// mid: the same word stands capitalised inside another sentence of the text, and never in lower case.
func (f *finder) mid(low string) bool {
	if f.seen == nil {
		f.seen = map[string]int{}
		for i := range f.toks {
			t := &f.toks[i]
			if t.word && t.capital && !t.start && !t.shout && !f.afterColon(i) && !t.flat {
				f.seen[t.base()]++
			}
		}
	}
	return f.seen[low] > 0
}

// small: the word stands in lower case somewhere in the text.
func (f *finder) small(low string) bool {
	if f.lows == nil {
		f.lows = wordSet{}
		for i := range f.toks {
			if t := &f.toks[i]; t.word && !t.capital {
				f.lows[t.base()] = struct{}{}
			}
		}
	}
	return f.lows.has(low)
}

// group extends a name by lower-case nouns that make it a group's: "LGBTQ support group".
func (f *finder) group(i int) int {
	if f.toks[i].bare < f.toks[i].to {
		return i + 1
	}
	for k := i + 1; k < len(f.toks) && k <= i+2; k++ {
		t := f.toks[k]
		if !t.word || t.capital || !t.glued || t.masked {
			return i + 1
		}
		if groupNouns.has(t.low) {
			if k == i+1 && !f.toks[i].shout {
				return i + 1
			}
			return k + 1
		}
		if !groupInners.has(t.low) {
			return i + 1
		}
	}
	return i + 1
}

// keep adds [i, end) as a mention; conf 0 lets the run decide.
func (f *finder) keep(i, end int, conf float64) {
	last := f.toks[end-1]
	s := Span{int(f.toks[i].from), int(last.bare)}
	if last.to > last.bare && strings.HasSuffix(last.low, "s'") {
		s.To = int(last.bare)
	}
	if k := strings.LastIndexByte(last.low, '-'); k > 1 && len(last.low) == int(last.to-last.from) && compounds.has(last.low[k+1:]) {
		s.To = int(last.from) + k // "Sahara-based"
	}
	if s.Empty() || !utf8.ValidString(s.In(f.text)) {
		return
	}
	typ, c := f.kind(i, end)
	if conf == 0 {
		conf = c
	}
	f.out = append(f.out, mention(f.text, s, typ, conf))
}

var compounds = words(`based related style like themed inspired free born only wide made era led owned driven backed friendly specific shaped sized`)

// kind guesses the type of [i, end) and how sure a run of several words is a name.
func (f *finder) kind(i, end int) (EntityType, float64) {
	first, last := f.toks[i].base(), f.toks[end-1].base()
	n := 0
	for k := i; k < end; k++ {
		if f.toks[k].word {
			n++
		}
	}
	if n == 1 {
		switch {
		case services.has(first):
			return Service, 0.85
		case places.has(first) && !(givenNames.has(first) && f.addressed(i)):
			if givenNames.has(first) && !f.located(i) {
				return Person, 0.8
			}
			return Place, 0.9
		case givenNames.has(first), ambiguousNames.has(first), f.addressed(i):
			return Person, 0.9
		case f.located(i) && !f.toks[i].shout:
			return Unknown, 0.7
		}
		return Unknown, 0.7
	}
	weak := 0.85
	if f.toks[i].start && commonWord(first) {
		weak = 0.65
	}
	switch {
	case groupNouns.has(last) && !f.toks[end-1].capital:
		return Org, 0.8
	case titles.has(first) && first != "st" && first != "saint" && !placeWords.has(last) && !orgWords.has(last) && !f.has(i, end, "of"):
		return Person, 0.95
	case placeWords.has(last) || first == "mount" || first == "lake" || first == "mt" || first == "fort" || first == "port":
		return Place, weak
	case orgWords.has(last) || orgWords.has(first) && f.toks[i+1].low == "of":
		return Org, weak
	case (givenNames.has(first) || ambiguousNames.has(first) && !commonWord(last)) && n <= 3 && !f.has(i, end, "of"):
		return Person, 0.95
	case first == "new" || first == "san" || first == "los" || first == "las" || first == "santa" || places.has(last):
		return Place, weak
	}
	return Unknown, weak
}

func (f *finder) has(i, end int, w string) bool {
	for ; i < end; i++ {
		if f.toks[i].low == w {
			return true
		}
	}
	return false
}

var locators = words(`in at from near to via around outside across visit visited visiting through toward towards`)

func (f *finder) located(i int) bool {
	return i > 0 && f.toks[i-1].word && locators.has(f.toks[i-1].low)
}
