package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/magma-mcp/magma-mcp/memory/store"
)

// long is set for the long forms: every point of failure instead of a sample.
var long = os.Getenv("MAGMA_LONG") == "1"

// step is one batch of the load. Batch n writes its own number under keys that all batches share, under
// keys of its own, and deletes what an earlier one wrote, so that the rows after any number of batches tell
// how many there were, and half a batch or a hole shows.
func step(n int) []store.Op {
	pad := bytes.Repeat([]byte{byte('a' + n%26)}, 700)
	val := func(i int) []byte { return append(fmt.Appendf(nil, "%d.%d ", n, i), pad...) }
	ops := []store.Op{{Kind: store.Set, Key: []byte("last"), Value: fmt.Append(nil, n)}}
	for i := range 4 {
		ops = append(ops, store.Op{Kind: store.Set, Key: fmt.Appendf(nil, "shared/%d", i), Value: val(i)})
		ops = append(ops, store.Op{Kind: store.Set, Key: fmt.Appendf(nil, "own/%05d/%d", n, i), Value: val(i)})
	}
	if n >= 5 && n%2 == 1 {
		ops = append(ops, store.Op{Kind: store.Delete, Key: fmt.Appendf(nil, "own/%05d/1", n-5)})
	}
	if n >= 20 && n%10 == 0 {
		ops = append(ops, store.Op{Kind: store.DeleteRange, Key: fmt.Appendf(nil, "own/%05d", n-20), Value: fmt.Appendf(nil, "own/%05d", n-10)})
	}
	return ops
}

// after is the rows that the first n batches (1 to n) leave.
func after(n int) map[string]string {
	rows := map[string]string{}
	for i := 1; i <= n; i++ {
		for _, op := range step(i) {
			switch op.Kind {
			case store.Set:
				rows[string(op.Key)] = string(op.Value)
			case store.Delete:
				delete(rows, string(op.Key))
			case store.DeleteRange:
				for k := range rows {
					if string(op.Key) <= k && k < string(op.Value) {
						delete(rows, k)
					}
				}
			}
		}
	}
	return rows
}

// check reads the whole store and returns how many batches are in it; an error says what is wrong.
func check(kv store.KV) (int, error) {
	n := 0
	switch v, err := kv.Get([]byte("last")); {
	case err == nil:
		if _, err := fmt.Sscan(string(v), &n); err != nil {
			return 0, fmt.Errorf("last is %q", v)
		}
	case !errors.Is(err, store.ErrNotFound):
		return 0, err
	}
	want := after(n)
	seen := 0
	for row, err := range kv.Scan(nil, nil) {
		if err != nil {
			return n, err
		}
		if v, ok := want[string(row.Key)]; !ok || v != string(row.Value) {
			return n, fmt.Errorf("WRONG: %d batches, row %q is not theirs", n, row.Key)
		}
		seen++
	}
	if seen != len(want) {
		return n, fmt.Errorf("WRONG: %d batches have %d rows, the store has %d", n, len(want), seen)
	}
	for k, v := range want { // by the other path: point reads use filters
		if got, err := kv.Get([]byte(k)); err != nil || string(got) != v {
			if err != nil {
				return n, fmt.Errorf("get %q: %w", k, err)
			}
			return n, fmt.Errorf("WRONG: get %q", k)
		}
	}
	return n, nil
}

// load applies batches from+1 to to until one fails. It returns how many were applied at all and how many
// acknowledged, with the error that ended it.
func load(kv store.KV, from, to int) (applied, acked int, err error) {
	applied, acked = from, from
	for n := from + 1; n <= to; n++ {
		c, err := kv.Apply(step(n))
		if err != nil {
			// It may still be there, as of a write that a crash cuts short.
			return n, acked, err
		}
		applied = n
		if n%3 == 0 { // the others ride along: durability keeps the order
			if err := c.Wait(); err != nil {
				return applied, acked, err
			}
			acked = n
		}
		if n%40 == 0 {
			if err := kv.(store.Compacter).Compact(context.Background()); err != nil {
				return applied, acked, err
			}
		}
	}
	return applied, acked, nil
}

// tiny makes tables, logs and compactions come and go within a hundred batches.
func tiny(fs vfs.FS) store.PebbleOptions {
	return store.PebbleOptions{FS: fs, MemtableBytes: 64 << 10, CacheBytes: 256 << 10}
}

const loadSize = 120

