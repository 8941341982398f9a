package consolidatetest_test

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/consolidate"
	"github.com/magma-mcp/magma-mcp/memory/consolidate/consolidatetest"
	"github.com/magma-mcp/magma-mcp/memory/graph"
)

func TestMemStore(t *testing.T) {
	consolidatetest.Run(t, func(t *testing.T) consolidatetest.Fixture {
		s := &consolidatetest.MemStore{}
		next := uint64(1)
		return consolidatetest.Fixture{
			Store: s,
			Add: func(m consolidate.Memory, passes ...consolidate.Pass) graph.ID {
				m.ID[0] = 1
				binary.BigEndian.PutUint64(m.ID[8:], next)
				next++
				s.Add(m, passes...)
				return m.ID
			},
			Forget: func(_ string, id graph.ID) { s.Forget(id) },
		}
	})
}

func TestNoise(t *testing.T) {
	var events []consolidate.Event
	for i := range 400 {
		events = append(events, consolidate.Event{At: time.Unix(int64(i)*60, 0), Words: map[string]float64{"w": 1}})
	}
	cuts := func(o consolidate.SplitOptions) string { return fmt.Sprint(consolidate.Split(events, o)) }
	o := consolidate.SplitOptions{Most: 10}
	clean := consolidatetest.Noise(o, 0, 1)
	if a, b := consolidate.Split(events, o), consolidate.Split(events, clean); len(a) != len(b) || a[3].Index != b[3].Index {
		t.Errorf("no noise changes boundaries: %v, %v", a, b)
	}
	if cuts(consolidatetest.Noise(o, 0.4, 1)) == cuts(clean) {
		t.Error("noise changes nothing")
	}
	first, again := cuts(consolidatetest.Noise(o, 0.4, 1)), cuts(consolidatetest.Noise(o, 0.4, 1))
	if first != again {
		t.Error("one seed, two results")
	}
}
