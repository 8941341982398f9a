package store_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/magma-mcp/magma-mcp/memory/store"
)

// TestPatterns holds the search for many against the search for each, on patterns that begin alike, repeat, lie in one
// another and are short.
func TestPatterns(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	word := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = "ab"[r.IntN(2)]
		}
		return b
	}
	hits := 0
	for n := range 400 {
		var list [][]byte
		for range r.IntN(40) {
			list = append(list, word(r.IntN(16)))
			if r.IntN(4) == 0 {
				list = append(list, append(slices.Clone(list[r.IntN(len(list))]), word(r.IntN(4))...))
			}
		}
		text := word(r.IntN(300))
		want := map[int]bool{}
		for i, x := range list {
			if len(x) > 0 && bytes.Contains(text, x) {
				want[i] = true
			}
		}
		got := map[int]bool{}
		p := store.NewPatterns(list)
		p.Each(text, func(i int) bool { got[i] = true; return true })
		if fmt.Sprint(got) != fmt.Sprint(want) || p.In(text) != (len(want) > 0) {
			t.Fatalf("text %d: found %v, want %v of %q in %q", n, got, want, list, text)
		}
		hits += len(want)
	}
	if hits < 500 {
		t.Errorf("only %d were to be found", hits)
	}
}

func BenchmarkPatterns(b *testing.B) {
	for _, n := range []int{1, 8, 1000, 50000} {
		b.Run(fmt.Sprintf("patterns=%d", n), func(b *testing.B) {
			var list [][]byte
			for i := range n {
				list = append(list, fmt.Appendf(nil, "Memory number %d says that the plan was mended.", i))
			}
			p := store.NewPatterns(list)
			text := bytes.Repeat([]byte("Memory numbers are told, and nothing else is. "), 1000)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if p.In(text) {
					b.Fatal("found")
				}
			}
		})
	}
}
