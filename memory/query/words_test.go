package query

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/store"
	"github.com/magma-mcp/magma-mcp/memory/temporal"
	"github.com/magma-mcp/magma-mcp/memory/text"
)

// maker makes a shard of short texts.
type maker struct {
	s *index.Shard
	w *text.Analyzer
	n int
	c []string
}

func newMaker() *maker { return &maker{s: index.NewShard(1), w: text.New()} }

func (m *maker) rec(content, session, speaker string, at int64) *store.Record {
	m.n++
	r := &store.Record{Content: content, Session: session, Speaker: speaker, At: store.Stamp{Sec: at}}
	r.ID = graph.ID{15: byte(m.n), 14: byte(m.n >> 8), 13: byte(m.n >> 16), 0: 1}
	return r
}

func (m *maker) analysis(content string) *store.Analysis {
	a := &store.Analysis{Version: store.AnalysisVersion}
	at := map[uint64]int{}
	for _, t := range m.w.Tokens(content) {
		if t.Stop {
			continue
		}
		h := index.HashTerm(t.Term)
		if i, ok := at[h]; ok {
			a.Terms[i].Count++
		} else {
			at[h] = len(a.Terms)
			a.Terms = append(a.Terms, store.Term{Hash: h, Count: 1})
		}
		a.Length++
	}
	a.Question = strings.Contains(content, "?")
	return a
}

func (m *maker) add(content, session, speaker string, at int64) *store.Record {
	r := m.rec(content, session, speaker, at)
	m.s.Add(r, nil, m.analysis(content))
	m.c = append(m.c, content)
	return r
}

func (m *maker) run(q *Request) *run {
	r := &run{arrays: new(arrays), s: m.s, q: q, t: *q.Tuning}
	r.begin(len(m.s.Docs))
	return r
}

// asking is a request for what a question's words mean at a fixed time.
func asking(q string, expand func(string) []Related, tune func(*Tuning)) *Request {
	t := Default()
	if tune != nil {
		tune(&t)
	}
	an := NewAnalyst(temporal.New(temporal.Options{}), expand)
	qu := an.Read(q, time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC))
	return &Request{Question: qu, Graphs: ^graph.Set(0), Limit: 10, Tuning: &t, Words: text.New()}
}

// A word that nobody used, whose related word is common: what it is worth must not depend on how often it is gathered.
func TestGatheredTwiceCountsTheSame(t *testing.T) {
	m := newMaker()
	for i := range 3000 {
		w := "gravel"
		if i%10 == 0 {
			w = "children"
		}
		m.add(fmt.Sprintf("the %s number%d", w, i), fmt.Sprint("s", i/30), "", int64(i))
	}
	expand := func(s string) []Related {
		if strings.HasPrefix(s, "kid") {
			return []Related{{Stem: text.New().Stem("children"), Weight: 1}}
		}
		return nil
	}
	q := asking("kid", expand, nil)
	r := m.run(q)
	r.rarity()
	r.gather(0)
	first := r.soft[r.group[0]]
	r.forget()
	r.gather(0)
	if second := r.soft[r.group[0]]; second != first {
		t.Errorf("gathered once a related word counts %v, gathered again %v (%.1f times)", first, second, second/first)
	}
}

// A related word that every memory holds is worth 0 beside the word itself: the memory must not be in the group twice.
func TestAMemoryIsInAGroupOnce(t *testing.T) {
	m := newMaker()
	for i := range 3000 {
		c := fmt.Sprintf("user gravel number%d", i)
		if i == 7 {
			c = "user gravel persons number7"
		}
		if i == 9 {
			c = "user gravel clients number9"
		}
		m.add(c, fmt.Sprint("s", i/30), "", int64(i))
	}
	stem := text.New().Stem
	expand := func(s string) []Related {
		if s == stem("clients") {
			return []Related{{Stem: stem("user"), Weight: .5}, {Stem: stem("persons"), Weight: .5}}
		}
		return nil
	}
	q := asking("clients", expand, nil)
	r := m.run(q)
	r.rarity()
	r.gather(0)
	count := map[uint32]int{}
	for _, o := range r.group {
		count[o]++
	}
	for o, n := range count {
		if n > 1 {
			t.Fatalf("memory %d (%q) stands %d times in the group, soft %v: its worth is added %d times (idf %v)", o, m.c[o], n, r.soft[o], n, r.idf)
		}
	}
}

func zeroArrays(t *testing.T, what string, a *arrays) {
	t.Helper()
	for i, p := range a.all() {
		for o, v := range (*p)[:cap(*p)] {
			if v != 0 {
				t.Fatalf("%s: array %d holds %v at %d", what, i, v, o)
			}
		}
	}
}

