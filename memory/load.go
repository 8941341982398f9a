package memory

import (
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// loadsAtOnce is how many indexes are loaded at once, each by three goroutines.
const loadsAtOnce = 2

// loadShard reads a project's index from the store. Writers go on meanwhile: the index is that of a snapshot, and
// what they change after it (change) is brought in at the end, under the writer's lock.
func (b *Bank) loadShard(p store.Project, r *resident) (err error) {
	b.loads <- struct{}{}
	defer func() { <-b.loads }()
	snap, spaces, err := b.beginLoad(r)
	if err != nil {
		return err
	}
	var s *index.Shard
	read := errCutOff // unless it comes so far: a fault in the program leaves all as before
	defer func() {
		b.write.Lock()
		defer b.write.Unlock()
		if e := snap.Close(); read == nil {
			read = e
		}
		for _, f := range r.missed {
			if read == nil {
				f(s)
			}
		}
		r.loading, r.missed = false, nil
		if read == nil {
			r.shard.Store(s)
		}
		err = read
	}()
	s, read = b.readShard(snap, p, spaces)
	return read
}

var errCutOff = errors.New("loading the index was cut off; ask again")

// beginLoad takes the snapshot that an index is made of, and the vector spaces of that moment.
func (b *Bank) beginLoad(r *resident) (store.Snapshot, []space, error) {
	b.write.Lock()
	defer b.write.Unlock()
	snap, err := b.kv.Snapshot()
	if err != nil {
		return nil, nil, err
	}
	r.loading = true
	return snap, b.back.rows.table(), nil
}

// change brings a project's index in memory up to what was just written, now or when it is loaded. f runs with
// the index's lock held, and not at all where the project is not in memory; ran says whether it has run already.
// The caller holds write.
func (b *Bank) change(p store.Project, f func(*index.Shard)) (ran bool) {
	b.mu.RLock()
	r := b.shards[p]
	b.mu.RUnlock()
	if r == nil {
		return false
	}
	if r.loading {
		r.missed = append(r.missed, f)
		return false
	}
	s := r.shard.Load()
	if s == nil {
		return false
	}
	s.Lock()
	defer s.Unlock()
	f(s)
	return true
}

// readShard builds a project's index from its rows, in the order of writing. Records, analyses and vectors are read and
// decoded beside one another.
func (b *Bank) readShard(kv store.Reader, p store.Project, spaces []space) (*index.Shard, error) {
	var vectors []heldVectors
	var unread error
	var reading sync.WaitGroup
	reading.Go(func() {
		defer caught(&unread)
		vectors, unread = readVectors(kv, p, spaces)
	})
	defer reading.Wait()
	states := map[graph.ID]*store.State{}
	lo, hi := store.StateRange(p)
	for row, err := range kv.Scan(lo, hi) {
		if err != nil {
			return nil, err
		}
		st, err := store.DecodeState(row.Value)
		if err != nil {
			return nil, err
		}
		states[store.IDOf(row.Key)] = st
	}
	type analysis struct {
		id graph.ID
		*store.Analysis
	}
	lo, hi = store.AnalysisRange(p)
	next, stop := abreast(kv.Scan(lo, hi), func(row store.Row) (analysis, error) {
		a, err := store.DecodeAnalysis(row.Value)
		if err != nil {
			a = nil // derived: made again below
		}
		return analysis{store.IDOf(row.Key), a}, nil
	})
	defer stop()
	a, ok, err := next()
	if err != nil {
		return nil, err
	}
	s := index.NewShard(p)
	lo, hi = store.RecordRange(p)
	record, done := abreast(kv.Scan(lo, hi), func(row store.Row) (*store.Record, error) {
		return store.DecodeRecord(store.IDOf(row.Key), row.Value)
	})
	defer done()
	for {
		r, more, err := record()
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		for ok && a.id.Less(r.ID) {
			if a, ok, err = next(); err != nil {
				return nil, err
			}
		}
		var an *store.Analysis
		if ok && a.id == r.ID {
			an = a.Analysis
		}
		if an == nil || an.Version != store.AnalysisVersion {
			an = b.analyze(r)
		}
		st := states[r.ID]
		if whole := states[r.PartOf]; whole != nil { // the zero id has none
			st = ofWhole(st, whole)
		}
		s.Add(r, st, an)
		b.addWords(s, r.ID, an)
	}
	if reading.Wait(); unread != nil {
		return nil, unread
	}
	holdVectors(s, vectors)
	if err := b.loadDerived(kv, p, s); err != nil {
		return nil, err
	}
	return s, nil
}

// ofWhole is the state of a segment, whose own is st or nil: what came to the whole later holds for each of
// its segments, since they are what is filtered and ranked.
func ofWhole(st, whole *store.State) *store.State {
	out := store.State{}
	if st != nil {
		out = *st
	}
	out.Tags = append(slices.Clone(out.Tags), whole.Tags...)
	out.Entities = append(slices.Clone(out.Entities), whole.Entities...)
	if out.SupersededBy.IsZero() {
		out.SupersededBy = whole.SupersededBy
	}
	return &out
}

// caught, deferred in a goroutine of a load, makes a fault in the program an error of that load: it is no reason to end
// a server that others use.
func caught(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("loading the index: %v\n%s", v, debug.Stack())
	}
}

// batchRows is how many decoded rows are handed over at once.
const batchRows = 256

// abreast reads rows and decodes them in a goroutine of its own, a few batches ahead. next gives one after another,
// ok false after the last; stop ends the goroutine and waits for it.
func abreast[T any](rows iter.Seq2[store.Row, error], decode func(store.Row) (T, error)) (next func() (v T, ok bool, err error), stop func()) {
	type batch struct {
		list []T
		err  error
	}
	out, quit := make(chan batch, 4), make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		defer close(out)
		var b batch
		defer func() {
			if b.err != nil {
				select {
				case out <- b:
				case <-quit:
				}
			}
		}()
		defer caught(&b.err)
		send := func() bool {
			select {
			case out <- b:
				b = batch{}
				return true
			case <-quit:
				return false
			}
		}
		for row, err := range rows {
			var v T
			if err == nil {
				v, err = decode(row)
			}
			if err != nil {
				b.err = err
				return
			}
			if b.list = append(b.list, v); len(b.list) == batchRows && !send() {
				return
			}
		}
		send()
	})
	var now batch
	i := 0
	next = func() (v T, ok bool, err error) {
		for i == len(now.list) {
			if now.err != nil {
				return v, false, now.err
			}
			i = 0
			if now, ok = <-out; !ok {
				return v, false, nil
			}
		}
		i++
		return now.list[i-1], true, nil
	}
	return next, func() {
		close(quit)
		running.Wait()
	}
}
