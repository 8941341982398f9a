package memory_test

import (
	"context"
	"testing"
	"time"

	"github.com/magma-mcp/magma-mcp/memory"
)

// A new user's store holds two memories. A question about one of them is answered, a question about neither is not:
// rarity must not be measured on so few.
func TestConfidentInASmallStore(t *testing.T) {
	bank, err := memory.Open(t.TempDir(), memory.Options{Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	defer bank.Close()
	ctx := context.Background()
	for _, text := range []string{
		"Postgres stays at 15; 16 broke the backup script.",
		"The tracker moves to Postgres because SQLite locked up under load last Tuesday.",
	} {
		if _, err := bank.Remember(ctx, memory.Note{Content: text, OccurredAt: "2025-10-07T09:35:00Z"}); err != nil {
			t.Fatal(err)
		}
	}
	for q, want := range map[string]bool{
		"What broke the backup?":                   true,
		"Why does the tracker use Postgres?":       true,
		"How do I cook rice?":                      false,
		"Which ingress controller terminates TLS?": false,
	} {
		got, err := bank.Recall(ctx, memory.Question{Query: q})
		if err != nil {
			t.Fatal(err)
		}
		if got.Confident != want {
			t.Errorf("%s confident %v, want %v", q, got.Confident, want)
		}
	}
	why, err := bank.Why(ctx, memory.WhyQuestion{Query: "Why does the tracker use Postgres?"})
	if err != nil {
		t.Fatal(err)
	}
	if !why.Found {
		t.Error("the reason that is stored is not found")
	}
}
