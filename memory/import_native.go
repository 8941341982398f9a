package memory

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/magma-mcp/magma-mcp/memory/foreign"
	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// native is the state of an import of our own export.
//
// Memories are collected into batches, analysed outside the writer's lock by all processors, and written one
// synced batch at a time under it, as remember would write them. The indexes of the projects concerned are
// dropped, and loaded when they are next asked.
type native struct {
	header *exportHeader
	counts ExportCounts

	unit   *unit           // a whole that waits for its segments
	batch  []*unit         // complete
	inside map[rowKey]bool // ids in batch
	size   int             // bytes in batch

	tombs map[string][]tombstone // of the file, by project
	ops   []store.Op             // rows that are no memories
}

type rowKey struct {
	project string
	id      graph.ID
}

type stateKey struct {
	project store.Project
	id      graph.ID
}

type derivedKey struct {
	pass store.Pass
	key  store.Digest
}

type tombstone struct {
	id graph.ID
	t  store.Tombstone
}

// unit is a memory with its segments, the whole first.
type unit struct {
	line     int
	project  string
	records  []*store.Record
	states   []*store.State
	analyses []*store.Analysis
	identity store.Digest
}

const (
	// A batch is written when it has as many memories or bytes: one sync for many, and the writer's lock is
	// held for some tens of milliseconds.
	importMemories = 512
	importBytes    = 4 << 20
	// importRows is how many other rows are written at once.
	importRows = 2048
)

// maxLine is the longest line of an export: the largest content with every byte as a six-byte escape.
func (im *importer) maxLine() int { return 6*im.b.o.MaxContent + 1<<20 }

// export reads an export line by line.
func (im *importer) export(in *bufio.Reader) error {
	im.native = native{inside: map[rowKey]bool{}, tombs: map[string][]tombstone{}}
	lines := foreign.Lines(in, im.maxLine())
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		var bad *foreign.Problem
		if errors.As(err, &bad) {
			im.rep.Lines++
			im.bad(bad.Line, errors.New(bad.Why))
			continue
		}
		if err != nil {
			return errors.Join(err, im.flush())
		}
		im.rep.Lines++
		if err := im.line(lines.Number(), line); err != nil {
			var why *lineError
			if errors.As(err, &why) {
				im.bad(lines.Number(), why.error)
				continue
			}
			return err
		}
	}
	if err := im.broken(); err != nil {
		return err
	}
	if err := im.flush(); err != nil {
		return err
	}
	if err := im.bury(); err != nil {
		return err
	}
	if err := im.rows(true); err != nil {
		return err
	}
	if im.header != nil && im.counts.total()+im.rep.Bad < im.header.Counts.total() {
		im.rep.Cut = true
		im.warn("%s is cut short: it should have %d lines and has %d; what it has was taken in", im.file, im.header.Counts.total()+1, im.rep.Lines)
	}
	return nil
}

// lineError is a fault of a line, which the rest does not suffer from.
type lineError struct{ error }

func lineErrorf(format string, args ...any) error { return &lineError{fmt.Errorf(format, args...)} }

func decodeLine(line []byte, to any) error {
	if err := json.Unmarshal(line, to); err != nil {
		var typ *json.UnmarshalTypeError
		if errors.As(err, &typ) {
			return lineErrorf("%s: %s where %s is meant", typ.Field, typ.Value, typ.Type)
		}
		return lineErrorf("it is not JSON")
	}
	return nil
}

