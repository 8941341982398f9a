package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/consolidate"
	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// backlog is a Bank's store as the consolidation worker sees it (consolidate.Store).
type backlog struct {
	b      *Bank
	floors floors

	mu     sync.Mutex // guards what is below; held over nothing that waits
	spaces map[uint32]space
	flags  map[string]spaceFlag
}

// apply changes rows in one batch; the caller holds the writer's lock. Nobody waits for its sync, since work
// that a crash undoes is owed again.
func (l *backlog) apply(ops []store.Op) error {
	if len(ops) == 0 {
		return nil
	}
	if y, ok := l.b.kv.(store.Syncer); ok {
		return y.ApplyUnsynced(ops)
	}
	_, err := l.b.kv.Apply(ops)
	return err
}

func (l *backlog) has(key []byte) (bool, error) {
	_, err := l.b.kv.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// stored reports whether a memory is there.
func (l *backlog) stored(p store.Project, id graph.ID) (bool, error) {
	if s := l.b.loaded(p); s != nil {
		s.RLock()
		defer s.RUnlock()
		_, ok := s.Find(id)
		return ok, nil
	}
	return l.has(store.RecordKey(p, id))
}

// Due reads the queue of a pass in the order of its keys: by project, then by memory.
func (l *backlog) Due(pass consolidate.Pass, now time.Time, after consolidate.Job, limit int) ([]consolidate.Job, error) {
	q := store.Pass(pass)
	lo, hi := store.QueueRange(q)
	floor, gen := l.floors.from(q)
	first := true
	if p, ok := l.b.project(after.Project); ok && after.Project != "" {
		lo, first = append(store.QueueKey(q, p, after.Memory), 0), false
	} else if floor != nil {
		lo = floor
	}
	var out []consolidate.Job
	for row, err := range l.b.kv.Scan(lo, hi) {
		if err != nil {
			return nil, err
		}
		if first {
			l.floors.raise(q, row.Key, gen)
			first = false
		}
		j, err := store.DecodeJob(row.Value)
		if err != nil {
			return nil, err
		}
		if j.NotBefore > now.Unix() {
			continue
		}
		if len(out) == limit {
			return out, nil
		}
		_, p, id := store.QueueOf(row.Key)
		job := consolidate.Job{Pass: pass, Project: l.b.projectName(p), Memory: id, Tries: int(j.Tries), Reason: j.Reason}
		if j.NotBefore != 0 {
			job.NotBefore = time.Unix(j.NotBefore, 0).UTC()
		}
		out = append(out, job)
	}
	if first {
		l.floors.raise(q, hi, gen)
	}
	return out, nil
}

func jobRow(j consolidate.Job) []byte {
	row := store.Job{Tries: uint32(j.Tries), Reason: j.Reason}
	if !j.NotBefore.IsZero() {
		row.NotBefore = int64(math.Ceil(float64(j.NotBefore.UnixMilli()) / 1000)) // never early
	}
	return row.Encode()
}

// settlement is an Outcome on its way into the store.
type settlement struct {
	l       *backlog
	ops     []store.Op
	staged  map[string]bool // keys of the queue that this batch sets (true) or deletes
	vectors map[store.Project][]consolidate.Vector
	space   uint32
	project store.Project
	dropped []consolidate.Derived
	rows    []consolidate.Derived
}

// Settle commits an outcome in one batch, and brings the indexes in memory up to it.
func (l *backlog) Settle(o consolidate.Outcome) error {
	s := &settlement{l: l, staged: map[string]bool{}}
	if err := s.replaced(&o); err != nil { // before the lock: nobody else writes vectors, and reading takes its time
		return err
	}
	l.b.write.Lock()
	defer l.b.write.Unlock()
	for _, step := range []func(*consolidate.Outcome) error{s.jobs, s.embedded, s.derived} {
		if err := step(&o); err != nil {
			return err
		}
	}
	if err := l.apply(s.ops); err != nil {
		return err
	}
	l.floors.lower()
	s.applied()
	return nil
}

func (s *settlement) set(k, v []byte) {
	s.ops = append(s.ops, store.Op{Kind: store.Set, Key: k, Value: v})
}
func (s *settlement) del(k []byte) {
	s.ops = append(s.ops, store.Op{Kind: store.Delete, Key: k})
}

func (s *settlement) has(k []byte) (bool, error) {
	if v, ok := s.staged[string(k)]; ok {
		return v, nil
	}
	return s.l.has(k)
}

func (s *settlement) jobs(o *consolidate.Outcome) error {
	keys := func(j *consolidate.Job) (queue, parked []byte, ok bool) {
		p, ok := s.l.b.project(j.Project)
		return store.QueueKey(store.Pass(j.Pass), p, j.Memory), store.ParkedKey(store.Pass(j.Pass), p, j.Memory), ok
	}
	drop := func(k []byte) {
		s.staged[string(k)] = false
		s.del(k)
	}
	put := func(k []byte, j *consolidate.Job) {
		s.staged[string(k)] = true
		s.set(k, jobRow(*j))
	}
	for i := range o.Done {
		if k, _, ok := keys(&o.Done[i]); ok {
			drop(k)
		}
	}
	for i, list := range [][]consolidate.Job{o.Later, o.Parked} {
		for j := range list {
			k, parked, ok := keys(&list[j])
			if !ok {
				continue
			}
			if ok, err := s.has(k); err != nil {
				return err
			} else if !ok {
				continue
			}
			if i == 0 {
				put(k, &list[j])
			} else {
				drop(k)
				put(parked, &list[j])
			}
		}
	}
	for i := range o.Queue {
		j := &o.Queue[i]
		k, parked, ok := keys(j)
		if !ok {
			continue
		}
		p, _ := s.l.b.project(j.Project)
		if ok, err := s.l.stored(p, j.Memory); err != nil {
			return err
		} else if !ok {
			continue
		}
		owed, err := s.has(k)
		if err != nil {
			return err
		}
		given, err := s.has(parked)
		if err != nil {
			return err
		}
		if !owed && !given {
			s.l.floors.note(store.Pass(j.Pass), k)
			put(k, j)
		}
	}
	return nil
}

// replaced deletes the vectors that the memories of an outcome have.
func (s *settlement) replaced(o *consolidate.Outcome) error {
	m, ok := s.l.number(o.Space)
	if !ok {
		return nil
	}
	last := graph.Zero
	for _, v := range o.Vectors {
		p, known := s.l.b.project(v.Project)
		if !known || v.Memory == last {
			continue
		}
		last = v.Memory
		lo, hi := store.VectorsOf(p, m, v.Memory)
		for row, err := range s.l.b.kv.Scan(lo, hi) {
			if err != nil {
				return err
			}
			s.del(row.Key)
		}
	}
	return nil
}

func (s *settlement) embedded(o *consolidate.Outcome) error {
	m, ok := s.l.number(o.Space)
	if !ok {
		return nil // the space was closed meanwhile
	}
	s.space, s.vectors = m, map[store.Project][]consolidate.Vector{}
	last := graph.Zero
	keep := false
	for _, v := range o.Vectors {
		p, known := s.l.b.project(v.Project)
		if !known {
			continue
		}
		if v.Memory != last {
			last = v.Memory
			var err error
			if keep, err = s.l.stored(p, v.Memory); err != nil {
				return err
			}
		}
		if !keep {
			continue
		}
		if v.Chunk > math.MaxUint16 {
			return fmt.Errorf("a memory with %d vectors cannot be kept", v.Chunk)
		}
		s.set(store.VectorKey(p, m, v.Memory, uint16(v.Chunk)), store.EncodeVector(v.TextHash, v.Values))
		s.vectors[p] = append(s.vectors[p], v)
	}
	return nil
}

func (s *settlement) derived(o *consolidate.Outcome) error {
	p, ok := s.l.b.project(o.Project)
	if !ok {
		return nil
	}
	s.project = p
	for _, id := range o.Drop {
		for _, pass := range []store.Pass{store.PassRules, store.PassModel, store.PassEpisode} {
			if err := s.replace(store.DerivedKey(p, pass, store.Digest(id))); err != nil {
				return err
			}
		}
	}
rows:
	for _, r := range o.Rows {
		for _, id := range r.Basis {
			if ok, err := s.l.stored(p, id); err != nil {
				return err
			} else if !ok {
				continue rows
			}
		}
		v, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("write a derived row: %w", err)
		}
		k := store.DerivedKey(p, store.Pass(r.Pass), store.Digest(r.ID))
		if err := s.replace(k); err != nil {
			return err
		}
		s.set(k, v)
		for _, id := range r.Basis {
			s.set(store.BasisKey(p, id, store.Pass(r.Pass), store.Digest(r.ID)), []byte{})
		}
		s.rows = append(s.rows, r)
	}
	return nil
}

