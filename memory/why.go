package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory/extract"
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

// causeWalk collects chains of causes.
type causeWalk struct {
	b      *Bank
	in     *inquiry
	depth  int
	chains []Chain
	causes []found // memories that are causes, nearest first, with the id of their effect in via
	seen   map[graph.ID]bool
	refs   refs // of the chains' memories
}

// from adds the chains that end in e.
func (c *causeWalk) from(e effect) error {
	e.shard.RLock()
	defer e.shard.RUnlock()
	if o, ok := e.shard.Find(e.id); !ok || o != e.doc {
		return nil // forgotten since it was found
	}
	var tails [][]ChainStep
	for _, o := range segments(e.shard, e.doc) {
		own, err := c.inside(effect{p: e.p, shard: e.shard, doc: o, id: e.shard.Docs[o].ID, given: e.given, place: e.place})
		if err != nil {
			return err
		}
		if own != nil {
			tails = append(tails, []ChainStep{*own})
		}
	}
	if err := c.climb(e.p, e.shard, e.doc, tails, map[uint32]bool{e.doc: true}, c.depth, nil); err != nil {
		return err
	}
	// The memory found may be the answer to what was asked in the turn before it.
	p, ok := e.shard.Neighbour(e.doc, -1)
	if !ok || e.given || len(c.chains) >= maxChains {
		return nil
	}
	edge, ok, err := c.answer(e.p, e.shard, p, e.doc, false)
	if err != nil || !ok {
		return err
	}
	step, err := c.step(e.p, e.shard, edge, p)
	if err == nil && step != nil {
		c.chains = append(c.chains, Chain{Steps: []ChainStep{*step}})
	}
	return err
}

const (
	// replyFloor is how sure a reply has to be the reason that the turn before it asked for. A plain statement
	// in answer to a why has 0.55 (extract.ReplyCauses), a hedged one 0.4. Where the turn was given by its id no
	// question holds it to its words, and any next turn would do: then the reply has to say that it is a reason.
	replyFloor   = 0.5
	replyFloorID = 0.6
	// askedShare is how much of what is asked, names apart, the turn that asks for a reason has to hold: with
	// less, "Why can't you come?" answers why another could not swim.
	askedShare = 0.4
)

// answer is the edge from a reply to the turn that asked for a reason ("Why did you cancel?" - "My ankle is
// swollen"): another speaker's next turn. It has to ask what is asked now.
func (c *causeWalk) answer(p store.Project, s *index.Shard, asked, reply uint32, given bool) (index.Edge, bool, error) {
	a, r := &s.Docs[asked], &s.Docs[reply]
	if a.Flags&index.Question == 0 || a.Speaker == r.Speaker && s.Name(a.Speaker) != "" {
		return index.Edge{}, false, nil
	}
	before, _, err := c.b.get(p, a.ID)
	if errors.Is(err, store.ErrNotFound) {
		return index.Edge{}, false, nil
	} else if err != nil {
		return index.Edge{}, false, err
	}
	after, _, err := c.b.get(p, r.ID)
	if errors.Is(err, store.ErrNotFound) {
		return index.Edge{}, false, nil
	} else if err != nil {
		return index.Edge{}, false, err
	}
	floor := replyFloor
	if given {
		floor = replyFloorID
	}
	for _, x := range extract.ReplyCauses(before.Content, after.Content) {
		if x.Prior != extract.EffectSide || x.Confidence < floor || !given && float64(c.shared(x.Effect.In(before.Content))) < askedShare*float64(max(1, c.asked())) {
			continue
		}
		return index.Edge{To: reply, Origin: graph.Inferred, Confidence: float32(x.Confidence), Holder: reply, From: uint32(x.Cause.From), At: uint32(x.Cause.To)}, true, nil
	}
	return index.Edge{}, false, nil
}

// segments is a long text's segments, or the memory itself.
func segments(s *index.Shard, o uint32) []uint32 {
	if s.Docs[o].Flags&index.Whole == 0 {
		return []uint32{o}
	}
	var out []uint32
	for x := o + 1; int(x) < len(s.Docs) && s.Docs[x].PartOf == int32(o); x++ {
		out = append(out, x)
	}
	return out
}

// inside is the cause that a memory states of itself: "we moved because the rent rose". For a question its
// effect has to share a word with what is asked, or the cause be the only one told.
func (c *causeWalk) inside(e effect) (*ChainStep, error) {
	r, _, err := c.b.get(e.p, e.id)
	if err != nil {
		return nil, err
	}
	var bestStep *ChainStep
	bestHit := -1
	c.note(e.shard, e.doc)
	for _, x := range e.shard.Docs[e.doc].Causes {
		if x.Previous != 0 || int(x.To) > len(r.Content) || x.From >= x.To {
			continue
		}
		hit := 0
		if !e.given {
			hit = c.shared(slice(r.Content, x.EffectFrom, x.EffectTo))
			if hit == 0 && e.place > 0 {
				continue
			}
		}
		if hit > bestHit {
			id := e.id.String()
			bestHit = hit
			bestStep = &ChainStep{Cause: id, Effect: id, Origin: graph.Inferred.String(), Confidence: x.Confidence, Evidence: strings.TrimSpace(r.Content[x.From:x.To]), EvidenceMemory: id}
		}
	}
	return bestStep, nil
}

func slice(s string, from, to uint32) string {
	if int(to) > len(s) || from > to {
		return ""
	}
	return s[from:to]
}

