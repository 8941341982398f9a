package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"
)

// PebbleFormat is the version of Pebble's file formats that we write: FormatValueSeparation, with log sync
// offsets (damage inside a log is told apart from a torn end) and columnar tables. A later Pebble opens it
// and keeps to it. It is raised by a migration alone, never by a newer library, so that an older binary
// that still runs is not locked out by surprise.
const PebbleFormat = pebble.FormatValueSeparation

// PebbleOptions is how to open a store on Pebble. The zero value works.
type PebbleOptions struct {
	FS  vfs.FS // nil: the operating system's files
	Key []byte // 32 bytes: everything is encrypted with it; nil: plain files

	Logger  *slog.Logger // nil: nothing is logged
	OnFault func(error)  // hears each fault and each damaged block, once; called with locks held, so it must not use the store

	CacheBytes    int64 // blocks kept in memory, shared by readers; 0: 32 MiB
	MemtableBytes int64 // writes collected in memory before they become a table; 0: 4 MiB
	ReadOnly      bool  // writes nothing but the lock, which it takes as well

	// Salvage opens a damaged store as far as that goes, for reading alone: a log or manifest is read up to
	// the damage, missing tables are missing rows. See Salvager.
	Salvage bool
}

// OpenPebble opens the store in dir, which is made if it is not there. Only one handle has it at a time.
// It returns ErrLocked, ErrNewerFormat, ErrKey, ErrCorrupt or ErrFault, wrapped with what it met.
func OpenPebble(dir string, o PebbleOptions) (KV, error) {
	o.ReadOnly = o.ReadOnly || o.Salvage
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.CacheBytes <= 0 {
		o.CacheBytes = 32 << 20
	}
	if o.MemtableBytes <= 0 {
		o.MemtableBytes = 4 << 20
	}
	dir = o.FS.PathJoin(dir) // clean, as Pebble's own names for what is in it are
	kv := &pebbleKV{dir: dir, o: o, stall: make(chan struct{}), gone: make(chan struct{})}
	kv.readers.open, kv.readers.left = map[*reader]struct{}{}, make(chan struct{})
	kv.fault = newFault(o.Logger, o.OnFault)
	kv.ctx, kv.stop = context.WithCancel(context.Background())
	if err := kv.open(); err != nil {
		return nil, fmt.Errorf("open the store in %s: %w", dir, err)
	}
	return kv, nil
}

// pebbleKV is a KV on Pebble.
//
// Locks, outermost first: life, aside, write, a reader's own. Pebble's own locks are inside all of them.
type pebbleKV struct {
	dir   string
	o     PebbleOptions
	fs    *guardFS
	lock  io.Closer
	db    *pebble.DB
	cache *pebble.Cache
	fault *fault

	write     sync.Mutex // held while a batch is applied: one order for all
	unstalled int64      // bytes applied since the backlog was last looked at; guarded by write
	deletes   int        // since opening; guarded by write

	ctx  context.Context // ends when Close begins
	stop context.CancelFunc

	life    sync.RWMutex // held for reading during a call, for writing by Close
	closed  bool
	readers readerSet

	aside  sync.Mutex // held by Checkpoint and Erase
	goneMu sync.Mutex
	gone   chan struct{} // closed, and made anew, when Pebble has removed a file

	stallMu sync.Mutex
	stall   chan struct{} // closed, and made anew, when a flush or compaction ends
}

