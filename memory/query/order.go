package query

import (
	"cmp"
	"slices"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/index"
)

// Item is one memory of an answer.
type Item struct {
	Doc     uint32
	Score   float64 // of [0, 1]: the best of the answer has the share of the question that it covers
	Anchor  bool
	Words   float64 // BM25 of its own words; Window of its neighbourhood
	Window  float64
	Near    float64
	HasNear bool
	Phrase  float64
	Episode float64 // share of the question's words that the summary alone holds through which it was entered
	InTime  bool
	Via     []Via
}

// Via is one step of the path to an item.
type Via struct {
	Relation graph.Relation
	From     uint32
	Entity   uint32 // for Mentions
}

// Result is the memories found, best first.
type Result struct {
	Items     []Item
	Found     int // how many were found at all, before Limit
	Weights   [4]float64
	Speakers  []uint32
	Entities  []uint32
	Confident bool
	Coverage  float64
	Anchors   []Anchor
	Walked    []Walked
}

// Anchor is a memory from which the walk began, with its place in each signal's list (1 the best; 0: not in it).
type Anchor struct {
	Doc                            uint32
	Score                          float64 // of [0, 1], the best anchor's is 1
	Keyword, Context, Vector, Time int
}

// Walked is one node that the walk reached, for the trace.
type Walked struct {
	Doc, From uint32
	Relation  graph.Relation
	Score     float64
	Depth     int
}

// depthOfList is how many candidates are looked at closely (phrases, diversity) beyond the limit.
const depthOfList = 60

// Run answers one request on one shard; the caller holds RLock.
func Run(s *index.Shard, q *Request) Result {
	r := &run{arrays: pool.Get().(*arrays), s: s, q: q, t: *q.Tuning, weights: q.Route.Weights}
	r.rewired = r.t.Corrupt.Share > 0 && r.t.Corrupt.Graph == graph.Temporal
	if q.Weights != nil {
		r.weights = *q.Weights
	}
	r.begin(len(s.Docs))
	r.names()
	r.lexical()
	r.combine()
	r.gists()
	r.context()
	k := max(depthOfList, q.Limit+20)
	r.thin()
	top := best(r.cand, r.final, k)
	r.phrases(top)
	anchors := best(top, r.final, min(r.t.Anchors, len(top)))
	w := r.walk(anchors)
	w.settle()
	r.thin()
	list := best(r.cand, r.final, k)
	list = w.reserve(r.choose(list))
	res := Result{Found: r.places(slices.Concat(r.cand, r.below)) + r.uncounted, Weights: r.weights, Speakers: r.speakers, Entities: r.entities}
	r.judge(&res, list)
	scale := float64(0)
	if len(list) > 0 && r.final[list[0]] > 0 {
		scale = max(0.05, min(1, res.Coverage)) / float64(r.final[list[0]])
	}
	for _, o := range r.cut(list, q.Limit) {
		it := Item{Doc: o, Score: min(1, float64(r.final[o])*scale), Words: float64(r.words[o]), Window: float64(r.window[o]), InTime: r.timed(o), Phrase: float64(r.phrase[o]), Episode: float64(r.entered[o].share)}
		if n, ok := r.near[o]; ok {
			it.Near, it.HasNear = float64(n), true
		}
		it.Anchor = slices.Contains(anchors, o)
		if !it.Anchor {
			it.Via = w.path(o, anchors)
		}
		if it.Via == nil {
			it.Via = r.via(o)
		}
		res.Items = append(res.Items, it)
	}
	if q.Trace {
		res.Anchors = r.ranks(anchors)
		for o, st := range w.reached {
			res.Walked = append(res.Walked, Walked{o, st.from, st.relation, float64(st.score), st.depth})
		}
		slices.SortFunc(res.Walked, func(a, b Walked) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Doc, b.Doc)) })
	}
	r.end(w.reached)
	pool.Put(r.arrays) // not where it panicked: it has to be zero
	return res
}

// path is the steps from an anchor to o, first step first.
func (w *walker) path(o uint32, anchors []uint32) []Via {
	var out []Via
	for len(out) < 8 {
		st, ok := w.reached[o]
		if !ok {
			break
		}
		out = append(out, Via{st.relation, st.from, st.entity})
		if slices.Contains(anchors, st.from) || slices.ContainsFunc(out[:len(out)-1], func(v Via) bool { return v.From == st.from }) {
			break
		}
		o = st.from
	}
	slices.Reverse(out)
	return out
}

// reserve gives every Reserve-th rank to the best that only the walk over the semantic, causal and entity
// graphs found, if its step is worth ReserveFrom: what answers a question in other words, far from where it is
// asked, scores below the tenth neighbour of what shares its words.
func (w *walker) reserve(list []uint32) []uint32 {
	n := w.t.Reserve
	if n <= 0 || len(list) == 0 {
		return list
	}
	var finds []uint32
	for o, st := range w.reached {
		if st.relation != graph.Next && st.relation != graph.Previous && st.score >= w.t.ReserveFrom {
			finds = append(finds, o)
		}
	}
	slices.SortFunc(finds, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(w.reached[b].score, w.reached[a].score), cmp.Compare(a, b))
	})
	out := slices.Clone(list)
	at := n - 1
	for _, o := range finds {
		if at > len(out) {
			break
		}
		i := slices.Index(out, o)
		if i >= 0 && i <= at {
			continue // it stands high enough by itself
		}
		if i >= 0 {
			out = slices.Delete(out, i, i+1)
		}
		out = slices.Insert(out, at, o)
		at += n
	}
	return out
}

// choose spreads the list where a question wants several pieces: what stands next to something chosen
// gives way a little to what stands elsewhere.
func (r *run) choose(list []uint32) []uint32 {
	if r.t.Diversity == 0 || r.q.Route.Kind != Several || len(list) < 2 {
		return list
	}
	top := r.final[list[0]]
	cost := make(map[uint32]float32)
	left := slices.Clone(list)
	out := make([]uint32, 0, len(list))
	for len(left) > 0 {
		bi, bv := 0, float32(-1e9)
		for i, o := range left[:min(len(left), depthOfList)] {
			if v := r.final[o] - cost[o]; v > bv {
				bi, bv = i, v
			}
		}
		o := left[bi]
		left = slices.Delete(left, bi, bi+1)
		out = append(out, o)
		for _, k := range []int{-2, -1, 1, 2} {
			if n, ok := r.s.Neighbour(o, k); ok {
				cost[n] += float32(r.t.Diversity * top)
			}
		}
	}
	return out
}

// ranks tells for each anchor its place in each signal's list.
func (r *run) ranks(anchors []uint32) []Anchor {
	place := func(o uint32, value func(uint32) float32) int {
		v := value(o)
		if v <= 0 {
			return 0
		}
		n := 1
		for _, x := range r.cand {
			if value(x) > v {
				n++
			}
		}
		return n
	}
	out := make([]Anchor, 0, len(anchors))
	for _, o := range anchors {
		a := Anchor{Doc: o, Keyword: place(o, func(x uint32) float32 { return r.words[x] }), Context: place(o, func(x uint32) float32 { return r.window[x] }),
			Vector: place(o, func(x uint32) float32 { return r.near[x] })}
		if r.timed(o) {
			a.Time = 1
		}
		if top := r.final[anchors[0]]; top > 0 {
			a.Score = min(1, float64(r.final[o]/top))
		}
		out = append(out, a)
	}
	return out
}
