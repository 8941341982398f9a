package index

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// pairs makes n unit vectors of chance, of which each two neighbours below twice are alike, all shifted by the
// same offset, as many models' vectors are.
func pairs(seed uint64, n, twice, dim int, spread, offset float64) [][]float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	shift := unitVector(r, dim)
	out := make([][]float32, n)
	for i := range out {
		out[i] = unitVector(r, dim)
		if i%2 == 1 && i < 2*twice {
			for k, x := range unitVector(r, dim) {
				out[i][k] = out[i-1][k] + float32(spread)*x
			}
		}
	}
	for i := range out {
		for k := range out[i] {
			out[i][k] += float32(offset) * shift[k]
		}
		var sq float32
		for _, x := range out[i] {
			sq += x * x
		}
		for k := range out[i] {
			out[i][k] /= float32(math.Sqrt(float64(sq)))
		}
	}
	return out
}

// In spaces of different dimensions and different usual likeness, what is alike has edges, whichever it was
// added first, and what is not has few and weak ones; the edges are mutual.
func TestAlike(t *testing.T) {
	const n, twice, m = 600, 40, 6
	for _, c := range []struct {
		dim    int
		offset float64
	}{{64, 0}, {96, 1}, {384, 0}, {384, 2}, {768, 1}} {
		vecs := pairs(uint64(c.dim), n, twice, c.dim, 0.7, c.offset)
		s, other := NewVectorSpace(c.dim), NewVectorSpace(c.dim)
		for i, v := range vecs {
			s.Add(uint32(i), 0, v)
		}
		for i := n - 1; i >= 0; i-- {
			other.Add(uint32(i), 0, vecs[i])
		}
		var sc Scratch
		found, wrong := 0, 0
		weakest, strongest := float32(1), float32(0) // of what is alike, and of chance
		for o := range uint32(n) {
			got := s.Alike(o, m, &sc)
			if !slices.Equal(got, other.Alike(o, m, &sc)) {
				t.Fatalf("dim %d: the order of adding changes the edges of %d: %v and %v", c.dim, o, got, other.Alike(o, m, &sc))
			}
			for _, x := range got {
				if x.Sim <= 0 || x.Sim > 1 {
					t.Errorf("dim %d: a likeness of %v", c.dim, x.Sim)
				}
				if x.Doc == o^1 && o < 2*twice {
					found++
					weakest = min(weakest, x.Sim)
				} else {
					wrong++
					strongest = max(strongest, x.Sim)
				}
				if !slices.ContainsFunc(s.Alike(x.Doc, m, &sc), func(y Similar) bool { return y.Doc == o }) && s.over(x.Doc, o) {
					t.Errorf("dim %d: %d has an edge to %d, not the other way", c.dim, o, x.Doc)
				}
			}
		}
		say := fmt.Sprintf("dim %d, offset %v: %d of %d found, at least %.2f alike, and %d that are chance, at most %.2f", c.dim, c.offset, found, 2*twice, weakest, wrong, strongest)
		if t.Log(say); found < 2*twice*95/100 || wrong > n || strongest >= weakest {
			t.Error(say)
		}
	}
}

// over reports whether b is beyond what is usual for a: the usual is each memory's own.
func (v *VectorSpace) over(a, b uint32) bool {
	_, far := v.usual(a)
	var sum [1]int32
	dotRows(v.asked(v.head[a]), v.row(v.head[b]), v.stride, sum[:])
	return v.sim(v.head[a], v.head[b], sum[0]) > far
}

// A long memory is alike by its best piece, and a forgotten one by none.
func TestAlikePieces(t *testing.T) {
	const dim = 384
	vecs := pairs(5, 300, 20, dim, 0.6, 0.5)
	s := NewVectorSpace(dim)
	for i, v := range vecs {
		if i == 7 {
			s.Add(7, 0, vecs[200])
			s.Add(7, 1, v)
			continue
		}
		if i != 200 {
			s.Add(uint32(i), 0, v)
		}
	}
	var sc Scratch
	has := func(a, b uint32) bool {
		return slices.ContainsFunc(s.Alike(a, 6, &sc), func(x Similar) bool { return x.Doc == b })
	}
	if !has(6, 7) || !has(7, 6) {
		t.Error("the second piece of a long memory is not found")
	}
	s.Remove(7)
	if has(6, 7) || len(s.Alike(7, 6, &sc)) > 0 {
		t.Error("a removed memory has edges")
	}
	if got := NewVectorSpace(dim).Alike(0, 6, &sc); got != nil {
		t.Errorf("in an empty space: %v", got)
	}
	alone := NewVectorSpace(dim)
	alone.Add(3, 0, vecs[0])
	if got := alone.Alike(3, 6, &sc); len(got) > 0 {
		t.Errorf("alone: %v", got)
	}
}

func BenchmarkAlike(b *testing.B) {
	for _, n := range []int{1000, 10_000, 30_000} {
		b.Run(fmt.Sprint("vectors=", n), func(b *testing.B) {
			s := NewVectorSpace(768)
			r := rand.New(rand.NewPCG(1, 1))
			for i := range n {
				s.Add(uint32(i), 0, unitVector(r, 768))
			}
			var sc Scratch
			for i := 0; b.Loop(); i++ {
				s.Alike(uint32(i%n), 6, &sc)
			}
		})
	}
}
