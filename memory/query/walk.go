package query

import (
	"cmp"
	"math"
	"slices"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/index"
)

// step is how a walk came to a memory.
type step struct {
	from     uint32
	relation graph.Relation
	entity   uint32 // for Mentions
	score    float32
	depth    int
}

// walker is the state of one best-first walk (paper, Algorithm 1). The paper's scale is mended as DESIGN
// section 4 says: a step scores its parent times the graph's weight for the intent times the edge's confidence
// times a mean of structure and affinity, and a decay for each step beyond the first, all in [0, 1], so that
// depth alone never outranks an anchor.
type walker struct {
	*run
	weight  [5]float32
	reached map[uint32]step
	top     float32
	nodes   int
	looked  int // rows of Request.Alike
}

// policy is the weight of each graph for the question's soft intent.
func (r *run) policy() (w [5]float32) {
	for i, share := range r.weights {
		if r.t.Fixed {
			i, share = int(General), 0.25
		}
		for g := range w {
			w[g] += float32(r.t.Weights[i][g] * float32(share))
		}
	}
	for g := graph.Temporal; g <= graph.Entity; g++ {
		if !r.q.Graphs.Has(g) {
			w[g] = 0
		}
	}
	return w
}

// walk goes from the anchors over the four graphs and adds to final what the steps are worth.
func (r *run) walk(anchors []uint32) *walker {
	w := &walker{run: r, weight: r.policy(), reached: map[uint32]step{}}
	if len(anchors) == 0 || r.t.NoWalk {
		return w
	}
	w.top = r.final[anchors[0]]
	if w.top <= 0 {
		return w
	}
	type node struct {
		doc   uint32
		score float32
	}
	frontier := make([]node, 0, len(anchors))
	seen := map[uint32]bool{}
	for _, o := range anchors {
		seen[o] = true
		if _, near := r.near[o]; r.words[o] > 0 || near || r.about[o] > 0 || r.timed(o) {
			frontier = append(frontier, node{o, r.final[o] / w.top}) // one that is there for its neighbours leads nowhere
		}
	}
	w.nodes = len(frontier)
	for depth := 1; depth <= r.t.MaxDepth && len(frontier) > 0 && w.nodes < r.t.MaxNodes; depth++ {
		var next []node
		for _, u := range frontier {
			w.neighbours(u.doc, func(v uint32, rel graph.Relation, g graph.Graph, conf float32, entity uint32) {
				v = r.t.Corrupt.end(g, u.doc, v, len(r.s.Docs))
				if v == u.doc || !r.q.Filter.Pass(r.s, v) {
					return
				}
				affinity := float32(0)
				if r.topBase > 0 {
					affinity = r.base[v] / r.topBase
				}
				mean := (r.t.Lambda1 + float32(r.t.Lambda2*affinity)) / (r.t.Lambda1 + r.t.Lambda2)
				s := float32(float32(u.score*w.weight[g]) * float32(conf*mean))
				if depth > 1 {
					s = float32(s * r.t.Gamma)
				}
				if s < r.t.Drop {
					return
				}
				if old, ok := w.reached[v]; !ok || s > old.score {
					w.reached[v] = step{u.doc, rel, entity, s, depth}
				}
				if !seen[v] {
					seen[v] = true
					next = append(next, node{v, s})
				}
			})
		}
		for i := range next {
			next[i].score = w.reached[next[i].doc].score
		}
		slices.SortFunc(next, func(a, b node) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.doc, b.doc)) })
		frontier = next[:min(r.t.Beam, len(next))]
		w.nodes += len(frontier)
	}
	return w
}

// settle adds the walk's worth to the final scores; memories that only the walk found become candidates.
func (w *walker) settle() {
	r := w.run
	docs := make([]uint32, 0, len(w.reached))
	for o := range w.reached {
		docs = append(docs, o)
	}
	slices.Sort(docs)
	for _, o := range docs {
		if r.final[o] == 0 {
			r.cand = append(r.cand, o)
		}
		s := w.reached[o].score
		r.final[o] = max(r.final[o]+float32(float32(r.t.Walk*s)*w.top), float32(float32(r.t.Jump*s)*w.top))
	}
}

