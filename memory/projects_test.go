package memory

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// residentDocs is how many memories' indexes are in memory.
func (b *Bank) residentDocs() (docs, projects int) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, r := range b.shards {
		if s := r.shard.Load(); s != nil {
			docs, projects = docs+s.Size(), projects+1
		}
	}
	return docs, projects
}

// TestProjectsFollowsWrites: the list says what is there, after each kind of write and after opening, and counting
// loads no index.
func TestProjectsFollowsWrites(t *testing.T) {
	f := open(t)
	want := func(rows ...ProjectInfo) {
		t.Helper()
		for range 2 { // the second answer is kept from the first
			got, err := f.Projects(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(rows, got); d != "" {
				t.Fatal(d)
			}
		}
	}
	info := func(name string, n int, first, last string) ProjectInfo {
		return ProjectInfo{Project: name, Memories: n, First: first, Last: last}
	}
	a := f.remember(Note{Content: "Tea at four.", OccurredAt: "2024-05-01T10:00:00+02:00", Project: "tea"})
	want(info("tea", 1, "2024-05-01T10:00:00+02:00", "2024-05-01T10:00:00+02:00"))
	b := f.remember(Note{Content: "Tea at five.", OccurredAt: "2023-05-01T10:00:00Z", Project: "tea"})
	f.remember(Note{Content: longText(20, "zeppelin"), OccurredAt: "2022-01-01T00:00:00Z", Project: "air"})
	air := info("air", 1, "2022-01-01T00:00:00Z", "2022-01-01T00:00:00Z")
	want(air, info("tea", 2, "2023-05-01T10:00:00Z", "2024-05-01T10:00:00+02:00"))
	f.remember(Note{Content: "Tea at five.", OccurredAt: "2023-05-01T10:00:00Z", Project: "tea"}) // a duplicate
	out := f.export(ExportOptions{})
	if _, err := f.Forget(ctx, Choice{IDs: []string{a.ID}, Project: "tea"}); err != nil {
		t.Fatal(err)
	}
	tea := info("tea", 1, "2023-05-01T10:00:00Z", "2023-05-01T10:00:00Z")
	want(air, tea)
	f.reopen()
	want(air, tea)
	if n, _ := f.residentDocs(); n != 0 {
		t.Errorf("%d memories' indexes were loaded", n)
	}
	if _, err := f.Forget(ctx, Choice{IDs: []string{b.ID}, Project: "tea"}); err != nil {
		t.Fatal(err)
	}
	want(air)
	f.imported(out, ImportOptions{Revive: true})
	want(air, info("tea", 2, "2023-05-01T10:00:00Z", "2024-05-01T10:00:00+02:00"))
}

// TestManyProjects: a store of many projects opens at once, lists them without loading any, and answers over all of
// them within the budget of resident memories. MAGMA_LONG=1 makes it 1,000 projects of 100 memories.
func TestManyProjects(t *testing.T) {
	projects, each := 120, 10
	if long {
		projects, each = 1000, 100
	}
	budget := projects * each / 10
	dir := t.TempDir()
	o := Options{Zone: time.UTC, Paused: true, ResidentDocs: budget}
	b, err := Open(dir, o)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	talk := newTalker(5)
	for i := range projects * each {
		content := talk.sentence()
		if i%each == 0 {
			content = fmt.Sprintf("The lighthouse number %d was painted.", i/each)
		}
		w, err := b.prepare(&Note{Content: content, Project: fmt.Sprintf("p%04d", i/each), Session: fmt.Sprint("s", i%3), Pinned: i == 7*each})
		must(err)
		_, _, err = b.commit(w)
		must(err)
	}
	must(b.Close())
	opened := timed(func() { b, err = Open(dir, o); must(err) })
	list := func() {
		l, err := b.Projects(ctx)
		must(err)
		if len(l) != projects || l[3].Memories != each {
			t.Errorf("%d projects are listed, %+v", len(l), l[3])
		}
	}
	listed, again := timed(list), timed(list)
	if n, _ := b.residentDocs(); n != 0 {
		t.Errorf("listing loaded %d memories", n)
	}
	one := timed(func() {
		r, err := b.Recall(ctx, Question{Query: "Which lighthouse was painted?", Project: "p0005"})
		must(err)
		if len(r.Memories) == 0 || !strings.Contains(r.Memories[0].Content, "lighthouse number 5 ") {
			t.Errorf("%+v", r.Memories)
		}
	})
	within := func(what string) {
		t.Helper()
		if n, k := b.residentDocs(); n > budget || n < budget/2 {
			t.Errorf("after %s %d memories of %d projects are resident, the budget is %d", what, n, k, budget)
		}
	}
	all := timed(func() {
		r, err := b.Recall(ctx, Question{Query: "Which lighthouse was painted?", Project: "*", Limit: 5})
		must(err)
		if len(r.Memories) != 5 || r.Omitted < projects-5 {
			t.Errorf("%d memories, %d omitted", len(r.Memories), r.Omitted)
		}
	})
	within("a recall over all")
	exact := timed(func() {
		r, err := b.Recall(ctx, Question{Query: "lighthouse number 77", Project: "*", Limit: 3})
		must(err)
		if len(r.Memories) == 0 || r.Memories[0].Project != "p0077" {
			t.Errorf("%+v", r.Memories)
		}
	})
	browsed := timed(func() {
		r, err := b.Recall(ctx, Question{Project: "*", Limit: 3})
		must(err)
		if len(r.Memories) != 3 || r.Omitted != projects*each-3 {
			t.Errorf("%d memories, %d omitted", len(r.Memories), r.Omitted)
		}
	})
	within("a look at the newest of all")
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	t.Logf("%d projects of %d memories, %d may be resident: open %v, list %v, again %v, first recall in one %v, over all %v, another %v, the newest of all %v; heap %d MB",
		projects, each, budget, opened, listed, again, one, all, exact, browsed, m.HeapAlloc>>20)
	must(b.Close())
}

// TestNoProjectIsNone: an empty list of allowed projects stays one on its way through JSON, and allows none.
func TestNoProjectIsNone(t *testing.T) {
	for want, s := range map[string]Session{`{}`: {}, `{"allowed":[]}`: {Allowed: []string{}}, `{"allowed":["a"]}`: {Allowed: []string{"a"}}} {
		raw, err := json.Marshal(s)
		if err != nil || string(raw) != want {
			t.Errorf("%s, %v; want %s", raw, err, want)
		}
		var back Session
		if err := json.Unmarshal(raw, &back); err != nil || back.allowed("b") != s.allowed("b") || back.allowed("b") != (s.Allowed == nil) {
			t.Errorf("%s allows b: %t, %v", raw, back.allowed("b"), err)
		}
	}
}
