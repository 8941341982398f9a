package memory

import (
	"context"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/query"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// Graph is the nodes and edges around a memory or an entity.
func (b *Bank) Graph(ctx context.Context, q GraphQuery) (Graph, error) {
	name, p, s, done, err := b.one(ctx, q.Project, &q.From)
	defer done()
	out := Graph{Project: name, Nodes: []GraphNode{}, Edges: []GraphEdge{}}
	if err != nil || s == nil {
		return out, err
	}
	depth := min(max(q.Depth, 1), 4)
	limit := q.Limit
	if limit <= 0 {
		limit = 100
	}
	s.RLock()
	defer s.RUnlock()
	var start []uint32
	switch {
	case q.Around == "":
		for o := len(s.Docs) - 1; o >= 0 && len(start) < min(20, limit); o-- {
			if s.Docs[o].Flags&(index.Dead|index.Whole) == 0 {
				start = append(start, uint32(o))
			}
		}
	default:
		if id, err := b.resolve(p, q.Around); err == nil {
			if o, ok := s.Find(id); ok {
				start = append(start, o)
			}
		}
		if len(start) == 0 {
			e, ok := b.entityNumber(s, q.Around)
			if !ok {
				return out, Errorf(CodeNotFound, "around: %q is no id, ref or entity of this project", q.Around)
			}
			docs := s.EntityAt(e).Docs
			start = append(start, docs[max(0, len(docs)-20):]...)
		}
	}
	g := &grapher{b: b, p: p, s: s, out: &out, nodes: map[string]bool{}, limit: limit}
	g.expand(start, depth)
	return out, nil
}

type grapher struct {
	b     *Bank
	p     store.Project
	s     *index.Shard
	out   *Graph
	nodes map[string]bool
	limit int
}

func (g *grapher) event(o uint32) (string, bool) {
	id := g.s.Docs[o].ID.String()
	if g.nodes[id] {
		return id, true
	}
	if len(g.nodes) >= g.limit {
		g.out.Omitted++
		return id, false
	}
	r, _, err := g.b.get(g.p, g.s.Docs[o].ID)
	if err != nil {
		return id, false
	}
	g.nodes[id] = true
	g.out.Nodes = append(g.out.Nodes, GraphNode{ID: id, Ref: r.Ref(), Type: "event", Label: firstWords(r.Content, 80), Date: formatTime(r.At.Time())})
	return id, true
}

func (g *grapher) expand(frontier []uint32, depth int) {
	var sc index.Scratch
	alike := g.b.alike(g.s)
	seen := map[uint32]bool{}
	for _, o := range frontier {
		seen[o] = true
	}
	have := map[GraphEdge]bool{}
	for ; depth >= 0 && len(frontier) > 0; depth-- {
		var next []uint32
		for _, o := range frontier {
			from, ok := g.event(o)
			if !ok || depth == 0 {
				continue
			}
			edge := func(v uint32, e GraphEdge) {
				to, ok := g.event(v)
				if !ok {
					return
				}
				e.From, e.To = from, to
				if e.Relation == graph.CausedBy.String() || e.Relation == graph.Previous.String() || e.Relation == graph.Similar.String() && to < from {
					e.From, e.To = to, from
					if e.Relation == graph.CausedBy.String() {
						e.Relation = graph.Causes.String()
					} else if e.Relation == graph.Previous.String() {
						e.Relation = graph.Next.String()
					}
				}
				key := e
				key.Confidence = 0
				if !have[key] {
					have[key] = true
					g.out.Edges = append(g.out.Edges, e)
				}
				if !seen[v] {
					seen[v] = true
					next = append(next, v)
				}
			}
			if v, ok := g.s.Neighbour(o, 1); ok {
				edge(v, GraphEdge{Graph: graph.Temporal.String(), Relation: graph.Next.String(), Confidence: 1})
			}
			if v, ok := g.s.Neighbour(o, -1); ok {
				edge(v, GraphEdge{Graph: graph.Temporal.String(), Relation: graph.Previous.String(), Confidence: 1})
			}
			query.CausalEdges(g.s, o, func(v uint32, e index.Edge, effect bool) {
				rel := graph.CausedBy
				if effect {
					rel = graph.Causes
				}
				evidence := e.Quote
				if evidence == "" && e.Origin == graph.Inferred {
					if r, _, err := g.b.get(g.p, g.s.Docs[e.Holder].ID); err == nil {
						evidence = slice(r.Content, e.From, e.At)
					}
				}
				edge(v, GraphEdge{Graph: graph.Causal.String(), Relation: rel.String(), Origin: e.Origin.String(), Confidence: round4(float64(e.Confidence)), Evidence: evidence})
			})
			query.SemanticEdges(g.s, alike, o, g.b.o.Tuning.Similar, &sc, func(x index.Similar) {
				edge(x.Doc, GraphEdge{Graph: graph.Semantic.String(), Relation: graph.Similar.String(), Confidence: round4(float64(x.Sim))})
			})
			for _, e := range g.s.Docs[o].Entities {
				id := "entity:" + g.s.EntityID(e)
				if !g.nodes[id] {
					if len(g.nodes) >= g.limit {
						g.out.Omitted++
						continue
					}
					g.nodes[id] = true
					info := g.b.entityInfo(g.p, g.s, e, false)
					g.out.Nodes = append(g.out.Nodes, GraphNode{ID: id, Type: "entity", Label: info.Name})
				}
				g.out.Edges = append(g.out.Edges, GraphEdge{From: from, To: id, Graph: graph.Entity.String(), Relation: graph.Mentions.String(), Confidence: 1})
			}
		}
		frontier = next
	}
}
