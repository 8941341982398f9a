package index

import (
	"cmp"
	"math"
	"slices"
)

type session struct {
	name string
	docs []uint32 // by (At, Nanos, ordinal)
}

// Kernel weighs the neighbours at distance 0..4 in a session when words are counted over a neighbourhood:
// a decay of 0.7 a step. Measured on LoCoMo's development conversations against a flat window of +-2
// (recall@10 .803 to .817) and on FriendsQA (.576 to .582), where neither was tuned.
var Kernel = [5]float32{1, 0.7, 0.5, 0.35, 0.25}

// unnamedGap is how far apart, in seconds, two memories without a session may lie to be neighbours.
const unnamedGap = 3 * 3600

// place puts o into its session's order and mends the neighbourhood lengths around it.
func (s *Shard) place(o uint32, name string) {
	n := s.intern(name)
	si, ok := s.sessIDs[n]
	if !ok {
		si = uint32(len(s.sessions))
		s.sessions = append(s.sessions, session{name: name})
		s.sessIDs[n] = si
	}
	s.Docs[o].Session = si
	se := &s.sessions[si]
	i, _ := slices.BinarySearchFunc(se.docs, o, s.compareOrder)
	se.docs = slices.Insert(se.docs, i, o)
	for j := i; j < len(se.docs); j++ {
		s.Docs[se.docs[j]].Pos = uint32(j)
	}
	s.relength(se, i)
}

func (s *Shard) compareOrder(a, b uint32) int {
	x, y := &s.Docs[a], &s.Docs[b]
	return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.Nanos, y.Nanos), cmp.Compare(a, b))
}

// relength computes WLen around place i of a session.
func (s *Shard) relength(se *session, i int) {
	for j := max(0, i-len(Kernel)+1); j < min(len(se.docs), i+len(Kernel)); j++ {
		d := &s.Docs[se.docs[j]]
		s.WWords -= float64(d.WLen)
		var w float32
		for k := -len(Kernel) + 1; k < len(Kernel); k++ {
			if n, ok := s.neighbour(d, k); ok {
				w += float32(Kernel[abs(k)] * float32(s.Docs[n].Len))
			}
		}
		// To 1/64, so that sums of it are exact and the same whatever the order of writing.
		d.WLen = float32(math.Round(float64(w)*64) / 64)
		s.WWords += float64(d.WLen)
	}
}

func abs(k int) int { return max(k, -k) }

// neighbour is the memory k places after d (before, if k is negative) in its session.
func (s *Shard) neighbour(d *Doc, k int) (uint32, bool) {
	se := &s.sessions[d.Session]
	j := int(d.Pos) + k
	if j < 0 || j >= len(se.docs) {
		return 0, false
	}
	n := se.docs[j]
	if se.name == "" && k != 0 && abs64(s.Docs[n].At-d.At) > unnamedGap {
		return 0, false
	}
	return n, true
}

func abs64(x int64) int64 { return max(x, -x) }

// Neighbour is the memory k places after o in its session's order, by time and then by order of writing.
func (s *Shard) Neighbour(o uint32, k int) (uint32, bool) {
	if s.Docs[o].Flags&(Dead|Whole) != 0 {
		return 0, false
	}
	return s.neighbour(&s.Docs[o], k)
}

// Around is the stretch of o's session within the Kernel's reach, o's place in it, and whether the session has
// a name: in one without, memories more than three hours apart are no neighbours (see Neighbour). The slice
// is not to be changed.
func (s *Shard) Around(o uint32) (docs []uint32, at int, named bool) {
	d := &s.Docs[o]
	se := &s.sessions[d.Session]
	lo, hi := max(0, int(d.Pos)-len(Kernel)+1), min(len(se.docs), int(d.Pos)+len(Kernel))
	return se.docs[lo:hi], int(d.Pos) - lo, se.name != ""
}

// Session is the memories of o's session in order; it is not to be changed.
func (s *Shard) Session(o uint32) []uint32 { return s.sessions[s.Docs[o].Session].docs }

// SessionName is the name of o's session; SessionCount and SessionAt list all of them.
func (s *Shard) SessionName(o uint32) string {
	if s.Docs[o].Flags&Whole != 0 {
		return ""
	}
	return s.sessions[s.Docs[o].Session].name
}

func (s *Shard) SessionCount() int { return len(s.sessions) }

func (s *Shard) SessionAt(i int) (name string, docs []uint32) {
	return s.sessions[i].name, s.sessions[i].docs
}
