// Package storetest answers: does this backend keep what store.KV promises? Run holds the contract as a
// test; Map is the smallest backend that passes it, and shows what a second one takes.
package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/magma-mcp/magma-mcp/memory/store"
)

// Backend is what Run needs of a backend. Open opens the store of the running test, the same one each
// time: Run closes it and opens it again to see what lasted. NoReopen is for backends that keep nothing.
type Backend struct {
	Open     func(t *testing.T) store.KV
	NoReopen bool
}

// Run runs the contract against fresh stores: setup is called once for each part of it.
func Run(t *testing.T, setup func(t *testing.T) Backend) {
	for _, part := range []struct {
		name string
		run  func(t *testing.T, b Backend)
	}{
		{"GetSetDelete", testGetSetDelete},
		{"Order", testOrder},
		{"ScanBounds", testScanBounds},
		{"ScanStops", testScanStops},
		{"Copies", testCopies},
		{"BatchOrder", testBatchOrder},
		{"BatchAtomic", testBatchAtomic},
		{"DeleteRange", testDeleteRange},
		{"Snapshot", testSnapshot},
		{"SnapshotAfterClose", testSnapshotAfterClose},
		{"ScanIsolation", testScanIsolation},
		{"Big", testBig},
		{"Empty", testEmpty},
		{"Reopen", testReopen},
		{"Commit", testCommit},
		{"Close", testClose},
		{"CloseInScan", testCloseInScan},
		{"Concurrent", testConcurrent},
		{"Model", testModel},
		{"Visit", testVisit},
		{"Sweep", testSweep},
		{"Unsynced", testUnsynced},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, setup(t)) })
	}
}