// within fails the test if f does not return in time: a fault must not hang a call.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(60 * time.Second):
		buf := make([]byte, 1<<20)
		t.Fatalf("%s hangs\n%s", what, buf[:stacks(buf)])
	}
}

// TestFaults fails each file operation in turn, once or from then on, under a mixed load. Whatever fails,
// the process lives, calls return an error that says so, and after reopening, from the disk as it is and
// as a crash would have left it, every acknowledged batch is there and nothing is half there.
func TestFaults(t *testing.T) {
	for _, mode := range []string{"once", "for good", "disk full", "encrypted", "opening", "opening, for good", "opening, encrypted"} {
		t.Run(mode, func(t *testing.T) {
			every, key := 61, []byte(nil)
			if strings.Contains(mode, "encrypted") {
				key = testKey
			}
			if strings.Contains(mode, "opening") {
				every = 23
			}
			if long {
				every = 1
			}
			injected, points := 0, 0
			for k := 1 + rand.IntN(every); ; k += every {
				points++
				hit := faultAt(t, mode, int64(k), key)
				if t.Failed() {
					t.Fatalf("%s, operation %d", mode, k)
				}
				if !hit {
					break
				}
				injected++
			}
			t.Logf("%d faults injected", injected)
			if injected < 5 {
				t.Errorf("only %d faults: the load is too small", injected)
			}
		})
	}
}

// faultAt runs the load with the k-th file operation failing; hit is false when there are fewer.
func faultAt(t *testing.T, mode string, k int64, key []byte) (hit bool) {
	mem := vfs.NewCrashableMem()
	acked, upTo := 0, loadSize
	if strings.Contains(mode, "opening") {
		// A store that was not closed: opening replays its log.
		kv := open(t, "db", store.PebbleOptions{FS: mem, Key: key})
		if _, _, err := load(kv, 0, 30); err != nil {
			t.Fatal(err)
		}
		mem = mem.CrashClone(vfs.CrashCloneCfg{})
		if err := kv.Close(); err != nil {
			t.Fatal(err)
		}
		acked, upTo = 30, 33
	}
	from := acked
	var count atomic.Int64
	var on, did atomic.Bool
	on.Store(true)
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if !on.Load() {
			return nil
		}
		if mode == "disk full" {
			switch op.Kind {
			case errorfs.OpCreate, errorfs.OpFileWrite, errorfs.OpFilePreallocate, errorfs.OpMkdirAll, errorfs.OpLink:
			default:
				return nil
			}
			if count.Add(1) >= k/4 {
				did.Store(true)
				return syscall.ENOSPC
			}
			return nil
		}
		if n := count.Add(1); n == k || n > k && strings.Contains(mode, "for good") {
			did.Store(true)
			return errorfs.ErrInjected
		}
		return nil
	}))
	o := tiny(fs)
	o.Key = key
	within(t, "the load", func() {
		kv, err := store.OpenPebble("db", o)
		if err != nil {
			wantFault(t, "open", err)
			return
		}
		var applied int
		applied, acked, err = load(kv, from, upTo)
		if err != nil {
			wantFault(t, "write", err)
			if _, err := kv.Get([]byte("last")); err == nil {
				// A read may have failed, which stops nothing: then writes go on.
				if _, err := kv.Apply(nil); err != nil {
					t.Errorf("reads go on, writes do not: %v", err)
				}
			}
		} else if n, err := check(kv); err != nil {
			wantFault(t, "check", err)
		} else if n != applied {
			t.Errorf("%d batches are visible, want %d", n, applied)
		}
		if err := kv.Close(); err != nil {
			wantFault(t, "close", err)
		} else if !did.Load() {
			acked = applied
		}
		if err := kv.Close(); err != nil {
			t.Errorf("second close: %v", err)
		}
	})
	on.Store(false)
	if t.Failed() {
		return did.Load()
	}
	rng := rand.New(rand.NewPCG(uint64(k), 1))
	clones := map[string]vfs.FS{
		"a crash":                mem.CrashClone(vfs.CrashCloneCfg{}),
		"a crash that kept some": mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rng}),
		"closing":                mem,
	}
	for how, fs := range clones {
		within(t, "reopening", func() {
			o := tiny(fs)
			o.Key = key
			kv, err := store.OpenPebble("db", o)
			if err != nil {
				t.Errorf("reopen after %s: %v", how, err)
				return
			}
			n, err := check(kv)
			if err != nil {
				t.Errorf("after %s: %v", how, err)
			} else if n < acked {
				t.Errorf("after %s: %d batches, %d were acknowledged", how, n, acked)
			} else if _, _, err := load(kv, n, n+5); err != nil {
				t.Errorf("writing on after %s: %v", how, err)
			}
			if err := kv.Close(); err != nil {
				t.Errorf("close after %s: %v", how, err)
			}
		})
	}
	return did.Load()
}

