package eval

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magma-mcp/magma-mcp/memory"
	"github.com/magma-mcp/magma-mcp/memory/consolidate"
	"github.com/magma-mcp/magma-mcp/memory/consolidate/consolidatetest"
	"github.com/magma-mcp/magma-mcp/memory/embed/builtin"
	"github.com/magma-mcp/magma-mcp/memory/text"
)

// retelling is a chat model that says of an episode what its own sentences say, and for its keywords the nearest
// other word of the program's table: what a model's summaries do for recall, as far as that can be had without a
// model. A summary that adds no word adds nothing to what is found.
func retelling(t *testing.T) consolidate.Chat {
	table, err := builtin.New()
	if err != nil {
		t.Fatal(err)
	}
	words := text.New()
	return consolidatetest.ChatFunc(func(_ context.Context, p consolidate.Prompt) (string, error) {
		if !strings.Contains(string(p.Schema), `"summary"`) {
			return `{"entities":[],"facts":[],"relations":[],"dates":[],"summaries":[],"causes":[],"contradictions":[]}`, nil
		}
		var texts, said []string
		for _, m := range note.FindAllStringSubmatch(p.User, -1) {
			texts = append(texts, m[1])
		}
		for _, x := range consolidate.Summarize(texts, 320) {
			said = append(said, texts[x.Text][x.From:x.To])
		}
		for _, k := range consolidate.Keywords(texts, 12) {
			if near := table.Related(words.Stem(strings.ToLower(k.Word)), 1, 0.5); len(near) > 0 {
				said = append(said, near[0].Text)
			}
		}
		answer, err := json.Marshal(map[string]any{"summary": strings.Join(said, " "), "keywords": []string{}, "links": []string{}})
		return string(answer), err
	})
}

// note is a memory in a prompt: [c3] Monday 2026-01-05 09:00, Ana: words
var note = regexp.MustCompile(`(?m)^\[c\d+\] [^:]*:\d\d[^:]*: (.*)$`)

// drilled is how many turns are read of the episodes whose summaries fit a question best: two sessions, or three
// episodes.
const drilled = 48

// drill is the share of a question's evidence that lies in the episodes whose summaries hold most of its words,
// opened one after another while their turns are no more than drilled, over all answerable questions.
func drill(t *testing.T, c Config, engine memory.Engine) float64 {
	t.Helper()
	var key Key
	list, err := c.stripped()
	if err != nil {
		t.Fatal(err)
	}
	if err := readJSON(c.path("gold.json"), &key); err != nil {
		t.Fatal(err)
	}
	words := text.New()
	stems := func(s string) map[string]bool {
		out := map[string]bool{}
		for _, x := range words.Tokens(s) {
			if !x.Stop {
				out[x.Term] = true
			}
		}
		return out
	}
	var sum float64
	n := 0
	for _, conv := range list {
		all, err := engine.Episodes(t.Context(), memory.EpisodeQuery{Project: conv.ID, Limit: 10_000})
		if err != nil {
			t.Fatal(err)
		}
		type episode struct {
			stems   map[string]bool
			sources []string
			score   float64
		}
		var episodes []episode
		in := map[string]int{} // in how many summaries a word stands
		for _, e := range all.Episodes {
			whole, err := engine.Episode(t.Context(), conv.ID, e.ID)
			if err != nil {
				t.Fatal(err)
			}
			x := episode{stems: stems(e.Summary)}
			for _, m := range whole.Memories {
				x.sources = append(x.sources, m.Source)
			}
			for w := range x.stems {
				in[w]++
			}
			episodes = append(episodes, x)
		}
		for _, q := range conv.Questions {
			gold := key.Gold[conv.ID][q.ID]
			if gold.Unanswerable || len(gold.Evidence) == 0 {
				continue
			}
			asked := slices.Sorted(maps.Keys(stems(q.Text)))
			for i := range episodes {
				episodes[i].score = 0
				for _, w := range asked {
					if episodes[i].stems[w] {
						episodes[i].score += math.Log(1 + float64(len(episodes))/float64(in[w]))
					}
				}
			}
			order := slices.Clone(episodes)
			slices.SortStableFunc(order, func(a, b episode) int { return cmp.Compare(b.score, a.score) })
			turns, found := 0, 0
			for _, e := range order {
				if turns += len(e.sources); turns > drilled {
					break
				}
				for _, g := range gold.Evidence {
					if slices.Contains(e.sources, g) {
						found++
					}
				}
			}
			sum += float64(found) / float64(len(gold.Evidence))
			n++
		}
	}
	return sum / float64(n)
}

