package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/query"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

const (
	defaultDepth = 3
	maxDepth     = 8
	maxChains    = 10
)

// Why finds the causes of something: of the memory with an id, or of what a question asks about.
func (b *Bank) Why(ctx context.Context, q WhyQuestion) (WhyAnswer, error) {
	done, err := b.enter(ctx)
	if err != nil {
		return WhyAnswer{}, err
	}
	defer done()
	q.Query, q.ID = strings.TrimSpace(q.Query), strings.TrimSpace(q.ID)
	if q.Query == "" && q.ID == "" {
		return WhyAnswer{}, Errorf(CodeInvalid, "query: give a query or the id of a memory")
	}
	if q.Limit, err = clampLimit(q.Limit, defaultLimit); err != nil {
		return WhyAnswer{}, err
	}
	if q.MaxTokens, err = clampTokens(q.MaxTokens); err != nil {
		return WhyAnswer{}, err
	}
	if q.Depth == 0 {
		q.Depth = defaultDepth
	}
	q.Depth = min(max(q.Depth, 1), maxDepth)
	in, err := b.inquire(ctx, q.Project, q.Query, Filter{}, q.Relations, false, &q.From)
	if err != nil {
		return WhyAnswer{}, err
	}
	defer in.close(b)
	var w [4]float64
	w[query.Why] = 1
	in.request.Weights = &w
	out := WhyAnswer{Project: in.project, Chains: []Chain{}, Memories: []Memory{}, Degraded: in.degraded}
	var rec Recollection
	var list []found
	var effects []effect
	if q.ID != "" {
		if effects, list, err = b.effectByID(in, q.ID); err != nil {
			return out, storageError("reading the memory", err)
		}
	} else {
		if list, err = b.search(in, q.Limit, &rec); err != nil {
			return out, storageError("looking for causes", err)
		}
		effects = likelyEffects(list, rec.Confident)
	}
	cw := &causeWalk{b: b, in: in, depth: q.Depth, seen: map[graph.ID]bool{}, refs: refs{}}
	if in.request.Graphs.Has(graph.Causal) {
		for _, e := range effects {
			if err := cw.from(e); err != nil {
				return out, storageError("looking for causes", err)
			}
		}
	}
	out.Chains = append(out.Chains, cw.chains...)
	out.Found = len(out.Chains) > 0
	in.chain = chained(out.Chains)
	if q.ID == "" {
		list = worthShowing(list, in.chain, out.Found)
	}
	list = cw.order(list, q.Limit)
	b.fitWhy(&out, in, list, cw.refs, q.MaxTokens)
	return out, nil
}

// chained is the memories that stand in chains.
func chained(chains []Chain) map[graph.ID]bool {
	out := map[graph.ID]bool{}
	for _, c := range chains {
		for _, s := range c.Steps {
			for _, id := range []string{s.Cause, s.Effect} {
				if x, err := graph.ParseID(id); err == nil {
					out[x] = true
				}
			}
		}
	}
	return out
}

// effect is a memory whose causes are asked for.
type effect struct {
	p     store.Project
	shard *index.Shard
	doc   uint32
	id    graph.ID
	given bool // by id: any cause of it counts
	place int
}

func (b *Bank) effectByID(in *inquiry, s string) ([]effect, []found, error) {
	var last error
	for _, p := range in.projects {
		id, err := b.resolve(p, s)
		if err != nil {
			last = err
			continue
		}
		sh, err := b.shard(p)
		if err != nil {
			return nil, nil, err
		}
		sh.RLock() // let go before the next project is loaded: a writer may wait for it with what loading needs
		o, ok := sh.Find(id)
		var list []found
		if ok {
			list, err = b.collect(p, sh, []query.Item{{Doc: o, Score: 1, Anchor: true}}, map[uint32]*store.Record{})
		}
		sh.RUnlock()
		if err != nil {
			return nil, nil, err
		}
		if len(list) == 0 {
			last = Errorf(CodeNotFound, "id: %s was forgotten", s)
			continue
		}
		return []effect{{p: p, shard: sh, doc: o, id: id, given: true}}, list, nil
	}
	if last == nil {
		last = Errorf(CodeNotFound, "id: nothing is stored in project %s", in.project)
	}
	return nil, nil, last
}

// effectsLookedAt is how many of the best memories may be what a question asks about. A cause found further
// down is a cause of something else.
const effectsLookedAt = 5

// What is shown beside a chain, or for want of one, has to be this near to the best of what was found. A reason
// may be told in other words, so more is cut only from what holds no word of the question. Measured on the
// questions that ask why, of LoCoMo's development conversations and of FriendsQA: no evidence is lost (recall@10
// .939 and .596 with and without), and beside a chain 0.6 loses some (.909).
const (
	besideChain  = 0.4
	withoutChain = 0.3
	withoutAWord = 0.5
)

// worthShowing drops from what was found what has little to do with the question. What is in a chain stays.
func worthShowing(list []found, chain map[graph.ID]bool, chained bool) []found {
	if len(list) == 0 {
		return list
	}
	best := list[0].item.Score
	return slices.DeleteFunc(list, func(f found) bool {
		need := withoutChain
		if f.item.Words == 0 {
			need = withoutAWord
		}
		if chained {
			need = max(need, besideChain)
		}
		return !chain[f.record.ID] && f.item.Score < need*best
	})
}

// likelyEffects are the memories that a question may be about: the best, and those nearly as good.
func likelyEffects(list []found, confident bool) []effect {
	if !confident || len(list) == 0 {
		return nil
	}
	best := list[0].item.Score
	var out []effect
	for i := range list[:min(effectsLookedAt, len(list))] {
		f := &list[i]
		if f.item.Score >= 0.6*best {
			out = append(out, effect{p: f.shard.Project, shard: f.shard, doc: f.item.Doc, id: f.record.ID, place: i})
		}
	}
	return out
}

// fitWhy writes the text block: chains in at most half of the budget, then the memories.
func (b *Bank) fitWhy(out *WhyAnswer, in *inquiry, list []found, ref refs, budget int) {
	var head strings.Builder
	left := budget * 4 / 2
	say := func(line string) bool {
		if left -= runes(line); left >= 0 {
			head.WriteString(line)
		}
		return left >= 0
	}
	if !out.Found {
		say(leadNoReason + " The closest memories follow; none of them is a stated cause.\n")
	}
	for i, ch := range out.Chains {
		if i == 3 {
			break
		}
		for _, s := range ch.Steps {
			if !say(fmt.Sprintf("%s caused %s (%s, %.2f): %q\n", ref.of(s.Cause), ref.of(s.Effect), s.Origin, s.Confidence, oneLine(s.Evidence, 160))) {
				break
			}
		}
	}
	rec := Recollection{Intent: query.Why.String(), Confident: out.Found, Degraded: out.Degraded, Project: out.Project, Memories: []Memory{}}
	b.fit(&rec, in, list, budget-tokens(head.String()))
	out.Text = head.String() + rec.Text
	out.Memories = rec.Memories
}
