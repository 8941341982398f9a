package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"go.uber.org/goleak"

	"github.com/magma-mcp/magma-mcp/memory/store"
)

// TestPrivate looks at the modes of all files and folders.
func TestPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are Unix's")
	}
	for name, key := range map[string][]byte{"plain": nil, "encrypted": testKey} {
		top := t.TempDir()
		dir := filepath.Join(top, "deep", "db")
		o := tiny(nil)
		o.Key = key
		kv := open(t, dir, o)
		if _, _, err := load(kv, 0, 50); err != nil {
			t.Fatal(err)
		}
		if err := kv.(store.Checkpointer).Checkpoint(filepath.Join(top, "backup")); err != nil {
			t.Fatal(err)
		}
		look := func() {
			t.Helper()
			err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
				if errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				if err != nil || path == top {
					return err
				}
				info, err := d.Info()
				if err != nil {
					return nil // removed meanwhile
				}
				// Pebble makes the lock file; it is empty.
				if info.Mode().Perm()&0o077 != 0 {
					t.Errorf("%s: %s is %v", name, path, info.Mode())
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		look()
		if err := kv.Close(); err != nil {
			t.Fatal(err)
		}
		look()
	}
}

// TestNoOldLogs: logs are removed, not kept to be used again.
func TestNoOldLogs(t *testing.T) {
	fs := vfs.NewMem()
	kv := open(t, "db", tiny(fs))
	if _, _, err := load(kv, 0, loadSize); err != nil {
		t.Fatal(err)
	}
	if err := kv.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := fs.List("db")
	if err != nil {
		t.Fatal(err)
	}
	logs := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasSuffix(n, ".log") })
	if len(logs) != 1 || slices.Contains(logs, "000002.log") {
		t.Errorf("logs after many flushes: %v", logs)
	}
	if slices.Contains(names, "OWNER") {
		t.Error("the owner file was left")
	}
}

// TestBacklog: while tables cannot be written Apply waits, with a bounded backlog, and goes on when they
// can; when they never can it returns the fault.
func TestBacklog(t *testing.T) {
	for _, fail := range []bool{false, true} {
		gate, first := make(chan struct{}), make(chan struct{}, 100)
		var on atomic.Bool
		fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			if on.Load() && op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".sst") {
				first <- struct{}{}
				<-gate
				if fail {
					return syscall.ENOSPC
				}
			}
			return nil
		}))
		kv := open(t, "db", tiny(fs))
		on.Store(true)
		var applied atomic.Int64
		done := make(chan error, 1)
		go func() {
			for n := 1; n <= 400; n++ {
				if _, err := kv.Apply(step(n)); err != nil {
					done <- err
					return
				}
				applied.Store(int64(n))
			}
			done <- nil
		}()
		<-first // the first memtable is being written; others fill up
		for last, same := int64(-1), 0; same < 200; {
			runtime.Gosched()
			if now := applied.Load(); now == last {
				same++
			} else {
				last, same = now, 0
			}
		}
		select {
		case err := <-done:
			t.Fatalf("400 batches of 6 kB went into memtables of 64 kB (fail %v): %v", fail, err)
		default:
		}
		close(gate)
		within(t, "the writer", func() {
			err := <-done
			if fail && !errors.Is(err, store.ErrFault) || !fail && err != nil {
				t.Errorf("fail %v: %v", fail, err)
			}
		})
		within(t, "closing", func() {
			if err := kv.Close(); fail != (err != nil) {
				t.Errorf("close, fail %v: %v", fail, err)
			}
		})
	}
}

// TestReadOnly reads a store that was not closed, and leaves every byte of it as it is.
func TestReadOnly(t *testing.T) {
	if _, err := store.OpenPebble(filepath.Join(t.TempDir(), "none"), store.PebbleOptions{ReadOnly: true}); err == nil {
		t.Error("a store that is not there was opened for reading")
	}
	for what, key := range map[string][]byte{"plain": nil, "encrypted": testKey} {
		im := images(t, key, 50)["crashed"]
		fs := im.fs(t, "", nil)
		kv := open(t, "db", store.PebbleOptions{FS: fs, Key: key, ReadOnly: true})
		if n, err := check(kv); err != nil || n != 53 {
			t.Errorf("%s: %d batches, %v", what, n, err)
		}
		if _, err := kv.Apply(step(54)); !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("%s: write: %v", what, err)
		}
		if err := kv.(store.Eraser).Erase(context.Background()); !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("%s: erase: %v", what, err)
		}
		if names, err := kv.(store.Finder).FindBytes(context.Background(), [][]byte{step(53)[1].Value}); err != nil || len(names) == 0 {
			t.Errorf("%s: look for bytes: %v, %v", what, names, err)
		}
		if err := kv.Close(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		for name, data := range takeImage(t, fs, "db") {
			if was, ok := im[name]; name != "LOCK" && (!ok || !bytes.Equal(was, data)) {
				t.Errorf("%s: %s was changed", what, name)
			}
		}
	}
}

