package memory

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"slices"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// How memories of an export become memories here: new, known, merged, in conflict, or left forgotten.

// batchWriter is one batch under the writer's lock.
type batchWriter struct {
	im      *importer
	ops     []store.Op
	names   map[string]store.Project // projects that the batch makes
	touched map[store.Project][]string
	tails   map[string][]string       // refs the batch gives, by the six-character ending of the id
	states  map[stateKey]*store.State // states the batch writes
}

func (im *importer) write(batch []*unit) (store.Commit, error) {
	b := im.b
	b.write.Lock()
	defer b.write.Unlock()
	if b.closed.Load() {
		return nil, Errorf(CodeClosed, "the memory is closed; start magma-mcp again")
	}
	w := &batchWriter{im: im, names: map[string]store.Project{}, touched: map[store.Project][]string{}, tails: map[string][]string{}, states: map[stateKey]*store.State{}}
	before := *im.rep
	for _, u := range batch {
		if err := w.unit(u); err != nil {
			*im.rep = before
			return nil, err
		}
	}
	if len(w.ops) == 0 {
		return nil, nil
	}
	commit, err := b.kv.Apply(w.ops)
	if err != nil {
		*im.rep = before
		return nil, err
	}
	b.imported(w.names, w.touched)
	return commit, nil
}

// imported brings the tables in memory up to what was written. The caller holds write.
func (b *Bank) imported(names map[string]store.Project, touched map[store.Project][]string) {
	b.mu.Lock()
	for name, p := range names {
		b.projects[name], b.names[p], b.nextProj = p, name, max(b.nextProj, p)
	}
	for p := range touched {
		delete(b.shards, p)
		b.tallies[p] = tally{changes: b.tallies[p].changes + 1}
	}
	b.mu.Unlock()
	ps := make([]store.Project, 0, len(touched))
	for p := range touched {
		ps = append(ps, p)
	}
	slices.Sort(ps)
	for _, p := range ps {
		b.watch.send(Change{Kind: "remembered", Project: b.projectName(p), IDs: touched[p], At: b.o.Now()})
		b.back.worker.Forgot(b.projectName(p)) // episodes may have come or gone
	}
	b.wake()
}

// project is the number of a project, made where it is new.
func (w *batchWriter) project(name string) store.Project {
	if p, ok := w.im.b.project(name); ok {
		return p
	}
	p, ok := w.names[name]
	if !ok {
		p = w.im.b.nextProject() + store.Project(len(w.names))
		w.names[name] = p
		w.ops = append(w.ops, store.Op{Kind: store.Set, Key: store.ProjectKey(p), Value: []byte(name)})
	}
	return p
}

// unit writes one memory, or finds it there, forgotten, or in conflict.
func (w *batchWriter) unit(u *unit) error {
	b, im := w.im.b, w.im
	p := w.project(u.project)
	gone := false
	for _, r := range u.records {
		_, err := b.kv.Get(store.TombstoneKey(p, r.ID))
		if err == nil {
			gone = true
		} else if !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	if gone && !im.o.Revive {
		im.rep.Forgotten++
		return nil
	}
	same, other, err := w.compare(p, u)
	if err != nil {
		return err
	}
	if other {
		if err := w.mark(p, u.records[0].ID); err != nil {
			return err
		}
		if !u.rename() {
			im.bad(u.line, errors.New("its id is taken by another memory, and so is the one it would get"))
			return nil
		}
		if same, other, err = w.compare(p, u); err != nil {
			return err
		}
		if !same && other {
			im.bad(u.line, errors.New("its id is taken by another memory, and so is the one it would get"))
			return nil
		}
		u.states[0].Tags = append(u.states[0].Tags, missing(u.states[0].Tags, []string{ConflictTag})...)
		if !same {
			im.rep.Conflicts++
			im.warn("the same id with other content: both were kept and tagged %q", ConflictTag)
		}
	}
	if same {
		merged, err := w.merge(p, u)
		if err != nil {
			return err
		}
		if merged {
			im.rep.Merged++
		} else {
			im.rep.Known++
		}
		return nil
	}
	if !other {
		im.rep.Stored++
	}
	if gone {
		im.rep.Revived++
	}
	return w.put(p, u, gone)
}

// compare looks for the unit's ids: same where all are there with the same content, other where any is
// there with another.
func (w *batchWriter) compare(p store.Project, u *unit) (same, other bool, err error) {
	found := 0
	for _, r := range u.records {
		have, _, err := w.im.b.get(p, r.ID)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return false, false, err
		}
		if !sameRecord(have, r) {
			return false, true, nil
		}
		found++
	}
	// Some of a whole's segments alone are there: somebody else's ids.
	return found == len(u.records), found > 0 && found < len(u.records), nil
}

