package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"
)

// Deleted bytes stay behind in more places than one thinks:
//   - a table keeps a deleted row until a compaction meets both the row and its tombstone, and longer if a
//     snapshot lies between them; a table in the lowest level with nothing above it is never rewritten;
//   - an open iterator keeps the tables of its time;
//   - a log keeps what it logged until its memtable is a table and the file is removed, or for as long as
//     it is kept to be used again (which ours are not);
//   - the manifest keeps the first and last key of every table there was, and the one before it is kept.
//
// So Erase waits for the readers of before, lays an empty change over the spans that every table has to be
// merged with, merges, has the manifest begun anew, and then looks whether each file of before is gone.
// It does not trust any of the steps: what counts is that the old files are not there any more.

// eraseRounds is how often the whole is tried: work that ran when Erase began can put its tables where the
// merge had already been.
const eraseRounds = 4

// Erase rewrites the files of spans. See Eraser.
func (kv *pebbleKV) Erase(ctx context.Context, spans ...Span) error {
	if kv.o.ReadOnly {
		return fmt.Errorf("erase: %w", ErrReadOnly)
	}
	if err := kv.enter(); err != nil {
		return err
	}
	defer kv.leave()
	kv.aside.Lock() // a checkpoint would keep old files
	defer kv.aside.Unlock()
	ctx, cancel := kv.during(ctx)
	defer cancel()
	if len(spans) == 0 {
		spans = []Span{{}}
	}
	if err := kv.erase(ctx, spans); err != nil {
		return fmt.Errorf("erase: %w", kv.ended(err))
	}
	return nil
}

func (kv *pebbleKV) erase(ctx context.Context, spans []Span) error {
	if err := kv.drain(ctx); err != nil {
		return err
	}
	old, err := kv.oldFiles(spans)
	if err != nil {
		return err
	}
	for round := 1; ; round++ {
		if err := kv.overlay(spans); err != nil {
			return err
		}
		if err := kv.flush(); err != nil {
			return err
		}
		for _, s := range spans {
			if err := kv.compact(ctx, s.Lo, s.Hi); err != nil {
				return err
			}
		}
		// Readers that began meanwhile see none of what was deleted, but they keep the files.
		if err := kv.drain(ctx); err != nil {
			return err
		}
		// The change of the manifest that a flush makes begins a new one, after so much has changed.
		if err := kv.flush(); err != nil {
			return err
		}
		if err := kv.dropManifests(); err != nil {
			return err
		}
		left, err := kv.awaitGone(ctx, old)
		if err != nil {
			return err
		}
		if len(left) == 0 {
			return kv.awaitStrays(ctx)
		}
		if round == eraseRounds {
			return fmt.Errorf("%w: %s would not go", ErrFault, strings.Join(left, ", "))
		}
	}
}

// overlay writes, over each span, a change that changes nothing: it removes range keys, of which there are
// none. The table it becomes overlaps all tables of the span, so merging it down rewrites them all.
func (kv *pebbleKV) overlay(spans []Span) error {
	kv.write.Lock()
	defer kv.write.Unlock()
	b := kv.db.NewBatch()
	for _, s := range spans {
		lo, hi := s.Lo, s.Hi
		if lo == nil {
			lo = []byte{}
		}
		if hi == nil {
			hi = lastKey
		}
		if err := b.RangeKeyDelete(lo, hi, nil); err != nil {
			return errors.Join(err, b.Close())
		}
	}
	_, err := kv.commit(b, false)
	return err
}

// oldFiles lists the files that may hold what is to go: logs and manifests, and tables of the spans.
func (kv *pebbleKV) oldFiles(spans []Span) ([]string, error) {
	names, err := kv.o.FS.List(kv.dir)
	if err != nil {
		return nil, storageError("list the folder", err)
	}
	keep := map[string]bool{}
	levels, err := kv.db.SSTables()
	if err != nil {
		return nil, storageError("list the tables", err)
	}
	for _, level := range levels {
		for _, t := range level {
			apart := !slices.ContainsFunc(spans, func(s Span) bool {
				return slices.Compare(s.Lo, t.Largest.UserKey) <= 0 && (s.Hi == nil || slices.Compare(t.Smallest.UserKey, s.Hi) <= 0)
			})
			if apart {
				keep[fmt.Sprintf("%06d.sst", uint64(t.BackingSSTNum))] = true
			}
		}
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return keep[name] || !isTable(name) && !isStream(name)
	}), nil
}

// dropManifests removes all manifests but the current one. Pebble keeps one more, for nobody.
func (kv *pebbleKV) dropManifests() error {
	now, err := atomicfs.ReadMarker(kv.o.FS, kv.dir, "manifest")
	if err != nil {
		return storageError("find the manifest", err)
	}
	names, err := kv.o.FS.List(kv.dir)
	if err != nil {
		return storageError("list the folder", err)
	}
	for _, name := range names {
		if isManifest(name) && name < now {
			err := kv.fs.Remove(kv.fs.PathJoin(kv.dir, name))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return storageError("remove a manifest", err)
			}
		}
	}
	return nil
}

// goneWithin is how long nothing may go before we stop waiting for Pebble: it tries to remove a file once, and
// where that fails it forgets the file until the store is opened again. Removing takes milliseconds.
const goneWithin = 3 * time.Second

