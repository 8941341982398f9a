package memory

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/consolidate"
	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/query"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// Memories as the passes see them.

func (l *backlog) memory(p store.Project, project string, id graph.ID) (consolidate.Memory, bool, error) {
	r, _, err := l.b.get(p, id)
	if errors.Is(err, store.ErrNotFound) {
		return consolidate.Memory{}, false, nil
	}
	if err != nil {
		return consolidate.Memory{}, false, err
	}
	text, err := l.b.content(p, r)
	if errors.Is(err, store.ErrNotFound) {
		return consolidate.Memory{}, false, nil // being forgotten
	}
	return consolidate.Memory{ID: id, Project: project, Text: text, Speaker: r.Speaker, Session: r.Session, Source: r.Source,
		At: r.At.Time(), Stored: r.Recorded.Time()}, err == nil, err
}

func (l *backlog) memories(p store.Project, project string, ids []graph.ID) ([]consolidate.Memory, error) {
	out := make([]consolidate.Memory, 0, len(ids))
	for _, id := range ids {
		m, ok, err := l.memory(p, project, id)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, m)
		}
	}
	return out, nil
}

// Memories reads those that are there.
func (l *backlog) Memories(project string, ids []graph.ID) ([]consolidate.Memory, error) {
	p, ok := l.b.project(project)
	if !ok {
		return nil, nil
	}
	return l.memories(p, project, ids)
}

// Stream reads a stretch of a session; segments stand for their whole.
func (l *backlog) Stream(project, session string, from, to time.Time) ([]consolidate.Memory, error) {
	p, ok := l.b.project(project)
	if !ok {
		return nil, nil
	}
	s, err := l.b.shard(p)
	if err != nil {
		return nil, err
	}
	at := func(d *index.Doc, t time.Time) int {
		return cmp.Or(cmp.Compare(d.At, t.Unix()), cmp.Compare(int(d.Nanos), t.Nanosecond()))
	}
	s.RLock()
	docs := s.InSession(session)
	i, _ := slices.BinarySearchFunc(docs, from, func(o uint32, t time.Time) int { return at(&s.Docs[o], t) })
	for i > 0 && at(&s.Docs[docs[i-1]], from) == 0 {
		i--
	}
	var ids []graph.ID
	for _, o := range docs[i:] {
		if at(&s.Docs[o], to) > 0 {
			break
		}
		ids = append(ids, s.Docs[o].ID)
	}
	s.RUnlock()
	return l.memories(p, project, ids)
}

const (
	aroundSimilar  = 6 // neighbours by words looked at, and by vectors, as in the walk
	aroundEntities = 3 // rarest entities followed
	aroundMentions = 8 // of each, the newest memories
	aroundTime     = 3 // nearest in time before and after it, whatever their session
)

// Around goes out from a memory over the four graphs, breadth first: causes, what is alike, what comes next
// and before, and who else mentions its rarest names. The first circle also holds what lies nearest in time in
// other sessions: a cause is often told the evening before.
func (l *backlog) Around(project string, id graph.ID, hops, limit int) ([]consolidate.Memory, error) {
	p, ok := l.b.project(project)
	if !ok {
		return nil, nil
	}
	s, err := l.b.shard(p)
	if err != nil {
		return nil, err
	}
	s.RLock()
	ids := around(s, l.b.alike(s), id, hops, limit)
	s.RUnlock()
	return l.memories(p, project, ids)
}

func around(s *index.Shard, alike *index.VectorSpace, id graph.ID, hops, limit int) []graph.ID {
	o, ok := s.Find(id)
	if !ok {
		return nil
	}
	var scratch index.Scratch
	seen := map[uint32]bool{o: true}
	frontier := []uint32{o}
	var out []graph.ID
	for ; hops > 0 && len(frontier) > 0; hops-- {
		var next []uint32
		add := func(v uint32) {
			if !seen[v] && s.Docs[v].Flags&(index.Dead|index.Whole|index.Superseded) == 0 {
				seen[v] = true
				next = append(next, v)
			}
		}
		for _, u := range frontier {
			query.CausalEdges(s, u, func(v uint32, _ index.Edge, _ bool) { add(v) })
			query.SemanticEdges(s, alike, u, aroundSimilar, &scratch, func(x index.Similar) { add(x.Doc) })
			for _, k := range []int{-1, 1} {
				if v, ok := s.Neighbour(u, k); ok {
					add(v)
				}
			}
			for _, v := range mentioners(s, u) {
				add(v)
			}
		}
		if u := frontier[0]; u == o {
			for _, v := range nearInTime(s, o) {
				add(v)
			}
		}
		for _, v := range next {
			if len(out) == limit {
				return out
			}
			out = append(out, s.Docs[v].ID)
		}
		frontier = next
	}
	return out
}

// nearInTime are the memories of other sessions that lie nearest before and after o, the nearest first.
func nearInTime(s *index.Shard, o uint32) []uint32 {
	var before, after []uint32 // nearest first
	order := func(a, b uint32) int {
		return cmp.Or(cmp.Compare(s.Docs[a].At, s.Docs[b].At), cmp.Compare(s.Docs[a].Nanos, s.Docs[b].Nanos), cmp.Compare(a, b))
	}
	put := func(list []uint32, v uint32, nearer func(a, b uint32) int) []uint32 {
		if len(list) == aroundTime && nearer(list[aroundTime-1], v) < 0 {
			return list
		}
		i, _ := slices.BinarySearchFunc(list, v, nearer)
		return slices.Insert(list, i, v)[:min(aroundTime, len(list)+1)]
	}
	for i := range s.Docs {
		v := uint32(i)
		if s.Docs[i].Flags&(index.Dead|index.Whole) != 0 || s.Docs[i].Session == s.Docs[o].Session {
			continue
		}
		if order(v, o) < 0 {
			before = put(before, v, func(a, b uint32) int { return order(b, a) })
		} else {
			after = put(after, v, order)
		}
	}
	var out []uint32
	for i := range aroundTime {
		if i < len(before) {
			out = append(out, before[i])
		}
		if i < len(after) {
			out = append(out, after[i])
		}
	}
	return out
}

// mentioners are the newest memories that mention the rarest entities of u.
func mentioners(s *index.Shard, u uint32) []uint32 {
	ents := slices.Clone(s.Docs[u].Entities)
	slices.SortFunc(ents, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(len(s.EntityAt(a).Docs), len(s.EntityAt(b).Docs)), cmp.Compare(a, b))
	})
	var out []uint32
	for _, e := range ents[:min(aroundEntities, len(ents))] {
		docs := s.EntityAt(e).Docs
		out = append(out, docs[max(0, len(docs)-aroundMentions):]...)
	}
	return out
}
