package index

import (
	"math"
	"math/bits"
	"slices"
	"sync"
)

// A sketch is the signs of a vector's numbers, a bit each: an eighth of what the rounded vector takes. In a large
// space a question is compared with the sketches first, by how many signs differ (Charikar 2002: the angle between
// two vectors is in proportion to it), and only the nearest by that are compared by their numbers.

const (
	// sketchDim is the least dimension at which signs alone tell enough, and sketchRows the least number of vectors
	// at which a scan of all numbers is worth avoiding (BenchmarkNearest: 384 numbers of 32,768 vectors take about 2 ms).
	sketchDim  = 256
	sketchRows = 32768
	// sketchKeep is how many vectors at least, and sketchShare which share of all, are compared by their numbers. Of the
	// 50 nearest among 38,000 vectors of 384 dimensions 98 in a hundred are then found where they lie in loose clusters
	// (TestSketch), all where the clusters are close, and 87 where the vectors are mere noise.
	sketchKeep  = 4096
	sketchShare = 50
)

// sketch is the signs of a vector, appended to out.
func sketch(out []uint64, vec []float32) []uint64 {
	for i := 0; i < len(vec); i += 64 {
		var w uint64
		for j, x := range vec[i:min(len(vec), i+64)] {
			if x > 0 {
				w |= 1 << j
			}
		}
		out = append(out, w)
	}
	return out
}

var distances = sync.Pool{New: func() any { return new([]uint16) }}

// near gives the rows whose sketches are nearest to a question's among those of docs that pass, and as many more as are
// no farther than the last; nil where the space is not large enough for it.
func (v *VectorSpace) near(query []float32, pass func(doc uint32) bool) []int32 {
	n := len(v.docs)
	if v.Dim < sketchDim || n < sketchRows {
		return nil
	}
	q := sketch(nil, query)
	buf := distances.Get().(*[]uint16)
	defer distances.Put(buf)
	if cap(*buf) < n {
		*buf = make([]uint16, n+n/8)
	}
	dist := (*buf)[:n]
	counts := v.apart(q, dist)
	keep := max(sketchKeep, n/sketchShare)
	rows := v.upTo(dist, counts, keep, nil)
	if pass == nil {
		return rows
	}
	all := len(rows)
	rows = slices.DeleteFunc(rows, func(r int32) bool { return !pass(v.docs[r]) })
	if len(rows)*5 >= all*4 {
		return rows
	}
	// A filter that keeps few: those it drops must take nobody's place.
	clear(counts)
	for r, d := range dist {
		if d == math.MaxUint16 {
			continue
		}
		if pass(v.docs[r]) {
			counts[d]++
		} else {
			dist[r] = math.MaxUint16
		}
	}
	return v.upTo(dist, counts, keep, rows[:0])
}

// apart gives in dist how many signs of each row differ from q, MaxUint16 where the row is free, and returns how many
// rows are at each distance.
func (v *VectorSpace) apart(q []uint64, dist []uint16) (counts []int) {
	counts = make([]int, v.Dim+1)
	w := len(q)
	for r := range dist {
		if v.docs[r] == noDoc {
			dist[r] = math.MaxUint16
			continue
		}
		d := 0
		for i, x := range v.signs[r*w : r*w+w] {
			d += bits.OnesCount64(x ^ q[i])
		}
		dist[r] = uint16(d)
		counts[d]++
	}
	return counts
}

// upTo is the rows at the least distances, keep of them or a few more.
func (v *VectorSpace) upTo(dist []uint16, counts []int, keep int, rows []int32) []int32 {
	cut, have := 0, counts[0]
	for have < keep && cut < v.Dim {
		cut++
		have += counts[cut]
	}
	rows = slices.Grow(rows, have)
	for r, d := range dist {
		if int(d) <= cut {
			rows = append(rows, int32(r))
		}
	}
	return rows
}
