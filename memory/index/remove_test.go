package index

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// TestRemoveManyIsRemoveEach: memories that go at once leave what they leave one after the other.
func TestRemoveManyIsRemoveEach(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for range 50 {
		many, each := NewShard(1), NewShard(1)
		n := 1 + r.IntN(60)
		var ids []graph.ID
		for i := range n {
			var id graph.ID
			id[7] = byte(i + 1)
			rec := &store.Record{ID: id, Content: "x", Speaker: []string{"Ana", "Bo"}[r.IntN(2)], Session: fmt.Sprint(r.IntN(3)), At: store.Stamp{Sec: int64(r.IntN(100))},
				Entities: []string{fmt.Sprint("e", r.IntN(4)), fmt.Sprint("e", r.IntN(4))}}
			a := &store.Analysis{Length: uint32(r.IntN(20))}
			for h := range uint64(8) {
				if r.IntN(2) == 0 {
					a.Terms = append(a.Terms, store.Term{Hash: h, Count: uint32(1 + r.IntN(3))})
				}
			}
			many.Add(rec, nil, a)
			each.Add(rec, nil, a)
			if r.IntN(2) == 0 {
				ids = append(ids, id)
			}
		}
		r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		ids = append(ids, graph.ID{15: 9}) // is not there
		var want [3]int
		for _, id := range ids {
			p, e, n := each.Remove(id)
			want[0], want[1], want[2] = want[0]+p, want[1]+e, want[2]+n
		}
		p, e, k := many.Remove(ids...)
		if got := [3]int{p, e, k}; got != want {
			t.Fatalf("%v went, want %v", got, want)
		}
		for h := range uint64(8) {
			if a, b := many.Posting(h), each.Posting(h); (a == nil) != (b == nil) || a != nil && (!slices.Equal(a.Docs, b.Docs) || !slices.Equal(a.Counts, b.Counts)) {
				t.Fatalf("term %d: %v, want %v", h, a, b)
			}
		}
		if d := cmp.Diff(each.Docs, many.Docs, cmp.AllowUnexported(Doc{})); d != "" {
			t.Fatal(d)
		}
		if d := cmp.Diff(each.speakers, many.speakers); d != "" {
			t.Fatal(d)
		}
		for i := range each.entities {
			if d := cmp.Diff(each.entities[i].Docs, many.entities[i].Docs); d != "" || each.entities[i].Name != many.entities[i].Name {
				t.Fatal(d)
			}
		}
		if many.Live != each.Live || many.Words != each.Words || many.WWords != each.WWords {
			t.Fatalf("%d %d %v, want %d %d %v", many.Live, many.Words, many.WWords, each.Live, each.Words, each.WWords)
		}
	}
}
