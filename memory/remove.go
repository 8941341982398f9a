package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// removeBatch bounds a batch of deletions, so that forgetting a project does not need its size in memory.
const removeBatch = 500

// remove forgets ids: the records, everything derived from them by every route, and leaves tombstones.
func (b *Bank) remove(ctx context.Context, p store.Project, ids []graph.ID, c *Choice, out Removal) (Removal, error) {
	out.Status = StatusForgotten
	if _, err := b.shard(p); err != nil { // what goes is counted there
		return out, storageError("forgetting", err)
	}
	var patterns [][]byte
	var all []graph.ID
	// The newest first: an index's lists end with them, and taking from their end moves nothing.
	for end := len(ids); end > 0; end -= min(removeBatch, end) {
		part := ids[max(0, end-removeBatch):end]
		told := out.Forgotten
		out.Forgotten = []Forgotten{}
		commit, gone, err := b.removeSome(p, part, c, &out, &patterns)
		out.Forgotten = append(out.Forgotten, told...)
		out.Forgotten = out.Forgotten[:min(previewShown, len(out.Forgotten))]
		if err != nil {
			return out, storageError("forgetting", err)
		}
		if err := commit.Wait(); err != nil {
			return out, storageError("forgetting", err)
		}
		all = append(all, gone...)
	}
	var err error
	if out.Verified, err = b.verifyGone(p, append(slices.Clone(ids), all...)); err != nil {
		return out, storageError("verifying", err)
	}
	if c.Purge {
		if out.Purged, err = b.purge(ctx, p, ids, patterns); err != nil {
			return out, storageError("purging (the memories are forgotten; call forget again with the same ids and purge)", err)
		}
	}
	if len(all) > 0 {
		out.Count = out.Removed.Memories
		names := make([]string, 0, len(ids))
		for _, id := range ids {
			names = append(names, id.String())
		}
		b.watch.send(Change{Kind: "forgotten", Project: out.Project, IDs: names, At: b.o.Now()})
		b.wake()
		b.back.worker.Forgot(out.Project)
	}
	out.Text = forgetText(&out)
	return out, nil
}

func forgetText(out *Removal) string {
	var t strings.Builder
	fmt.Fprintf(&t, "Forgot %d memories of project %s", out.Removed.Memories, oneLine(out.Project, 128))
	if out.Verified {
		t.WriteString("; verified: no route finds them")
	} else {
		t.WriteString("; NOT verified: something was still found, run `magma-mcp check`")
	}
	if out.Purged {
		t.WriteString("; purged: their bytes are gone from the data files")
	}
	t.WriteString(".\n")
	for _, f := range out.Forgotten {
		fmt.Fprintf(&t, "[%s]\n%s\n", f.Ref, fenced(f.Words))
	}
	return t.String()
}

// removeSome writes one batch. It returns the ids of every record that went, segments among them.
func (b *Bank) removeSome(p store.Project, ids []graph.ID, c *Choice, out *Removal, patterns *[][]byte) (store.Commit, []graph.ID, error) {
	b.write.Lock()
	defer b.write.Unlock()
	s := b.loaded(p)
	var ops []store.Op
	var gone []graph.ID
	now := store.StampOf(b.o.Now().UTC())
	seen := map[graph.ID]bool{}
	for _, id := range ids {
		r, _, err := b.get(p, id)
		if errors.Is(err, store.ErrNotFound) {
			if c.Purge {
				op, err := b.purgedTombstone(p, id, now)
				if err != nil {
					return nil, nil, err
				}
				ops = append(ops, op)
			}
			continue // forgotten already
		}
		if err != nil {
			return nil, nil, err
		}
		if !r.PartOf.IsZero() { // forgetting any forgets the whole
			if r, _, err = b.get(p, r.PartOf); err != nil {
				return nil, nil, err
			}
		}
		if seen[r.ID] {
			continue
		}
		seen[r.ID] = true
		text, err := b.content(p, r)
		if err != nil {
			return nil, nil, err
		}
		f := Forgotten{ID: r.ID.String(), Ref: r.Ref(), Words: firstWords(text, 80)}
		if len(out.Forgotten) < previewShown {
			out.Forgotten = append(out.Forgotten, f)
		}
		if c.Purge {
			*patterns = append(*patterns, []byte(text))
		}
		records := []*store.Record{r}
		for _, x := range r.Segments {
			seg, _, err := b.get(p, x)
			if err != nil {
				return nil, nil, err
			}
			records = append(records, seg)
		}
		if ops, err = b.dropHash(ops, p, r.ID, b.identityOf(r, text, records)); err != nil {
			return nil, nil, err
		}
		for _, x := range records {
			t := store.Tombstone{At: now, Purged: c.Purge, Reason: c.Reason, RefLen: x.RefLen}
			if c.Purge {
				t.Reason = ""
			}
			if ops, err = b.removeRows(ops, p, x, &t, out); err != nil {
				return nil, nil, err
			}
			gone = append(gone, x.ID)
		}
		out.Removed.Memories++
	}
	ops, dropped, err := b.dropDerived(ops, p, gone)
	if err != nil {
		return nil, nil, err
	}
	if ops, err = b.dropTold(ops, gone, c.Purge); err != nil {
		return nil, nil, err
	}
	commit, err := b.kv.Apply(ops)
	if err != nil {
		return nil, nil, err
	}
	if s != nil {
		s.Lock()
		for i := range dropped {
			out.Removed.Edges += undraw(s, &dropped[i])
		}
		for _, id := range slices.Backward(gone) {
			postings, edges, entities := s.Remove(id)
			out.Removed.Postings += postings
			out.Removed.Edges += edges
			out.Removed.Entities += entities
		}
		s.Unlock()
	}
	return commit, gone, nil
}

