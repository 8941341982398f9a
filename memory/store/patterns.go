package store

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"sort"
)

// Patterns looks for many byte strings at once: a few one after the other, more by the first bytes of each, so that
// 50,000 cost about what ten do. It may be used from many goroutines.
type Patterns struct {
	list  [][]byte
	alone []int // places in list of those that are looked for one by one

	sorted []int // places in list, in order of their bytes
	parent []int // of each in sorted, the one in sorted that is the longest other beginning of it; -1
	filter []uint64
	shift  uint
}

// patternHead is how many first bytes are looked up. fewPatterns is how many are searched for one by one: the
// machine's own search for one string passes over ten bytes in the time that a look-up takes.
const (
	patternHead = 8
	fewPatterns = 8
)

// NewPatterns takes over list. Empty patterns are found nowhere.
func NewPatterns(list [][]byte) *Patterns {
	p := &Patterns{list: list}
	for i, x := range list {
		switch {
		case len(x) == 0:
		case len(x) < patternHead || len(list) <= fewPatterns:
			p.alone = append(p.alone, i)
		default:
			p.sorted = append(p.sorted, i)
		}
	}
	if len(p.sorted) == 0 {
		return p
	}
	slices.SortStableFunc(p.sorted, func(a, b int) int { return bytes.Compare(list[a], list[b]) })
	// One bit in 64 is set: then one position in 64 is looked at for nothing, and the filter fits a cache.
	size := uint(bits.Len(uint(len(p.sorted)))) + 6
	p.filter, p.shift = make([]uint64, 1<<(size-6)), 64-size
	p.parent = make([]int, len(p.sorted))
	for k, i := range p.sorted {
		h := p.hash(list[i])
		p.filter[h>>6] |= 1 << (h & 63)
		up := k - 1
		for up >= 0 && !bytes.HasPrefix(list[i], list[p.sorted[up]]) {
			up = p.parent[up]
		}
		p.parent[k] = up
	}
	return p
}

func (p *Patterns) hash(b []byte) uint64 {
	return binary.LittleEndian.Uint64(b) * 0x9E3779B97F4A7C15 >> p.shift // an odd multiplier spreads the bytes over the upper bits
}

// In reports whether one of the patterns occurs in b.
func (p *Patterns) In(b []byte) bool {
	found := false
	p.Each(b, func(int) bool { found = true; return false })
	return found
}

// Each calls f with the place of each pattern that occurs in b, maybe more than once, until f returns false.
func (p *Patterns) Each(b []byte, f func(i int) bool) {
	for _, i := range p.alone {
		if bytes.Contains(b, p.list[i]) && !f(i) {
			return
		}
	}
	if len(p.sorted) == 0 {
		return
	}
	for ; len(b) >= patternHead; b = b[1:] {
		if h := p.hash(b); p.filter[h>>6]&(1<<(h&63)) == 0 {
			continue
		}
		// A pattern that b begins with is the last that is not over b, or a beginning of that one.
		k := sort.Search(len(p.sorted), func(k int) bool { return bytes.Compare(p.list[p.sorted[k]], b) > 0 }) - 1
		for ; k >= 0; k = p.parent[k] {
			if bytes.HasPrefix(b, p.list[p.sorted[k]]) && !f(p.sorted[k]) {
				return
			}
		}
	}
}
