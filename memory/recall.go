package memory

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/query"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// found is one memory of an answer on its way to the caller.
type found struct {
	shard  *index.Shard
	item   query.Item
	record *store.Record
	state  *store.State
	memory Memory
	length int  // of its block, in characters
	refs   refs // of the memories that its header names
}

// Recall finds the context for a question within a token budget.
func (b *Bank) Recall(ctx context.Context, q Question) (Recollection, error) {
	done, err := b.enter(ctx)
	if err != nil {
		return Recollection{}, err
	}
	defer done()
	if q.Limit, err = clampLimit(q.Limit, defaultLimit); err != nil {
		return Recollection{}, err
	}
	if q.MaxTokens, err = clampTokens(q.MaxTokens); err != nil {
		return Recollection{}, err
	}
	in, err := b.inquire(ctx, q.Project, q.Query, q.Filter, q.Relations, q.IncludeSuperseded, &q.From)
	if err != nil {
		return Recollection{}, err
	}
	defer in.close(b)
	out := Recollection{Project: in.project, Memories: []Memory{}, Degraded: in.degraded, Intent: in.question.Route.Intent.String()}
	if err := in.intent(q.Intent, &out); err != nil {
		return out, err
	}
	in.request.Trace = q.Explain
	var list []found
	if strings.TrimSpace(q.Query) == "" || in.question.Route.Kind == query.Meta {
		list, err = b.browse(in, q.Limit, &out)
	} else {
		list, err = b.searchBeside(in, q.Limit, &out)
	}
	if err != nil {
		return out, storageError("recalling", err)
	}
	b.fit(&out, in, list, q.MaxTokens)
	return out, nil
}

