package query

import (
	"cmp"
	"slices"

	"github.com/magma-mcp/magma-mcp/memory/index"
)

// A long text is found by its segments, and counts as one memory: against the limit, and in how many were
// found. Its best segments are shown, so that a pasted conversation can answer with more than one of its turns.

// shownSegments is how many segments of one text may stand in an answer. One would lose what a second turn of
// a transcript says; with many, one long text fills a budget that other memories need.
const shownSegments = 3

// whole is the text that a memory is a segment of, or the memory itself.
func whole(s *index.Shard, o uint32) uint32 {
	if p := s.Docs[o].PartOf; p >= 0 {
		return uint32(p)
	}
	return o
}

// thin keeps of each long text its best candidates alone, so that its segments crowd nothing out of the lists
// that are made of them.
func (r *run) thin() {
	var parts []uint32
	for _, o := range r.cand {
		if r.s.Docs[o].PartOf >= 0 {
			parts = append(parts, o)
		}
	}
	if len(parts) <= shownSegments {
		return
	}
	slices.SortFunc(parts, func(a, b uint32) int { return cmp.Or(cmp.Compare(r.final[b], r.final[a]), cmp.Compare(a, b)) })
	have := map[uint32]int{}
	drop := map[uint32]bool{}
	for _, o := range parts {
		w := whole(r.s, o)
		if have[w]++; have[w] > shownSegments {
			drop[o] = true
		}
	}
	r.cand = slices.DeleteFunc(r.cand, func(o uint32) bool { return drop[o] })
}

// places is how many memories a list holds, a long text counted once.
func (r *run) places(list []uint32) int {
	n := len(list)
	seen := map[uint32]bool{}
	for _, o := range list {
		if p := r.s.Docs[o].PartOf; p >= 0 {
			if seen[uint32(p)] {
				n--
			}
			seen[uint32(p)] = true
		}
	}
	return n
}

// cut is the first limit memories of a list, with the segments of a text among them.
func (r *run) cut(list []uint32, limit int) []uint32 {
	have := map[uint32]int{}
	out := make([]uint32, 0, min(limit, len(list)))
	for _, o := range list {
		w := whole(r.s, o)
		if have[w] == 0 && len(have) == limit || have[w] == shownSegments {
			continue
		}
		have[w]++
		out = append(out, o)
	}
	return out
}
