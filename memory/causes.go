package memory

import (
	"errors"
	"slices"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory/extract"
	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/query"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

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
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil // forgotten since it was found: the index hears of it after the store
	}
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
