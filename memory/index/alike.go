package index

import (
	"math"
	"slices"
)

// Likeness by vectors: edges of the semantic graph in one vector space. They are computed when a walk asks and
// kept nowhere, like those by words, so that a store that was rebuilt has the same.

const (
	// alikeKept is how many of those nearest by their signs are compared by their numbers, for each neighbour wanted.
	alikeKept = 16
	// alikeRows is how many of a memory's own vectors are looked for: the pieces of a long text.
	alikeRows = 4
	// alikeSample is how many memories a memory is held against to learn what is usual in its space.
	alikeSample = 127
)

// Alike gives the memories, at most m, that are alike o in this space, best first, ties by ordinal: of the m
// nearest of o those that have o among their own m nearest, and lie nearer than what is usual for o by its own
// distribution. Sim is 0 for the usual and 1 for the same. It looks at every row m+1 times.
func (v *VectorSpace) Alike(o uint32, m int, sc *Scratch) []Similar {
	if !v.Has(o) || m <= 0 {
		return nil
	}
	usual, far := v.usual(o)
	var out []Similar
	for _, x := range v.nearestTo(o, m, sc) {
		if x.Sim <= far || usual >= 1 {
			break
		}
		if slices.ContainsFunc(v.nearestTo(x.Doc, m, sc), func(y Similar) bool { return y.Doc == o }) {
			out = append(out, Similar{x.Doc, min(1, (x.Sim-usual)/(1-usual))})
		}
	}
	return out
}

// usual is the median of the likeness of o to memories evenly spread over the space, and where likeness begins
// beyond it. Medians, since in a small project what is alike is a good part of all. What is beyond is
// sqrt(1.5 ln n) deviations away, 3.2 for 1,000 memories and 4.2 for 100,000: a memory that has
// nothing in common with any then has about one edge by chance, and a weak one. (Of the built-in words' vectors of three conversations of 480 turns, 3
// of 59 edges are then between turns of two sessions that one question needs both; with 2.5 deviations 3 of 186, with
// 2 4 of 547, and of the edges by words 26 of 5,432.)
func (v *VectorSpace) usual(o uint32) (median, far float32) {
	q := v.asked(v.head[o])
	sims := make([]float32, 0, 2*alikeSample)
	var sum [1]int32
	with, n := 0, 0 // memories with a vector, and those seen: ordinals close up when a store is opened again
	for _, r := range v.head {
		if r >= 0 {
			with++
		}
	}
	step := max(1, with/alikeSample)
	for d, r := range v.head {
		if r < 0 {
			continue
		}
		if n++; n%step == 0 && uint32(d) != o {
			dotRows(q, v.row(r), v.stride, sum[:])
			sims = append(sims, v.sim(v.head[o], r, sum[0]))
		}
	}
	if len(sims) == 0 {
		return 0, 0
	}
	slices.Sort(sims)
	median = sims[len(sims)/2]
	for i, x := range sims {
		sims[i] = max(x-median, median-x)
	}
	slices.Sort(sims)
	const normal = 1.4826 // deviations of a normal distribution in one median of them
	// Rounded, so that it is the same on every processor.
	deviations := math.Round(math.Sqrt(1.5*math.Log(float64(with)))*1024) / 1024
	return median, median + float32(float32(deviations*normal)*sims[len(sims)/2])
}

// asked is a row as dotRows takes a question, sim the cosine of two rows by the sum that it gives.
func (v *VectorSpace) asked(r int32) []int16 {
	q := make([]int16, v.stride)
	for i, x := range v.row(r) {
		q[i] = int16(x)
	}
	return q
}

func (v *VectorSpace) sim(a, b int32, sum int32) float32 {
	return float32(float32(sum) * float32(v.scales[a]*v.scales[b]))
}

// nearestTo is the m memories nearest to o, itself left out, best first.
func (v *VectorSpace) nearestTo(o uint32, m int, sc *Scratch) []Similar {
	top := nearest{k: m, chunks: true, pass: func(d uint32) bool { return d != o && d != noDoc }}
	var sums [blockRows]int32
	n := 0
	for r := v.head[o]; r >= 0 && n < alikeRows; r = v.next[r] {
		n++
		q := v.asked(r)
		if v.Dim >= sketchDim {
			for _, x := range v.sketched(r, m*alikeKept, sc) {
				dotRows(q, v.row(x), v.stride, sums[:1])
				top.offer(v.docs[x], v.sim(r, x, sums[0]))
			}
			continue
		}
		for i, b := range v.blocks {
			dotRows(q, b, v.stride, sums[:len(b)/v.stride])
			for j, sum := range sums[:len(b)/v.stride] {
				x := int32(i*blockRows + j)
				top.offer(v.docs[x], v.sim(r, x, sum))
			}
		}
	}
	slices.Reverse(top.list)
	return top.list
}

// sketched is the rows whose signs differ least from r's, k of them and what is as near as the last.
func (v *VectorSpace) sketched(r int32, k int, sc *Scratch) []int32 {
	n := (v.Dim + 63) / 64
	sc.apart = slices.Grow(sc.apart[:0], len(v.docs))[:len(v.docs)]
	counts := v.apart(v.signs[int(r)*n:(int(r)+1)*n], sc.apart)
	counts[sc.apart[r]]--
	sc.apart[r] = math.MaxUint16 // itself
	return v.upTo(sc.apart, counts, k, nil)
}
