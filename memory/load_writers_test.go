package memory

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/magma-mcp/magma-mcp/memory/consolidate"
	"github.com/magma-mcp/magma-mcp/memory/embed"
	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/index"
)

// described says all that a question can see of an index, by ids and names.
func described(s *index.Shard, space map[uint32][]float32) []string {
	var out []string
	add := func(f string, a ...any) { out = append(out, fmt.Sprintf(f, a...)) }
	live := 0
	id := func(o uint32) string { return s.Docs[o].ID.String() }
	for i := range s.Docs {
		o, d := uint32(i), &s.Docs[i]
		if d.Flags&index.Dead != 0 {
			continue
		}
		live++
		var tags, ents []string
		for _, t := range d.Tags {
			if !slices.Contains(tags, s.Name(t)) {
				tags = append(tags, s.Name(t))
			}
		}
		for _, e := range d.Entities {
			ents = append(ents, s.EntityAt(e).Key)
		}
		sort.Strings(tags)
		sort.Strings(ents)
		super := "-"
		if d.Super >= 0 && s.Docs[d.Super].Flags&index.Dead == 0 {
			super = id(uint32(d.Super))
		}
		part := "-"
		if d.PartOf >= 0 {
			part = id(uint32(d.PartOf))
		}
		add("doc %s at %d.%d-%d valid %d-%d flags %b super %s part %s pos %d len %d wlen %v tags %v ents %v session %q", id(o), d.At, d.Nanos, d.Until, d.From, d.To, d.Flags, super, part, d.Pos, d.Len, d.WLen, tags, ents, s.SessionName(o))
		var edges []string
		for _, e := range s.Causes(o) {
			edges = append(edges, fmt.Sprintf("cause %s of %s by %v %q", id(e.To), id(o), e.Origin, e.Quote))
		}
		for _, e := range s.Effects(o) {
			edges = append(edges, fmt.Sprintf("effect %s of %s by %v %q", id(e.To), id(o), e.Origin, e.Quote))
		}
		for _, x := range s.Contradicting(o) {
			edges = append(edges, fmt.Sprintf("%s against %s", id(o), id(x)))
		}
		for _, c := range d.Causes {
			edges = append(edges, fmt.Sprintf("%s cause %+v", id(o), c))
		}
		for m, v := range s.Vectors {
			if v.Has(o) {
				for _, x := range v.Nearest(space[m], 1000, func(d uint32) bool { return d == o }) {
					edges = append(edges, fmt.Sprintf("%s space %d sim %v", id(o), m, x.Sim))
				}
			}
		}
		sort.Strings(edges)
		out = append(out, edges...)
	}
	for e := range s.EntityCount() {
		if r := s.EntityAt(uint32(e)); len(r.Docs) > 0 {
			var docs []string
			for _, o := range r.Docs {
				docs = append(docs, id(o))
			}
			var g []string
			for _, x := range s.Group(uint32(e)) {
				g = append(g, s.EntityAt(x).Key)
			}
			add("entity %s docs %v group %v", r.Key, docs, g)
		}
	}
	var spaces []string
	for m, v := range s.Vectors {
		if v.Len() > 0 {
			spaces = append(spaces, fmt.Sprintf("space %d has %d", m, v.Len()))
		}
	}
	out = append(out, spaces...)
	add("live %d words %d wwords %v", s.Live, s.Words, s.WWords)
	sort.Strings(out)
	return out
}

func unitVec(dim, seed int) []float32 {
	v := make([]float32, dim)
	v[seed%dim], v[(seed*7+1)%dim] = .8, .6
	if seed%dim == (seed*7+1)%dim {
		v[seed%dim] = 1
	}
	return v
}