// TestEpisodeTable prints what is found where episodes end by session, by a fixed number of turns, at
// semantic boundaries, and at semantic boundaries of which 40 % are missed, shifted by up to two turns or joined
// by others: by recall, and by reading the episodes whose summaries fit best (drill). Recall with the last may lose
// no more than 5 % of itself. It takes minutes:
//
//	MAGMA_EVAL=episodes go test -v -timeout 1h -run EpisodeTable ./memory/eval
func TestEpisodeTable(t *testing.T) {
	if os.Getenv("MAGMA_EVAL") != "episodes" {
		t.Skip("MAGMA_EVAL is not episodes")
	}
	retold := retelling(t)
	every := func(n int) consolidate.SplitOptions {
		return consolidate.SplitOptions{Func: func(e []consolidate.Event) (cuts []int) {
			for i := n; i < len(e); i += n {
				cuts = append(cuts, i)
			}
			return cuts
		}}
	}
	type way struct {
		name string
		chat consolidate.Chat
		o    consolidate.SplitOptions
	}
	ways := []way{
		{"no model", nil, consolidate.SplitOptions{}},
		{"by session", retold, every(10_000)},
		{"by 8 turns", retold, every(8)},
		{"by 16 turns", retold, every(16)},
		{"semantic", retold, consolidate.SplitOptions{}},
	}
	for _, seed := range []string{"1", "2", "3"} {
		ways = append(ways, way{"semantic, 40 % wrong, seed " + seed, retold, consolidatetest.Noise(consolidate.SplitOptions{}, .4, uint64(seed[0]))})
	}
	t.Logf("%-30s %8s %8s %9s %9s %9s %9s %9s", "episodes", "number", "told", "drill", "recall@10", "multi-hop", "MRR", "R in 1000")
	var semantic float64
	for _, w := range ways {
		c := bankConfig(t, shared(t, "locomo-dev.json"))
		c.Foreign, c.Budgets = -1, []int{1000}
		open := OpenBank(memory.Options{Now: c.Now, Zone: time.UTC, Chat: w.chat, Consolidation: consolidate.Options{Episodes: w.o, MaxCalls: -1}})
		c.Open = open
		r, err := Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		s, err := open(t.Context(), filepath.Join(c.Out, "store"))
		if err != nil {
			t.Fatal(err)
		}
		episodes, told := 0, 0
		engine, err := s.Engine(full)
		if err != nil {
			t.Fatal(err)
		}
		projects, err := engine.Projects(t.Context())
		for _, p := range projects {
			var st memory.Stats
			if st, err = engine.Stats(t.Context(), p.Project); err != nil {
				break
			}
			episodes += st.Episodes
			var list memory.EpisodeList
			if list, err = engine.Episodes(t.Context(), memory.EpisodeQuery{Project: p.Project, Limit: st.Episodes}); err != nil {
				break
			}
			for _, e := range list.Episodes {
				if e.By != "rules" {
					told++
				}
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		deep := drill(t, c, engine)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		got := map[string]map[string]Estimate{}
		for _, cat := range r.Tables[0].Systems[0].Categories {
			got[cat.Name] = cat.Measures
		}
		all := got[answerable]
		t.Logf("%-30s %8d %8d %9.3f %9.3f %9.3f %9.3f %9.3f", w.name, episodes, told, deep, all["recall@10"].Mean, got["multi-hop"]["recall@10"].Mean, all["MRR"].Mean, all["evidence≤1000"].Mean)
		if w.name == "semantic" {
			semantic = all["recall@10"].Mean
		}
		if strings.Contains(w.name, "wrong") && all["recall@10"].Mean < .95*semantic {
			t.Errorf("%s: recall@10 %.3f of %.3f", w.name, all["recall@10"].Mean, semantic)
		}
	}
}
