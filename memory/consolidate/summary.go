package consolidate

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/magma-mcp/magma-mcp/memory/text"
)

// fillers are words of talk that say nothing of its subject, beyond the stop words of package text. They are
// those that stand in almost every conversation in English.
var fillers = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`
		yeah yes yep yup nope ok okay oh ah hey hi hello bye wow haha lol thanks thank please sorry sure really
		actually maybe probably definitely absolutely totally basically literally just still also even very
		great good nice cool awesome amazing wonderful fantastic lovely best better well fun glad happy
		thing things something anything everything stuff lot lots bit kind sort way
		know think mean guess see look say says said tell told hear heard feel felt want wanted need like love
		get got getting go going went come coming came make made making take took give gave let keep try tried
		today now then lately another each every much many recently soon always never again ever one two time day week
		people guy guys man hope day am pm`) {
		m[w] = true
	}
	return m
}()

var analyzers = sync.Pool{New: func() any { return text.New() }}

// word is one informative word of a text.
type word struct {
	term     string // comparable: folded and stemmed
	from, to int
	name     bool // capitalised where English would not
}

// informative are the words of s that say what it is about.
func informative(s string) []word {
	a := analyzers.Get().(*text.Analyzer)
	defer analyzers.Put(a)
	var out []word
	pos := -1
	for _, t := range a.Tokens(s) {
		if t.Stop || t.Pos == pos { // the parts of an identifier share its place: the whole comes first
			continue
		}
		pos = t.Pos
		surface := s[t.From:t.To]
		if fillers[strings.ToLower(surface)] || utf8.RuneCountInString(surface) < 2 {
			continue
		}
		out = append(out, word{term: t.Term, from: t.From, to: t.To, name: isName(s, t.From)})
	}
	return out
}

// isName tells of a capitalised word that it does not begin a sentence.
func isName(s string, at int) bool {
	r, _ := utf8.DecodeRuneInString(s[at:])
	if !unicode.IsUpper(r) {
		return false
	}
	before := strings.TrimRight(s[:at], " \t\"'(“‘")
	if before == "" {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(before)
	return !strings.ContainsRune(".!?\n:;…。", last)
}

// Words is what a text is about, as Event.Words: its informative words, each by the root of how often it
// stands there, names double.
func Words(s string) map[string]float64 {
	out := map[string]float64{}
	for _, w := range informative(s) {
		if w.name {
			out[w.term] += 2
		} else {
			out[w.term]++
		}
	}
	for t, n := range out {
		out[t] = math.Sqrt(n)
	}
	return out
}

// Keywords are the most telling words of some texts, at most n, the heaviest first, as they are written
// there most often. A word counts once for each text it stands in, and more where it is a name: what one
// person repeats is less of a subject than what is taken up.
func Keywords(texts []string, n int) []Keyword {
	type tally struct {
		weight  float64
		written map[string]int
	}
	all := map[string]*tally{}
	for _, s := range texts {
		here := map[string]float64{}
		for _, w := range informative(s) {
			t := all[w.term]
			if t == nil {
				t = &tally{written: map[string]int{}}
				all[w.term] = t
			}
			t.written[s[w.from:w.to]]++
			here[w.term] += 1
			if w.name {
				here[w.term] += 0.5
			}
		}
		for term, x := range here {
			all[term].weight += math.Sqrt(x)
		}
	}
	out := make([]Keyword, 0, len(all))
	for _, term := range sortedKeys(all) {
		t := all[term]
		best := ""
		for _, w := range sortedKeys(t.written) {
			if best == "" || t.written[w] > t.written[best] {
				best = w
			}
		}
		out = append(out, Keyword{best, t.weight})
	}
	slices.SortStableFunc(out, func(a, b Keyword) int { return cmp.Or(-cmp.Compare(a.Weight, b.Weight), cmp.Compare(a.Word, b.Word)) })
	out = out[:min(n, len(out))]
	for i := len(out) - 1; i >= 0; i-- {
		out[i].Weight = math.Round(out[i].Weight/out[0].Weight*1000) / 1000
	}
	return out
}

// Excerpt is a sentence that Summarize chose: the index of its text and its place there.
type Excerpt struct {
	Text     int
	From, To int
}

// Summarize chooses sentences that together say most of what some texts are about, of at most limit
// characters together, in the texts' order. It never writes a word of its own. One sentence is always
// chosen where there is any with an informative word, cut short at a word if it alone is over the limit.
func Summarize(texts []string, limit int) []Excerpt {
	weight := map[string]float64{} // of a word: in how many texts it stands
	type sentence struct {
		Excerpt
		words  map[string]bool
		length int
	}
	var all []sentence
	for i, s := range texts {
		here := map[string]bool{}
		for _, span := range text.Sentences(s) {
			words := map[string]bool{}
			for _, w := range informative(s[span[0]:span[1]]) {
				words[w.term] = true
				here[w.term] = true
			}
			if len(words) > 0 {
				all = append(all, sentence{Excerpt{i, span[0], span[1]}, words, utf8.RuneCountInString(s[span[0]:span[1]])})
			}
		}
		for w := range here {
			weight[w]++
		}
	}
	var chosen []Excerpt
	left := limit
	for len(all) > 0 {
		best, score := -1, 0.0
		for i, c := range all {
			if c.length > left && len(chosen) > 0 {
				continue
			}
			x := 0.0
			for _, w := range sortedKeys(c.words) {
				x += weight[w]
			}
			// Long sentences hold more words: divide by the length, but gently, or the shortest win.
			if x /= math.Pow(float64(c.length)+20, 0.6); x > score {
				best, score = i, x
			}
		}
		if best < 0 {
			break
		}
		c := all[best]
		if c.length > left { // the first and only one
			c.To = c.From + cutAt(texts[c.Text][c.From:c.To], limit)
		}
		chosen = append(chosen, c.Excerpt)
		left -= c.length + 1
		for w := range c.words {
			weight[w] = 0 // said
		}
		all = slices.Delete(all, best, best+1)
		if left <= 0 {
			break
		}
	}
	slices.SortFunc(chosen, func(a, b Excerpt) int { return cmp.Or(a.Text-b.Text, a.From-b.From) })
	return chosen
}

// cutAt is the length in bytes of the beginning of s, at most limit characters, up to the end of a word.
func cutAt(s string, limit int) int {
	n, end, word := 0, 0, 0
	for i, r := range s {
		if n == limit {
			if unicode.IsSpace(r) {
				return i
			}
			end = i
			break
		}
		if unicode.IsSpace(r) {
			word = i
		}
		n++
		end = i + utf8.RuneLen(r)
	}
	if end < len(s) && word > 0 {
		return word
	}
	return end
}
