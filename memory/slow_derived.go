package memory

import (
	"bytes"
	"errors"
	"slices"

	"github.com/magma-mcp/magma-mcp/memory/consolidate"
	"github.com/magma-mcp/magma-mcp/memory/extract"
	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// What the passes derived, in answers. Causes, contradictions, entities and a model's summaries of episodes are
// drawn into the index, so that every route finds by them; they are taken back when their row goes. The rest is
// read when it is asked for. Summaries that rules take from the memories themselves are not drawn: entered
// through, they moved recall@10 on conv-26, conv-30 and conv-41 from .834 to between .831 and .836, for any
// weight from .05 to .4, and multi-hop questions alone no more.

// draw brings a derived row into an index; the caller holds its Lock.
func draw(s *index.Shard, r *consolidate.Derived) {
	switch r.Kind {
	case consolidate.CauseRow:
		from, ok1 := s.Find(r.From)
		to, ok2 := s.Find(r.To)
		switch e, ok := edgeOf(s, r); {
		case !ok1 || !ok2 || !ok:
		case from == to:
			if c, ok := causeOf(r); ok {
				s.Reason(from, c)
			}
		default:
			s.Link(from, to, e)
		}
	case consolidate.ContradictionRow:
		from, ok1 := s.Find(r.From)
		to, ok2 := s.Find(r.To)
		if ok1 && ok2 {
			s.Contradict(from, to)
		}
	case consolidate.EntityRow:
		if o, ok := s.Find(r.Basis[0]); ok {
			s.Mention(o, entityKey(r.Name), r.Name, r.Type, entityKeys(r.Aliases))
		}
	case consolidate.SummaryRow:
		if len(r.Members) != 1 {
			return // of one long memory, whose own words are found
		}
		docs := make([]uint32, 0, len(r.Basis))
		for _, id := range r.Basis {
			if o, ok := s.Find(id); ok {
				docs = append(docs, o)
			}
		}
		words := r.Text
		for _, k := range r.Keywords {
			words += "\n" + k.Word
		}
		if len(docs) > 0 {
			s.AddGist(r.ID, r.Topic, docs, words)
		}
	}
}

// undraw takes a row back, and says how many edges went.
func undraw(s *index.Shard, r *consolidate.Derived) int {
	switch r.Kind {
	case consolidate.CauseRow:
		from, ok1 := s.Find(r.From)
		to, ok2 := s.Find(r.To)
		switch e, ok := edgeOf(s, r); {
		case !ok1 || !ok2 || !ok:
			return 0
		case from == to:
			if c, ok := causeOf(r); ok {
				s.Unreason(from, c)
			}
		default:
			s.Unlink(from, to, e)
		}
		return 1
	case consolidate.ContradictionRow:
		from, ok1 := s.Find(r.From)
		to, ok2 := s.Find(r.To)
		if !ok1 || !ok2 {
			return 0
		}
		s.Reconcile(from, to)
		return 1
	case consolidate.EntityRow:
		if o, ok := s.Find(r.Basis[0]); ok {
			s.Unmention(o, entityKey(r.Name), entityKeys(r.Aliases))
			return 1
		}
	case consolidate.SummaryRow:
		s.DropGist(r.ID)
	}
	return 0
}

// entityKey is the key under which the words' own analysis keeps a name.
func entityKey(name string) string { return index.FoldName(extract.Key(name)) }

func entityKeys(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = entityKey(n)
	}
	return out
}

// edgeOf is the edge of a cause. Its evidence is the words that tell the cause: a reader who sees both
// memories misses those first.
func edgeOf(s *index.Shard, r *consolidate.Derived) (index.Edge, bool) {
	i := slices.IndexFunc(r.Evidence, func(q consolidate.Quote) bool { return q.Memory == r.From })
	if i < 0 {
		return index.Edge{}, false
	}
	q := r.Evidence[i]
	o, ok := s.Find(q.Memory)
	return index.Edge{Origin: graph.Inferred, Confidence: float32(r.Confidence), Holder: o, From: uint32(q.From), At: uint32(q.To), Quote: q.Text}, ok
}

// causeOf is a cause inside one memory, by the places of its two quotes.
func causeOf(r *consolidate.Derived) (store.Cause, bool) {
	if len(r.Evidence) < 2 {
		return store.Cause{}, false
	}
	c, e := r.Evidence[0], r.Evidence[1]
	return store.Cause{CauseFrom: uint32(c.From), CauseTo: uint32(c.To), EffectFrom: uint32(e.From), EffectTo: uint32(e.To),
		From: uint32(min(c.From, e.From)), To: uint32(max(c.To, e.To)), Confidence: r.Confidence}, true
}

// loadDerived draws a project's rows into its index.
func (b *Bank) loadDerived(kv store.Reader, p store.Project, s *index.Shard) error {
	lo, _ := store.PassRange(p, store.PassModel)
	_, hi := store.PassRange(p, store.PassEpisode) // the next one
	return visit(kv, lo, hi, func(_, v []byte) error {
		switch kindOf(v) {
		case consolidate.CauseRow, consolidate.ContradictionRow, consolidate.EntityRow, consolidate.SummaryRow:
		default:
			return nil
		}
		r, err := readDerived(v)
		if err != nil {
			return err
		}
		draw(s, &r)
		return nil
	})
}

