package memory

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/consolidate"
	"github.com/magma-mcp/magma-mcp/memory/embed"
	"github.com/magma-mcp/magma-mcp/memory/embed/builtin"
	"github.com/magma-mcp/magma-mcp/memory/embed/ollama"
	"github.com/magma-mcp/magma-mcp/memory/embed/ollamatest"
	"github.com/magma-mcp/magma-mcp/memory/embed/ollamatest/tinymodel"
	"github.com/magma-mcp/magma-mcp/memory/graph"
)

// The Bank from end to end with a real Ollama server: a conversation is remembered, found by meaning, read by
// a chat model, forgotten; the server goes and comes.

// askers is a chat model made of several, one for each kind of question: a tiny model has one answer to
// everything. The schema tells the kinds apart.
type askers map[string]consolidate.Chat

func (a askers) Name(ctx context.Context) (string, error) { return a["entities"].Name(ctx) }

func (a askers) Ask(ctx context.Context, p consolidate.Prompt) (string, error) {
	for field, chat := range a {
		if strings.Contains(string(p.Schema), `"`+field+`":`) {
			return chat.Ask(ctx, p)
		}
	}
	return "", errors.New("a question of no kind that is known")
}

// realBank is what one run from end to end is given.
type realBank struct {
	url       string // of the server
	embedding string
	chat      consolidate.Chat
	stop      func() // takes the server away
	start     func() // brings it back, at the same address
	// found, if set, looks at what consolidation read: that depends on the model.
	found func(f *fixture, ids map[string]string)
}

// paraphrase asks for S2:1 of the story, "The doctor says that my back will not take another winter of hauling
// ropes.", in none of its words.
const paraphrase = "Did a physician warn against lifting lines?"

func (r *realBank) run(t *testing.T) {
	words, err := builtin.New()
	if err != nil {
		t.Fatal(err)
	}
	f := open(t, func(o *Options) {
		o.ExactWords = true // what is found in other words is found by vectors
		o.EmbedderFor = func(stay embed.Space) embed.Provider {
			return embed.NewAuto(embed.Config{Ollama: ollama.Config{Host: r.url}, Models: []string{r.embedding}, Stay: stay,
				Builtin:  func() embed.Embedder { return words },
				RetryMin: 50 * time.Millisecond, RetryMax: 200 * time.Millisecond, Recheck: time.Minute})
		}
		o.Chat = r.chat
		o.QuestionTimeout = 10 * time.Second // a busy machine
	})
	// All is told in one session, before the work begins, so that the model is shown the same notes together.
	ids := map[string]string{}
	for _, s := range canned(t).Story {
		ids[s.Source] = f.remember(Note{Content: s.Text, Speaker: s.Speaker, Session: "talks", Source: s.Source, OccurredAt: s.At.Format(time.RFC3339)}).ID
	}
	f.clock.add(time.Hour) // the last episode closes
	f.opts.Paused = false
	f.reopen()
	f.await(embed.Ready)
	if e, _, _ := f.back.provider.Current(); e.Space().Provider != "ollama" {
		f.awaitModel()
	}
	if rep, err := f.Reindex(ctx, nil); err != nil || rep.Left != 0 || rep.Provider != "ollama" {
		t.Fatalf("vectors: %+v, %v", rep, err)
	}
	f.settle()
	f.settled("at first")

	byMeaning := func(when string) {
		t.Helper()
		got := f.recall(Question{Query: paraphrase, Limit: 3})
		t.Logf("%s: vectors %v", when, near(got.Memories))
		i := slices.IndexFunc(got.Memories, func(m Memory) bool { return m.Rank == 1 && m.ID == ids["S2:1"] })
		if i < 0 || len(got.Degraded) > 0 {
			t.Fatalf("%s: not found in other words: %+v, degraded %q", when, got.Memories, got.Degraded)
		}
		if s := got.Memories[i].Signals; s["vector"] == 0 || s["keyword"] != 0 {
			t.Errorf("%s: found by %v", when, s)
		}
	}
	byMeaning("at first")
	if all := f.episodes(EpisodeQuery{}); len(all) < 4 || all[0].Open {
		t.Errorf("episodes: %+v", all)
	}
	if r.found != nil {
		r.found(f, ids)
	}

	// The server goes: words still find, and the answer says what is missing.
	r.stop()
	got := f.recall(Question{Query: paraphrase})
	if len(got.Degraded) == 0 {
		t.Error("a question to a server that is gone is not called degraded")
	}
	f.await(embed.Away)
	got = f.recall(Question{Query: "Who was hauling ropes?"})
	if len(got.Degraded) != 1 || !strings.Contains(got.Degraded[0], "ollama unreachable") ||
		!slices.ContainsFunc(got.Memories, func(m Memory) bool { return m.Rank == 1 && m.ID == ids["S2:1"] }) {
		t.Errorf("without the server: degraded %q, %d memories", got.Degraded, len(got.Memories))
	}
	if got := f.recall(Question{Query: paraphrase}); slices.ContainsFunc(got.Memories, func(m Memory) bool { return m.Signals["vector"] != 0 }) {
		t.Errorf("found by a vector without the server: %+v", got.Memories)
	}
	late := f.remember(Note{Content: "Eskil painted the mast yellow.", Session: "later"})
	if !slices.Contains(late.Pending, "embedding") {
		t.Errorf("stored meanwhile, pending %q", late.Pending)
	}
	if s := f.stats(); s.Embedder.State != "away" || s.Waiting["embedding"].Count != 1 {
		t.Errorf("meanwhile: %+v, waiting %+v", s.Embedder, s.Waiting)
	}
	// It comes back: used again, and what waited is done, without a restart.
	r.start()
	f.awaitModel()
	if _, err := f.Reindex(ctx, nil); err != nil {
		t.Fatal(err)
	}
	byMeaning("when it is back")
	f.settle()
	f.settled("when it is back")

	// Forgetting takes what was derived.
	p, _ := f.project("default")
	gone, _ := graph.ParseID(ids["S3:2"])
	if _, err := f.Forget(ctx, Choice{IDs: []string{ids["S3:2"]}}); err != nil {
		t.Fatal(err)
	}
	f.settle()
	for _, kind := range []consolidate.Kind{consolidate.EntityRow, consolidate.RelationRow, consolidate.FactRow, consolidate.DateRow, consolidate.CauseRow,
		consolidate.ContradictionRow, consolidate.SummaryRow, consolidate.EpisodeRow, consolidate.LinkRow} {
		rows, err := f.derivedRows(p, kind)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range rows {
			if slices.Contains(d.Basis, gone) || slices.ContainsFunc(d.Evidence, func(q consolidate.Quote) bool { return q.Memory == gone }) {
				t.Errorf("a row of kind %s rests on what was forgotten", kind)
			}
		}
	}
	if got := f.recall(Question{Query: "Who runs the harbour school?"}); slices.ContainsFunc(got.Memories, func(m Memory) bool { return m.ID == ids["S3:2"] }) {
		t.Error("a forgotten memory is found")
	}
}