// shared counts the question's words that a text holds.
func (c *causeWalk) shared(s string) int {
	held := map[string]bool{}
	for _, t := range c.in.analyst.words.Tokens(s) {
		held[t.Term] = held[t.Term] || !t.Stop
	}
	n := 0
	for i := range c.in.question.Terms {
		if q := &c.in.question.Terms[i]; q.Of < 0 && !q.Name && held[q.Stem] {
			n++
		}
	}
	return n
}

// asked is how many words the question has, names apart.
func (c *causeWalk) asked() (n int) {
	for i := range c.in.question.Terms {
		if q := &c.in.question.Terms[i]; q.Of < 0 && !q.Name {
			n++
		}
	}
	return n
}

// climb goes from an effect to its causes; tail is the steps from there on to what was asked.
func (c *causeWalk) climb(p store.Project, s *index.Shard, o uint32, starts [][]ChainStep, path map[uint32]bool, depth int, tail []ChainStep) error {
	grew := false
	if depth > 0 {
		edges := stepsUp(s, o)
		if n, ok := s.Neighbour(o, 1); ok && !slices.ContainsFunc(edges, func(e index.Edge) bool { return e.To == n }) {
			e, ok, err := c.answer(p, s, o, n, c.in.question.Text == "")
			if err != nil {
				return err
			}
			if ok {
				edges = append(edges, e)
			}
		}
		for _, e := range edges {
			if path[e.To] {
				continue
			}
			if len(c.chains) >= maxChains {
				return nil
			}
			step, err := c.step(p, s, e, o)
			if err != nil {
				return err
			}
			if step == nil {
				continue // gone since the edge was read
			}
			grew = true
			path[e.To] = true
			if err := c.climb(p, s, e.To, nil, path, depth-1, append([]ChainStep{*step}, tail...)); err != nil {
				return err
			}
			delete(path, e.To)
		}
	}
	for _, st := range starts {
		if len(c.chains) < maxChains {
			c.chains = append(c.chains, Chain{Steps: append(slices.Clone(st), tail...)})
		}
	}
	if !grew && len(tail) > 0 && len(c.chains) < maxChains {
		steps := tail
		if own, err := c.inside(effect{p: p, shard: s, doc: o, id: s.Docs[o].ID, given: true}); err == nil && own != nil {
			steps = append([]ChainStep{*own}, tail...)
		}
		c.chains = append(c.chains, Chain{Steps: steps})
	}
	return nil
}

// stepsUp is the causal edges into o, one for each cause: a stated one before an inferred one, then the surest. What
// is stated of a long text holds for each segment of it.
func stepsUp(s *index.Shard, o uint32) []index.Edge {
	var edges []index.Edge
	collect := func(v uint32, e index.Edge, effect bool) {
		if effect || s.Docs[v].Flags&index.Dead != 0 || v == o {
			return
		}
		e.To = v
		for i := range edges {
			if edges[i].To == v {
				if e.Origin < edges[i].Origin || e.Origin == edges[i].Origin && e.Confidence > edges[i].Confidence {
					edges[i] = e
				}
				return
			}
		}
		edges = append(edges, e)
	}
	query.CausalEdges(s, o, collect)
	if w := s.Docs[o].PartOf; w >= 0 {
		query.CausalEdges(s, uint32(w), collect)
	}
	return edges
}

// note keeps the ref of a memory of a chain where it is longer than usual.
func (c *causeWalk) note(s *index.Shard, o uint32) {
	if d := &s.Docs[o]; d.RefLen > 0 {
		r := store.Record{ID: d.ID, RefLen: d.RefLen}
		c.refs[d.ID.String()] = r.Ref()
	}
}

// step is one edge from e.To to the effect o, with its evidence.
func (c *causeWalk) step(p store.Project, s *index.Shard, e index.Edge, o uint32) (*ChainStep, error) {
	cause := s.Docs[e.To].ID
	list, err := c.b.collect(p, s, []query.Item{{Doc: e.To, Score: float64(e.Confidence)}}, map[uint32]*store.Record{})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	c.note(s, e.To)
	c.note(s, o)
	if !c.seen[cause] {
		c.seen[cause] = true
		list[0].memory.Via = []Step{{Relation: graph.CausedBy.String(), From: s.Docs[o].ID.String()}}
		list[0].refs = c.b.longRefs(p, s, &list[0].memory)
		c.causes = append(c.causes, list[0])
	}
	holder := s.Docs[e.Holder].ID
	evidence := e.Quote
	if evidence == "" && e.Origin == graph.Inferred {
		if r, _, err := c.b.get(p, holder); err == nil {
			evidence = strings.TrimSpace(slice(r.Content, e.From, e.At))
		}
	}
	if e.Origin == graph.Stated {
		evidence = "stated when it was stored (because_of)"
	}
	return &ChainStep{Cause: cause.String(), Effect: s.Docs[o].ID.String(), Origin: e.Origin.String(), Confidence: round4(float64(e.Confidence)),
		Evidence: evidence, EvidenceMemory: holder.String()}, nil
}

// order is the list of memories with the causes found put behind their effects, at most limit.
func (c *causeWalk) order(list []found, limit int) []found {
	have := map[graph.ID]bool{}
	for _, f := range list {
		have[f.record.ID] = true
	}
	var out []found
	for _, f := range list {
		out = append(out, f)
		for _, x := range c.causes {
			if !have[x.record.ID] && len(x.memory.Via) > 0 && x.memory.Via[0].From == f.record.ID.String() {
				out = append(out, x)
				have[x.record.ID] = true
			}
		}
	}
	for _, x := range c.causes {
		if !have[x.record.ID] {
			out = slices.Insert(out, min(1, len(out)), x)
			have[x.record.ID] = true
		}
	}
	return out[:min(limit, len(out))]
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
