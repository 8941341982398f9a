package index

import (
	"slices"

	"github.com/magma-mcp/magma-mcp/memory/store"
)

// What a consolidation pass read out of memories, as far as a question needs it in memory: causal edges
// (Link, Unlink) and contradictions. The rows themselves are the store's.

// InSession is the memories of a session in order of time, then of writing; it is not to be changed.
func (s *Shard) InSession(name string) []uint32 {
	n, ok := s.names[name]
	if !ok {
		return nil
	}
	si, ok := s.sessIDs[n]
	if !ok {
		return nil
	}
	return s.sessions[si].docs
}

// Unlink takes back an edge that Link drew with these words as its evidence.
func (s *Shard) Unlink(cause, effect uint32, e Edge) {
	drop := func(m map[uint32][]Edge, at, to uint32) {
		m[at] = slices.DeleteFunc(m[at], func(x Edge) bool { return x.To == to && x.Origin == e.Origin && x.Quote == e.Quote })
		if len(m[at]) == 0 {
			delete(m, at)
		}
	}
	drop(s.out, cause, effect)
	drop(s.in, effect, cause)
}

// Contradict notes that two memories say different things of the same; Reconcile takes it back.
func (s *Shard) Contradict(a, b uint32) {
	for _, p := range [][2]uint32{{a, b}, {b, a}} {
		if !slices.Contains(s.against[p[0]], p[1]) {
			s.against[p[0]] = append(s.against[p[0]], p[1])
		}
	}
}

// Reconcile: see Contradict.
func (s *Shard) Reconcile(a, b uint32) {
	for _, p := range [][2]uint32{{a, b}, {b, a}} {
		s.against[p[0]] = slices.DeleteFunc(s.against[p[0]], func(x uint32) bool { return x == p[1] })
		if len(s.against[p[0]]) == 0 {
			delete(s.against, p[0])
		}
	}
}

// Contradicting are the memories that contradict o, by ordinal; the list is not to be changed.
func (s *Shard) Contradicting(o uint32) []uint32 { return s.against[o] }

// A mention that a model read, by the memory and the entity; how many rows say so.
type readMention struct{ doc, entity uint32 }

// Mention adds an entity that a model read in o, and the other names (keys) that o's words give it. Unmention
// takes it back; what the words' own analysis found stays.
func (s *Shard) Mention(o uint32, key, name, typ string, aliases []string) {
	e, ok := s.mention(o, key, name, typ)
	for _, k := range aliases {
		if a, also := s.mention(o, k, "", typ); ok && also && a != e {
			s.aliases = append(s.aliases, aliasLink{e, a, o})
			s.groups = nil
		}
	}
}

func (s *Shard) mention(o uint32, key, name, typ string) (uint32, bool) {
	if key == "" {
		return 0, false
	}
	e := s.entity(key, name, typ)
	m := readMention{o, e}
	d := &s.Docs[o]
	if !slices.Contains(d.Entities, e) {
		s.attach(o, e)
		s.read[m] = 1
	} else if s.read[m] > 0 {
		s.read[m]++
	}
	return e, true
}

// Unmention: see Mention.
func (s *Shard) Unmention(o uint32, key string, aliases []string) {
	e, ok := s.entIDs[key]
	for _, k := range aliases {
		a, also := s.entIDs[k]
		if i := slices.Index(s.aliases, aliasLink{e, a, o}); ok && also && i >= 0 {
			s.aliases = slices.Delete(s.aliases, i, i+1)
			s.groups = nil
		}
		if also {
			s.unmention(o, a)
		}
	}
	if ok {
		s.unmention(o, e)
	}
}

func (s *Shard) unmention(o, e uint32) {
	m := readMention{o, e}
	if s.read[m] == 0 {
		return
	}
	if s.read[m]--; s.read[m] > 0 {
		return
	}
	delete(s.read, m)
	d, r := &s.Docs[o], &s.entities[e]
	d.Entities = slices.DeleteFunc(d.Entities, func(x uint32) bool { return x == e })
	r.Docs = slices.DeleteFunc(r.Docs, func(x uint32) bool { return x == o })
	if len(r.Docs) == 0 {
		r.Name, r.Type = "", ""
	}
}

// Reason adds a cause that a model read inside o's own words, Unreason takes it back.
func (s *Shard) Reason(o uint32, c store.Cause) {
	s.Docs[o].own().Causes = append(slices.Clip(s.Docs[o].Causes), c)
}

// Unreason: see Reason.
func (s *Shard) Unreason(o uint32, c store.Cause) {
	if i := slices.Index(s.Docs[o].Causes, c); i >= 0 {
		s.Docs[o].own().Causes = slices.Delete(slices.Clone(s.Docs[o].Causes), i, i+1)
	}
}
