package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// CheckReport is what the self-check found. A clean store has no Problems.
type CheckReport struct {
	Projects   int      `json:"projects"`
	Records    int      `json:"records"`
	Tombstones int      `json:"tombstones"`
	Vectors    int      `json:"vectors"`
	Derived    int      `json:"derived"`
	Problems   []string `json:"problems"`
}

// maxProblems bounds the list; a damaged store repeats itself.
const maxProblems = 100

// Check reads every row of the store and holds it against the layout of store/keys.go: each record decodes,
// has its analysis and its ref; no duplicate or derived row speaks of a memory that is not there; no
// forgotten one has a row left. It changes nothing.
func (b *Bank) Check(ctx context.Context) (CheckReport, error) {
	rep := CheckReport{Problems: []string{}}
	done, err := b.enter(ctx)
	if err != nil {
		return rep, err
	}
	defer done()
	b.write.Lock() // a write between two looks would be a false alarm
	defer b.write.Unlock()
	snap, err := b.kv.Snapshot()
	if err != nil {
		return rep, storageError("checking", err)
	}
	defer snap.Close()
	c := &checker{b: b, kv: snap, rep: &rep}
	for _, n := range b.projectNames() {
		if err := ctx.Err(); err != nil {
			return rep, err
		}
		p, _ := b.project(n)
		rep.Projects++
		if err := c.project(p); err != nil {
			return rep, storageError("checking", err)
		}
	}
	return rep, storageError("checking", c.rest(ctx))
}

type checker struct {
	b   *Bank
	kv  store.Reader
	rep *CheckReport
}

// rest reads every row of every space: those that no project's records lead to can be damaged as well.
func (c *checker) rest(ctx context.Context) error {
	n := 0
	lo, hi := store.ConfirmRange()
	for row, err := range c.kv.Scan(nil, nil) {
		if n++; err == nil && n%1024 == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if bytes.Compare(row.Key, lo) >= 0 && bytes.Compare(row.Key, hi) < 0 {
			if _, err := store.DecodePreview(row.Value); err != nil {
				c.problem("a preview of forget does not decode")
			}
		}
	}
	return nil
}

func (c *checker) problem(format string, args ...any) {
	if len(c.rep.Problems) < maxProblems {
		c.rep.Problems = append(c.rep.Problems, fmt.Sprintf(format, args...))
	}
}

// keys calls f for each id of a space of one project.
func (c *checker) keys(rng func(store.Project) ([]byte, []byte), p store.Project, f func(id graph.ID, row store.Row) error) error {
	lo, hi := rng(p)
	for row, err := range c.kv.Scan(lo, hi) {
		if err != nil {
			return err
		}
		if err := f(store.IDOf(row.Key), row); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) project(p store.Project) error {
	have := map[graph.ID]*store.Record{}
	gone := map[graph.ID]bool{}
	err := c.keys(store.RecordRange, p, func(id graph.ID, row store.Row) error {
		r, err := store.DecodeRecord(id, row.Value)
		if err != nil {
			c.problem("record %s does not decode", id)
			return nil
		}
		r.Content = ""
		have[id] = r
		c.rep.Records++
		return nil
	})
	if err != nil {
		return err
	}
	err = c.keys(store.TombstoneRange, p, func(id graph.ID, row store.Row) error {
		c.rep.Tombstones++
		gone[id] = true
		if _, err := store.DecodeTombstone(row.Value); err != nil {
			c.problem("tombstone %s does not decode", id)
		}
		if have[id] != nil {
			c.problem("%s is both stored and forgotten", id)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for id, r := range have {
		if err := c.record(p, id, r, have); err != nil {
			return err
		}
	}
	for _, sp := range []struct {
		name string
		rng  func(store.Project) ([]byte, []byte)
	}{{"state", store.StateRange}, {"analysis", store.AnalysisRange}} {
		if err := c.keys(sp.rng, p, func(id graph.ID, _ store.Row) error {
			if have[id] == nil {
				c.problem("%s row of %s, which is not stored", sp.name, id)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	if err := c.keys(store.TailsRange, p, func(id graph.ID, _ store.Row) error {
		if have[id] == nil && !gone[id] {
			c.problem("ref row of %s, which was never stored", id)
		}
		return nil
	}); err != nil {
		return err
	}
	lo, hi := store.HashRange(p)
	for row, err := range c.kv.Scan(lo, hi) {
		if err != nil {
			return err
		}
		if len(row.Value) != 16 || have[graph.ID(row.Value)] == nil {
			c.problem("a duplicate row points to a memory that is not stored")
		}
	}
	for _, m := range c.b.modelNumbers() {
		lo, hi := store.VectorRange(p, m)
		for row, err := range c.kv.Scan(lo, hi) {
			if err != nil {
				return err
			}
			c.rep.Vectors++
			id, _ := store.VectorID(row.Key)
			if have[id] == nil {
				c.problem("vector of %s, which is not stored", id)
			}
			if _, _, err := store.DecodeVector(row.Value); err != nil {
				c.problem("vector of %s does not decode", id)
			}
		}
	}
	for pass := store.PassEmbed; pass <= store.PassEpisode; pass++ {
		for _, rng := range []func(store.Pass) ([]byte, []byte){store.QueueRange, store.ParkedRange} {
			lo, hi := rng(pass)
			for row, err := range c.kv.Scan(lo, hi) {
				if err != nil {
					return err
				}
				if _, q, id := store.QueueOf(row.Key); q == p && have[id] == nil {
					c.problem("work owed to %s, which is not stored", id)
				}
			}
		}
	}
	lo, hi = store.BasisRange(p)
	for row, err := range c.kv.Scan(lo, hi) {
		if err != nil {
			return err
		}
		id := graph.ID(row.Key[5:21])
		if have[id] == nil {
			c.problem("a derived row rests on %s, which is not stored", id)
		}
	}
	lo, hi = store.DerivedRange(p)
	for row, err := range c.kv.Scan(lo, hi) {
		if err != nil {
			return err
		}
		c.rep.Derived++
		pass, _ := store.DerivedID(row.Key)
		if pass > store.PassEpisode {
			continue // of another shape
		}
		r, err := readDerived(row.Value)
		if err != nil {
			c.problem("a derived row of pass %d does not decode", pass)
		}
		for _, id := range r.Basis {
			if have[id] == nil {
				c.problem("a derived row of pass %d rests on %s, which is not stored", pass, id)
			}
		}
	}
	return nil
}

func (c *checker) record(p store.Project, id graph.ID, r *store.Record, have map[graph.ID]*store.Record) error {
	for _, k := range []struct {
		name string
		key  []byte
	}{{"analysis", store.AnalysisKey(p, id)}, {"ref", store.TailKey(p, id)}} {
		v, err := c.kv.Get(k.key)
		if errors.Is(err, store.ErrNotFound) {
			c.problem("record %s has no %s row", id, k.name)
			continue
		}
		if err != nil {
			return err
		}
		if k.name == "analysis" {
			if _, err := store.DecodeAnalysis(v); err != nil {
				c.problem("analysis of %s does not decode", id)
			}
		}
	}
	for _, s := range r.Segments {
		if x := have[s]; x == nil || x.PartOf != id {
			c.problem("record %s lacks its segment %s", id, s)
		}
	}
	if !r.PartOf.IsZero() {
		if w := have[r.PartOf]; w == nil || !slices.Contains(w.Segments, id) {
			c.problem("segment %s lacks its whole %s", id, r.PartOf)
		}
	}
	return nil
}
