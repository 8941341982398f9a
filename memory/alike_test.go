package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/magma-mcp/magma-mcp/memory/embed"
	"github.com/magma-mcp/magma-mcp/memory/embed/ollamatest"
)

// meaning is an embedder that knows a few words to mean the same, and no other word to be like any.
type meaning struct{}

var synonyms = strings.NewReplacer("ice", "frost", "blocks", "jams", "sluice", "gate", "boat", "barge", "stuck", "waiting")

func (meaning) Space() embed.Space {
	return embed.Space{Provider: "test", Model: "meaning", Digest: "1", Dimensions: 128}
}
func (meaning) Chunks(text string) []string { return []string{text} }
func (meaning) Embed(_ context.Context, _ embed.Kind, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, s := range texts {
		out[i] = ollamatest.Vector("meaning", synonyms.Replace(strings.ToLower(s)), 128)
	}
	return out, nil
}

// A story that the semantic graph alone answers, by vectors: what is asked about leads, by meaning and by no
// shared word, to what was told of the same in another session. The question shares neither word nor meaning
// with that. Without the semantic graph, and without vectors, it is not found.
func TestAlikeByMeaning(t *testing.T) {
	told := func(f *fixture) (report, other string) {
		talk := newTalker(3)
		fill := func(session string, n int) {
			for i := range n {
				f.remember(Note{Content: talk.sentence(), Session: session, Speaker: []string{"Ana", "Bo"}[i%2], OccurredAt: "2025-03-01T10:00:00Z"})
			}
		}
		fill("s1", 60)
		report = f.remember(Note{Content: "Twelfth report of keeper Osk: frost jams gate, barge waiting.", Session: "s1", OccurredAt: "2025-03-01T10:00:00Z"}).ID
		fill("s1", 60)
		fill("s2", 60)
		other = f.remember(Note{Content: "Ice blocks sluice, boat stuck.", Session: "s2", OccurredAt: "2025-04-01T10:00:00Z"}).ID
		fill("s2", 60)
		return report, other
	}
	q := Question{Query: "What came of the twelfth report of keeper Osk?", Limit: 8}
	has := func(f *fixture, q Question, id string) (Memory, bool) {
		got := f.recall(q).Memories
		i := slices.IndexFunc(got, func(m Memory) bool { return m.ID == id })
		if i < 0 {
			return Memory{}, false
		}
		return got[i], true
	}
	f := open(t, func(o *Options) { o.Embedder, o.ExactWords = embed.Fixed(meaning{}), true })
	report, other := told(f)
	f.settle()
	for _, when := range []string{"at once", "after a restart"} {
		m, ok := has(f, q, other)
		if !ok || len(m.Via) != 1 || m.Via[0].Relation != "similar" || m.Via[0].From != report {
			t.Fatalf("%s: %v, via %+v", when, ok, m.Via)
		}
		without := q
		without.Relations = []string{"temporal", "causal", "entity"}
		if _, ok := has(f, without, other); ok {
			t.Errorf("%s: found without the semantic graph too", when)
		}
		f.reopen()
	}
	g, err := f.Graph(ctx, GraphQuery{Around: report})
	if err != nil || !slices.ContainsFunc(g.Edges, func(e GraphEdge) bool {
		return e.Graph == "semantic" && fmt.Sprint(min(e.From, e.To), max(e.From, e.To)) == fmt.Sprint(min(report, other), max(report, other)) && e.Confidence > 0
	}) {
		t.Errorf("the graph does not show the edge: %+v, %v", g.Edges, err)
	}
	if _, err := f.Forget(ctx, Choice{IDs: []string{other}}); err != nil {
		t.Fatal(err)
	}
	if _, ok := has(f, q, other); ok {
		t.Error("a forgotten memory is reached")
	}
	words := open(t, func(o *Options) { o.ExactWords = true })
	if _, other := told(words); func() bool { _, ok := has(words, q, other); return ok }() {
		t.Error("found without vectors too")
	}
}
