package memory

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// duplicate answers for a memory that is here already: by its idempotency key, as our own output, or by exact identity.
func (b *Bank) duplicate(p store.Project, w *writing) (Receipt, store.Commit, bool, error) {
	if w.idem != (store.Digest{}) {
		v, err := b.kv.Get(store.IdemKey(p, w.idem))
		if err == nil && len(v) == 32 {
			if string(v[16:]) != string(w.idemText[:]) {
				return Receipt{}, nil, true, Errorf(CodeConflict, "idempotency_key: it was used before with other content; use a new key for a new memory")
			}
			// The same request again, and no more: but what was forgotten or superseded since is never the first of a
			// duplicate, whatever named it.
			rec, c, hit, err := b.again(p, w, graph.ID(v[:16]))
			if hit || err != nil {
				return rec, c, true, err
			}
			w.keyAgain = true
		} else if err != nil && !errors.Is(err, store.ErrNotFound) {
			return Receipt{}, nil, true, err
		}
	}
	if w.ownOnly {
		if id, ok := b.ownOutput(p, w); ok {
			rec, c, hit, err := b.again(p, w, id)
			if hit {
				return rec, c, hit, err
			}
		}
	}
	v, err := b.kv.Get(store.HashKey(p, w.identity))
	if errors.Is(err, store.ErrNotFound) {
		return Receipt{}, nil, false, nil
	}
	if err == nil {
		err = errLength(len(v))
	}
	if err != nil {
		return Receipt{}, nil, true, err
	}
	return b.again(p, w, graph.ID(v))
}

func errLength(n int) error {
	if n == 16 {
		return nil
	}
	return fmt.Errorf("%w: an id of %s bytes", store.ErrCorrupt, strconv.Itoa(n))
}

// again notes one more sighting of id; hit is false where id is forgotten or superseded, and the memory is new.
func (b *Bank) again(p store.Project, w *writing, id graph.ID) (Receipt, store.Commit, bool, error) {
	r, st, err := b.get(p, id)
	if errors.Is(err, store.ErrNotFound) {
		return Receipt{}, nil, false, nil
	}
	if err != nil {
		return Receipt{}, nil, true, err
	}
	if !st.SupersededBy.IsZero() {
		return Receipt{}, nil, false, nil
	}
	n := w.note
	st.Seen++
	if len(st.Sightings) < 1000 {
		st.Sightings = append(st.Sightings, store.StampOf(w.now.UTC()))
	}
	tags := missing(append(slices.Clone(r.Tags), st.Tags...), dedup(n.Tags))
	ents := missing(append(slices.Clone(r.Entities), st.Entities...), dedup(n.Entities))
	because, err := b.resolveAll(p, "because_of", n.BecauseOf)
	if err != nil {
		return Receipt{}, nil, true, err
	}
	replaces, err := b.resolveAll(p, "supersedes", n.Supersedes)
	if err != nil {
		return Receipt{}, nil, true, err
	}
	because = missing(append(slices.Clone(r.BecauseOf), st.BecauseOf...), slices.DeleteFunc(because, func(x graph.ID) bool { return x == id }))
	replaces = missing(append(slices.Clone(r.Supersedes), st.Supersedes...), slices.DeleteFunc(replaces, func(x graph.ID) bool { return x == id }))
	st.Tags, st.Entities = append(st.Tags, tags...), append(st.Entities, ents...)
	st.BecauseOf, st.Supersedes = append(st.BecauseOf, because...), append(st.Supersedes, replaces...)
	ops := []store.Op{{Kind: store.Set, Key: store.StateKey(p, id), Value: st.Encode()}}
	ops, states, err := b.supersede(p, ops, replaces, id)
	if err != nil {
		return Receipt{}, nil, true, err
	}
	again := &writing{note: n, project: w.project, parts: []*store.Record{r}, analyses: []*store.Analysis{b.analysisOf(p, r)}, warnings: w.warnings}
	for _, x := range r.Segments {
		seg, _, err := b.get(p, x)
		if err != nil {
			return Receipt{}, nil, true, err
		}
		again.parts, again.analyses = append(again.parts, seg), append(again.analyses, b.analysisOf(p, seg))
	}
	rec := b.receipt(again, r, st)
	rec.Pending = b.pendingOf(p, id)
	if w.idem != (store.Digest{}) { // a key that came with a duplicate is used too
		ops = append(ops, store.Op{Kind: store.Set, Key: store.IdemKey(p, w.idem), Value: append(slices.Clone(id[:]), w.idemText[:]...)})
	}
	if w.request != "" {
		op, err := b.requestOp(w.request, rec, "")
		if err != nil {
			return Receipt{}, nil, true, err
		}
		ops = append(ops, op)
	}
	commit, err := b.kv.Apply(ops)
	if err != nil {
		return Receipt{}, nil, true, err
	}
	b.change(p, func(s *index.Shard) {
		if o, ok := s.Find(id); ok {
			s.AddFacets(o, tags, ents)
			for _, c := range because {
				s.State(o, c)
			}
			for x := range states {
				if old, ok := s.Find(x); ok {
					s.Supersede(old, o)
				}
			}
		}
	})
	return rec, commit, true, nil
}

func missing[T comparable](have, want []T) []T {
	var out []T
	for _, x := range want {
		if !slices.Contains(have, x) && !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// ownOutput is the memory whose printed block the content is, where all of its blocks are memories that are here
// and say what those say: a block with other words is a new memory. The first that is not superseded counts as
// seen again.
func (b *Bank) ownOutput(p store.Project, w *writing) (graph.ID, bool) {
	var first graph.ID
	for _, o := range w.own {
		id, err := b.resolve(p, o.ref)
		if err != nil {
			return first, false
		}
		r, _, err := b.get(p, id)
		if err != nil {
			return first, false
		}
		text, err := b.content(p, r)
		if err != nil || !o.quotes(text) {
			return first, false
		}
		st, err := b.stateOf(p, r)
		if err != nil {
			return first, false
		}
		if first.IsZero() && st.SupersededBy.IsZero() {
			if first = id; !r.PartOf.IsZero() {
				first = r.PartOf
			}
		}
	}
	return first, !first.IsZero()
}
