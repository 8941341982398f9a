package index

import (
	"cmp"
	"slices"
)

// stems are the hashes of the informative words of a name, each once.
func (s *Shard) stems(name string) []uint64 {
	s.reading.Lock() // of names that a question asks for, several readers at once
	defer s.reading.Unlock()
	var out []uint64
	last := -1
	for _, t := range s.words.Tokens(name) {
		if h := HashTerm(t.Term); !t.Stop && t.Pos != last && !slices.Contains(out, h) {
			out = append(out, h)
			last = t.Pos
		}
	}
	return out
}

// Named finds the entities that a question names: those all of whose words stand among the question's stems
// (given as hashes), longest names first, and whatever an alias link joins to them.
func (s *Shard) Named(stems []uint64) []uint32 {
	counts := map[uint32]int{}
	for _, h := range stems {
		for _, e := range s.entWords[h] {
			counts[e]++
		}
	}
	var out []uint32
	for e, n := range counts {
		if n == len(s.entities[e].Words) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(len(s.entities[b].Words), len(s.entities[a].Words)), s.compareKeys(a, b))
	})
	for _, e := range slices.Clone(out) {
		for _, x := range s.Group(e) {
			if !slices.Contains(out, x) {
				out = append(out, x)
			}
		}
	}
	return slices.DeleteFunc(out, func(e uint32) bool { return len(s.entities[e].Docs) == 0 })
}

// compareKeys orders entities by key. Their numbers depend on what was told when, and a store that is loaded
// again has others.
func (s *Shard) compareKeys(a, b uint32) int {
	return cmp.Compare(s.entities[a].Key, s.entities[b].Key)
}

// Group is the entities that are one with e by what memories say of them, e among them, by number.
func (s *Shard) Group(e uint32) []uint32 {
	if len(s.aliases) == 0 {
		return []uint32{e}
	}
	s.groupOnce.Lock()
	defer s.groupOnce.Unlock()
	if s.groups == nil {
		s.groups = s.join()
	}
	if g, ok := s.groups[e]; ok {
		return g
	}
	return []uint32{e}
}

// AliasSources are the memories whose words join the group of e.
func (s *Shard) AliasSources(e uint32) (docs []uint32) {
	g := s.Group(e)
	for _, l := range s.aliases {
		if slices.Contains(g, l.a) {
			docs = append(docs, l.doc)
		}
	}
	return docs
}

// join computes the groups: connected entities. A link goes when its memory is forgotten, and with it the merge.
func (s *Shard) join() map[uint32][]uint32 {
	root := map[uint32]uint32{}
	var find func(uint32) uint32
	find = func(e uint32) uint32 {
		if r, ok := root[e]; ok && r != e {
			return find(r)
		}
		return e
	}
	for _, l := range s.aliases {
		a, b := find(l.a), find(l.b)
		root[max(a, b)] = min(a, b)
		root[min(a, b)] = min(a, b)
	}
	members := map[uint32][]uint32{}
	for e := range root {
		r := find(e)
		members[r] = append(members[r], e)
	}
	out := map[uint32][]uint32{}
	for _, m := range members {
		slices.SortFunc(m, s.compareKeys)
		for _, e := range m {
			out[e] = m
		}
	}
	return out
}

// Namesakes are the groups of entities that a name may mean, each by its most mentioned member: those called so,
// and those whose longer name holds it as a word.
func (s *Shard) Namesakes(name string) []uint32 {
	key := FoldName(name)
	want := s.stems(key)
	if len(want) == 0 {
		return nil
	}
	var hits []uint32
	for _, e := range s.entWords[want[0]] {
		row := &s.entities[e]
		if len(row.Docs) == 0 {
			continue
		}
		all := true
		for _, w := range want {
			all = all && slices.Contains(row.Words, w)
		}
		if all {
			hits = append(hits, e)
		}
	}
	if e, ok := s.entIDs[key]; ok && len(want) > 1 && len(s.entities[e].Docs) > 0 {
		hits = []uint32{e} // a full name is told apart from others already
	}
	var out []uint32
	seen := map[uint32]bool{}
	slices.SortFunc(hits, s.compareKeys)
	for _, e := range hits {
		best := e
		for _, x := range s.Group(e) {
			if n, m := len(s.entities[x].Docs), len(s.entities[best].Docs); n > m || n == m && s.compareKeys(x, best) < 0 {
				best = x
			}
		}
		if !seen[best] {
			seen[best] = true
			out = append(out, best)
		}
	}
	return out
}
