package memory

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// one opens a single project for reading; s is nil where nothing was ever stored in it.
func (b *Bank) one(ctx context.Context, project string, from *Session) (name string, p store.Project, s *index.Shard, done func(), err error) {
	if done, err = b.enter(ctx); err != nil {
		return "", 0, nil, func() {}, err
	}
	if name, err = CanonicalProject(project, b.o.DefaultProject, false); err != nil {
		return name, 0, nil, done, err
	}
	if !from.allowed(name) {
		return name, 0, nil, done, Errorf(CodeRefused, "project: this token may not see that project")
	}
	p, ok := b.project(name)
	if !ok {
		return name, 0, nil, done, nil
	}
	s, err = b.shard(p)
	return name, p, s, done, storageError("reading the project", err)
}

// semanticSample is how many memories' neighbours are counted for stats; a larger project is sampled. Each takes
// up to half a millisecond in a project of 100,000, and writers wait meanwhile.
const semanticSample = 256

// Stats counts what a project holds and what is owed to it.
func (b *Bank) Stats(ctx context.Context, project string) (Stats, error) {
	name, p, s, done, err := b.one(ctx, project, &Session{})
	defer done()
	st := Stats{Project: name}
	if err != nil {
		return st, err
	}
	if e, ok := b.lastError.Load().(string); ok {
		st.LastError = e
	}
	b.slowStats(p, s != nil, &st)
	if z, ok := b.kv.(store.Sizer); ok {
		if st.BytesOnDisk, err = z.DiskBytes(); err != nil {
			return st, storageError("measuring the store", err)
		}
	}
	if s == nil {
		return st, nil
	}
	lo, hi := store.TombstoneRange(p)
	for _, err := range b.kv.Scan(lo, hi) {
		if err != nil {
			return st, storageError("counting", err)
		}
		st.Tombstones++
	}
	s.RLock()
	defer s.RUnlock()
	var sc index.Scratch
	ranked := 0
	stride := max(1, s.Live/semanticSample)
	similar, sampled := 0, 0
	for o := range s.Docs {
		d := &s.Docs[o]
		if d.Flags&index.Dead != 0 {
			continue
		}
		if d.PartOf < 0 {
			st.Memories++
		} else {
			st.Segments++
		}
		if d.Flags&index.Whole != 0 {
			continue
		}
		if _, ok := s.Neighbour(uint32(o), 1); ok {
			st.Edges.Temporal++
		}
		st.Edges.Entity += len(d.Entities)
		st.Edges.Causal += len(s.Effects(uint32(o)))
		for _, c := range d.Causes {
			if c.Previous == 0 {
				st.Edges.Causal++
			} else if _, ok := s.Neighbour(uint32(o), -1); ok {
				st.Edges.Causal++
			}
		}
		if ranked%stride == 0 {
			sampled++
			similar += len(s.SimilarByWords(uint32(o), b.o.Tuning.Similar, &sc))
		}
		ranked++
	}
	if sampled > 0 {
		st.Edges.Semantic = similar * ranked / sampled
		st.SemanticEstimated = stride > 1
	}
	for e := range s.EntityCount() {
		if len(s.EntityAt(uint32(e)).Docs) > 0 {
			st.Entities++
		}
	}
	s.Speakers(func(string, []uint32) { st.Entities++ })
	for _, v := range s.Vectors {
		st.Vectors += v.Len()
	}
	if st.Episodes, st.Topics, err = b.episodeStats(p); err != nil {
		return st, storageError("counting episodes", err)
	}
	return st, nil
}

// Recent is the newest memories by the time of storing, newest first.
func (b *Bank) Recent(ctx context.Context, project string, limit int) ([]Memory, error) {
	_, p, s, done, err := b.one(ctx, project, &Session{})
	defer done()
	out := []Memory{}
	if err != nil || s == nil {
		return out, err
	}
	if limit, err = clampLimit(limit, 20); err != nil {
		return out, err
	}
	s.RLock()
	defer s.RUnlock()
	for o := len(s.Docs) - 1; o >= 0 && len(out) < limit; o-- {
		d := &s.Docs[o]
		if d.Flags&index.Dead != 0 || d.PartOf >= 0 {
			continue
		}
		m, ok, err := b.whole(p, s, d.ID)
		if err != nil {
			return out, storageError("reading", err)
		}
		if ok {
			out = append(out, m)
		}
	}
	return out, nil
}

