package index

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// clustered makes n unit vectors around centres, as texts of a few hundred subjects lie.
func clustered(r *rand.Rand, n, dim, centres int, spread float64) [][]float32 {
	unit := func(v []float32) []float32 {
		var sq float64
		for _, x := range v {
			sq += float64(x) * float64(x)
		}
		for i := range v {
			v[i] /= float32(math.Sqrt(sq))
		}
		return v
	}
	draw := func(around []float32, spread float64) []float32 {
		v := make([]float32, dim)
		for i := range v {
			v[i] = float32(r.NormFloat64() * spread)
			if around != nil {
				v[i] += around[i]
			}
		}
		return unit(v)
	}
	var middle [][]float32
	for range centres {
		middle = append(middle, draw(nil, 1))
	}
	out := make([][]float32, n)
	for i := range out {
		out[i] = draw(middle[r.IntN(centres)], spread/math.Sqrt(float64(dim)))
	}
	return out
}

// TestSketch: a large space, compared by signs first, finds nearly all that a scan of the numbers finds; what
// does not pass takes nobody's place; and a forgotten vector is not found.
func TestSketch(t *testing.T) {
	const dim, n, k = 384, sketchRows + 5000, 50
	r := rand.New(rand.NewPCG(8, 9))
	vecs := clustered(r, n+40, dim, 300, 2)
	s := NewVectorSpace(dim)
	for i, v := range vecs[:n] {
		s.Add(uint32(i), 0, v)
	}
	for i := 0; i < n; i += 1000 {
		s.Remove(uint32(i))
	}
	for _, every := range []uint32{1, 2, 5, 20, 60, 5000} {
		var pass func(doc uint32) bool
		if every > 1 {
			pass = func(doc uint32) bool { return doc%every == 1 }
		}
		found, all := 0, 0
		for _, q := range vecs[n:] {
			got, want := s.Nearest(q, k, pass), s.exact(q, k, pass)
			for _, x := range got {
				if !s.Has(x.Doc) || pass != nil && !pass(x.Doc) {
					t.Fatalf("found %d, which was removed or does not pass", x.Doc)
				}
				if slices.Contains(want, x) {
					found++
				}
			}
			all += len(want)
		}
		if share := float64(found) / float64(all); share < 0.97 {
			t.Errorf("where one of %d passes, %.3f of the %d nearest are found", every, share, k)
		}
	}
}

// TestRenumber: a space that was read under other numbers is the one that was made under the right ones.
func TestRenumber(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	const dim = 40
	held, want := NewVectorSpace(dim), NewVectorSpace(dim)
	for i := range uint32(500) {
		for chunk := range uint16(1 + i%3) {
			v := clustered(r, 1, dim, 1, 1)[0]
			held.Add(i, chunk, v)
			if i%7 != 0 {
				want.Add(1000-i, chunk, v)
			}
		}
	}
	held.Renumber(func(d uint32) (uint32, bool) { return 1000 - d, d%7 != 0 })
	if held.Len() != want.Len() || held.Has(1000) || !held.Has(999) {
		t.Fatalf("%d vectors, want %d", held.Len(), want.Len())
	}
	for range 20 {
		q := clustered(r, 1, dim, 1, 1)[0]
		if a, b := held.Nearest(q, 30, nil), want.Nearest(q, 30, nil); !slices.Equal(a, b) {
			t.Fatalf("renumbered %v, want %v", a, b)
		}
	}
	held.Remove(999)
	held.Add(5, 0, clustered(r, 1, dim, 1, 1)[0])
	if held.Has(999) || !held.Has(5) {
		t.Error("a renumbered space does not change as another")
	}
}
