package store

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// guardFS stands between Pebble and the disk. It
//   - freezes the disk at the first fault: from then on nothing reaches it, and background work that
//     tries all the same waits for Close;
//   - keeps from Pebble the faults that it does not survive. It panics when a log or the folder's sync
//     fails, in places with a mutex half unlocked, which takes the process along; and when opening fails
//     after the logs were replayed, its background goroutines run into what Open has just taken down.
//     Such a fault is noted and Pebble told that all went well, on the frozen disk. Every Commit, and
//     OpenPebble, looks at the fault last, so nothing is acknowledged that is not there;
//   - gives every log a file of its own: a reused one keeps deleted words;
//   - syncs the folder before a marker that names a manifest;
//   - keeps files and folders to their owner (0600, 0700);
//   - reserves disk space for the log in small steps.
type guardFS struct {
	vfs.FS
	dir     string
	fault   *fault
	running atomic.Bool // Open has returned
	disk    bool        // FS ends in the operating system's files
	aside   atomic.Pointer[asideDir]
	hurry   atomic.Bool // the store is closing: tables that are being written are given up
}

// errHurry ends compactions when the store closes: one may take seconds, and nothing is lost without it.
var errHurry = errors.New("given up, since the store is closing")

// asideDir is the folder that a checkpoint is written to. Pebble panics when its sync fails, too, but that
// is no fault of the store.
type asideDir struct {
	name string
	err  atomic.Pointer[error]
}

func (a *asideDir) error() error {
	if err := a.err.Load(); err != nil {
		return *err
	}
	return nil
}

// asideFile is such a folder, opened.
type asideFile struct {
	vfs.File
	dir *asideDir
}

func (f asideFile) Sync() error {
	if err := f.File.Sync(); err != nil {
		f.dir.err.CompareAndSwap(nil, &err)
	}
	return nil
}

// crypt is the layer below.
func (g *guardFS) crypt() *cryptFS { return g.FS.(*cryptFS) }

func newGuardFS(fs vfs.FS, dir string, f *fault) *guardFS {
	return &guardFS{FS: fs, dir: dir, fault: f, disk: vfs.Root(fs) == vfs.Default}
}

// fileKind says what a fault on a file does once the store is open.
type fileKind int

const (
	otherFile fileKind = iota // Pebble gets the error, and hands it to the fault
	logFile                   // a log of this store, or its folder: Pebble does not get it
)

func (g *guardFS) kind(name string) fileKind {
	if name == g.dir || strings.HasSuffix(name, ".log") && g.FS.PathDir(name) == g.dir {
		return logFile
	}
	return otherFile
}

// hide notes an error and returns nil where Pebble must not have it.
func (g *guardFS) hide(kind fileKind, doing string, err error) error {
	if err == nil || kind == otherFile && g.running.Load() {
		return err
	}
	g.fault.set(doing, err)
	return nil
}

// park returns the fault, if there is one, when the store closes. Background work that failed is tried again
// at once; it begins with making a table, so it waits here. Nothing else may wait: changes of the manifest
// hold Pebble's locks, and commits wait for the log.
func (g *guardFS) park(name string) error {
	err := g.fault.get()
	if err != nil && g.running.Load() && isTable(name) {
		<-g.fault.closing
	}
	if err == nil && g.hurry.Load() && isTable(name) {
		err = errHurry
	}
	return err
}

// make makes a file by create, unless the disk is frozen.
func (g *guardFS) make(name string, create func() (vfs.File, error)) (vfs.File, error) {
	err := g.park(name)
	if err == nil {
		var f vfs.File
		if f, err = create(); err == nil {
			if err = g.private(name); err == nil {
				return &guardFile{g: g, kind: g.kind(name), table: isTable(name), File: f}, nil
			}
			err = errors.Join(err, f.Close())
		}
	}
	if err := g.hide(g.kind(name), "make a file", err); err != nil {
		return nil, err
	}
	return &guardFile{g: g, kind: g.kind(name), File: nullFile{}}, nil
}

// private closes a new file to other users. The folder is closed to them too, so the moment before does no
// harm.
func (g *guardFS) private(name string) error {
	if !g.disk {
		return nil
	}
	return os.Chmod(name, 0o600)
}

func (g *guardFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return g.make(name, func() (vfs.File, error) {
		if strings.HasPrefix(g.FS.PathBase(name), "marker.") {
			// Pebble syncs the folder once, after it has made a manifest and the marker that names it. A crash
			// in between may keep the marker alone: then the store would not open.
			if err := syncDir(g.FS, g.FS.PathDir(name)); err != nil {
				return nil, err
			}
		}
		return g.FS.Create(name, c)
	})
}