func (im *importer) line(n int, line []byte) error {
	if err := checkJSON(line); err != nil {
		return &lineError{err}
	}
	var t struct {
		Type    string `json:"type"`
		Project string `json:"project"`
	}
	if err := decodeLine(line, &t); err != nil {
		return err
	}
	if t.Type == lineHeader {
		return im.head(n, line)
	}
	if im.header == nil {
		return Errorf(CodeInvalid, "import: %s does not begin with an export's header", im.file)
	}
	project, err := CanonicalProject(t.Project, "", false)
	if err != nil || project == "" {
		return lineErrorf("project: a name of 1 to 128 characters is missing")
	}
	if im.o.Project != "" {
		if len(im.header.Projects) > 1 {
			return Errorf(CodeInvalid, "import: the file holds %d projects, which cannot all become %q; export them one by one", len(im.header.Projects), oneLine(im.o.Project, 128))
		}
		project = im.o.Project
	}
	if !im.o.Session.allowed(project) {
		return lineErrorf("project: this token may not write to that project")
	}
	if t.Type == lineMemory {
		return im.memory(n, project, line)
	}
	if err := im.broken(); err != nil {
		return err
	}
	switch t.Type {
	case lineTombstone:
		return im.tombstone(project, line)
	case lineKey, lineDerived, lineVector:
		if err := im.flush(); err != nil { // they speak of memories that have to be there
			return err
		}
		if err := im.bury(); err != nil {
			return err
		}
		if im.dry {
			return im.checkRow(t.Type, line)
		}
		return im.row(t.Type, project, line)
	}
	return nil // of a newer program
}

func (im *importer) head(n int, line []byte) error {
	var h exportHeader
	if err := decodeLine(line, &h); err != nil {
		return err
	}
	if n != 1 {
		return nil // two exports in one file
	}
	if h.Format > ExportFormat {
		return Errorf(CodeFormat, "import: %s has export format %d and this program reads up to %d; use the newer magma-mcp", im.file, h.Format, ExportFormat)
	}
	im.header = &h
	return nil
}

// memory collects a memory, a whole with its segments.
func (im *importer) memory(n int, project string, line []byte) error {
	var l memoryLine
	if err := decodeLine(line, &l); err != nil {
		return err
	}
	r, st, err := l.record(im.b.o.MaxContent)
	if err != nil {
		return &lineError{err}
	}
	im.counts.Memories++
	if u := im.unit; u != nil {
		whole := u.records[0]
		if u.project == project && r.PartOf == whole.ID && len(u.records) <= len(whole.Segments) && whole.Segments[len(u.records)-1] == r.ID {
			u.records, u.states = append(u.records, r), append(u.states, st)
			if im.size += len(line); len(u.records) <= len(whole.Segments) {
				return nil
			}
			im.unit = nil
			return im.add(u)
		}
		if err := im.broken(); err != nil {
			return err
		}
	}
	u := &unit{line: n, project: project, records: []*store.Record{r}, states: []*store.State{st}}
	im.size += len(line)
	if len(r.Segments) > 0 {
		im.unit = u
		return nil
	}
	if !r.PartOf.IsZero() {
		// Its whole is not in the file, or could not be read: the words are kept.
		im.warn("segments without their whole were taken in as memories of their own")
		r.PartOf = graph.Zero
	}
	return im.add(u)
}

// broken gives up a whole whose segments do not follow: what segments there are stay as memories of their own.
func (im *importer) broken() error {
	u := im.unit
	if u == nil {
		return nil
	}
	im.unit = nil
	im.bad(u.line, fmt.Errorf("%d of its %d segments do not follow it", len(u.records[0].Segments)-len(u.records)+1, len(u.records[0].Segments)))
	for i, r := range u.records[1:] {
		r.PartOf = graph.Zero
		if err := im.add(&unit{line: u.line, project: u.project, records: []*store.Record{r}, states: u.states[i+1 : i+2]}); err != nil {
			return err
		}
	}
	return nil
}

func (im *importer) add(u *unit) error {
	total := 0
	for _, r := range u.records {
		total += len(r.Content)
	}
	if total > im.b.o.MaxContent {
		im.bad(u.line, fmt.Errorf("content: %d bytes, over the limit of %d; raise store.max_content_kb", total, im.b.o.MaxContent))
		return nil
	}
	for _, r := range u.records {
		k := rowKey{u.project, r.ID}
		if im.inside[k] {
			if err := im.flush(); err != nil {
				return err
			}
		}
	}
	for _, r := range u.records {
		im.inside[rowKey{u.project, r.ID}] = true
	}
	im.batch = append(im.batch, u)
	if len(im.batch) >= importMemories || im.size >= importBytes {
		return im.flush()
	}
	return nil
}