func open(t *testing.T, b Backend) store.KV {
	t.Helper()
	kv := b.Open(t)
	t.Cleanup(func() {
		if err := kv.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return kv
}

func set(k, v string) store.Op { return store.Op{Kind: store.Set, Key: []byte(k), Value: []byte(v)} }
func del(k string) store.Op    { return store.Op{Kind: store.Delete, Key: []byte(k)} }
func delRange(lo, hi string) store.Op {
	return store.Op{Kind: store.DeleteRange, Key: []byte(lo), Value: []byte(hi)}
}

func apply(t *testing.T, kv store.KV, ops ...store.Op) {
	t.Helper()
	c, err := kv.Apply(ops)
	if err != nil {
		t.Fatalf("apply: %v", err)
	}
	if err := c.Wait(); err != nil {
		t.Fatalf("wait: %v", err)
	}
}

// want checks one key; v "" with ok false is absence.
func want(t *testing.T, r store.Reader, k, v string, ok bool) {
	t.Helper()
	got, err := r.Get([]byte(k))
	switch {
	case !ok && !errors.Is(err, store.ErrNotFound):
		t.Errorf("get %q: %q, %v, want ErrNotFound", k, got, err)
	case ok && err != nil:
		t.Errorf("get %q: %v", k, err)
	case ok && string(got) != v:
		t.Errorf("get %q: %q, want %q", k, got, v)
	}
}

func scan(t *testing.T, r store.Reader, lo, hi []byte) []string {
	t.Helper()
	var out []string
	for row, err := range r.Scan(lo, hi) {
		if err != nil {
			t.Fatalf("scan: %v", err)
		}
		out = append(out, string(row.Key)+"="+string(row.Value))
	}
	return out
}

func wantScan(t *testing.T, r store.Reader, lo, hi []byte, rows ...string) {
	t.Helper()
	if got := scan(t, r, lo, hi); !slices.Equal(got, rows) {
		t.Errorf("scan [%q, %q): %q, want %q", lo, hi, got, rows)
	}
}

func testGetSetDelete(t *testing.T, b Backend) {
	kv := open(t, b)
	want(t, kv, "a", "", false)
	apply(t, kv, set("a", "1"), set("b", "2"))
	want(t, kv, "a", "1", true)
	apply(t, kv, set("a", "3"))
	want(t, kv, "a", "3", true)
	apply(t, kv, del("a"), del("never there"))
	want(t, kv, "a", "", false)
	want(t, kv, "b", "2", true)
}

func testOrder(t *testing.T, b Backend) {
	kv := open(t, b)
	keys := []string{"\x00", "\x00\x00", "\x01", "a", "a\x00", "a\xff", "aa", "b", "\x7f", "\x80", "\xff", "\xff\xff"}
	var ops []store.Op
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(len(keys)) {
		ops = append(ops, set(keys[i], ""))
	}
	apply(t, kv, ops...)
	slices.Sort(keys)
	for i := range keys {
		keys[i] += "="
	}
	wantScan(t, kv, nil, nil, keys...)
}

func testScanBounds(t *testing.T, b Backend) {
	kv := open(t, b)
	apply(t, kv, set("a", "1"), set("b", "2"), set("c", "3"))
	for _, c := range []struct {
		lo, hi []byte
		rows   []string
	}{
		{nil, nil, []string{"a=1", "b=2", "c=3"}},
		{[]byte("b"), nil, []string{"b=2", "c=3"}},
		{nil, []byte("b"), []string{"a=1"}},
		{[]byte("a"), []byte("c"), []string{"a=1", "b=2"}},
		{[]byte("a\x00"), []byte("b\x00"), []string{"b=2"}},
		{[]byte("b"), []byte("b"), nil},
		{[]byte("c"), []byte("a"), nil},
		{[]byte("d"), nil, nil},
		{nil, []byte{}, nil},
		{[]byte{}, []byte("a\x00"), []string{"a=1"}},
	} {
		wantScan(t, kv, c.lo, c.hi, c.rows...)
	}
}

func testScanStops(t *testing.T, b Backend) {
	kv := open(t, b)
	fill(t, kv, 500)
	for _, stop := range []int{1, 2, 3, 63, 64, 65, 200} {
		n := 0
		for _, err := range kv.Scan(nil, nil) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == stop {
				break
			}
		}
		if n != stop {
			t.Errorf("scan ended after %d rows, want %d", n, stop)
		}
	}
	func() {
		defer func() { _ = recover() }()
		for range kv.Scan(nil, nil) {
			panic("in the body")
		}
	}()
	if n := len(scan(t, kv, nil, nil)); n != 500 {
		t.Errorf("%d rows, want 500", n)
	}
}

func fill(t *testing.T, kv store.KV, n int) {
	t.Helper()
	var ops []store.Op
	for i := range n {
		ops = append(ops, set(fmt.Sprintf("k%06d", i), fmt.Sprint(i)))
	}
	apply(t, kv, ops...)
}

func testCopies(t *testing.T, b Backend) {
	kv := open(t, b)
	k, v := []byte("key"), []byte("value")
	c, err := kv.Apply([]store.Op{{Kind: store.Set, Key: k, Value: v}})
	if err != nil {
		t.Fatal(err)
	}
	k[0], v[0] = 'X', 'X' // ours again as soon as Apply is back
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	want(t, kv, "key", "value", true)
	got, _ := kv.Get([]byte("key"))
	got[0] = 'Y'
	_ = append(got, "tail"...) // nor may the room behind it be the store's
	want(t, kv, "key", "value", true)
	fill(t, kv, 200)
	var rows []store.Row
	for row, err := range kv.Scan(nil, nil) {
		if err != nil {
			t.Fatal(err)
		}
		row.Key = append(row.Key, '!') // must not run into the next row
		row.Value = append(row.Value, '!')
		rows = append(rows, row)
	}
	for i, row := range rows[:200] {
		if string(row.Key) != fmt.Sprintf("k%06d!", i) || string(row.Value) != fmt.Sprintf("%d!", i) {
			t.Fatalf("row %d is %q=%q", i, row.Key, row.Value)
		}
	}
	want(t, kv, "key", "value", true)
}

func testBatchOrder(t *testing.T, b Backend) {
	kv := open(t, b)
	apply(t, kv, set("a", "1"), set("a", "2"), del("b"), set("b", "3"), set("c", "4"), del("c"),
		set("d", "5"), delRange("d", "e"), delRange("f", "g"), set("f", "6"))
	wantScan(t, kv, nil, nil, "a=2", "b=3", "f=6")
}

func testBatchAtomic(t *testing.T, b Backend) {
	kv := open(t, b)
	const keys, rounds = 40, 60
	put := func(n int) []store.Op {
		var ops []store.Op
		for i := range keys {
			ops = append(ops, set(fmt.Sprintf("k%02d", i), fmt.Sprint(n)))
		}
		return ops
	}
	apply(t, kv, put(0)...)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				seen := map[string]int{}
				for row, err := range kv.Scan(nil, nil) {
					if err != nil {
						t.Errorf("scan: %v", err)
						return
					}
					seen[string(row.Value)]++
				}
				if len(seen) != 1 {
					t.Errorf("one scan saw parts of %d batches: %v", len(seen), seen)
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for n := range rounds {
		apply(t, kv, put(n)...)
	}
	close(stop)
	wg.Wait()
}

func testDeleteRange(t *testing.T, b Backend) {
	kv := open(t, b)
	apply(t, kv, set("a", "1"), set("b", "2"), set("b\x00", "3"), set("c", "4"), set("d", "5"))
	apply(t, kv, delRange("b", "c"))
	wantScan(t, kv, nil, nil, "a=1", "c=4", "d=5")
	apply(t, kv, delRange("c", "c"), delRange("d", "a"), delRange("x", ""))
	wantScan(t, kv, nil, nil, "a=1", "c=4", "d=5")
	apply(t, kv, delRange("", "d"))
	wantScan(t, kv, nil, nil, "d=5")
	apply(t, kv, set("b", "6"))
	wantScan(t, kv, nil, nil, "b=6", "d=5")
}

func testSnapshot(t *testing.T, b Backend) {
	kv := open(t, b)
	apply(t, kv, set("a", "1"), set("b", "2"))
	s, err := kv.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	apply(t, kv, set("a", "3"), del("b"), set("c", "4"), delRange("x", "y"))
	want(t, s, "a", "1", true)
	want(t, s, "b", "2", true)
	want(t, s, "c", "", false)
	wantScan(t, s, nil, nil, "a=1", "b=2")
	wantScan(t, kv, nil, nil, "a=3", "c=4")
	for range 2 {
		if err := s.Close(); err != nil {
			t.Errorf("close the snapshot: %v", err)
		}
	}
	if _, err := s.Get([]byte("a")); !errors.Is(err, store.ErrClosed) {
		t.Errorf("get from a closed snapshot: %v", err)
	}
	for _, err := range s.Scan(nil, nil) {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("scan a closed snapshot: %v", err)
		}
	}
}

func testSnapshotAfterClose(t *testing.T, b Backend) {
	kv := open(t, b)
	fill(t, kv, 300)
	s, err := kv.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := kv.Close(); err != nil {
		t.Fatalf("close with a snapshot open: %v", err)
	}
	if _, err := s.Get([]byte("k000001")); !errors.Is(err, store.ErrClosed) {
		t.Errorf("get after close: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("close the snapshot after the store: %v", err)
	}
}

func testScanIsolation(t *testing.T, b Backend) {
	kv := open(t, b)
	fill(t, kv, 300)
	n := 0
	for row, err := range kv.Scan(nil, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			apply(t, kv, set("k000000x", "new"), del("k000299"), set("zzz", "new"))
		}
		if string(row.Key) != fmt.Sprintf("k%06d", n) {
			t.Fatalf("row %d is %q", n, row.Key)
		}
		n++
	}
	if n != 300 {
		t.Errorf("scan saw %d rows, want the 300 of its beginning", n)
	}
}
