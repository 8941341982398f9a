package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// RepairReport says what a repair found, kept and lost.
type RepairReport struct {
	// Sound is set where there was nothing to repair; nothing was changed then.
	Sound bool `json:"sound"`
	// Kept is what the store holds now.
	Kept CheckReport `json:"kept"`
	// Lost counts rows that were there and made no sense, by what they were; Gaps are the damaged places, in
	// which an unknown number of rows may be lost besides, by what they lie among.
	Lost map[string]int `json:"lost,omitempty"`
	Gaps []string       `json:"gaps,omitempty"`
	// Loose counts segments of long texts that are memories of their own now, since their whole was not whole.
	Loose int `json:"loose,omitempty"`
	// Named are projects whose name was lost, with the name they got.
	Named []string `json:"named,omitempty"`
	// Aside is the folder in the data folder to which the damaged store was moved.
	Aside string `json:"aside,omitempty"`
}

// Repair salvages a damaged store in dir, which nobody may have open: every row that can be read goes into a
// new store, what can be made from others is made anew, and the new store, checked, takes the place of the
// damaged one, which is kept beside (RepairReport.Aside). A sound store is left alone.
//
// What was forgotten stays so as far as its tombstone can be read.
func Repair(ctx context.Context, dir string, o Options) (rep RepairReport, err error) {
	o = offline(o)
	if err := store.FinishSwap(dir, o.Pebble); err != nil {
		return rep, storageError("repairing", err)
	}
	if ok, err := store.HasStore(dir, o.Pebble); err != nil || !ok {
		return rep, storageError("repairing", errors.Join(err, Errorf(CodeNotFound, "there is no store in %s", dir)))
	}
	if check, err := checkFolder(ctx, dir, o); err == nil && len(check.Problems) == 0 {
		rep.Sound, rep.Kept = true, check
		return rep, nil
	} else if errors.Is(err, store.ErrNewerFormat) || errors.Is(err, store.ErrKey) || errors.Is(err, store.ErrLocked) || ctx.Err() != nil {
		return rep, storageError("repairing", err)
	}
	stamp := o.Now().UTC().Format(asideLayout)
	name, aside := "repaired-"+stamp, "damaged-"+stamp
	beside := o.Pebble.PathIn(dir, name)
	if err := repairInto(ctx, dir, beside, o, &rep); err != nil {
		return rep, storageError("repairing (the damaged store is as it was)", errors.Join(err, store.RemoveFolder(beside, o.Pebble)))
	}
	if err := store.Swap(dir, name, aside, o.Pebble); err != nil {
		return rep, storageError("putting the repaired store in place", err)
	}
	rep.Aside = o.Pebble.PathIn(dir, aside)
	return rep, nil
}

// repairInto makes the new store. What can be read is carried over as it is first, in one pass, since finding
// the end of a damaged place takes a second; sense is made of it afterwards.
func repairInto(ctx context.Context, dir, beside string, o Options, rep *RepairReport) error {
	p, q, raw := o.Pebble, o.Pebble, beside+"-raw"
	p.Salvage, p.OnFault = true, nil
	q.ReadOnly, q.Salvage, q.OnFault = false, false, nil
	from, err := store.OpenPebble(dir, p)
	if err != nil {
		return err
	}
	mid, err := store.OpenPebble(raw, q)
	if err != nil {
		return errors.Join(err, from.Close())
	}
	s := &salvage{ctx: ctx, from: from, to: mid, rep: rep, projects: map[store.Project]string{}, gone: map[salvageKey]bool{}, have: map[salvageKey]*salvaged{}, models: map[uint32]bool{}}
	rep.Lost = map[string]int{}
	err = s.carry()
	if err = errors.Join(err, from.Close()); err == nil {
		s.from = mid
		if s.to, err = store.OpenPebble(beside, q); err == nil {
			err = errors.Join(s.run(), s.to.Close())
		}
	}
	if err = errors.Join(err, mid.Close(), store.RemoveFolder(raw, q)); err != nil {
		return err
	}
	if len(s.have) == 0 && len(s.gone) == 0 && len(rep.Gaps) > 0 {
		return Errorf(CodeStorage, "no memory can be read in it; restore a backup")
	}
	// The rest is made anew by the code that makes it otherwise.
	o.KV, o.Pebble, o.Paused = nil, q, true
	b, err := Open(beside, o)
	if err != nil {
		return err
	}
	if len(rep.Gaps) > 0 { // what was owed may be lost with the rest
		err = b.oweAll(ctx)
	}
	if err == nil {
		err = b.Rebuild(ctx, nil)
	}
	if err == nil {
		rep.Kept, err = b.Check(ctx)
	}
	if err == nil && len(rep.Kept.Problems) > 0 {
		err = Errorf(CodeStorage, "what was salvaged is not sound (%s); restore a backup", rep.Kept.Problems[0])
	}
	return errors.Join(err, b.Close())
}

