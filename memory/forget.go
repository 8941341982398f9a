package memory

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// confirmFor is how long a preview can be confirmed.
const confirmFor = 15 * time.Minute

// previewShown is how many memories a preview names.
const previewShown = 50

// Forget removes memories: by ids at once, by any other choice after a preview was confirmed.
func (b *Bank) Forget(ctx context.Context, c Choice) (Removal, error) {
	done, err := b.enter(ctx)
	if err != nil {
		return Removal{}, err
	}
	defer done()
	name, err := CanonicalProject(c.Project, b.o.DefaultProject, false)
	if err != nil {
		return Removal{}, err
	}
	alone := c.Confirm != "" && c.Project == "" // the code knows its project, which is checked there
	if !alone && !c.From.allowed(name) {
		return Removal{}, Errorf(CodeRefused, "project: this token may not forget in that project")
	}
	out := Removal{Project: name, Forgotten: []Forgotten{}}
	p, known := b.project(name)
	c.Query, c.Since, c.Until = strings.TrimSpace(c.Query), strings.TrimSpace(c.Since), strings.TrimSpace(c.Until) // blank is not given: it chooses nothing
	chosen := c.Query != "" || c.Speaker != "" || c.Session != "" || c.Source != "" || len(c.Tags) > 0 || c.WrittenBy != "" || c.Since != "" || c.Until != "" || c.Everything
	switch {
	case len(c.IDs) > 0 && (chosen || c.Confirm != ""):
		return out, Errorf(CodeInvalid, "ids: give ids alone, or a choice by the other fields; nothing was removed")
	case len(c.IDs) > 0:
		return b.forgetIDs(ctx, p, known, &c, out)
	case c.Confirm != "":
		return b.confirm(ctx, p, known, &c, out)
	case !chosen:
		return out, Errorf(CodeInvalid, "ids: give ids, or a choice (query, speaker, session, source, tags, written_by, since, until), or everything: true")
	}
	return b.preview(p, known, &c, out)
}

