package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/magma-mcp/magma-mcp/memory"
)

// lexical is an engine that finds by words alone: enough to measure the measuring.
type lexical struct {
	memory.Engine
	notes  map[string][]memory.Note
	calls  int
	seen   *bytes.Buffer // everything it was ever given
	failAt int
}

func (l *lexical) Remember(_ context.Context, n memory.Note) (memory.Receipt, error) {
	data, _ := json.Marshal(n)
	l.seen.Write(data)
	l.calls++
	if l.calls == l.failAt {
		return memory.Receipt{}, errors.New("pulled the plug")
	}
	for _, have := range l.notes[n.Project] {
		if have.Source == n.Source && have.Content == n.Content {
			return memory.Receipt{Status: memory.StatusDuplicate}, nil
		}
	}
	l.notes[n.Project] = append(l.notes[n.Project], n)
	return memory.Receipt{Status: memory.StatusStored}, nil
}

func (l *lexical) Recall(_ context.Context, q memory.Question) (memory.Recollection, error) {
	data, _ := json.Marshal(q)
	l.seen.Write(data)
	l.calls++
	if l.calls == l.failAt {
		return memory.Recollection{}, errors.New("pulled the plug")
	}
	var conv Conversation
	for _, n := range l.notes[q.Project] {
		conv.Turns = append(conv.Turns, Turn{n.Source, n.Session, n.OccurredAt, n.Speaker, n.Content})
	}
	x := newCorpus(conv)
	hits := x.rank(x.turn.scores(stems(q.Query)))
	packed := x.pack(hits, q.MaxTokens)
	out := memory.Recollection{Intent: "general", Text: packed.Text, Confident: len(hits) > 0 && hits[0].score > 2}
	for i, h := range hits {
		if i == q.Limit || i >= len(packed.Whole) {
			break
		}
		t := x.turns[h.turn]
		out.Memories = append(out.Memories, memory.Memory{Rank: i + 1, Source: t.Source, Content: t.Text})
	}
	return out, nil
}

func (l *lexical) Why(ctx context.Context, q memory.WhyQuestion) (memory.WhyAnswer, error) {
	r, err := l.Recall(ctx, memory.Question{Query: q.Query, Project: q.Project, Limit: 10, MaxTokens: 2000})
	return memory.WhyAnswer{Memories: r.Memories}, err
}

type lexicalStore struct{ *lexical }

func (s lexicalStore) Engine(Setting) (memory.Engine, error) { return s.lexical, nil }
func (s lexicalStore) Settle(context.Context) error          { return nil }
func (s lexicalStore) Close() error                          { return nil }

const canary = "zebracanary"

// planted is data of both shapes in which every field that belongs to an answer holds a canary.
func planted(t *testing.T) string {
	var convs []map[string]any
	for c := 1; c <= 6; c++ {
		talk := map[string]any{"speaker_a": "Ida", "speaker_b": "Oskar"}
		for s := 1; s <= 3; s++ {
			var turns []map[string]any
			for i := 1; i <= 6; i++ {
				turns = append(turns, map[string]any{"speaker": []string{"Ida", "Oskar"}[i%2], "dia_id": fmt.Sprintf("D%d:%d", s, i),
					"text": fmt.Sprintf("the %s of plot%d%d%d needs water", []string{"fence", "pump", "shed", "gate", "well", "barn"}[i-1], c, s, i)})
			}
			talk[fmt.Sprintf("session_%d", s)] = turns
			talk[fmt.Sprintf("session_%d_date_time", s)] = fmt.Sprintf("%d:05 pm on %d May, 2023", s, s)
		}
		var qa []map[string]any
		for s := 1; s <= 3; s++ {
			qa = append(qa, map[string]any{"question": fmt.Sprintf("Why does the pump of plot%d%d2 need water?", c, s), "answer": canary, "category": s, "evidence": []string{fmt.Sprintf("D%d:2", s)}})
		}
		qa = append(qa, map[string]any{"question": fmt.Sprintf("What about the comet of %d?", c), "adversarial_answer": canary, "category": 5, "evidence": []string{"D1:1; D:2:03"}})
		convs = append(convs, map[string]any{"sample_id": fmt.Sprintf("conv-%d", c), "conversation": talk, "qa": qa})
	}
	path := filepath.Join(t.TempDir(), "data.json")
	data, _ := json.Marshal(convs)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func testConfig(t *testing.T, l *lexical, data string) Config {
	return Config{Data: data, Out: filepath.Join(t.TempDir(), "out"), Version: "test", Foreign: 4, Budgets: []int{500, 1000},
		Open: func(context.Context, string) (Store, error) { return lexicalStore{l}, nil },
		Now:  func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }}
}

