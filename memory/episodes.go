package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory/consolidate"
	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// Episodes and topics, as resources show them. Their rows are derived in the background; the memories stay
// reachable under them, by id.

const (
	defaultEpisodes = 200 // as many as a timeline has entries
	titleWords      = 3   // of a title, as of a topic's name
)

// landscape is the episodes of a project with what a model made of them.
type landscape struct {
	episodes []consolidate.Derived                       // in order of time
	told     map[consolidate.RowID]consolidate.Derived   // a model's summary, by episode
	topics   map[consolidate.RowID]consolidate.Topic     // of one episode too
	links    map[consolidate.RowID][]consolidate.Derived // between topics, by each end
}

func (b *Bank) readLandscape(p store.Project) (*landscape, error) {
	l := &landscape{told: map[consolidate.RowID]consolidate.Derived{}, topics: map[consolidate.RowID]consolidate.Topic{}, links: map[consolidate.RowID][]consolidate.Derived{}}
	var err error
	if l.episodes, err = b.derivedRows(p, consolidate.EpisodeRow); err != nil {
		return nil, err
	}
	l.episodes = slices.DeleteFunc(l.episodes, func(e consolidate.Derived) bool { return e.Start == nil || e.End == nil || len(e.Basis) == 0 })
	slices.SortFunc(l.episodes, func(x, y consolidate.Derived) int {
		return cmp.Or(x.Start.Compare(*y.Start), x.End.Compare(*y.End), slices.Compare(x.ID[:], y.ID[:]))
	})
	rows, err := b.derivedRows(p, consolidate.SummaryRow)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if len(r.Members) == 1 { // of an episode; the others are of one long memory
			l.told[r.Members[0]] = r
		}
	}
	for _, t := range consolidate.Topics(l.episodes) {
		l.topics[t.ID] = t
	}
	if rows, err = b.derivedRows(p, consolidate.LinkRow); err != nil {
		return nil, err
	}
	for _, r := range rows {
		for _, t := range r.Members {
			l.links[t] = append(l.links[t], r)
		}
	}
	return l, nil
}

// passName is a pass, with the model and the prompt's version where a model made the row.
func passName(r *consolidate.Derived) string {
	if r.Model == "" {
		return r.Pass.String()
	}
	return r.Pass.String() + " (" + r.Model + ", prompt " + r.Prompt + ")"
}

func (l *landscape) episode(e *consolidate.Derived) EpisodeInfo {
	info := EpisodeInfo{ID: e.ID.String(), Summary: e.Text, By: passName(e), Session: e.Session, Start: formatTime(*e.Start), End: formatTime(*e.End), Open: !e.Closed}
	words := e.Keywords
	if r, ok := l.told[e.ID]; ok {
		info.Summary, info.By = r.Text, passName(&r)
		if len(r.Keywords) > 0 {
			words = r.Keywords
		}
	}
	for _, k := range words {
		info.Keywords = append(info.Keywords, k.Word)
	}
	info.Title = strings.Join(info.Keywords[:min(titleWords, len(info.Keywords))], ", ")
	if t, ok := l.topics[e.Topic]; ok && e.Closed {
		info.Topic, info.TopicID = t.Name, t.ID.String()
	}
	for _, id := range e.Basis {
		info.MemoryIDs = append(info.MemoryIDs, id.String())
	}
	return info
}

// Episodes lists a project's episodes in order of time.
func (b *Bank) Episodes(ctx context.Context, q EpisodeQuery) (EpisodeList, error) {
	name, p, s, done, err := b.one(ctx, q.Project, &q.From)
	defer done()
	out := EpisodeList{Project: name, Episodes: []EpisodeInfo{}}
	if err != nil || s == nil {
		return out, err
	}
	l, err := b.readLandscape(p)
	if err != nil {
		return out, storageError("reading episodes", err)
	}
	list := l.episodes
	if q.Session != "" {
		list = slices.DeleteFunc(list, func(e consolidate.Derived) bool { return e.Session != q.Session })
	}
	limit := cmp.Or(max(0, q.Limit), defaultEpisodes)
	out.Omitted = max(0, len(list)-limit)
	for i := range list[out.Omitted:] { // the latest
		out.Episodes = append(out.Episodes, l.episode(&list[out.Omitted+i]))
	}
	return out, nil
}

