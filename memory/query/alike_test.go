package query

import (
	"testing"

	"github.com/magma-mcp/magma-mcp/memory/index"
)

// A walk looks for the neighbours by vectors of as many steps as its bound allows, whatever it asked before; in a
// space too large for one step it makes no such edge.
func TestAlikeIsBounded(t *testing.T) {
	for _, c := range []struct{ vectors, steps int }{{1000, 18}, {5000, 6}, {36_000, 1}, {40_000, 0}} {
		space := index.NewVectorSpace(4)
		for i := range c.vectors {
			space.Add(uint32(i), 0, []float32{1, 0, 0, 0})
		}
		for range 2 {
			w := walker{run: &run{q: &Request{Alike: space}, t: Default()}}
			steps := 0
			for w.alike(uint32(steps)) != nil {
				steps++
			}
			if steps != c.steps {
				t.Errorf("%d vectors: %d steps, want %d", c.vectors, steps, c.steps)
			}
		}
	}
	w := walker{run: &run{q: &Request{Alike: index.NewVectorSpace(4)}, t: Default()}}
	if w.alike(0) != nil || w.looked != 0 {
		t.Error("a memory without a vector was looked for")
	}
}