func newLexical() *lexical {
	return &lexical{notes: map[string][]memory.Note{}, seen: &bytes.Buffer{}}
}

// TestNoLeak: whatever the engine, the stripped copy or a retrieved list holds, it holds nothing of the gold.
func TestNoLeak(t *testing.T) {
	long := []map[string]any{{"question_id": "q_" + canary + "_abs", "question_type": canary, "question": "What colour is the gate?", "question_date": "2023/06/01 (Thu) 00:58",
		"answer": canary, "answer_session_ids": []string{"answer_" + canary}, "haystack_session_ids": []string{"answer_" + canary, "other"},
		"haystack_dates":    []string{"2023/05/25 (Thu) 20:21", "2023/05/27 (Sat) 10:20"},
		"haystack_sessions": [][]map[string]any{{{"role": "user", "content": "the gate is green", "has_answer": true}}, {{"role": "assistant", "content": "noted", "has_answer": false}}}}}
	path := filepath.Join(t.TempDir(), "long.json")
	data, _ := json.Marshal(long)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{planted(t), path} {
		l := newLexical()
		c := testConfig(t, l, file)
		if _, err := Run(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if l.seen.Len() == 0 || strings.Contains(l.seen.String(), canary) {
			t.Errorf("%s: the engine was given %d bytes, canary %t", file, l.seen.Len(), strings.Contains(l.seen.String(), canary))
		}
		files, _ := filepath.Glob(c.path("retrieved", "*"))
		for _, f := range append(files, c.path("stripped.json")) {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, word := range []string{canary, "category", "evidence\"", "has_answer", "answer"} {
				if bytes.Contains(data, []byte(word)) {
					t.Errorf("%s holds %q", f, word)
				}
			}
		}
		gold, _ := os.ReadFile(c.path("gold.json"))
		if !bytes.Contains(gold, []byte(canary)) {
			t.Error("the canaries were not planted: this test could not fail")
		}
	}
}

// TestStepsDoNotOpenGold: build, retrieve and answer run where there is no gold and no data file.
func TestStepsDoNotOpenGold(t *testing.T) {
	l := newLexical()
	c := testConfig(t, l, planted(t))
	c.Steps = []string{"strip"}
	if _, err := Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.path("gold.json"), []byte("not json"), 0o644); err != nil {
		t.Fatal(err)
	}
	c.Steps = []string{"build", "retrieve"}
	if _, err := Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	c.Steps = []string{"score"}
	if _, err := Run(t.Context(), c); err == nil {
		t.Error("score did not read the gold: this test could not fail")
	}
}

