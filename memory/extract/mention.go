package extract

import (
	"sort"
	"strings"
)

// EntityType says what a mention seems to be, by its form. The empty type is an ordinary answer.
type EntityType string

// The types a rule can tell. Times are package temporal's.
const (
	Unknown EntityType = ""
	Person  EntityType = "person"
	Place   EntityType = "place"
	Org     EntityType = "org"
	Thing   EntityType = "thing" // a title, a product
	Code    EntityType = "code"
	Path    EntityType = "path"
	Version EntityType = "version"
	Issue   EntityType = "issue"
	URL     EntityType = "url"
	Email   EntityType = "email"
	Service EntityType = "service" // a program or host that runs
)

// Mention is one place of a text that names something.
type Mention struct {
	Span
	Text       string     // the named words as written, without a possessive ending
	Canonical  string     // Key(Text)
	Type       EntityType // "" unknown
	Confidence float64    // 0..1 that this is a name at all
}

// Mentions lists what text names, in text order, without overlaps. A capital is evidence of a name
// only where English would not put one anyway: first words of sentences, greetings, months and
// weekdays need more (a known given name, a verb that persons take, another place of the text).
func Mentions(text string) []Mention { return MentionsKnown(text, nil) }

// MentionsKnown is Mentions with the names that the caller knows: known is asked for the Key of a
// capitalised word that stands where a capital says nothing. It may be nil.
func MentionsKnown(text string, known func(key string) bool) []Mention {
	return mentions(text, known, false)
}

// QueryMentions lists what a question names. It is more willing than Mentions: a first word that is
// no common word counts, with low confidence. Names in lower case are not found here; the caller
// matches those against the names it knows.
func QueryMentions(question string) []Mention { return mentions(question, nil, true) }

type finder struct {
	text  string
	toks  []token
	known func(string) bool
	query bool
	// seen counts the words that stand capitalised inside a sentence, lows holds those that stand in
	// lower case anywhere; built when first asked.
	seen map[string]int
	lows wordSet
	out  []Mention
}

func mentions(text string, known func(string) bool, query bool) []Mention {
	if text == "" {
		return nil
	}
	f := &finder{text: text, known: known, query: query}
	f.out = chunkMentions(text, nil)
	coded := len(f.out)
	f.toks = scan(text)
	f.mask()
	f.flatten()
	f.labels()
	f.quoted()
	f.mask()
	f.runs()
	if len(f.out) > coded {
		sort.SliceStable(f.out, func(i, j int) bool { return f.out[i].From < f.out[j].From })
	}
	if len(f.out) == 0 {
		return nil
	}
	return f.out
}

// mask marks the tokens that lie in a mention already found.
func (f *finder) mask() {
	if len(f.out) == 0 {
		return
	}
	ms := f.out
	k := 0
	if !sort.SliceIsSorted(ms, func(i, j int) bool { return ms[i].From < ms[j].From }) {
		sort.SliceStable(ms, func(i, j int) bool { return ms[i].From < ms[j].From })
	}
	for i := range f.toks {
		t := &f.toks[i]
		for k < len(ms) && ms[k].To <= int(t.from) {
			k++
		}
		if k == len(ms) {
			return
		}
		if int(t.to) > ms[k].From {
			t.masked = true
		}
	}
}

// flatten finds the sentences in which most words are capitalised: a headline or shouting.
func (f *finder) flatten() {
	for i := 0; i < len(f.toks); {
		j, long, capital, shout := i, 0, 0, 0
		small := 0
		for j < len(f.toks) && f.toks[j].sent == f.toks[i].sent {
			t := &f.toks[j]
			if t.word && t.to-t.from >= 3 && !t.masked {
				long++
				if t.capital {
					capital++
				} else if !functionWords.has(t.low) {
					small++
				}
				if t.shout {
					shout++
				}
			}
			j++
		}
		if long >= 5 && capital*10 >= long*8 && small == 0 || long >= 2 && shout*10 >= long*7 {
			for k := i; k < j; k++ {
				f.toks[k].flat = true
			}
		}
		i = j
	}
}

// labels marks headings and the labels of lists ("2. **Stride Length**: ...", "Next Steps:"), which
// are written in title case.
func (f *finder) labels() {
	if strings.IndexByte(f.text, '\n') < 0 && !strings.Contains(f.text, "**") && !strings.HasPrefix(f.text, "#") {
		return
	}
	k := 0
	for i := 0; i < len(f.text); {
		j := strings.IndexByte(f.text[i:], '\n')
		if j < 0 {
			j = len(f.text)
		} else {
			j += i
		}
		if s := labelIn(f.text, Span{i, j}); !s.Empty() {
			for k < len(f.toks) && int(f.toks[k].from) < s.From {
				k++
			}
			for ; k < len(f.toks) && int(f.toks[k].to) <= s.To; k++ {
				f.toks[k].flat = true
			}
		}
		i = j + 1
	}
}