// sameRecord compares all but the length of the ref, which a store may have had to choose anew.
func sameRecord(a, b *store.Record) bool {
	x, y := *a, *b
	x.RefLen, y.RefLen = 0, 0
	return bytes.Equal(x.Encode(), y.Encode())
}

// rename gives a unit in conflict ids of their own, the same each time it is imported.
func (u *unit) rename() bool {
	to := map[graph.ID]graph.ID{}
	whole := u.records[0].ID
	for _, r := range u.records {
		sum := sha256.Sum256(append(append([]byte("conflict"), r.ID[:]...), r.Encode()...))
		id := r.ID
		copy(id[6:], sum[:10])
		to[r.ID] = id
	}
	if len(to) != len(u.records) {
		return false
	}
	for i, r := range u.records {
		c := *r
		c.ID, c.RefLen = to[r.ID], 0
		if i > 0 {
			c.PartOf = to[whole]
		}
		c.Segments = nil
		for _, s := range r.Segments {
			c.Segments = append(c.Segments, to[s])
		}
		u.records[i] = &c
	}
	return true
}

// mark tags a memory that is here as in conflict.
func (w *batchWriter) mark(p store.Project, id graph.ID) error {
	r, st, err := w.state(p, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if slices.Contains(r.Tags, ConflictTag) || slices.Contains(st.Tags, ConflictTag) {
		return nil
	}
	st.Tags = append(st.Tags, ConflictTag)
	w.setState(p, id, st)
	return nil
}

// state reads a record and its state as the batch will leave it.
func (w *batchWriter) state(p store.Project, id graph.ID) (*store.Record, *store.State, error) {
	r, st, err := w.im.b.get(p, id)
	if err != nil {
		return nil, nil, err
	}
	if own := w.states[stateKey{p, id}]; own != nil {
		st = own
	}
	return r, st, nil
}

func (w *batchWriter) setState(p store.Project, id graph.ID, st *store.State) {
	w.states[stateKey{p, id}] = st
	w.ops = append(w.ops, store.Op{Kind: store.Set, Key: store.StateKey(p, id), Value: st.Encode()})
	if _, ok := w.touched[p]; !ok {
		w.touched[p] = nil
	}
}

// merge adds what the file knows of memories that are here.
func (w *batchWriter) merge(p store.Project, u *unit) (bool, error) {
	changed := false
	for i, r := range u.records {
		_, st, err := w.state(p, r.ID)
		if err != nil {
			return false, err
		}
		m := mergeStates(r, st, u.states[i])
		if !bytes.Equal(m.Encode(), st.Encode()) {
			w.setState(p, r.ID, m)
			changed = true
		}
	}
	return changed, nil
}

// mergeStates is the union of what two stores know of one memory; doing it twice adds nothing.
func mergeStates(r *store.Record, a, b *store.State) *store.State {
	m := &store.State{Seen: max(a.Seen, b.Seen), SupersededBy: a.SupersededBy}
	if m.SupersededBy.IsZero() {
		m.SupersededBy = b.SupersededBy
	}
	m.Sightings = append(slices.Clone(a.Sightings), missing(a.Sightings, b.Sightings)...)
	slices.SortStableFunc(m.Sightings, func(x, y store.Stamp) int {
		return cmp.Or(cmp.Compare(x.Sec, y.Sec), cmp.Compare(x.Nanos, y.Nanos))
	})
	// A sighting that one store alone has was not counted by the other.
	m.Seen = max(m.Seen, uint64(len(m.Sightings)))
	m.Tags = append(slices.Clone(a.Tags), missing(append(slices.Clone(r.Tags), a.Tags...), b.Tags)...)
	m.Entities = append(slices.Clone(a.Entities), missing(append(slices.Clone(r.Entities), a.Entities...), b.Entities)...)
	m.BecauseOf = append(slices.Clone(a.BecauseOf), missing(append(slices.Clone(r.BecauseOf), a.BecauseOf...), b.BecauseOf)...)
	m.Supersedes = append(slices.Clone(a.Supersedes), missing(append(slices.Clone(r.Supersedes), a.Supersedes...), b.Supersedes)...)
	return m
}

// put writes a memory that is new here.
func (w *batchWriter) put(p store.Project, u *unit, revived bool) error {
	b := w.im.b
	for i, r := range u.records {
		if err := w.ref(p, r); err != nil {
			return err
		}
		w.ops = append(w.ops,
			store.Op{Kind: store.Set, Key: store.RecordKey(p, r.ID), Value: r.Encode()},
			store.Op{Kind: store.Set, Key: store.AnalysisKey(p, r.ID), Value: u.analyses[i].Encode()},
			store.Op{Kind: store.Set, Key: store.TailKey(p, r.ID), Value: []byte{}})
		if v := u.states[i].Encode(); len(v) > 0 {
			w.ops = append(w.ops, store.Op{Kind: store.Set, Key: store.StateKey(p, r.ID), Value: v})
		}
		if revived {
			w.ops = append(w.ops, store.Op{Kind: store.Delete, Key: store.TombstoneKey(p, r.ID)})
		}
	}
	whole := u.records[0]
	w.touched[p] = append(w.touched[p], whole.ID.String())
	if v, err := b.kv.Get(store.HashKey(p, u.identity)); errors.Is(err, store.ErrNotFound) || err == nil && len(v) == 16 && graph.ID(v).Less(whole.ID) {
		w.ops = append(w.ops, store.Op{Kind: store.Set, Key: store.HashKey(p, u.identity), Value: bytes.Clone(whole.ID[:])})
	} else if err != nil {
		return err
	}
	// What it replaces may lie here and not in the file.
	for _, old := range append(slices.Clone(whole.Supersedes), u.states[0].Supersedes...) {
		_, st, err := w.state(p, old)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if st.SupersededBy.IsZero() && old != whole.ID {
			st.SupersededBy = whole.ID
			w.setState(p, old, st)
		}
	}
	w.ops, _ = b.enqueue(w.ops, p, u.records)
	return nil
}

// ref keeps the record's ref where nobody here has it, and lengthens it where somebody does.
func (w *batchWriter) ref(p store.Project, r *store.Record) error {
	s := r.ID.String()
	tail := s[len(s)-6:]
	taken := slices.Clone(w.tails[tail])
	lo, hi, _ := store.TailRange(p, tail)
	for row, err := range w.im.b.kv.Scan(lo, hi) {
		if err != nil {
			return err
		}
		id := store.IDOf(row.Key)
		if id == r.ID {
			continue
		}
		n, err := w.im.b.refLength(p, id)
		if err != nil {
			return err
		}
		t := id.String()
		taken = append(taken, t[len(t)-n:])
	}
	for slices.Contains(taken, r.Ref()) && r.RefLen < 26 {
		r.RefLen = max(r.RefLen, 6) + 1
	}
	w.tails[tail] = append(w.tails[tail], r.Ref())
	return nil
}

// refLength is how many characters the ref of an id takes, forgotten or not.
func (b *Bank) refLength(p store.Project, id graph.ID) (int, error) {
	n := uint8(0)
	if r, _, err := b.get(p, id); err == nil {
		n = r.RefLen
	} else if !errors.Is(err, store.ErrNotFound) {
		return 0, err
	} else if v, err := b.kv.Get(store.TombstoneKey(p, id)); err == nil {
		t, err := store.DecodeTombstone(v)
		if err != nil {
			return 0, err
		}
		n = t.RefLen
	} else if !errors.Is(err, store.ErrNotFound) {
		return 0, err
	}
	return max(6, int(n)), nil
}