// search puts the question to every project asked and merges the answers by score.
func (b *Bank) search(in *inquiry, limit int, out *Recollection) ([]found, error) {
	var all []found
	var best []hit
	for _, p := range in.projects {
		s, err := b.shard(p)
		if err != nil {
			return nil, err
		}
		res, hits, list, err := b.searchOne(in, p, s, limit)
		if err != nil {
			return nil, err
		}
		best, all = append(best, hits...), list
		out.Omitted += res.Found
		out.Confident = out.Confident || res.Confident
		in.coverage = max(in.coverage, res.Coverage)
		if in.request.Trace && (out.Trace == nil || len(out.Trace.Anchors) == 0) {
			out.Trace = trace(in, s, &res)
		}
		// Now, and not at the end: what is in no answer must not keep its project's index in memory.
		slices.SortStableFunc(best, func(x, y hit) int {
			return cmp.Or(cmp.Compare(y.item.Score, x.item.Score), compareIDs(x.id, y.id))
		})
		best = firstPlaces(best, limit)
	}
	for _, h := range best {
		list, err := b.collectHit(h)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	out.Omitted = max(0, out.Omitted-places(all))
	out.Window = windowOf(&in.question.Time)
	return all, nil
}

// hit is one memory of one project's answer, before the answers are merged and it is read.
type hit struct {
	project store.Project
	shard   *index.Shard
	item    query.Item
	id      graph.ID
	counts  graph.ID      // of a segment, the text that it is part of
	record  *store.Record // where it was read on the way
}

func (h hit) whole() graph.ID { return h.counts }

// collectHit reads the memory behind a hit; nothing where it was forgotten meanwhile.
func (b *Bank) collectHit(h hit) ([]found, error) {
	h.shard.RLock()
	defer h.shard.RUnlock()
	if _, ok := h.shard.Find(h.id); !ok {
		return nil, nil
	}
	records := map[uint32]*store.Record{}
	if h.record != nil {
		records[h.item.Doc] = h.record
	}
	return b.collect(h.project, h.shard, []query.Item{h.item}, records)
}

// whole is the memory that counts: of a segment, the text that it is part of.
func (f found) whole() graph.ID {
	if !f.record.PartOf.IsZero() {
		return f.record.PartOf
	}
	return f.record.ID
}

// places is how many memories a list holds, a long text counted once; firstPlaces is the first of limit places.
func places[T interface{ whole() graph.ID }](list []T) int {
	seen := map[graph.ID]bool{}
	for i := range list {
		seen[list[i].whole()] = true
	}
	return len(seen)
}

func firstPlaces[T interface{ whole() graph.ID }](list []T, limit int) []T {
	seen := map[graph.ID]bool{}
	return slices.DeleteFunc(list, func(f T) bool {
		if !seen[f.whole()] && len(seen) == limit {
			return true
		}
		seen[f.whole()] = true
		return false
	})
}

func compareIDs(a, b graph.ID) int {
	if a == b {
		return 0
	}
	if a.Less(b) {
		return -1
	}
	return 1
}

// searchOne puts the question to one project. Where it is the only one, its answer is read at once; else it is
// hits, and most of them are not read at all.
func (b *Bank) searchOne(in *inquiry, p store.Project, s *index.Shard, limit int) (res query.Result, hits []hit, list []found, err error) {
	s.RLock()
	defer s.RUnlock()
	f, err := in.filterFor(b, s)
	if err != nil {
		return res, nil, nil, err
	}
	req := in.request
	req.Filter, req.Limit = f, limit
	req.Alike = b.alike(s)
	req.Near, req.NearLoose = b.nearest(in, s, &f, b.o.Tuning.VectorTop)
	records := map[uint32]*store.Record{}
	req.Content = func(o uint32) string {
		if r := b.record(p, s, o, records); r != nil {
			return r.Content
		}
		return ""
	}
	res = query.Run(s, &req)
	if len(in.projects) == 1 {
		list, err = b.collect(p, s, res.Items, records)
		return res, nil, list, err
	}
	for _, it := range res.Items {
		hits = append(hits, hit{p, s, it, s.Docs[it.Doc].ID, s.Docs[root(s, it.Doc)].ID, records[it.Doc]})
	}
	return res, hits, nil, nil
}

// record reads a shard's memory from the store; nil where it is gone.
func (b *Bank) record(p store.Project, s *index.Shard, o uint32, cache map[uint32]*store.Record) *store.Record {
	if r, ok := cache[o]; ok {
		return r
	}
	v, err := b.kv.Get(store.RecordKey(p, s.Docs[o].ID))
	if err != nil {
		return nil
	}
	r, err := store.DecodeRecord(s.Docs[o].ID, v)
	if err != nil {
		return nil
	}
	cache[o] = r
	return r
}

// collect reads the memories behind items. What the store no longer holds is left out: an index is never
// exactly of the store's instant. The caller holds the shard's RLock.
func (b *Bank) collect(p store.Project, s *index.Shard, items []query.Item, cache map[uint32]*store.Record) ([]found, error) {
	var out []found
	for _, it := range items {
		r, ok := cache[it.Doc]
		if !ok {
			var err error
			if r, _, err = b.get(p, s.Docs[it.Doc].ID); errors.Is(err, store.ErrNotFound) {
				continue
			} else if err != nil {
				return nil, err
			}
		}
		st, err := b.stateOf(p, r)
		if err != nil {
			return nil, err
		}
		f := found{shard: s, item: it, record: r, state: st}
		f.memory = b.show(p, s, r, st)
		if f.memory.Content, err = b.content(p, r); errors.Is(err, store.ErrNotFound) {
			continue // its segments went since
		} else if err != nil {
			return nil, err
		}
		f.memory.Score = round4(it.Score)
		f.memory.Signals = signals(&it)
		for _, v := range it.Via {
			step := Step{Relation: v.Relation.String(), From: s.Docs[v.From].ID.String()}
			if v.Relation == graph.Mentions {
				step.Entity = s.EntityAt(v.Entity).Key
			}
			f.memory.Via = append(f.memory.Via, step)
		}
		f.refs = b.longRefs(p, s, &f.memory)
		out = append(out, f)
	}
	return out, nil
}

func signals(it *query.Item) map[string]float64 {
	m := map[string]float64{}
	set := func(k string, v float64) {
		if v != 0 {
			m[k] = round4(v)
		}
	}
	if it.HasNear {
		set("vector", it.Near)
	}
	set("keyword", it.Words)
	set("context", it.Window)
	set("phrase", it.Phrase)
	set("episode", it.Episode)
	if it.InTime {
		set("time", 1)
	}
	if len(m) == 0 {
		return nil
	}
	return m
}

func round4(x float64) float64 {
	return math.Round(x*1e4) / 1e4
}

// longRefs is the refs of the memories that m's header names, where they are longer than usual.
func (b *Bank) longRefs(p store.Project, s *index.Shard, m *Memory) refs {
	var out refs
	note := func(id string) {
		x, err := graph.ParseID(id)
		if err != nil {
			return
		}
		r := store.Record{ID: x}
		if o, ok := s.Find(x); ok {
			r.RefLen = s.Docs[o].RefLen
		} else if v, err := b.kv.Get(store.TombstoneKey(p, x)); err == nil {
			if t, err := store.DecodeTombstone(v); err == nil {
				r.RefLen = t.RefLen
			}
		}
		if r.RefLen > 0 {
			if out == nil {
				out = refs{}
			}
			out[id] = r.Ref()
		}
	}
	if m.SupersededBy != "" {
		note(m.SupersededBy)
	}
	for _, id := range m.Contradicts[:min(1, len(m.Contradicts))] {
		note(id)
	}
	for _, v := range m.Via {
		note(v.From)
	}
	return out
}

// show is a memory as the contract has it, of a long text without its content; s may be nil.
func (b *Bank) show(p store.Project, s *index.Shard, r *store.Record, st *store.State) Memory {
	m := Memory{Ref: r.Ref(), ID: r.ID.String(), Project: b.projectName(p), Content: r.Content, Speaker: r.Speaker, Kind: r.Kind, Session: r.Session,
		Source: r.Source, Tags: append(slices.Clone(r.Tags), st.Tags...), Pinned: r.Pinned, WrittenBy: r.Writer, OccurredAt: formatTime(r.At.Time()),
		OccurredGrain: r.Grain, RecordedAt: formatTime(r.Recorded.Time())}
	if r.Until != nil {
		m.OccurredUntil = formatTime(r.Until.Time())
	}
	if st.Seen > 0 {
		m.SeenCount = int(st.Seen) + 1
	}
	if !r.PartOf.IsZero() {
		m.PartOf = r.PartOf.String()
	}
	for _, id := range r.Segments {
		m.Segments = append(m.Segments, id.String())
	}
	for _, id := range append(slices.Clone(r.BecauseOf), st.BecauseOf...) {
		m.BecauseOf = append(m.BecauseOf, id.String())
	}
	for _, id := range append(slices.Clone(r.Supersedes), st.Supersedes...) {
		m.Supersedes = append(m.Supersedes, id.String())
	}
	if !st.SupersededBy.IsZero() {
		m.SupersededBy = st.SupersededBy.String()
	}
	if r.ValidFrom != nil || r.ValidUntil != nil {
		m.Valid = &Valid{}
		if r.ValidFrom != nil {
			m.Valid.From = formatTime(r.ValidFrom.Time())
		}
		if r.ValidUntil != nil {
			m.Valid.Until = formatTime(r.ValidUntil.Time())
		}
	}
	a := b.analysisOf(p, r)
	m.Times = spansOf(r.Content, a.Times)
	seen := map[string]bool{}
	add := func(key, name string) {
		if !seen[key] {
			seen[key] = true
			m.Entities = append(m.Entities, name)
		}
	}
	for _, e := range append(slices.Clone(r.Entities), st.Entities...) {
		add(index.FoldName(e), e)
	}
	for _, x := range a.Mentions {
		if int(x.To) <= len(r.Content) {
			add(x.Key, r.Content[x.From:x.To])
		}
	}
	if s != nil {
		if o, ok := s.Find(r.ID); ok {
			b.showDerived(p, s, o, &m)
		}
	}
	return m
}

// trace tells how one project's answer was found.
func trace(in *inquiry, s *index.Shard, res *query.Result) *Trace {
	s.RLock()
	defer s.RUnlock()
	t := &Trace{Weights: map[string]float64{}, Coverage: round4(res.Coverage)}
	for i, w := range res.Weights {
		t.Weights[query.Intent(i).String()] = round4(w)
	}
	for _, q := range in.question.Terms {
		if q.Of < 0 {
			t.Terms = append(t.Terms, q.Stem)
		}
	}
	for _, x := range res.Speakers {
		t.Speakers = append(t.Speakers, s.Name(x))
	}
	for _, e := range res.Entities {
		t.Entities = append(t.Entities, s.EntityAt(e).Key)
	}
	for _, a := range res.Anchors {
		x := TraceAnchor{ID: s.Docs[a.Doc].ID.String(), Score: round4(a.Score), Ranks: map[string]int{}}
		for signal, rank := range map[string]int{"keyword": a.Keyword, "context": a.Context, "vector": a.Vector, "time": a.Time} {
			if rank > 0 {
				x.Ranks[signal] = rank
			}
		}
		t.Anchors = append(t.Anchors, x)
	}
	for _, w := range res.Walked[:min(100, len(res.Walked))] {
		t.Walk = append(t.Walk, TraceStep{ID: s.Docs[w.Doc].ID.String(), From: s.Docs[w.From].ID.String(), Relation: w.Relation.String(), Score: round4(w.Score), Depth: w.Depth})
	}
	return t
}
