package query

import (
	"math/bits"

	"github.com/magma-mcp/magma-mcp/memory/graph"
)

// Corruption makes one graph wrong, to measure how much error it bears (`magma-mcp eval --corrupt`): that
// share of its edges leads to some other memory of the project. Of the temporal graph these are all that a
// memory has of its session: the neighbours to which its words are lent, the turn it replies to, the session that
// lifts it, the steps of a walk; of the entity graph the mentions that make anchors too. Which edges, and where
// they lead, follows from Seed alone. The zero value changes nothing.
type Corruption struct {
	Graph graph.Graph
	Share float32 // 0..1
	Seed  uint64
}

// end is where the edge from u to v leads, of n memories.
func (c *Corruption) end(g graph.Graph, u, v uint32, n int) uint32 {
	if c.Share == 0 || g != c.Graph || n == 0 {
		return v
	}
	h := mix(c.Seed ^ mix(uint64(u)<<32|uint64(v)))
	if float32(h>>40)/(1<<24) >= c.Share {
		return v
	}
	x, _ := bits.Mul64(mix(h), uint64(n))
	return uint32(x)
}

// astray is where the temporal edge from o to x leads.
func (r *run) astray(o, x uint32) uint32 {
	return r.t.Corrupt.end(graph.Temporal, o, x, len(r.s.Docs))
}

// before is the memory that o follows in its session.
func (r *run) before(o uint32) (uint32, bool) {
	p, ok := r.s.Neighbour(o, -1)
	if ok && r.rewired {
		p = r.astray(o, p)
	}
	return p, ok
}

// session is the number of o's session.
func (r *run) session(o uint32) uint32 {
	if r.rewired {
		o = r.astray(o, o)
	}
	return r.s.Docs[o].Session
}

// mix is the finalizer of SplitMix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
