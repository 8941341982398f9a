package memory

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// Rebuild makes every derived row anew that can be made from the records alone, and deletes those of no record.
// Vectors and what a model derived stay: they are dear. It can be interrupted at any point: what is written goes over
// what was there, and only then does anything go, so that the store answers as before all the while.
func (b *Bank) Rebuild(ctx context.Context, progress func(done, total int)) error {
	done, err := b.enter(ctx)
	if err != nil {
		return err
	}
	defer done()
	b.write.Lock()
	defer b.write.Unlock()
	names := b.projectNames()
	for i, n := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		p, _ := b.project(n)
		if err := b.rebuildProject(ctx, p); err != nil {
			return storageError("rebuilding", err)
		}
		b.mu.Lock()
		delete(b.shards, p)
		b.mu.Unlock()
		if progress != nil {
			progress(i+1, len(names))
		}
	}
	return nil
}

// rebuildBatch is how many rows are written at once.
const rebuildBatch = 768

// rebuilding is one project on its way.
type rebuilding struct {
	ctx     context.Context
	b       *Bank
	project store.Project
	ops     []store.Op
	records []graph.ID // ascending, as those below
	tombs   []graph.ID
	hashes  []hashed // of the digests, the newest holder, as it was when they were written
}

// hashed is a duplicate row: 32 bytes a memory is what a rebuild keeps of it.
type hashed struct {
	digest store.Digest
	id     graph.ID
}

func (b *Bank) rebuildProject(ctx context.Context, p store.Project) error {
	r := &rebuilding{ctx: ctx, b: b, project: p}
	if err := r.write(); err != nil {
		return err
	}
	if err := r.sweep(); !errors.Is(err, store.ErrCorrupt) {
		return err
	}
	// The records can be read and what was derived from them cannot: nothing of it answers any more, so it goes first.
	for _, rng := range store.DerivedSpaces(p) {
		r.ops = append(r.ops, store.Op{Kind: store.DeleteRange, Key: rng[0], Value: rng[1]})
	}
	if err := r.flush(); err != nil {
		return err
	}
	return (&rebuilding{ctx: ctx, b: b, project: p}).write()
}

func (r *rebuilding) add(op store.Op) error {
	if r.ops = append(r.ops, op); len(r.ops) < rebuildBatch {
		return nil
	}
	return r.flush()
}

func (r *rebuilding) flush() error {
	if len(r.ops) == 0 {
		return nil
	}
	c, err := r.b.kv.Apply(r.ops)
	r.ops = nil
	if err != nil {
		return err
	}
	return c.Wait()
}

// write puts every row that the records call for over what is there.
func (r *rebuilding) write() error {
	b, p := r.b, r.project
	set := func(key, value []byte) error { return r.add(store.Op{Kind: store.Set, Key: key, Value: value}) }
	lo, hi := store.TombstoneRange(p)
	for row, err := range b.kv.Scan(lo, hi) {
		if err != nil {
			return err
		}
		id := store.IDOf(row.Key)
		r.tombs = append(r.tombs, id)
		if err := set(store.TailKey(p, id), []byte{}); err != nil {
			return err
		}
	}
	hashes := []hashed{}
	lo, hi = store.RecordRange(p)
	for row, err := range b.kv.Scan(lo, hi) {
		if err != nil {
			return err
		}
		if err := r.ctx.Err(); err != nil {
			return err
		}
		id := store.IDOf(row.Key)
		x, err := store.DecodeRecord(id, row.Value)
		if err != nil {
			return err
		}
		r.records = append(r.records, id)
		a := b.analyze(x)
		if err := errors.Join(set(store.AnalysisKey(p, id), a.Encode()), set(store.TailKey(p, id), []byte{})); err != nil {
			return err
		}
		if x.PartOf.IsZero() {
			d, err := b.digest(p, x, a)
			if err != nil {
				return err
			}
			hashes = append(hashes, hashed{d, id})
		}
	}
	// One digest may have several holders, one told again after it was superseded. The row changes once, to the
	// newest: while it named an older one, a duplicate would be stored as new.
	slices.SortStableFunc(hashes, func(a, b hashed) int { return bytes.Compare(a.digest[:], b.digest[:]) })
	for i, h := range hashes {
		if i+1 == len(hashes) || hashes[i+1].digest != h.digest {
			r.hashes = append(r.hashes, h)
			if err := set(store.HashKey(p, h.digest), bytes.Clone(h.id[:])); err != nil {
				return err
			}
		}
	}
	return r.flush()
}

// sweep deletes the derived rows of what is not there.
func (r *rebuilding) sweep() error {
	p := r.project
	has := func(l []graph.ID, id graph.ID) bool {
		_, ok := slices.BinarySearchFunc(l, id, compareIDs)
		return ok
	}
	for _, space := range []struct {
		rng    func(store.Project) (lo, hi []byte)
		called func(key []byte) bool
	}{
		{store.AnalysisRange, func(k []byte) bool { return has(r.records, store.IDOf(k)) }},
		{store.TailsRange, func(k []byte) bool { return has(r.records, store.IDOf(k)) || has(r.tombs, store.IDOf(k)) }},
		{store.HashRange, func(k []byte) bool {
			_, ok := slices.BinarySearchFunc(r.hashes, k, func(h hashed, k []byte) int { return bytes.Compare(store.HashKey(p, h.digest), k) })
			return ok
		}},
	} {
		lo, hi := space.rng(p)
		for row, err := range r.b.kv.Scan(lo, hi) {
			if err != nil {
				return err
			}
			if !space.called(row.Key) {
				if err := r.add(store.Op{Kind: store.Delete, Key: row.Key}); err != nil {
					return err
				}
			}
		}
	}
	return r.flush()
}

// digest is the identity of a memory whose analysis is a.
func (b *Bank) digest(p store.Project, r *store.Record, a *store.Analysis) (store.Digest, error) {
	text, analyses := r.Content, []*store.Analysis{a}
	var whole []byte
	for _, id := range r.Segments {
		x, _, err := b.get(p, id)
		if err != nil {
			return store.Digest{}, err
		}
		whole = append(whole, x.Content...)
		if r.Given == "" {
			analyses = append(analyses, b.analyze(x))
		}
	}
	if len(r.Segments) > 0 {
		text = string(whole)
	}
	return identity(r, text, analyses), nil
}
