package memory

import (
	"strings"

	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/text"
)

// wanted is what a question about a time asks of one project: which words have to be dated, whose doing it
// was, and whether it lies behind or ahead.
type wanted struct {
	words    []wantedWord
	total    float64
	speakers []uint32 // that the question names
	names    []string // those speakers' names, folded
	tense    int8     // -1 it happened, +1 it is to come, 0 unknown
	begins   bool     // the beginning of something is asked: "when did Bo start", "since when"
	unknown  bool     // one of the words stands nowhere in the project
	said     bool     // when something was said is asked: "when did Bo mention"
}

// wantedWord is one informative word of the question: its stem and its related stems with their likeness.
type wantedWord struct {
	stem   string
	like   map[string]float64
	weight float64 // its rarity in this project
	light  bool    // goes with everything
}

// lightWeight is what a verb counts that goes with everything ("go", "get"): it is in most texts in another
// form or sense, so that a text without it is no worse a witness.
const lightWeight = 0.3

// fewDocs is added to the memories of a project when a word's rarity is reckoned: in a project of three memories
// a word of all three would count for nothing, and one of none for everything.
const fewDocs = 100

var light = wordSet(`go went gone going get got gotten getting take took taken make made do did done have had start started begin began
	begun come came give gave put happen happened occur occurred mention mentioned say said tell told talk talked visit attend
	first last recent recently latest earliest ago long day date year month week time`)