// oweAll owes every memory to the background passes again; what is done already they find done.
func (b *Bank) oweAll(ctx context.Context) error {
	for _, name := range b.projectNames() {
		p, _ := b.project(name)
		var ops []store.Op
		lo, hi := store.RecordRange(p)
		for row, err := range b.kv.Scan(lo, hi) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return err
			}
			r, err := store.DecodeRecord(store.IDOf(row.Key), row.Value)
			if err != nil {
				return err
			}
			ops, _ = b.enqueue(ops, p, []*store.Record{r})
			if len(ops) >= importRows {
				if _, err := b.kv.Apply(ops); err != nil {
					return err
				}
				ops = nil
			}
		}
		c, err := b.kv.Apply(ops)
		if err != nil {
			return err
		}
		if err := c.Wait(); err != nil {
			return err
		}
	}
	return nil
}

type salvageKey struct {
	p  store.Project
	id graph.ID
}

// salvaged is what the second pass has to know of a record.
type salvaged struct {
	partOf   graph.ID
	segments []graph.ID
}

// salvage carries rows over. What it knows of each record fits in a hundred bytes, so a million fit in memory.
type salvage struct {
	ctx      context.Context
	from, to store.KV
	rep      *RepairReport
	ops      []store.Op
	size     int

	projects map[store.Project]string
	models   map[uint32]bool
	gone     map[salvageKey]bool
	have     map[salvageKey]*salvaged
}

// carry copies every row that can be read.
func (s *salvage) carry() error {
	v, ok := s.from.(store.Salvager)
	if !ok {
		return Errorf(CodeInvalid, "repair: this storage backend has a way of its own")
	}
	n := 0
	gaps, err := v.Salvage(nil, nil, func(key, value []byte) error {
		if n++; n%1024 == 0 {
			if err := s.ctx.Err(); err != nil {
				return err
			}
		}
		return s.put(bytes.Clone(key), bytes.Clone(value))
	})
	for _, g := range gaps {
		if len(s.rep.Gaps) < maxProblems {
			s.rep.Gaps = append(s.rep.Gaps, store.SpacesIn(g))
		}
	}
	return errors.Join(err, s.flush())
}

// each calls f for every row of a range. The row is f's.
func (s *salvage) each(lo, hi []byte, f func(key, value []byte) error) error {
	n := 0
	for row, err := range s.from.Scan(lo, hi) {
		if err != nil {
			return err
		}
		if n++; n%1024 == 0 {
			if err := s.ctx.Err(); err != nil {
				return err
			}
		}
		if err := f(row.Key, row.Value); err != nil {
			return err
		}
	}
	return nil
}

func (s *salvage) put(key, value []byte) error {
	s.ops = append(s.ops, store.Op{Kind: store.Set, Key: key, Value: value})
	if s.size += len(key) + len(value); s.size < 1<<20 {
		return nil
	}
	return s.flush()
}

func (s *salvage) flush() error {
	if len(s.ops) == 0 {
		return nil
	}
	c, err := s.to.Apply(s.ops)
	s.ops, s.size = nil, 0
	if err != nil {
		return err
	}
	return c.Wait()
}

