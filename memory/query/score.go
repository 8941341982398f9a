package query

import (
	"slices"
	"strings"
	"sync"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/index"
)

// arrays is the scratch space of one run: one number per memory for each signal, zero between runs. Only what
// a run touches is looked at and cleared, so that a run costs what it finds and not what is stored.
type arrays struct {
	words, window, base, final, acc, soft, about []float32
	hits                                         []uint32  // memories with a score of words or window
	mentions                                     []uint32  // memories with a share in about
	wrote                                        []uint32  // memories with a score in base
	tops                                         []float32 // the best scores of each session
	touched, group, list                         []uint32
	cand                                         []uint32
	scratch                                      index.Scratch
}

var pool = sync.Pool{New: func() any { return new(arrays) }}

func (a *arrays) all() [7]*[]float32 {
	return [...]*[]float32{&a.words, &a.window, &a.base, &a.final, &a.acc, &a.soft, &a.about}
}

// begin makes room for n memories.
func (a *arrays) begin(n int) {
	for _, p := range a.all() {
		if len(*p) < n {
			*p = make([]float32, n+n/4+64)
		}
	}
	a.hits, a.mentions, a.wrote, a.touched, a.cand = a.hits[:0], a.mentions[:0], a.wrote[:0], a.touched[:0], a.cand[:0]
}

// end clears what a run wrote, the memories that its walk reached among it.
func (a *arrays) end(reached map[uint32]step) {
	if len(a.hits)+len(a.wrote) > len(a.words)/8 { // one sweep is then faster than many places
		for _, p := range a.all() {
			clear(*p)
		}
		return
	}
	for _, list := range [][]uint32{a.hits, a.mentions, a.wrote} {
		for _, o := range list {
			a.words[o], a.window[o], a.base[o], a.final[o], a.about[o] = 0, 0, 0, 0, 0
		}
	}
	for o := range reached {
		a.final[o] = 0
	}
}

// run is one question on one shard.
type run struct {
	*arrays
	s         *index.Shard
	q         *Request
	t         Tuning
	weights   [4]float64
	speakers  []uint32  // that the question names
	entities  []uint32  // that the question names, speakers apart
	idf       []float32 // of each term, and as coverage counts it
	rare      []float32
	asked     []float32 // idf before a word that nobody used took that of its related words
	total     float32   // of the question's own informative words
	topWords  float32
	topWin    float32
	topBase   float32
	near      map[uint32]float32
	phrase    map[uint32]float32
	uncounted int              // as many more, where every memory is one for itself and may be found
	below     []uint32         // memories found whose score was too low to be looked at closely
	rewired   bool             // the temporal graph is made wrong
	unknown   int              // names in the question that this project does not know
	entered   map[uint32]entry // through a summary
}

// smallStore is how many memories coverage supposes at the least: among three of them a word that one holds is
// common, beside which a word that none holds would be the whole question.
const smallStore = 200

// names finds the speakers and entities that the question names.
func (r *run) names() {
	words := map[string]bool{}
	for _, w := range strings.FieldsFunc(index.FoldName(r.q.Text), notWord) {
		words[strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "’s")] = true
	}
	r.s.Speakers(func(name string, docs []uint32) {
		hit := false
		for _, p := range strings.Fields(index.FoldName(name)) {
			if len(p) > 1 && words[p] {
				hit = true
			}
		}
		if hit {
			r.speakers = append(r.speakers, r.s.Docs[docs[0]].Speaker)
		}
	})
	if len(r.speakers) == 0 && r.q.Person != Nobody {
		r.s.Speakers(func(name string, docs []uint32) {
			if r.q.Person.is(index.FoldName(name)) {
				r.speakers = append(r.speakers, r.s.Docs[docs[0]].Speaker)
			}
		})
	}
	stems := make([]uint64, 0, len(r.q.Terms))
	for _, t := range r.q.Terms {
		if t.Of < 0 {
			stems = append(stems, t.Hash)
		}
	}
	if r.q.Graphs.Has(graph.Entity) {
		r.entities = r.s.Named(stems)
	}
	for _, k := range r.q.Names {
		_, _, known := r.s.Entity(k)
		for _, p := range strings.Fields(k) {
			if r.s.Posting(index.HashTerm(r.q.Words.Stem(p))) != nil {
				known = true
			}
		}
		if !known {
			r.unknown++
		}
	}
}

func notWord(c rune) bool {
	return !(c == '\'' || c == '’' || c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c > 127)
}

// best is the k candidates with the highest score, best first, ties by ordinal.
func best(cand []uint32, score []float32, k int) []uint32 {
	less := func(a, b uint32) bool { // a ranks after b
		if score[a] != score[b] {
			return score[a] < score[b]
		}
		return a > b
	}
	if k <= 0 {
		return nil
	}
	heap := make([]uint32, 0, k)
	down := func(i int) {
		for {
			c := 2*i + 1
			if c >= len(heap) {
				return
			}
			if c+1 < len(heap) && less(heap[c+1], heap[c]) {
				c++
			}
			if !less(heap[c], heap[i]) {
				return
			}
			heap[c], heap[i] = heap[i], heap[c]
			i = c
		}
	}
	for _, o := range cand {
		if len(heap) < k {
			heap = append(heap, o)
			if len(heap) == k {
				for i := k/2 - 1; i >= 0; i-- {
					down(i)
				}
			}
			continue
		}
		if less(heap[0], o) {
			heap[0] = o
			down(0)
		}
	}
	slices.SortFunc(heap, func(a, b uint32) int {
		if less(a, b) {
			return 1
		}
		return -1
	})
	return heap
}
