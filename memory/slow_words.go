package memory

import (
	"github.com/magma-mcp/magma-mcp/memory/embed"
	"github.com/magma-mcp/magma-mcp/memory/embed/builtin"
	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/query"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// The built-in embedder's vectors are kept nowhere: they follow from the words of a memory's analysis in a few
// microseconds, and are made when a project is loaded. So they cost no byte on disk, no queue, and no work
// after a change of the table. They are made only where the configuration names that embedder: as a stand-in
// for an absent Ollama they gain nothing beside the related words, which come of the same table and are
// always on (recall@10 on LoCoMo's development conversations .815 without them and .816 with them, on
// FriendsQA .577 and .574).

// wordSpace is their number in an index; the spaces of the store begin with 1.
const wordSpace = 0

// digestBits is how much of a term's digest the index keeps (index.HashTerm).
const digestBits = 48

func isBuiltin(e embed.Embedder) bool { return e != nil && e.Space().Provider == "builtin" }

// wordVectors is the table, where the provider is the built-in embedder and no other.
func wordVectors(p embed.Provider) (*builtin.Terms, error) {
	e, _, _ := p.Current()
	if _, fallback := p.(embed.Standby); fallback || !isBuiltin(e) {
		return nil, nil
	}
	table, err := builtin.New()
	if err != nil {
		return nil, err
	}
	return table.Terms(digestBits), nil
}

// storedOnly is a provider as the worker sees it: the built-in embedder is not there.
type storedOnly struct{ embed.Provider }

func (p storedOnly) Current() (embed.Embedder, embed.State, string) {
	e, state, reason := p.Provider.Current()
	if !isBuiltin(e) {
		return e, state, reason
	}
	if state == embed.Ready {
		return nil, embed.Off, "the built-in embedder needs no stored vectors"
	}
	return nil, state, reason
}

// addWords gives a memory its vector in the word space; the caller holds the index's Lock, or has it alone.
func (b *Bank) addWords(s *index.Shard, id graph.ID, a *store.Analysis) {
	t := b.back.words
	if t == nil || len(a.Terms) == 0 {
		return
	}
	o, ok := s.Find(id)
	if !ok || s.Docs[o].Flags&index.Whole != 0 {
		return
	}
	sum := make([]int64, t.Dimensions())
	for _, x := range a.Terms {
		t.Add(sum, x.Hash, int(x.Count))
	}
	v := t.Unit(sum)
	if v == nil {
		return
	}
	space := s.Vectors[wordSpace]
	if space == nil {
		space = index.NewVectorSpace(len(v))
		s.Vectors[wordSpace] = space
	}
	space.Add(o, 0, v)
}

// wordVector is a question in the word space, nil where it has no informative word.
func (b *Bank) wordVector(q *query.Question) []float32 {
	t := b.back.words
	if t == nil {
		return nil
	}
	sum := make([]int64, t.Dimensions())
	for _, x := range q.Terms {
		if x.Of < 0 {
			t.Add(sum, x.Hash, 1)
		}
	}
	return t.Unit(sum)
}
