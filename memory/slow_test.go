package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/magma-mcp/magma-mcp/memory/consolidate"
	"github.com/magma-mcp/magma-mcp/memory/consolidate/consolidatetest"
	"github.com/magma-mcp/magma-mcp/memory/embed"
	"github.com/magma-mcp/magma-mcp/memory/embed/builtin"
	"github.com/magma-mcp/magma-mcp/memory/embed/ollama"
	"github.com/magma-mcp/magma-mcp/memory/embed/ollamatest"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// withOllama makes a fake server the embedder of a Bank, as an expected one.
func withOllama(fake *ollamatest.Fake) func(*Options) {
	transport := &ollamatest.Transport{Fake: fake}
	return func(o *Options) {
		o.EmbedderFor = func(stay embed.Space) embed.Provider {
			return embed.NewAuto(embed.Config{Provider: "ollama", Stay: stay, Ollama: ollama.Config{Transport: transport},
				Models: []string{"a", "b", "c"}, RetryMin: time.Millisecond, RetryMax: 10 * time.Millisecond})
		}
		o.Consolidation.Batch = 4
	}
}

// await waits until the provider is in a state.
func (f *fixture) await(want embed.State) {
	f.t.Helper()
	limit := time.After(20 * time.Second)
	for {
		changed := f.back.provider.Changed()
		_, state, reason := f.back.provider.Current()
		if state == want {
			return
		}
		select {
		case <-changed:
		case <-limit:
			f.t.Fatalf("the embedder is %s (%s), want %s", state, reason, want)
		}
	}
}

func (f *fixture) settle() {
	f.t.Helper()
	if err := f.Settle(ctx); err != nil {
		f.t.Fatalf("settle: %v", err)
	}
}

