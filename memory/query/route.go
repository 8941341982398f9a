package query

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Intent is what a question is after. The numbers index Route.Weights and the policy tables.
type Intent uint8

const (
	General Intent = 0
	Why     Intent = 1 // a reason, a cause or an effect
	When    Intent = 2 // a time, a duration or an order
	Entity  Intent = 3 // a person or thing, or what is known about one
)

var intentNames = [4]string{"general", "why", "when", "entity"}

func (i Intent) String() string {
	if int(i) < len(intentNames) {
		return intentNames[i]
	}
	return fmt.Sprintf("intent(%d)", uint8(i))
}

// ParseIntent reads the name of an intent, in any letter case.
func ParseIntent(s string) (Intent, error) {
	for i, n := range intentNames {
		if strings.EqualFold(strings.TrimSpace(s), n) {
			return Intent(i), nil
		}
	}
	return General, fmt.Errorf("intent %q is unknown: use general, why, when or entity", s)
}

// QuestionKind is the shape of the answer that a question wants.
type QuestionKind uint8

const (
	Single   QuestionKind = 0 // one fact
	Several  QuestionKind = 1 // a list, a count, "what all"
	Order    QuestionKind = 2 // which came first, what happened next
	Duration QuestionKind = 3 // how long
	YesNo    QuestionKind = 4
	Meta     QuestionKind = 5 // about the memory itself: "what did I ask you earlier?"
	Open     QuestionKind = 6 // anything told at length: "tell me about", "how do we"
)

var kindNames = [7]string{"single", "several", "order", "duration", "yesno", "meta", "open"}

