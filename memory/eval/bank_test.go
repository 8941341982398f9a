package eval

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/magma-mcp/magma-mcp/memory"
	"github.com/magma-mcp/magma-mcp/memory/query"
)

func bankConfig(t *testing.T, data string) Config {
	now := func() time.Time { return time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC) }
	return Config{Data: data, Out: filepath.Join(t.TempDir(), "out"), Version: "test", Now: now,
		Open: OpenBank(memory.Options{Now: now, Zone: time.UTC})}
}

// TestBankOnCodingLog: the coding log's promise (recall@10 at least .85), and no setting is without effect
// that ought to have one.
func TestBankOnCodingLog(t *testing.T) {
	c := bankConfig(t, filepath.Join("..", "..", "testdata", "codinglog", "codinglog.json"))
	c.Ablate = os.Getenv("MAGMA_EVAL_ABLATE") != ""
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + r.Text())
	for _, cat := range r.Tables[0].Systems[0].Categories {
		if e := cat.Measures["recall@10"]; cat.Name == answerable && e.Mean < .85 {
			t.Errorf("recall@10 %.3f on the coding log: .85 is promised", e.Mean)
		}
	}
}

// TestSettingsChangeTheTable: each part is a different table, and an unknown one is an error.
func TestSettingsChangeTheTable(t *testing.T) {
	base := query.Default()
	for _, p := range Parts {
		got, err := tuned(base, Setting{Name: p, Off: []string{p}})
		if err != nil || got == base {
			t.Errorf("part %q: the same table, %v", p, err)
		}
	}
	if _, err := tuned(base, Setting{Off: []string{"nothing"}}); err == nil {
		t.Error("a part that is not there was switched off")
	}
	if got, err := tuned(base, Setting{Corrupt: "causal", Share: .1}); err != nil || got == base {
		t.Errorf("corrupt: %v", err)
	}
}

// TestBankMeasured runs on the shared data where MAGMA_EVAL names what to run ("dev", "apart", "friends");
// it takes a minute. With MAGMA_EVAL_OUT the page is left there; MAGMA_EVAL_SET changes weights
// ("Walk=1 Gamma=0.7"), MAGMA_EVAL_ABLATE and MAGMA_EVAL_CORRUPT=GRAPH add their tables.
func TestBankMeasured(t *testing.T) {
	what := os.Getenv("MAGMA_EVAL")
	if what != "dev" && what != "apart" && what != "friends" {
		t.Skip("MAGMA_EVAL is not dev, apart or friends")
	}
	file := "locomo-dev.json"
	if what == "friends" {
		file = "friendsqa-dev.json"
	}
	c := bankConfig(t, shared(t, file))
	tuning := changed(t, os.Getenv("MAGMA_EVAL_SET"))
	c.Open = OpenBank(memory.Options{Now: c.Now, Zone: time.UTC, Tuning: &tuning})
	if out := os.Getenv("MAGMA_EVAL_OUT"); out != "" {
		c.Out, c.Fresh = out, true
	}
	c.Foreign = 15
	c.Ablate = os.Getenv("MAGMA_EVAL_ABLATE") != ""
	c.Corrupt = os.Getenv("MAGMA_EVAL_CORRUPT")
	if what == "dev" {
		c.Only = []string{"conv-26", "conv-30", "conv-41"}
	}
	if what == "apart" {
		c.Apart = []string{"conv-42", "conv-43"}
	}
	r, err := Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if text := r.Text(); strings.Contains(text, "%!") {
		t.Error(text)
	} else {
		t.Log("\n" + text)
	}
}

// TestCorruptionCosts: wrong edges of the temporal graph cost what its right ones give, on the coding log with its
// turns in sessions; no other graph is touched by them.
func TestCorruptionCosts(t *testing.T) {
	c := bankConfig(t, filepath.Join("..", "..", "testdata", "codinglog", "codinglog.json"))
	c.Corrupt, c.Seed, c.Foreign = "temporal=0..100%", 1, -1
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	least, most, off := r.Corruption[0].Difference["MRR"].Mean, r.Corruption[4].Difference["MRR"].Mean, r.Corruption[5]
	t.Logf("MRR: a tenth wrong %+.3f, all wrong %+.3f, %s %+.3f", least, most, off.Setting.Name, off.Difference["MRR"].Mean)
	if most > -.02 || most > least {
		t.Errorf("with every temporal edge wrong MRR changes by %.3f, with a tenth by %.3f", most, least)
	}
}
