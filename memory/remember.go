package memory

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/magma-mcp/magma-mcp/memory/extract"
	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/store"
	"github.com/magma-mcp/magma-mcp/memory/temporal"
)

// Limits of the short fields of a memory, in bytes, and of lists. They are far over any honest use; more is
// a client's mistake that is better told than stored.
const (
	maxField   = 4096
	maxList    = 256
	maxSources = 2048
)

// Remember is the fast path (paper, Algorithm 2): validate, split, resolve times, find names, look for an exact
// duplicate, write one synced batch, answer. No model and no network. When it returns without an error the
// memory survives a crash.
func (b *Bank) Remember(ctx context.Context, n Note) (Receipt, error) {
	done, err := b.enter(ctx)
	if err != nil {
		return Receipt{}, err
	}
	defer done()
	w, err := b.prepare(&n)
	if err != nil {
		return Receipt{}, err
	}
	rec, commit, err := b.commit(w)
	if err != nil {
		return Receipt{}, storageError("storing the memory", err)
	}
	if commit != nil {
		if err := commit.Wait(); err != nil {
			return Receipt{}, storageError("storing the memory", err)
		}
	}
	return rec, nil
}

// writing is a memory on its way into the store.
type writing struct {
	note     *Note
	project  string
	now      time.Time
	parts    []*store.Record // the whole first where there are segments
	analyses []*store.Analysis
	because  []string // ids or refs as given
	replaces []string
	identity store.Digest
	idem     store.Digest
	idemText store.Digest
	keyAgain bool // the key was used for a memory that was forgotten or superseded since
	warnings []string
	own      []ownBlock // our own blocks that the content holds
	ownOnly  bool
	request  string // of an attached process: its answer is kept in the same batch
}

func (b *Bank) zone(from *Session) (*time.Location, error) {
	if from.Zone == "" {
		return b.o.Zone, nil
	}
	loc, err := time.LoadLocation(from.Zone)
	if err != nil {
		return nil, Errorf(CodeInvalid, "time_zone: %q is no IANA time zone, such as Europe/Paris", from.Zone)
	}
	return loc, nil
}

// prepare checks a note and does all the work that needs no lock.
func (b *Bank) prepare(n *Note) (*writing, error) {
	w := &writing{note: n, now: b.o.Now(), because: n.BecauseOf, replaces: n.Supersedes}
	var err error
	if w.project, err = CanonicalProject(n.Project, b.o.DefaultProject, false); err != nil {
		return nil, err
	}
	if !n.From.allowed(w.project) {
		return nil, Errorf(CodeRefused, "project: this token may not write to that project")
	}
	if err := b.checkNote(n); err != nil {
		return nil, err
	}
	content := n.Content
	if b.o.Inspect != nil {
		replaced, warnings, err := b.o.Inspect(content)
		if err != nil {
			return nil, Errorf(CodeRefused, "content: %w", err)
		}
		w.warnings = append(w.warnings, warnings...)
		content = replaced
	}
	zone, err := b.zone(&n.From)
	if err != nil {
		return nil, err
	}
	r := &store.Record{Content: content, Speaker: n.Speaker, Session: n.Session, Kind: n.Kind, Source: n.Source, Writer: n.From.Client,
		Tags: dedup(n.Tags), Entities: dedup(n.Entities), Given: strings.TrimSpace(n.OccurredAt), Recorded: store.StampOf(w.now.UTC()), Pinned: n.Pinned}
	if err := b.occurred(r, w.now.In(zone)); err != nil {
		return nil, err
	}
	if r.ValidFrom, err = b.bound("valid_from", n.ValidFrom, localTime(r), false); err != nil {
		return nil, err
	}
	if r.ValidUntil, err = b.bound("valid_until", n.ValidUntil, localTime(r), true); err != nil {
		return nil, err
	}
	if r.ValidFrom != nil && r.ValidUntil != nil && r.ValidUntil.Sec <= r.ValidFrom.Sec {
		return nil, Errorf(CodeInvalid, "valid_until: it is not after valid_from")
	}
	w.own, w.ownOnly = parseBlocks(n.Content)
	w.parts = []*store.Record{r}
	if segs := extract.Segments(content); len(segs) > 1 {
		for _, s := range segs {
			p := *r
			p.Content = content[s.From:s.To]
			if s.Speaker != "" && n.Speaker == "" { // what the caller says of the whole holds for its parts
				p.Speaker = s.Speaker
			}
			p.BecauseOf, p.Supersedes = nil, nil
			w.parts = append(w.parts, &p)
		}
		r.Content = ""
	}
	for i, p := range w.parts {
		if i == 0 && len(w.parts) > 1 {
			w.analyses = append(w.analyses, &store.Analysis{Version: store.AnalysisVersion})
			continue
		}
		w.analyses = append(w.analyses, b.analyze(p))
	}
	w.identity = identity(r, content, w.analyses)
	if n.IdempotencyKey != "" {
		w.idem = store.Sum("key", n.IdempotencyKey)
		w.idemText = store.Sum(n.Content, n.Speaker, n.Session, n.Source, n.Kind, n.OccurredAt)
	}
	return w, nil
}