// near are the vectors' similarities by source.
func near(list []Memory) map[string]float64 {
	out := map[string]float64{}
	for _, m := range list {
		out[m.Source] = m.Signals["vector"]
	}
	return out
}

// awaitModel waits until an Ollama model serves: with provider auto the built-in embedder is ready before.
func (f *fixture) awaitModel() {
	f.t.Helper()
	limit := time.After(5 * time.Minute)
	for {
		changed := f.back.provider.Changed()
		e, state, reason := f.back.provider.Current()
		if state == embed.Ready && e != nil && !isBuiltin(e) {
			return
		}
		select {
		case <-changed:
		case <-limit:
			f.t.Fatalf("the embedder is %s: %s", state, reason)
		}
	}
}

// settled fails the test where work is left that could be done.
func (f *fixture) settled(when string) {
	f.t.Helper()
	s := f.stats()
	if s.Pending.Embedding+s.Pending.Consolidation != 0 || s.Vectors < s.Memories {
		f.t.Errorf("%s: %d vectors of %d memories, pending %+v, waiting %+v, last error %q", when, s.Vectors, s.Memories, s.Pending, s.Waiting, s.LastError)
	}
}

func TestRealServerEndToEnd(t *testing.T) {
	models := t.TempDir()
	first := ollamatest.Private(t, "REAL_OLLAMA_MODELS="+models)
	first.Embedder(t, "tiny-meaning", tinymodel.Embedder{Alike: [][]string{{"doctor", "physician"}, {"hauling", "lifting"}, {"ropes", "lines"}}})
	// The first note of a batch is S1:1, of the next S3:1: what is said of m1 holds for one and is dropped for the other.
	first.Chat(t, "tiny-reader", tinymodel.Chat{Reply: `{"entities":[{"memory":"m1","name":"Mira Sorensen","type":"person","aliases":["Sparrow"]},{"memory":"m2","name":"Eskil","type":"person","aliases":[]}],"facts":[{"memory":"m1","subject":"Mira Sorensen","predicate":"lives in","object":"Bergen","quote":"lives in Bergen"}],"relations":[{"memory":"m2","subject":"Eskil","relation":"brother of","object":"Mira","quote":"Eskil, the brother of Mira"}],"dates":[],"summaries":[]}`})
	first.Chat(t, "tiny-linker", tinymodel.Chat{Reply: `{"causes":[],"contradictions":[]}`})
	first.Chat(t, "tiny-teller", tinymodel.Chat{Reply: `{"summary":"I sold the boat to the harbour school.","keywords":["harbour school"]}`})
	server, err := ollama.New(ollama.Config{Host: first.URL})
	if err != nil {
		t.Fatal(err)
	}
	chat := askers{}
	for field, model := range map[string]string{"entities": "tiny-reader", "causes": "tiny-linker", "summary": "tiny-teller"} {
		if chat[field], err = consolidate.NewChatModel(server, model, 4096); err != nil {
			t.Fatal(err)
		}
	}
	r := realBank{url: first.URL, embedding: "tiny-meaning", chat: chat,
		stop: func() {
			if err := first.Kill(); err != nil {
				t.Fatal(err)
			}
			first.Stop()
		},
		start: func() {
			port := first.URL[strings.LastIndexByte(first.URL, ':')+1:]
			if second := ollamatest.Private(t, "REAL_OLLAMA_MODELS="+models, "REAL_OLLAMA_PORT="+port); second.URL != first.URL {
				t.Skipf("the port was taken: %s", second.URL)
			}
		},
		found: func(f *fixture, ids map[string]string) {
			list, err := f.Entity(ctx, "", "Mira Sorensen")
			if err != nil || len(list) != 1 || len(list[0].Facts) != 1 {
				t.Fatalf("Mira Sorensen is %+v: %v", list, err)
			}
			fact := list[0].Facts[0]
			if fact.Object != "Bergen" || fact.Memory != ids["S1:1"] || fact.Quote != "lives in Bergen" || !strings.Contains(fact.Pass, "tiny-reader:latest@") {
				t.Errorf("%+v", fact)
			}
			if !slices.ContainsFunc(list[0].Aliases, func(a Alias) bool { return a.Name == "Sparrow" }) {
				t.Errorf("aliases %+v", list[0].Aliases)
			}
			list, err = f.Entity(ctx, "", "Eskil")
			if err != nil || len(list) != 1 || len(list[0].Relations) != 1 || list[0].Relations[0].Relation != "brother of" || list[0].Relations[0].Memory != ids["S3:2"] {
				t.Errorf("Eskil is %+v: %v", list, err)
			}
			e, err := f.Episode(ctx, "", ids["S3:1"])
			if err != nil || e.Summary != "I sold the boat to the harbour school." || e.Title != "harbour school" || !strings.Contains(e.By, "tiny-") || len(e.Memories) != 2 {
				t.Errorf("%+v, %v", e, err)
			}
			if e, err := f.Episode(ctx, "", ids["S1:1"]); err != nil || e.By != "rules" {
				t.Errorf("a summary with words that its episode has not: %+v, %v", e, err)
			}
		}}
	r.run(t)
}

