package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/magma-mcp/magma-mcp/memory/consolidate"
	"github.com/magma-mcp/magma-mcp/memory/consolidate/consolidatetest"
)

// ferryTalks tells of one matter in two sessions and of another in a third, and returns the ids.
func ferryTalks(f *fixture) []string {
	f.t.Helper()
	var ids []string
	for i, text := range []string{
		"The ferry timetable changes on Monday.", "The ferry leaves the Nordnes pier at six then.", "Who tells the harbour school about the timetable?",
		"My sourdough starter died in the heat.", "Rye flour keeps a sourdough starter alive.", "The ferry brings me rye flour for bread.",
		"The new ferry timetable hangs at the Nordnes pier.", "The harbour school missed the ferry at six.", "They had read the old timetable.",
	} {
		at := time.Date(2025, 6, 1+2*(i/3), 10, i, 0, 0, time.UTC)
		ids = append(ids, f.remember(Note{Content: text, Speaker: []string{"Jon", "Mira"}[i%2], Session: fmt.Sprint("s", i/3+1), OccurredAt: at.Format(time.RFC3339)}).ID)
	}
	f.clock.add(time.Hour) // the last episode closes
	f.settle()
	return ids
}

func (f *fixture) episodes(q EpisodeQuery) []EpisodeInfo {
	f.t.Helper()
	l, err := f.Episodes(ctx, q)
	if err != nil {
		f.t.Fatal(err)
	}
	return l.Episodes
}

// Episodes and the topics that link them across sessions are shown, with the memories under them.
func TestEpisodesAndTopics(t *testing.T) {
	f := open(t)
	ids := ferryTalks(f)
	all := f.episodes(EpisodeQuery{})
	if len(all) != 3 || !slices.Equal(all[0].MemoryIDs, ids[:3]) || !slices.Equal(all[2].MemoryIDs, ids[6:]) {
		t.Fatalf("episodes: %+v", all)
	}
	for _, e := range all {
		if e.By != "rules" || e.Title == "" || e.Summary == "" || e.Open || e.TopicID == "" {
			t.Errorf("%+v", e)
		}
	}
	if all[0].TopicID != all[2].TopicID || all[0].TopicID == all[1].TopicID || !strings.Contains(all[0].Topic, "ferry") {
		t.Errorf("topics of the episodes: %q %q %q", all[0].Topic, all[1].Topic, all[2].Topic)
	}
	if l, err := f.Episodes(ctx, EpisodeQuery{Limit: 1}); err != nil || l.Omitted != 2 || len(l.Episodes) != 1 || l.Episodes[0].ID != all[2].ID {
		t.Errorf("the latest: %+v, %v", l, err)
	}
	if s := f.episodes(EpisodeQuery{Session: "s2"}); len(s) != 1 || s[0].ID != all[1].ID {
		t.Errorf("of one session: %+v", s)
	}
	ref := func(id string) string {
		m, err := f.Get(ctx, "", id)
		if err != nil {
			t.Fatal(err)
		}
		return m.Ref
	}
	for _, id := range []string{all[1].ID, ids[3], ref(ids[5])} {
		e, err := f.Episode(ctx, "", id)
		if err != nil || e.ID != all[1].ID || len(e.Memories) != 3 || e.Memories[2].ID != ids[5] {
			t.Errorf("episode %s: %+v, %v", id, e, err)
		}
	}
	_, err := f.Episode(ctx, "", "nothing at all")
	wantCode(t, err, CodeNotFound, "no episode")
	_, err = f.Episode(ctx, "elsewhere", all[1].ID)
	wantCode(t, err, CodeNotFound, "no episode")

	topics, err := f.Topics(ctx, "")
	if err != nil || len(topics) != 1 || topics[0].EpisodeCount != 2 || topics[0].MemoryCount != 6 || !slices.Equal(topics[0].Sessions, []string{"s1", "s3"}) || topics[0].Episodes != nil {
		t.Fatalf("topics: %+v, %v", topics, err)
	}
	if s := f.stats(); s.Topics != len(topics) {
		t.Errorf("stats counts %d topics", s.Topics)
	}
	for _, name := range []string{topics[0].ID, topics[0].Name, "Timetable"} {
		got, err := f.Topic(ctx, "", name)
		if err != nil || len(got) != 1 || len(got[0].Episodes) != 2 || got[0].Episodes[1].ID != all[2].ID {
			t.Errorf("topic %q: %+v, %v", name, got, err)
		}
	}
	if got, err := f.Topic(ctx, "", "sourdough"); err != nil || len(got) != 1 || got[0].EpisodeCount != 1 {
		t.Errorf("a topic of one episode: %+v, %v", got, err)
	}
	if got, err := f.Topic(ctx, "", "kestrel"); err != nil || len(got) != 0 {
		t.Errorf("no topic: %+v, %v", got, err)
	}
	// What crosses to another process is the same there.
	raw, err := json.Marshal(topics)
	if err != nil {
		t.Fatal(err)
	}
	var back []TopicInfo
	if err := json.Unmarshal(raw, &back); err != nil || !cmp.Equal(topics, back) {
		t.Errorf("after JSON: %v\n%s", err, cmp.Diff(topics, back))
	}
	// Forgetting leaves neither its words nor a topic that it made.
	if _, err := f.Forget(ctx, Choice{Session: "s3", Confirm: f.preview(Choice{Session: "s3"})}); err != nil {
		t.Fatal(err)
	}
	f.settle()
	if topics, _ := f.Topics(ctx, ""); len(topics) != 0 {
		t.Errorf("after forgetting: %+v", topics)
	}
	if all := f.episodes(EpisodeQuery{}); len(all) != 2 || strings.Contains(fmt.Sprint(all), "old timetable") {
		t.Errorf("after forgetting: %+v", all)
	}
}

