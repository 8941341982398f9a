package eval

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/magma-mcp/magma-mcp/memory"
)

// TestLongSessions: a file of LongMemEval's shape is measured by its kinds of question, those without an answer apart,
// and each question is put at its own time.
func TestLongSessions(t *testing.T) {
	c := bankConfig(t, filepath.Join("..", "..", "testdata", "longsessions", "longsessions.json"))
	var asked []string
	inner := c.Open
	c.Open = func(ctx context.Context, dir string) (Store, error) {
		s, err := inner(ctx, dir)
		return windows{s, &asked}, err
	}
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + r.Text())
	ours := r.Tables[0].Systems[0].Categories
	if names := strings.Join(categoryNames(ours), " "); names != "knowledge-update multi-session single-session-assistant single-session-preference single-session-user temporal-reasoning answerable adversarial" {
		t.Errorf("kinds of question: %s", names)
	}
	n := map[string]int{}
	for _, cat := range ours {
		n[cat.Name] = cat.Measures["recall@10"].N
		if e := cat.Measures["recall@10"]; cat.Name == answerable && e.Mean < .85 {
			t.Errorf("recall@10 %.3f", e.Mean)
		}
	}
	if n[answerable] != 8 || n[Unanswerable] != 2 || r.Confidence.WrongPersonRefused.N != 2 || r.Confidence.ForeignRefused.N == 0 {
		t.Errorf("questions %v, refusals %+v", n, r.Confidence)
	}
	// Asked on 14 April 2024.
	if all := strings.Join(asked, " "); !strings.Contains(all, "2024-03-2") {
		t.Errorf("\"three weeks ago\" was not counted from the question's date: %s", all)
	}
}

// windows notes the times that questions are understood to mean.
type windows struct {
	Store
	seen *[]string
}

func (w windows) AskAt(at time.Time) { w.Store.(Clock).AskAt(at) }

func (w windows) Engine(s Setting) (memory.Engine, error) {
	e, err := w.Store.Engine(s)
	return windowed{e, w.seen}, err
}

type windowed struct {
	memory.Engine
	seen *[]string
}

func (w windowed) Recall(ctx context.Context, q memory.Question) (memory.Recollection, error) {
	r, err := w.Engine.Recall(ctx, q)
	if r.Window != nil {
		data, _ := json.Marshal(r.Window)
		*w.seen = append(*w.seen, string(data))
	}
	return r, err
}
