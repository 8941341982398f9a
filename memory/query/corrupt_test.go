package query

import (
	"testing"

	"github.com/magma-mcp/magma-mcp/memory/graph"
)

// TestCorruption: the share asked for is rewired, the same edges each time, and no other graph's.
func TestCorruption(t *testing.T) {
	c := Corruption{Graph: graph.Entity, Share: .3, Seed: 5}
	moved, ends := 0, map[uint32]bool{}
	for u := range uint32(100) {
		for v := range uint32(100) {
			x := c.end(graph.Entity, u, v, 1000)
			if x != c.end(graph.Entity, u, v, 1000) || x >= 1000 {
				t.Fatalf("edge %d-%d leads to %d", u, v, x)
			}
			if c.end(graph.Causal, u, v, 1000) != v || (&Corruption{}).end(graph.Temporal, u, v, 1000) != v {
				t.Fatal("another graph was changed")
			}
			if x != v {
				moved++
				ends[x] = true
			}
		}
	}
	if moved < 2800 || moved > 3200 || len(ends) < 900 {
		t.Errorf("%d of 10,000 edges rewired to %d ends, want 3,000 to nearly all", moved, len(ends))
	}
}
