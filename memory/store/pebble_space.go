package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// lastKey is after every key that is in use: keys begin with the byte of their space, which is never 0xff.
var lastKey = []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// during returns ctx, ended as well when the store closes or cancel is called.
func (kv *pebbleKV) during(ctx context.Context) (_ context.Context, cancel func()) {
	ctx, end := context.WithCancel(ctx)
	unhook := context.AfterFunc(kv.ctx, end)
	return ctx, func() { unhook(); end() }
}

// ended words the end of a call's context: the store's close, if it was that.
func (kv *pebbleKV) ended(err error) error {
	if errors.Is(err, context.Canceled) && kv.ctx.Err() != nil {
		return ErrClosed
	}
	return err
}

// Compact merges all tables. See Compacter.
func (kv *pebbleKV) Compact(ctx context.Context) error {
	if kv.o.ReadOnly {
		return fmt.Errorf("compact: %w", ErrReadOnly)
	}
	if err := kv.enter(); err != nil {
		return err
	}
	defer kv.leave()
	ctx, cancel := kv.during(ctx)
	defer cancel()
	return kv.ended(kv.compact(ctx, nil, nil))
}

func (kv *pebbleKV) compact(ctx context.Context, lo, hi []byte) error {
	if lo == nil {
		lo = []byte{}
	}
	if hi == nil {
		hi = lastKey
	}
	return kv.run("compact", func() error { return kv.db.Compact(ctx, lo, hi, false) })
}

// A store closes within a moment, and leaves little garbage all the same: one in which much was deleted is
// merged first if that is quick. Up to tidyBytes of tables merge in about a second; in larger stores the
// garbage of one session is a small part, and Pebble's own merging has it in hand. Fewer deletes than
// tidyDeletes leave less than a table's worth.
const (
	tidyDeletes = 1000
	tidyBytes   = 32 << 20
	tidyTime    = 1500 * time.Millisecond
)

// tidy merges the tables before closing, if that is worth it.
func (kv *pebbleKV) tidy() error {
	defer kv.fs.hurry.Store(true)
	if kv.deletes < tidyDeletes {
		return nil
	}
	if m := kv.db.Metrics(); m.Total().TablesSize > tidyBytes {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), tidyTime)
	defer cancel()
	select {
	case err := <-kv.start("compact", func() error { return kv.db.Compact(ctx, []byte{}, lastKey, false) }):
		if errors.Is(err, context.DeadlineExceeded) {
			return nil
		}
		return kv.done("compact", err)
	case <-ctx.Done():
		return nil
	case <-kv.fault.down:
		return kv.fault.get()
	}
}

// DiskBytes adds up the files. See Sizer.
func (kv *pebbleKV) DiskBytes() (int64, error) {
	if err := kv.enter(); err != nil {
		return 0, err
	}
	defer kv.leave()
	names, err := kv.o.FS.List(kv.dir)
	if err != nil {
		return 0, storageError("list the folder", err)
	}
	var sum int64
	for _, name := range names {
		st, err := kv.o.FS.Stat(kv.o.FS.PathJoin(kv.dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // gone since
		}
		if err != nil {
			return 0, storageError("look at the files", err)
		}
		if !st.IsDir() {
			sum += st.Size()
		}
	}
	return sum, nil
}

// Checkpoint copies the store. See Checkpointer.
func (kv *pebbleKV) Checkpoint(dir string) error {
	if kv.o.ReadOnly {
		return fmt.Errorf("checkpoint: %w", ErrReadOnly)
	}
	if err := kv.enter(); err != nil {
		return err
	}
	defer kv.leave()
	kv.aside.Lock()
	defer kv.aside.Unlock()
	dir = kv.o.FS.PathJoin(dir)
	if _, err := kv.o.FS.Stat(dir); err == nil {
		return fmt.Errorf("checkpoint into %s: %w", dir, os.ErrExist)
	}
	a := &asideDir{name: dir}
	kv.fs.aside.Store(a)
	defer kv.fs.aside.Store(nil)
	err := kv.run("checkpoint", func() error {
		err := kv.db.Checkpoint(dir, pebble.WithFlushedWAL())
		return errors.Join(err, a.error())
	})
	if c := kv.fs.crypt(); err == nil && c.key != nil {
		err = storageError("checkpoint", c.writeKeyFile(dir))
	}
	if err != nil && kv.fault.get() == nil {
		err = errors.Join(err, kv.o.FS.RemoveAll(dir))
	}
	return err
}

// CopyStore makes a new store in dir, which must hold none, with all rows of src as they are when it is
// called. It is how a store is encrypted, given another key or rid of one: src is opened as it is, o says
// how the copy is to be. A copy that fails or is cancelled is removed.
func CopyStore(ctx context.Context, dir string, o PebbleOptions, src KV) (err error) {
	fs := o.FS
	if fs == nil {
		fs = vfs.Default
	}
	if names, err := fs.List(dir); err == nil && len(names) > 0 {
		return fmt.Errorf("copy the store into %s: %w", dir, os.ErrExist)
	}
	snap, err := src.Snapshot()
	if err != nil {
		return fmt.Errorf("copy the store: %w", err)
	}
	defer func() { err = errors.Join(err, snap.Close()) }()
	dst, err := OpenPebble(dir, o)
	if err != nil {
		return fmt.Errorf("copy the store: %w", err)
	}
	to := dst.(*pebbleKV)
	err = copyRows(ctx, to, snap)
	if err == nil {
		err = to.Compact(ctx)
	}
	if err = errors.Join(err, dst.Close()); err != nil {
		return errors.Join(fmt.Errorf("copy the store: %w", err), fs.RemoveAll(dir))
	}
	return nil
}

// copyBatch is how many bytes are written at once: enough to make the cost of a batch small, little enough
// to stay under a memtable.
const copyBatch = 1 << 20

func copyRows(ctx context.Context, to *pebbleKV, from Reader) error {
	var ops []Op
	size := 0
	put := func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := to.ApplyUnsynced(ops)
		ops, size = ops[:0], 0
		return err
	}
	for row, err := range from.Scan(nil, nil) {
		if err != nil {
			return err
		}
		ops = append(ops, Op{Kind: Set, Key: row.Key, Value: row.Value})
		if size += len(row.Key) + len(row.Value); size >= copyBatch {
			if err := put(); err != nil {
				return err
			}
		}
	}
	if err := put(); err != nil {
		return err
	}
	return to.Sync()
}