// flush writes the batch.
func (im *importer) flush() error {
	batch := im.batch
	im.batch, im.size = nil, 0
	clear(im.inside)
	if len(batch) == 0 || im.dry {
		return nil
	}
	if err := im.ctx.Err(); err != nil {
		return err
	}
	if inspect := im.b.o.Inspect; inspect != nil {
		batch = slices.DeleteFunc(batch, func(u *unit) bool {
			for _, r := range u.records {
				text, warnings, err := inspect(r.Content)
				if err != nil {
					im.bad(u.line, err)
					return true
				}
				r.Content = text
				for _, w := range warnings {
					im.warn("%s", w)
				}
			}
			return false
		})
	}
	im.b.analyzeUnits(batch)
	commit, err := im.write(batch)
	if err != nil {
		return err
	}
	if commit == nil {
		return nil
	}
	return commit.Wait()
}

// analyzeUnits analyses a batch on all processors.
func (b *Bank) analyzeUnits(batch []*unit) {
	var wg sync.WaitGroup
	next := make(chan *unit)
	for range min(runtime.GOMAXPROCS(0), len(batch)) {
		wg.Go(func() {
			for u := range next {
				for _, r := range u.records {
					u.analyses = append(u.analyses, b.analyze(r))
				}
				u.identity = identityFrom(u.records, u.analyses)
			}
		})
	}
	for _, u := range batch {
		next <- u
	}
	close(next)
	wg.Wait()
}

// identityFrom is the digest under which a memory's duplicates are found: see prepare and identityOf.
func identityFrom(records []*store.Record, analyses []*store.Analysis) store.Digest {
	whole := records[0]
	var text []byte
	given := "=" + whole.Given
	if whole.Given == "" {
		given = ""
	}
	for i, r := range records {
		text = append(text, r.Content...)
		if whole.Given != "" || i == 0 && len(records) > 1 {
			continue
		}
		for _, t := range analyses[i].Times {
			given += fmt.Sprintf(";%d-%d", t.Start.Sec, t.End.Sec)
		}
	}
	return store.Sum(string(text), whole.Speaker, whole.Session, whole.Source, given)
}

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

func (im *importer) tombstone(project string, line []byte) error {
	var l tombstoneLine
	if err := decodeLine(line, &l); err != nil {
		return err
	}
	id, err := readIDText("id", l.ID)
	if err != nil || id.IsZero() {
		return lineErrorf("id: it is missing or no id")
	}
	at, err := readStampText(l.At)
	if err != nil {
		return lineErrorf("at: %w", err)
	}
	if len(l.Reason) > maxField || l.RefLength > 26 || l.RefLength > 0 && l.RefLength < 7 {
		return lineErrorf("reason or ref_length: out of range")
	}
	im.counts.Tombstones++
	im.tombs[project] = append(im.tombs[project], tombstone{id, store.Tombstone{At: at, Purged: l.Purged, Reason: l.Reason, RefLen: l.RefLength}})
	if len(im.tombs[project]) >= importRows {
		if err := im.flush(); err != nil {
			return err
		}
		return im.bury()
	}
	return nil
}

// bury keeps the file's tombstones: what they name is forgotten here too, but for what is revived.
func (im *importer) bury() error {
	if im.dry {
		clear(im.tombs)
	}
	names := make([]string, 0, len(im.tombs))
	for n := range im.tombs {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := im.buryIn(name, im.tombs[name]); err != nil {
			return err
		}
		delete(im.tombs, name)
	}
	return nil
}

func (im *importer) buryIn(name string, tombs []tombstone) error {
	b := im.b
	var here []graph.ID
	if p, ok := b.project(name); ok {
		for _, t := range tombs {
			r, _, err := b.get(p, t.id)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			if r.PartOf.IsZero() {
				here = append(here, t.id)
			}
		}
		if len(here) > 0 && !im.o.Revive {
			out := Removal{Project: name}
			if _, err := b.remove(im.ctx, p, here, &Choice{Reason: "forgotten in the imported file"}, out); err != nil {
				return err
			}
			im.rep.Forgotten += len(here)
		}
	}
	commit, err := im.writeTombs(name, tombs, here)
	if err != nil || commit == nil {
		return err
	}
	return commit.Wait()
}