func (b *Bank) forgetIDs(ctx context.Context, p store.Project, known bool, c *Choice, out Removal) (Removal, error) {
	var ids []graph.ID
	for _, s := range c.IDs {
		if !known {
			return out, Errorf(CodeNotFound, "ids: %s: project %s holds no memory; nothing was removed", s, out.Project)
		}
		id, err := b.resolve(p, s)
		if err != nil {
			if code := CodeOf(err); code != CodeInternal && code != CodeStorage {
				return out, Errorf(code, "ids: %w; nothing was removed", err)
			}
			return out, storageError("forgetting", err)
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return b.remove(ctx, p, ids, c, out)
}

// preview says what a choice would remove and gives a code that confirms it.
func (b *Bank) preview(p store.Project, known bool, c *Choice, out Removal) (Removal, error) {
	out.Status = StatusPreview
	if !known {
		out.Text = "Nothing matches; nothing to remove.\n"
		return out, nil
	}
	ids, err := b.chosen(p, c)
	if err != nil {
		return out, storageError("choosing what to forget", err)
	}
	out.Count = len(ids)
	for _, id := range ids[:min(previewShown, len(ids))] {
		r, _, err := b.get(p, id)
		if err != nil {
			return out, storageError("choosing what to forget", err)
		}
		text, err := b.content(p, r)
		if err != nil {
			return out, storageError("choosing what to forget", err)
		}
		out.Forgotten = append(out.Forgotten, Forgotten{ID: id.String(), Ref: r.Ref(), Words: firstWords(text, 80)})
	}
	if len(ids) == 0 {
		out.Text = "Nothing matches; nothing to remove.\n"
		return out, nil
	}
	code := confirmCode()
	plain := *c
	plain.Confirm, plain.Purge = "", false
	choice, err := json.Marshal(plain)
	if err != nil {
		return out, err
	}
	v := store.Preview{Project: p, Expires: b.o.Now().Add(confirmFor).Unix(), IDs: ids, Choice: choice}
	ops, err := b.expired()
	if err != nil {
		return out, storageError("previewing", err)
	}
	ops = append(ops, store.Op{Kind: store.Set, Key: store.ConfirmKey(store.Sum("confirm", code)), Value: v.Encode()})
	commit, err := b.kv.Apply(ops)
	if err == nil {
		err = commit.Wait()
	}
	if err != nil {
		return out, storageError("previewing", err)
	}
	out.Confirm = code
	var t strings.Builder
	fmt.Fprintf(&t, "This would forget %d memories of project %s. Call forget with confirm: %q (good for 15 minutes) to remove just these:\n", len(ids), oneLine(out.Project, 128), code)
	for _, f := range out.Forgotten {
		fmt.Fprintf(&t, "[%s]\n%s\n", f.Ref, fenced(f.Words))
	}
	if len(ids) > previewShown {
		fmt.Fprintf(&t, "%s%d more\n", leadMore, len(ids)-previewShown)
	}
	out.Text = t.String()
	return out, nil
}

// confirmCode is eight letters and digits that are hard to mistake.
func confirmCode() string {
	const letters = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
	var raw [8]byte
	_, _ = rand.Read(raw[:]) // never fails (crypto/rand)
	for i := range raw {
		raw[i] = letters[int(raw[i])%len(letters)]
	}
	return string(raw[:])
}

// expired is the rows of previews that are past their time.
func (b *Bank) expired() ([]store.Op, error) {
	var ops []store.Op
	lo, hi := store.ConfirmRange()
	now := b.o.Now().Unix()
	for row, err := range b.kv.Scan(lo, hi) {
		if err != nil {
			return nil, err
		}
		if v, err := store.DecodePreview(row.Value); err != nil || v.Expires < now {
			ops = append(ops, store.Op{Kind: store.Delete, Key: row.Key})
		}
	}
	return ops, nil
}

// confirm removes what was previewed; where that has changed since, it previews anew.
func (b *Bank) confirm(ctx context.Context, p store.Project, known bool, c *Choice, out Removal) (Removal, error) {
	k := store.ConfirmKey(store.Sum("confirm", strings.ToUpper(strings.TrimSpace(c.Confirm))))
	v, err := b.kv.Get(k)
	if errors.Is(err, store.ErrNotFound) {
		return out, Errorf(CodeExpired, "confirm: that code is unknown or used; make the choice again for a new preview")
	}
	if err != nil {
		return out, storageError("confirming", err)
	}
	pv, err := store.DecodePreview(v)
	if err != nil {
		return out, storageError("confirming", err)
	}
	if c.Project == "" { // the code alone is enough: it knows its project
		p, known = pv.Project, true
		out.Project = b.projectName(p)
		if !c.From.allowed(out.Project) {
			return out, Errorf(CodeRefused, "confirm: this token may not forget in that project")
		}
	}
	if !known || pv.Project != p {
		return out, Errorf(CodeExpired, "confirm: that code belongs to another project; make the choice again")
	}
	if pv.Expires < b.o.Now().Unix() {
		return out, Errorf(CodeExpired, "confirm: that code is older than 15 minutes; make the choice again for a new preview")
	}
	var choice Choice
	if err := json.Unmarshal(pv.Choice, &choice); err != nil {
		return out, storageError("confirming", fmt.Errorf("%w: preview: %w", store.ErrCorrupt, err))
	}
	now, err := b.chosen(p, &choice)
	if err != nil {
		return out, storageError("confirming", err)
	}
	commit, err := b.kv.Apply([]store.Op{{Kind: store.Delete, Key: k}})
	if err != nil {
		return out, storageError("confirming", err)
	}
	if !slices.Equal(now, pv.IDs) {
		choice.From, choice.Project = c.From, out.Project
		out, err := b.preview(p, true, &choice, out)
		out.Text = "What matches has changed since the preview; nothing was removed. " + out.Text
		return out, errors.Join(err, commit.Wait())
	}
	c.Reason = choice.Reason
	return b.remove(ctx, p, pv.IDs, c, out)
}

// chosen is the memories that a choice names, each whole once, in id order.
func (b *Bank) chosen(p store.Project, c *Choice) ([]graph.ID, error) {
	s, err := b.shard(p)
	if err != nil {
		return nil, err
	}
	zone, err := b.zone(&c.From)
	if err != nil {
		return nil, err
	}
	ref := b.o.Now().In(zone)
	since, err := b.bound("since", c.Since, ref, false)
	if err != nil {
		return nil, err
	}
	until, err := b.bound("until", c.Until, ref, true)
	if err != nil {
		return nil, err
	}
	s.RLock()
	defer s.RUnlock()
	words, err := b.wordMatch(s, c.Query)
	if err != nil {
		return nil, err
	}
	speakers := s.SpeakerID(c.Speaker)
	var tags []uint32
	for _, t := range c.Tags {
		id, ok := s.NameID(index.FoldName(t))
		if !ok {
			return nil, nil
		}
		tags = append(tags, id)
	}
	writer, hasWriter := s.NameID(c.WrittenBy)
	if c.WrittenBy != "" && !hasWriter {
		return nil, nil
	}
	picked := map[graph.ID]bool{}
	for o := range s.Docs {
		d := &s.Docs[o]
		if d.Flags&(index.Dead|index.Whole) != 0 || words != nil && !words[root(s, uint32(o))] ||
			c.Speaker != "" && !slices.Contains(speakers, d.Speaker) || c.Session != "" && s.SessionName(uint32(o)) != c.Session ||
			c.WrittenBy != "" && d.Writer != writer || since != nil && d.At < since.Sec || until != nil && d.At >= until.Sec {
			continue
		}
		if slices.ContainsFunc(tags, func(t uint32) bool { return !slices.Contains(d.Tags, t) }) {
			continue
		}
		id := s.Docs[root(s, uint32(o))].ID
		if c.Source != "" && !picked[id] {
			r, _, err := b.get(p, d.ID)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return nil, err
			}
			if err != nil || r.Source != c.Source {
				continue
			}
		}
		picked[id] = true
	}
	ids := make([]graph.ID, 0, len(picked))
	for id := range picked {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, compareIDs)
	return ids, nil
}

// root is the whole that a segment belongs to, or the memory itself.
func root(s *index.Shard, o uint32) uint32 {
	if p := s.Docs[o].PartOf; p >= 0 {
		return uint32(p)
	}
	return o
}

// wordMatch is the memories in which every informative word of a query occurs; nil where there is no query.
func (b *Bank) wordMatch(s *index.Shard, q string) (map[uint32]bool, error) {
	if strings.TrimSpace(q) == "" {
		return nil, nil
	}
	an := b.analysts.Get().(*analyst)
	defer b.analysts.Put(an)
	seen := map[string]bool{}
	counts := map[uint32]int{}
	for _, t := range an.words.Tokens(q) {
		if t.Stop || seen[t.Term] {
			continue
		}
		seen[t.Term] = true
		hit := map[uint32]bool{}
		if p := s.Posting(index.HashTerm(t.Term)); p != nil {
			for _, o := range p.Docs {
				hit[root(s, o)] = true
			}
		}
		for o := range hit {
			counts[o]++
		}
	}
	if len(seen) == 0 {
		return nil, Errorf(CodeInvalid, "query: it has no informative word; name what to forget more exactly")
	}
	out := map[uint32]bool{}
	for o, n := range counts {
		if n == len(seen) {
			out[o] = true
		}
	}
	return out, nil
}

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