// neighbours calls f for the memories one step from u, each with the relation by which it is read
// "u -relation-> v", the graph, and the edge's confidence.
func (w *walker) neighbours(u uint32, f func(v uint32, rel graph.Relation, g graph.Graph, conf float32, entity uint32)) {
	s := w.s
	if w.weight[graph.Temporal] > 0 {
		if v, ok := s.Neighbour(u, 1); ok {
			f(v, graph.Next, graph.Temporal, w.toward(1), 0)
		}
		if v, ok := s.Neighbour(u, -1); ok {
			f(v, graph.Previous, graph.Temporal, w.toward(-1), 0)
		}
	}
	if w.weight[graph.Causal] > 0 {
		CausalEdges(s, u, func(v uint32, e index.Edge, effect bool) {
			rel := graph.CausedBy
			if effect {
				rel = graph.Causes
			}
			f(v, rel, graph.Causal, e.Confidence, 0)
		})
	}
	if w.weight[graph.Semantic] > 0 {
		SemanticEdges(s, w.alike(u), u, w.t.Similar, &w.scratch, func(x index.Similar) {
			f(x.Doc, graph.Similar, graph.Semantic, sqrt(x.Sim), 0)
		})
	}
	if w.weight[graph.Entity] > 0 {
		w.mentions(u, func(v, e uint32, conf float32) { f(v, graph.Mentions, graph.Entity, conf, e) })
	}
}

// toward is how much a step in time counts: one in the direction that a question asks for ("what happened
// right after the alarm went off") five times one of no direction, up to certainty.
func (w *walker) toward(way int) float32 {
	rel := w.q.Time.Relation
	if w.q.Time.Anchor != "" && (rel == "after" && way > 0 || rel == "before" && way < 0) {
		return float32(0.9) / w.weight[graph.Temporal]
	}
	return 1
}

// rareEntities is how many of a memory's entities are followed, rarest first: the common ones (a speaker's
// own name) lead everywhere.
const rareEntities = 4

// hubScan is how many of an entity's memories are looked at before the best Hub of them are taken; a
// greater hub is looked at in even strides.
const hubScan = 512

func (w *walker) mentions(u uint32, f func(v, e uint32, conf float32)) {
	s := w.s
	d := &s.Docs[u]
	ents := make([]uint32, 0, len(d.Entities))
	for _, e := range d.Entities {
		if len(s.EntityAt(e).Docs) > 1 {
			ents = append(ents, e)
		}
	}
	slices.SortFunc(ents, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(len(s.EntityAt(a).Docs), len(s.EntityAt(b).Docs)), cmp.Compare(s.EntityAt(a).Key, s.EntityAt(b).Key))
	})
	for _, e := range ents[:min(rareEntities, len(ents))] {
		docs := s.EntityAt(e).Docs
		stride := max(1, len(docs)/hubScan)
		look := make([]uint32, 0, min(len(docs), hubScan+1))
		for i := 0; i < len(docs); i += stride {
			look = append(look, docs[i])
		}
		// Confidence falls with the share of the project that mentions it: a name in everything tells nothing.
		conf := float32(1) - float32(len(docs))/float32(max(s.Live, len(docs)+1))
		for _, v := range best(look, w.base, min(w.t.Hub, len(look))) {
			f(v, e, conf)
		}
	}
}

// CausalEdges calls f for every causal edge at o whose other end is another memory: the stored ones, and
// those that a reply states about the turn before it ("That's why ..."), whose other end follows from the
// session's order. effect tells that v is the effect.
func CausalEdges(s *index.Shard, o uint32, f func(v uint32, e index.Edge, effect bool)) {
	for _, e := range s.Effects(o) {
		f(e.To, e, true)
	}
	for _, e := range s.Causes(o) {
		f(e.To, e, false)
	}
	reply := func(holder, before uint32, yield uint32) {
		for _, c := range s.Docs[holder].Causes {
			if c.Previous == 0 {
				continue
			}
			e := index.Edge{To: yield, Origin: graph.Inferred, Confidence: float32(c.Confidence), Holder: holder, From: c.From, At: c.To}
			// Previous < 0: the cause is in the turn before. Seen from the holder the other end is then a cause.
			f(yield, e, (c.Previous > 0) == (yield == before))
		}
	}
	if p, ok := s.Neighbour(o, -1); ok {
		reply(o, p, p)
	}
	if n, ok := s.Neighbour(o, 1); ok {
		reply(n, o, n)
	}
}

// sqrt rounds to 1/1024, so that it is the same on every processor.
func sqrt(x float32) float32 { return float32(math.Round(math.Sqrt(float64(x))*1024) / 1024) }
