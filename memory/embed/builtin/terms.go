package builtin

import (
	"hash/fnv"
	"math"
)

// Terms makes the vectors of texts whose words were read before and are known by digests alone, as an
// index keeps them. It is what Embed makes of the same words, but for terms that the table does not
// know, whose vectors follow from the digest. It is safe for concurrent use.
type Terms struct {
	e    *Embedder
	rows map[uint64]int32
	mask uint64
}

// Terms prepares for digests that are the low bits of a term's 64-bit FNV-1a. It reads the whole table's
// names once.
func (e *Embedder) Terms(bits int) *Terms {
	t := &Terms{e: e, rows: make(map[uint64]int32, e.n), mask: math.MaxUint64 >> (64 - bits)}
	for i := range e.n {
		name, _ := e.name(i)
		h := fnv.New64a()
		_, _ = h.Write([]byte(name)) // never fails (hash.Hash)
		t.rows[h.Sum64()&t.mask] = int32(i)
	}
	return t
}

// Dimensions is the length of the vectors.
func (t *Terms) Dimensions() int { return t.e.dim }

// Add adds count times a term's vector to a sum of Dimensions numbers.
func (t *Terms) Add(sum []int64, digest uint64, count int) {
	i, ok := t.rows[digest&t.mask]
	if !ok {
		t.e.signs(sum, digest&t.mask, int64(count)*t.e.unknownStep)
		return
	}
	w := int64(count) * int64(u16(t.e.weights, 2*int(i)))
	row := t.e.rows[int(i)*t.e.dim : (int(i)+1)*t.e.dim]
	for d := range sum {
		sum[d] += w * int64(int8(row[d]))
	}
}

// Unit is the vector of length 1 in a sum's direction, nil where the sum is zero.
func (t *Terms) Unit(sum []int64) []float32 {
	if zero(sum) {
		return nil
	}
	return unit(sum)
}
