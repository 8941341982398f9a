package memory

import (
	"errors"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// get reads a record and its state. A memory that is not here is store.ErrNotFound.
func (b *Bank) get(p store.Project, id graph.ID) (*store.Record, *store.State, error) {
	return getFrom(b.kv, p, id)
}

func getFrom(kv store.Reader, p store.Project, id graph.ID) (*store.Record, *store.State, error) {
	v, err := kv.Get(store.RecordKey(p, id))
	if err != nil {
		return nil, nil, err
	}
	r, err := store.DecodeRecord(id, v)
	if err != nil {
		return nil, nil, err
	}
	st := &store.State{}
	v, err = kv.Get(store.StateKey(p, id))
	switch {
	case err == nil:
		if st, err = store.DecodeState(v); err != nil {
			return nil, nil, err
		}
	case !errors.Is(err, store.ErrNotFound):
		return nil, nil, err
	}
	return r, st, nil
}

// stateOf is what happened to a memory after it was written: to a segment, also what happened to its whole.
func (b *Bank) stateOf(p store.Project, r *store.Record) (*store.State, error) {
	own, err := b.stateRow(p, r.ID)
	if err != nil || r.PartOf.IsZero() {
		return own, err
	}
	whole, err := b.stateRow(p, r.PartOf)
	if err != nil {
		return nil, err
	}
	return ofWhole(own, whole), nil
}

func (b *Bank) stateRow(p store.Project, id graph.ID) (*store.State, error) {
	v, err := b.kv.Get(store.StateKey(p, id))
	if errors.Is(err, store.ErrNotFound) {
		return &store.State{}, nil
	}
	if err != nil {
		return nil, err
	}
	return store.DecodeState(v)
}

// content is a memory's text; that of a whole is its segments' one after the other.
func (b *Bank) content(p store.Project, r *store.Record) (string, error) {
	if len(r.Segments) == 0 {
		return r.Content, nil
	}
	var sb strings.Builder
	for _, id := range r.Segments {
		s, _, err := b.get(p, id)
		if err != nil {
			return "", err
		}
		sb.WriteString(s.Content)
	}
	return sb.String(), nil
}

// analysisOf is the kept analysis of a record, made anew where it is missing or of an older version.
func (b *Bank) analysisOf(p store.Project, r *store.Record) *store.Analysis {
	if v, err := b.kv.Get(store.AnalysisKey(p, r.ID)); err == nil {
		if a, err := store.DecodeAnalysis(v); err == nil && a.Version == store.AnalysisVersion {
			return a
		}
	}
	return b.analyze(r)
}

// refLen is how many characters the ref of a new id takes: six, or more while an older id has that ending.
// batch holds the records that are written together with it.
func (b *Bank) refLen(p store.Project, id graph.ID, batch []*store.Record) (uint8, error) {
	s := id.String()
	lo, hi, _ := store.TailRange(p, s[20:])
	n := 6
	longer := func(o graph.ID) {
		t := o.String()
		for n < len(s) && strings.HasSuffix(t, s[len(s)-n:]) {
			n++
		}
	}
	for row, err := range b.kv.Scan(lo, hi) {
		if err != nil {
			return 0, err
		}
		longer(store.IDOf(row.Key))
	}
	for _, r := range batch {
		longer(r.ID)
	}
	if n == 6 {
		return 0, nil
	}
	return uint8(n), nil
}

// resolve finds the memory that an id or a ref names. Unknown is CodeNotFound; the id of a forgotten one
// resolves, so that forget can be asked again.
func (b *Bank) resolve(p store.Project, s string) (graph.ID, error) {
	s = strings.ToUpper(strings.Trim(strings.TrimSpace(s), "[]"))
	if len(s) == 26 {
		id, err := graph.ParseID(s)
		if err != nil {
			return id, Errorf(CodeInvalid, "%q is neither an id (26 characters) nor a ref (six or more); copy it from an answer", s)
		}
		for _, k := range [][]byte{store.RecordKey(p, id), store.TombstoneKey(p, id)} {
			if _, err := b.kv.Get(k); err == nil {
				return id, nil
			} else if !errors.Is(err, store.ErrNotFound) {
				return id, err
			}
		}
		return id, Errorf(CodeNotFound, "%s: no memory of this project has that id", s)
	}
	lo, hi, ok := store.TailRange(p, s)
	if !ok {
		return graph.Zero, Errorf(CodeInvalid, "%q is neither an id (26 characters) nor a ref (six or more); copy it from an answer", s)
	}
	var first graph.ID
	var others []graph.ID
	for row, err := range b.kv.Scan(lo, hi) {
		if err != nil {
			return first, err
		}
		if id := store.IDOf(row.Key); strings.HasSuffix(id.String(), s) {
			others = append(others, id)
			if first.IsZero() || id.Less(first) {
				first = id // the oldest of those that end so: a later one prints a longer ref
			}
		}
	}
	if len(others) > 1 { // but after a merge of two stores an older one may print the longer ref
		for _, id := range others {
			n, err := b.refLength(p, id)
			if err != nil {
				return first, err
			}
			if n == len(s) {
				return id, nil
			}
		}
	}
	if first.IsZero() {
		return first, Errorf(CodeNotFound, "%s: no memory of this project has that ref", s)
	}
	return first, nil
}

// resolveAll resolves a list of ids and refs that must all be here and not forgotten.
func (b *Bank) resolveAll(p store.Project, field string, list []string) ([]graph.ID, error) {
	var out []graph.ID
	for _, s := range list {
		if strings.TrimSpace(s) == "" {
			continue
		}
		id, err := b.resolve(p, s)
		if err != nil {
			if e := CodeOf(err); e == CodeNotFound || e == CodeInvalid {
				return nil, Errorf(e, "%s: %w; nothing was stored", field, err)
			}
			return nil, err
		}
		if _, err := b.kv.Get(store.RecordKey(p, id)); err != nil {
			if errors.Is(err, store.ErrNotFound) {
				return nil, Errorf(CodeNotFound, "%s: %s was forgotten; nothing was stored", field, s)
			}
			return nil, err
		}
		out = missing(nil, append(out, id))
	}
	return out, nil
}
