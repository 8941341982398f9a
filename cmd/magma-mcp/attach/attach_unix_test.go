//go:build unix

package attach

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/magma-mcp/magma-mcp/memory"
)

func TestStaleFilesDoNotBlock(t *testing.T) {
	dir := t.TempDir()
	path, err := socketPath(dir, shortDir(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		path:                           "not even a socket",
		filepath.Join(dir, ownerName):  `{"address":"` + path + `","pid":1}`,
		filepath.Join(dir, lockName):   "left behind",
		filepath.Join(dir, "whatever"): "",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := start(t, dir, opener(dir), Options{})
	role(t, a, RoleOwner)
	b := start(t, dir, opener(dir), Options{})
	role(t, b, RoleAttached)
	b.Close()
	a.Close()
	for _, name := range []string{path, filepath.Join(dir, ownerName)} {
		if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left behind: %v", name, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ownerName), []byte("{broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	role(t, start(t, dir, opener(dir), Options{}), RoleOwner)
}

func TestLongRuntimeDirFallsBack(t *testing.T) {
	dir := t.TempDir()
	if _, err := socketPath(dir, "/tmp/"+strings.Repeat("x", 120)); err == nil {
		t.Error("a path over the limit was taken")
	}
	t.Setenv("XDG_RUNTIME_DIR", "/tmp/"+strings.Repeat("x", 120))
	p, err := socketPath(dir, "")
	if err != nil || len(p) > maxSocketPath {
		t.Errorf("%q, %v", p, err)
	}
}

// A sweeper of temporary folders takes the socket of a running owner away.
func TestSocketSweptAwayComesBack(t *testing.T) {
	dir := t.TempDir()
	a := start(t, dir, opener(dir), Options{socketCheck: time.Millisecond})
	ctx := testContext(t)
	if err := os.Remove(a.State().Address); err != nil {
		t.Fatal(err)
	}
	b := start(t, dir, opener(dir), Options{})
	role(t, b, RoleAttached)
	if _, err := b.Remember(ctx, memory.Note{Content: "x"}); err != nil {
		t.Error(err)
	}
}
