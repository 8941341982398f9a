package memory

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
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

// identityFrom is the digest under which a memory's duplicates are found.
func identityFrom(records []*store.Record, analyses []*store.Analysis) store.Digest {
	var text strings.Builder
	for _, r := range records {
		text.WriteString(r.Content)
	}
	return identity(records[0], text.String(), analyses)
}