// awaitGone waits until Pebble has removed what it no longer needs, and returns those of names that are
// still there then: in use, or not to be removed.
func (kv *pebbleKV) awaitGone(ctx context.Context, names []string) ([]string, error) {
	stuck := time.NewTimer(goneWithin)
	defer stuck.Stop()
	for {
		kv.goneMu.Lock()
		gone := kv.gone
		kv.goneMu.Unlock()
		there, err := kv.o.FS.List(kv.dir)
		if err != nil {
			return nil, storageError("list the folder", err)
		}
		left := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(there, name) })
		if len(left) == 0 {
			return nil, nil
		}
		// Those still in use do not go by waiting.
		used, err := kv.inUse()
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(left, func(name string) bool { return !used[name] }) {
			return left, nil
		}
		select {
		case <-gone:
			stuck.Reset(goneWithin)
		case <-stuck.C:
			if err := kv.removeTables(left, used); err != nil {
				return nil, err
			}
			there, err := kv.o.FS.List(kv.dir)
			return slices.DeleteFunc(left, func(name string) bool { return !slices.Contains(there, name) }), storageError("list the folder", err)
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-kv.fault.down:
			return nil, kv.fault.get()
		}
	}
}

// awaitStrays waits for tables that were made while Erase was looking and merged again by it: no list of old files
// has them, Pebble removes them in its own time, and until then they hold what is to go. One that is being written
// now comes into use instead, and was made of what was merged. What takes longer than goneWithin is left to who looks
// for the bytes.
func (kv *pebbleKV) awaitStrays(ctx context.Context) error {
	stuck := time.NewTimer(goneWithin)
	defer stuck.Stop()
	look := time.NewTicker(20 * time.Millisecond) // nothing tells when a table comes into use
	defer look.Stop()
	var strays []string
	for first := true; ; first = false {
		used, err := kv.inUse()
		if err != nil {
			return err
		}
		there, err := kv.o.FS.List(kv.dir)
		if err != nil {
			return storageError("list the folder", err)
		}
		if first {
			strays = slices.DeleteFunc(slices.Clone(there), func(name string) bool { return !isTable(name) })
		}
		strays = slices.DeleteFunc(strays, func(name string) bool { return used[name] || !slices.Contains(there, name) })
		if len(strays) == 0 {
			return nil
		}
		select {
		case <-look.C:
		case <-stuck.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-kv.fault.down:
			return kv.fault.get()
		}
	}
}

// removeTables removes those tables of names that are not used: no reader of before is left, and no log or
// manifest is touched, which Pebble may still want.
func (kv *pebbleKV) removeTables(names []string, used map[string]bool) error {
	for _, name := range names {
		if used[name] || !isTable(name) {
			continue
		}
		if err := kv.fs.Remove(kv.fs.PathJoin(kv.dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return storageError("remove "+name, err)
		}
	}
	return nil
}

// inUse names the files that the present state is made of.
func (kv *pebbleKV) inUse() (map[string]bool, error) {
	levels, err := kv.db.SSTables()
	if err != nil {
		return nil, storageError("list the tables", err)
	}
	used := map[string]bool{}
	for _, level := range levels {
		for _, t := range level {
			used[fmt.Sprintf("%06d.sst", uint64(t.BackingSSTNum))] = true
		}
	}
	now, err := atomicfs.ReadMarker(kv.o.FS, kv.dir, "manifest")
	if err != nil {
		return nil, storageError("find the manifest", err)
	}
	used[now] = true
	return used, nil
}

// removed tells awaitGone that Pebble has removed a file.
func (kv *pebbleKV) removed() {
	kv.goneMu.Lock()
	close(kv.gone)
	kv.gone = make(chan struct{})
	kv.goneMu.Unlock()
}

// readerSet is the open iterators and snapshots.
type readerSet struct {
	mu   sync.Mutex
	open map[*reader]struct{}
	left chan struct{} // closed, and made anew, when one ends
}

func (s *readerSet) add(r *reader) {
	s.mu.Lock()
	s.open[r] = struct{}{}
	s.mu.Unlock()
}

func (s *readerSet) isOpen(r *reader) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, open := s.open[r]
	return open
}

func (s *readerSet) remove(r *reader) {
	s.mu.Lock()
	delete(s.open, r)
	close(s.left)
	s.left = make(chan struct{})
	s.mu.Unlock()
}

// drain waits until the readers that are open now have ended. Readers that begin later are not held up:
// one that is held up while it keeps another open would wait for itself.
func (kv *pebbleKV) drain(ctx context.Context) error {
	s := &kv.readers
	s.mu.Lock()
	var wait []*reader
	for r := range s.open {
		wait = append(wait, r)
	}
	s.mu.Unlock()
	for {
		s.mu.Lock()
		left := s.left
		wait = slices.DeleteFunc(wait, func(r *reader) bool { _, open := s.open[r]; return !open })
		s.mu.Unlock()
		if len(wait) == 0 {
			return nil
		}
		select {
		case <-left:
		case <-ctx.Done():
			return fmt.Errorf("%d readers from before are still open: %w", len(wait), ctx.Err())
		case <-kv.fault.down:
			return kv.fault.get()
		}
	}
}
