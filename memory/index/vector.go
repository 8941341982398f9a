package index

import (
	"cmp"
	"math"
	"slices"
)

// VectorSpace holds the vectors of one fingerprint for one project, as 8-bit numbers: a scan looks at all of
// them, and costs what reading them once does (BenchmarkNearest). Their rounding changes who is among the
// ten nearest in one place of 25 (2,760 turns of five conversations, 96 dimensions), and an evidence recall
// by vectors alone from .451 to .447; so the best are scored again by the originals, which stay in the store
// (Rescore). A memory may have several vectors (chunks) and counts by its best.
type VectorSpace struct {
	Dim    int
	stride int // Dim, rounded up for the assembly
	blocks [][]int8
	signs  []uint64  // of each row, where Dim is at least sketchDim
	docs   []uint32  // of each row; noDoc where the row is free
	scales []float32 // what a row's numbers are to be multiplied by for length 1
	chunk  []uint16  // of each row: which piece of its doc's text
	next   []int32   // of each row: the next row of its doc, -1 at the end
	head   []int32   // of each doc: its first row, -1 where it has none
	free   []int32
	chunks bool // some doc has, or had, more than one row
}

const (
	noDoc = math.MaxUint32
	// lane is how many numbers the assembly takes in one turn.
	lane = 32
	// blockRows is how many rows lie together: a scan's results of one block stay in the nearest cache, and
	// a space grows by blocks rather than by copying itself.
	blockRows = 1024
)

// NewVectorSpace returns an empty space of dim dimensions.
func NewVectorSpace(dim int) *VectorSpace {
	return &VectorSpace{Dim: dim, stride: (dim + lane - 1) / lane * lane}
}

// Add takes in one unit vector of a doc.
func (v *VectorSpace) Add(doc uint32, chunk uint16, vec []float32) {
	var r int32
	if n := len(v.free); n > 0 {
		r = v.free[n-1]
		v.free = v.free[:n-1]
	} else {
		r = v.grow()
	}
	row := v.row(r)[:v.Dim]
	squares := quantize(row, vec)
	if v.Dim >= sketchDim {
		w := (v.Dim + 63) / 64
		sketch(v.signs[int(r)*w:int(r)*w], vec)
	}
	v.scales[r], v.chunk[r] = 0, chunk
	if squares > 0 {
		v.scales[r] = float32(1 / math.Sqrt(float64(squares)))
	}
	v.assign(r, doc)
}

// grow adds a row.
func (v *VectorSpace) grow() int32 {
	r := len(v.docs)
	if r%blockRows == 0 {
		size := 0 // the first block grows with its rows
		if r > 0 {
			size = blockRows * v.stride
		}
		v.blocks = append(v.blocks, make([]int8, 0, size))
	}
	b := &v.blocks[len(v.blocks)-1]
	*b = append(*b, make([]int8, v.stride)...)
	if v.Dim >= sketchDim {
		v.signs = append(v.signs, make([]uint64, (v.Dim+63)/64)...)
	}
	v.docs = append(v.docs, noDoc)
	v.scales = append(v.scales, 0)
	v.chunk = append(v.chunk, 0)
	v.next = append(v.next, -1)
	return int32(r)
}

// assign makes a row one of doc's.
func (v *VectorSpace) assign(r int32, doc uint32) {
	v.docs[r] = doc
	for int(doc) >= len(v.head) {
		v.head = append(v.head, -1)
	}
	v.next[r] = v.head[doc]
	v.chunks = v.chunks || v.head[doc] >= 0
	v.head[doc] = r
}

// Renumber gives every doc the number that to says, and takes out those of which it says none. It is for a space that
// was read before its docs were.
func (v *VectorSpace) Renumber(to func(doc uint32) (uint32, bool)) {
	v.head, v.free, v.chunks = v.head[:0], v.free[:0], false
	for i := range v.docs {
		r := int32(i)
		if d, ok := v.docs[r], false; d != noDoc {
			if d, ok = to(d); ok {
				v.assign(r, d)
				continue
			}
		}
		v.clear(r)
	}
}

// clear frees a row.
func (v *VectorSpace) clear(r int32) {
	v.docs[r], v.scales[r], v.next[r] = noDoc, 0, -1
	clear(v.row(r))
	v.free = append(v.free, r)
}

func (v *VectorSpace) row(r int32) []int8 {
	at := int(r) % blockRows * v.stride
	return v.blocks[int(r)/blockRows][at : at+v.stride]
}

// Len is how many vectors there are; Has whether a doc has one.
func (v *VectorSpace) Len() int            { return len(v.docs) - len(v.free) }
func (v *VectorSpace) Has(doc uint32) bool { return int(doc) < len(v.head) && v.head[doc] >= 0 }

// Remove takes out a doc's vectors.
func (v *VectorSpace) Remove(doc uint32) {
	if !v.Has(doc) {
		return
	}
	for r := v.head[doc]; r >= 0; {
		after := v.next[r]
		v.clear(r)
		r = after
	}
	v.head[doc] = -1
}

// quantize rounds a vector to 8 bits, its largest number becoming 127 or -127, and gives the sum of their squares.
// Its length is lost: a row is of length 1 by definition.
func quantize(q []int8, vec []float32) (squares int64) {
	var m float32
	for _, x := range vec {
		m = max(m, x, -x)
	}
	if m == 0 {
		clear(q)
		return 0
	}
	scale := 127 / float64(m)
	for i, x := range vec {
		n := int64(math.RoundToEven(float64(x) * scale))
		q[i] = int8(n)
		squares += n * n
	}
	return squares
}