func (k QuestionKind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Route is how a question is to be answered, read from its words alone.
type Route struct {
	Weights [4]float64 // soft, by Intent; they sum to 1
	Intent  Intent     // the heaviest
	Kind    QuestionKind
	Negated bool // "why didn't", "never", "no longer"
}

// RouteQuestion reads a question. It is deterministic, looks at nothing but the words, and takes a few
// microseconds: of a text over 1,024 bytes it reads the first and the last 512. A text in a
// language it does not know is General, so that no signal is switched off by mistake.
func RouteQuestion(q string) Route {
	if len(q) > 1024 {
		q = q[:runeStart(q, 512)] + " " + q[runeStart(q, len(q)-512):]
	}
	var s sentence
	s.read(q)
	d := s.decide()
	if d.weight == 0 {
		if f, ok := s.foreignCue(q); ok {
			d = f
		} else {
			d = s.fragment()
		}
	}
	return s.route(d)
}

func runeStart(s string, i int) int {
	for i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

// decision is what one rule found. weight 0 is "nothing".
type decision struct {
	intent Intent
	kind   QuestionKind
	weight float64
}

// Weights of a decision, against a background of 1.55 (General 1, the others .25 less bonuses): a
// plain question word leaves its intent .7 of the whole, a guess from a fragment about half.
const (
	sure    = 3.0
	likely  = 2.0
	guessed = 1.5
)

// word is one word of the question, lower-cased.
type word struct {
	s       string
	c       class
	capital bool // began with a capital, not at the start of a sentence
	opens   bool // opens the text, or follows a comma, colon or end of a sentence
	closes  bool // a mark follows
	opaque  bool // quoted, or code: never a cue
	poss    bool // ended in 's
}

const maxWords = 96

// sentence is a question taken apart, on the stack.
type sentence struct {
	w        [maxWords]word
	n        int
	question bool // a question mark was seen
	names    int
	negated  bool
	window   bool
	because  bool
	nonASCII bool
}

// read splits q into words.
func (s *sentence) read(q string) {
	low := strings.ToLower(strings.TrimSpace(q))
	orig := strings.TrimSpace(q)
	if len(low) != len(orig) {
		orig = low // a letter changed its length in lower case: capitals are not read
	}
	if n := len(low); n > 1 && low[0] == '"' && low[n-1] == '"' {
		low, orig = low[1:n-1], orig[1:n-1]
	}
	opens, quoted := true, byte(0)
	sentenceStart := true
	for i := 0; i < len(low) && s.n < maxWords; {
		r, size := utf8.DecodeRuneInString(low[i:])
		if r == '?' || r == '？' {
			s.question = true
		}
		if !isWordRune(r) {
			switch {
			case r == '"' || r == '`':
				if quoted == byte(r) {
					quoted = 0
				} else if quoted == 0 && strings.IndexByte(low[i+1:], byte(r)) >= 0 {
					quoted = byte(r)
				}
			case r == ',' || r == ':' || r == ';' || r == '(' || r == '—' || r == '–' || r == '…':
				opens = true
				s.close()
			case r == '.' || r == '!' || r == '?' || r == '\n':
				opens, sentenceStart = true, true
				s.close()
			}
			i += size
			continue
		}
		// A word runs to the next space; marks at its end are given back.
		j, plain := i, true
		for j < len(low) {
			r, size := utf8.DecodeRuneInString(low[j:])
			if unicode.IsSpace(r) || r == '"' || r == '`' || r == ',' || r == ';' || r == '?' || r == '!' || r == '(' || r == ')' || r == '？' || r == '—' || r == '–' || r == '…' {
				break
			}
			j += size
		}
		for j > i {
			r, size := utf8.DecodeLastRuneInString(low[i:j])
			if isWordRune(r) || (r == '+' || r == '#') {
				break
			}
			j -= size
		}
		for k := i; k < j; {
			r, size := utf8.DecodeRuneInString(low[k:])
			if r >= 0x80 && r != '’' {
				s.nonASCII = true
			}
			if !unicode.IsLetter(r) && !unicode.IsMark(r) && r != '\'' && r != '’' && r != '-' {
				plain = false
			}
			k += size
		}
		t := low[i:j]
		if strings.Contains(t, "’") {
			t = strings.ReplaceAll(t, "’", "'")
		}
		w := word{opens: opens, opaque: quoted != 0 || !plain}
		if n := len(t); n > 2 && t[n-2:] == "'s" {
			w.poss, t = true, t[:n-2]
		}
		w.s = t
		first, _ := utf8.DecodeRuneInString(orig[i:])
		w.capital = unicode.IsUpper(first) && (!sentenceStart || w.poss)
		if !w.opaque {
			w.c = words[t]
		}
		s.w[s.n] = w
		s.n++
		opens, sentenceStart = false, false
		i = j
	}
	s.survey()
}

func (s *sentence) close() {
	if s.n > 0 {
		s.w[s.n-1].closes = true
	}
}

func isWordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_' || r == '/' || r == '#' || r == '@'
}

// survey notes names, negation and time words over the whole question.
func (s *sentence) survey() {
	for i := range s.w[:s.n] {
		w := &s.w[i]
		if s.isName(i) {
			s.names++
		}
		if w.c&cNeg != 0 && !(w.s == "no" && (w.closes || i+1 == s.n)) {
			s.negated = true
		}
		if w.c&cWindow != 0 {
			s.window = true
		}
		if w.s == "because" || (w.s == "due" && s.at(i+1, "to")) || w.s == "therefore" {
			s.because = true
		}
	}
}

// isName tells whether word i looks like a name: a capital inside a sentence, or code. A month that
// is also a name ("May") is a month after a preposition or a number, else a name.
func (s *sentence) isName(i int) bool {
	w := &s.w[i]
	if w.opaque {
		return strings.ContainsFunc(w.s, unicode.IsLetter)
	}
	if !w.capital || w.s == "i" || strings.HasPrefix(w.s, "i'") || w.c&(cCalendar|cAux|cNeg) != 0 && w.c&cMonth == 0 {
		return false
	}
	if w.c&cMonth != 0 {
		return !(i > 0 && s.w[i-1].c&cPrep != 0) && !(i+1 < s.n && isDigits(s.w[i+1].s)) && !(i > 0 && isDigits(s.w[i-1].s))
	}
	return true
}

func isDigits(t string) bool {
	return t != "" && t[0] >= '0' && t[0] <= '9'
}

func (s *sentence) at(i int, t string) bool {
	return i >= 0 && i < s.n && s.w[i].s == t && !s.w[i].opaque
}

func (s *sentence) is(i int, c class) bool { return i >= 0 && i < s.n && s.w[i].c&c != 0 }

// seq tells whether the words from i on are those of t, separated by single spaces.
func (s *sentence) seq(i int, t string) bool {
	for t != "" {
		head, rest, _ := strings.Cut(t, " ")
		if !s.at(i, head) {
			return false
		}
		i, t = i+1, rest
	}
	return true
}

// find is the first index at or after i where seq holds, or -1.
func (s *sentence) find(i int, t string) int {
	for ; i < s.n; i++ {
		if s.seq(i, t) {
			return i
		}
	}
	return -1
}

func (s *sentence) any(i int, c class) bool {
	for ; i < s.n; i++ {
		if s.w[i].c&c != 0 {
			return true
		}
	}
	return false
}

// route turns a decision into weights: a background in which a name speaks for Entity, a
// window for When and "because" for Why, and the decision on top.
func (s *sentence) route(d decision) Route {
	w := [4]float64{1, .25, .25, .25}
	if s.names > 0 {
		w[Entity] += .35
	}
	if s.window {
		w[When] += .3
	}
	if s.because {
		w[Why] += .5
	}
	if s.negated {
		w[Why] += .1
	}
	if d.kind == Several {
		w[Entity] += .4
	}
	w[d.intent] += d.weight
	if d.intent != General {
		w[General] -= .4
	}
	sum := w[0] + w[1] + w[2] + w[3]
	r := Route{Kind: d.kind, Negated: s.negated}
	for i := range w {
		r.Weights[i] = w[i] / sum
		if r.Weights[i] > r.Weights[r.Intent] {
			r.Intent = Intent(i)
		}
	}
	return r
}

// foreignCue reads question words of languages other than English.
func (s *sentence) foreignCue(q string) (decision, bool) {
	if s.nonASCII {
		for _, c := range cjkCues {
			if strings.Contains(q, c.text) {
				for _, n := range cjkNegations {
					if strings.Contains(strings.ReplaceAll(q, "有没有", ""), n) {
						s.negated = true
					}
				}
				return decision{c.intent, c.kind, sure}, true
			}
		}
		if i := s.find(0, "por qué"); i >= 0 {
			return decision{Why, Single, sure}, true
		}
	}
	for i := range s.w[:s.n] {
		if f, ok := foreign[s.w[i].s]; ok && !s.w[i].opaque && (!f.first || i == 0 || i == 1 && s.question && len(s.w[0].s) <= 3) {
			if f.first && i == 0 && !s.question && s.n < 3 {
				continue // "Wer" alone, or a name
			}
			if s.at(i, "wie") && (s.at(i+1, "lange") || s.at(i+1, "lang")) {
				return decision{When, Duration, sure}, true
			}
			if s.at(i, "wie") && s.at(i+1, "viele") {
				return decision{General, Several, sure}, true
			}
			return decision{f.intent, f.kind, sure}, true
		}
	}
	return decision{}, false
}
