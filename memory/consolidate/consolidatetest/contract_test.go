package consolidatetest_test

import (
	"encoding/binary"
	"testing"

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
