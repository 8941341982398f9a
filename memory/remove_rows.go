package memory

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// Which rows go with a memory.

// dropHashes adds the deletions of the duplicate rows of what goes. A row that another memory has taken over, told
// again after the first was superseded, stays. The rows were made from the kept analyses, whatever their version.
func (g *removing) dropHashes(ops []store.Op, list []leaving) ([]store.Op, error) {
	var keys [][]byte
	for _, l := range list {
		if l.parts[0].Given != "" {
			continue // its identity needs no analysis
		}
		for _, r := range l.parts {
			keys = append(keys, store.AnalysisKey(g.project, r.ID))
		}
	}
	rows, err := values(g.b.kv, keys)
	if err != nil {
		return nil, err
	}
	hashes := make([][]byte, len(list))
	for i, l := range list {
		var analyses []*store.Analysis
		if l.parts[0].Given == "" {
			for j, r := range l.parts {
				a, err := store.DecodeAnalysis(rows[j])
				if err != nil || rows[j] == nil {
					a = g.b.analyze(r)
				}
				analyses = append(analyses, a)
			}
			rows = rows[len(l.parts):]
		}
		hashes[i] = store.HashKey(g.project, identity(l.parts[0], l.text, analyses))
	}
	if rows, err = values(g.b.kv, hashes); err != nil {
		return nil, err
	}
	for i, v := range rows {
		if id := list[i].parts[0].ID; v != nil && (len(v) != len(id) || graph.ID(v) == id) {
			ops = append(ops, store.Op{Kind: store.Delete, Key: hashes[i]})
		}
	}
	g.hashes = append(g.hashes, hashes...)
	return ops, nil
}

// purgedTombstones marks the tombstones of what was forgotten before as purged; their reasons go.
func (g *removing) purgedTombstones(ops []store.Op, ids []graph.ID, now store.Stamp) ([]store.Op, error) {
	keys := make([][]byte, len(ids))
	for i, id := range ids {
		keys[i] = store.TombstoneKey(g.project, id)
	}
	rows, err := values(g.b.kv, keys)
	if err != nil {
		return nil, err
	}
	for i, v := range rows {
		t := &store.Tombstone{At: now}
		if v != nil {
			if t, err = store.DecodeTombstone(v); err != nil {
				return nil, err
			}
		}
		t.Purged, t.Reason = true, ""
		ops = append(ops, store.Op{Kind: store.Set, Key: keys[i], Value: t.Encode()})
	}
	return ops, nil
}

// identity is the digest under which a record's duplicates are found: not given is the same as not given, if the
// resolved times agree too. analyses are those of the record and its segments; they count where no time was given.
func identity(r *store.Record, text string, analyses []*store.Analysis) store.Digest {
	given := "=" + r.Given
	if r.Given == "" {
		given = ""
		for _, a := range analyses {
			for _, t := range a.Times {
				given += fmt.Sprintf(";%d-%d", t.Start.Sec, t.End.Sec)
			}
		}
	}
	return store.Sum(text, r.Speaker, r.Session, r.Source, given)
}

// run is memories that follow one another in a project, with none between them that stays: from lo to hi.
type run struct{ lo, hi graph.ID }

// shortRun is how few memories are deleted key by key: a range that is deleted costs every read near it a little
// until it is compacted, and saves rewriting the tables it covers.
const shortRun = 16

// runs parts what goes into runs. Where much stays between them it stops looking, and each is a run by itself.
func (g *removing) runs(gone []graph.ID) ([]run, error) {
	ids := slices.SortedFunc(slices.Values(gone), compareIDs)
	lo, hi := store.RecordKey(g.project, ids[0]), store.At(store.RecordKey(g.project, ids[len(ids)-1])).Hi
	var out []run
	next, first, seen := 0, 0, 0 // ids[first:next] is the run that is open
	end := func() {
		if next-first >= shortRun {
			out = append(out, run{ids[first], ids[next-1]})
		} else {
			for _, id := range ids[first:next] {
				out = append(out, run{id, id})
			}
		}
		first = next
	}
	err := visit(g.b.kv, lo, hi, func(key, _ []byte) error {
		if seen++; seen > 2*len(ids)+shortRun {
			return errTooMuch
		}
		if next < len(ids) && ids[next] == store.IDOf(key) {
			next++
		} else {
			end()
		}
		return nil
	})
	if err != nil && !errors.Is(err, errTooMuch) {
		return nil, err
	}
	end()
	for _, id := range ids[next:] {
		out = append(out, run{id, id})
	}
	return out, nil
}

// span is the keys of a run under a key of its ids.
func (r run) span(key func(graph.ID) []byte) store.Span {
	return store.Span{Lo: key(r.lo), Hi: store.Prefix(key(r.hi))}
}

// rowsOf is the rows that lie under ids: what every memory has, and what some have. Vectors and queues are told
// apart, since they are counted.
func (b *Bank) rowsOf(p store.Project, runs []run) (own, owed, vectors []store.Span) {
	for _, r := range runs {
		for _, key := range []func(store.Project, graph.ID) []byte{store.RecordKey, store.AnalysisKey, store.StateKey} {
			own = append(own, r.span(func(id graph.ID) []byte { return key(p, id) }))
		}
		for pass := store.PassEmbed; pass <= store.PassEpisode; pass++ {
			for _, key := range []func(store.Pass, store.Project, graph.ID) []byte{store.QueueKey, store.ParkedKey} {
				owed = append(owed, r.span(func(id graph.ID) []byte { return key(pass, p, id) }))
			}
		}
	}
	for _, m := range b.modelNumbers() {
		for _, r := range runs {
			vectors = append(vectors, r.span(func(id graph.ID) []byte { lo, _ := store.VectorsOf(p, m, id); return lo }))
		}
	}
	return own, owed, vectors
}

// dropRows adds the deletions of the rows that lie under the ids that go: of a run, as one range.
func (g *removing) dropRows(ops []store.Op, gone []graph.ID) ([]store.Op, error) {
	if len(gone) == 0 {
		return ops, nil
	}
	runs, err := g.runs(gone)
	if err != nil {
		return nil, err
	}
	own, owed, vectors := g.b.rowsOf(g.project, runs)
	for _, l := range []struct {
		spans []store.Span
		each  int // spans of a run that follow one another
		count *int
	}{{own, len(own) / len(runs), new(int)}, {owed, len(owed) / len(runs), &g.out.Removed.Queue}, {vectors, 1, &g.out.Removed.Vectors}} {
		whole := make([]bool, len(l.spans)) // deleted as a range already
		err := sweep(g.b.kv, l.spans, func(i int, key, _ []byte) error {
			*l.count++
			switch r := runs[i/l.each%len(runs)]; {
			case r.lo == r.hi:
				ops = append(ops, store.Op{Kind: store.Delete, Key: bytes.Clone(key)})
			case !whole[i]:
				whole[i] = true
				ops = append(ops, store.Op{Kind: store.DeleteRange, Key: l.spans[i].Lo, Value: l.spans[i].Hi})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return ops, nil
}
