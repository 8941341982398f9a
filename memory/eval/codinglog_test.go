package eval

import (
	"path/filepath"
	"testing"
)

// TestCodingLog: the log has the promised size, its evidence exists, and the floors are where they
// were when it was written. What moves them has changed the log or the floors, and neither is tuned.
func TestCodingLog(t *testing.T) {
	list, key, err := Load(filepath.Join("..", "..", "testdata", "codinglog", "codinglog.json"), nil)
	if err != nil {
		t.Fatal(err)
	}
	conv := list[0]
	if len(conv.Turns) < 250 || len(conv.Questions) < 70 {
		t.Fatalf("%d memories, %d questions", len(conv.Turns), len(conv.Questions))
	}
	known := map[string]bool{}
	for _, turn := range conv.Turns {
		known[turn.Source] = true
	}
	none := 0
	for _, q := range conv.Questions {
		g := key.Gold[conv.ID][q.ID]
		for _, e := range g.Evidence {
			if !known[e] {
				t.Errorf("%q: no memory %s", q.Text, e)
			}
		}
		if g.Unanswerable {
			none++
		} else if len(g.Evidence) == 0 {
			t.Errorf("%q has no evidence", q.Text)
		}
	}
	if none < 8 {
		t.Errorf("only %d questions without an answer", none)
	}
	x := newCorpus(conv)
	for _, f := range floors {
		sum, n := 0.0, 0.0
		for _, q := range conv.Questions {
			g := key.Gold[conv.ID][q.ID]
			if g.Unanswerable {
				continue
			}
			var ranked []string
			for _, h := range f.rank(x, q.Text) {
				ranked = append(ranked, x.turns[h.turn].Source)
			}
			sum, n = sum+measures(ranked[:min(20, len(ranked))], nil, g.Evidence, nil, nil)["recall@10"], n+1
		}
		t.Logf("%-8s n=%.0f recall@10 %.3f", f.name, n, sum/n)
		if sum/n < .6 {
			t.Errorf("%s finds %.3f: the log is not what a memory is asked about", f.name, sum/n)
		}
	}
}
