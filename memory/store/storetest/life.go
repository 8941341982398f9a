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

func testSweep(t *testing.T, b Backend) {
	kv := open(t, b)
	w, ok := kv.(store.Sweeper)
	if !ok {
		t.Skip("not a Sweeper")
	}
	fill(t, kv, 300)
	apply(t, kv, delRange("k000100", "k000200"), set("k000150", "again"))
	span := func(lo, hi string) store.Span {
		s := store.Span{Lo: []byte(lo)}
		if hi != "" {
			s.Hi = []byte(hi)
		}
		return s
	}
	for _, spans := range [][]store.Span{
		nil,
		{span("k000005", "k000005"), span("k000009", "k000003")},
		{store.At([]byte("k000007")), store.At([]byte("k000003")), store.At([]byte("k000003")), store.At([]byte("k0000030"))},
		{span("k000140", "k000141"), span("k000090", "k000110"), span("k000145", "k000160"), span("k000170", "k000205"), span("k000290", "")},
		{span("k000010", "k000030"), span("k000020", "k000025"), span("k000024", "k000040"), span("k0000301", "k000031")},
		{span("k000280", ""), span("k000290", ""), span("k000298", "k000299"), span("l", "m")},
		{span("", "k000002"), span("", "")},
	} {
		got := make([][]string, len(spans))
		if err := w.Sweep(spans, func(i int, key, value []byte) bool {
			got[i] = append(got[i], string(key)+"="+string(value))
			return true
		}); err != nil {
			t.Fatal(err)
		}
		for i, s := range spans {
			var want []string
			if s.Hi == nil || string(s.Lo) < string(s.Hi) {
				want = scan(t, kv, s.Lo, s.Hi)
			}
			if !slices.Equal(got[i], want) {
				t.Errorf("span %d of %q: %q, want %q", i, spans, got[i], want)
			}
		}
	}
	n := 0
	if err := w.Sweep([]store.Span{span("k", "l"), span("k000007", "l")}, func(int, []byte, []byte) bool { n++; return n < 5 }); err != nil || n != 5 {
		t.Errorf("stopped after %d rows, %v", n, err)
	}
	if err := kv.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Sweep([]store.Span{span("k", "l")}, func(int, []byte, []byte) bool { return true }); !errors.Is(err, store.ErrClosed) {
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
