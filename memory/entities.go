package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/extract"
	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/query"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// entityNumber finds the entity that a name or an id (as Entities prints it) means.
func (b *Bank) entityNumber(s *index.Shard, name string) (uint32, bool) {
	if e, ok := s.EntityByID(name); ok {
		return e, true
	}
	_, e, ok := s.Entity(index.FoldName(name))
	if !ok {
		_, e, ok = s.Entity(index.FoldName(extract.Key(name)))
	}
	return e, ok
}

// entityNamed is what a name, or an id, of a filter means: the entity so called with all its other names, else
// those whose longer name holds it; and the speakers so called, who are entities too.
func (b *Bank) entityNamed(s *index.Shard, name string) query.AnyOf {
	out := query.AnyOf{Speakers: s.SpeakerID(name)}
	list := s.Namesakes(name)
	if e, ok := b.entityNumber(s, name); ok {
		list = []uint32{e}
	}
	for _, e := range list {
		out.Entities = append(out.Entities, s.Group(e)...)
	}
	return out
}

// Entities lists a project's entities, most mentioned first.
func (b *Bank) Entities(ctx context.Context, project string) ([]EntityInfo, error) {
	_, p, s, done, err := b.one(ctx, project, &Session{})
	defer done()
	out := []EntityInfo{}
	if err != nil || s == nil {
		return out, err
	}
	s.RLock()
	defer s.RUnlock()
	for e := range s.EntityCount() {
		if len(s.EntityAt(uint32(e)).Docs) > 0 {
			out = append(out, b.entityInfo(p, s, uint32(e), false))
		}
	}
	slices.SortStableFunc(out, func(x, y EntityInfo) int {
		return cmp.Or(cmp.Compare(y.Mentions, x.Mentions), cmp.Compare(x.Name, y.Name))
	})
	return out, nil
}

// Entity is every namesake of a name.
func (b *Bank) Entity(ctx context.Context, project, name string) ([]EntityInfo, error) {
	_, p, s, done, err := b.one(ctx, project, &Session{})
	defer done()
	out := []EntityInfo{}
	if err != nil || s == nil {
		return out, err
	}
	s.RLock()
	defer s.RUnlock()
	list := s.Namesakes(name)
	if e, ok := s.EntityByID(name); ok {
		list = []uint32{e}
	}
	for _, e := range list {
		info := b.entityInfo(p, s, e, true)
		info.Ambiguous = len(list) > 1 && len(s.EntityAt(e).Words) < 2
		b.showFacts(p, s, e, &info)
		out = append(out, info)
	}
	return out, nil
}

// entityMemories is how many of an entity's memories its page shows, newest first.
const entityMemories = 20

func (b *Bank) entityInfo(p store.Project, s *index.Shard, e uint32, full bool) EntityInfo {
	row := s.EntityAt(e)
	info := EntityInfo{ID: s.EntityID(e), Name: row.Name, Type: row.Type, Mentions: len(row.Docs)}
	if info.Name == "" {
		info.Name = row.Key
		if r, _, err := b.get(p, s.Docs[row.Docs[0]].ID); err == nil {
			for _, m := range b.analysisOf(p, r).Mentions {
				if m.Key == row.Key && int(m.To) <= len(r.Content) {
					info.Name = r.Content[m.From:m.To]
					break
				}
			}
		}
	}
	first, last := row.Docs[0], row.Docs[0]
	for _, o := range row.Docs {
		if s.Docs[o].At < s.Docs[first].At {
			first = o
		}
		if s.Docs[o].At >= s.Docs[last].At {
			last = o
		}
	}
	info.First = formatTime(time.Unix(s.Docs[first].At, 0).UTC())
	info.Last = formatTime(time.Unix(s.Docs[last].At, 0).UTC())
	for _, x := range s.Group(e) {
		if x == e {
			continue
		}
		info.Mentions += len(s.EntityAt(x).Docs)
		a := Alias{Name: s.EntityAt(x).Key, Origin: "text"}
		if src := s.AliasSources(e); len(src) > 0 {
			a.Memory = s.Docs[src[0]].ID.String()
		}
		info.Aliases = append(info.Aliases, a)
	}
	if full {
		docs := slices.Clone(row.Docs)
		for _, x := range s.Group(e) {
			docs = append(docs, s.EntityAt(x).Docs...)
		}
		slices.Sort(docs)
		docs = slices.Compact(docs)
		slices.Reverse(docs)
		for _, o := range docs[:min(entityMemories, len(docs))] {
			if m, ok, err := b.whole(p, s, s.Docs[o].ID); err == nil && ok {
				info.Memories = append(info.Memories, m)
			}
		}
	}
	return info
}