// The same with any real model: MAGMA_TEST_MODEL=nomic-embed-text,llama3.2 go test -v -run Yours ./memory
// A door before the server is shut and opened in its stead.
func TestRealServerOfYours(t *testing.T) {
	target, embedding, chat := ollamatest.Models(t)
	if embedding == "" {
		t.Skip("no embedding model is named")
	}
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	var shut atomic.Bool
	proxy := httputil.NewSingleHostReverseProxy(to)
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if shut.Load() {
			panic(http.ErrAbortHandler)
		}
		r.Host = to.Host
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(door.Close)
	r := realBank{url: door.URL, embedding: embedding, stop: func() { shut.Store(true) }, start: func() { shut.Store(false) }}
	if chat != "" {
		server, err := ollama.New(ollama.Config{Host: door.URL})
		if err != nil {
			t.Fatal(err)
		}
		if r.chat, err = consolidate.NewChatModel(server, chat, 0); err != nil {
			t.Fatal(err)
		}
		r.found = func(f *fixture, ids map[string]string) {
			for _, name := range []string{"Mira Sorensen", "Eskil"} {
				list, err := f.Entity(ctx, "", name)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range list {
					t.Logf("%s: facts %+v, relationships %+v", e.Name, e.Facts, e.Relations)
				}
			}
			for _, e := range f.episodes(EpisodeQuery{}) {
				t.Logf("%s: %s (%s)", e.Title, e.Summary, e.By)
			}
			if why, err := f.Why(ctx, WhyQuestion{Query: "Why did it rain until noon?"}); err != nil || why.Found {
				t.Errorf("a sneeze made it rain: %+v, %v", why.Chains, err)
			}
		}
	}
	r.run(t)
}