// dropDerived adds the deletions of every derived row that rests on one of the memories that go. For an
// episode, one of its other memories is owed to the rules again. The caller holds the writer's lock.
func (b *Bank) dropDerived(ops []store.Op, p store.Project, gone []graph.ID) ([]store.Op, []consolidate.Derived, error) {
	st := &settlement{l: b.back.rows, staged: map[string]bool{}, project: p}
	done := map[string]bool{}
	spans := make([]store.Span, len(gone))
	for i, id := range gone {
		spans[i].Lo, spans[i].Hi = store.BasisOf(p, id)
	}
	var rows [][]byte
	if err := sweep(b.kv, spans, func(_ int, key, _ []byte) error {
		rows = append(rows, bytes.Clone(key))
		return nil
	}); err != nil {
		return nil, nil, err
	}
	for _, row := range rows {
		st.del(row)
		k := store.BasisTarget(row)
		if done[string(k)] {
			continue
		}
		done[string(k)] = true
		if err := st.replace(k); err != nil {
			return nil, nil, err
		}
	}
	owed := (&store.Job{}).Encode()
	for i := range st.dropped {
		r := &st.dropped[i]
		if r.Kind != consolidate.EpisodeRow {
			continue
		}
		left := slices.IndexFunc(r.Basis, func(id graph.ID) bool { return !slices.Contains(gone, id) })
		if left < 0 {
			continue
		}
		if ok, err := st.l.has(store.RecordKey(p, r.Basis[left])); err != nil {
			return nil, nil, err
		} else if ok {
			k := store.QueueKey(store.PassRules, p, r.Basis[left])
			st.l.floors.note(store.PassRules, k)
			st.set(k, owed)
		}
	}
	return append(ops, st.ops...), st.dropped, nil
}

// showDerived adds to a memory what contradicts it. It retires neither.
func (b *Bank) showDerived(_ store.Project, s *index.Shard, o uint32, m *Memory) {
	for _, x := range s.Contradicting(o) {
		m.Contradicts = append(m.Contradicts, s.Docs[x].ID.String())
	}
	slices.Sort(m.Contradicts)
}

// factMemories is how many of an entity's memories are looked through for facts, newest first.
const factMemories = 500

// showFacts adds to an entity what a model read of it in the memories that mention it: facts, relationships,
// and the names it goes by. A damaged row is left out here; check names it.
func (b *Bank) showFacts(p store.Project, s *index.Shard, e uint32, info *EntityInfo) {
	names := map[string]bool{}
	var docs []uint32
	for _, x := range s.Group(e) {
		names[s.EntityAt(x).Key] = true
		docs = append(docs, s.EntityAt(x).Docs...)
	}
	slices.Sort(docs)
	docs = slices.Compact(docs)
	slices.Reverse(docs)
	is := func(name string) bool { return names[entityKey(name)] }
	done := map[string]bool{}
	for _, o := range docs[:min(factMemories, len(docs))] {
		lo, hi := store.BasisOf(p, s.Docs[o].ID)
		for row, err := range b.kv.Scan(lo, hi) {
			if err != nil {
				return
			}
			k := store.BasisTarget(row.Key)
			if done[string(k)] {
				continue
			}
			done[string(k)] = true
			v, err := b.kv.Get(k)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return
			}
			if r, err := readDerived(v); err == nil {
				addFact(info, &r, is)
			}
		}
	}
}

func addFact(info *EntityInfo, r *consolidate.Derived, is func(string) bool) {
	memory := ""
	if len(r.Basis) > 0 {
		memory = r.Basis[0].String()
	}
	quote := ""
	if len(r.Evidence) > 0 {
		quote = r.Evidence[0].Text
	}
	pass := passName(r)
	switch r.Kind {
	case consolidate.FactRow:
		if is(r.Subject) {
			info.Facts = append(info.Facts, Fact{Subject: r.Subject, Predicate: r.Predicate, Object: r.Object, Memory: memory, Quote: quote, Pass: pass})
		}
	case consolidate.RelationRow:
		// Read from both ends: "brother of" of Eskil's page is said of Mira's as Eskil's relation to her.
		if is(r.Subject) {
			info.Relations = append(info.Relations, EntityRelation{Relation: r.Predicate, Other: r.Object, Memory: memory, Quote: quote, Pass: pass})
		} else if is(r.Object) {
			info.Relations = append(info.Relations, EntityRelation{Relation: r.Subject + " is " + r.Predicate, Other: r.Subject, Memory: memory, Quote: quote, Pass: pass})
		}
	case consolidate.EntityRow:
		if !is(r.Name) {
			return
		}
		if info.Type == "" {
			info.Type = r.Type
		}
		for _, a := range r.Aliases {
			key := entityKey(a)
			i := slices.IndexFunc(info.Aliases, func(x Alias) bool { return entityKey(x.Name) == key })
			if i < 0 {
				info.Aliases = append(info.Aliases, Alias{})
				i = len(info.Aliases) - 1
			} else if info.Aliases[i].Memory != memory {
				continue
			}
			info.Aliases[i] = Alias{Name: a, Origin: pass, Memory: memory}
		}
	}
}