// whole is a memory with its full content.
func (b *Bank) whole(p store.Project, s *index.Shard, id graph.ID) (Memory, bool, error) {
	r, st, err := b.get(p, id)
	if errors.Is(err, store.ErrNotFound) {
		return Memory{}, false, nil
	}
	if err != nil {
		return Memory{}, false, err
	}
	m := b.show(p, s, r, st)
	if m.Content, err = b.content(p, r); errors.Is(err, store.ErrNotFound) {
		return Memory{}, false, nil // its segments went since
	} else if err != nil {
		return m, false, err
	}
	m.Pending = b.pendingOf(p, id)
	return m, true, nil
}

// Get is one memory whole.
func (b *Bank) Get(ctx context.Context, project, id string) (Memory, error) {
	_, p, s, done, err := b.one(ctx, project, &Session{})
	defer done()
	if err != nil {
		return Memory{}, err
	}
	if s == nil {
		return Memory{}, Errorf(CodeNotFound, "id: nothing is stored in that project")
	}
	x, err := b.resolve(p, id)
	if err != nil {
		return Memory{}, storageError("reading", err)
	}
	s.RLock()
	defer s.RUnlock()
	m, ok, err := b.whole(p, s, x)
	if err != nil {
		return m, storageError("reading", err)
	}
	if !ok {
		return m, Errorf(CodeNotFound, "id: %s was forgotten", id)
	}
	b.showRead(p, x, &m)
	return m, nil
}

// Timeline is what happened in a span, in order: each memory at its own time and at each time its words name.
func (b *Bank) Timeline(ctx context.Context, q TimelineQuery) (Timeline, error) {
	name, p, s, done, err := b.one(ctx, q.Project, &q.From)
	defer done()
	out := Timeline{Project: name, Entries: []TimelineEntry{}}
	if err != nil || s == nil {
		return out, err
	}
	zone, err := b.zone(&q.From)
	if err != nil {
		return out, err
	}
	ref := b.o.Now().In(zone)
	since, err := b.bound("since", q.Since, ref, false)
	if err != nil {
		return out, err
	}
	until, err := b.bound("until", q.Until, ref, true)
	if err != nil {
		return out, err
	}
	limit := q.Limit
	if limit <= 0 {
		limit = 200
	}
	w := &Window{Text: strings.TrimSpace(q.Since + " - " + q.Until)}
	lo, hi := int64(-1<<62), int64(1<<62)
	if since != nil {
		lo, w.Start = since.Sec, rfc(since.Time())
	}
	if until != nil {
		hi, w.End = until.Sec, rfc(until.Time())
	}
	if since != nil || until != nil {
		out.Window = w
	}
	s.RLock()
	defer s.RUnlock()
	type at struct {
		o     uint32
		start int64
		time  int // index into the analysis's times, -1 for the memory's own
	}
	var all []at
	for o := range s.Docs {
		d := &s.Docs[o]
		if d.Flags&(index.Dead|index.Whole|index.Superseded) != 0 {
			continue
		}
		if d.At < hi && d.Until > lo {
			all = append(all, at{uint32(o), d.At, -1})
		}
		for _, t := range d.Times {
			if !t.Duration && t.Start < hi && t.End > lo && t.Start > -1<<61 {
				all = append(all, at{uint32(o), t.Start, int(t.Index)})
			}
		}
	}
	slices.SortFunc(all, func(x, y at) int {
		return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(x.time, y.time), cmp.Compare(x.o, y.o))
	})
	out.Omitted = max(0, len(all)-limit)
	cache := map[uint32]*store.Record{}
	for _, x := range all[:min(limit, len(all))] {
		r := b.record(p, s, x.o, cache)
		if r == nil {
			continue
		}
		e := TimelineEntry{Memory: r.ID.String(), Ref: r.Ref(), Speaker: r.Speaker, Source: r.Source, Content: r.Content}
		if x.time < 0 {
			a, _ := occurredAnswer(&found{record: r})
			e.Start, e.End, e.Grain = a.Start, a.End, a.Grain
			if r.Until == nil {
				e.Start = rfc(r.At.Time())
			}
		} else if a := b.analysisOf(p, r); x.time < len(a.Times) {
			t := &a.Times[x.time]
			sp := span(slice(r.Content, t.From, t.To), interval(t))
			e.Start, e.End, e.Grain, e.Expression = sp.Start, sp.End, sp.Grain, sp.Text
		}
		out.Entries = append(out.Entries, e)
	}
	return out, nil
}
