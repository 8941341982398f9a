package index

import (
	"slices"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// Edge is a causal edge between two docs (or inside one).
type Edge struct {
	To         uint32
	Origin     graph.Origin
	Confidence float32
	// Evidence is the words in the memory Holder that say so; a stated edge has none.
	Holder   uint32
	From, At uint32 // byte span in Holder's content
	Quote    string // of a model's edge: the words themselves
}

type pendingEdge struct {
	doc   uint32
	cause bool
}

// addStated draws the edges that the caller stated.
func (s *Shard) addStated(o uint32, r *store.Record, st *store.State) {
	because, supersedes := r.BecauseOf, r.Supersedes
	if st != nil {
		because = append(slices.Clone(because), st.BecauseOf...)
		supersedes = append(slices.Clone(supersedes), st.Supersedes...)
	}
	for _, c := range because {
		s.State(o, c)
	}
	for _, c := range supersedes {
		if x, ok := s.byID[c]; ok {
			s.supersedeBy(x, o)
		}
	}
}

// State draws the causal edge that the caller stated: cause led to o.
func (s *Shard) State(o uint32, cause graph.ID) {
	if x, ok := s.byID[cause]; ok {
		s.link(x, o, Edge{Origin: graph.Stated, Confidence: 1, Holder: o})
		return
	}
	s.pending[cause] = append(s.pending[cause], pendingEdge{o, true})
}

// Link draws a causal edge from cause to effect, once per origin.
func (s *Shard) Link(cause, effect uint32, e Edge) { s.link(cause, effect, e) }

func (s *Shard) link(cause, effect uint32, e Edge) {
	for _, x := range s.out[cause] {
		if x.To == effect && x.Origin == e.Origin && x.Quote == e.Quote {
			return
		}
	}
	e.To = effect
	s.out[cause] = append(s.out[cause], e)
	e.To = cause
	s.in[effect] = append(s.in[effect], e)
}

// Effects and Causes are the causal edges out of and into o that are stored; To is the other end.
func (s *Shard) Effects(o uint32) []Edge { return s.out[o] }
func (s *Shard) Causes(o uint32) []Edge  { return s.in[o] }

func (s *Shard) supersede(o uint32, by graph.ID) {
	s.Mixed = true
	s.Docs[o].Flags |= Superseded
	if x, ok := s.byID[by]; ok {
		s.supersedeBy(o, x)
		return
	}
	s.pending[by] = append(s.pending[by], pendingEdge{o, false})
}

// Supersede marks old as superseded by the memory new.
func (s *Shard) Supersede(old, new uint32) { s.supersedeBy(old, new) }

func (s *Shard) supersedeBy(old, new uint32) {
	d := &s.Docs[old]
	s.Mixed = true
	d.Flags |= Superseded
	d.Super = int32(new)
	for o := range s.segmentsOf(old) {
		s.Docs[o].Flags |= Superseded
		s.Docs[o].Super = int32(new)
	}
}

func (s *Shard) segmentsOf(whole uint32) func(func(uint32) bool) {
	return func(yield func(uint32) bool) {
		if s.Docs[whole].Flags&Whole == 0 {
			return
		}
		for o := whole + 1; int(o) < len(s.Docs) && s.Docs[o].PartOf == int32(whole); o++ {
			if !yield(o) {
				return
			}
		}
	}
}

func (s *Shard) unlink(o uint32) (n int) {
	drop := func(m map[uint32][]Edge, at uint32) {
		m[at] = slices.DeleteFunc(m[at], func(e Edge) bool { return e.To == o || e.Holder == o })
		if len(m[at]) == 0 {
			delete(m, at)
		}
	}
	for _, e := range s.out[o] {
		drop(s.in, e.To)
		n++
	}
	for _, e := range s.in[o] {
		drop(s.out, e.To)
		n++
	}
	delete(s.out, o)
	delete(s.in, o)
	for id, l := range s.pending {
		l = slices.DeleteFunc(l, func(p pendingEdge) bool { return p.doc == o })
		if len(l) == 0 {
			delete(s.pending, id)
		} else {
			s.pending[id] = l
		}
	}
	return n
}