// dropHash adds the deletion of a duplicate row if it is id's: one told again after it was superseded has taken it over.
func (b *Bank) dropHash(ops []store.Op, p store.Project, id graph.ID, d store.Digest) ([]store.Op, error) {
	k := store.HashKey(p, d)
	switch v, err := b.kv.Get(k); {
	case errors.Is(err, store.ErrNotFound):
		return ops, nil
	case err != nil:
		return nil, err
	case len(v) == len(id) && graph.ID(v) != id:
		return ops, nil
	}
	return append(ops, store.Op{Kind: store.Delete, Key: k}), nil
}

// purgedTombstone marks the tombstone of what was forgotten before as purged; its reason goes.
func (b *Bank) purgedTombstone(p store.Project, id graph.ID, now store.Stamp) (store.Op, error) {
	t := &store.Tombstone{At: now}
	v, err := b.kv.Get(store.TombstoneKey(p, id))
	if err == nil {
		t, err = store.DecodeTombstone(v)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return store.Op{}, err
	}
	t.Purged, t.Reason = true, ""
	return store.Op{Kind: store.Set, Key: store.TombstoneKey(p, id), Value: t.Encode()}, nil
}

// identityOf is the digest under which a record's duplicates are found.
func (b *Bank) identityOf(r *store.Record, text string, records []*store.Record) store.Digest {
	given := "=" + r.Given
	if r.Given == "" {
		given = ""
		for i, x := range records {
			if i == 0 && len(records) > 1 {
				continue
			}
			for _, t := range b.analyze(x).Times {
				given += fmt.Sprintf(";%d-%d", t.Start.Sec, t.End.Sec)
			}
		}
	}
	return store.Sum(text, r.Speaker, r.Session, r.Source, given)
}

// removeRows adds the deletions of one record and of all that rests on it.
func (b *Bank) removeRows(ops []store.Op, p store.Project, r *store.Record, t *store.Tombstone, out *Removal) ([]store.Op, error) {
	id := r.ID
	for _, k := range [][]byte{store.RecordKey(p, id), store.StateKey(p, id), store.AnalysisKey(p, id)} {
		ops = append(ops, store.Op{Kind: store.Delete, Key: k})
	}
	for _, m := range b.modelNumbers() {
		lo, hi := store.VectorsOf(p, m, id)
		for row, err := range b.kv.Scan(lo, hi) {
			if err != nil {
				return nil, err
			}
			ops = append(ops, store.Op{Kind: store.Delete, Key: row.Key})
			out.Removed.Vectors++
		}
	}
	for pass := store.PassEmbed; pass <= store.PassEpisode; pass++ {
		for _, k := range [][]byte{store.QueueKey(pass, p, id), store.ParkedKey(pass, p, id)} {
			_, err := b.kv.Get(k)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			out.Removed.Queue++
			ops = append(ops, store.Op{Kind: store.Delete, Key: k})
		}
	}
	return append(ops, store.Op{Kind: store.Set, Key: store.TombstoneKey(p, id), Value: t.Encode()}), nil
}

// verifyGone looks by every route for ids that were forgotten.
func (b *Bank) verifyGone(p store.Project, ids []graph.ID) (bool, error) {
	s := b.loaded(p)
	for _, id := range ids {
		for _, k := range [][]byte{store.RecordKey(p, id), store.StateKey(p, id), store.AnalysisKey(p, id), store.QueueKey(store.PassEmbed, p, id)} {
			if _, err := b.kv.Get(k); err == nil {
				return false, nil
			} else if !errors.Is(err, store.ErrNotFound) {
				return false, err
			}
		}
		lo, hi := store.BasisOf(p, id)
		for _, err := range b.kv.Scan(lo, hi) {
			return false, err
		}
		for _, m := range b.modelNumbers() {
			lo, hi := store.VectorsOf(p, m, id)
			for _, err := range b.kv.Scan(lo, hi) {
				return false, err
			}
		}
		if s != nil {
			s.RLock()
			_, found := s.Find(id)
			s.RUnlock()
			if found {
				return false, nil
			}
		}
	}
	return true, nil
}

// purge makes the bytes of what was forgotten leave the data files, and looks for them.
func (b *Bank) purge(ctx context.Context, p store.Project, ids []graph.ID, patterns [][]byte) (bool, error) {
	e, ok := b.kv.(store.Eraser)
	if !ok {
		return false, errors.New("this storage backend cannot purge")
	}
	if err := e.Erase(ctx); err != nil {
		return false, err
	}
	f, ok := b.kv.(store.Finder)
	if !ok {
		return true, nil
	}
	// Short contents ("ok") stand in other memories too; only a text of some length tells.
	patterns = slices.DeleteFunc(patterns, func(t []byte) bool { return len(bytes.TrimSpace(t)) < 12 })
	patterns = slices.DeleteFunc(patterns, func(t []byte) bool { return b.stillStored(p, t) })
	if len(patterns) == 0 {
		return true, nil
	}
	files, err := f.FindBytes(ctx, patterns)
	return len(files) == 0, err
}

// stillStored reports whether the very text of a forgotten memory stands in one that is kept.
func (b *Bank) stillStored(p store.Project, t []byte) bool {
	s, err := b.shard(p)
	if err != nil {
		return false
	}
	s.RLock()
	defer s.RUnlock()
	m, err := b.wordMatch(s, string(t))
	if err != nil {
		return false
	}
	for o := range m {
		if r, _, err := b.get(p, s.Docs[o].ID); err == nil {
			if c, err := b.content(p, r); err == nil && strings.Contains(c, string(t)) {
				return true
			}
		}
	}
	return false
}
