//go:build unix

package store_test

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/magma-mcp/magma-mcp/memory/store"
)

// allocated is the disk space that a folder takes, in bytes, reserved space included.
func allocated(t *testing.T, dir string) (sum int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // removed meanwhile
		}
		if st, err := os.Lstat(path); err == nil {
			sum += st.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// TestSpace writes and deletes 10,000 memories of 12 keys with restarts. The space that the store takes,
// reserved space included, stays under 3 times the live data plus 64 MB while open, and twice after a
// clean close.
func TestSpace(t *testing.T) {
	for name, key := range map[string][]byte{"plain": nil, "encrypted": testKey} {
		t.Run(name, func(t *testing.T) {
			total := 2000
			if long {
				total = 10000
			}
			dir := filepath.Join(t.TempDir(), "db")
			rng := rand.New(rand.NewPCG(1, 1))
			live := map[int]int64{}
			var size, most int64
			next := 0
			for restart := range 5 {
				kv := open(t, dir, store.PebbleOptions{Key: key})
				for range total / 5 {
					ops := memory(rng, next)
					for _, op := range ops {
						live[next] += int64(len(op.Key) + len(op.Value))
					}
					size += live[next]
					next++
					if gone := rng.IntN(next); rng.IntN(10) < 9 && live[gone] > 0 {
						size -= live[gone]
						delete(live, gone)
						for _, op := range memory(rand.New(rand.NewPCG(9, 9)), gone) {
							ops = append(ops, store.Op{Kind: store.Delete, Key: op.Key})
						}
					}
					if err := kv.(store.Syncer).ApplyUnsynced(ops); err != nil {
						t.Fatal(err)
					}
					if next%50 == 0 {
						took := allocated(t, dir)
						most = max(most, took-3*size)
					}
				}
				opened := allocated(t, dir)
				if err := kv.Close(); err != nil {
					t.Fatal(err)
				}
				closed := allocated(t, dir)
				t.Logf("restart %d: %d memories live, %.1f MB; open %.1f MB, closed %.1f MB", restart, len(live), mb(size), mb(opened), mb(closed))
				if closed > 2*size+128<<10 { // the few files of an empty store

					t.Errorf("closed: %d bytes for %d of live data", closed, size)
				}
			}
			kv := open(t, dir, store.PebbleOptions{Key: key})
			for n := range live { // nearly all of it
				if n%20 == 0 {
					continue
				}
				var ops []store.Op
				for _, op := range memory(rand.New(rand.NewPCG(9, 9)), n) {
					ops = append(ops, store.Op{Kind: store.Delete, Key: op.Key})
				}
				if err := kv.(store.Syncer).ApplyUnsynced(ops); err != nil {
					t.Fatal(err)
				}
				size -= live[n]
			}
			if err := kv.Close(); err != nil {
				t.Fatal(err)
			}
			closed := allocated(t, dir)
			t.Logf("after deleting nearly all: %.1f MB live, closed %.1f MB", mb(size), mb(closed))
			if closed > 2*size+128<<10 { // the few files of an empty store

				t.Errorf("closed: %d bytes for %d of live data", closed, size)
			}
			t.Logf("at most %.1f MB over 3 times the live data", mb(most))
			if most > 64<<20 {
				t.Errorf("%d bytes over 3 times the live data", most)
			}
		})
	}
}

func mb(n int64) float64 { return float64(n) / (1 << 20) }
