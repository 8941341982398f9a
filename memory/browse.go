package memory

import (
	"cmp"
	"slices"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/query"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// browse answers where no words can be matched: the pinned and the newest that pass the filters; and questions
// about the memory itself, by time and session, newest first.
func (b *Bank) browse(in *inquiry, limit int, out *Recollection) ([]found, error) {
	type cand struct {
		p      store.Project
		s      *index.Shard
		o      uint32
		pinned bool
		at     int64
		nanos  int32
		id     graph.ID
	}
	var best []cand
	total := 0
	var traced *index.Shard
	first := func(x, y cand) int {
		if x.pinned != y.pinned {
			if x.pinned {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(y.at, x.at), cmp.Compare(y.nanos, x.nanos), -compareIDs(x.id, y.id))
	}
	meta := in.question.Route.Kind == query.Meta
	for _, p := range in.projects {
		s, err := b.shard(p)
		if err != nil {
			return nil, err
		}
		var all []cand
		s.RLock()
		f, err := in.filterFor(b, s)
		if err == nil {
			for o := range s.Docs {
				d := &s.Docs[o]
				if !f.Pass(s, uint32(o)) {
					continue
				}
				if meta && in.question.Windowed && (d.At >= in.question.End || d.Until <= in.question.Start) {
					continue
				}
				if meta && asksAboutQuestions(in.question.Text) && d.Flags&index.Question == 0 {
					continue
				}
				c := cand{p, s, uint32(o), d.Flags&index.Pinned != 0 && !meta, d.At, d.Nanos, d.ID}
				if meta {
					c.pinned = covers(s, in.question, uint32(o))
				}
				all = append(all, c)
			}
		}
		if in.request.Trace && out.Trace == nil {
			traced = s
		}
		slices.SortFunc(all, first)
		texts := map[int32]bool{} // of a long text its newest segment stands for it
		all = slices.DeleteFunc(all, func(c cand) bool {
			w := s.Docs[c.o].PartOf
			seen := w >= 0 && texts[w]
			texts[w] = true
			return seen
		})
		s.RUnlock()
		if err != nil {
			return nil, err
		}
		total += len(all)
		best = append(best, all[:min(limit, len(all))]...)
		slices.SortFunc(best, first)
		best = slices.Clone(best[:min(limit, len(best))]) // the others must not keep their projects' indexes in memory
	}
	var list []found
	for i, c := range best {
		c.s.RLock()
		l, err := b.collect(c.p, c.s, []query.Item{{Doc: c.o, Score: 1 / float64(i+1), Anchor: true}}, map[uint32]*store.Record{})
		c.s.RUnlock()
		if err != nil {
			return nil, err
		}
		list = append(list, l...)
	}
	if traced != nil {
		out.Trace = trace(in, traced, &query.Result{Weights: in.question.Route.Weights})
	}
	out.Confident, out.Omitted = len(list) > 0, total-len(list)
	if meta {
		out.Window = windowOf(&in.question.Time)
	}
	return list, nil
}

// asksAboutQuestions: "what did I ask" wants questions, "what did I tell" does not.
func asksAboutQuestions(q string) bool {
	q = strings.ToLower(q)
	return strings.Contains(q, "ask") || strings.Contains(q, "question") || strings.Contains(q, "问")
}

// topicless are words that questions about the memory itself use; they are no topic.
var topicless = map[string]bool{"ask": true, "question": true, "tell": true, "told": true, "said": true, "say": true, "earlier": true, "last": true,
	"time": true, "yesterday": true, "today": true, "previous": true, "convers": true, "talk": true, "discuss": true, "mention": true, "memori": true, "rememb": true, "know": true, "ago": true, "week": true, "chat": true, "session": true}

// covers reports whether a memory holds a topical word of a question about the memory itself.
func covers(s *index.Shard, q *query.Question, o uint32) bool {
	for _, t := range q.Terms {
		if t.Of >= 0 || topicless[t.Stem] {
			continue
		}
		if p := s.Posting(t.Hash); p != nil {
			if _, ok := slices.BinarySearch(p.Docs, o); ok {
				return true
			}
		}
	}
	return false
}