// replace deletes a derived row, if it is there, with the rows that say what it rests on.
func (s *settlement) replace(k []byte) error {
	v, err := s.l.b.kv.Get(k)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	s.del(k)
	r, err := readDerived(v)
	if err != nil {
		return nil // damaged, or not of this program: it goes all the same
	}
	s.dropped = append(s.dropped, r)
	for _, id := range r.Basis {
		s.del(store.BasisKey(s.project, id, store.Pass(r.Pass), store.Digest(r.ID)))
	}
	return nil
}

// applied changes what is in memory after what is on disk.
func (s *settlement) applied() {
	for p, list := range s.vectors {
		s.l.b.change(p, func(sh *index.Shard) { addVectors(sh, s.space, list) })
	}
	if len(s.dropped)+len(s.rows) == 0 {
		return
	}
	s.l.b.change(s.project, func(sh *index.Shard) {
		for i := range s.dropped {
			undraw(sh, &s.dropped[i])
		}
		for i := range s.rows {
			draw(sh, &s.rows[i])
		}
	})
}

func addVectors(sh *index.Shard, m uint32, list []consolidate.Vector) {
	if len(list) == 0 {
		return
	}
	space := sh.Vectors[m]
	if space == nil {
		space = index.NewVectorSpace(len(list[0].Values))
		sh.Vectors[m] = space
	}
	last := graph.Zero
	for _, v := range list {
		o, ok := sh.Find(v.Memory)
		if !ok || len(v.Values) != space.Dim {
			continue
		}
		if v.Memory != last {
			space.Remove(o)
			last = v.Memory
		}
		space.Add(o, uint16(v.Chunk), v.Values)
	}
}

