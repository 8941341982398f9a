package index

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory/text"
)

// FoldName is the form in which names are compared: folded, white space single, trimmed.
func FoldName(s string) string { return strings.Join(strings.Fields(text.Fold(s)), " ") }

// Posting is the memories that hold a term; nil where none does.
func (s *Shard) Posting(hash uint64) *Posting {
	if id, ok := s.termIDs[hash]; ok {
		return &s.postings[id]
	}
	return nil
}

// IDF is the weight of a term that df of n memories hold: ln(1 + (n-df+.5)/(df+.5)), as Lucene has it,
// rounded to 1/1024 so that it is the same whatever the last bit of a processor's logarithm.
func IDF(n, df int) float32 {
	x := math.Log(1 + (float64(n)-float64(df)+.5)/(float64(df)+.5))
	return float32(math.Round(x*1024) / 1024)
}

// Speakers calls f for every speaker with what they said.
func (s *Shard) Speakers(f func(name string, docs []uint32)) {
	ids := make([]uint32, 0, len(s.speakers))
	for id, l := range s.speakers {
		if id != 0 && len(l) > 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		f(s.strings[id], s.speakers[id])
	}
}

// SpeakerID is the interned number of a speaker as given, compared folded.
func (s *Shard) SpeakerID(name string) []uint32 {
	want := FoldName(name)
	var out []uint32
	for id := range s.speakers {
		if id != 0 && FoldName(s.strings[id]) == want {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// SaidBy is what a speaker said.
func (s *Shard) SaidBy(speaker uint32) []uint32 { return s.speakers[speaker] }

// Entity is the row of an entity key; ok false where no memory mentions it.
func (s *Shard) Entity(key string) (*EntityRow, uint32, bool) {
	e, ok := s.entIDs[key]
	if !ok || len(s.entities[e].Docs) == 0 {
		return nil, 0, false
	}
	return &s.entities[e], e, true
}

// EntityAt is the row of an entity by number; EntityCount bounds the numbers.
func (s *Shard) EntityAt(e uint32) *EntityRow { return &s.entities[e] }
func (s *Shard) EntityCount() int             { return len(s.entities) }

// Neighbour similarity. Words carry the semantic graph where no embedder runs.
const (
	// simTerms is how many of a memory's rarest words are looked up for its neighbours. More words are
	// common ones, which cost most and tell least.
	simTerms = 8
	// Similar looks at no word that more than simShare of the memories hold (but always at ones held by simFloor).
	simShare = 50
	simFloor = 64
	// simReads is how many memories a memory is compared with, by its rarest words first; the rarest alone may
	// have more, up to the share above. It binds in projects of more than about 10,000.
	simReads = 512
)

// Similar is one neighbour in the semantic graph.
type Similar struct {
	Doc uint32
	Sim float32 // 0..1
}

// SimilarByWords gives the m memories most like o by the cosine of their rare words, best first, ties by
// ordinal. The threshold comes from o's own distribution: the mean of what shares a word with it plus one
// and a half standard deviations, so that it needs no constant per language or corpus. It is computed when
// asked and not kept: a store that was rebuilt has the same graph.
func (s *Shard) SimilarByWords(o uint32, m int, sc *Scratch) []Similar {
	terms := s.termsOf(o)
	if len(terms) == 0 || s.Live < 2 {
		return nil
	}
	type tw struct {
		term uint32
		idf  float32
	}
	var buf [simTerms + 1]tw
	top := buf[:0]
	limit := max(simFloor, s.Live/simShare)
	var norm float32
	for _, t := range terms {
		df := len(s.postings[t].Docs)
		w := IDF(s.Live, df)
		norm += float32(w * w)
		if df > limit || df < 2 {
			continue
		}
		i := sort.Search(len(top), func(i int) bool { return top[i].idf < w })
		if i == simTerms {
			continue
		}
		top = slices.Insert(top, i, tw{t, w})
		if len(top) > simTerms {
			top = top[:simTerms]
		}
	}
	acc := sc.begin(len(s.Docs))
	reads := 0
	for i, t := range top {
		if reads += len(s.postings[t.term].Docs); i > 0 && reads > simReads {
			break
		}
		ww := float32(t.idf * t.idf)
		for _, x := range s.postings[t.term].Docs {
			if x == o {
				continue
			}
			if acc[x] == 0 {
				sc.touched = append(sc.touched, x)
			}
			acc[x] += ww
			sc.shared[x]++
		}
	}
	var sum, sq float64
	for _, x := range sc.touched {
		// The other side's norm is taken from its length: a word of average rarity squared for each of its words.
		other := float32(s.Docs[x].Len) * norm / float32(max(1, len(terms)))
		c := acc[x] / float32(math.Sqrt(float64(norm)*float64(max(other, acc[x]))))
		acc[x] = c
		sum += float64(c)
		sq += float64(float64(c) * float64(c))
	}
	n := float64(len(sc.touched))
	var theta float32
	if n > 4 {
		mean := sum / n
		theta = float32(mean + float64(1.5*math.Sqrt(max(0, sq/n-float64(mean*mean)))))
	}
	var out []Similar
	for _, x := range sc.touched {
		if c := acc[x]; c >= theta && sc.shared[x] > 1 { // one word in common is no likeness
			out = append(out, Similar{x, min(c, 1)})
		}
	}
	sc.end()
	slices.SortFunc(out, func(a, b Similar) int {
		if a.Sim != b.Sim {
			if a.Sim > b.Sim {
				return -1
			}
			return 1
		}
		return int(a.Doc) - int(b.Doc)
	})
	return out[:min(m, len(out))]
}

// Scratch is an array of one number per doc that is zero between uses, and one per vector that is not.
type Scratch struct {
	acc     []float32
	shared  []uint8
	touched []uint32
	apart   []uint16
}

func (c *Scratch) begin(n int) []float32 {
	if len(c.acc) < n {
		c.acc = make([]float32, n+n/4+64)
		c.shared = make([]uint8, n+n/4+64)
	}
	c.touched = c.touched[:0]
	return c.acc
}

func (c *Scratch) end() {
	for _, x := range c.touched {
		c.acc[x], c.shared[x] = 0, 0
	}
	c.touched = c.touched[:0]
}

// EntityID is the stable id of an entity: a digest of its key, so that it is the same after a rebuild and in
// every process.
func (s *Shard) EntityID(e uint32) string {
	return fmt.Sprintf("e-%012x", HashTerm("entity "+s.entities[e].Key))
}

// EntityByID finds the entity with an id that EntityID gave.
func (s *Shard) EntityByID(id string) (uint32, bool) {
	if !strings.HasPrefix(id, "e-") {
		return 0, false
	}
	for e := range s.entities {
		if len(s.entities[e].Docs) > 0 && s.EntityID(uint32(e)) == id {
			return uint32(e), true
		}
	}
	return 0, false
}