// Shards of different sizes in turn, with forgotten and superseded ones, windows, small bounds, panics.
func TestScratchIsZeroAfterARun(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("harbour anchor keeper light whale garden deploy key gateway user kids children road trip alarm storm friday budget alice bob?")
	var makers []*maker
	for _, n := range []int{3, 50, 700, 2500} {
		m := newMaker()
		var ids []graph.ID
		for i := range n {
			var c []string
			for range 1 + r.IntN(8) {
				c = append(c, words[min(r.IntN(len(words)), r.IntN(len(words)))])
			}
			sess := ""
			if r.IntN(3) > 0 {
				sess = fmt.Sprint("s", r.IntN(1+n/20))
			}
			ids = append(ids, m.add(strings.Join(c, " "), sess, []string{"", "Alice", "Bob"}[r.IntN(3)], int64(1700000000+i*3600)).ID)
		}
		for i, id := range ids {
			if i%11 == 3 {
				m.s.Remove(id)
			} else if i%7 == 2 && i+1 < len(ids) {
				if a, ok := m.s.Find(id); ok {
					if b, ok := m.s.Find(ids[i+1]); ok {
						m.s.Supersede(a, b)
					}
				}
			}
		}
		makers = append(makers, m)
	}
	expand := func(s string) []Related {
		return []Related{{Stem: "children", Weight: .7}, {Stem: "storm", Weight: .2}, {Stem: "zzz", Weight: .9}}
	}
	a := new(arrays)
	defer func(was func() any) { pool.New = was }(pool.New)
	for k := range 1500 {
		m := makers[r.IntN(len(makers))]
		q := ""
		for range 1 + r.IntN(4) {
			q += " " + words[r.IntN(len(words))]
		}
		q += []string{"", " in November 2023", " before 2024", " why", " last year"}[r.IntN(5)]
		bound := []int{2, 5, 40, 1 << 20}[r.IntN(4)]
		req := asking(q, expand, func(t *Tuning) {
			t.InFull, t.Closely = bound, []int{3, 16, 1 << 20}[r.IntN(3)]
			if r.IntN(5) == 0 {
				t.ExpandWindow, t.Bare = 0, 0
			}
		})
		req.Trace = true
		if r.IntN(4) == 0 {
			req.Graphs = graph.Set(r.IntN(32))
		}
		if r.IntN(3) == 0 {
			for range 5 {
				req.Near = append(req.Near, index.Similar{Doc: uint32(r.IntN(len(m.s.Docs))), Sim: .5})
			}
			req.Near[0].Sim = .9
			req.Near[4].Sim = -.1
		}
		fault := r.IntN(10) == 0
		req.Content = func(o uint32) string {
			if fault {
				panic("fault")
			}
			return m.c[o]
		}
		req.Filter.IncludeSuperseded = r.IntN(2) == 0
		do := func(a *arrays) (res Result, ok bool) {
			pool.New = func() any { return a }
			old := pool.Get() // drain what is there
			for old != any(a) {
				old = pool.Get()
			}
			pool.Put(a)
			defer func() {
				if p := recover(); p != nil {
					ok = false
				}
			}()
			return Run(m.s, req), true
		}
		got, ok := do(a)
		if !ok {
			a = new(arrays)
			continue
		}
		zeroArrays(t, fmt.Sprintf("question %d %q of %d, %d", k, q, len(m.s.Docs), bound), a)
		want, _ := do(new(arrays))
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("question %d %q: with used arrays the answer differs:\n%s", k, q, d)
		}
	}
}

// What a memory's own words are worth must not depend on the order in which the commoner words are counted.
func TestOwnWordsAreExactWhateverTheBounds(t *testing.T) {
	m := newMaker()
	for i := range 1000 {
		c := fmt.Sprintf("gravel%d", i)
		if i%4 == 0 { // one in four
			c += " budget"
		}
		if i%10 == 0 { // one in ten, and every twentieth has both
			c += " harbour"
		}
		if i%3 == 1 { // stands for harbour
			c += " port"
		}
		if i == 3 {
			c += " lighthouse"
		}
		m.add(c, fmt.Sprint("s", i), "", int64(i))
	}
	stem := text.New().Stem
	expand := func(s string) []Related {
		if s == stem("harbour") {
			return []Related{{Stem: stem("port"), Weight: .5}}
		}
		return nil
	}
	words := func(inFull int) float32 {
		q := asking("lighthouse budget harbour", expand, func(t *Tuning) { t.InFull = inFull })
		r := m.run(q)
		r.lexical()
		return r.words[20] // holds budget and harbour
	}
	if all, bounded := words(1<<20), words(20); all != bounded {
		t.Errorf("a memory's own words are worth %v where all are counted and %v in a large project", all, bounded)
	}
}
