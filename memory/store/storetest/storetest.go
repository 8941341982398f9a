// Package storetest answers: does this backend keep what store.KV promises? Run holds the contract as a
// test; Map is the smallest backend that passes it, and shows what a second one takes.
package storetest

import (
	"bytes"
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
	got = append(got, "tail"...)
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

func testBig(t *testing.T, b Backend) {
	kv := open(t, b)
	rng := rand.New(rand.NewPCG(3, 4))
	big := make([]byte, 3<<20)
	for i := range big {
		big[i] = byte(rng.Uint32())
	}
	key := bytes.Repeat([]byte("k"), 4000)
	var ops []store.Op
	for i := range 4 {
		ops = append(ops, store.Op{Kind: store.Set, Key: append(bytes.Clone(key), byte(i)), Value: big[i:]})
	}
	apply(t, kv, ops...)
	check := func(kv store.KV) {
		t.Helper()
		for i := range 4 {
			got, err := kv.Get(append(bytes.Clone(key), byte(i)))
			if err != nil || !bytes.Equal(got, big[i:]) {
				t.Fatalf("big value %d: %d bytes, %v", i, len(got), err)
			}
		}
	}
	check(kv)
	if b.NoReopen {
		return
	}
	if err := kv.Close(); err != nil {
		t.Fatal(err)
	}
	check(open(t, b))
}

func testEmpty(t *testing.T, b Backend) {
	kv := open(t, b)
	apply(t, kv)
	apply(t, kv, store.Op{Kind: store.Set, Key: []byte("k")})
	v, err := kv.Get([]byte("k"))
	if err != nil || v == nil || len(v) != 0 {
		t.Errorf("empty value: %v, %v", v, err)
	}
	wantScan(t, kv, nil, nil, "k=")
	if _, err := kv.Apply([]store.Op{{Kind: 99, Key: []byte("x")}, set("y", "1")}); err == nil {
		t.Error("an unknown kind of op was taken")
	}
	wantScan(t, kv, nil, nil, "k=")
}

func testReopen(t *testing.T, b Backend) {
	if b.NoReopen {
		t.Skip("this backend keeps nothing")
	}
	kv := open(t, b)
	fill(t, kv, 1000)
	apply(t, kv, delRange("k000100", "k000900"), del("k000000"), set("k000001", "new"))
	rows := scan(t, kv, nil, nil)
	for range 3 {
		if err := kv.Close(); err != nil {
			t.Fatal(err)
		}
		kv = open(t, b)
		if got := scan(t, kv, nil, nil); !slices.Equal(got, rows) {
			t.Fatalf("%d rows after reopening, want %d", len(got), len(rows))
		}
	}
}

func testCommit(t *testing.T, b Backend) {
	kv := open(t, b)
	var commits []store.Commit
	for i := range 100 {
		c, err := kv.Apply([]store.Op{set(fmt.Sprintf("k%03d", i), "v")})
		if err != nil {
			t.Fatal(err)
		}
		want(t, kv, fmt.Sprintf("k%03d", i), "v", true) // before it is durable
		commits = append(commits, c)
	}
	var wg sync.WaitGroup
	for _, c := range commits {
		for range 2 {
			wg.Go(func() {
				if err := c.Wait(); err != nil {
					t.Errorf("wait: %v", err)
				}
			})
		}
	}
	wg.Wait()
	late, err := kv.Apply([]store.Op{set("late", "v")})
	if err != nil {
		t.Fatal(err)
	}
	if err := kv.Close(); err != nil {
		t.Fatal(err)
	}
	if err := late.Wait(); err != nil {
		t.Errorf("wait after close: %v", err)
	}
}

func testClose(t *testing.T, b Backend) {
	kv := open(t, b)
	apply(t, kv, set("a", "1"))
	for range 2 {
		if err := kv.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
	}
	if _, err := kv.Get([]byte("a")); !errors.Is(err, store.ErrClosed) {
		t.Errorf("get: %v", err)
	}
	if _, err := kv.Apply([]store.Op{set("a", "1")}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("apply: %v", err)
	}
	if _, err := kv.Snapshot(); !errors.Is(err, store.ErrClosed) {
		t.Errorf("snapshot: %v", err)
	}
	n := 0
	for _, err := range kv.Scan(nil, nil) {
		if n++; !errors.Is(err, store.ErrClosed) {
			t.Errorf("scan: %v", err)
		}
	}
	if n != 1 {
		t.Errorf("scan of a closed store yielded %d times", n)
	}
}

func testCloseInScan(t *testing.T, b Backend) {
	kv := open(t, b)
	fill(t, kv, 1000)
	var last error
	n := 0
	for _, err := range kv.Scan(nil, nil) {
		if n++; n == 10 {
			if err := kv.Close(); err != nil {
				t.Fatalf("close inside a scan: %v", err)
			}
		}
		last = err
	}
	if !errors.Is(last, store.ErrClosed) {
		t.Errorf("the scan ended with %v after %d rows", last, n)
	}
}

func testConcurrent(t *testing.T, b Backend) {
	kv := open(t, b)
	const writers, each = 8, 40
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				k := fmt.Sprintf("w%d/%03d", w, i)
				c, err := kv.Apply([]store.Op{set(k, k), set("last/"+k[:2], k)})
				if err == nil {
					err = c.Wait()
				}
				if err != nil {
					t.Errorf("write: %v", err)
					return
				}
				if v, err := kv.Get([]byte(k)); err != nil || string(v) != k {
					t.Errorf("own write: %q, %v", v, err)
				}
				s, err := kv.Snapshot()
				if err != nil {
					t.Errorf("snapshot: %v", err)
					return
				}
				if v, err := s.Get([]byte("last/" + k[:2])); err != nil || string(v) != k {
					t.Errorf("own write in a snapshot: %q, %v", v, err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(scan(t, kv, []byte("w"), nil)); n != writers*each {
		t.Errorf("%d rows, want %d", n, writers*each)
	}
	// Readers and writers while it closes: answers or ErrClosed, nothing else.
	for range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				_, err := kv.Get([]byte("w1/001"))
				for _, serr := range kv.Scan([]byte("w"), nil) {
					err = errors.Join(err, serr)
				}
				if i%4 == 0 {
					_, aerr := kv.Apply([]store.Op{set("x", "y")})
					err = errors.Join(err, aerr)
				}
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
	if err := kv.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	wg.Wait()
}

// testModel runs random batches against a sorted map and compares everything, also after reopening.
func testModel(t *testing.T, b Backend) {
	kv := open(t, b)
	rng := rand.New(rand.NewPCG(5, 6))
	model := map[string]string{}
	key := func() string {
		k := make([]byte, 1+rng.IntN(3))
		for i := range k {
			k[i] = "ab\x00\xff"[rng.IntN(4)]
		}
		return string(k)
	}
	for round := range 300 {
		var ops []store.Op
		for range 1 + rng.IntN(8) {
			switch k := key(); rng.IntN(6) {
			case 0:
				ops = append(ops, del(k))
				delete(model, k)
			case 1:
				hi := key()
				ops = append(ops, delRange(k, hi))
				for m := range model {
					if k <= m && m < hi {
						delete(model, m)
					}
				}
			default:
				v := fmt.Sprint(round)
				ops = append(ops, set(k, v))
				model[k] = v
			}
		}
		apply(t, kv, ops...)
		if round%60 == 59 && !b.NoReopen {
			if err := kv.Close(); err != nil {
				t.Fatal(err)
			}
			kv = open(t, b)
		}
		lo, hi := key(), key()
		var rows []string
		for k, v := range model {
			if lo <= k && k < hi {
				rows = append(rows, k+"="+v)
			}
		}
		slices.SortFunc(rows, func(a, b string) int {
			return bytes.Compare([]byte(a[:bytes.IndexByte([]byte(a), '=')]), []byte(b[:bytes.IndexByte([]byte(b), '=')]))
		})
		wantScan(t, kv, []byte(lo), []byte(hi), rows...)
		k := key()
		v, ok := model[k]
		want(t, kv, k, v, ok)
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
}

func testVisit(t *testing.T, b Backend) {
	kv := open(t, b)
	v, ok := kv.(store.Visitor)
	if !ok {
		t.Skip("not a Visitor")
	}
	fill(t, kv, 300)
	n := 0
	err := v.Visit([]byte("k000010"), []byte("k000200"), func(key, value []byte) bool {
		if string(key) != fmt.Sprintf("k%06d", n+10) || string(value) != fmt.Sprint(n+10) {
			t.Errorf("row %d is %q=%q", n, key, value)
		}
		n++
		return n < 150
	})
	if err != nil || n != 150 {
		t.Errorf("%d rows, %v", n, err)
	}
	s, err := kv.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	apply(t, kv, delRange("k", "l"))
	n = 0
	if err := s.(store.Visitor).Visit(nil, nil, func(_, _ []byte) bool { n++; return true }); err != nil || n != 300 {
		t.Errorf("snapshot: %d rows, %v", n, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := kv.Close(); err != nil {
		t.Fatal(err)
	}
	if err := v.Visit(nil, nil, func(_, _ []byte) bool { return true }); !errors.Is(err, store.ErrClosed) {
		t.Errorf("after close: %v", err)
	}
}

func testUnsynced(t *testing.T, b Backend) {
	kv := open(t, b)
	s, ok := kv.(store.Syncer)
	if !ok {
		t.Skip("not a Syncer")
	}
	if err := s.ApplyUnsynced([]store.Op{set("a", "1"), set("b", "2"), del("a")}); err != nil {
		t.Fatal(err)
	}
	wantScan(t, kv, nil, nil, "b=2")
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := kv.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Sync(); !errors.Is(err, store.ErrClosed) {
		t.Errorf("sync after close: %v", err)
	}
}
