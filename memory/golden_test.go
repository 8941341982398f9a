package memory

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/magma-mcp/magma-mcp/memory/embed"
	"github.com/magma-mcp/magma-mcp/memory/embed/builtin"
)

var update = flag.Bool("update", false, "write the golden files anew: look at the difference before you commit it")

// goldenFile holds what the demo's conversation answers, and digests of the answers of a larger made-up one.
var goldenFile = filepath.Join("..", "testdata", "golden", "answers.json")

// goldenAnswer is one call with its answer as a client gets it.
type goldenAnswer struct {
	Tool   string          `json:"tool"`
	Ask    json.RawMessage `json:"ask"`
	Answer json.RawMessage `json:"answer"`
	Text   []string        `json:"text"`
}

type golden struct {
	Answers []goldenAnswer `json:"answers"`
	// Many is, for each question to the made-up store, the first half of a SHA-256 of its whole answer.
	Many []string `json:"many"`
}

var goldenQuestions = []struct {
	tool string
	q    any
}{
	{"recall", Question{Query: "Which database does the tracker use?", Explain: true}},
	{"recall", Question{Query: "What did Lena do in Gothenburg?", Explain: true}},
	{"recall", Question{Query: "When is the public launch?"}},
	{"recall", Question{Query: "When was the launch planned before?", IncludeSuperseded: true}},
	{"recall", Question{Query: "who is on call", Filter: Filter{AsOf: "2025-10-16"}}},
	{"recall", Question{Query: "what happened in the week of 13 October 2025", Limit: 20}},
	{"recall", Question{Query: "hosting money per month", MaxTokens: 60}},
	{"recall", Question{Query: "Tomas", Intent: "entity", Limit: 5}},
	{"recall", Question{Query: "Does anybody keep a dog in the office?"}},
	{"recall", Question{Limit: 4}},
	{"recall", Question{Query: "map is slow", Relations: []string{"causal", "temporal"}, Explain: true}},
	{"recall", Question{Query: "decisions about the launch", Filter: Filter{Kind: "decision"}}},
	{"recall", Question{Query: "Nordfracht", Filter: Filter{Since: "2025-10-02", Until: "2025-10-06"}, Project: "*"}},
	{"why", WhyQuestion{Query: "Why did the login deploy fail?"}},
	{"why", WhyQuestion{Query: "Why do we use Postgres?", Depth: 2}},
	{"why", WhyQuestion{Query: "Why did the launch move?", Relations: []string{"causal"}}},
	{"why", WhyQuestion{Query: "Why is the sky blue?"}},
	{"when", WhenQuestion{Query: "When did Lena give her talk?"}},
	{"when", WhenQuestion{Query: "When did the migration to Postgres run?"}},
	{"when", WhenQuestion{Query: "When does Nordfracht switch off version one?"}},
	{"when", WhenQuestion{Query: "When did Lena join?", Limit: 2}},
	{"when", WhenQuestion{Query: "When did we buy the helicopter?"}},
}

func goldenAsk(t *testing.T, b *Bank, tool string, q any) goldenAnswer {
	t.Helper()
	var answer any
	var text string
	var err error
	switch q := q.(type) {
	case Question:
		var r Recollection
		r, err = b.Recall(ctx, q)
		answer, text = r, r.Text
	case WhyQuestion:
		var r WhyAnswer
		r, err = b.Why(ctx, q)
		answer, text = r, r.Text
	case WhenQuestion:
		var r WhenAnswer
		r, err = b.When(ctx, q)
		answer, text = r, r.Text
	}
	if err != nil {
		t.Fatalf("%s %+v: %v", tool, q, err)
	}
	ask, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	return goldenAnswer{tool, ask, raw, strings.Split(text, "\n")}
}

func goldenBank(t *testing.T) *fixture {
	e, err := builtin.New()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2025, 11, 3, 9, 0, 0, 0, time.UTC)
	return open(t, func(o *Options) {
		o.Now = func() time.Time { return now }
		o.Embedder = embed.Fixed(e)
		o.QuestionTimeout = time.Hour // an emulated or busy processor takes its time
	})
}

