package query

import (
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/index"
)

// arrays is the scratch space of one run: one number per memory for each signal.
type arrays struct {
	words, window, base, final, acc, soft []float32
	tops                                  []float32 // the best scores of each session
	touched, group                        []uint32
	cand                                  []uint32
	scratch                               index.Scratch
}

var pool = sync.Pool{New: func() any { return new(arrays) }}

func (a *arrays) reset(n int) {
	for _, p := range []*[]float32{&a.words, &a.window, &a.base, &a.final, &a.acc, &a.soft} {
		if cap(*p) < n {
			*p = make([]float32, n, n+n/4+64)
			continue
		}
		*p = (*p)[:n]
		clear(*p)
	}
	a.touched, a.cand = a.touched[:0], a.cand[:0]
}

// run is one question on one shard.
type run struct {
	*arrays
	s        *index.Shard
	q        *Request
	t        Tuning
	weights  [4]float64
	speakers []uint32  // that the question names
	entities []uint32  // that the question names, speakers apart
	idf      []float32 // of each term, and as coverage counts it
	rare     []float32
	total    float32 // of the question's own informative words
	topWords float32
	topWin   float32
	topBase  float32
	near     map[uint32]float32
	phrase   map[uint32]float32
	timed    map[uint32]bool
	named    map[uint32]float32
	unknown  int // names in the question that this project does not know
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

// inWindow reports whether a memory lies in the question's window by when it happened or by a time its words name.
func (r *run) inWindow(o uint32) bool {
	d := &r.s.Docs[o]
	if d.At < r.q.End && d.Until > r.q.Start {
		return true
	}
	for _, t := range d.Times {
		if t.Start < r.q.End && t.End > r.q.Start && !t.Duration {
			return true
		}
	}
	return false
}

// looseShare is what of Tuning.Vector counts where Near is of word vectors alone. Beside related words, which
// come of the same table, they add nothing to speak of: with 0.2 in all, recall@10 on LoCoMo's development
// conversations .815 to .816, on FriendsQA .577 to .574, and with more it falls.
const looseShare = 0.4

// combine brings the signals onto one scale, [0, 1] before the bonuses.
func (r *run) combine() {
	s, t := r.s, &r.t
	for _, o := range r.q.Near {
		if r.near == nil {
			r.near = make(map[uint32]float32, len(r.q.Near))
		}
		r.near[o.Doc] = o.Sim
	}
	for o := range s.Docs {
		if r.words[o] == 0 && r.window[o] == 0 {
			continue
		}
		r.topWords = max(r.topWords, r.words[o])
		r.topWin = max(r.topWin, r.window[o])
	}
	one := len(r.speakers) == 1
	windowed := r.q.Windowed && t.Time > 0
	nearTop, nearLow := float32(0), float32(0)
	if k := len(r.q.Near); k > 0 {
		nearTop, nearLow = r.q.Near[0].Sim, r.q.Near[k-1].Sim
		if nearTop == nearLow {
			nearLow = 0 // one vector alone, or all alike: they are the nearest all the same
		}
	}
	vector := t.Vector
	if r.q.NearLoose {
		vector = float32(vector * looseShare)
	}
	r.named = r.mentioned()
	dated := float32(t.Dated * float32(r.weights[When]))
	for i := range s.Docs {
		o := uint32(i)
		near, hasNear := r.near[o]
		about := r.named[o]
		if r.words[o] == 0 && r.window[o] == 0 && !hasNear && !windowed && about == 0 {
			continue
		}
		if !r.q.Filter.Pass(s, o) {
			continue
		}
		var v float32
		if r.topWords > 0 {
			v += float32(t.Words * (r.words[o] / r.topWords))
		}
		if r.topWin > 0 {
			share := t.Window
			if r.words[o] == 0 && !r.repliesTo(o) {
				share = float32(share * t.Bare) // it holds none of the words itself
			}
			v += float32(share * (r.window[o] / r.topWin))
		}
		if hasNear && nearTop > nearLow {
			v += float32(vector * ((near - nearLow) / (nearTop - nearLow)))
		}
		if windowed && r.inWindow(o) {
			v += t.Time
			if r.timed == nil {
				r.timed = map[uint32]bool{}
			}
			r.timed[o] = true
		}
		v += float32(t.Named * about)
		if v == 0 {
			continue
		}
		d := &s.Docs[o]
		bonus := float32(1)
		if one && d.Speaker == r.speakers[0] {
			bonus += t.Speaker
		}
		if d.Flags&index.Dated != 0 {
			bonus += dated
		}
		bonus += float32(t.Length * lnWords(d.Len))
		r.base[o] = float32(v * bonus)
		r.cand = append(r.cand, o)
	}
}

// mentioned is how much each memory is about the entities that the question names: by the rarest of them
// that it mentions, 1 for one that a single memory mentions, near 0 for one that is everywhere.
func (r *run) mentioned() map[uint32]float32 {
	if len(r.entities) == 0 || r.t.Named == 0 {
		return nil
	}
	n := max(2, r.s.Live)
	top := index.IDF(n, 1)
	out := map[uint32]float32{}
	for _, e := range r.entities {
		if r.isSpeaker(e) {
			continue // what is said by or about a speaker is the speaker's bonus
		}
		docs := r.s.EntityAt(e).Docs
		w := index.IDF(n, min(n, len(docs))) / top
		if w < 0.2 {
			continue // a name that a fifth of the memories hold says nothing; its speaker's bonus does
		}
		for _, o := range docs {
			out[o] = max(out[o], w)
		}
	}
	return out
}

// isSpeaker reports whether an entity's words are all of one of the named speakers' names.
func (r *run) isSpeaker(e uint32) bool {
	key := strings.Fields(r.s.EntityAt(e).Key)
	for _, sp := range r.speakers {
		name := strings.Fields(index.FoldName(r.s.Name(sp)))
		all := true
		for _, w := range key {
			all = all && slices.Contains(name, w)
		}
		if all {
			return true
		}
	}
	return false
}

// lnWords is ln(1 + n) to 1/64, for n up to 255: a table, so that it is the same everywhere.
func lnWords(n uint32) float32 { return lnTable[min(n, uint32(len(lnTable)-1))] }

// context adds what a session and a matching question before it say about a memory.
func (r *run) context() {
	s, t := r.s, &r.t
	copy(r.final, r.base)
	if !r.q.Graphs.Has(graph.Temporal) {
		return
	}
	k := t.SessionTop
	if t.Session > 0 && k > 0 {
		r.tops = append(r.tops[:0], make([]float32, k*s.SessionCount())...)
		for _, o := range r.cand {
			at := int(s.Docs[o].Session) * k
			insertTop(r.tops[at:at+k], r.base[o])
		}
	}
	for _, o := range r.cand {
		d := &s.Docs[o]
		if t.Session > 0 && k > 0 && s.SessionName(o) != "" {
			var sum float32
			at := int(d.Session) * k
			for _, v := range r.tops[at : at+k] {
				sum += v
			}
			r.final[o] += float32(t.Session * (sum / float32(k)))
		}
		if t.Reply > 0 {
			if p, ok := s.Neighbour(o, -1); ok && r.repliesTo(o) {
				r.final[o] += float32(t.Reply * r.base[p])
			}
		}
	}
}

// repliesTo reports whether a memory answers a question that somebody else asked just before it and that
// holds words of this one.
func (r *run) repliesTo(o uint32) bool {
	p, ok := r.s.Neighbour(o, -1)
	return ok && r.words[p] > 0 && r.s.Docs[p].Flags&index.Question != 0 && r.s.Docs[p].Speaker != r.s.Docs[o].Speaker
}

// insertTop keeps the greatest values of a list in top, greatest first.
func insertTop(top []float32, v float32) {
	for i := range top {
		if v > top[i] {
			top[i], v = v, top[i]
		}
	}
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

var lnTable = func() (t [256]float32) {
	for i := range t {
		t[i] = float32(math.Round(math.Log1p(float64(i))*64) / 64)
	}
	return t
}()