// labelIn is the part of a line that is a heading or a label, empty without one.
func labelIn(text string, line Span) Span {
	s := line.In(text)
	t := strings.TrimLeft(s, " \t>")
	if strings.HasPrefix(t, "#") {
		return line
	}
	if strings.HasPrefix(t, "**") { // bold, or a bullet
	} else if u := strings.TrimLeft(t, "-*+•·"); len(u) < len(t) {
		t = u
	} else if u := strings.TrimLeft(t, "0123456789"); len(u) < len(t) && len(t)-len(u) <= 3 && u != "" && (u[0] == '.' || u[0] == ')') {
		t = u[1:]
	}
	t = strings.TrimLeft(t, " \t")
	from := line.From + len(s) - len(t)
	if strings.HasPrefix(t, "**") {
		if e := strings.Index(t[2:], "**"); e > 0 {
			after := strings.TrimSpace(t[2+e+2:])
			if strings.HasSuffix(t[:2+e], ":") || after == "" || after[0] == ':' || after[0] == '(' {
				return Span{from, from + 2 + e}
			}
		}
		return Span{}
	}
	e := strings.IndexByte(t, ':')
	if e <= 0 || e > 60 || e+1 < len(t) && t[e+1] != ' ' && t[e+1] != '\r' && t[e+1] != '*' {
		return Span{}
	}
	ws := strings.Fields(t[:e])
	if len(ws) > 7 {
		return Span{}
	}
	for _, w := range ws {
		if w[0] >= 'a' && w[0] <= 'z' && !functionWords.has(w) {
			return Span{}
		}
	}
	return Span{from, from + e}
}

var quotePairs = map[string]string{`"`: `"`, "“": "”", "«": "»", "„": "“", "‘": "’", "'": "'"}

// quoted takes titles in quotation marks whole: "The Long Way Home".
func (f *finder) quoted() {
	for i := 0; i < len(f.toks); i++ {
		t := f.toks[i]
		if t.word || t.masked {
			continue
		}
		end, ok := quotePairs[t.low]
		if !ok {
			continue
		}
		j, n, capital := i+1, 0, 0
		lastCap := false
		sound := true
		for j < len(f.toks) && n <= 9 && j-i <= 30 {
			u := f.toks[j]
			if !u.word && u.low == end {
				break
			}
			sound = sound && !u.masked
			if u.word {
				n++
				lastCap = u.capital || u.inner
				switch {
				case u.capital || u.inner:
					capital++
				case !functionWords.has(u.low):
					sound = false
				}
			} else if u.is("?") {
				sound = false
			}
			j++
		}
		if j >= len(f.toks) || n > 9 || j-i > 30 {
			continue
		}
		if n == 0 || j-i < 2 {
			continue
		}
		first, last := f.toks[i+1], f.toks[j-1]
		if !last.word && !last.is("!") && j-2 > i { // "Finding Home."
			last = f.toks[j-2]
		}
		if sound && first.capital && lastCap && capital*2 >= n && last.word && !t.flat {
			one := n == 1 && (first.to-first.from < 3 || functionWords.has(first.low) || interjections.has(first.low) || calendarWords.has(first.low))
			speech := n == 1 && j+1 < len(f.toks) && f.toks[j-1].is("!")
			if !one && !speech {
				s := Span{int(first.from), int(last.to)}
				conf := 0.85
				if n == 1 {
					conf = 0.7
				}
				f.out = append(f.out, mention(f.text, s, Thing, conf))
				i = j
				continue
			}
		}
		if t.low == end { // a plain " closes nothing unless it opened something
			i = j
		}
	}
}

// runs finds capitalised words and the runs they form.
func (f *finder) runs() {
	for i := 0; i < len(f.toks); i++ {
		t := &f.toks[i]
		if !t.word || t.masked || !t.capital {
			continue
		}
		end := f.runEnd(i)
		f.run(i, end)
		i = end - 1
	}
}