func (kv *pebbleKV) open() (err error) {
	o := kv.o
	kv.fs = newGuardFS(o.FS, kv.dir, kv.fault)
	if !o.ReadOnly {
		if err := o.FS.MkdirAll(kv.dir, 0o700); err != nil {
			return storageError("make the folder", err)
		}
	} else if _, err := kv.fs.Stat(kv.dir); err != nil {
		return storageError("find the folder", err)
	}
	if err := kv.takeLock(); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			kv.dropLock()
		}
	}()
	sealing, err := newCryptFS(o.FS, kv.dir, o.Key, o.ReadOnly)
	if err != nil {
		return err
	}
	sealing.salvage = o.Salvage
	kv.fs.FS = sealing
	if err := kv.checkFormat(); err != nil {
		return err
	}
	kv.cache = pebble.NewCache(o.CacheBytes)
	opts := &pebble.Options{
		FS:                 kv.fs,
		Cache:              kv.cache,
		Logger:             logger{kv.fault},
		EventListener:      kv.fault.listener(o.ReadOnly, kv.wake, kv.removed),
		FormatMajorVersion: PebbleFormat,
		ReadOnly:           o.ReadOnly,
		DisableTableStats:  o.ReadOnly,

		DisableConsistencyCheck: o.Salvage,

		MemTableSize: uint64(o.MemtableBytes),
		// Pebble must neither wait for a flush inside a commit (after a fault it would wait for ever; makeRoom
		// waits instead) nor keep old logs to use again. Both follow from this number: the limit on
		// memtables is this times their size, which wraps round to a huge number; the limit on kept logs
		// is this plus one, which wraps round to a negative one. TestNoOldLogs and TestBacklog hold it to that.
		MemTableStopWritesThreshold: math.MaxInt,
		L0StopWritesThreshold:       math.MaxInt,
		L0CompactionThreshold:       2,
		MaxOpenFiles:                500,
		// The manifest is begun anew whenever it has changed by as much as it holds: Erase counts on it, and
		// it costs a few syncs per flush.
		MaxManifestFileSize: 1,
	}
	opts.Experimental.FileCacheShards = 2
	// Measured on 4,587 chat messages of 100 bytes with three index keys each: 611 kB as they are, 479 with
	// Snappy, 373 with zstd (blocks of 8 KiB; 393 with 4, 347 with 16, which costs every read). A flush takes
	// twice as long, off everybody's path. Pebble's own choice is zstd in the lowest level alone, but the tables
	// of a small store get there by being moved, as Snappy wrote them. Vectors, which do not shrink, are left
	// as they are. With cgo or without, the bytes are read alike.
	opts.ApplyCompressionSettings(func() pebble.DBCompressionSettings {
		return pebble.UniformDBCompressionSettings(block.GoodCompression)
	})
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		opts.Levels[i].BlockSize = 8 << 10
	}
	err = kv.openDB(opts)
	kv.fs.running.Store(true)
	if ferr := kv.fault.get(); ferr != nil {
		if err == nil {
			_ = kv.shut()
		}
		return ferr
	}
	if err != nil {
		kv.cache.Unref()
		if errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		return storageError("read the files", err)
	}
	return nil
}

// shut closes Pebble, unless it is left behind.
func (kv *pebbleKV) shut() error {
	close(kv.fault.closing)
	select {
	case err := <-kv.start("close", kv.db.Close):
		kv.cache.Unref()
		return err
	case <-kv.fault.left:
		return kv.fault.get()
	}
}

func (kv *pebbleKV) openDB(opts *pebble.Options) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = kv.panicked("open", p)
		}
	}()
	kv.db, err = pebble.Open(kv.dir, opts)
	return err
}

// ownerFile names, beside Pebble's lock, the process that holds it.
const ownerFile = "OWNER"

func (kv *pebbleKV) takeLock() error {
	name := kv.fs.PathJoin(kv.dir, ownerFile)
	lock, err := kv.o.FS.Lock(kv.fs.PathJoin(kv.dir, "LOCK"))
	for _, other := range []error{os.ErrPermission, os.ErrNotExist, syscall.ENOSPC, syscall.EROFS, syscall.EIO} {
		if errors.Is(err, other) {
			return storageError("take the lock", err)
		}
	}
	if err != nil {
		who := "another process"
		if pid := readOwner(kv.o.FS, name); pid == os.Getpid() {
			who = "this process"
		} else if pid > 0 {
			who = fmt.Sprintf("process %d", pid)
		}
		return fmt.Errorf("%w by %s (named in %s): %w", ErrLocked, who, name, err)
	}
	kv.lock = lock
	if kv.o.ReadOnly {
		return nil
	}
	if err := kv.fs.private(kv.fs.PathJoin(kv.dir, "LOCK")); err != nil { // empty, and closed to others all the same
		kv.o.Logger.Debug("lock file", "error", err)
	}
	// Only a hint for people; a lock without it is as good.
	if f, err := kv.o.FS.Create(name, vfs.WriteCategoryUnspecified); err == nil {
		_, err = f.Write([]byte(strconv.Itoa(os.Getpid()) + "\n"))
		if err = errors.Join(err, f.Close(), kv.fs.private(name)); err != nil {
			kv.o.Logger.Debug("owner file", "error", err)
		}
	}
	return nil
}

