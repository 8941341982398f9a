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
//   - hides faults of the log and of the folder's sync from Pebble, which would panic on them, in places with
//     a mutex half unlocked, which takes the process along. The fault is noted before the call returns, and
//     every Commit looks at it after its sync, so nothing is acknowledged that is not there;
//   - gives every log a file of its own: a reused one keeps deleted words;
//   - keeps files and folders to their owner (0600, 0700);
//   - reserves disk space for the log in small steps.
type guardFS struct {
	vfs.FS
	dir     string
	fault   *fault
	running atomic.Bool // Open has returned; before, errors go to it as they are
	disk    bool        // FS ends in the operating system's files
}

func newGuardFS(fs vfs.FS, dir string, f *fault) *guardFS {
	return &guardFS{FS: fs, dir: dir, fault: f, disk: vfs.Root(fs) == vfs.Default}
}

// fileKind says what a fault on a file does.
type fileKind int

const (
	otherFile fileKind = iota // the error goes to Pebble, which hands it to the fault
	logFile                   // a log of this store: noted here, hidden from Pebble once it is open
	dirFile                   // the folder of this store: likewise, from the start
)

func (g *guardFS) kind(name string) fileKind {
	if strings.HasSuffix(name, ".log") && g.FS.PathDir(name) == g.dir {
		return logFile
	}
	return otherFile
}

// hide notes an error of the log or the folder and returns nil, if Pebble would panic on it.
func (g *guardFS) hide(kind fileKind, doing string, err error) error {
	if err == nil || kind == otherFile || kind == logFile && !g.running.Load() {
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
	if err != nil && g.running.Load() && (strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob")) {
		<-g.fault.closing
	}
	return err
}

func (g *guardFS) own(f vfs.File, name string, err error) (vfs.File, error) {
	kind := g.kind(name)
	if err != nil {
		if kind == logFile && g.running.Load() {
			g.fault.set("make a log file", err)
			return &guardFile{g: g, kind: kind, File: nullFile{}}, nil
		}
		return nil, err
	}
	if g.disk {
		// The folder is closed to others, so the moment before this does no harm.
		if err := os.Chmod(name, 0o600); err != nil {
			f.Close()
			return nil, err
		}
	}
	return &guardFile{g: g, kind: kind, File: f}, nil
}

func (g *guardFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := g.park(name); err != nil {
		return g.own(nil, name, err)
	}
	if strings.HasPrefix(g.FS.PathBase(name), "marker.") {
		// Pebble syncs the folder once, after it has made a manifest and the marker that names it. A crash in
		// between may keep the marker alone: then the store would not open.
		if err := syncDir(g.FS, g.FS.PathDir(name)); err != nil {
			return nil, err
		}
	}
	f, err := g.FS.Create(name, c)
	return g.own(f, name, err)
}

func syncDir(fs vfs.FS, name string) error {
	dir, err := fs.OpenDir(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (g *guardFS) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := g.park(newname); err != nil {
		return g.own(nil, newname, err)
	}
	if err := g.FS.Remove(oldname); err != nil {
		return g.own(nil, newname, err)
	}
	f, err := g.FS.Create(newname, c)
	return g.own(f, newname, err)
}

func (g *guardFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	if err := g.park(name); err != nil {
		return g.own(nil, name, err)
	}
	f, err := g.FS.OpenReadWrite(name, c, opts...)
	return g.own(f, name, err)
}

func (g *guardFS) OpenDir(name string) (vfs.File, error) {
	f, err := g.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	kind := otherFile
	if name == g.dir {
		kind = dirFile
	}
	return &guardFile{g: g, kind: kind, File: f}, nil
}

func (g *guardFS) Link(oldname, newname string) error {
	if err := g.fault.get(); err != nil {
		return err
	}
	return g.FS.Link(oldname, newname)
}

func (g *guardFS) Remove(name string) error {
	if err := g.fault.get(); err != nil {
		return err
	}
	return g.FS.Remove(name)
}

func (g *guardFS) RemoveAll(name string) error {
	if err := g.fault.get(); err != nil {
		return err
	}
	return g.FS.RemoveAll(name)
}

func (g *guardFS) Rename(oldname, newname string) error {
	if err := g.fault.get(); err != nil {
		return err
	}
	return g.FS.Rename(oldname, newname)
}

func (g *guardFS) MkdirAll(dir string, perm os.FileMode) error {
	if err := g.fault.get(); err != nil {
		return err
	}
	return g.FS.MkdirAll(dir, perm&0o700)
}

// Lock is for Pebble: the store holds the lock itself, from before it looks at the files until after Pebble
// is gone, or left behind.
func (g *guardFS) Lock(string) (io.Closer, error) { return nullFile{}, nil }

func (g *guardFS) Unwrap() vfs.FS { return g.FS }

// logStep is how much disk space a log reserves at once, in bytes. Pebble reserves a whole memtable's
// worth, which is most of what a small store takes. Less than this and a burst of writes pays for growing
// the file at each sync; more and an idle store holds what it does not need.
const logStep = 256 << 10

// guardFile is a file opened for writing, or a folder.
type guardFile struct {
	vfs.File
	g                *guardFS
	kind             fileKind
	written, reserve int64
}

// put runs a writing call unless the disk is frozen.
func (f *guardFile) put(doing string, call func() error) error {
	err := f.g.fault.get()
	if err == nil {
		err = call()
	}
	return f.g.hide(f.kind, doing, err)
}

func (f *guardFile) Write(p []byte) (n int, err error) {
	err = f.put("write a file", func() error {
		if f.kind == logFile && f.written+int64(len(p)) > f.reserve && f.File.Fd() != vfs.InvalidFd {
			step := (int64(len(p))/logStep + 1) * logStep
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

// nullFile stands for a log that could not be made.
type nullFile struct{ vfs.File }

func (nullFile) Write(p []byte) (int, error)       { return len(p), nil }
func (nullFile) Sync() error                       { return nil }
func (nullFile) SyncData() error                   { return nil }
func (nullFile) SyncTo(int64) (bool, error)        { return true, nil }
func (nullFile) Preallocate(_, _ int64) error      { return nil }
func (nullFile) Fd() uintptr                       { return vfs.InvalidFd }
func (nullFile) Close() error                      { return nil }
func (nullFile) Stat() (vfs.FileInfo, error)       { return nil, os.ErrNotExist }
func (nullFile) Prefetch(int64, int64) error       { return nil }
func (nullFile) Read([]byte) (int, error)          { return 0, os.ErrNotExist }
func (nullFile) ReadAt([]byte, int64) (int, error) { return 0, os.ErrNotExist }
