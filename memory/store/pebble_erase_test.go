package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/magma-mcp/magma-mcp/memory/store"
)

const rare = "xylotomous-quagga"

// TestErase writes a rare word in every way that leaves traces, deletes it, erases, and looks for it in
// the files and in a checkpoint.
func TestErase(t *testing.T) {
	for _, c := range []struct {
		name string
		o    store.PebbleOptions
	}{
		{"disk", store.PebbleOptions{MemtableBytes: 256 << 10}},
		{"memory", store.PebbleOptions{FS: vfs.NewMem(), MemtableBytes: 64 << 10}},
		{"encrypted", store.PebbleOptions{Key: testKey}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "db")
			kv := open(t, dir, c.o)
			e, f, cp := kv.(store.Eraser), kv.(store.Finder), kv.(store.Compacter)
			ctx := context.Background()
			words := [][]byte{[]byte(rare)}
			find := func() []string {
				t.Helper()
				names, err := f.FindBytes(ctx, words)
				if err != nil {
					t.Fatal(err)
				}
				return names
			}
			put := func(kv store.KV, ops ...store.Op) {
				t.Helper()
				c, err := kv.Apply(ops)
				if err == nil {
					err = c.Wait()
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			text := func(i int) []byte {
				// Compressible, so that the raw bytes of a table do not show the word.
				return []byte(strings.Repeat(fmt.Sprintf("the %s of entry %d; ", rare, i), 30))
			}
			key := func(i int) []byte { return fmt.Appendf(nil, "m/%05d", i) }
			filler := func(n int) {
				t.Helper()
				for i := range n {
					put(kv, store.Op{Kind: store.Set, Key: fmt.Appendf(nil, "z/%d/%05d", n, i), Value: bytes.Repeat([]byte("filler "), 150)})
				}
			}
			// In the lowest level, with tables on both sides.
			put(kv, store.Op{Kind: store.Set, Key: []byte("a"), Value: []byte("a")})
			for i := range 20 {
				put(kv, store.Op{Kind: store.Set, Key: key(i), Value: text(i)})
			}
			filler(50)
			if err := cp.Compact(ctx); err != nil {
				t.Fatal(err)
			}
			// Overwritten, with a snapshot between; through flushes and logs.
			snap, err := kv.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			for i := range 10 {
				put(kv, store.Op{Kind: store.Set, Key: key(i), Value: text(i + 1000)})
				filler(10 + i)
			}
			if names := find(); len(names) == 0 {
				t.Fatal("the word is not found where it is")
			} else {
				t.Logf("before: %v", names)
			}
			put(kv, store.Op{Kind: store.DeleteRange, Key: key(0), Value: key(5)})
			var ops []store.Op
			for i := 5; i < 20; i++ {
				ops = append(ops, store.Op{Kind: store.Delete, Key: key(i)})
			}
			put(kv, ops...)
			if err := cp.Compact(ctx); err != nil { // while the snapshot keeps the old rows
				t.Fatal(err)
			}
			if names := find(); len(names) == 0 {
				t.Error("a snapshot should have kept the word: the test shows nothing")
			}
			short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			if err := e.Erase(short); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("erase with a snapshot from before open: %v", err)
			}
			cancel()
			if v, err := snap.Get(key(7)); err != nil || !bytes.Equal(v, text(7)) {
				t.Errorf("the snapshot after the attempt: %v", err)
			}
			if err := snap.Close(); err != nil {
				t.Fatal(err)
			}
			// Readers that begin later and go on all the while are no hindrance.
			stop := make(chan struct{})
			reading := make(chan error, 1)
			go func() {
				for {
					for _, err := range kv.Scan(nil, nil) {
						if err != nil {
							reading <- err
							return
						}
					}
					select {
					case <-stop:
						reading <- nil
						return
					default:
					}
				}
			}()
			if err := e.Erase(ctx); err != nil {
				t.Fatal(err)
			}
			close(stop)
			if err := <-reading; err != nil {
				t.Errorf("reading meanwhile: %v", err)
			}
			if names := find(); len(names) > 0 {
				t.Errorf("after erasing, the word is in %v", names)
			}
			copied := filepath.Join(t.TempDir(), "checkpoint")
			if err := kv.(store.Checkpointer).Checkpoint(copied); err != nil {
				t.Fatal(err)
			}
			if err := kv.(store.Checkpointer).Checkpoint(copied); err == nil {
				t.Error("a checkpoint over another")
			}
			ck := open(t, copied, c.o)
			if names, err := ck.(store.Finder).FindBytes(ctx, words); err != nil || len(names) > 0 {
				t.Errorf("in the checkpoint: %v, %v", names, err)
			}
			if a, b := rows(t, kv), rows(t, ck); !slices.Equal(a, b) || len(a) < 50 {
				t.Errorf("the checkpoint has %d rows, the store %d", len(b), len(a))
			}
			for _, kv := range []store.KV{ck, kv} {
				if err := kv.Close(); err != nil {
					t.Error(err)
				}
			}
			kv = open(t, dir, c.o)
			if names, err := kv.(store.Finder).FindBytes(ctx, words); err != nil || len(names) > 0 {
				t.Errorf("after reopening: %v, %v", names, err)
			}
			if err := kv.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func rows(t testing.TB, r store.Reader) (out []string) {
	t.Helper()
	for row, err := range r.Scan(nil, nil) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(row.Key)+"="+string(row.Value))
	}
	return out
}

// TestEraseSpan erases a part: the rest is not rewritten.
func TestEraseSpan(t *testing.T) {
	o := store.PebbleOptions{FS: vfs.NewMem()}
	kv := open(t, "db", o)
	defer kv.Close()
	ctx := context.Background()
	put := func(space string, i int, v string) {
		t.Helper()
		if err := kv.(store.Syncer).ApplyUnsynced([]store.Op{{Kind: store.Set, Key: fmt.Appendf(nil, "%s/%06d", space, i), Value: []byte(v)}}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3000 {
		put("a", i, strings.Repeat(fmt.Sprint(i*7919), 100))
		put("b", i, rare+strings.Repeat(fmt.Sprint(i*104729), 100))
		put("c", i, rare+strings.Repeat(fmt.Sprint(i*7919), 100))
	}
	if err := kv.(store.Compacter).Compact(ctx); err != nil {
		t.Fatal(err)
	}
	if err := kv.(store.Syncer).ApplyUnsynced([]store.Op{{Kind: store.DeleteRange, Key: []byte("b/"), Value: []byte("b0")}}); err != nil {
		t.Fatal(err)
	}
	if err := kv.(store.Eraser).Erase(ctx, store.Span{Lo: []byte("b/"), Hi: []byte("b0")}); err != nil {
		t.Fatal(err)
	}
	names, err := kv.(store.Finder).FindBytes(ctx, [][]byte{[]byte("104729104729"), []byte("b/000500")})
	if err != nil || len(names) > 0 {
		t.Errorf("after erasing: %v, %v", names, err)
	}
	if names, err = kv.(store.Finder).FindBytes(ctx, [][]byte{[]byte(rare)}); err != nil || len(names) == 0 {
		t.Errorf("what was to stay: %v, %v", names, err)
	}
	if n := len(rows(t, kv)); n != 6000 {
		t.Errorf("%d rows, want 6000", n)
	}
}

// TestCopyStore encrypts a store, changes its key, and takes it off again.
func TestCopyStore(t *testing.T) {
	ctx := context.Background()
	fs := vfs.NewMem()
	src := open(t, "plain", store.PebbleOptions{FS: fs})
	if _, _, err := load(src, 0, 200); err != nil {
		t.Fatal(err)
	}
	want := rows(t, src)
	other := bytes.Repeat([]byte("k2"), store.KeyBytes/2)
	for i, key := range [][]byte{testKey, other, nil} {
		dir := fmt.Sprintf("copy%d", i)
		o := store.PebbleOptions{FS: fs, Key: key}
		if err := store.CopyStore(ctx, dir, o, src); err != nil {
			t.Fatal(err)
		}
		if err := store.CopyStore(ctx, dir, o, src); err == nil {
			t.Error("a copy over another")
		}
		if err := src.Close(); err != nil {
			t.Fatal(err)
		}
		src = open(t, dir, o)
		if got := rows(t, src); !slices.Equal(got, want) {
			t.Fatalf("copy %d has %d rows, want %d", i, len(got), len(want))
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := store.CopyStore(cancelled, "none", store.PebbleOptions{FS: fs}, src); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := fs.Stat("none"); err == nil {
		t.Error("a cancelled copy was left")
	}
	if err := src.Close(); err != nil {
		t.Fatal(err)
	}
}