func (f *fixture) stats() Stats {
	f.t.Helper()
	s, err := f.Stats(ctx, "")
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// Memories stored while the server is away are found by words at once and marked; when it comes up, after a
// restart, their vectors appear by themselves.
func TestVectorsComeLater(t *testing.T) {
	fake := ollamatest.NewFake(ollamatest.Model{Name: "a", Digest: "sha-a", Dim: 16})
	fake.Always("/api/tags", ollamatest.Status(503, "starting"))
	f := open(t, withOllama(fake))
	f.await(embed.Away)
	r := f.say("The heron nests behind the boiler house.")
	if !slices.Contains(r.Pending, "embedding") {
		t.Errorf("the receipt says pending %v", r.Pending)
	}
	got := f.recall(Question{Query: "Where does the heron nest?"})
	if len(got.Memories) != 1 || len(got.Degraded) != 1 || !strings.Contains(got.Degraded[0], "keyword and graph only") {
		t.Errorf("without the server: %d memories, degraded %q", len(got.Memories), got.Degraded)
	}
	f.settle()
	if s := f.stats(); s.Vectors != 0 || s.Pending.Embedding != 0 || s.Waiting["embedding"].Count != 1 || s.Waiting["embedding"].Reason == "" {
		t.Errorf("waiting: %+v, pending %+v", s.Waiting, s.Pending)
	}
	fake.Always("/api/tags", nil)
	f.reopen()
	f.await(embed.Ready)
	f.settle()
	if s := f.stats(); s.Vectors != 1 || s.Waiting["embedding"].Count != 0 || s.Embedder.Model != "a" || s.Embedder.Dimensions != 16 {
		t.Errorf("with the server: %+v", s)
	}
	got = f.recall(Question{Query: "Where does the heron nest?"})
	if len(got.Degraded) != 0 || got.Memories[0].Signals["vector"] == 0 {
		t.Errorf("with the server: degraded %q, signals %v", got.Degraded, got.Memories[0].Signals)
	}
}

// A store goes from one model to another of other dimensions, and to a third of the same: nothing is compared
// across, the old space serves until the new one is full, and an interrupted filling goes on.
func TestChangeOfModel(t *testing.T) {
	model := func(name string, dim int) ollamatest.Model {
		return ollamatest.Model{Name: name, Digest: "sha-" + name, Dim: dim}
	}
	fake := ollamatest.NewFake(model("a", 16))
	f := open(t, withOllama(fake))
	f.await(embed.Ready)
	for i := range 10 {
		f.remember(Note{Content: fmt.Sprintf("Note %d: the lock of gate %d sticks in winter.", i, i), Session: "s"})
	}
	f.settle()
	spaces := func() []string {
		list, err := f.back.rows.Spaces()
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, s := range list {
			out = append(out, fmt.Sprintf("%s:%d aim=%v full=%v", s.Model, s.Dimensions, s.Aim, s.Full))
		}
		return out
	}
	if s := f.stats(); s.Vectors != 10 {
		t.Fatalf("%d vectors", s.Vectors)
	}
	found := func(what string) {
		t.Helper()
		got := f.recall(Question{Query: "Which gate's lock sticks?"})
		if len(got.Memories) != 10 {
			t.Errorf("%s: %d memories found", what, len(got.Memories))
		}
	}
	// Both models are there: the old one serves while the new one is filled, and the work is cut off.
	fake.SetModels(model("b", 24), model("a", 16))
	f.opts.EmbedderFor = func(embed.Space) embed.Provider {
		return embed.NewAuto(embed.Config{Provider: "ollama", Ollama: ollama.Config{Transport: &ollamatest.Transport{Fake: fake}}, Models: []string{"b"}})
	}
	f.reopen()
	f.await(embed.Ready)
	cut, stop := context.WithCancel(ctx)
	calls := 0
	fake.Always("/api/embed", func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
		if calls++; calls == 2 {
			stop()
		}
		next(w, r)
	})
	_ = f.Settle(cut) // it ends with the context
	fake.Always("/api/embed", nil)
	if got := spaces(); !slices.Equal(got, []string{"a:16 aim=false full=false", "b:24 aim=true full=false"}) {
		t.Errorf("in the middle: %q", got)
	}
	found("in the middle")
	f.reopen()
	f.await(embed.Ready)
	embedded := len(fake.Calls("/api/embed"))
	f.settle()
	if n := len(fake.Calls("/api/embed")) - embedded; n > 3 {
		t.Errorf("%d calls for what was left of ten memories in batches of four", n)
	}
	if got := spaces(); !slices.Equal(got, []string{"b:24 aim=true full=true"}) {
		t.Errorf("in the end: %q", got)
	}
	if s := f.stats(); s.Vectors != 10 {
		t.Errorf("%d vectors in the end", s.Vectors)
	}
	found("in the end")
	// Another model of the same dimensions under the same name.
	fake.SetModels(ollamatest.Model{Name: "b", Digest: "sha-other", Dim: 24})
	f.reopen()
	f.await(embed.Ready)
	f.settle()
	if got := spaces(); len(got) != 1 || f.stats().Vectors != 10 {
		t.Errorf("after a swap: %q, %d vectors", got, f.stats().Vectors)
	}
	if v := f.loadedVectors(); len(v) != 1 {
		t.Errorf("%d spaces in memory", len(v))
	}
	found("after a swap")
	r := f.say("The lock of the boat house sticks too.")
	f.settle()
	if _, err := f.Forget(ctx, Choice{IDs: []string{r.ID}}); err != nil {
		t.Fatal(err)
	}
	if s := f.stats(); s.Vectors != 10 {
		t.Errorf("%d vectors after forgetting the eleventh", s.Vectors)
	}
}

func (f *fixture) loadedVectors() []uint32 {
	f.t.Helper()
	p, _ := f.project("default")
	s, err := f.shard(p)
	if err != nil {
		f.t.Fatal(err)
	}
	s.RLock()
	defer s.RUnlock()
	var out []uint32
	for m := range s.Vectors {
		out = append(out, m)
	}
	return out
}

// A server that accepts and never answers costs a question its deadline and no more. (Watchdogs at twelve
// times the contract's 250 ms, for busy machines.)
func TestServerThatNeverAnswers(t *testing.T) {
	fake := ollamatest.NewFake(ollamatest.Model{Name: "a", Digest: "sha-a", Dim: 16})
	f := open(t, withOllama(fake))
	f.await(embed.Ready)
	f.say("The heron nests behind the boiler house.")
	f.settle()
	fake.Always("/api/embed", ollamatest.Hang)
	fake.Always("/api/tags", ollamatest.Hang)
	began := time.Now()
	got := f.recall(Question{Query: "Where does the heron nest?"})
	if d := time.Since(began); d > 3*time.Second {
		t.Errorf("recall took %s", d)
	}
	if len(got.Memories) != 1 || len(got.Degraded) != 1 {
		t.Errorf("%d memories, degraded %q", len(got.Memories), got.Degraded)
	}
	began = time.Now()
	f.say("The heron has three young.")
	if d := time.Since(began); d > 3*time.Second {
		t.Errorf("remember took %s", d)
	}
}

