package memory

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// ExportOptions say what an export holds. The zero value is everything but vectors, which are made again.
type ExportOptions struct {
	Projects []string // nil: all
	Vectors  bool
	// Progress hears of every few lines written; nil for nobody.
	Progress func(done, total int)
}

// ExportReport says what was written.
type ExportReport struct {
	Projects []string `json:"projects"`
	ExportCounts
	// Damaged counts rows that do not decode and are not in the file: run repair.
	Damaged int `json:"damaged,omitempty"`
}

// Export writes the memories as they are now as JSON lines (see ExportFormat) to w. It holds one row at a
// time. The same memories give the same bytes, in whatever store they lie. A purge that is asked for
// meanwhile waits for its end.
func (b *Bank) Export(ctx context.Context, w io.Writer, o ExportOptions) (ExportReport, error) {
	var rep ExportReport
	done, err := b.enter(ctx)
	if err != nil {
		return rep, err
	}
	defer done()
	if rep.Projects, err = b.exported(o.Projects); err != nil {
		return rep, err
	}
	snap, err := b.kv.Snapshot()
	if err != nil {
		return rep, storageError("exporting", err)
	}
	defer snap.Close()
	buf := bufio.NewWriterSize(w, 1<<16)
	x := &exporter{b: b, ctx: ctx, kv: snap, o: &o, rep: &rep, w: buf, enc: json.NewEncoder(buf)}
	x.enc.SetEscapeHTML(false)
	if err = x.run(); err == nil {
		err = buf.Flush()
	}
	return rep, storageError("exporting", err)
}