// preview is the code that confirms a choice.
func (f *fixture) preview(c Choice) string {
	f.t.Helper()
	r, err := f.Forget(ctx, c)
	if err != nil || r.Status != StatusPreview {
		f.t.Fatalf("%+v, %v", r, err)
	}
	return r.Confirm
}

// What a model writes of an episode is its summary, with the model's name; its links between topics are
// shown with the words of both; a long memory has its summary and its dates.
func TestEpisodesOfAModel(t *testing.T) {
	long := "Eskil wrote it all down. The bakery opens on the first of July 2025. The oven comes from Voss. The flour comes from Os. The water is our own. The bread will be dark."
	chat := consolidatetest.ChatFunc(func(_ context.Context, p consolidate.Prompt) (string, error) {
		switch schema := string(p.Schema); {
		case strings.Contains(schema, `"entities"`) && strings.Contains(p.User, "bakery"):
			return `{"entities":[],"facts":[],"relations":[],"dates":[{"memory":"m1","quote":"on the first of July 2025","start":"2025-07-01","end":"2025-07-02"}],"summaries":[{"memory":"m1","text":"The bakery opens on the first of July 2025."}]}`, nil
		case strings.Contains(schema, `"entities"`):
			return `{"entities":[],"facts":[],"relations":[],"dates":[],"summaries":[]}`, nil
		case strings.Contains(schema, `"causes"`):
			return `{"causes":[],"contradictions":[]}`, nil
		case strings.Contains(p.User, "missed the ferry"):
			return `{"summary":"The harbour school missed the ferry at six.","keywords":["harbour school"],"links":[{"topic":"t1","kind":"causal","quote":"had read the old timetable","other":"sourdough starter died"}]}`, nil
		}
		return `{"summary":"","keywords":[],"links":[]}`, nil
	})
	f := open(t, func(o *Options) { o.Chat = chat })
	ids := ferryTalks(f)
	wrote := f.remember(Note{Content: long, Session: "s4", OccurredAt: "2025-06-20T10:00:00Z"})
	f.clock.add(time.Hour)
	f.settle()
	e, err := f.Episode(ctx, "", ids[7])
	if err != nil || e.Summary != "The harbour school missed the ferry at six." || !strings.HasPrefix(e.By, "episode (func") || e.Title != "harbour school" {
		t.Errorf("%+v, %v", e, err)
	}
	got, err := f.Topic(ctx, "", e.TopicID)
	if err != nil || len(got) != 1 || len(got[0].Links) != 1 {
		t.Fatalf("links: %+v, %v", got, err)
	}
	link := got[0].Links[0]
	want := []Evidence{{ids[8], "had read the old timetable"}, {ids[3], "sourdough starter died"}}
	if link.Kind != "causal" || !cmp.Equal(link.Evidence, want) || !strings.HasPrefix(link.By, "episode (func") {
		t.Errorf("%+v", link)
	}
	if back, err := f.Topic(ctx, "", link.OtherID); err != nil || len(back) != 1 || len(back[0].Links) != 1 || back[0].Links[0].OtherID != e.TopicID {
		t.Errorf("from the other end: %+v, %v", back, err)
	}
	m, err := f.Get(ctx, "", wrote.ID)
	if err != nil || m.Summary != "The bakery opens on the first of July 2025." {
		t.Errorf("summary %q, %v", m.Summary, err)
	}
	if !slices.ContainsFunc(m.Times, func(s TimeSpan) bool {
		return s.Text == "on the first of July 2025" && s.Start != nil && strings.HasPrefix(*s.Start, "2025-07-01")
	}) {
		t.Errorf("times %+v", m.Times)
	}
}

