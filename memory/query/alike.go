package query

import "github.com/magma-mcp/magma-mcp/memory/index"

// SemanticEdges calls f for the neighbours of u in the semantic graph, at most m by words and m by vectors of
// one space; nil: by words alone. Sim is in (0, 1].
func SemanticEdges(s *index.Shard, space *index.VectorSpace, u uint32, m int, sc *index.Scratch, f func(index.Similar)) {
	for _, x := range s.SimilarByWords(u, m, sc) {
		f(x)
	}
	if space != nil {
		for _, x := range space.Alike(u, m, sc) {
			f(x)
		}
	}
}

// alikeLooks is how many vectors a walk may look at for its edges, and alikeStep what a step costs beside, in
// vectors: some 1.2 ms together. Of 1,000 memories that is the neighbours of 18 steps, of 5,000 those of 6, which
// begin at the best anchors; of more than 36,000 none, and words alone make edges. It does not depend on what was
// asked before.
const (
	alikeLooks = 1 << 18
	alikeStep  = 1000
)

// alike is the space to look for u's neighbours in, nil once the walk has looked enough.
func (w *walker) alike(u uint32) *index.VectorSpace {
	space := w.q.Alike
	if space == nil || !space.Has(u) {
		return nil
	}
	if w.looked += (space.Len() + alikeStep) * (w.t.Similar + 1); w.looked > alikeLooks {
		return nil
	}
	return space
}