func readDerived(v []byte) (consolidate.Derived, error) {
	var r consolidate.Derived
	if err := json.Unmarshal(v, &r); err != nil {
		return r, fmt.Errorf("%w: derived row: %w", store.ErrCorrupt, err)
	}
	return r, nil
}

// kindOf is the kind of a derived row without reading all of it.
func kindOf(v []byte) consolidate.Kind {
	const before = `{"id":"0123456789abcdef0123456789abcdef","kind":"`
	if len(v) > len(before) && bytes.HasPrefix(v[39:], []byte(`","kind":"`)) {
		if i := bytes.IndexByte(v[len(before):], '"'); i >= 0 {
			return consolidate.Kind(v[len(before) : len(before)+i])
		}
	}
	var r struct {
		Kind consolidate.Kind `json:"kind"`
	}
	_ = json.Unmarshal(v, &r) // a damaged row has no kind; check names it
	return r.Kind
}

// passesOf are the passes that make rows of a kind.
func passesOf(kind consolidate.Kind) []store.Pass {
	if kind == consolidate.EpisodeRow {
		return []store.Pass{store.PassRules}
	}
	return []store.Pass{store.PassModel, store.PassEpisode}
}

// Rows reads the derived rows of one kind.
func (l *backlog) Rows(project string, kind consolidate.Kind, memories ...graph.ID) ([]consolidate.Derived, error) {
	p, ok := l.b.project(project)
	if !ok {
		return nil, nil
	}
	return l.b.derivedRows(p, kind, memories...)
}