// A question may enter through what a model wrote of an episode, in words that none of its memories holds, and
// drill down to them; through it also to the other episodes of its topic. Without the model, or once a memory
// of the episode is forgotten, it does not.
func TestEnterThroughEpisode(t *testing.T) {
	chat := consolidatetest.ChatFunc(func(_ context.Context, p consolidate.Prompt) (string, error) {
		if strings.Contains(p.User, "missed the ferry") && strings.Contains(string(p.Schema), `"summary"`) {
			return `{"summary":"The harbour school missed the ferry at six, a costly misunderstanding.","keywords":[],"links":[]}`, nil
		}
		if strings.Contains(string(p.Schema), `"summary"`) {
			return `{"summary":"The ferry timetable changes on Monday.","keywords":[],"links":[]}`, nil
		}
		return `{"entities":[],"facts":[],"relations":[],"dates":[],"summaries":[],"causes":[],"contradictions":[]}`, nil
	})
	ask := Question{Query: "Was there a costly misunderstanding?", Limit: 20}
	entered := func(f *fixture) map[string]Memory {
		t.Helper()
		out := map[string]Memory{}
		for _, m := range f.recall(ask).Memories {
			if m.Signals["episode"] != 0 {
				out[m.ID] = m
			}
		}
		return out
	}
	plain := open(t, func(o *Options) { o.ExactWords = true })
	ferryTalks(plain)
	if got := plain.recall(ask); len(got.Memories) > 0 {
		t.Fatalf("without a model: %+v", got.Memories)
	}
	f := open(t, func(o *Options) { o.ExactWords, o.Chat = true, chat })
	ids := ferryTalks(f)
	for _, when := range []string{"at once", "after a restart"} {
		got := entered(f)
		for i, id := range ids {
			m, ok := got[id]
			relation := ""
			if len(m.Via) == 1 {
				relation = m.Via[0].Relation
			}
			switch want := []string{"topic", "", "episode"}[i/3]; {
			case ok != (want != ""):
				t.Errorf("%s: memory %d entered: %v", when, i, ok)
			case relation != want || ok && (m.Via[0].From == id || !slices.Contains(ids[6:], m.Via[0].From)):
				t.Errorf("%s: memory %d came via %+v", when, i, m.Via)
			}
		}
		if len(got) > 0 && got[ids[6]].Score <= got[ids[0]].Score {
			t.Errorf("%s: another episode of the topic scores %v, the episode itself %v", when, got[ids[0]].Score, got[ids[6]].Score)
		}
		f.reopen()
	}
	if text := f.recall(ask).Text; !strings.Contains(text, "via ") || !strings.Contains(text, " episode") {
		t.Errorf("the text does not say how it was found:\n%s", text)
	}
	filtered := ask
	filtered.Session = "s1"
	for _, m := range f.recall(filtered).Memories {
		if m.Session != "s1" {
			t.Errorf("a filter let %+v through", m)
		}
	}
	if _, err := f.Forget(ctx, Choice{IDs: []string{ids[8]}}); err != nil {
		t.Fatal(err)
	}
	if got := entered(f); len(got) != 0 {
		t.Errorf("entered through the summary of what was forgotten: %+v", got)
	}
}
