package consolidatetest

import (
	"slices"
	"testing"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/consolidate"
	"github.com/magma-mcp/magma-mcp/memory/embed"
	"github.com/magma-mcp/magma-mcp/memory/graph"
)

// Fixture is an empty store under test.
type Fixture struct {
	Store consolidate.Store
	// Add stores a memory with these words, speaker, session, time and project, owes it to the passes, and
	// returns its id. Ids are given in increasing order.
	Add func(m consolidate.Memory, passes ...consolidate.Pass) graph.ID
	// Forget forgets one.
	Forget func(project string, id graph.ID)
	// Reopen closes the store and opens it again; nil where that means nothing.
	Reopen func() consolidate.Store
}

// Run is the contract of consolidate.Store.
func Run(t *testing.T, open func(t *testing.T) Fixture) {
	day := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	memory := func(text string, minute int) consolidate.Memory {
		return consolidate.Memory{Project: "p", Text: text, Speaker: "Ana", Session: "s", At: day.Add(time.Duration(minute) * time.Minute)}
	}
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	due := func(t *testing.T, s consolidate.Store, pass consolidate.Pass, now time.Time) []graph.ID {
		t.Helper()
		jobs, err := s.Due(pass, now, consolidate.Job{}, 100)
		must(t, err)
		var ids []graph.ID
		for _, j := range jobs {
			ids = append(ids, j.Memory)
		}
		return ids
	}
	space := func(model string) embed.Space {
		return embed.Space{Provider: "ollama", Model: model, Digest: "d-" + model, Dimensions: 2}
	}

	t.Run("queue", func(t *testing.T) {
		f := open(t)
		var ids []graph.ID
		for i := range 5 {
			ids = append(ids, f.Add(memory("words", i), consolidate.Embed, consolidate.Rules))
		}
		if got := due(t, f.Store, consolidate.Embed, day); !slices.Equal(got, ids) {
			t.Fatalf("due are %v, want %v", got, ids)
		}
		jobs, err := f.Store.Due(consolidate.Embed, day, consolidate.Job{}, 2)
		must(t, err)
		rest, err := f.Store.Due(consolidate.Embed, day, jobs[1], 100)
		must(t, err)
		if len(jobs) != 2 || len(rest) != 3 || rest[0].Memory != ids[2] || rest[0].Project != "p" || rest[0].Pass != consolidate.Embed {
			t.Fatalf("after the second of %v come %v", jobs, rest)
		}
		later := rest[0]
		later.Tries, later.NotBefore, later.Reason = 2, day.Add(time.Hour), "because"
		must(t, f.Store.Settle(consolidate.Outcome{Done: jobs[:1], Later: []consolidate.Job{later}, Parked: rest[1:2]}))
		if got := due(t, f.Store, consolidate.Embed, day); !slices.Equal(got, []graph.ID{ids[1], ids[4]}) {
			t.Errorf("due are %v", got)
		}
		if got := due(t, f.Store, consolidate.Rules, day); !slices.Equal(got, ids) {
			t.Errorf("another pass lost jobs: %v", got)
		}
		after, err := f.Store.Due(consolidate.Embed, day.Add(2*time.Hour), consolidate.Job{}, 100)
		must(t, err)
		if len(after) != 3 || after[1].Tries != 2 || after[1].Reason != "because" || !after[1].NotBefore.Equal(later.NotBefore) {
			t.Errorf("an hour later: %+v", after)
		}
		// What is owed or parked stays as it is; what is not is owed.
		must(t, f.Store.Settle(consolidate.Outcome{Queue: []consolidate.Job{
			{Pass: consolidate.Embed, Project: "p", Memory: ids[0]},
			{Pass: consolidate.Embed, Project: "p", Memory: ids[2]},
			{Pass: consolidate.Embed, Project: "p", Memory: ids[3]},
			{Pass: consolidate.Episode, Project: "p", Memory: ids[1]}}}))
		if got := due(t, f.Store, consolidate.Embed, day); !slices.Equal(got, []graph.ID{ids[0], ids[1], ids[4]}) {
			t.Errorf("after queueing, due are %v", got)
		}
		if got := due(t, f.Store, consolidate.Episode, day); !slices.Equal(got, ids[1:2]) {
			t.Errorf("episodes due are %v", got)
		}
		f.Forget("p", ids[1])
		must(t, f.Store.Settle(consolidate.Outcome{
			Later: []consolidate.Job{{Pass: consolidate.Embed, Project: "p", Memory: ids[1]}},
			Queue: []consolidate.Job{{Pass: consolidate.Embed, Project: "p", Memory: ids[1]}}}))
		if got := due(t, f.Store, consolidate.Embed, day); slices.Contains(got, ids[1]) {
			t.Error("a forgotten memory is owed")
		}
		if f.Reopen != nil {
			s := f.Reopen()
			if got := due(t, s, consolidate.Embed, day); !slices.Equal(got, []graph.ID{ids[0], ids[4]}) {
				t.Errorf("after a restart, due are %v", got)
			}
		}
	})

	t.Run("memories", func(t *testing.T) {
		f := open(t)
		c := f.Add(memory("third", 30))
		a := f.Add(memory("first", 10))
		other := memory("other session", 20)
		other.Session = ""
		f.Add(other)
		b := f.Add(memory("second", 10))
		got, err := f.Store.Memories("p", []graph.ID{b, c, {1}, a})
		must(t, err)
		if len(got) != 3 || got[0].ID != b || got[0].Text != "second" || got[0].Speaker != "Ana" || got[0].Session != "s" || !got[1].At.Equal(day.Add(30*time.Minute)) {
			t.Errorf("memories: %+v", got)
		}
		if got, err := f.Store.Memories("q", []graph.ID{a}); err != nil || len(got) != 0 {
			t.Errorf("another project's memory: %v, %v", got, err)
		}
		stream, err := f.Store.Stream("p", "s", day.Add(10*time.Minute), day.Add(30*time.Minute))
		must(t, err)
		if len(stream) != 3 || stream[0].ID != a || stream[1].ID != b || stream[2].ID != c {
			t.Errorf("the session is %+v", stream)
		}
		if stream, err = f.Store.Stream("p", "s", day, day.Add(29*time.Minute)); err != nil || len(stream) != 2 {
			t.Errorf("a part of the session: %d, %v", len(stream), err)
		}
		near, err := f.Store.Around("p", a, 2, 10)
		must(t, err)
		if slices.ContainsFunc(near, func(m consolidate.Memory) bool { return m.ID == a }) || len(near) == 0 {
			t.Errorf("around the first: %+v", near)
		}
	})

	t.Run("vectors", func(t *testing.T) {
		f := open(t)
		a, b := f.Add(memory("first", 1), consolidate.Embed), f.Add(memory("second", 2), consolidate.Embed)
		one, two := space("one"), space("two")
		must(t, f.Store.Aim([]embed.Space{one}))
		put := func(s embed.Space, id graph.ID, hash uint64, chunks int) {
			t.Helper()
			o := consolidate.Outcome{Space: s.Fingerprint()}
			for c := range chunks {
				o.Vectors = append(o.Vectors, consolidate.Vector{Memory: id, Project: "p", Chunk: c, TextHash: hash, Values: []float32{1, 0}})
			}
			must(t, f.Store.Settle(o))
		}
		put(one, a, 7, 3)
		put(one, a, 1<<63+8, 1)
		put(one, graph.ID{9}, 7, 1) // unknown
		got, err := f.Store.TextHashes(one.Fingerprint(), "p", []graph.ID{a, b, {9}})
		must(t, err)
		if len(got) != 1 || got[a] != 1<<63+8 {
			t.Errorf("hashes: %v", got)
		}
		if got, err := f.Store.TextHashes(two.Fingerprint(), "p", []graph.ID{a}); err != nil || len(got) != 0 {
			t.Errorf("hashes of a space that is not there: %v, %v", got, err)
		}
		jobs, err := f.Store.Due(consolidate.Embed, day, consolidate.Job{}, 100)
		must(t, err)
		must(t, f.Store.Settle(consolidate.Outcome{Done: jobs}))
		must(t, f.Store.Filled())
		must(t, f.Store.Aim([]embed.Space{one})) // full: nothing is owed
		if got := due(t, f.Store, consolidate.Embed, day); len(got) != 0 {
			t.Errorf("owed to a full space: %v", got)
		}
		must(t, f.Store.Aim([]embed.Space{two})) // the other serves on meanwhile
		if got := due(t, f.Store, consolidate.Embed, day); !slices.Equal(got, []graph.ID{a, b}) {
			t.Errorf("owed to a new space: %v", got)
		}
		if got, err := f.Store.TextHashes(one.Fingerprint(), "p", []graph.ID{a}); err != nil || len(got) != 1 {
			t.Errorf("the old space while the new one is filled: %v, %v", got, err)
		}
		if f.Reopen != nil {
			f.Store = f.Reopen()
		}
		list, err := f.Store.Spaces()
		must(t, err)
		if len(list) != 2 || list[0].Space != one || list[0].Aim || list[1].Space != two || !list[1].Aim || list[1].Full {
			t.Errorf("spaces: %+v", list)
		}
		put(two, b, 5, 1)
		must(t, f.Store.Filled())
		list, err = f.Store.Spaces()
		must(t, err)
		if len(list) != 1 || list[0].Space != two || !list[0].Full {
			t.Errorf("spaces once the new one is full: %+v", list)
		}
		if got, err := f.Store.TextHashes(one.Fingerprint(), "p", []graph.ID{a}); err != nil || len(got) != 0 {
			t.Errorf("the old space is still there: %v, %v", got, err)
		}
		f.Forget("p", b)
		if got, err := f.Store.TextHashes(two.Fingerprint(), "p", []graph.ID{b}); err != nil || len(got) != 0 {
			t.Errorf("vectors of a forgotten memory: %v, %v", got, err)
		}
	})

	t.Run("rows", func(t *testing.T) {
		f := open(t)
		a, b := f.Add(memory("first", 1)), f.Add(memory("second", 2))
		row := func(n byte, kind consolidate.Kind, basis ...graph.ID) consolidate.Derived {
			return consolidate.Derived{ID: consolidate.RowID{n}, Kind: kind, Pass: consolidate.Model, Model: "m", Prompt: "1", Basis: basis,
				Evidence: []consolidate.Quote{{Memory: basis[0], From: 0, To: 3, Text: "fir"}}, Confidence: 0.5, Subject: "x", Start: &day}
		}
		must(t, f.Store.Settle(consolidate.Outcome{Project: "p", Rows: []consolidate.Derived{
			row(2, consolidate.FactRow, a), row(1, consolidate.FactRow, a, b), row(3, consolidate.CauseRow, b),
			row(4, consolidate.FactRow, a, graph.ID{9})}}))
		got, err := f.Store.Rows("p", consolidate.FactRow)
		must(t, err)
		if len(got) != 2 || got[0].ID != (consolidate.RowID{1}) || got[1].ID != (consolidate.RowID{2}) {
			t.Fatalf("rows: %+v", got)
		}
		if r := got[0]; r.Model != "m" || r.Subject != "x" || len(r.Evidence) != 1 || r.Evidence[0].Text != "fir" || r.Start == nil || !r.Start.Equal(day) || !slices.Equal(r.Basis, []graph.ID{a, b}) {
			t.Errorf("a row came back as %+v", r)
		}
		if got, err := f.Store.Rows("p", consolidate.FactRow, b); err != nil || len(got) != 1 || got[0].ID != (consolidate.RowID{1}) {
			t.Errorf("rows that rest on the second: %+v, %v", got, err)
		}
		if got, err := f.Store.Rows("q", consolidate.FactRow); err != nil || len(got) != 0 {
			t.Errorf("another project's rows: %v, %v", got, err)
		}
		changed := row(2, consolidate.FactRow, a)
		changed.Subject = "y"
		must(t, f.Store.Settle(consolidate.Outcome{Project: "p", Drop: []consolidate.RowID{{1}}, Rows: []consolidate.Derived{changed}}))
		if got, err := f.Store.Rows("p", consolidate.FactRow); err != nil || len(got) != 1 || got[0].Subject != "y" {
			t.Errorf("after replacing: %+v, %v", got, err)
		}
		f.Forget("p", a)
		for _, kind := range []consolidate.Kind{consolidate.FactRow, consolidate.CauseRow} {
			want := map[consolidate.Kind]int{consolidate.CauseRow: 1}[kind]
			if got, err := f.Store.Rows("p", kind); err != nil || len(got) != want {
				t.Errorf("after forgetting, %s rows: %+v, %v", kind, got, err)
			}
		}
	})

	t.Run("calls", func(t *testing.T) {
		f := open(t)
		for _, c := range []struct {
			day     string
			n, want int
		}{{"2026-03-01", 2, 2}, {"2026-03-01", 3, 5}, {"2026-03-02", 1, 1}, {"2026-03-02", 0, 1}} {
			if got, err := f.Store.Spend(c.day, c.n); err != nil || got != c.want {
				t.Errorf("%d calls on %s make %d, want %d: %v", c.n, c.day, got, c.want, err)
			}
		}
	})
}