func wordSet(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

// want reads the question for one project; the caller holds the shard's RLock.
func (in *inquiry) want(s *index.Shard) *wanted {
	q := in.question
	w := &wanted{}
	lower := strings.ToLower(q.Text)
	asked := wordSet(strings.Map(func(r rune) rune {
		if r == '\'' || r == '’' || r == '.' || r == ',' || r == '?' || r == '!' || r == '"' {
			return ' '
		}
		return r
	}, index.FoldName(q.Text)))
	s.Speakers(func(name string, docs []uint32) {
		for _, p := range strings.Fields(index.FoldName(name)) {
			if len(p) > 1 && asked[p] {
				w.speakers = append(w.speakers, s.Docs[docs[0]].Speaker)
				w.names = append(w.names, index.FoldName(name))
				return
			}
		}
	})
	w.tense, w.begins, w.said = askedTense(lower)
	skip := func(span string) [2]int {
		if i := strings.Index(lower, strings.ToLower(span)); span != "" && i >= 0 {
			return [2]int{i, i + len(span)}
		}
		return [2]int{-1, -1}
	}
	asks := askingSpans(q.Text)
	window, anchor := skip(q.Time.WindowText), skip(q.Time.Anchor)
	if len(lower) != len(q.Text) {
		window, anchor = [2]int{-1, -1}, [2]int{-1, -1}
	}
	lights, where := map[string]bool{}, map[string]bool{}
	for _, t := range in.analyst.words.Tokens(q.Text) {
		if t.From >= window[0] && t.From < window[1] || t.From >= anchor[0] && t.From < anchor[1] || inAny(asks, t.From, t.To) {
			where[t.Term] = true // the window, the other event and the asking itself are where to look, not what
			continue
		}
		if light[text.Fold(q.Text[t.From:t.To])] {
			lights[t.Term] = true
		}
	}
	n := s.Live + fewDocs
	place := map[int]int{} // of the question's terms
	for i := range q.Terms {
		t := &q.Terms[i]
		if t.Of >= 0 {
			if k, ok := place[t.Of]; ok {
				w.words[k].like[t.Stem] = float64(t.Weight) * float64(in.request.Tuning.Expand)
			}
			continue
		}
		if w.isSpeaker(in, t.Stem) || where[t.Stem] {
			continue
		}
		df := 0
		if p := s.Posting(t.Hash); p != nil {
			df = len(p.Docs)
		}
		x := wantedWord{stem: t.Stem, like: map[string]float64{}, weight: float64(index.IDF(n, df))}
		if lights[t.Stem] {
			x.weight *= lightWeight
			x.light = true
		}
		place[i] = len(w.words)
		w.words = append(w.words, x)
	}
	for i := range w.words {
		x := &w.words[i]
		if x.nowhere(s) && x.light {
			x.weight = 0 // that nobody used it says nothing
		} else if x.nowhere(s) && x.stem[0] < 0x80 { // of a script without spaces the pairs across two words are often nowhere
			w.unknown = true
		}
		w.total += x.weight
	}
	return w
}

// askingWords are words that ask, in a script without spaces, where they are no tokens of their own.
var askingWords = []string{"什么时候", "什麼時候", "何时", "何時", "哪一天", "哪天", "哪年", "哪一年", "几月", "多久", "什么", "いつ"}

func askingSpans(q string) (out [][2]int) {
	for _, w := range askingWords {
		if i := strings.Index(q, w); i >= 0 {
			out = append(out, [2]int{i, i + len(w)})
		}
	}
	return out
}

func inAny(spans [][2]int, from, to int) bool {
	for _, s := range spans {
		if from < s[1] && to > s[0] {
			return true
		}
	}
	return false
}

// nowhere reports whether no memory holds the word or one related to it.
func (x *wantedWord) nowhere(s *index.Shard) bool {
	if p := s.Posting(index.HashTerm(x.stem)); p != nil && len(p.Docs) > 0 {
		return false
	}
	for stem := range x.like {
		if p := s.Posting(index.HashTerm(stem)); p != nil && len(p.Docs) > 0 {
			return false
		}
	}
	return true
}

func (w *wanted) isSpeaker(in *inquiry, stem string) bool {
	for _, name := range w.names {
		for _, p := range strings.Fields(name) {
			if in.analyst.words.Stem(p) == stem {
				return true
			}
		}
	}
	return false
}

// askedTense reads the question's own tense, and whether it asks for a beginning or for words.
func askedTense(q string) (tense int8, begins, said bool) {
	f := strings.FieldsFunc(q, func(r rune) bool { return !(r >= 'a' && r <= 'z' || r == '\'' || r == '’' || r > 127) })
	for i, w := range f {
		next := ""
		if i+1 < len(f) {
			next = f[i+1]
		}
		switch w {
		case "did", "was", "were", "had", "has", "have", "happened", "began", "started", "didn't", "wasn't":
			if tense == 0 {
				tense = -1
			}
		case "will", "won't", "shall", "upcoming", "planning", "planned", "plan", "plans", "intend", "intends", "supposed", "scheduled":
			tense = +1
		case "going":
			if next == "to" && i > 0 && (f[0] == "when" || f[0] == "what" || f[0] == "which") && tense == 0 {
				tense = +1
			}
		}
		switch w {
		case "start", "started", "begin", "began", "join", "joined", "since", "become", "became":
			begins = true
		case "mention", "mentioned", "tell", "told", "say", "said", "announce", "announced":
			said = true
		}
	}
	return tense, begins, said
}

// likeness is how much a word of a text counts for a word of the question: itself, a related word, or one of
// the same family ("mentor", "mentorship").
func (x *wantedWord) likeness(stem string) float64 {
	if stem == x.stem {
		return 1
	}
	if v := x.like[stem]; v > 0 {
		return v
	}
	a, b := stem, x.stem
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) >= 4 && len(b)-len(a) <= 4 && strings.HasPrefix(b, a) {
		return familyLikeness
	}
	return 0
}

const familyLikeness = 0.7

// asksHistory reports whether a question asks for what held before: then superseded memories answer too.
func asksHistory(q string) bool {
	f := strings.FieldsFunc(strings.ToLower(q), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r == '\'') })
	for i, w := range f {
		switch w {
		case "previous", "previously", "former", "formerly", "originally", "beforehand":
			return true
		case "before":
			if i == len(f)-1 {
				return true // "what was it before?"
			}
		case "old":
			if i > 0 && (f[i-1] == "the" || f[i-1] == "my" || f[i-1] == "our") {
				return true
			}
		case "used":
			if i+1 < len(f) && f[i+1] == "to" && i > 0 && f[0] != "get" {
				return true
			}
		}
	}
	return false
}
