package eval

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/magma-mcp/magma-mcp/memory/embed/ollamatest"
	"github.com/magma-mcp/magma-mcp/memory/embed/ollamatest/tinymodel"
)

// TestAnswersByARealServer runs every step against a real Ollama server, answers and judge among them. Its models are
// tiny and know nothing, so the figures are worthless, and the judge has to say so itself: one that calls everything
// right fails the control pairs as one that babbles does, and no judged figure comes out.
func TestAnswersByARealServer(t *testing.T) {
	server := ollamatest.Real(t)
	server.Chat(t, "tiny-answer", tinymodel.Chat{Reply: "Thursday, I believe."})
	server.Chat(t, "tiny-judge", tinymodel.Chat{Reply: `{"reason":"it says the same","score":1}`})
	server.Chat(t, "tiny-noise", tinymodel.Chat{})
	c := bankConfig(t, filepath.Join("..", "..", "testdata", "longsessions", "longsessions.json"))
	c.Only, c.Foreign = []string{"ls01", "ls07"}, -1
	for _, judge := range []string{"tiny-judge", "tiny-noise"} {
		c.Answers = &Answers{URL: server.URL, Model: "tiny-answer", Judge: judge}
		r, err := Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		t.Log("\n" + r.Text())
		if len(r.Answers) != len(ArmNames) {
			t.Fatalf("%d arms", len(r.Answers))
		}
		for i, a := range r.Answers {
			if a.Name != ArmNames[i] || a.F1.N != 2 || a.TokensRead == 0 {
				t.Errorf("arm %d: %+v", i, a)
			}
			if a.Judge != nil || a.Good != nil {
				t.Errorf("%s was judged by %s, which knows nothing", a.Name, judge)
			}
		}
		if none, full := r.Answers[0].TokensRead, r.Answers[1].TokensRead; full < 5*none {
			t.Errorf("without memory %.0f tokens were read, with the whole history %.0f", none, full)
		}
		if !strings.Contains(r.JudgeRefused, "failed control pairs") || !strings.Contains(r.Text(), "answers are not judged") {
			t.Errorf("judge %s: refused %q", judge, r.JudgeRefused)
		}
	}
}
