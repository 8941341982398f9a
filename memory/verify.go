package memory

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// Whether what was forgotten is gone: by looking, in the rows and (purge) in the bytes of the files.

// errFound ends a look for what should be gone.
var errFound = errors.New("found")

// verify looks by every route for what went and for ids: by the rows under its id in every space, by the duplicate
// rows, by what was derived from it, by the index. Each has to have its tombstone.
func (g *removing) verify(ids []graph.ID) (bool, error) {
	b, p := g.b, g.project
	all := append(slices.Clone(ids), g.gone...)
	slices.SortFunc(all, compareIDs)
	all = slices.Compact(all)
	went := map[graph.ID]bool{}
	for part := range slices.Chunk(all, 8*removeBatch) {
		var runs []run
		var tombs, bases []store.Span
		for _, id := range part {
			went[id] = true
			runs = append(runs, run{id, id})
			lo, hi := store.BasisOf(p, id)
			bases = append(bases, store.Span{Lo: lo, Hi: hi})
			tombs = append(tombs, store.At(store.TombstoneKey(p, id)))
		}
		own, owed, vectors := b.rowsOf(p, runs)
		spans := slices.Concat(own, owed, vectors, bases)
		err := sweep(b.kv, spans, func(int, []byte, []byte) error { return errFound })
		if err == nil && g.indexed(part) {
			err = errFound
		}
		if err == nil {
			n := 0
			if err = sweep(b.kv, tombs, func(int, []byte, []byte) error { n++; return nil }); err == nil && n != len(part) {
				err = errFound
			}
		}
		if errors.Is(err, errFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	rows, err := values(b.kv, g.hashes)
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(rows, func(v []byte) bool { return len(v) == len(graph.Zero) && went[graph.ID(v)] }), nil
}

// indexed reports whether the index in memory still has one of ids.
func (g *removing) indexed(ids []graph.ID) bool {
	s := g.b.loaded(g.project)
	if s == nil {
		return false
	}
	s.RLock()
	defer s.RUnlock()
	return slices.ContainsFunc(ids, func(id graph.ID) bool { _, ok := s.Find(id); return ok })
}

// dropKeys deletes the idempotency keys of what is purged: beside each lies a digest of the words.
func (g *removing) dropKeys(ids []graph.ID) error {
	went := map[graph.ID]bool{}
	for _, id := range slices.Concat(ids, g.gone) {
		went[id] = true
	}
	c, err := g.dropKeysOf(went)
	if err != nil || c == nil {
		return err
	}
	return c.Wait()
}

// dropKeysOf deletes them under the writer's lock: a key may be taken anew by another memory.
func (g *removing) dropKeysOf(went map[graph.ID]bool) (store.Commit, error) {
	g.b.write.Lock()
	defer g.b.write.Unlock()
	var ops []store.Op
	lo, hi := store.IdemRange(g.project)
	if err := visit(g.b.kv, lo, hi, func(k, v []byte) error {
		if len(v) < len(graph.Zero) || went[graph.ID(v[:len(graph.Zero)])] {
			ops = append(ops, store.Op{Kind: store.Delete, Key: bytes.Clone(k)})
		}
		return nil
	}); err != nil || len(ops) == 0 {
		return nil, err
	}
	return g.b.kv.Apply(ops)
}

// purge makes the bytes of what was forgotten leave the data files, and looks for them.
func (b *Bank) purge(ctx context.Context, patterns [][]byte) (bool, error) {
	e, ok := b.kv.(store.Eraser)
	if !ok {
		return false, errors.New("this storage backend cannot purge")
	}
	if err := e.Erase(ctx); err != nil { // it waits for open snapshots, of an index that is being loaded too
		return false, err
	}
	f, ok := b.kv.(store.Finder)
	if !ok {
		return true, nil
	}
	// Short contents ("ok") stand in other memories too; only a text of some length tells.
	patterns = slices.DeleteFunc(patterns, func(t []byte) bool { return len(bytes.TrimSpace(t)) < 12 })
	patterns, err := b.notKept(patterns)
	if err != nil || len(patterns) == 0 {
		return err == nil, err
	}
	files, err := f.FindBytes(ctx, patterns)
	return len(files) == 0, err
}

// notKept is those of the texts that stand in no memory that is kept, in any project.
func (b *Bank) notKept(texts [][]byte) ([][]byte, error) {
	kept := make([]bool, len(texts))
	many := store.NewPatterns(texts)
	lo, hi := store.AllRecords()
	err := visit(b.kv, lo, hi, func(_, v []byte) error {
		many.Each(v, func(i int) bool { kept[i] = true; return true })
		return nil
	})
	var out [][]byte
	for i, t := range texts {
		if !kept[i] {
			out = append(out, t)
		}
	}
	return out, err
}