// TestEveryWriterDuringALoad: whatever is written while an index is being loaded, the index is then that of the store.
func TestEveryWriterDuringALoad(t *testing.T) {
	f := open(t)
	idOf := func(r Receipt) graph.ID {
		id, err := graph.ParseID(r.ID)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	long := func(k int) string {
		var b strings.Builder
		for i := range 40 {
			fmt.Fprintf(&b, "Paragraph %d-%d tells of rope and sail and tide and wind, of Ana Silva and of Bruno Costa, because the weather was bad, and of the charts.\n\n", k, i)
		}
		return b.String()
	}
	var rs []Receipt
	for i := range 20 {
		rs = append(rs, f.remember(Note{Content: fmt.Sprintf("Ana Silva met Bruno Costa in the harbour, visit %d, because of the storm.", i), Session: "s", Speaker: "Ana"}))
	}
	l1, l2, l3 := f.say(long(1)), f.say(long(2)), f.say(long(3))
	rows := f.back.rows
	sp := func(name string, dim int) embed.Space {
		return embed.Space{Provider: "ollama", Model: name, Dimensions: dim}
	}
	a, b2 := sp("a", 16), sp("b", 24)
	if err := rows.Aim([]embed.Space{a, b2}); err != nil {
		t.Fatal(err)
	}
	settle := func(space embed.Space, seed int, ids ...graph.ID) {
		var o consolidate.Outcome
		o.Space = space.Fingerprint()
		for i, id := range ids {
			for c := range 1 + (seed+i)%3 {
				o.Vectors = append(o.Vectors, consolidate.Vector{Memory: id, Project: "default", Chunk: c, Values: unitVec(space.Dimensions, seed+i+5*c)})
			}
		}
		if err := rows.Settle(o); err != nil {
			t.Fatal(err)
		}
	}
	var ids []graph.ID
	for _, r := range rs {
		ids = append(ids, idOf(r))
	}
	settle(a, 1, ids[:15]...)
	settle(b2, 3, ids[:10]...)
	text := func(i int) string {
		return fmt.Sprintf("Ana Silva met Bruno Costa in the harbour, visit %d, because of the storm.", i)
	}
	row := func(n byte, kind consolidate.Kind, from, to int, extra string) consolidate.Derived {
		d := consolidate.Derived{Kind: kind, Pass: consolidate.Model, From: ids[from], To: ids[to], Basis: []graph.ID{ids[from], ids[to]}, Confidence: .8,
			Evidence: []consolidate.Quote{{Memory: ids[from], From: 0, To: 9, Text: text(from)[:9]}, {Memory: ids[to], From: 0, To: 3, Text: text(to)[:3]}}}
		if kind == consolidate.EntityRow {
			d.Basis, d.Name, d.Type, d.Aliases = []graph.ID{ids[from]}, "Harbour Office"+extra, "place", []string{"The Office" + extra}
		}
		d.ID[0] = n
		return d
	}
	put := func(drop []consolidate.RowID, rws ...consolidate.Derived) {
		if err := rows.Settle(consolidate.Outcome{Project: "default", Rows: rws, Drop: drop}); err != nil {
			t.Fatal(err)
		}
	}
	put(nil, row(1, consolidate.CauseRow, 0, 1, ""), row(2, consolidate.CauseRow, 2, 3, ""), row(3, consolidate.ContradictionRow, 4, 5, ""), row(4, consolidate.EntityRow, 6, 6, ""), row(5, consolidate.EntityRow, 7, 7, ""))

	f.reopen()
	f.clock.add(time.Minute)
	rows = f.back.rows
	k := &gatedKV{KV: f.kv, reached: make(chan struct{}), gate: make(chan struct{})}
	f.kv = k
	asked := make(chan error, 1)
	go func() { _, err := f.Recall(ctx, Question{Query: "harbour"}); asked <- err }()
	<-k.reached
	// writers
	n1 := f.remember(Note{Content: "A new thing about Carla Dias in the harbour.", Session: "s", Supersedes: []string{rs[0].ID, l2.ID}, BecauseOf: []string{rs[1].ID}})
	f.remember(Note{Content: text(2), Session: "s", Speaker: "Ana", Tags: []string{"x", "y"}, Entities: []string{"Dora"}, BecauseOf: []string{rs[3].ID}, Supersedes: []string{rs[4].ID}})
	f.remember(Note{Content: long(1), Tags: []string{"big"}, Entities: []string{"Elsa"}, Supersedes: []string{rs[16].ID}})
	n2 := f.say("Something that comes and goes about Ana Silva.")
	settle(a, 9, idOf(n1), idOf(n2), ids[16], ids[3])
	settle(b2, 4, ids[4], ids[12])
	put([]consolidate.RowID{row(2, consolidate.CauseRow, 2, 3, "").ID}, row(6, consolidate.CauseRow, 8, 9, ""), row(7, consolidate.EntityRow, 8, 8, " two"), row(4, consolidate.EntityRow, 6, 6, ""))
	forgot := make(chan error, 1)
	go func() {
		// Forget waits for the index itself
		_, err := f.Bank.Forget(ctx, Choice{IDs: []string{rs[9].ID, rs[5].ID, n2.ID, l3.ID, rs[7].ID}})
		forgot <- err
	}()
	// and what a forgetting that began before does: the batch alone
	p, _ := f.project("default")
	var out Removal
	g := &removing{b: f.Bank, project: p, choice: &Choice{}, out: &out}
	if _, _, err := g.some([]graph.ID{ids[10], ids[11], idOf(l1)}); err != nil {
		t.Fatal(err)
	}
	l4 := f.say(long(4))
	f.remember(Note{Content: "And that is over.", Supersedes: []string{l4.ID}})
	if err := rows.Aim([]embed.Space{a}); err != nil {
		t.Fatal(err)
	}
	if err := rows.Filled(); err != nil {
		t.Fatal(err)
	}
	close(k.gate)
	if err := <-asked; err != nil {
		t.Fatal(err)
	}
	if err := <-forgot; err != nil {
		t.Fatal(err)
	}
	f.kv = k.KV
	space := map[uint32][]float32{1: unitVec(16, 2), 2: unitVec(24, 2)}
	s, err := f.shard(p)
	if err != nil {
		t.Fatal(err)
	}
	got := described(s, space)
	f.reopen()
	s, err = f.shard(p)
	if err != nil {
		t.Fatal(err)
	}
	want := described(s, space)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the index differs from the store's (-store +loaded):\n%s", d)
	}
}
