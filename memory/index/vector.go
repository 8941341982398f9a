package index

import (
	"math"
	"slices"
)

// VectorSpace holds the vectors of one fingerprint for one project: int8 for the scan, the float32
// originals stay in the store for rescoring. A memory may have several (chunks) and counts by its best.
type VectorSpace struct {
	Dim    int
	rows   []vectorRow
	data   []int8
	count  map[uint32]int // vectors per doc
	free   int
	scales []float32
}

type vectorRow struct {
	doc   uint32
	chunk uint16
	live  bool
}

// NewVectorSpace returns an empty space of dim dimensions.
func NewVectorSpace(dim int) *VectorSpace { return &VectorSpace{Dim: dim, count: map[uint32]int{}} }

// Add takes in one unit vector.
func (v *VectorSpace) Add(doc uint32, chunk uint16, vec []float32) {
	q, scale := Quantize(vec)
	v.rows = append(v.rows, vectorRow{doc, chunk, true})
	v.data = append(v.data, q...)
	v.scales = append(v.scales, scale)
	v.count[doc]++
}

// Len is how many vectors there are; Has whether a doc has one.
func (v *VectorSpace) Len() int            { return len(v.rows) - v.free }
func (v *VectorSpace) Has(doc uint32) bool { return v.count[doc] > 0 }

func (v *VectorSpace) Remove(doc uint32) {
	if v.count[doc] == 0 {
		return
	}
	delete(v.count, doc)
	for i := range v.rows {
		if v.rows[i].doc == doc && v.rows[i].live {
			v.rows[i].live = false
			clear(v.data[i*v.Dim : (i+1)*v.Dim])
			v.free++
		}
	}
}

// Quantize maps a vector to int8 with one scale: x ~ scale * q.
func Quantize(vec []float32) ([]int8, float32) {
	var m float32
	for _, x := range vec {
		m = max(m, float32(math.Abs(float64(x))))
	}
	q := make([]int8, len(vec))
	if m == 0 {
		return q, 0
	}
	for i, x := range vec {
		q[i] = int8(math.RoundToEven(float64(x) / float64(m) * 127))
	}
	return q, m / 127
}

// Nearest gives the k memories whose vectors lie nearest to the query (cosine of unit vectors), best first,
// among those that pass.
func (v *VectorSpace) Nearest(query []float32, k int, pass func(doc uint32) bool) []Similar {
	q, qs := Quantize(query)
	best := map[uint32]float32{}
	var heap []Similar // ascending by Sim
	for i := range v.rows {
		r := &v.rows[i]
		if !r.live {
			continue
		}
		sim := float32(float32(dot8(q, v.data[i*v.Dim:(i+1)*v.Dim])) * float32(qs*v.scales[i]))
		if len(heap) >= k && sim <= heap[0].Sim {
			continue
		}
		if pass != nil && !pass(r.doc) {
			continue
		}
		if b, ok := best[r.doc]; ok {
			if sim <= b {
				continue
			}
			heap = slices.DeleteFunc(heap, func(s Similar) bool { return s.Doc == r.doc })
		}
		best[r.doc] = sim
		j, _ := slices.BinarySearchFunc(heap, sim, func(s Similar, t float32) int {
			if s.Sim < t {
				return -1
			}
			return 1
		})
		heap = slices.Insert(heap, j, Similar{r.doc, sim})
		if len(heap) > k {
			delete(best, heap[0].Doc)
			heap = heap[1:]
		}
	}
	slices.SortFunc(heap, func(a, b Similar) int {
		if a.Sim != b.Sim {
			if a.Sim > b.Sim {
				return -1
			}
			return 1
		}
		return int(a.Doc) - int(b.Doc)
	})
	return heap
}

// dot8 is the inner product of two int8 vectors.
func dot8(a, b []int8) int32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 int32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += int32(a[i]) * int32(b[i])
		s1 += int32(a[i+1]) * int32(b[i+1])
		s2 += int32(a[i+2]) * int32(b[i+2])
		s3 += int32(a[i+3]) * int32(b[i+3])
	}
	for ; i < len(a); i++ {
		s0 += int32(a[i]) * int32(b[i])
	}
	return s0 + s1 + s2 + s3
}