// TestSalvage damages one file of a store at a time, everywhere, and reads what is left: each row as it
// was, and all rows outside the gaps.
func TestSalvage(t *testing.T) {
	const n = 400
	for what, key := range map[string][]byte{"plain": nil, "encrypted": testKey} {
		mem := vfs.NewCrashableMem()
		kv := open(t, "db", store.PebbleOptions{FS: mem, Key: key})
		rng := rand.New(rand.NewPCG(3, 3))
		want := map[string]string{}
		put := func(i int) {
			ops := memory(rng, i)
			for _, op := range ops {
				want[string(op.Key)] = string(op.Value)
			}
			c, err := kv.Apply(ops)
			if err == nil {
				err = c.Wait()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for i := range n {
			put(i)
		}
		if err := kv.(store.Compacter).Compact(context.Background()); err != nil {
			t.Fatal(err)
		}
		for i := range 20 { // in the log
			put(n + i)
		}
		im := takeImage(t, mem.CrashClone(vfs.CrashCloneCfg{}), "db")
		if err := kv.Close(); err != nil {
			t.Fatal(err)
		}
		for name, data := range im {
			if len(data) < 1000 && !long && !strings.HasPrefix(name, "OPTIONS") || name == "OWNER" || name == "KEY" {
				continue
			}
			fewest, parts := len(want), 3
			if long {
				parts = 40
			}
			for part := range parts {
				fs := im.fs(t, name, func(b []byte) []byte { b[len(b)*part/parts+len(b)/(2*parts)] ^= 1; return b })
				kv, err := store.OpenPebble("db", store.PebbleOptions{FS: fs, Key: key, Salvage: true})
				if err != nil {
					if !isDoomed(name) {
						t.Errorf("%s: %s, part %d: %v", what, name, part, err)
					}
					continue
				}
				got := map[string]bool{}
				gaps, err := kv.(store.Salvager).Salvage(nil, nil, func(k, v []byte) error {
					if want[string(k)] != string(v) {
						t.Errorf("%s: %s, part %d: row %q is not as it was", what, name, part, k)
					}
					got[string(k)] = true
					return nil
				})
				if err != nil {
					t.Errorf("%s: %s, part %d: %v", what, name, part, err)
				}
				for k := range want {
					in := slices.ContainsFunc(gaps, func(s store.Span) bool {
						return string(s.Lo) <= k && (s.Hi == nil || k < string(s.Hi))
					})
					// What a damaged log or manifest took is in no gap: nobody knows of it.
					if !got[k] && !in && strings.HasSuffix(name, ".sst") {
						t.Errorf("%s: %s, part %d: row %q is missing outside the gaps", what, name, part, k)
						break
					}
				}
				fewest = min(fewest, len(got))
				if err := kv.Close(); err != nil {
					t.Errorf("%s: close: %v", what, err)
				}
			}
			t.Logf("%s: %s damaged: at least %d of %d rows", what, name, fewest, len(want))
			if strings.HasSuffix(name, ".log") && fewest < n*12 {
				t.Errorf("%s: %s damaged: %d rows", what, name, fewest)
			}
		}
	}
}

// isDoomed is for files without which nothing can be found.
func isDoomed(name string) bool { return strings.HasPrefix(name, "MANIFEST-") }

// TestNothingLeft: a closed store leaves no goroutine, also after a fault.
func TestNothingLeft(t *testing.T) {
	before := goleak.IgnoreCurrent()
	var fail atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if fail.Load() && op.Kind == errorfs.OpFileSyncData {
			return syscall.EIO
		}
		return nil
	}))
	for range 5 {
		kv := open(t, "db", tiny(fs))
		if _, _, err := load(kv, 0, 60); err != nil {
			t.Fatal(err)
		}
		if err := kv.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var heard atomic.Int64
	var logged bytes.Buffer
	o := tiny(fs)
	o.OnFault = func(error) { heard.Add(1) }
	o.Logger = slog.New(slog.NewTextHandler(&logged, nil))
	kv := open(t, "db", o)
	fail.Store(true)
	var wg sync.WaitGroup
	for w := range 8 { // all of them are told, none hangs
		wg.Go(func() {
			c, err := kv.Apply(step(100 + w))
			if err == nil {
				err = c.Wait()
			}
			if !errors.Is(err, store.ErrFault) || !errors.Is(err, syscall.EIO) {
				t.Errorf("write on a failed disk: %v", err)
			}
		})
	}
	within(t, "writing", wg.Wait)
	if _, err := kv.Get([]byte("last")); !errors.Is(err, store.ErrFault) {
		t.Errorf("read after the fault: %v", err)
	}
	if err := kv.Close(); !errors.Is(err, store.ErrFault) {
		t.Errorf("close: %v", err)
	}
	goleak.VerifyNone(t, before)
	// Whoever met the fault tells of it, maybe after the others have seen it: by now nobody is left.
	if heard.Load() != 1 || !strings.Contains(logged.String(), "input/output error") {
		t.Errorf("OnFault was called %d times; logged %q", heard.Load(), logged.String())
	}
}

