package eval

import (
	"math"
	"regexp"
	"sort"
	"strings"
	"time"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// A floor is a way to find turns that needs no memory engine. Floors share no code with the engine:
// their own tokens, stems and stop words, so that they stay where they are while it changes.
type floor struct {
	name string
	rank func(*corpus, string) []hit
}

// Floors, in the order of the report:
//   - bm25: words of the turn with its speaker (Snowball English, stop words out, k1 1.2, b 0.75)
//   - bm25±2: the same over the turn (its words counted twice) and its two neighbours on each side, within a session
//   - sketch: the sixty lines of DESIGN section 8: .4 of the one and .6 of the other, each over its best,
//     with small bonuses for date, speaker, session and neighbours
var floors = []floor{
	{"bm25", func(c *corpus, q string) []hit { return c.rank(c.turn.scores(stems(q))) }},
	{"bm25±2", func(c *corpus, q string) []hit { return c.rank(c.centred.scores(stems(q))) }},
	{"sketch", (*corpus).sketch},
}

// FloorNames lists the floors' names.
func FloorNames() []string {
	var names []string
	for _, f := range floors {
		names = append(names, f.name)
	}
	return names
}

type hit struct {
	turn  int
	score float64
}

// corpus is one conversation, indexed for the floors.
type corpus struct {
	turns        []Turn
	turn, window *bm25
	centred      *bm25 // the window with the turn's own words counted twice
	dated        *bm25
	speaker      []string // lower-cased first name
}

func newCorpus(c Conversation) *corpus {
	x := &corpus{turns: c.Turns}
	var own, dated [][]string
	for _, t := range c.Turns {
		words := stems(t.Speaker + " " + t.Text)
		own = append(own, words)
		date := ""
		if at, err := time.Parse(time.RFC3339, t.At); err == nil {
			date = at.Format("2 January 2006")
		}
		dated = append(dated, append(stems(date), words...))
		first, _, _ := strings.Cut(strings.ToLower(t.Speaker), " ")
		x.speaker = append(x.speaker, first)
	}
	var wide, centred [][]string
	for i := range c.Turns {
		var words []string
		for j := max(0, i-2); j <= min(len(c.Turns)-1, i+2); j++ {
			if c.Turns[j].Session == c.Turns[i].Session {
				words = append(words, own[j]...)
			}
		}
		wide = append(wide, words)
		centred = append(centred, append(append([]string(nil), own[i]...), words...))
	}
	x.turn, x.window, x.centred, x.dated = newBM25(own), newBM25(wide), newBM25(centred), newBM25(dated)
	return x
}

// rank orders turns by score, the earlier first where equal; turns without any are left out.
func (c *corpus) rank(scores []float64) []hit {
	var hits []hit
	for i, s := range scores {
		if s > 0 {
			hits = append(hits, hit{i, s})
		}
	}
	sort.SliceStable(hits, func(i, j int) bool { return hits[i].score > hits[j].score })
	return hits
}

// sketch mixes the two, each divided by its best. The bonuses are those whose gain DESIGN section 8
// gives; their sizes are small beside the mix, none is fitted.
func (c *corpus) sketch(question string) []hit {
	words := stems(question)
	own, wide := unit(c.dated.scores(words)), unit(c.window.scores(words))
	named := map[string]bool{}
	for _, w := range tokens(question) {
		named[w] = true
	}
	best := map[string][]float64{}
	for i, t := range c.turns {
		best[t.Session] = append(best[t.Session], own[i])
	}
	session := map[string]float64{}
	for name, list := range best {
		sort.Sort(sort.Reverse(sort.Float64Slice(list)))
		for i := 0; i < min(3, len(list)); i++ {
			session[name] += list[i] / 3
		}
	}
	scores := make([]float64, len(c.turns))
	for i := range c.turns {
		s := .4*own[i] + .6*wide[i]
		if s == 0 {
			continue
		}
		if named[c.speaker[i]] {
			s += .08
		}
		s += .1 * session[c.turns[i].Session]
		near := 0.0
		for _, j := range []int{i - 1, i + 1} {
			if j >= 0 && j < len(own) && c.turns[j].Session == c.turns[i].Session {
				near = max(near, own[j])
			}
		}
		scores[i] = s + .08*near
	}
	return c.rank(scores)
}

func unit(scores []float64) []float64 {
	top := 0.0
	for _, s := range scores {
		top = max(top, s)
	}
	if top > 0 {
		for i := range scores {
			scores[i] /= top
		}
	}
	return scores
}

// bm25 is Okapi BM25 in memory.
type bm25 struct {
	postings map[string][]posting
	length   []float64
	mean     float64
}

type posting struct {
	doc int
	n   float64
}

func newBM25(docs [][]string) *bm25 {
	b := &bm25{postings: map[string][]posting{}, length: make([]float64, len(docs))}
	for i, words := range docs {
		b.length[i] = float64(len(words))
		b.mean += float64(len(words)) / float64(len(docs))
		for _, w := range words {
			list := b.postings[w]
			if n := len(list); n > 0 && list[n-1].doc == i {
				list[n-1].n++
			} else {
				b.postings[w] = append(list, posting{i, 1})
			}
		}
	}
	return b
}

func (b *bm25) scores(words []string) []float64 {
	const k1, slope = 1.2, .75
	out := make([]float64, len(b.length))
	asked := map[string]bool{}
	for _, w := range words {
		if asked[w] {
			continue
		}
		asked[w] = true
		list := b.postings[w]
		df := float64(len(list))
		idf := math.Log(1 + (float64(len(b.length))-df+.5)/(df+.5))
		for _, p := range list {
			out[p.doc] += idf * p.n * (k1 + 1) / (p.n + k1*(1-slope+slope*b.length[p.doc]/b.mean))
		}
	}
	return out
}

var wordRun = regexp.MustCompile(`[\p{L}\p{N}_]+(?:['’.\-][\p{L}\p{N}_]+)*`)

// tokens are the lower-cased words of a text, possessives cut.
func tokens(s string) []string {
	list := wordRun.FindAllString(strings.ToLower(s), -1)
	for i, w := range list {
		list[i] = strings.TrimSuffix(strings.ReplaceAll(w, "’", "'"), "'s")
	}
	return list
}

func stems(s string) []string {
	var out []string
	for _, w := range tokens(s) {
		if stopWords[w] {
			continue
		}
		env := snowballstem.NewEnv(w)
		english.Stem(env)
		out = append(out, env.Current())
	}
	return out
}

var stopWords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`a about after all also am an and any are as at be because been before being but by can could
		did do does doing don't for from had has have having he her here hers him his how i i'm i've if in into is it it's
		its just me my no not of on or our ours she should so some such than that the their theirs them then there these they
		this those to too up us was we were what when where which who whom whose why will with would you your yours`) {
		m[w] = true
	}
	return m
}()