func (im *importer) writeTombs(name string, tombs []tombstone, removed []graph.ID) (store.Commit, error) {
	b := im.b
	b.write.Lock()
	defer b.write.Unlock()
	w := &batchWriter{im: im, names: map[string]store.Project{}, touched: map[store.Project][]string{}, tails: map[string][]string{}, states: map[stateKey]*store.State{}}
	p := w.project(name)
	n := 0
	for _, t := range tombs {
		if _, err := b.kv.Get(store.RecordKey(p, t.id)); err == nil {
			continue // revived, or a segment whose whole is kept
		} else if !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		_, err := b.kv.Get(store.TombstoneKey(p, t.id))
		if err == nil && !slices.Contains(removed, t.id) {
			continue
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		n++
		w.ops = append(w.ops,
			store.Op{Kind: store.Set, Key: store.TombstoneKey(p, t.id), Value: t.t.Encode()},
			store.Op{Kind: store.Set, Key: store.TailKey(p, t.id), Value: []byte{}})
	}
	if len(w.ops) == 0 {
		return nil, nil
	}
	commit, err := b.kv.Apply(w.ops)
	if err != nil {
		return nil, err
	}
	im.rep.Tombstones += n
	b.imported(w.names, nil)
	return commit, nil
}

// checkRow reads a row that is no memory, for a look beforehand.
func (im *importer) checkRow(typ string, line []byte) error {
	_, err := im.parseRow(typ, line)
	return err
}

// row writes a row that is no memory.
func (im *importer) row(typ, project string, line []byte) error {
	x, err := im.parseRow(typ, line)
	if err != nil {
		return err
	}
	p, ok := im.b.project(project)
	if !ok {
		return nil // none of its memories was taken in
	}
	ops, err := x.ops(im, p)
	if err != nil || len(ops) == 0 {
		return err
	}
	im.ops = append(im.ops, ops...)
	return im.rows(false)
}

// rows writes the collected rows where there are enough, or all.
func (im *importer) rows(all bool) error {
	if len(im.ops) == 0 || !all && len(im.ops) < importRows {
		return nil
	}
	commit, err := im.writeRows()
	if err != nil {
		return err
	}
	return commit.Wait()
}

func (im *importer) writeRows() (store.Commit, error) {
	b := im.b
	b.write.Lock()
	defer b.write.Unlock()
	commit, err := b.kv.Apply(im.ops)
	touched := map[store.Project][]string{}
	for _, op := range im.ops {
		touched[store.ProjectOf(op.Key)] = nil
	}
	im.ops = nil
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	for p := range touched {
		delete(b.shards, p)
	}
	b.mu.Unlock()
	return commit, nil
}

// rowOf makes the changes for a row, none where it has no place here.
type rowOf interface {
	ops(im *importer, p store.Project) ([]store.Op, error)
}

type (
	keyRow struct {
		key, request store.Digest
		memory       graph.ID
	}
	derivedRow struct {
		derivedKey
		value []byte
		basis []graph.ID
	}
	vectorRow struct {
		space string
		id    graph.ID
		chunk uint16
		value []byte
	}
)

func (im *importer) parseRow(typ string, line []byte) (rowOf, error) {
	fault := func(err error) (rowOf, error) { return nil, &lineError{err} }
	switch typ {
	case lineKey:
		var l keyLine
		if err := decodeLine(line, &l); err != nil {
			return nil, err
		}
		k, err1 := readDigestText("key", l.Key)
		q, err2 := readDigestText("request", l.Request)
		id, err3 := readIDText("memory", l.Memory)
		if err := errors.Join(err1, err2, err3); err != nil {
			return fault(err)
		}
		im.counts.Keys++
		return &keyRow{k, q, id}, nil
	case lineDerived:
		var l derivedLine
		if err := decodeLine(line, &l); err != nil {
			return nil, err
		}
		pass, d, v, err := l.row()
		if err != nil {
			return fault(err)
		}
		basis, err := derivedBasis(pass, d, v)
		if err != nil {
			return fault(err)
		}
		im.counts.Derived++
		return &derivedRow{derivedKey{pass, d}, v, basis}, nil
	}
	var l vectorLine
	if err := decodeLine(line, &l); err != nil {
		return nil, err
	}
	id, err := readIDText("id", l.ID)
	if err != nil {
		return fault(err)
	}
	hash, err1 := hex.DecodeString(l.TextHash)
	vec, err2 := base64.StdEncoding.DecodeString(l.Vector)
	if err1 != nil || err2 != nil || len(hash) != 8 || len(vec) == 0 || len(vec)%2 != 0 || l.Space == "" || len(l.Space) > maxField {
		return fault(errors.New("space, text_hash or vector: not what an export writes"))
	}
	v := append(hash, vec...)
	_, xs, err := store.DecodeVector(v)
	norm := 0.0
	for _, x := range xs {
		norm += float64(x) * float64(x)
	}
	if err != nil || math.Abs(norm-1) > 1e-2 {
		return fault(errors.New("vector: it has no length"))
	}
	im.counts.Vectors++
	return &vectorRow{l.Space, id, l.Chunk, v}, nil
}

func (im *importer) here(p store.Project, id graph.ID) (bool, error) {
	_, err := im.b.kv.Get(store.RecordKey(p, id))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (x *keyRow) ops(im *importer, p store.Project) ([]store.Op, error) {
	if ok, err := im.here(p, x.memory); !ok {
		return nil, err
	}
	k := store.IdemKey(p, x.key)
	if _, err := im.b.kv.Get(k); !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	im.rep.Keys++
	return []store.Op{{Kind: store.Set, Key: k, Value: append(bytes.Clone(x.memory[:]), x.request[:]...)}}, nil
}

// A derived row all of whose memories are here comes in; one that rests on a forgotten memory may quote it. A
// quote has to stand in its memory.
func (x *derivedRow) ops(im *importer, p store.Project) ([]store.Op, error) {
	k := store.DerivedKey(p, x.pass, x.key)
	if _, err := im.b.kv.Get(k); !errors.Is(err, store.ErrNotFound) {
		return nil, err // ours stays
	}
	content := map[graph.ID]string{}
	ops := []store.Op{{Kind: store.Set, Key: k, Value: x.value}}
	for _, id := range x.basis {
		r, _, err := im.b.get(p, id)
		if errors.Is(err, store.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		content[id] = r.Content
		ops = append(ops, store.Op{Kind: store.Set, Key: store.BasisKey(p, id, x.pass, x.key), Value: []byte{}})
	}
	if len(x.basis) > 0 {
		r, err := readDerived(x.value)
		if err != nil {
			return nil, err
		}
		for _, q := range r.Evidence {
			if c := content[q.Memory]; q.To > len(c) || c[q.From:q.To] != q.Text {
				return nil, lineErrorf("evidence: its words do not stand in the memory")
			}
		}
	}
	im.rep.Derived++
	return ops, nil
}

func (x *vectorRow) ops(im *importer, p store.Project) ([]store.Op, error) {
	if ok, err := im.here(p, x.id); !ok {
		return nil, err
	}
	m, err := im.b.modelNumber(x.space)
	if err != nil {
		return nil, err
	}
	k := store.VectorKey(p, m, x.id, x.chunk)
	if _, err := im.b.kv.Get(k); !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	im.rep.Vectors++
	return []store.Op{{Kind: store.Set, Key: k, Value: x.value}}, nil
}

// modelNumber is the number of a vector space, made where it is new.
func (b *Bank) modelNumber(space string) (uint32, error) {
	b.write.Lock()
	defer b.write.Unlock()
	b.mu.RLock()
	next := uint32(1)
	for m, name := range b.models {
		if name == space {
			b.mu.RUnlock()
			return m, nil
		}
		next = max(next, m+1)
	}
	b.mu.RUnlock()
	commit, err := b.kv.Apply([]store.Op{{Kind: store.Set, Key: store.ModelKey(next), Value: []byte(space)}})
	if err != nil {
		return 0, err
	}
	b.mu.Lock()
	b.models[next] = space
	b.mu.Unlock()
	return next, commit.Wait()
}
