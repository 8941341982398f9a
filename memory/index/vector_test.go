package index

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func unitVector(r *rand.Rand, dim int) []float32 {
	v := make([]float32, dim)
	var sum float64
	for i := range v {
		v[i] = float32(r.NormFloat64())
		sum += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

// The assembly gives what Go gives, to the bit, at every length and at the ends of the ranges.
func TestAssemblyIsGo(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for stride := lane; stride <= 40*lane; stride += lane {
		for _, n := range []int{1, 2, 7, blockRows} {
			q, rows := make([]int16, stride), make([]int8, n*stride)
			top := min(math.MaxInt16, math.MaxInt32/(127*stride))
			for i := range q {
				q[i] = int16([]int{r.IntN(2*top+1) - top, top, -top}[r.IntN(3)])
			}
			for i := range rows {
				rows[i] = int8([]int{r.IntN(255) - 127, 127, -127}[r.IntN(3)])
			}
			want, got := make([]int32, n), make([]int32, n)
			dotGo(q, rows, stride, want)
			dotRows(q, rows, stride, got)
			if !slices.Equal(got, want) {
				t.Fatalf("stride %d, %d rows: the assembly gives other sums than Go", stride, n)
			}
		}
	}
}

// A plain model and the space agree through additions, replacements and removals, filters and chunks.
func TestNearestAgainstAModel(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const dim = 50
	s := NewVectorSpace(dim)
	model := map[uint32][][]float32{}
	for step := range 6000 {
		doc := uint32(r.IntN(1500))
		switch r.IntN(5) {
		case 0:
			s.Remove(doc)
			delete(model, doc)
		default:
			if len(model[doc]) > 2 {
				s.Remove(doc)
				delete(model, doc)
			}
			v := unitVector(r, dim)
			s.Add(doc, uint16(len(model[doc])), v)
			q := make([]int8, dim)
			squares := float64(quantize(q, v))
			back := make([]float32, dim)
			for i, x := range q {
				back[i] = float32(float64(x) / math.Sqrt(squares))
			}
			model[doc] = append(model[doc], back)
		}
		if step%500 != 499 {
			continue
		}
		query := unitVector(r, dim)
		pass := func(o uint32) bool { return o%3 != 0 }
		var want []Similar
		n := 0
		for o, vs := range model {
			n += len(vs)
			if !s.Has(o) {
				t.Fatalf("step %d: %d has vectors", step, o)
			}
			best := float32(-2)
			for _, v := range vs {
				var sum float64
				for i := range v {
					sum += float64(v[i]) * float64(query[i])
				}
				best = max(best, float32(sum))
			}
			if pass(o) {
				want = append(want, Similar{o, best})
			}
		}
		slices.SortFunc(want, func(a, b Similar) int { return cmp.Or(cmp.Compare(b.Sim, a.Sim), cmp.Compare(a.Doc, b.Doc)) })
		got := s.Nearest(query, 20, pass)
		if s.Len() != n || len(got) != 20 {
			t.Fatalf("step %d: %d vectors of %d, %d found", step, s.Len(), n, len(got))
		}
		for i, x := range got {
			if math.Abs(float64(x.Sim-want[i].Sim)) > 1e-3 || !pass(x.Doc) {
				t.Fatalf("step %d: place %d is %v, want %v", step, i, x, want[i])
			}
		}
	}
}

// Scored again by the originals, the nearest are the nearest.
func TestRescore(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const dim, n = 96, 3000
	s := NewVectorSpace(dim)
	originals := make([][]float32, n)
	for i := range originals {
		originals[i] = unitVector(r, dim)
		s.Add(uint32(i), 0, originals[i])
	}
	rounded := 0
	for range 50 {
		q := unitVector(r, dim)
		want := make([]Similar, n)
		for i, v := range originals {
			want[i] = Similar{uint32(i), cosine(q, v)}
		}
		slices.SortFunc(want, func(a, b Similar) int { return cmp.Or(cmp.Compare(b.Sim, a.Sim), cmp.Compare(a.Doc, b.Doc)) })
		list := s.Nearest(q, 40, nil)
		if list[0].Doc != want[0].Doc || list[1].Doc != want[1].Doc {
			rounded++
		}
		s.Rescore(q, list, 20, func(doc uint32, _ uint16) []float32 { return originals[doc] })
		if !slices.Equal(list[:10], want[:10]) {
			t.Fatalf("the ten nearest are %v, want %v", list[:10], want[:10])
		}
	}
	if rounded == 0 {
		t.Error("rounding never changed the order: this test shows nothing")
	}
}

func BenchmarkNearest(b *testing.B) {
	for _, c := range []struct{ n, dim int }{{10_000, 384}, {100_000, 96}, {100_000, 384}, {1_000_000, 384}} {
		b.Run(fmt.Sprintf("vectors=%d/dim=%d", c.n, c.dim), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			s := NewVectorSpace(c.dim)
			v := unitVector(r, c.dim)
			for i := range c.n {
				for range 8 { // enough to tell the rows apart, without a million normal vectors
					v[r.IntN(c.dim)] = float32(r.NormFloat64()) / 20
				}
				s.Add(uint32(i), 0, v)
			}
			q := unitVector(r, c.dim)
			b.SetBytes(int64(c.n * c.dim))
			for b.Loop() {
				s.Nearest(q, 200, nil)
			}
		})
	}
}
