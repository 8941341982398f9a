package index

import "slices"

// Gist is what stands for a run of memories: the words of an episode's summary. A question may enter through
// it where no single memory answers.
type Gist struct {
	Docs  []uint32 // its memories, in order of time
	Topic [16]byte // gists of one topic tell of one matter; zero: of none
	Terms []uint64 // HashTerm of each stem of the summary, each once
}

// gists are a shard's, by the id of the row that each comes from.
type gists struct {
	all      map[[16]byte]*Gist
	postings map[uint64][]*Gist
	topics   map[[16]byte][]*Gist
}

// AddGist adds the gist that a summary makes of some memories, or replaces the one of that id. topic may be
// zero. DropGist takes it back.
func (s *Shard) AddGist(id, topic [16]byte, docs []uint32, summary string) {
	g := &Gist{Docs: docs, Topic: topic}
	for _, t := range s.words.Tokens(summary) {
		if h := HashTerm(t.Term); !t.Stop && !slices.Contains(g.Terms, h) {
			g.Terms = append(g.Terms, h)
		}
	}
	if s.gists == nil {
		s.gists = &gists{map[[16]byte]*Gist{}, map[uint64][]*Gist{}, map[[16]byte][]*Gist{}}
	}
	s.DropGist(id)
	s.gists.all[id] = g
	for _, t := range g.Terms {
		s.gists.postings[t] = append(s.gists.postings[t], g)
	}
	if g.Topic != ([16]byte{}) {
		s.gists.topics[g.Topic] = append(s.gists.topics[g.Topic], g)
	}
}

// DropGist: see AddGist.
func (s *Shard) DropGist(id [16]byte) {
	if s.gists == nil || s.gists.all[id] == nil {
		return
	}
	g := s.gists.all[id]
	delete(s.gists.all, id)
	for _, t := range g.Terms {
		drop(s.gists.postings, t, g)
	}
	drop(s.gists.topics, g.Topic, g)
}

func drop[K comparable](m map[K][]*Gist, k K, g *Gist) {
	if m[k] = slices.DeleteFunc(m[k], func(x *Gist) bool { return x == g }); len(m[k]) == 0 {
		delete(m, k)
	}
}

// GistCount is how many gists there are, GistsWith those that hold a term, GistsOf those of a topic.
func (s *Shard) GistCount() int {
	if s.gists == nil {
		return 0
	}
	return len(s.gists.all)
}

// GistsWith: see GistCount.
func (s *Shard) GistsWith(hash uint64) []*Gist {
	if s.gists == nil {
		return nil
	}
	return s.gists.postings[hash]
}

// GistsOf: see GistCount.
func (s *Shard) GistsOf(topic [16]byte) []*Gist {
	if s.gists == nil {
		return nil
	}
	return s.gists.topics[topic]
}
