package query

import (
	"cmp"
	"slices"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/index"
)

const (
	// gistCover is the share of a question's informative words that a summary has to hold: with less, one word
	// of many, the memories themselves say more.
	gistCover = 0.5
	// mostGists is how many summaries a question enters through.
	mostGists = 3
	// topicShare is what an episode counts for the others of its topic.
	topicShare = 0.5
)

// entry is how a memory was entered: through its episode's summary, or through one of the same topic.
type entry struct {
	share    float32 // of the question's words that the summary alone holds
	relation graph.Relation
	gist     *index.Gist // the one whose summary was found
}

// gists enters through summaries: one more source of anchors, for what a summary says in a word of its own. A
// summary that repeats its memories says nothing more than they do, and would only add weight where the words are:
// with every word of it counting, recall@10 on LoCoMo's development conversations went from .815 to .812 in
// TestEpisodeTable. It finds, and does not make sure: an answer is confident by what a memory itself holds.
func (r *run) gists() {
	n := r.s.GistCount()
	if n == 0 || r.t.Episode == 0 {
		return
	}
	score := map[*index.Gist]float32{}
	var total float32
	for i, qt := range r.q.Terms {
		if qt.Of >= 0 || qt.Name {
			continue
		}
		w := r.gistWeight(i, n)
		total += w
		best := map[*index.Gist]float32{}
		r.variants(i, func(hash uint64, sim float32) {
			for _, g := range r.s.GistsWith(hash) {
				best[g] = max(best[g], sim)
			}
		})
		for g, sim := range best {
			score[g] += float32(w * sim)
		}
	}
	type hit struct {
		g     *index.Gist
		share float32
	}
	var hits []hit
	for g, v := range score {
		if v >= float32(gistCover*total) {
			hits = append(hits, hit{g, v})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.g.Docs[0], b.g.Docs[0]))
	})
	r.entered = map[uint32]entry{}
	left := mostGists
	for _, h := range hits[:min(len(hits), 8*mostGists)] {
		own := r.ownShare(h.g, n) / total
		if own == 0 {
			continue
		}
		r.enter(h.g, entry{own, graph.Episode, h.g})
		for _, g := range r.s.GistsOf(h.g.Topic) {
			if g != h.g {
				r.enter(g, entry{float32(topicShare * own), graph.Topic, h.g})
			}
		}
		if left--; left == 0 {
			break
		}
	}
	docs := make([]uint32, 0, len(r.entered))
	for o := range r.entered {
		docs = append(docs, o)
	}
	slices.Sort(docs)
	for _, o := range docs {
		if r.base[o] == 0 {
			r.cand, r.wrote = append(r.cand, o), append(r.wrote, o)
		}
		r.base[o] += float32(r.t.Episode * r.entered[o].share)
		r.topBase = max(r.topBase, r.base[o])
	}
}

func (r *run) enter(g *index.Gist, e entry) {
	for _, o := range g.Docs {
		if r.q.Filter.Pass(r.s, o) && r.entered[o].share < e.share {
			r.entered[o] = e
		}
	}
}

// gistWeight is how rare a question's word is among n summaries.
func (r *run) gistWeight(i, n int) float32 {
	return index.IDF(max(n, smallStore), len(r.s.GistsWith(r.q.Terms[i].Hash)))
}

// variants calls f for a question's word and for those related to it.
func (r *run) variants(i int, f func(hash uint64, sim float32)) {
	f(r.q.Terms[i].Hash, 1)
	for _, x := range r.q.Terms {
		if x.Of == i && r.t.Expand > 0 {
			f(x.Hash, float32(x.Weight*r.t.Expand))
		}
	}
}

// ownShare is the weight of the question's words that a summary holds and none of its memories, not in a related
// word either.
func (r *run) ownShare(g *index.Gist, n int) (sum float32) {
	for i, qt := range r.q.Terms {
		if qt.Of >= 0 || qt.Name || !slices.Contains(g.Terms, qt.Hash) {
			continue
		}
		told := false
		r.variants(i, func(hash uint64, _ float32) {
			p := r.s.Posting(hash)
			told = told || p != nil && slices.ContainsFunc(g.Docs, func(o uint32) bool {
				_, ok := slices.BinarySearch(p.Docs, o)
				return ok
			})
		})
		if !told {
			sum += r.gistWeight(i, n)
		}
	}
	return sum
}

// via is the path to a memory that nothing but a summary found: from another memory of the episode that was
// entered, since an episode has no id that a header could show.
func (r *run) via(o uint32) []Via {
	e, ok := r.entered[o]
	if _, near := r.near[o]; !ok || near || r.words[o] > 0 || r.window[o] > 0 || r.about[o] > 0 || r.timed(o) {
		return nil
	}
	for _, x := range e.gist.Docs {
		if x != o {
			return []Via{{Relation: e.relation, From: x}}
		}
	}
	return nil
}
