package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/natefinch/atomic"
)

// backupSuffix is what a copy's name ends with. There is one for each file: what it was before the first
// change; later changes keep it, and Undo takes it away.
const backupSuffix = ".before-magma"

// absentMark is what the copy holds where there was no file.
const absentMark = "magma-mcp: this file did not exist before `magma-mcp setup`\n"

// Change is what was done, or would be done, to one file.
type Change struct {
	Path   string `json:"path"`
	What   string `json:"what"`             // "server", "rule" or "hooks"
	Action string `json:"action"`           // "create", "change", "delete", "restore" or "none"
	Backup string `json:"backup,omitempty"` // where the old content is
	New    []byte `json:"-"`                // what it holds then
}

// Do edits the files, all or none: every edit is worked out before the first is written. With dry set
// nothing is written.
func Do(files []File, dry bool) ([]Change, error) {
	changes, err := plan(files, func(f File, now []byte, there bool) ([]byte, string, error) {
		next, err := f.Edit(now)
		switch {
		case err != nil:
			return nil, "", err
		case !there:
			return next, "create", nil
		case bytes.Equal(next, now):
			return next, "none", nil
		}
		return next, "change", nil
	})
	if err != nil || dry {
		return changes, err
	}
	for i, c := range changes {
		if c.Action == "none" {
			continue
		}
		if changes[i].Backup, err = backup(c.Path); err != nil {
			return changes[:i], err
		}
		if err := write(c.Path, c.New); err != nil {
			return changes[:i], err
		}
	}
	return changes, nil
}

// Undo takes our part out of the files again. A file that is as Do left it becomes what it was, to the
// byte; one that was changed since keeps those changes.
func Undo(files []File, dry bool) ([]Change, error) {
	changes, err := plan(files, func(f File, now []byte, there bool) ([]byte, string, error) {
		if !there {
			return nil, "none", nil
		}
		if old, existed, err := readBackup(f.Path); err == nil {
			if again, err := f.Edit(old); err == nil && bytes.Equal(again, now) {
				if !existed {
					return nil, "delete", nil
				}
				return old, "restore", nil
			}
		}
		next, err := f.Remove(now)
		switch {
		case err != nil:
			return nil, "", err
		case bytes.Equal(next, now):
			return next, "none", nil
		case next == nil:
			return nil, "delete", nil
		}
		return next, "change", nil
	})
	if err != nil || dry {
		return changes, err
	}
	for i, c := range changes {
		switch c.Action {
		case "delete":
			err = os.Remove(resolve(c.Path))
		case "change", "restore":
			err = write(c.Path, c.New)
		}
		if err != nil {
			return changes[:i], err
		}
		if err := os.Remove(c.Path + backupSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return changes[:i+1], fmt.Errorf("remove the copy: %w", err)
		}
	}
	return changes, nil
}

func plan(files []File, do func(f File, now []byte, there bool) ([]byte, string, error)) ([]Change, error) {
	var out []Change
	for _, f := range files {
		now, err := os.ReadFile(f.Path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read the client's settings: %w", err)
		}
		next, action, err := do(f, now, err == nil)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		out = append(out, Change{Path: f.Path, What: f.What, Action: action, New: next})
	}
	return out, nil
}

// backup keeps what path holds now, unless an older copy is there.
func backup(path string) (string, error) {
	to := path + backupSuffix
	if _, err := os.Stat(to); err == nil {
		return to, nil
	}
	old, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		old, err = []byte(absentMark), nil
	}
	if err != nil {
		return "", fmt.Errorf("keep a copy: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("make the client's folder: %w", err)
	}
	// Settings may hold keys: the copy is as private as can be.
	if err := os.WriteFile(to, old, 0o600); err != nil {
		return "", fmt.Errorf("keep a copy: %w", err)
	}
	return to, nil
}

// readBackup is what a file was before the first change, and whether it was there at all.
func readBackup(path string) (old []byte, existed bool, err error) {
	old, err = os.ReadFile(path + backupSuffix)
	if err != nil || string(old) == absentMark {
		return nil, false, err
	}
	return old, true, nil
}

// write replaces a file whole, through a symbolic link where it is one, and keeps its mode.
func write(path string, b []byte) error {
	real := resolve(path)
	if err := os.MkdirAll(filepath.Dir(real), 0o755); err != nil {
		return fmt.Errorf("make the client's folder: %w", err)
	}
	mode := fs.FileMode(0o600)
	if fi, err := os.Stat(real); err == nil {
		mode = fi.Mode().Perm()
	}
	if err := atomic.WriteFile(real, bytes.NewReader(b)); err != nil {
		return fmt.Errorf("write %s: %w", real, err)
	}
	return os.Chmod(real, mode)
}

func resolve(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// DefaultName is the server's key in a client's settings where the user gives no other.
const DefaultName = "magma-mcp"

// What State says.
const (
	StateSet        = "set up"
	StateOther      = "set up otherwise" // another program or other flags
	StateNot        = "not set up"
	StateAbsent     = "not there" // no settings, so perhaps no such client
	StateUnreadable = "unreadable"
)

// State says where a client keeps its settings and whether the server is in them.
func State(id string, p Place, s Server) (path, state string) {
	files, _, err := Plan(id, p, s, Choice{})
	if err != nil {
		return "", err.Error()
	}
	f := files[0]
	now, err := os.ReadFile(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return f.Path, StateAbsent
	}
	if err != nil {
		return f.Path, StateUnreadable
	}
	with, err := f.Edit(now)
	if err != nil {
		return f.Path, StateUnreadable
	}
	without, err := f.Remove(now)
	switch {
	case err != nil:
		return f.Path, StateUnreadable
	case bytes.Equal(now, with):
		return f.Path, StateSet
	case !bytes.Equal(now, without):
		return f.Path, StateOther
	}
	return f.Path, StateNot
}