// story remembers the testdata conversation, and returns the ids by source.
func (f *fixture) story(c *consolidatetest.Canned) map[string]string {
	ids := map[string]string{}
	for _, s := range c.Story {
		ids[s.Source] = f.remember(Note{Content: s.Text, Speaker: s.Speaker, Session: s.Session, Source: s.Source, OccurredAt: s.At.Format(time.RFC3339)}).ID
	}
	return ids
}

// dump is every row of the store but those of the queue and of settings.
func (f *fixture) dump() map[string]string {
	f.t.Helper()
	out := map[string]string{}
	for row, err := range f.kv.Scan(nil, nil) {
		if err != nil {
			f.t.Fatal(err)
		}
		if !strings.ContainsRune("qkf", rune(row.Key[0])) {
			out[string(row.Key)] = string(row.Value)
		}
	}
	return out
}

func canned(t *testing.T) *consolidatetest.Canned {
	t.Helper()
	c, err := consolidatetest.LoadCanned("../testdata/ollama")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// With a model that reads well, causes, entities and corrections that rules cannot see are answered with
// quotes; what it only claims is not; and when its work is removed the store is as before.
func TestGoodModel(t *testing.T) {
	c := canned(t)
	f := open(t, func(o *Options) { o.Chat = c })
	ids := f.story(c)
	f.clock.add(time.Hour) // the last episode closes
	why := func(q string) WhyAnswer {
		t.Helper()
		a, err := f.Why(ctx, WhyQuestion{Query: q})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	if a := why("Why was the boat sold to the harbour school?"); a.Found {
		t.Fatalf("rules alone found a cause: %+v", a.Chains)
	}
	entity := func() EntityInfo {
		t.Helper()
		list, err := f.Entity(ctx, "", "Mira Sorensen")
		if err != nil || len(list) != 1 {
			t.Fatalf("Mira Sorensen is %+v: %v", list, err)
		}
		list[0].Memories = nil
		return list[0]
	}
	plain := entity()
	before := f.dump()
	f.settle()
	check := func(what string) {
		t.Helper()
		a := why("Why was the boat sold to the harbour school?")
		step := ChainStep{}
		if a.Found {
			step = a.Chains[0].Steps[0]
		}
		if step.Cause != ids["S2:1"] || step.Effect != ids["S3:1"] || step.Origin != "inferred" || step.EvidenceMemory != ids["S2:1"] ||
			!strings.Contains("The doctor says that my back will not take another winter of hauling ropes.", step.Evidence) || step.Evidence == "" {
			t.Errorf("%s: why: %+v", what, a.Chains)
		}
		if a := why("Why did it rain until noon?"); a.Found {
			t.Errorf("%s: a sneeze made it rain: %+v", what, a.Chains)
		}
		e := entity()
		if len(e.Facts) < 2 || e.Facts[0].Quote == "" || e.Facts[0].Pass == "" {
			t.Errorf("%s: facts %+v", what, e.Facts)
		}
		if !slices.ContainsFunc(e.Aliases, func(a Alias) bool { return a.Name == "Sparrow" && a.Memory == ids["S1:1"] }) {
			t.Errorf("%s: aliases %+v", what, e.Aliases)
		}
		for _, source := range []string{"S1:1", "S5:2"} {
			m, err := f.Get(ctx, "", ids[source])
			if err != nil || len(m.Contradicts) != 1 || m.SupersededBy != "" {
				t.Errorf("%s: %s contradicts %v, superseded by %q: %v", what, source, m.Contradicts, m.SupersededBy, err)
			}
		}
	}
	check("at once")
	if s := f.stats(); s.Episodes == 0 || s.Pending.Consolidation != 0 || s.Failed != 0 {
		t.Errorf("stats %+v", s)
	}
	f.reopen()
	check("after a restart")
	if err := f.Rebuild(ctx, nil); err != nil {
		t.Fatal(err)
	}
	check("after a rebuild")
	for _, pass := range consolidate.Passes {
		if err := f.RemovePass(ctx, "default", pass, false); err != nil {
			t.Fatal(err)
		}
	}
	if a := why("Why was the boat sold to the harbour school?"); a.Found {
		t.Error("a cause outlived its row")
	}
	if d := cmp.Diff(plain, entity()); d != "" {
		t.Errorf("the entity is not as before:\n%s", d)
	}
	if d := cmp.Diff(before, f.dump()); d != "" {
		t.Errorf("the store is not as before:\n%s", d)
	}
	// Done again, it is all there again.
	for _, pass := range []consolidate.Pass{consolidate.Rules, consolidate.Model} {
		if err := f.RemovePass(ctx, "default", pass, true); err != nil {
			t.Fatal(err)
		}
	}
	f.settle()
	check("done again")
	// What rests on a forgotten memory goes with it.
	if _, err := f.Forget(ctx, Choice{IDs: []string{ids["S2:1"]}}); err != nil {
		t.Fatal(err)
	}
	if a := why("Why was the boat sold to the harbour school?"); a.Found {
		t.Errorf("a forgotten cause is told: %+v", a.Chains)
	}
	f.settle()
	for k, v := range f.dump() {
		if strings.Contains(v, "hauling ropes") {
			t.Errorf("row %q still quotes the forgotten memory", k[:1])
		}
	}
}

// A model that answers badly changes nothing, whatever it says.
func TestBadModels(t *testing.T) {
	c := canned(t)
	for name, answer := range map[string]string{
		"delete everything": `{"actions":[{"op":"delete","id":"*"}],"delete":"everything"}`,
		"prose":             "Sure! I have merged the duplicates and deleted the rest.",
		"half a JSON":       `{"entities":[{"memory":"m1","name":"Mira`,
		"wrong ids":         `{"entities":[{"memory":"m99","name":"Mira","type":"person","aliases":[]}],"causes":[{"cause":"m98","cause_quote":"x y z","effect":"m97","effect_quote":"a b c","how":"stated"}]}`,
		"invented quotes":   `{"facts":[{"memory":"m1","subject":"Mira","predicate":"hates","object":"boats","quote":"Mira hates boats"}],"causes":[{"cause":"m3","cause_quote":"the sneeze brought it","effect":"m4","effect_quote":"so it rained","how":"stated"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			chat := consolidatetest.ChatFunc(func(context.Context, consolidate.Prompt) (string, error) { return answer, nil })
			f := open(t, func(o *Options) { o.Chat = chat })
			f.story(c)
			f.say("The very same words.")
			f.remember(Note{Content: "The very same words.", Speaker: "Jon"})
			before := f.dump()
			for range 8 { // past the last try
				f.settle()
				f.clock.add(time.Hour)
			}
			after := f.dump()
			for k := range after {
				if _, ok := before[k]; !ok && (k[0] == 'd' || k[0] == 'b') {
					var r consolidate.Derived
					if k[0] == 'd' && json.Unmarshal([]byte(after[k]), &r) == nil && r.Pass != consolidate.Rules {
						t.Errorf("a %s row came of it: %s", r.Kind, after[k])
					}
					delete(after, k) // episodes are made by rule
				}
			}
			if d := cmp.Diff(before, after); d != "" {
				t.Errorf("the store changed:\n%s", d)
			}
		})
	}
}

// Forgetting a memory in the middle of an episode redoes the episode without it.
func TestEpisodeWithoutForgotten(t *testing.T) {
	f := open(t)
	var ids []string
	for i, s := range []string{"The ferry timetable changes on Monday.", "The ferry leaves at six then.", "Zanzibar is where the captain was born.", "The ferry timetable hangs at the pier."} {
		ids = append(ids, f.remember(Note{Content: s, Session: "s", OccurredAt: fmt.Sprintf("2025-06-01T10:0%d:00Z", i)}).ID)
	}
	f.clock.add(time.Hour)
	f.settle()
	p, _ := f.project("default")
	rows, err := f.derivedRows(p, consolidate.EpisodeRow)
	if err != nil || len(rows) != 1 || len(rows[0].Basis) != 4 || !rows[0].Closed {
		t.Fatalf("episodes: %+v, %v", rows, err)
	}
	if _, err := f.Forget(ctx, Choice{IDs: []string{ids[2]}}); err != nil {
		t.Fatal(err)
	}
	if rows, _ := f.derivedRows(p, consolidate.EpisodeRow); len(rows) != 0 {
		t.Errorf("an episode still holds the forgotten memory: %+v", rows)
	}
	f.settle()
	rows, err = f.derivedRows(p, consolidate.EpisodeRow)
	if err != nil || len(rows) != 1 || len(rows[0].Basis) != 3 || strings.Contains(fmt.Sprint(rows), "Zanzibar") {
		t.Errorf("episodes after forgetting: %+v, %v", rows, err)
	}
}

// The last memory of a session waits for its episode to close: that is not pending.
func TestOpenEpisodeIsNotPending(t *testing.T) {
	f := open(t)
	f.say("The ferry timetable changes on Monday.")
	if s := f.stats(); s.Waiting["consolidation"].Count != 1 {
		t.Errorf("a paused bank: %+v", s.Waiting)
	}
	f.o.Paused = false // as a bank that works: stats alone looks at it now
	if s := f.stats(); s.Pending.Consolidation != 1 {
		t.Errorf("before: %+v", s.Pending)
	}
	f.settle()
	s := f.stats()
	f.o.Paused = true
	if s.Pending.Consolidation != 0 || s.Waiting["consolidation"].Reason != "its episode is still open" {
		t.Errorf("after: %+v, %+v", s.Pending, s.Waiting)
	}
}

// The built-in embedder, named in the configuration, has vectors of every memory and rows of none.
func TestBuiltinVectors(t *testing.T) {
	words, err := builtin.New()
	if err != nil {
		t.Fatal(err)
	}
	f := open(t, func(o *Options) { o.Embedder = embed.Fixed(words); o.ExactWords = true })
	f.say("The children were playing outside all afternoon.")
	f.say("The invoice was paid by bank transfer.")
	for _, what := range []string{"at once", "after a restart"} {
		s := f.stats()
		if s.Vectors != 2 || s.Embedder.Provider != "builtin" || s.Embedder.State != "ready" || s.Waiting["embedding"].Count+s.Pending.Embedding != 0 {
			t.Errorf("%s: %+v", what, s)
		}
		got := f.recall(Question{Query: "Did the kids have fun in the garden?"})
		if len(got.Memories) == 0 || !strings.Contains(got.Memories[0].Content, "children") || got.Memories[0].Signals["vector"] == 0 || len(got.Degraded) > 0 {
			t.Errorf("%s: %+v, degraded %q", what, got.Memories, got.Degraded)
		}
		if got.Confident {
			t.Errorf("%s: nearness of words alone made it confident", what)
		}
		f.reopen()
	}
	for k := range f.dump() {
		if k[0] == 'v' || k[0] == 'm' {
			t.Errorf("the store has a row %q of the built-in embedder", k[:1])
		}
	}
}

// A Bank's goroutines end with it, in the middle of work too.
func TestNoGoroutineLeft(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	fake := ollamatest.NewFake(ollamatest.Model{Name: "a", Digest: "sha-a", Dim: 16})
	fake.Always("/api/embed", ollamatest.Hang)
	o := Options{Pebble: store.PebbleOptions{}, Chat: consolidatetest.ChatFunc(func(ctx context.Context, _ consolidate.Prompt) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})}
	withOllama(fake)(&o)
	b, err := Open(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if _, err := b.Remember(ctx, Note{Content: fmt.Sprintf("Gate %d sticks in winter.", i)}); err != nil {
			t.Fatal(err)
		}
	}
	b.back.worker.Wake()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	goleak.VerifyNone(t, ignore)
}

// Reindex waits for the model and for the vectors of all, and says why where it cannot.
func TestReindex(t *testing.T) {
	fake := ollamatest.NewFake(ollamatest.Model{Name: "a", Digest: "sha-a", Dim: 16})
	f := open(t, withOllama(fake), func(o *Options) { o.Paused = false; o.Now = nil })
	for i := range 30 {
		f.say(fmt.Sprintf("Gate %d sticks in winter.", i))
	}
	last := 0
	rep, err := f.Reindex(ctx, func(done, total int) {
		if done < last || done > total {
			t.Errorf("%d of %d after %d", done, total, last)
		}
		last = done
	})
	if err != nil || rep.Model != "a" || rep.Left != 0 {
		t.Errorf("%+v, %v", rep, err)
	}
	if s := f.stats(); s.Vectors != 30 {
		t.Errorf("%d vectors", s.Vectors)
	}
	fake.Always("/api/tags", ollamatest.Status(503, "gone"))
	f.reopen()
	f.await(embed.Away)
	_, err = f.Reindex(ctx, nil)
	wantCode(t, err, CodeBusy, "reindex")
	f.opts.EmbedderFor = nil
	f.reopen()
	_, err = f.Reindex(ctx, nil)
	wantCode(t, err, CodeInvalid, "embedding.provider")
}