func (s *salvage) run() error {
	if err := s.put(store.SettingKey("format"), []byte(strconv.Itoa(store.Format))); err != nil {
		return err
	}
	for _, f := range []func() error{s.tables, s.graves, s.survey, s.records, s.rows, s.name, s.flush} {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// tables reads projects and vector spaces.
func (s *salvage) tables() error {
	lo, hi := store.ProjectsRange()
	if err := s.each(lo, hi, func(k, v []byte) error {
		if len(k) != 5 {
			return nil
		}
		name, err := CanonicalProject(string(v), "", false)
		if err != nil || name != string(v) || name == "" {
			s.rep.Lost["project names"]++
			return nil
		}
		s.projects[store.ProjectOf(k)] = name
		return nil
	}); err != nil {
		return err
	}
	lo, hi = store.ModelsRange()
	return s.each(lo, hi, func(k, v []byte) error {
		if len(k) == 5 && len(v) > 0 {
			s.models[store.ModelOf(k)] = true
			return s.put(k, v)
		}
		return nil
	})
}

// all is the range of one space over all projects.
func all(rng func(store.Project) ([]byte, []byte)) (lo, hi []byte) {
	lo, _ = rng(0)
	_, hi = rng(1<<32 - 1)
	return lo, hi
}

// idKey is the project and the id of a key that is made of both.
func idKey(k []byte) (salvageKey, bool) {
	if len(k) != 21 {
		return salvageKey{}, false
	}
	return salvageKey{store.ProjectOf(k), store.IDOf(k)}, true
}

func (s *salvage) graves() error {
	lo, hi := all(store.TombstoneRange)
	return s.each(lo, hi, func(k, v []byte) error {
		id, ok := idKey(k)
		if !ok {
			return nil
		}
		s.gone[id] = true // even where it does not say when
		if _, err := store.DecodeTombstone(v); err != nil {
			s.rep.Lost["tombstones' dates"]++
			v = (&store.Tombstone{}).Encode()
		}
		return s.put(k, v)
	})
}

// survey reads which records there are.
func (s *salvage) survey() error {
	lo, hi := all(store.RecordRange)
	return s.each(lo, hi, func(k, v []byte) error {
		id, ok := idKey(k)
		if !ok || s.gone[id] {
			return nil
		}
		r, err := store.DecodeRecord(id.id, v)
		if err != nil {
			s.rep.Lost["memories"]++
			return nil
		}
		s.have[id] = &salvaged{r.PartOf, r.Segments}
		return nil
	})
}

// whole reports whether a memory has all its segments.
func (s *salvage) whole(p store.Project, id graph.ID) bool {
	w := s.have[salvageKey{p, id}]
	if w == nil || len(w.segments) == 0 {
		return false
	}
	for _, x := range w.segments {
		if seg := s.have[salvageKey{p, x}]; seg == nil || seg.partOf != id {
			return false
		}
	}
	return true
}

func (s *salvage) records() error {
	lo, hi := all(store.RecordRange)
	if err := s.each(lo, hi, func(k, v []byte) error {
		id, ok := idKey(k)
		if !ok || s.have[id] == nil {
			return nil
		}
		r, err := store.DecodeRecord(id.id, v)
		if err != nil {
			return nil // counted
		}
		switch {
		case len(r.Segments) > 0 && !s.whole(id.p, id.id):
			s.rep.Lost["wholes of long texts"]++ // what there is of its segments stays, below
			return nil
		case !r.PartOf.IsZero():
			if w := s.have[salvageKey{id.p, r.PartOf}]; w == nil || !slices.Contains(w.segments, r.ID) || !s.whole(id.p, r.PartOf) {
				s.rep.Loose++
				r.PartOf = graph.Zero
				v = r.Encode()
			}
		}
		return s.put(k, v)
	}); err != nil {
		return err
	}
	for id, x := range s.have {
		if len(x.segments) > 0 && !s.whole(id.p, id.id) {
			x.segments, x.partOf = nil, graph.Zero
			delete(s.have, id)
		}
	}
	return nil
}

// rows carries over what belongs to records that are there.
func (s *salvage) rows() error {
	lo, hi := all(store.StateRange)
	if err := s.each(lo, hi, func(k, v []byte) error {
		if id, ok := idKey(k); !ok || s.have[id] == nil {
			return nil
		}
		if _, err := store.DecodeState(v); err != nil {
			s.rep.Lost["states"]++
			return nil
		}
		return s.put(k, v)
	}); err != nil {
		return err
	}
	lo, hi = all(store.IdemRange)
	if err := s.each(lo, hi, func(k, v []byte) error {
		if len(k) != 21 || len(v) != 32 {
			return nil
		}
		p, id := store.ProjectOf(k), graph.ID(v[:16])
		if s.have[salvageKey{p, id}] == nil && !s.gone[salvageKey{p, id}] {
			return nil
		}
		return s.put(k, v)
	}); err != nil {
		return err
	}
	for pass := store.PassEmbed; pass <= store.PassUser; pass++ {
		for _, rng := range []func(store.Pass) ([]byte, []byte){store.QueueRange, store.ParkedRange} {
			lo, hi := rng(pass)
			if err := s.each(lo, hi, func(k, v []byte) error {
				if len(k) != 22 {
					return nil
				}
				_, p, id := store.QueueOf(k)
				if s.have[salvageKey{p, id}] == nil {
					return nil
				}
				if _, err := store.DecodeJob(v); err != nil {
					v = (&store.Job{}).Encode()
				}
				return s.put(k, v)
			}); err != nil {
				return err
			}
		}
	}
	if err := s.derived(); err != nil {
		return err
	}
	for m := range s.models {
		for p := range s.found() {
			lo, hi := store.VectorRange(p, m)
			if err := s.each(lo, hi, func(k, v []byte) error {
				if len(k) != 27 {
					return nil
				}
				if id, _ := store.VectorID(k); s.have[salvageKey{p, id}] == nil {
					return nil
				}
				if _, _, err := store.DecodeVector(v); err != nil {
					s.rep.Lost["vectors"]++
					return nil
				}
				return s.put(k, v)
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// derived carries over derived rows that rest on nothing that is lost: another may quote what was forgotten.
func (s *salvage) derived() error {
	lo, hi := all(store.DerivedRange)
	return s.each(lo, hi, func(k, v []byte) error {
		if len(k) != 22 {
			return nil
		}
		p := store.ProjectOf(k)
		pass, d := store.DerivedID(k)
		basis, err := derivedBasis(pass, d, v)
		if err != nil || slices.ContainsFunc(basis, func(id graph.ID) bool { return s.have[salvageKey{p, id}] == nil }) {
			s.rep.Lost["derived rows"]++
			return nil
		}
		for _, id := range basis {
			if err := s.put(store.BasisKey(p, id, pass, d), []byte{}); err != nil {
				return err
			}
		}
		return s.put(k, v)
	})
}

// found is the projects that have something.
func (s *salvage) found() map[store.Project]bool {
	out := map[store.Project]bool{}
	for id := range s.have {
		out[id.p] = true
	}
	for id := range s.gone {
		out[id.p] = true
	}
	return out
}

// name writes the project table; projects whose name is lost get one.
func (s *salvage) name() error {
	taken := map[string]bool{}
	for _, n := range s.projects {
		taken[n] = true
	}
	var nameless []store.Project
	for p := range s.found() {
		if _, ok := s.projects[p]; !ok && p != 0 {
			nameless = append(nameless, p)
		}
	}
	slices.Sort(nameless)
	for _, p := range nameless {
		n := fmt.Sprintf("recovered-%d", p)
		for taken[n] {
			n += "-again"
		}
		taken[n] = true
		s.projects[p] = n
		s.rep.Named = append(s.rep.Named, n)
	}
	for p, n := range s.projects {
		if err := s.put(store.ProjectKey(p), []byte(n)); err != nil {
			return err
		}
	}
	return nil
}