func TestRunScoresAndReports(t *testing.T) {
	l := newLexical()
	c := testConfig(t, l, planted(t))
	c.Ablate, c.Corrupt, c.Apart = true, "entity", []string{"conv-1"}
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Tables) != 3 || r.Conversations != 6 || r.Turns != 108 {
		t.Fatalf("%d tables, %d conversations, %d turns", len(r.Tables), r.Conversations, r.Turns)
	}
	all := r.Tables[0]
	ours := all.Systems[0].Categories
	if names := fmt.Sprint(categoryNames(ours)); names != "[multi-hop open-domain temporal answerable adversarial]" {
		t.Errorf("categories %s", names)
	}
	if e := ours[3].Measures["recall@10"]; e.N != 18 || e.Mean != 1 {
		t.Errorf("every pump can be found by its plot: %+v", e)
	}
	for _, d := range all.Differences {
		if e := d.Measures["recall@10"]; d.Floor == "bm25" && d.Category == answerable && (e.Mean != 0 || e.Low != 0) {
			t.Errorf("the fake is BM25: difference %+v", e)
		}
	}
	if w := all.Systems[0].Why["any@10"]; w.N != 18 || w.Mean != 1 {
		t.Errorf("why %+v", w)
	}
	if len(r.Ablations) != len(Ablations()) || len(r.Corruption) != 6 {
		t.Errorf("%d ablations, %d corruptions", len(r.Ablations), len(r.Corruption))
	}
	if c := r.Confidence; c.WrongPersonRefused.N != 6 || c.FoundTrusted.Mean != 1 || c.ForeignRefused.N == 0 || c.RenamedRefused.N == 0 {
		t.Errorf("confidence %+v", c)
	}
	page, err := os.ReadFile(c.path("report.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"http://", "https://", "<script", "NaN", "ZgotmplZ", "%!"} {
		if bytes.Contains(page, []byte(bad)) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if n := bytes.Count(page, []byte("<svg")); n != 3*2+3 {
		t.Errorf("%d plots", n)
	}
	for _, svg := range regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAll(page, -1) {
		if err := xml.Unmarshal(svg, new(struct{})); err != nil {
			t.Errorf("a plot is no XML: %v", err)
		}
	}
	if text := r.Text(); !strings.Contains(text, "without causal") || strings.Contains(text, "%!") {
		t.Errorf("text:\n%s", text)
	}
	again, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	one, _ := json.Marshal(r)
	two, _ := json.Marshal(again)
	if !bytes.Equal(one, two) {
		t.Error("a second run over the same files gives other figures")
	}
}

func categoryNames(list []Category) []string {
	var out []string
	for _, c := range list {
		out = append(out, c.Name)
	}
	return out
}

// TestResume: a run that dies at any call goes on and ends with the figures of one that did not.
func TestResume(t *testing.T) {
	data := planted(t)
	whole := newLexical()
	c := testConfig(t, whole, data)
	want, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	l := newLexical()
	c = testConfig(t, l, data)
	died := 0
	for _, at := range []int{1, 30, 108, 130, 170, 1 << 30} {
		l.failAt = l.calls + at
		got, err := Run(t.Context(), c)
		if err != nil {
			died++
			// A crash may leave half a line.
			f, err := os.OpenFile(c.retrievedPath("magma"), os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				fmt.Fprint(f, `{"conversation":"co`)
				f.Close()
			}
			continue
		}
		for i, cat := range got.Tables[0].Systems[0].Categories {
			w := want.Tables[0].Systems[0].Categories[i]
			for k, e := range cat.Measures {
				if e != w.Measures[k] {
					t.Errorf("%s %s: %+v, want %+v", cat.Name, k, e, w.Measures[k])
				}
			}
		}
	}
	if died < 3 {
		t.Errorf("only %d runs died", died)
	}
	if got := l.notes["conv-1"]; len(got) != 18 {
		t.Errorf("%d memories of conv-1, want 18", len(got))
	}
	c.Version = "another build"
	if _, err := Run(t.Context(), c); err == nil {
		t.Error("results of two builds were mixed")
	}
	c.Fresh = true
	if _, err := Run(t.Context(), c); err != nil {
		t.Error(err)
	}
}

func TestMeasures(t *testing.T) {
	m := measures([]string{"a", "x", "b", "x"}, []Context{{Budget: 500, Tokens: 100, Whole: []Shown{{"a", 20}, {"x", 50}, {"a", 5}}}, {Budget: 1000, Tokens: 1001, Whole: []Shown{{"a", 20}}}},
		[]string{"a", "b", "c", "d"}, nil, nil)
	want := map[string]float64{"recall@5": .5, "all@10": 0, "any@10": 1, "MRR": 1,
		"nDCG@10": (1 + 1/math.Log2(4)) / (1 + 1/math.Log2(3) + 1/math.Log2(4) + 1/math.Log2(5)), "evidence≤500": .25, "share≤500": .25, "evidence≤1000": 0}
	for k, w := range want {
		if math.Abs(m[k]-w) > 1e-12 {
			t.Errorf("%s = %v, want %v", k, m[k], w)
		}
	}
	m = measures([]string{"x", "a1", "a2"}, nil, nil, map[string]string{"a1": "s1", "a2": "s1", "x": "s2"}, []string{"s1"})
	if m["MRR"] != .5 || m["all@5"] != 1 {
		t.Errorf("by session: %v", m)
	}
}

func TestEstimateIsClustered(t *testing.T) {
	var same, mixed []value
	for i := range 100 {
		c := fmt.Sprint(i % 5)
		same = append(same, value{c, float64(i % 2)})
		mixed = append(mixed, value{c, truth(i%5 < 2)})
	}
	a, b := estimate(same, 1), estimate(mixed, 1)
	if a.Mean != .5 || b.Mean != .4 {
		t.Fatalf("means %v, %v", a.Mean, b.Mean)
	}
	if a.High-a.Low > .01 || b.High-b.Low < .5 {
		t.Errorf("clusters that agree %v, clusters that do not %v", a, b)
	}
}

func TestCorruptions(t *testing.T) {
	for what, last := range map[string]float64{"entity": .5, "causal=0..30%": .3, "semantic=20": .2} {
		list, err := Corruptions(what, 1)
		if err != nil || len(list) != 6 || len(list[5].Relations) != 3 || math.Abs(list[4].Share-last) > 1e-9 {
			t.Errorf("%s: %v, %v", what, list, err)
		}
	}
	for _, what := range []string{"", "gossip", "entity=", "entity=0..900%", "entity=x"} {
		if _, err := Corruptions(what, 1); err == nil {
			t.Errorf("%q was taken", what)
		}
	}
}

func TestEvidenceIDs(t *testing.T) {
	got := evidenceIDs([]any{"D8:6; D9:17", "D:11:26", "D30:05", "D8:6", "none"})
	if fmt.Sprint(got) != "[D8:6 D9:17 D11:26 D30:5]" {
		t.Error(got)
	}
}

// TestJudge: an arm is judged only by a judge that passes every control pair.
func TestJudge(t *testing.T) {
	for _, fair := range []bool{true, false} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var req struct {
				Messages []struct{ Content string }
				Format   json.RawMessage
			}
			json.NewDecoder(r.Body).Decode(&req)
			text := "it needs water"
			if len(req.Format) > 0 {
				score := "1"
				for _, p := range controlPairs {
					if strings.Contains(req.Messages[0].Content, p.answer) && p.want == 0 && fair {
						score = "0"
					}
				}
				text = `{"reason":"so it is","score":` + score + `}`
			} else if strings.Contains(req.Messages[0].Content, canary) {
				t.Error("a prompt to answer holds gold")
			}
			json.NewEncoder(w).Encode(map[string]any{"message": map[string]string{"role": "assistant", "content": text}, "done": true, "done_reason": "stop", "prompt_eval_count": 40})
		}))
		l := newLexical()
		c := testConfig(t, l, planted(t))
		c.Answers = &Answers{URL: srv.URL, Model: "m", Most: 2}
		r, err := Run(t.Context(), c)
		srv.Close()
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Answers) != 4 || r.Answers[0].TokensRead != 40 {
			t.Fatalf("arms %+v", r.Answers)
		}
		if judged := r.Answers[3].Judge != nil; judged != fair || fair != (r.JudgeRefused == "") {
			t.Errorf("fair %t: judged %t, refused %q", fair, judged, r.JudgeRefused)
		}
		if !strings.Contains(r.Text(), "answers ours") || len(r.HTML()) == 0 {
			t.Error("the report leaves the answers out")
		}
	}
}

