package memory

import (
	"github.com/magma-mcp/magma-mcp/memory/embed/builtin"
	"github.com/magma-mcp/magma-mcp/memory/query"
)

// Related words come from the program's own word table. A word counts from relatedFrom on, growing to its
// full weight at 1, and at most relatedMost are looked up: measured offline on LoCoMo and FriendsQA, where
// lower floors bring more words and less recall.
const (
	relatedFrom = 0.5
	relatedMost = 64
)

// relatedWords is the default of Options.Expand. A build whose table is damaged finds by exact stems alone.
func relatedWords() func(stem string) []query.Related {
	e, err := builtin.New()
	if err != nil {
		return nil
	}
	return func(stem string) []query.Related {
		words := e.Related(stem, relatedMost, relatedFrom)
		out := make([]query.Related, 0, len(words))
		for _, w := range words {
			out = append(out, query.Related{Stem: w.Term, Weight: float32((w.Sim - relatedFrom) / (1 - relatedFrom))})
		}
		return out
	}
}