func (b *Bank) derivedRows(p store.Project, kind consolidate.Kind, memories ...graph.ID) ([]consolidate.Derived, error) {
	var out []consolidate.Derived
	take := func(v []byte) error {
		if kindOf(v) != kind {
			return nil
		}
		r, err := readDerived(v)
		out = append(out, r)
		return err
	}
	seen := map[string]bool{}
	for _, id := range memories {
		lo, hi := store.BasisOf(p, id)
		for row, err := range b.kv.Scan(lo, hi) {
			if err != nil {
				return nil, err
			}
			k := store.BasisTarget(row.Key)
			if seen[string(k)] {
				continue
			}
			seen[string(k)] = true
			v, err := b.kv.Get(k)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if err := take(v); err != nil {
				return nil, err
			}
		}
	}
	if len(memories) == 0 {
		for _, pass := range passesOf(kind) {
			lo, hi := store.PassRange(p, pass)
			for row, err := range b.kv.Scan(lo, hi) {
				if err != nil {
					return nil, err
				}
				if err := take(row.Value); err != nil {
					return nil, err
				}
			}
		}
	}
	slices.SortFunc(out, func(x, y consolidate.Derived) int { return bytes.Compare(x.ID[:], y.ID[:]) })
	return out, nil
}

// RemovePass takes back all that a pass derived in a project; the memories are as they were before it. With
// again set, every memory is owed to it anew.
func (b *Bank) RemovePass(ctx context.Context, project string, pass consolidate.Pass, again bool) error {
	done, err := b.enter(ctx)
	if err != nil {
		return err
	}
	defer done()
	p, ok := b.project(project)
	if !ok {
		return nil
	}
	if err := b.back.rows.removePass(p, store.Pass(pass)); err != nil {
		return storageError("removing what a pass derived", err)
	}
	if again {
		if err := b.back.rows.oweAll(ctx, []store.Project{p}, store.Pass(pass)); err != nil {
			return storageError("owing a pass its work", err)
		}
	}
	b.back.worker.Forgot(project)
	return nil
}

func (l *backlog) removePass(p store.Project, pass store.Pass) error {
	l.b.write.Lock()
	defer l.b.write.Unlock()
	s := &settlement{l: l, staged: map[string]bool{}, project: p}
	lo, hi := store.PassRange(p, pass)
	for row, err := range l.b.kv.Scan(lo, hi) {
		if err != nil {
			return err
		}
		if err := s.replace(row.Key); err != nil {
			return err
		}
	}
	if err := l.apply(s.ops); err != nil {
		return err
	}
	s.applied()
	return nil
}

// spentSetting keeps the day of the last model call, and how many there were.
const spentSetting = "model-calls"

// Spend counts the model calls of a day.
func (l *backlog) Spend(day string, n int) (int, error) {
	l.b.write.Lock()
	defer l.b.write.Unlock()
	have := 0
	v, err := l.b.kv.Get(store.SettingKey(spentSetting))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return 0, err
	}
	if d, c, ok := strings.Cut(string(v), " "); ok && d == day {
		if have, err = strconv.Atoi(c); err != nil {
			return 0, fmt.Errorf("%w: count of model calls", store.ErrCorrupt)
		}
	}
	if n == 0 {
		return have, nil
	}
	return have + n, l.apply([]store.Op{{Kind: store.Set, Key: store.SettingKey(spentSetting), Value: fmt.Appendf(nil, "%s %d", day, have+n)}})
}