func dedup(l []string) []string {
	var out []string
	for _, s := range l {
		if s = strings.TrimSpace(s); s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func (b *Bank) checkNote(n *Note) error {
	if strings.TrimSpace(n.Content) == "" {
		return Errorf(CodeInvalid, "content: it is empty; give the text to remember")
	}
	if len(n.Content) > b.o.MaxContent {
		return Errorf(CodeTooLarge, "content: %d bytes, over the limit of %d; nothing was stored; split it, or raise store.max_content", len(n.Content), b.o.MaxContent)
	}
	fields := []struct {
		name, value string
		max         int
	}{{"content", n.Content, b.o.MaxContent}, {"speaker", n.Speaker, maxField}, {"session", n.Session, maxField}, {"kind", n.Kind, maxField},
		{"source", n.Source, maxField}, {"occurred_at", n.OccurredAt, maxField}, {"valid_from", n.ValidFrom, maxField}, {"valid_until", n.ValidUntil, maxField},
		{"idempotency_key", n.IdempotencyKey, maxField}, {"client", n.From.Client, maxField}}
	for _, l := range []struct {
		name string
		list []string
	}{{"tags", n.Tags}, {"entities", n.Entities}, {"because_of", n.BecauseOf}, {"supersedes", n.Supersedes}} {
		if len(l.list) > maxList {
			return Errorf(CodeInvalid, "%s: %d entries; at most %d", l.name, len(l.list), maxList)
		}
		for _, s := range l.list {
			fields = append(fields, struct {
				name, value string
				max         int
			}{l.name, s, maxField})
		}
	}
	for _, f := range fields {
		if !utf8.ValidString(f.value) {
			return Errorf(CodeInvalid, "%s: it is not valid UTF-8; send it as UTF-8 text; nothing was stored", f.name)
		}
		if len(f.value) > f.max {
			return Errorf(CodeTooLarge, "%s: %d bytes, over the limit of %d; nothing was stored", f.name, len(f.value), f.max)
		}
	}
	return nil
}

// occurred resolves when the memory happened or was said.
func (b *Bank) occurred(r *store.Record, now time.Time) error {
	if r.Given == "" {
		r.At, r.Zone = store.StampOf(now), zoneOf(now)
		return nil
	}
	iv, err := b.times.Instant(r.Given, now)
	if err != nil {
		return Errorf(CodeInvalid, "occurred_at: %w", err)
	}
	if iv.OpenStart {
		return Errorf(CodeInvalid, "occurred_at: %q has no beginning; give a date or a time", r.Given)
	}
	r.At = store.StampOf(iv.Start)
	if iv.Start.Location() == now.Location() { // words or a date; RFC 3339 brings its own offset
		r.Zone = zoneOf(now)
	}
	if iv.Grain != temporal.Second {
		r.Grain = iv.Grain.String()
		if !iv.OpenEnd {
			u := store.StampOf(iv.End)
			r.Until = &u
		}
	}
	return nil
}

// bound reads one end of a span: the beginning of what is named, or its end where it is a day or longer.
func (b *Bank) bound(field, s string, ref time.Time, end bool) (*store.Stamp, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, nil
	}
	iv, err := b.times.Instant(s, ref)
	if err != nil {
		return nil, Errorf(CodeInvalid, "%s: %w", field, err)
	}
	t := iv.Start
	if end && iv.Grain >= temporal.Day && !iv.OpenEnd || iv.OpenStart {
		t = iv.End
	}
	st := store.StampOf(t)
	return &st, nil
}

// commit writes what was prepared. It returns a nil Commit where nothing new has to reach the disk.
func (b *Bank) commit(w *writing) (Receipt, store.Commit, error) {
	b.write.Lock()
	defer b.write.Unlock()
	if b.closed.Load() {
		return Receipt{}, nil, Errorf(CodeClosed, "the memory is closed; start magma-mcp again")
	}
	p, known := b.project(w.project)
	var ops []store.Op
	if known {
		if rec, commit, hit, err := b.duplicate(p, w); err != nil || hit {
			return rec, commit, err
		}
	} else {
		p = b.nextProject()
		ops = append(ops, store.Op{Kind: store.Set, Key: store.ProjectKey(p), Value: []byte(w.project)})
	}
	whole := w.parts[0]
	var err error
	if whole.BecauseOf, err = b.resolveAll(p, "because_of", w.because); err != nil {
		return Receipt{}, nil, err
	}
	if whole.Supersedes, err = b.resolveAll(p, "supersedes", w.replaces); err != nil {
		return Receipt{}, nil, err
	}
	for i, r := range w.parts {
		r.ID = b.id(w.now)
		if i > 0 {
			r.PartOf = whole.ID
			whole.Segments = append(whole.Segments, r.ID)
		}
	}
	for i, r := range w.parts {
		if r.RefLen, err = b.refLen(p, r.ID, w.parts[:i]); err != nil {
			return Receipt{}, nil, err
		}
		ops = append(ops,
			store.Op{Kind: store.Set, Key: store.RecordKey(p, r.ID), Value: r.Encode()},
			store.Op{Kind: store.Set, Key: store.AnalysisKey(p, r.ID), Value: w.analyses[i].Encode()},
			store.Op{Kind: store.Set, Key: store.TailKey(p, r.ID), Value: []byte{}})
	}
	ops = append(ops, store.Op{Kind: store.Set, Key: store.HashKey(p, w.identity), Value: whole.ID[:]})
	if w.idem != (store.Digest{}) {
		ops = append(ops, store.Op{Kind: store.Set, Key: store.IdemKey(p, w.idem), Value: append(slices.Clone(whole.ID[:]), w.idemText[:]...)})
	}
	var states map[graph.ID]*store.State
	if ops, states, err = b.supersede(p, ops, whole.Supersedes, whole.ID); err != nil {
		return Receipt{}, nil, err
	}
	if w.keyAgain {
		w.warnings = append(w.warnings, "idempotency_key: the memory that it stored before was forgotten or superseded since; this is a new one")
	}
	ops, pending := b.enqueue(ops, p, w.parts)
	rec := b.receipt(w, whole, nil)
	rec.Pending = pending
	if w.request != "" {
		op, err := b.requestOp(w.request, rec, "")
		if err != nil {
			return Receipt{}, nil, err
		}
		ops = append(ops, op)
	}
	commit, err := b.kv.Apply(ops)
	if err != nil {
		return Receipt{}, nil, err
	}
	b.applied(p, w, known, states)
	b.watch.send(Change{Kind: "remembered", Project: w.project, IDs: []string{rec.ID}, At: w.now})
	b.wake()
	return rec, commit, nil
}

// nextProject numbers a new project; the caller holds write. The tables change in applied.
func (b *Bank) nextProject() store.Project {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.nextProj + 1
}

// applied brings the tables in memory up to what was written.
func (b *Bank) applied(p store.Project, w *writing, known bool, states map[graph.ID]*store.State) {
	if !known {
		b.mu.Lock()
		b.projects[w.project], b.names[p], b.nextProj = p, w.project, p
		b.mu.Unlock()
	}
	b.recount(p)
	b.change(p, func(s *index.Shard) {
		for i, r := range w.parts {
			s.Add(r, nil, w.analyses[i])
			b.addWords(s, r.ID, w.analyses[i])
		}
		if whole, ok := s.Find(w.parts[0].ID); ok {
			for id := range states {
				if o, ok := s.Find(id); ok {
					s.Supersede(o, whole)
				}
			}
		}
	})
}

// receipt answers for a memory that was stored, or (st not nil) seen again.
func (b *Bank) receipt(w *writing, r *store.Record, st *store.State) Receipt {
	rec := Receipt{ID: r.ID.String(), Ref: r.Ref(), Project: w.project, Status: StatusStored, SeenCount: 1, OccurredAt: formatTime(r.At.Time()),
		RecordedAt: formatTime(r.Recorded.Time()), Warnings: w.warnings}
	if st != nil {
		rec.Status, rec.SeenCount = StatusDuplicate, int(st.Seen)+1
	}
	for _, id := range r.Segments {
		rec.Segments = append(rec.Segments, id.String())
	}
	seen := map[string]bool{}
	name := func(key, show string) {
		if key != "" && !seen[key] && len(rec.Entities) < 64 {
			seen[key] = true
			rec.Entities = append(rec.Entities, show)
		}
	}
	for _, e := range r.Entities {
		name(index.FoldName(e), e)
	}
	for i, a := range w.analyses {
		content := w.parts[i].Content
		rec.Times = append(rec.Times, spansOf(content, a.Times)...)
		for _, m := range a.Mentions {
			if int(m.To) <= len(content) {
				name(m.Key, content[m.From:m.To])
			}
		}
	}
	if len(w.own) > 0 && st == nil {
		var refs []string
		for _, o := range w.own[:min(8, len(w.own))] {
			refs = append(refs, o.ref)
		}
		rec.Warnings = append(rec.Warnings, "the content holds blocks that look like this memory's own output ("+strings.Join(refs, ", ")+"); stored as it is")
	}
	return rec
}

// supersede adds the rows that mark old memories as superseded by id.
func (b *Bank) supersede(p store.Project, ops []store.Op, old []graph.ID, id graph.ID) ([]store.Op, map[graph.ID]*store.State, error) {
	states := map[graph.ID]*store.State{}
	for _, x := range old {
		_, st, err := b.get(p, x)
		if err != nil {
			return nil, nil, err
		}
		st.SupersededBy = id
		states[x] = st
		ops = append(ops, store.Op{Kind: store.Set, Key: store.StateKey(p, x), Value: st.Encode()})
	}
	return ops, states, nil
}
