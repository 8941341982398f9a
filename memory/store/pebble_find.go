package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// FindBytes looks for patterns in the files. See Finder.
func (kv *pebbleKV) FindBytes(ctx context.Context, patterns [][]byte) ([]string, error) {
	if err := kv.enter(); err != nil {
		return nil, err
	}
	defer kv.leave()
	ctx, cancel := kv.during(ctx)
	defer cancel()
	found, err := kv.findBytes(ctx, patterns)
	if err != nil {
		return nil, fmt.Errorf("look for bytes: %w", kv.ended(err))
	}
	return found, nil
}

func (kv *pebbleKV) findBytes(ctx context.Context, patterns [][]byte) ([]string, error) {
	raw, plain, dir := kv.o.FS, kv.fs.crypt(), kv.dir
	patterns = slices.DeleteFunc(slices.Clone(patterns), func(p []byte) bool { return len(p) == 0 })
	if len(patterns) == 0 {
		return nil, nil
	}
	names, err := raw.List(dir)
	if err != nil {
		return nil, storageError("list the folder", err)
	}
	slices.Sort(names)
	many, over := NewPatterns(patterns), 0
	for _, p := range patterns {
		over = max(over, len(p)-1)
	}
	var found []string
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s := &search{ctx: ctx, patterns: many, over: over}
		path := raw.PathJoin(dir, name)
		if st, err := raw.Stat(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, storageError("look at "+name, err)
		} else if err != nil || st.IsDir() {
			continue // removed since, or none of the store's
		}
		// As they lie on the disk; then decrypted; then decoded, as far as one gets.
		err := s.file(raw, path)
		if err == nil && !s.hit && (plain.key != nil || isStream(name)) {
			err = s.file(plain, path)
		}
		if err == nil && !s.hit {
			switch {
			case isTable(name):
				err = kv.findInTable(s, plain, name)
			case isManifest(name):
				err = s.manifest(plain, path)
			}
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, storageError("read "+name, err)
		}
		if s.hit {
			found = append(found, name)
		}
	}
	logs, err := wal.Scan(wal.Dir{FS: plain, Dirname: dir})
	if err != nil {
		return nil, storageError("list the logs", err)
	}
	for _, log := range logs {
		name := fmt.Sprintf("%s.log", log.Num)
		if slices.Contains(found, name) {
			continue
		}
		s := &search{ctx: ctx, patterns: many, over: over}
		if err := s.log(log); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, storageError("read "+name, err)
		}
		if s.hit {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found, nil
}

// findInTable waits for a table that is still being written, or removed.
func (kv *pebbleKV) findInTable(s *search, plain vfs.FS, name string) error {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for used := false; ; {
		kv.stallMu.Lock()
		ended := kv.stall
		kv.stallMu.Unlock()
		err := s.table(plain, plain.PathJoin(kv.dir, name))
		if err == nil || errors.Is(err, os.ErrNotExist) || kv.o.ReadOnly {
			return err
		}
		if used { // and was complete when it was read
			return err
		}
		now, uerr := kv.inUse()
		if uerr != nil {
			return errors.Join(err, uerr)
		}
		if used = now[name]; used {
			continue // it may have been completed since it was read
		}
		select {
		case <-ended: // a flush or a compaction: it is in use now, or was given up
		case <-look.C: // or a remnant of a crash, which is removed after opening without a word
		case <-s.ctx.Done():
			return s.ctx.Err()
		case <-kv.fault.down:
			return kv.fault.get()
		}
	}
}

// search looks for patterns until there is a hit.
type search struct {
	ctx      context.Context
	patterns *Patterns
	over     int // one less than the longest
	hit      bool
}

func (s *search) in(p []byte) bool {
	s.hit = s.hit || s.patterns.In(p)
	return s.hit
}

// file reads a file from end to end, a piece at a time; pieces overlap by the longest pattern.
func (s *search) file(fs vfs.FS, path string) error {
	f, err := fs.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, max(256<<10, 2*s.over))
	kept := 0
	for !s.hit && s.ctx.Err() == nil {
		n, err := io.ReadFull(f, buf[kept:])
		s.in(buf[:kept+n])
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		}
		if err != nil {
			return err
		}
		kept = copy(buf, buf[len(buf)-s.over:])
	}
	return s.ctx.Err()
}

// table looks at every row of a table: old versions and tombstones too.
func (s *search) table(fs vfs.FS, path string) (err error) {
	f, err := fs.Open(path)
	if err != nil {
		return err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	o := &pebble.Options{FS: fs}
	o.EnsureDefaults()
	r, err := sstable.NewReader(s.ctx, readable, o.MakeReaderOptions())
	if err != nil {
		return errors.Join(err, readable.Close())
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	rows, err := r.NewIter(sstable.NoTransforms, nil, nil, sstable.AssertNoBlobHandles)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for kv := rows.First(); kv != nil && s.ctx.Err() == nil; kv = rows.Next() {
		v, _, err := kv.Value(nil)
		if err != nil {
			return err
		}
		if s.in(kv.K.UserKey) || s.in(v) {
			return nil
		}
	}
	return errors.Join(rows.Error(), s.ctx.Err())
}

// log looks at each batch of a log, put together from its chunks.
func (s *search) log(l wal.LogicalLog) (err error) {
	r := l.OpenForRead()
	defer func() { err = errors.Join(err, r.Close()) }()
	return s.records(func() (io.Reader, error) {
		rec, _, err := r.NextRecord()
		return rec, err
	})
}

func (s *search) manifest(fs vfs.FS, path string) error {
	f, err := fs.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := record.NewReader(f, 0)
	return s.records(r.Next)
}

func (s *search) records(next func() (io.Reader, error)) error {
	for s.ctx.Err() == nil {
		rec, err := next()
		var p []byte
		if err == nil {
			p, err = io.ReadAll(rec)
		}
		if err == io.EOF || record.IsInvalidRecord(err) || errors.Is(err, record.ErrUnexpectedEOF) {
			return nil // the end, torn or still being written
		}
		if err != nil {
			return err
		}
		if s.in(p) {
			return nil
		}
	}
	return s.ctx.Err()
}
