package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
	"github.com/natefinch/atomic"

	"github.com/magma-mcp/magma-mcp/memory"
	"github.com/magma-mcp/magma-mcp/tools"
)

// projectsFile, in the data folder, says which repository each automatic project name stands for, so
// that a second one of the same folder name gets a name of its own and both keep theirs.
const projectsFile = "auto-projects.json"

// autoProject is the project of --project auto: the name of the folder of the repository that encloses
// dir, or of dir where there is none. Where another repository has that name already in this data
// folder, the name gets the beginning of a hash of the path: "api-3f9c2a".
func autoProject(dataDir, dir string) (string, error) {
	root, err := enclosing(dir)
	if err != nil {
		return "", err
	}
	name, err := memory.CanonicalProject(filepath.Base(root), tools.DefaultProject, false)
	if err != nil { // the root folder, or a name that is none
		name = tools.DefaultProject
	}
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return "", fmt.Errorf("make the data folder: %w", err)
	}
	path := filepath.Join(dataDir, projectsFile)
	lock := flock.New(path + ".lock") // two windows opened at once shall not take one name
	if err := lock.Lock(); err != nil {
		return "", fmt.Errorf("lock which project is whose: %w", err)
	}
	defer func() { _ = lock.Unlock() }() // the system lets it go with the process at the latest
	known := map[string]string{}         // project -> folder
	raw, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(raw, &known)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read which project is whose: %w; remove %s to begin anew", err, path)
	}
	for project, folder := range known {
		if folder == root {
			return project, nil
		}
	}
	if _, taken := known[name]; taken {
		sum := sha256.Sum256([]byte(root))
		name = strings.TrimRight(name[:min(len(name), 100)], "-") + "-" + hex.EncodeToString(sum[:3])
	}
	known[name] = root
	out, err := json.MarshalIndent(known, "", "  ")
	if err != nil {
		return "", err
	}
	if err := atomic.WriteFile(path, strings.NewReader(string(out)+"\n")); err != nil {
		return "", fmt.Errorf("note which project is whose: %w", err)
	}
	return name, nil
}

// enclosing is the nearest folder upwards from dir that holds a repository, else dir; links resolved.
func enclosing(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for at := dir; ; at = filepath.Dir(at) {
		for _, mark := range []string{".git", ".hg", ".jj", ".svn"} {
			if _, err := os.Stat(filepath.Join(at, mark)); err == nil {
				return at, nil
			}
		}
		if at == filepath.Dir(at) {
			return dir, nil
		}
	}
}