func TestAnswerScores(t *testing.T) {
	if f := tokenF1("the red barns", "a red barn"); f != 1 {
		t.Errorf("F1 %v", f)
	}
	if b := bleu1("red", "red barn"); math.Abs(b-math.Exp(-1)) > 1e-9 {
		t.Errorf("BLEU-1 %v", b)
	}
	if tokenF1("", "x") != 0 || bleu1("", "x") != 0 {
		t.Error("an empty answer is worth something")
	}
}

func shared(t testing.TB, parts ...string) string {
	root := os.Getenv("MAGMA_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared")
	}
	path := filepath.Join(append([]string{root, "data"}, parts...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not here (set MAGMA_SHARED): nothing to measure on", parts[len(parts)-1])
	}
	return path
}

// TestFloorsAreWhatTheyClaim keeps the floors near the figures of the design page: a floor that sinks
// makes everything above it look good.
func TestFloorsAreWhatTheyClaim(t *testing.T) {
	list, key, err := Load(shared(t, "locomo-dev.json"), nil)
	if err != nil {
		t.Fatal(err)
	}
	atLeast := map[string]float64{"bm25": .60, "bm25±2": .72, "sketch": .76}
	for _, f := range floors {
		sum, all, mrr, n, multi, multiN := 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
		for _, conv := range list {
			x := newCorpus(conv)
			for _, q := range conv.Questions {
				g := key.Gold[conv.ID][q.ID]
				if g.Unanswerable || len(g.Evidence) == 0 {
					continue
				}
				var ranked []string
				for _, h := range f.rank(x, q.Text) {
					ranked = append(ranked, x.turns[h.turn].Source)
				}
				m := measures(ranked[:min(20, len(ranked))], nil, g.Evidence, nil, nil)
				sum, all, mrr, n = sum+m["recall@10"], all+m["all@10"], mrr+m["MRR"], n+1
				if g.Category == "multi-hop" {
					multi, multiN = multi+m["recall@10"], multiN+1
				}
			}
		}
		t.Logf("%-8s n=%.0f recall@10 %.3f all@10 %.3f MRR %.3f multi-hop %.3f", f.name, n, sum/n, all/n, mrr/n, multi/multiN)
		if sum/n < atLeast[f.name] {
			t.Errorf("%s: recall@10 %.3f is under %.2f", f.name, sum/n, atLeast[f.name])
		}
	}
}
