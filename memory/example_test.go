package memory_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/magma-mcp/magma-mcp/memory"
)

// A memory with a relative date, a correction, and the questions that they answer.
func Example() {
	dir, err := os.MkdirTemp("", "magma-example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	bank, err := memory.Open(dir, memory.Options{Zone: time.UTC})
	if err != nil {
		panic(err)
	}
	defer bank.Close()
	ctx := context.Background()

	_, err = bank.Remember(ctx, memory.Note{
		Content:    "The tracker moved to Postgres last Friday, because SQLite locked up under load.",
		OccurredAt: "2025-10-07T09:35:00Z",
		Speaker:    "Tomas",
		Source:     "docs/adr-002.md",
	})
	if err != nil {
		panic(err)
	}
	when, err := bank.When(ctx, memory.WhenQuestion{Query: "When did the tracker move to Postgres?"})
	if err != nil {
		panic(err)
	}
	fmt.Println(when.Answers[0].Text, "from", when.Answers[0].Source)

	why, err := bank.Why(ctx, memory.WhyQuestion{Query: "Why did the tracker move to Postgres?"})
	if err != nil {
		panic(err)
	}
	fmt.Println(why.Found, why.Chains[0].Steps[0].Evidence)
	// Output:
	// 3 October 2025, the Friday before 7 October 2025 from docs/adr-002.md
	// true The tracker moved to Postgres last Friday, because SQLite locked up under load
}