func wantFault(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, store.ErrFault) && !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrLocked) {
		t.Errorf("%s: %v, want ErrFault", what, err)
	}
	if strings.Contains(err.Error(), "WRONG") {
		t.Errorf("%s: %v", what, err)
	}
}

// TestCrash cuts the power after each write to the disk, with what was not synced kept whole, in part or
// not at all.
func TestCrash(t *testing.T) {
	for name, key := range map[string][]byte{"plain": nil, "encrypted": testKey} {
		t.Run(name, func(t *testing.T) {
			every := 41
			if long {
				every = 1
			}
			survived := 0
			for k := 1 + rand.IntN(every); ; k += every {
				hit := crashAt(t, int64(k), key)
				if t.Failed() {
					t.Fatalf("write %d", k)
				}
				if !hit {
					break
				}
				survived += 3
			}
			t.Logf("%d crashes survived", survived)
			if survived < 20 {
				t.Errorf("only %d crashes: the load is too small", survived)
			}
		})
	}
}

func crashAt(t *testing.T, k int64, key []byte) bool {
	mem := vfs.NewCrashableMem()
	var count, acked atomic.Int64
	var clones []vfs.FS
	var ackedThen int64
	var mu sync.Mutex
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && count.Add(1) == k {
			mu.Lock()
			defer mu.Unlock()
			ackedThen = acked.Load()
			for _, percent := range []int{0, 50, 100} {
				clones = append(clones, mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(uint64(k), 2))}))
			}
		}
		return nil
	}))
	o := tiny(fs)
	o.Key = key
	kv := open(t, "db", o)
	for n := 1; n <= loadSize; n++ {
		c, err := kv.Apply(step(n))
		if err != nil {
			t.Fatal(err)
		}
		if n%2 == 0 {
			if err := c.Wait(); err != nil {
				t.Fatal(err)
			}
			acked.Store(int64(n))
		}
	}
	if err := kv.Close(); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for i, fs := range clones {
		o := tiny(fs)
		o.Key = key
		kv, err := store.OpenPebble("db", o)
		if err != nil {
			t.Errorf("clone %d: %v", i, err)
			continue
		}
		n, err := check(kv)
		if err != nil || int64(n) < ackedThen {
			t.Errorf("clone %d: %d batches, %d were acknowledged, %v", i, n, ackedThen, err)
		}
		if err := kv.Close(); err != nil {
			t.Error(err)
		}
	}
	return len(clones) > 0
}

// TestLocked opens a store twice, in this process and from another.
func TestLocked(t *testing.T) {
	if dir := os.Getenv("STORE_TEST_OPEN"); dir != "" {
		_, err := store.OpenPebble(dir, store.PebbleOptions{})
		if !errors.Is(err, store.ErrLocked) {
			t.Fatalf("open from another process: %v", err)
		}
		fmt.Println("refused:", err)
		return
	}
	dir := filepath.Join(t.TempDir(), "store")
	kv := open(t, dir, store.PebbleOptions{})
	for _, o := range []store.PebbleOptions{{}, {ReadOnly: true}} {
		if _, err := store.OpenPebble(dir, o); !errors.Is(err, store.ErrLocked) || !strings.Contains(err.Error(), "this process") {
			t.Errorf("second open: %v", err)
		}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestLocked$", "-test.v")
	cmd.Env = append(os.Environ(), "STORE_TEST_OPEN="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("the other process: %v\n%s", err, out)
	}
	if _, err := kv.Apply(step(1)); err != nil {
		t.Errorf("the owner after the attempts: %v", err)
	}
	if err := kv.Close(); err != nil {
		t.Fatal(err)
	}
	kv = open(t, dir, store.PebbleOptions{})
	if n, err := check(kv); n != 1 || err != nil {
		t.Errorf("%d batches, %v", n, err)
	}
	if err := kv.Close(); err != nil {
		t.Fatal(err)
	}
}