func readOwner(fs vfs.FS, name string) int {
	f, err := fs.Open(name)
	if err != nil {
		return 0
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 32))
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return pid
}

func (kv *pebbleKV) dropLock() error {
	if kv.lock == nil {
		return nil
	}
	if !kv.o.ReadOnly {
		_ = kv.o.FS.Remove(kv.fs.PathJoin(kv.dir, ownerFile))
	}
	lock := kv.lock
	kv.lock = nil
	return lock.Close()
}

// checkFormat refuses a newer store before anything in it is touched.
func (kv *pebbleKV) checkFormat() error {
	v, err := atomicfs.ReadMarker(kv.fs, kv.dir, "format-version")
	if err != nil {
		return storageError("read the format", err)
	}
	if v == "" {
		return nil
	}
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		return fmt.Errorf("%w: its format %q is not a number", ErrCorrupt, v)
	}
	if n > uint64(PebbleFormat) {
		return fmt.Errorf("%w (table format %d, this one reads up to %d): update it", ErrNewerFormat, n, PebbleFormat)
	}
	return nil
}

// enter begins a call; leave ends it.
func (kv *pebbleKV) enter() error {
	kv.life.RLock()
	if kv.closed {
		kv.life.RUnlock()
		return ErrClosed
	}
	if err := kv.fault.get(); err != nil {
		kv.life.RUnlock()
		return err
	}
	return nil
}

func (kv *pebbleKV) leave() { kv.life.RUnlock() }

// done is what a call answers: the fault if one came up meanwhile.
func (kv *pebbleKV) done(doing string, err error) error {
	if f := kv.fault.get(); f != nil {
		return f
	}
	return storageError(doing, err)
}

// run makes a call of Pebble's that may wait for its background work, and returns when it does or when
// the store fails; then the call ends by itself when the store is closed.
func (kv *pebbleKV) run(doing string, call func() error) error {
	select {
	case err := <-kv.start(doing, call):
		return kv.done(doing, err)
	case <-kv.fault.down:
		return kv.fault.get()
	}
}

// start makes a call on a goroutine of its own.
func (kv *pebbleKV) start(doing string, call func() error) <-chan error {
	ended := make(chan error, 1)
	go func() {
		err := errors.New("pebble stopped")
		defer func() {
			if p := recover(); p != nil {
				err = kv.panicked(doing, p)
			}
			ended <- err
		}()
		err = call()
	}()
	return ended
}

// panicked turns a panic of Pebble's into the fault. It may have happened with locks held.
func (kv *pebbleKV) panicked(doing string, p any) error {
	kv.fault.leave()
	return kv.fault.set(doing, fmt.Errorf("pebble: %v", p))
}

// Close ends the store. See KV.
func (kv *pebbleKV) Close() error {
	kv.stop()
	kv.life.Lock()
	defer kv.life.Unlock()
	if kv.closed {
		return nil
	}
	kv.closed = true
	for r := range kv.readers.open {
		_ = r.close()
	}
	clear(kv.readers.open)
	err := kv.fault.get()
	if err == nil && !kv.o.ReadOnly {
		if err = kv.flush(); err == nil {
			err = kv.tidy()
		}
	}
	if cerr := kv.shut(); err == nil {
		err = kv.done("close", cerr)
	}
	if lerr := kv.dropLock(); err == nil && lerr != nil {
		err = storageError("give back the lock", lerr)
	}
	return err
}