// runEnd is the index behind the capitalised run that starts at i.
func (f *finder) runEnd(i int) int {
	j := i + 1
	for j < len(f.toks) && j-i < 9 {
		p, t := &f.toks[j-1], &f.toks[j]
		if p.bare < p.to && (!t.word || !t.capital || !orgWords.has(t.low)) {
			return j // Caroline's Mother: the possessor is a name by itself
		}
		switch {
		case t.masked || t.start:
			return j
		case t.word && t.capital && t.glued:
			if f.spaced(j) > 1 {
				return j
			}
			j++
		case t.is(".") && p.word && p.to == t.from && (dotted.has(p.low) || p.to-p.from == 1) && j+1 < len(f.toks) && f.toks[j+1].capital && !f.toks[j+1].start && f.toks[j+1].glued:
			j++
		case t.is("&") && p.to-p.from > 1 && j+1 < len(f.toks) && f.toks[j+1].capital && f.toks[j+1].glued:
			j += 2
		case t.word && connectors.has(t.low) && t.glued:
			k := j + 1
			if k < len(f.toks) && (f.toks[k].low == "the" || f.toks[k].low == "la" || f.toks[k].low == "los") {
				k++
			}
			if k < len(f.toks) && f.toks[k].capital && !f.toks[k].masked && !calendarWords.has(f.toks[k].low) && !functionWords.has(f.toks[k].low) && f.of(i, j, k) {
				j = k + 1
				continue
			}
			return j
		case t.word && t.glued && digits(t.low) && len(t.low) <= 2 && !calendarWords.has(p.low) && j == f.lastCap(i, j)+1:
			// "Chapter 5", "Windows 11", "Catan 2": a number closes a name.
			if j+1 < len(f.toks) && (f.toks[j+1].is(":") || f.toks[j+1].is("%") || f.toks[j+1].is("/") || f.toks[j+1].is(".") && !f.toks[j+1].glued) || commonWord(p.low) && !nameHeads.has(p.low) || givenNames.has(p.low) {
				return j
			}
			return j + 1
		default:
			return j
		}
	}
	return j
}

func (f *finder) lastCap(i, j int) int {
	for j--; j > i && !f.toks[j].capital; j-- {
	}
	return j
}

// of tells whether "X of Y" is one name: not when X is a person, and "of" binds more than the others.
func (f *finder) of(i, j, k int) bool {
	p := f.toks[j-1]
	if f.toks[j].low != "of" {
		return !commonWord(p.base())
	}
	return !givenNames.has(p.base()) && !functionWords.has(p.low) && !interjections.has(p.low) && p.bare == p.to && !(f.toks[i].start && j == i+1 && commonWord(p.low) && !orgWords.has(p.low) && !placeWords.has(p.low))
}

func (f *finder) spaced(j int) int { return int(f.toks[j].from - f.toks[j-1].to) }

// drawn: letters are drawn out: "Sooo", "Nooooo".
func drawn(w string) bool {
	for i := 2; i < len(w); i++ {
		if w[i] == w[i-1] && w[i] == w[i-2] && w[i] >= 'a' && w[i] != 'i' && w[i] != 'x' {
			return true
		}
	}
	return false
}

// commonWord knows frequent words and the regular forms of English verbs and adverbs.
func commonWord(w string) bool {
	if commonWords.has(w) || functionWords.has(w) || interjections.has(w) {
		return true
	}
	n := len(w)
	if n > 3 && w[n-1] == 's' && w[n-2] != 's' {
		if commonWords.has(w[:n-1]) {
			return true
		}
		if w[n-2] == 'e' && n > 4 && (commonWords.has(w[:n-2]) || w[n-3] == 'i' && commonWords.has(w[:n-3]+"y")) {
			return true
		}
	}
	for _, suf := range [...]string{"ing", "ed", "d", "er", "est", "ly", "er's", "r", "st", "y", "ness", "ful", "less"} {
		if strings.HasSuffix(w, suf) && n-len(suf) >= 3 {
			stem := w[:n-len(suf)]
			if commonWords.has(stem) || commonWords.has(stem+"e") {
				return true
			}
			if k := len(stem); stem[k-1] == stem[k-2] && commonWords.has(stem[:k-1]) {
				return true
			}
			if k := len(stem); stem[k-1] == 'i' && commonWords.has(stem[:k-1]+"y") {
				return true
			}
		}
	}
	return false
}

// derived tells whether w ends like a verb form, an adverb or an abstract noun: names rarely do.
func derived(w string) bool {
	if len(w) < 6 {
		return false
	}
	for _, suf := range [...]string{"ing", "ly", "ed", "tion", "sion", "ness", "ment", "able", "ible", "ful", "less", "ous", "ity", "ism", "ists", "ers", "ize", "ise", "ical", "ive", "ance", "ence", "ency", "ancy", "ship", "hood", "graphy", "ology", "n't"} {
		if strings.HasSuffix(w, suf) {
			return true
		}
	}
	return strings.IndexByte(w, '\'') > 0
}

