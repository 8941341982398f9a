package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A store is many files in a folder that holds other things too, so it cannot be replaced by one rename.
// Swap replaces it in two phases under a marker file that says which; a crash between any two steps is
// mended by FinishSwap, which whoever opens a store calls first.
//
//	phase 1: the marker is written; the old store's files move aside, one by one
//	phase 2: the marker says so; the new store's files move in; the marker goes
//
// In phase 1 every file of a store in the folder is the old one's, in phase 2 every one is the new one's.

// swapFile is the marker.
const swapFile = "SWAP"

type swap struct {
	Phase int    `json:"phase"`
	From  string `json:"from"`  // folder of the new store, inside
	Aside string `json:"aside"` // folder for the old one, inside
}

func (o *PebbleOptions) files() vfs.FS {
	if o.FS == nil {
		return vfs.Default
	}
	return o.FS
}

// isStoreFile tells, by its name, a file of a store from what else lies in its folder. The lock and the note
// of who holds it belong to the folder.
func isStoreFile(name string) bool {
	for _, p := range []string{"MANIFEST-", "OPTIONS-", "CURRENT", "marker.", "temporary."} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	for _, s := range []string{".sst", ".blob", ".log", ".dbtmp"} {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return name == keyFile
}

// HasStore reports whether there are files of a store in dir.
func HasStore(dir string, o PebbleOptions) (bool, error) {
	names, err := o.files().List(dir)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, storageError("look into "+dir, err)
	}
	return slices.ContainsFunc(names, isStoreFile), nil
}

// Folders lists the folders in dir by name; none where dir is not there.
func Folders(dir string, o PebbleOptions) ([]string, error) {
	fs := o.files()
	names, err := fs.List(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, storageError("look into "+dir, err)
	}
	names = slices.DeleteFunc(names, func(n string) bool {
		st, err := fs.Stat(fs.PathJoin(dir, n))
		return err != nil || !st.IsDir()
	})
	slices.Sort(names)
	return names, nil
}

// RemoveFolder removes a folder with all that is in it.
func RemoveFolder(dir string, o PebbleOptions) error {
	return storageError("remove "+dir, o.files().RemoveAll(dir))
}

// MakeFolder makes a folder that only its owner can look into, with those above it.
func MakeFolder(dir string, o PebbleOptions) error {
	return storageError("make "+dir, o.files().MkdirAll(dir, 0o700))
}

// RenameFolder renames a folder, and has it on the disk when it returns.
func RenameFolder(old, name string, o PebbleOptions) error {
	fs := o.files()
	if err := fs.Rename(old, name); err != nil {
		return storageError("rename "+old, err)
	}
	return storageError("sync the folder", syncDir(fs, fs.PathDir(name)))
}

// PathIn joins names as the file system does.
func (o PebbleOptions) PathIn(names ...string) string { return o.files().PathJoin(names...) }

// Swap puts the store in dir/from in the place of the one in dir, whose files it moves to dir/aside, a folder
// that must not exist. Neither may be open. After an error FinishSwap finishes it.
func Swap(dir, from, aside string, o PebbleOptions) error {
	fs := o.files()
	if ok, err := HasStore(fs.PathJoin(dir, from), o); err != nil || !ok {
		return errors.Join(err, fmt.Errorf("swap: there is no store in %s", from))
	}
	if _, err := fs.Stat(fs.PathJoin(dir, aside)); err == nil {
		return fmt.Errorf("swap: %s: %w", aside, os.ErrExist)
	}
	if err := FinishSwap(dir, o); err != nil {
		return err
	}
	if err := writeSwap(fs, dir, swap{1, from, aside}); err != nil {
		return storageError("begin the swap", err)
	}
	return FinishSwap(dir, o)
}

// FinishSwap finishes a swap that a crash cut off; mostly there is none. The store in dir must not be open.
func FinishSwap(dir string, o PebbleOptions) error {
	fs := o.files()
	if _, err := fs.Stat(fs.PathJoin(dir, swapFile)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	lock, err := fs.Lock(fs.PathJoin(dir, "LOCK"))
	if err != nil {
		return fmt.Errorf("finish the swap of a store: %w: %w", ErrLocked, err)
	}
	return errors.Join(finishSwap(fs, dir), lock.Close())
}

func finishSwap(fs vfs.FS, dir string) error {
	s, err := readSwap(fs, dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil // another process has just done it
	}
	if err != nil {
		return storageError("read the swap's marker", err)
	}
	from, aside := fs.PathJoin(dir, s.From), fs.PathJoin(dir, s.Aside)
	if s.Phase == 1 {
		if err := fs.MkdirAll(aside, 0o700); err != nil {
			return storageError("make "+s.Aside, err)
		}
		if err := moveStore(fs, dir, aside); err != nil {
			return storageError("move the old store aside", err)
		}
		s.Phase = 2
		if err := writeSwap(fs, dir, s); err != nil {
			return storageError("go on with the swap", err)
		}
	}
	if err := moveStore(fs, from, dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return storageError("move the new store in", err)
	}
	if err := fs.Remove(fs.PathJoin(dir, swapFile)); err != nil {
		return storageError("end the swap", err)
	}
	if err := syncDir(fs, dir); err != nil {
		return storageError("end the swap", err)
	}
	return storageError("remove "+s.From, fs.RemoveAll(from)) // its lock file is left in it
}

// moveStore moves a store's files from one folder to another, and has that on the disk.
func moveStore(fs vfs.FS, from, to string) error {
	names, err := fs.List(from)
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, n := range names {
		if isStoreFile(n) {
			if err := fs.Rename(fs.PathJoin(from, n), fs.PathJoin(to, n)); err != nil {
				return err
			}
		}
	}
	return errors.Join(syncDir(fs, to), syncDir(fs, from))
}

func writeSwap(fs vfs.FS, dir string, s swap) error {
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	name := fs.PathJoin(dir, swapFile)
	f, err := fs.Create(name+".new", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := fs.Rename(name+".new", name); err != nil {
		return err
	}
	return syncDir(fs, dir)
}

func readSwap(fs vfs.FS, dir string) (s swap, err error) {
	f, err := fs.Open(fs.PathJoin(dir, swapFile))
	if err != nil {
		return s, err
	}
	raw, err := io.ReadAll(io.LimitReader(f, 1<<12))
	if err = errors.Join(err, f.Close()); err != nil {
		return s, err
	}
	if err := json.Unmarshal(bytes.TrimSpace(raw), &s); err != nil || s.Phase < 1 || s.Phase > 2 || !plainName(s.From) || !plainName(s.Aside) {
		return s, fmt.Errorf("%w: the marker of a swap", ErrCorrupt)
	}
	return s, nil
}

// plainName is a name inside the folder and nowhere else.
func plainName(n string) bool {
	return n != "" && n != "." && n != ".." && !strings.ContainsAny(n, `/\`)
}
