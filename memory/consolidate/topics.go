package consolidate

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/graph"
)

// Topic is what some closed episodes have in common. It has no row: it is made of its episodes' rows when
// it is asked for.
type Topic struct {
	ID       RowID // the id of the episode that founded it
	Name     string
	Keywords []Keyword
	Episodes []Derived // in order of time
	Start    time.Time
	End      time.Time
}

// Memories are all memories under the topic, in order of time.
func (t Topic) Memories() []graph.ID {
	var out []graph.ID
	for _, e := range t.Episodes {
		out = append(out, e.Basis...)
	}
	return out
}

// Text is the episodes' summaries, the newest first, up to limit characters.
func (t Topic) Text(limit int) string {
	var b strings.Builder
	for _, e := range slices.Backward(t.Episodes) {
		if b.Len()+len(e.Text)+1 > limit && b.Len() > 0 {
			break
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(e.Text)
	}
	return b.String()
}

// Topics groups closed episodes by their topic, in the order of the topics' first episodes.
func Topics(episodes []Derived) []Topic {
	byID := map[RowID]*Topic{}
	var order []RowID
	sorted := slices.Clone(episodes)
	slices.SortFunc(sorted, byTime)
	for _, e := range sorted {
		if e.Kind != EpisodeRow || !e.Closed || e.Topic == (RowID{}) {
			continue
		}
		t := byID[e.Topic]
		if t == nil {
			t = &Topic{ID: e.Topic, Start: *e.Start}
			byID[e.Topic] = t
			order = append(order, e.Topic)
		}
		t.Episodes = append(t.Episodes, e)
		if e.End.After(t.End) {
			t.End = *e.End
		}
	}
	out := make([]Topic, len(order))
	for i, id := range order {
		t := byID[id]
		t.Keywords = blend(t.Episodes, topicWords)
		names := make([]string, 0, 3)
		for _, k := range t.Keywords[:min(3, len(t.Keywords))] {
			names = append(names, k.Word)
		}
		t.Name = strings.Join(names, ", ")
		out[i] = *t
	}
	return out
}

const (
	// episodeWords is how many keywords an episode keeps: with 12, a second talk on the same matter shares
	// some; more of them are words that only happened to fall.
	episodeWords = 12
	topicWords   = 24
	// nearest is how many topics an episode is held against: those that share most of its keywords.
	nearest = 64
	// topicReads is how many topics an episode's words are looked up in, the rarest words first; two words at the least.
	// It binds from some thousands of topics on, where the common words are in too many of them to tell anything.
	topicReads = 4096
	// joinAt is the cosine from which an episode joins a topic rather than founding one. On five long
	// conversations of 168 episodes 0.2 makes 87 topics of them, none with more than a sixth; two turns
	// of different sessions that a question needs both are under one topic 2.6 times as often as any two.
	// 0.15 makes 63 (2.1 times), 0.3 makes 133, which link hardly anything. See TestTopicsTable.
	joinAt = 0.2
)

// blend sums the keywords of episodes; the heaviest n, the heaviest being 1.
func blend(episodes []Derived, n int) []Keyword {
	weight := map[string]float64{}
	written := map[string]string{}
	for _, e := range episodes {
		for _, k := range e.Keywords {
			key := stem(k.Word)
			weight[key] += k.Weight
			if written[key] == "" {
				written[key] = k.Word
			}
		}
	}
	out := make([]Keyword, 0, len(weight))
	for _, k := range sortedKeys(weight) {
		out = append(out, Keyword{written[k], weight[k]})
	}
	slices.SortStableFunc(out, func(a, b Keyword) int { return cmp.Or(-cmp.Compare(a.Weight, b.Weight), cmp.Compare(a.Word, b.Word)) })
	out = out[:min(n, len(out))]
	for i := len(out) - 1; i >= 0; i-- {
		out[i].Weight = math.Round(out[i].Weight/out[0].Weight*1000) / 1000
	}
	return out
}

// stem is the comparable form of a keyword.
func stem(keyword string) string {
	if w := informative(keyword); len(w) > 0 {
		return w[0].term
	}
	return strings.ToLower(keyword)
}

func byTime(a, b Derived) int {
	return cmp.Or(a.Start.Compare(*b.Start), a.End.Compare(*b.End), slices.Compare(a.ID[:], b.ID[:]))
}

// landscape is what the rules pass keeps of a project while it works on it: its episodes and topics.
type landscape struct {
	episodes map[RowID]Derived
	of       map[graph.ID]RowID           // the episode of a memory
	topics   map[RowID]map[string]float64 // sums of the members' keywords, by stem
	members  map[RowID]int                // how many closed episodes a topic has
	holding  map[string]map[RowID]bool    // the topics that have a word
	spread   map[string]int               // in how many closed episodes a word is a keyword
	closed   int                          // closed episodes
	latest   map[string]latest            // how far each session goes
	sessions map[string]map[RowID]bool    // the episodes of a session
	open     map[RowID]bool               // episodes that are not closed
	newest   latest                       // how far any session went, ever: at least as far as each of latest
}

// latest is the id that was written last in a session, and the end of what happened in it.
type latest struct {
	id  graph.ID
	end time.Time
}

func newLandscape(rows []Derived) *landscape {
	l := &landscape{
		episodes: map[RowID]Derived{}, of: map[graph.ID]RowID{}, topics: map[RowID]map[string]float64{},
		members: map[RowID]int{}, holding: map[string]map[RowID]bool{}, spread: map[string]int{}, latest: map[string]latest{},
		sessions: map[string]map[RowID]bool{}, open: map[RowID]bool{},
	}
	for _, r := range rows {
		l.put(r)
	}
	return l
}

func (l *landscape) put(e Derived) {
	l.drop(e.ID)
	l.episodes[e.ID] = e
	to := l.latest[e.Session]
	if e.End.After(to.end) {
		to.end = *e.End
	}
	for _, m := range e.Basis {
		l.of[m] = e.ID
		if to.id.Less(m) {
			to.id = m
		}
	}
	l.latest[e.Session] = to
	if l.newest.id.Less(to.id) {
		l.newest.id = to.id
	}
	if to.end.After(l.newest.end) {
		l.newest.end = to.end
	}
	if l.sessions[e.Session] == nil {
		l.sessions[e.Session] = map[RowID]bool{}
	}
	l.sessions[e.Session][e.ID] = true
	if e.Closed {
		l.count(e, 1)
	} else {
		l.open[e.ID] = true
	}
}

func (l *landscape) drop(id RowID) {
	e, ok := l.episodes[id]
	if !ok {
		return
	}
	delete(l.episodes, id)
	delete(l.open, id)
	if delete(l.sessions[e.Session], id); len(l.sessions[e.Session]) == 0 {
		delete(l.sessions, e.Session)
	}
	for _, m := range e.Basis {
		if l.of[m] == id {
			delete(l.of, m)
		}
	}
	if e.Closed {
		l.count(e, -1)
	}
}

// count adds a closed episode's keywords to its topic, or takes them out.
func (l *landscape) count(e Derived, sign int) {
	t := l.topics[e.Topic]
	if t == nil {
		t = map[string]float64{}
		l.topics[e.Topic] = t
	}
	for _, k := range e.Keywords {
		w := stem(k.Word)
		t[w] += float64(sign) * k.Weight
		l.spread[w] += sign
		if t[w] < 1e-9 {
			delete(t, w)
			delete(l.holding[w], e.Topic)
			continue
		}
		if l.holding[w] == nil {
			l.holding[w] = map[RowID]bool{}
		}
		l.holding[w][e.Topic] = true
	}
	l.closed += sign
	if l.members[e.Topic] += sign; l.members[e.Topic] == 0 {
		for w := range t { // what rounding left
			delete(l.holding[w], e.Topic)
		}
		delete(l.members, e.Topic)
		delete(l.topics, e.Topic)
	}
}

// topicFor finds the topic that an episode with these keywords joins, and how sure that is; without one
// near enough it founds its own. Words that are keywords of many episodes count less.
func (l *landscape) topicFor(id RowID, keywords []Keyword) (RowID, float64) {
	return l.topicFrom(joinAt, id, keywords)
}

func (l *landscape) topicFrom(least float64, id RowID, keywords []Keyword) (RowID, float64) {
	rarity := func(stem string) float64 {
		return math.Log((float64(l.closed) + 2) / (float64(l.spread[stem]) + 1))
	}
	mine := map[string]float64{}
	shared := map[RowID]int{}
	words := make([]string, 0, len(keywords))
	for _, k := range keywords {
		w := stem(k.Word)
		if mine[w] = k.Weight * rarity(w); mine[w] > 0 {
			words = append(words, w)
		}
	}
	slices.SortFunc(words, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(l.holding[a]), len(l.holding[b])), cmp.Compare(a, b))
	})
	seen := 0
	for i, w := range words {
		if seen += len(l.holding[w]); i > 1 && seen > topicReads {
			break
		}
		for t := range l.holding[w] {
			shared[t]++
		}
	}
	var near []RowID
	for t, n := range shared {
		if n > 1 { // one shared word is a coincidence: two people's name for the same dog is not a topic
			near = append(near, t)
		}
	}
	slices.SortFunc(near, func(a, b RowID) int { return cmp.Or(shared[b]-shared[a], slices.Compare(a[:], b[:])) })
	best, score := id, 0.0
	for _, t := range near[:min(nearest, len(near))] {
		n := float64(l.members[t])
		theirs := map[string]float64{}
		for w, x := range l.topics[t] {
			if n > 1 && x/n < 0.25 {
				continue // one of many members spoke of it: without this a topic grows until it takes everything
			}
			theirs[w] = x * rarity(w)
		}
		if c := cosine(mine, theirs); c > score {
			best, score = t, c
		}
	}
	if score < least {
		return id, 1
	}
	return best, math.Round(score*1000) / 1000
}

// session are the episodes of a session in order of time.
func (l *landscape) session(name string) []Derived { return l.inOrder(l.sessions[name]) }

// unclosed are the open episodes in order of time.
func (l *landscape) unclosed() []Derived { return l.inOrder(l.open) }

func (l *landscape) inOrder(ids map[RowID]bool) []Derived {
	out := make([]Derived, 0, len(ids))
	for id := range ids {
		out = append(out, l.episodes[id])
	}
	slices.SortFunc(out, byTime)
	return out
}
