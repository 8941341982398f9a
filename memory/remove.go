package memory

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// A batch of deletions is bounded by memories and by the bytes of their rows, so that forgetting a project does
// not need its size in memory. Reads are shared and syncs waited for once a batch: fewer would cost time, more
// would keep other writers waiting longer (about 30 ms at 500).
const (
	removeBatch = 500
	removeBytes = 16 << 20
)

// removing is a forgetting under way.
type removing struct {
	b       *Bank
	project store.Project
	choice  *Choice
	request string // of an attached process: how far it came is kept for it
	out     *Removal

	gone     []graph.ID // the records that went, segments among them
	hashes   [][]byte   // keys of the duplicate rows they had
	patterns [][]byte   // contents to look for after a purge
}

// leaving is one memory on its way out: the record, then its segments.
type leaving struct {
	parts []*store.Record
	text  string
}

// remove forgets ids: the records, everything derived from them by every route, and leaves tombstones.
func (b *Bank) remove(ctx context.Context, p store.Project, ids []graph.ID, c *Choice, request string, out Removal) (Removal, error) {
	out.Status = StatusForgotten
	release, err := b.pin(p) // what goes is counted there
	if err != nil {
		return out, storageError("forgetting", err)
	}
	defer release()
	g := &removing{b: b, project: p, choice: c, request: request, out: &out}
	// The newest first: an index's lists end with them, and taking from their end moves nothing.
	for end := len(ids); end > 0; {
		n, commit, err := g.some(ids[:end])
		if err == nil {
			err = commit.Wait()
		}
		if err != nil {
			return out, storageError("forgetting", err)
		}
		end -= n
	}
	if out.Verified, err = g.verify(ids); err != nil {
		return out, storageError("verifying", err)
	}
	if c.Purge {
		if err = g.dropKeys(ids); err == nil {
			out.Purged, err = b.purge(ctx, g.patterns)
		}
		if err != nil {
			return out, storageError("purging (the memories are forgotten; call forget again with the same ids and purge)", err)
		}
	}
	out.Count = out.Removed.Memories
	if len(g.gone) > 0 {
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
	fmt.Fprintf(&t, "Forgot %s of project %s", Counted(out.Removed.Memories), oneLine(out.Project, 128))
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

// some writes one batch: the last n of ids go.
func (g *removing) some(ids []graph.ID) (n int, _ store.Commit, err error) {
	b, p, out := g.b, g.project, g.out
	b.write.Lock()
	defer b.write.Unlock()
	var list []leaving
	var absent []graph.ID
	for n = min(removeBatch, len(ids)); ; n /= 2 {
		list, absent, err = g.gather(ids[len(ids)-n:])
		if !errors.Is(err, errTooMuch) {
			break
		}
	}
	if err != nil {
		return 0, nil, err
	}
	now := store.StampOf(b.o.Now().UTC())
	var ops []store.Op
	if g.choice.Purge {
		if ops, err = g.purgedTombstones(ops, absent, now); err != nil {
			return 0, nil, err
		}
	}
	if ops, err = g.dropHashes(ops, list); err != nil {
		return 0, nil, err
	}
	var gone []graph.ID
	var named []Forgotten
	for _, l := range list {
		for _, r := range l.parts {
			t := store.Tombstone{At: now, Purged: g.choice.Purge, Reason: g.choice.Reason, RefLen: r.RefLen}
			if t.Purged {
				t.Reason = ""
			}
			ops = append(ops, store.Op{Kind: store.Set, Key: store.TombstoneKey(p, r.ID), Value: t.Encode()})
			gone = append(gone, r.ID)
			if t.Purged && r.Content != "" { // a long text lies in the files in its segments
				g.patterns = append(g.patterns, []byte(r.Content))
			}
		}
		if len(named) < previewShown {
			named = append(named, Forgotten{ID: l.parts[0].ID.String(), Ref: l.parts[0].Ref(), Words: firstWords(l.text, 80)})
		}
	}
	out.Removed.Memories += len(list)
	out.Forgotten = append(named, out.Forgotten...)
	out.Forgotten = out.Forgotten[:min(previewShown, len(out.Forgotten))]
	if ops, err = g.dropRows(ops, gone); err != nil {
		return 0, nil, err
	}
	ops, dropped, err := b.dropDerived(ops, p, gone)
	if err != nil {
		return 0, nil, err
	}
	if ops, err = b.dropTold(ops, gone, g.choice.Purge); err != nil {
		return 0, nil, err
	}
	if g.request != "" {
		op, err := b.progressOp(g.request, g.choice, *out)
		if err != nil {
			return 0, nil, err
		}
		ops = append(ops, op)
	}
	commit, err := b.kv.Apply(ops)
	if err != nil {
		return 0, nil, err
	}
	b.recount(p)
	g.gone = append(g.gone, gone...)
	slices.Reverse(gone) // the newest first, as below
	var removed Removed
	if b.change(p, func(s *index.Shard) {
		for i := range dropped {
			removed.Edges += undraw(s, &dropped[i])
		}
		postings, edges, entities := s.Remove(gone...)
		removed.Postings, removed.Entities = postings, entities
		removed.Edges += edges
	}) {
		out.Removed.Postings += removed.Postings
		out.Removed.Edges += removed.Edges
		out.Removed.Entities += removed.Entities
	}
	return n, commit, nil
}

// errTooMuch says that the rows of a batch are more than removeBytes.
var errTooMuch = errors.New("too much for one batch")

// gather reads the memories that ids name, each whole once: forgetting a segment forgets the whole. absent are the
// ids that have no record: they are forgotten already.
func (g *removing) gather(ids []graph.ID) (list []leaving, absent []graph.ID, err error) {
	room := removeBytes
	if len(ids) == 1 {
		room = math.MaxInt // one memory goes at once, whatever it weighs
	}
	found, err := g.records(ids, &room)
	if err != nil {
		return nil, nil, err
	}
	seen := map[graph.ID]bool{}
	var segments []graph.ID
	for i, r := range found {
		if r == nil {
			absent = append(absent, ids[i])
			continue
		}
		if !r.PartOf.IsZero() {
			if r, _, err = g.b.get(g.project, r.PartOf); err != nil {
				return nil, nil, err
			}
		}
		if !seen[r.ID] {
			seen[r.ID] = true
			list = append(list, leaving{parts: []*store.Record{r}, text: r.Content})
			segments = append(segments, r.Segments...)
		}
	}
	if len(segments) == 0 {
		return list, absent, nil
	}
	if found, err = g.records(segments, &room); err != nil {
		return nil, nil, err
	}
	for i := range list {
		l := &list[i]
		n := len(l.parts[0].Segments)
		if n == 0 {
			continue
		}
		var text strings.Builder
		for j, seg := range found[:n] {
			if seg == nil {
				return nil, nil, fmt.Errorf("%w: segment %s of %s is not there", store.ErrCorrupt, segments[j], l.parts[0].ID)
			}
			text.WriteString(seg.Content)
		}
		l.parts, l.text = append(l.parts, found[:n]...), text.String()
		found, segments = found[n:], segments[n:]
	}
	return list, absent, nil
}

// records reads many records; nil where there is none. room is what their rows may still weigh.
func (g *removing) records(ids []graph.ID, room *int) ([]*store.Record, error) {
	spans := make([]store.Span, len(ids))
	for i, id := range ids {
		spans[i] = store.At(store.RecordKey(g.project, id))
	}
	out := make([]*store.Record, len(ids))
	err := sweep(g.b.kv, spans, func(i int, _, v []byte) (err error) {
		if *room -= len(v); *room < 0 {
			return errTooMuch
		}
		out[i], err = store.DecodeRecord(ids[i], v)
		return err
	})
	return out, err
}
