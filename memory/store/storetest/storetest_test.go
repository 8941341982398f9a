package storetest

import (
	"testing"

	"github.com/magma-mcp/magma-mcp/memory/store"
)

func TestMap(t *testing.T) {
	Run(t, func(*testing.T) Backend {
		return Backend{NoReopen: true, Open: func(*testing.T) store.KV { return NewMap() }}
	})
}
