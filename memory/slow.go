package memory

import (
	"context"
	"sync"

	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/query"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// gate counts the calls under way, so that background work can keep out of their way.
type gate struct {
	mu sync.Mutex
	n  int
}

func (g *gate) begin() { g.mu.Lock(); g.n++; g.mu.Unlock() }
func (g *gate) end()   { g.mu.Lock(); g.n--; g.mu.Unlock() }

type questionVector struct {
	space uint32
	vec   []float32
}

func (b *Bank) startSlow(ctx context.Context) {}
func (b *Bank) wake()                         {}

func (b *Bank) enqueue(ops []store.Op, p store.Project, parts []*store.Record) ([]store.Op, []string) {
	return ops, nil
}

func (b *Bank) embedQuestion(ctx context.Context, q string) ([]questionVector, string) {
	return nil, ""
}

func nearest(in *inquiry, s *index.Shard, f *query.Filter, k int) []index.Similar { return nil }

func (b *Bank) loadVectors(p store.Project, s *index.Shard) error { return nil }
func (b *Bank) loadDerived(p store.Project, s *index.Shard) error { return nil }

func (b *Bank) showDerived(p store.Project, s *index.Shard, o uint32, m *Memory)      {}
func (b *Bank) showFacts(p store.Project, s *index.Shard, e uint32, info *EntityInfo) {}
func (b *Bank) slowStats(p store.Project, known bool, st *Stats) {
	st.Embedder = EmbedderInfo{Provider: "none", State: "off"}
}
func (b *Bank) pendingOf(p store.Project, id [16]byte) []string { return nil }
func (b *Bank) modelNumbers() []uint32                          { return nil }
func (b *Bank) dropDerived(p store.Project, target []byte) ([]store.Op, int, error) {
	return []store.Op{{Kind: store.Delete, Key: target}}, 1, nil
}