// Episode returns one episode with its memories, by its id or by that of a memory in it.
func (b *Bank) Episode(ctx context.Context, project, id string) (EpisodeInfo, error) {
	_, p, s, done, err := b.one(ctx, project, &Session{})
	defer done()
	if err != nil {
		return EpisodeInfo{}, err
	}
	unknown := Errorf(CodeNotFound, "id: no episode and no memory of one has the id %q", id)
	if s == nil {
		return EpisodeInfo{}, unknown
	}
	l, err := b.readLandscape(p)
	if err != nil {
		return EpisodeInfo{}, storageError("reading an episode", err)
	}
	i := slices.IndexFunc(l.episodes, func(e consolidate.Derived) bool { return e.ID.String() == strings.ToLower(id) })
	if i < 0 {
		m, err := b.resolve(p, id)
		if CodeOf(err) == CodeNotFound || CodeOf(err) == CodeInvalid {
			return EpisodeInfo{}, unknown
		} else if err != nil {
			return EpisodeInfo{}, storageError("reading an episode", err)
		}
		if r, _, err := b.get(p, m); err == nil && len(r.Segments) > 0 {
			m = r.Segments[0] // they stand for it in an episode
		}
		if i = slices.IndexFunc(l.episodes, func(e consolidate.Derived) bool { return slices.Contains(e.Basis, m) }); i < 0 {
			return EpisodeInfo{}, unknown
		}
	}
	info := l.episode(&l.episodes[i])
	s.RLock()
	defer s.RUnlock()
	info.Memories, err = b.wholes(p, s, l.episodes[i].Basis)
	return info, storageError("reading an episode", err)
}

// wholes are those of the memories that are there.
func (b *Bank) wholes(p store.Project, s *index.Shard, ids []graph.ID) ([]Memory, error) {
	var out []Memory
	for _, id := range ids {
		m, ok, err := b.whole(p, s, id)
		if err != nil {
			return out, err
		}
		if ok {
			out = append(out, m)
		}
	}
	return out, nil
}

func (l *landscape) topic(t *consolidate.Topic, full bool) TopicInfo {
	info := TopicInfo{ID: t.ID.String(), Name: t.Name, Start: formatTime(t.Start), End: formatTime(t.End), EpisodeCount: len(t.Episodes)}
	for _, k := range t.Keywords {
		info.Keywords = append(info.Keywords, k.Word)
	}
	sessions := map[string]bool{}
	for i := range t.Episodes {
		e := &t.Episodes[i]
		sessions[e.Session] = true
		info.MemoryCount += len(e.Basis)
		if full {
			info.Episodes = append(info.Episodes, l.episode(e))
		}
	}
	info.Sessions = slices.Sorted(maps.Keys(sessions))
	for _, r := range l.links[t.ID] {
		for _, other := range r.Members {
			o, known := l.topics[other]
			if other == t.ID || !known || !full {
				continue
			}
			link := TopicLink{Kind: r.Predicate, Other: o.Name, OtherID: o.ID.String(), By: passName(&r)}
			for _, q := range r.Evidence {
				link.Evidence = append(link.Evidence, Evidence{Memory: q.Memory.String(), Quote: q.Text})
			}
			info.Links = append(info.Links, link)
		}
	}
	return info
}

// Topics lists what closed episodes have in common, the latest first. What one episode alone is about is no
// topic yet.
func (b *Bank) Topics(ctx context.Context, project string) ([]TopicInfo, error) {
	return b.topics(ctx, project, false, func(t *consolidate.Topic) bool { return len(t.Episodes) > 1 })
}

// Topic returns the topics with an id, a name or a keyword, with their episodes and links, those of one
// episode too.
func (b *Bank) Topic(ctx context.Context, project, name string) ([]TopicInfo, error) {
	want := index.FoldName(name)
	return b.topics(ctx, project, true, func(t *consolidate.Topic) bool {
		return t.ID.String() == want || index.FoldName(t.Name) == want ||
			slices.ContainsFunc(t.Keywords, func(k consolidate.Keyword) bool { return index.FoldName(k.Word) == want })
	})
}

func (b *Bank) topics(ctx context.Context, project string, full bool, wanted func(*consolidate.Topic) bool) ([]TopicInfo, error) {
	_, p, s, done, err := b.one(ctx, project, &Session{})
	defer done()
	out := []TopicInfo{}
	if err != nil || s == nil {
		return out, err
	}
	l, err := b.readLandscape(p)
	if err != nil {
		return out, storageError("reading topics", err)
	}
	all := slices.Collect(maps.Values(l.topics))
	slices.SortFunc(all, func(x, y consolidate.Topic) int {
		return cmp.Or(y.End.Compare(x.End), slices.Compare(x.ID[:], y.ID[:]))
	})
	for i := range all {
		if wanted(&all[i]) {
			out = append(out, l.topic(&all[i], full))
		}
	}
	return out, nil
}

// showRead adds to one memory what a model read of it that stands nowhere else: a summary of a long one, and
// the dates of its words. A damaged row is left out here; check names it.
func (b *Bank) showRead(p store.Project, id graph.ID, m *Memory) {
	for _, kind := range []consolidate.Kind{consolidate.SummaryRow, consolidate.DateRow} {
		rows, err := b.derivedRows(p, kind, id)
		if err != nil {
			return
		}
		for _, r := range rows {
			switch {
			case kind == consolidate.SummaryRow && len(r.Members) == 0:
				m.Summary = r.Text
			case kind == consolidate.DateRow && r.Start != nil && r.End != nil && len(r.Evidence) > 0:
				from, to := formatTime(*r.Start), formatTime(*r.End)
				m.Times = append(m.Times, TimeSpan{Text: r.Evidence[0].Text, Start: &from, End: &to, Grain: "range"})
			}
		}
	}
}
