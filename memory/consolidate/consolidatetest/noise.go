package consolidatetest

import (
	"math/rand/v2"
	"slices"

	"github.com/magma-mcp/magma-mcp/memory/consolidate"
)

// Noise disturbs where episodes end, to see what depends on it: each boundary is missed, or shifted by one
// or two events, and others are added, at a rate of 0 to 1 (of the true number of boundaries, in equal
// parts). The same seed disturbs in the same way.
func Noise(o consolidate.SplitOptions, rate float64, seed uint64) consolidate.SplitOptions {
	return consolidate.SplitOptions{Pause: o.Pause, Func: func(events []consolidate.Event) []int {
		r := rand.New(rand.NewPCG(seed, uint64(len(events))))
		var out []int
		cuts := consolidate.Split(events, o)
		for _, b := range cuts {
			switch x := r.Float64(); {
			case x >= rate:
				out = append(out, b.Index)
			case x < rate/3: // missed
			case x < 2*rate/3: // shifted
				d := 1 + r.IntN(2)
				if r.IntN(2) == 0 {
					d = -d
				}
				out = append(out, b.Index+d)
			default: // one more somewhere
				out = append(out, b.Index)
				if len(events) > 1 {
					out = append(out, 1+r.IntN(len(events)-1))
				}
			}
		}
		out = slices.DeleteFunc(out, func(i int) bool { return i <= 0 || i >= len(events) })
		slices.Sort(out)
		return slices.Compact(out)
	}}
}