// exported is the projects of an export, by name.
func (b *Bank) exported(asked []string) ([]string, error) {
	if asked == nil {
		return b.projectNames(), nil
	}
	out := []string{}
	for _, n := range asked {
		name, err := CanonicalProject(n, b.o.DefaultProject, false)
		if err != nil {
			return nil, err
		}
		if _, ok := b.project(name); ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// exporter writes one export. enc is nil while it counts.
type exporter struct {
	b     *Bank
	ctx   context.Context
	kv    store.Snapshot
	o     *ExportOptions
	rep   *ExportReport
	w     *bufio.Writer
	enc   *json.Encoder
	total int
	lines int
}

func (x *exporter) run() error {
	// Counting first costs a second read of the rows and lets the reader of the file know that it is whole.
	enc := x.enc
	x.enc = nil
	if err := x.projects(); err != nil {
		return err
	}
	counts := x.rep.ExportCounts
	x.total = counts.total()
	x.rep.ExportCounts, x.rep.Damaged, x.lines, x.enc = ExportCounts{}, 0, 0, enc
	if err := x.enc.Encode(exportHeader{Type: lineHeader, Format: ExportFormat, Projects: x.rep.Projects, Counts: counts}); err != nil {
		return err
	}
	if err := x.projects(); err != nil {
		return err
	}
	if x.o.Progress != nil {
		x.o.Progress(x.lines, x.total)
	}
	return nil
}

func (x *exporter) projects() error {
	for _, name := range x.rep.Projects {
		p, ok := x.b.project(name)
		if !ok {
			continue
		}
		for _, f := range []func(store.Project, string) error{x.memories, x.tombstones, x.keys, x.derived, x.vectors} {
			if err := f(p, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// progressLines is how many lines go by between two calls of Progress.
const progressLines = 1024

func (x *exporter) put(n *int, line func() any) error {
	*n++
	x.lines++
	if x.lines%progressLines == 0 {
		if err := x.ctx.Err(); err != nil {
			return err
		}
		if x.enc != nil && x.o.Progress != nil {
			x.o.Progress(x.lines, x.total)
		}
	}
	if x.enc == nil {
		return nil
	}
	return x.enc.Encode(line())
}

func (x *exporter) scan(lo, hi []byte, f func(row store.Row) error) error {
	for row, err := range x.kv.Scan(lo, hi) {
		if err != nil {
			return err
		}
		if err := f(row); err != nil {
			return err
		}
	}
	return nil
}

// memories writes each memory, a whole before its segments. A segment whose whole is not there, in a damaged
// store, comes by itself.
func (x *exporter) memories(p store.Project, name string) error {
	lo, hi := store.RecordRange(p)
	return x.scan(lo, hi, func(row store.Row) error {
		r, err := store.DecodeRecord(store.IDOf(row.Key), row.Value)
		if err != nil {
			x.rep.Damaged++
			return nil
		}
		if !r.PartOf.IsZero() {
			whole, err := x.record(p, r.PartOf)
			if err != nil {
				return err
			}
			if whole != nil && slices.Contains(whole.Segments, r.ID) {
				return nil // written after it
			}
		}
		if err := x.memory(p, name, r); err != nil {
			return err
		}
		for _, id := range r.Segments {
			s, err := x.record(p, id)
			if err != nil {
				return err
			}
			if s != nil && s.PartOf == r.ID {
				if err := x.memory(p, name, s); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// record reads one record; nil where it is not there or does not decode.
func (x *exporter) record(p store.Project, id graph.ID) (*store.Record, error) {
	v, err := x.kv.Get(store.RecordKey(p, id))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r, err := store.DecodeRecord(id, v)
	if err != nil {
		return nil, nil // counted where the scan meets it
	}
	return r, nil
}

func (x *exporter) memory(p store.Project, name string, r *store.Record) error {
	if x.enc == nil {
		return x.put(&x.rep.Memories, nil)
	}
	st := &store.State{}
	v, err := x.kv.Get(store.StateKey(p, r.ID))
	if err == nil {
		if st, err = store.DecodeState(v); err != nil {
			st = &store.State{}
			x.rep.Damaged++
		}
	} else if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return x.put(&x.rep.Memories, func() any { return lineOf(name, r, st) })
}

func (x *exporter) tombstones(p store.Project, name string) error {
	lo, hi := store.TombstoneRange(p)
	return x.scan(lo, hi, func(row store.Row) error {
		t, err := store.DecodeTombstone(row.Value)
		if err != nil {
			x.rep.Damaged++
			return nil
		}
		return x.put(&x.rep.Tombstones, func() any {
			return tombstoneLine{Type: lineTombstone, Project: name, ID: store.IDOf(row.Key).String(), At: stampText(t.At), Purged: t.Purged, Reason: t.Reason, RefLength: t.RefLen}
		})
	})
}

// keys writes the idempotency keys of memories that are there: the digest of a forgotten one's text would
// tell whoever guesses it that it was there.
func (x *exporter) keys(p store.Project, name string) error {
	lo, hi := store.IdemRange(p)
	return x.scan(lo, hi, func(row store.Row) error {
		if len(row.Value) != 32 {
			x.rep.Damaged++
			return nil
		}
		id := graph.ID(row.Value[:16])
		if r, err := x.record(p, id); err != nil || r == nil {
			return err
		}
		return x.put(&x.rep.Keys, func() any {
			return keyLine{Type: lineKey, Project: name, Key: digestText(row.Key[5:]), Request: digestText(row.Value[16:]), Memory: id.String()}
		})
	})
}

func (x *exporter) derived(p store.Project, name string) error {
	lo, hi := store.DerivedRange(p)
	return x.scan(lo, hi, func(row store.Row) error {
		pass, d := store.DerivedID(row.Key)
		if _, err := derivedBasis(pass, d, row.Value); err != nil {
			x.rep.Damaged++
			return nil
		}
		return x.put(&x.rep.Derived, func() any { return derivedOf(name, pass, d, row.Value) })
	})
}

// vectors writes the vectors by the names of their spaces, whose numbers differ between stores.
func (x *exporter) vectors(p store.Project, name string) error {
	if !x.o.Vectors {
		return nil
	}
	spaces := map[string]uint32{}
	var names []string
	lo, hi := store.ModelsRange()
	if err := x.scan(lo, hi, func(row store.Row) error {
		spaces[string(row.Value)] = store.ModelOf(row.Key)
		names = append(names, string(row.Value))
		return nil
	}); err != nil {
		return err
	}
	slices.Sort(names)
	for _, space := range slices.Compact(names) {
		lo, hi := store.VectorRange(p, spaces[space])
		if err := x.scan(lo, hi, func(row store.Row) error {
			if len(row.Value) < 8 || len(row.Value)%2 != 0 {
				x.rep.Damaged++
				return nil
			}
			id, chunk := store.VectorID(row.Key)
			return x.put(&x.rep.Vectors, func() any {
				return vectorLine{Type: lineVector, Project: name, Space: space, ID: id.String(), Chunk: chunk,
					TextHash: fmt.Sprintf("%x", row.Value[:8]), Vector: base64.StdEncoding.EncodeToString(row.Value[8:])}
			})
		}); err != nil {
			return err
		}
	}
	return nil
}