// run weighs the capitalised run [i, end) and keeps what is a name.
func (f *finder) run(i, end int) {
	if f.toks[i].flat || f.toks[end-1].flat {
		for ; i < end; i++ {
			if f.toks[i].word && f.toks[i].capital {
				f.alone(i, f.toks[i].flat)
			}
		}
		return
	}
	// Words of the closed classes and greetings at either end are no part of a name.
	for i < end {
		t := &f.toks[i]
		if !t.word || !t.capital {
			i++
			continue
		}
		low := t.base()
		last := i+1 >= end
		if i+1 < end && f.toks[i+1].is("&") {
			break
		}
		strip := f.functional(i) || calendarWords.has(low) && !f.monthName(i, last) ||
			interjections.has(low) && !(nameHeads.has(low) && !last) ||
			low == "i"
		opens := t.start || f.afterColon(i)
		if !strip && opens && !last && commonWord(low) && !givenNames.has(low) {
			strip = !nameHeads.has(low) || givenNames.has(f.toks[i+1].base()) && !titles.has(low)
			if strip && f.headed(i, end) {
				strip = false
			}
		}
		if !strip && opens && end-i == 2 && f.toks[i+1].word && !givenNames.has(low) && !titles.has(low) && !nameHeads.has(low) && t.bare == t.to {
			// "Anytime Nate": a word that is no name's before one that is.
			n := f.toks[i+1].base()
			strip = givenNames.has(n) && !ambiguousNames.has(n) || f.toks[i+1].shout && !t.shout || f.mid(n) && f.seen[n] > 1 && !f.mid(low)
		}
		if !strip {
			break
		}
		i++
	}
	for end > i {
		t := &f.toks[end-1]
		low := t.base()
		if t.word && (t.capital || digits(t.low)) && !f.functional(end-1) && !(end-i > 1 && trailing.has(low)) && !(calendarWords.has(low) && end-i > 1 && !f.inTitle(i, end)) {
			break
		}
		end--
	}
	if i >= end {
		return
	}
	if end-i == 1 {
		f.alone(i, false)
		return
	}
	if f.toks[i].base() == "dear" || f.split(i, end) {
		return
	}
	f.keep(i, end, 0)
}

// trailing are greetings that stand behind a name without a comma: "Bye Mel Thanks".
var trailing = words(`thanks thank thx hi hey hello bye yes no ok okay please lol wow`)

// functional: a word of the closed classes, unless it stands where it must be a name: "I gave it to Will".
func (f *finder) functional(i int) bool {
	t := &f.toks[i]
	if !functionWords.has(t.low) && !(t.bare < t.to && functionWords.has(t.base())) {
		return false
	}
	if !ambiguousNames.has(t.base()) || t.shout || t.flat {
		return true
	}
	if t.start || f.afterColon(i) {
		return i+1 >= len(f.toks) || !deedVerbs.has(f.toks[i+1].low)
	}
	return false
}

// headed: "Central Park", "Mount Doom": the run closes with a word that names of places and houses do.
func (f *finder) headed(i, end int) bool {
	l := f.toks[end-1].base()
	return end-i >= 2 && (placeWords.has(l) || orgWords.has(l)) && !functionWords.has(f.toks[i].low) && !interjections.has(f.toks[i].low)
}

// split cuts a run in which two persons stand side by side, or a calendar word lies between.
func (f *finder) split(i, end int) bool {
	for k := i + 1; k < end; k++ {
		if low := f.toks[k].base(); f.toks[k].word && f.toks[k].capital && (calendarWords.has(low) && !f.inTitle(i, end) || low == "i" || low == "i'm" || low == "i've" || low == "i'll") {
			f.run(i, k)
			f.run(k, end)
			return true
		}
	}
	return false
}

// inTitle: calendar words inside a name that has a closing noun ("Friday Harbor", "May Day Parade").
func (f *finder) inTitle(i, end int) bool {
	l := f.toks[end-1].base()
	return placeWords.has(l) || orgWords.has(l)
}

// monthName: April, May, June, August as a person: never after in, on, by, of and the like, nor
// before a number; only with a sign of a person.
func (f *finder) monthName(i int, last bool) bool {
	switch f.toks[i].base() {
	case "april", "june", "may", "august", "summer", "autumn":
	default:
		return !last && f.inTitle(i, i+2)
	}
	if f.toks[i].bare < f.toks[i].to {
		return true
	}
	if i+1 < len(f.toks) {
		n := f.toks[i+1]
		if n.word && n.low[0] >= '0' && n.low[0] <= '9' {
			return false
		}
		if n.is(",") && i+2 < len(f.toks) && f.toks[i+2].word && f.toks[i+2].low[0] <= '9' {
			return false
		}
		if n.word && f.toks[i].base() != "may" && personVerbs.has(n.low) && f.toks[i].start {
			return n.low != "is" && n.low != "was" && n.low != "has"
		}
	}
	if i > 0 {
		p := f.toks[i-1]
		if f.toks[i].start {
			return false
		}
		return p.word && (interjections.has(p.low) || withPerson.has(p.low)) || p.is(",") && i > 1 && interjections.has(f.toks[i-2].low)
	}
	return false
}