// TestCheckpointFault: a backup that fails is the backup's fault, and leaves nothing.
func TestCheckpointFault(t *testing.T) {
	every := 9
	if long {
		every = 1
	}
	for k := int64(1); ; k += int64(every) {
		var count atomic.Int64
		var did atomic.Bool
		mem := vfs.NewMem()
		fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if strings.HasPrefix(op.Path, "backup") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && count.Add(1) == k {
				did.Store(true)
				return syscall.ENOSPC
			}
			return nil
		}))
		kv := open(t, "db", tiny(fs))
		if _, _, err := load(kv, 0, 50); err != nil {
			t.Fatal(err)
		}
		within(t, "the checkpoint", func() {
			err := kv.(store.Checkpointer).Checkpoint("backup")
			if did.Load() != (err != nil) {
				t.Errorf("operation %d: %v", k, err)
			}
			if _, serr := mem.Stat("backup"); err != nil && serr == nil {
				t.Errorf("operation %d: half a backup was left", k)
			}
		})
		if _, _, err := load(kv, 50, 60); err != nil {
			t.Errorf("operation %d: the store after a failed backup: %v", k, err)
		}
		if err := kv.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() || !did.Load() {
			break
		}
	}
}

func ExampleOpenPebble() {
	kv, err := store.OpenPebble("db", store.PebbleOptions{FS: vfs.NewMem()})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	defer kv.Close()
	c, err := kv.Apply([]store.Op{
		{Kind: store.Set, Key: []byte("b"), Value: []byte("two")},
		{Kind: store.Set, Key: []byte("a"), Value: []byte("one")},
	})
	if err == nil {
		err = c.Wait() // now it survives a crash
	}
	for row, serr := range kv.Scan(nil, nil) {
		if err = errors.Join(err, serr); err != nil {
			break
		}
		fmt.Printf("%s=%s\n", row.Key, row.Value)
	}
	// Output:
	// a=one
	// b=two
}

// TestCloseMeanwhile closes a store in the midst of everything at once: each call ends, with an answer or
// ErrClosed, and none waits for another.
func TestCloseMeanwhile(t *testing.T) {
	for range 20 {
		kv := open(t, filepath.Join(t.TempDir(), "db"), tiny(nil))
		if _, _, err := load(kv, 0, 30); err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		var wg sync.WaitGroup
		var n atomic.Int64
		n.Store(1000)
		repeat := func(f func() error) {
			wg.Go(func() {
				for {
					err := f()
					if errors.Is(err, store.ErrClosed) {
						return
					}
					if err != nil {
						t.Errorf("while closing: %v", err)
						return
					}
				}
			})
		}
		for range 2 {
			repeat(func() error { _, err := kv.Apply(step(int(n.Add(1)))); return err })
			repeat(func() error { return kv.(store.Eraser).Erase(ctx) })
		}
		repeat(func() error { return kv.(store.Compacter).Compact(ctx) })
		repeat(func() error { return kv.(store.Syncer).Sync() })
		repeat(func() error { _, err := kv.(store.Finder).FindBytes(ctx, [][]byte{[]byte("zzz")}); return err })
		repeat(func() error {
			s, err := kv.Snapshot()
			if err != nil {
				return err
			}
			for _, serr := range s.Scan(nil, nil) {
				if serr != nil {
					err = serr
				}
			}
			return errors.Join(err, s.Close())
		})
		backups := filepath.Join(t.TempDir(), "backup")
		repeat(func() error { return kv.(store.Checkpointer).Checkpoint(fmt.Sprint(backups, n.Add(1))) })
		for n.Load() < 1030 {
			runtime.Gosched()
		}
		within(t, "closing", func() {
			if err := kv.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			wg.Wait()
		})
		if t.Failed() {
			return
		}
	}
}