func syncDir(fs vfs.FS, name string) error {
	dir, err := fs.OpenDir(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (g *guardFS) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return g.make(newname, func() (vfs.File, error) {
		if err := g.FS.Remove(oldname); err != nil {
			return nil, err
		}
		return g.FS.Create(newname, c)
	})
}

func (g *guardFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return g.make(name, func() (vfs.File, error) { return g.FS.OpenReadWrite(name, c, opts...) })
}

func (g *guardFS) OpenDir(name string) (vfs.File, error) {
	f, err := g.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	if a := g.aside.Load(); a != nil && a.name == name {
		return asideFile{f, a}, nil
	}
	return &guardFile{g: g, kind: g.kind(name), File: f}, nil
}

// List of an unreadable folder is empty while opening: on the frozen disk that does no harm.
func (g *guardFS) List(dir string) ([]string, error) {
	names, err := g.FS.List(dir)
	return names, g.hide(otherFile, "list the folder", err)
}

// change runs a call that changes the folder, unless the disk is frozen.
func (g *guardFS) change(doing string, call func() error) error {
	err := g.fault.get()
	if err == nil {
		err = call()
	}
	return g.hide(otherFile, doing, err)
}

func (g *guardFS) Link(oldname, newname string) error {
	return g.change("link a file", func() error { return g.FS.Link(oldname, newname) })
}

func (g *guardFS) Remove(name string) error {
	return g.change("remove a file", func() error {
		err := g.FS.Remove(name)
		if errors.Is(err, os.ErrNotExist) && !g.running.Load() {
			return nil
		}
		return err
	})
}

func (g *guardFS) RemoveAll(name string) error {
	return g.change("remove a folder", func() error { return g.FS.RemoveAll(name) })
}

func (g *guardFS) Rename(oldname, newname string) error {
	return g.change("rename a file", func() error { return g.FS.Rename(oldname, newname) })
}

func (g *guardFS) MkdirAll(dir string, perm os.FileMode) error {
	return g.change("make a folder", func() error { return g.FS.MkdirAll(dir, perm&0o700) })
}

// Lock is for Pebble: the store holds the lock itself, from before it looks at the files until after Pebble
// is gone, or left behind.
func (g *guardFS) Lock(string) (io.Closer, error) { return nullFile{}, nil }

func (g *guardFS) Unwrap() vfs.FS { return g.FS }

// How much disk space a log reserves at once, in bytes: the first time, and, doubled each time, at most.
// Pebble reserves a whole memtable's worth, which is most of what a small store takes. With less at most, a
// burst of writes pays for growing the file at each sync; with more at first, a store at rest holds what it
// does not need.
const (
	logStepMin = 16 << 10
	logStepMax = 256 << 10
)

// guardFile is a file opened for writing, or a folder.
type guardFile struct {
	vfs.File
	g                *guardFS
	kind             fileKind
	table            bool
	written, reserve int64
}

// put runs a writing call, unless the disk is frozen.
func (f *guardFile) put(doing string, call func() error) error {
	err := f.g.fault.get()
	if err == nil {
		err = call()
	}
	return f.g.hide(f.kind, doing, err)
}

func (f *guardFile) Write(p []byte) (n int, err error) {
	if f.table && f.g.hurry.Load() {
		return 0, errHurry
	}
	err = f.put("write a file", func() error {
		if f.kind == logFile && f.written+int64(len(p)) > f.reserve && f.File.Fd() != vfs.InvalidFd {
			step := min(max(f.reserve, logStepMin), logStepMax)
			step = (int64(len(p))/step + 1) * step
			_ = f.File.Preallocate(f.reserve, step) // not every file system can
			f.reserve += step
		}
		n, err = f.File.Write(p)
		f.written += int64(n)
		return err
	})
	if err == nil {
		n = len(p)
	}
	return n, err
}

func (f *guardFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.put("write a file", func() error {
		n, err = f.File.WriteAt(p, off)
		return err
	})
	if err == nil {
		n = len(p)
	}
	return n, err
}

func (f *guardFile) Sync() error     { return f.put("sync a file", f.File.Sync) }
func (f *guardFile) SyncData() error { return f.put("sync a file", f.File.SyncData) }

func (f *guardFile) SyncTo(length int64) (full bool, err error) {
	err = f.put("sync a file", func() error {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}

// Preallocate of a log happens in Write.
func (f *guardFile) Preallocate(offset, length int64) error {
	if f.kind == logFile {
		return nil
	}
	return f.put("reserve space", func() error { return f.File.Preallocate(offset, length) })
}

func (f *guardFile) Close() error {
	return f.g.hide(f.kind, "close a file", f.File.Close())
}

// nullFile stands for a file that could not be made.
type nullFile struct{ vfs.File }

func (nullFile) Write(p []byte) (int, error)            { return len(p), nil }
func (nullFile) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
func (nullFile) Sync() error                            { return nil }
func (nullFile) SyncData() error                        { return nil }
func (nullFile) SyncTo(int64) (bool, error)             { return true, nil }
func (nullFile) Preallocate(_, _ int64) error           { return nil }
func (nullFile) Fd() uintptr                            { return vfs.InvalidFd }
func (nullFile) Close() error                           { return nil }
func (nullFile) Stat() (vfs.FileInfo, error)            { return nil, os.ErrNotExist }
func (nullFile) Prefetch(int64, int64) error            { return nil }
func (nullFile) Read([]byte) (int, error)               { return 0, os.ErrNotExist }
func (nullFile) ReadAt([]byte, int64) (int, error)      { return 0, os.ErrNotExist }
