//go:build unix

package memory

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/embed/ollamatest"
	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// allocated is the disk space that a folder takes, in bytes, reserved space included.
func allocated(t *testing.T, dir string) (sum int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error {
		if st, err := os.Lstat(path); err == nil { // else it was removed meanwhile
			sum += st.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// liveBytes is the keys and values of everything that is there for a memory that is there: what was forgotten
// counts for nothing, its tombstones and refs neither.
func liveBytes(t *testing.T, b *Bank) (sum int64, memories int) {
	t.Helper()
	have := map[graph.ID]bool{}
	lo, hi := store.RecordRange(1)
	if err := visit(b.kv, lo, hi, func(k, _ []byte) error { have[store.IDOf(k)] = true; return nil }); err != nil {
		t.Fatal(err)
	}
	if err := visit(b.kv, nil, nil, func(k, v []byte) error {
		if k[0] == 'x' || k[0] == 't' && !have[store.IDOf(k)] {
			return nil
		}
		sum += int64(len(k) + len(v))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return sum, len(have)
}

// TestSpace remembers and forgets with restarts, on a real disk, with vectors of 384 dimensions and what the
// background derives: 10,000 writes and deletes in the long form. The space that the store takes stays under 3
// times its live data plus 64 MB while open, and under twice of it after a clean close.
func TestSpace(t *testing.T) {
	total, restarts := 900, 3
	if long {
		total, restarts = 10_000, 8
	}
	dir := filepath.Join(t.TempDir(), "db")
	o := Options{Zone: time.UTC}
	withOllama(ollamatest.NewFake(ollamatest.Model{Name: "a", Digest: "sha-a", Dim: 384}))(&o)
	o.Consolidation.Batch = 64
	r := rand.New(rand.NewPCG(3, 3))
	talk := newTalker(3)
	var ids []string
	writes, deletes := 0, 0
	var most int64
	forget := func(b *Bank, some []string) {
		t.Helper()
		if _, err := b.Forget(ctx, Choice{IDs: some}); err != nil {
			t.Fatal(err)
		}
		deletes += len(some)
	}
	shut := func(b *Bank) {
		t.Helper()
		if err := b.Settle(ctx); err != nil {
			t.Fatal(err)
		}
		live, n := liveBytes(t, b)
		opened := allocated(t, dir)
		most = max(most, opened-3*live)
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		closed := allocated(t, dir)
		t.Logf("%d writes, %d deletes: %d memories, %.2f MB live; open %.2f MB, closed %.2f MB", writes, deletes, n, float64(live)/1e6, float64(opened)/1e6, float64(closed)/1e6)
		if closed > 2*live+128<<10 { // the few files of an empty store
			t.Errorf("closed: %d bytes for %d of live data", closed, live)
		}
	}
	for range restarts {
		b, err := Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		for range total / restarts {
			if len(ids) > 20 && r.IntN(100) < 40 {
				i := r.IntN(len(ids))
				forget(b, ids[i:i+1])
				ids[i] = ids[len(ids)-1]
				ids = ids[:len(ids)-1]
			} else {
				rec, err := b.Remember(ctx, Note{Content: talk.sentence(), Session: fmt.Sprint("s", writes/25), Speaker: []string{"Ana", "Bo"}[writes%2]})
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, rec.ID)
				writes++
			}
			if (writes+deletes)%200 == 0 {
				live, _ := liveBytes(t, b)
				most = max(most, allocated(t, dir)-3*live)
			}
		}
		shut(b)
	}
	b, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	forget(b, ids[:len(ids)*9/10])
	shut(b)
	t.Logf("at most %.1f MB over 3 times the live data", float64(most)/1e6)
	if most > 64<<20 {
		t.Errorf("%d bytes over 3 times the live data", most)
	}
}