// wide rounds a question to 16 bits, or as many as no sum over a row can overflow 32 bits with, so that only
// the rows' rounding counts. x ~ scale * q.
func wide(vec []float32, stride int) ([]int16, float32) {
	q := make([]int16, stride)
	var m float64
	for _, x := range vec {
		m = max(m, math.Abs(float64(x)))
	}
	if m == 0 {
		return q, 0
	}
	top := float64(min(math.MaxInt16, math.MaxInt32/(127*stride)))
	for i, x := range vec {
		q[i] = int16(math.RoundToEven(float64(x) / m * top))
	}
	return q, float32(m / top)
}

// Nearest gives the k memories whose vectors lie nearest to a unit vector (by cosine), best first, ties by
// ordinal, among those that pass: what does not pass takes nobody's place. In a large space it may miss
// a few in a hundred of them (sketch.go).
func (v *VectorSpace) Nearest(query []float32, k int, pass func(doc uint32) bool) []Similar {
	if k <= 0 || len(query) != v.Dim {
		return nil
	}
	rows := v.near(query, pass)
	if rows == nil {
		return v.exact(query, k, pass)
	}
	q, qs := wide(query, v.stride)
	top := nearest{k: k, chunks: v.chunks}
	var sum [1]int32
	for _, r := range rows {
		dotRows(q, v.row(r), v.stride, sum[:])
		top.offer(v.docs[r], float32(float32(sum[0])*float32(qs*v.scales[r])))
	}
	slices.Reverse(top.list)
	return top.list
}

// exact does the same by the numbers of all vectors.
func (v *VectorSpace) exact(query []float32, k int, pass func(doc uint32) bool) []Similar {
	q, qs := wide(query, v.stride)
	top := nearest{k: k, chunks: v.chunks, pass: pass}
	var sums [blockRows]int32
	for i, b := range v.blocks {
		n := len(b) / v.stride
		dotRows(q, b, v.stride, sums[:n])
		base := i * blockRows
		scales, docs := v.scales[base:base+n], v.docs[base:base+n]
		for j, sum := range sums[:n] {
			if docs[j] != noDoc {
				top.offer(docs[j], float32(float32(sum)*float32(qs*scales[j])))
			}
		}
	}
	slices.Reverse(top.list)
	return top.list
}

// nearest keeps the k nearest of the docs that are offered, worst first.
type nearest struct {
	k      int
	chunks bool // a doc may be offered more than once
	pass   func(doc uint32) bool
	list   []Similar
}

func (t *nearest) offer(doc uint32, sim float32) {
	if len(t.list) == t.k && sim < t.list[0].Sim {
		return
	}
	t.insert(Similar{doc, sim})
}

func (t *nearest) insert(x Similar) {
	after := func(a, b Similar) int { return cmp.Or(cmp.Compare(a.Sim, b.Sim), cmp.Compare(b.Doc, a.Doc)) }
	if len(t.list) == t.k && after(x, t.list[0]) < 0 || t.pass != nil && !t.pass(x.Doc) {
		return
	}
	if t.chunks {
		if at := slices.IndexFunc(t.list, func(s Similar) bool { return s.Doc == x.Doc }); at >= 0 {
			if t.list[at].Sim >= x.Sim {
				return
			}
			t.list = slices.Delete(t.list, at, at+1)
		}
	}
	if len(t.list) == t.k {
		t.list = slices.Delete(t.list, 0, 1)
	}
	at, _ := slices.BinarySearchFunc(t.list, x, after)
	t.list = slices.Insert(t.list, at, x)
}

// Rescore brings the best n of a list that Nearest gave into the order of their originals, which read gives
// (nil where there is none: the rounded vector then counts). The others keep their place behind or among them.
func (v *VectorSpace) Rescore(query []float32, list []Similar, n int, read func(doc uint32, chunk uint16) []float32) {
	for i := range list[:min(n, len(list))] {
		best, found := float32(-1), false
		for r := v.head[list[i].Doc]; r >= 0; r = v.next[r] {
			if orig := read(list[i].Doc, v.chunk[r]); len(orig) == v.Dim {
				best, found = max(best, cosine(query, orig)), true
			}
		}
		if found {
			list[i].Sim = best
		}
	}
	slices.SortFunc(list, func(a, b Similar) int { return cmp.Or(cmp.Compare(b.Sim, a.Sim), cmp.Compare(a.Doc, b.Doc)) })
}

// cosine of two unit vectors, each product rounded by itself.
func cosine(a, b []float32) float32 {
	var sum float64
	for i, x := range a {
		sum += float64(float64(x) * float64(b[i]))
	}
	return float32(sum)
}

// dotGo is the inner product of q and each row: what the assembly does, in Go.
func dotGo(q []int16, rows []int8, stride int, out []int32) {
	for i := range out {
		r := rows[i*stride : (i+1)*stride]
		var a, b, c, d int32
		for j := 0; j+4 <= len(r) && j+4 <= len(q); j += 4 {
			a += int32(r[j]) * int32(q[j])
			b += int32(r[j+1]) * int32(q[j+1])
			c += int32(r[j+2]) * int32(q[j+2])
			d += int32(r[j+3]) * int32(q[j+3])
		}
		out[i] = a + b + c + d
	}
}
