package memory

import (
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
func (b *Bank) Forget(ctx context.Context, c Choice) (Removal, error) { return b.forget(ctx, c, "") }

// forget is Forget; request, where there is one, is the id under which an attached process may ask again.
func (b *Bank) forget(ctx context.Context, c Choice, request string) (Removal, error) {
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
		return b.forgetIDs(ctx, p, known, &c, request, out)
	case c.Confirm != "":
		return b.confirm(ctx, p, known, &c, request, out)
	case !chosen:
		return out, Errorf(CodeInvalid, "ids: give ids, or a choice (query, speaker, session, source, tags, written_by, since, until), or everything: true")
	}
	return b.preview(p, known, &c, out)
}

func (b *Bank) forgetIDs(ctx context.Context, p store.Project, known bool, c *Choice, request string, out Removal) (Removal, error) {
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
	if err := b.begin(request, p, ids, c, out, nil); err != nil {
		return out, storageError("forgetting", err)
	}
	return b.remove(ctx, p, ids, c, request, out)
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
		text := ""
		if err == nil {
			text, err = b.content(p, r)
		}
		if errors.Is(err, store.ErrNotFound) {
			continue // another call forgets it now; the confirmation will see that the choice has changed
		}
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
	fmt.Fprintf(&t, "This would forget %s of project %s. Call forget with confirm: %q (good for 15 minutes) to remove just these:\n", Counted(len(ids)), oneLine(out.Project, 128), code)
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
func (b *Bank) confirm(ctx context.Context, p store.Project, known bool, c *Choice, request string, out Removal) (Removal, error) {
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
	used := []store.Op{{Kind: store.Delete, Key: k}} // a code is good once
	if !slices.Equal(now, pv.IDs) {
		commit, err := b.kv.Apply(used)
		if err != nil {
			return out, storageError("confirming", err)
		}
		choice.From, choice.Project = c.From, out.Project
		out, err := b.preview(p, true, &choice, out)
		out.Text = "What matches has changed since the preview; nothing was removed. " + out.Text
		return out, errors.Join(err, commit.Wait())
	}
	c.Reason = choice.Reason
	if err := b.begin(request, p, pv.IDs, c, out, used); err != nil {
		return out, storageError("confirming", err)
	}
	return b.remove(ctx, p, pv.IDs, c, request, out)
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
		picked[s.Docs[root(s, uint32(o))].ID] = true
	}
	ids := make([]graph.ID, 0, len(picked))
	for id := range picked {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, compareIDs)
	if c.Source == "" {
		return ids, nil
	}
	return b.from(p, ids, c.Source)
}

// from is those of ids whose source is this one. It is no part of the index: a source is asked for by nothing else.
func (b *Bank) from(p store.Project, ids []graph.ID, source string) ([]graph.ID, error) {
	spans := make([]store.Span, len(ids))
	for i, id := range ids {
		spans[i] = store.At(store.RecordKey(p, id))
	}
	var out []graph.ID // in the order of ids, which is that of their keys
	err := sweep(b.kv, spans, func(i int, _, v []byte) error {
		r, err := store.DecodeRecord(ids[i], v)
		if err == nil && r.Source == source {
			out = append(out, ids[i])
		}
		return err
	})
	return out, err
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