// demoTurns are the demo's conversation; because_of and supersedes name keys of earlier lines.
func demoTurns(t *testing.T) (notes []Note, keys []string) {
	raw, err := os.ReadFile(filepath.Join("..", "testdata", "demo", "conversation.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(raw) {
		var n struct {
			Key string
			Note
		}
		if err := json.Unmarshal(line, &n); err != nil {
			t.Fatal(err)
		}
		notes, keys = append(notes, n.Note), append(keys, n.Key)
	}
	return notes, keys
}

func tellDemo(t *testing.T, f *fixture) {
	ids := map[string]string{}
	notes, keys := demoTurns(t)
	for i, n := range notes {
		for _, l := range [][]string{n.BecauseOf, n.Supersedes} {
			for j, k := range l {
				l[j] = ids[k]
			}
		}
		ids[keys[i]] = f.remember(n).ID
	}
}

// tellMany fills a project with sentences of few words, so that scores lie close together.
func tellMany(t *testing.T, f *fixture, n int) {
	talk := newTalker(5)
	for i := range n {
		note := Note{Project: "many", Content: talk.sentence(), Speaker: []string{"Ana", "Bo"}[i%2], Session: fmt.Sprint("s", i/20), OccurredAt: time.Date(2025, 1, 1, 0, 17*i, 0, 0, time.UTC).Format(time.RFC3339)}
		if i%9 == 0 {
			note.Content = fmt.Sprintf("The %s of the garden broke because the %s was late, said Klara Winter in %s.", talk.word(), talk.word(), []string{"March", "Oslo", "the kitchen"}[i%3])
		}
		f.remember(note)
	}
}

// TestGoldenAnswers: with a fixed clock and fixed ids the same calls give byte-equal answers, on every
// processor: .ci/run builds this test for arm64 too and runs it emulated.
func TestGoldenAnswers(t *testing.T) {
	many, asked := 600, 60
	f := goldenBank(t)
	tellDemo(t, f)
	tellMany(t, f, many)
	if err := f.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	if st, err := f.Stats(ctx, "many"); err != nil || st.Vectors == 0 || st.Pending.Embedding != 0 {
		t.Fatalf("%d vectors, %+v, %v", st.Vectors, st.Pending, err)
	}
	ask := func() (g golden) {
		for _, q := range goldenQuestions {
			g.Answers = append(g.Answers, goldenAsk(t, f.Bank, q.tool, q.q))
		}
		talk := newTalker(6)
		for i := range asked {
			q := fmt.Sprintf("%s the %s and the %s with %s?", []string{"What did Ana say about", "Why was it", "When was"}[i%3], talk.word(), talk.word(), talk.word())
			var l []goldenAnswer
			l = append(l, goldenAsk(t, f.Bank, "recall", Question{Query: q, Project: "many", Explain: true, Limit: 20}))
			if i%3 == 1 {
				l = append(l, goldenAsk(t, f.Bank, "why", WhyQuestion{Query: q, Project: "many"}))
			} else if i%3 == 2 {
				l = append(l, goldenAsk(t, f.Bank, "when", WhenQuestion{Query: q, Project: "many"}))
			}
			raw, err := json.Marshal(l)
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(raw)
			g.Many = append(g.Many, fmt.Sprintf("%x", sum[:16]))
			if dir := os.Getenv("MAGMA_GOLDEN_DUMP"); dir != "" { // to see what differs between two processors
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%02d.json", i)), raw, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		return g
	}
	encode := func(g golden) []byte {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "\t")
		if err := e.Encode(g); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	got := encode(ask())
	if *update {
		if err := os.MkdirAll(filepath.Dir(goldenFile), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(goldenFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the answers are not the golden ones; where that is meant: go test ./memory -run GoldenAnswers -update\n%s", shorter(cmp.Diff(string(want), string(got)), 6000))
	}
	f.reopen()
	if again := encode(ask()); !bytes.Equal(again, got) {
		t.Errorf("after reopening: %s", shorter(cmp.Diff(string(got), string(again)), 3000))
	}
	if err := f.Rebuild(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if again := encode(ask()); !bytes.Equal(again, got) {
		t.Errorf("after a rebuild: %s", shorter(cmp.Diff(string(got), string(again)), 3000))
	}
}

func shorter(s string, n int) string {
	if len(s) > n {
		return s[:n] + "..."
	}
	return s
}
