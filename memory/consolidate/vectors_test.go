package consolidate_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/consolidate"
	"github.com/magma-mcp/magma-mcp/memory/consolidate/consolidatetest"
	"github.com/magma-mcp/magma-mcp/memory/embed"
	"github.com/magma-mcp/magma-mcp/memory/embed/ollama"
	"github.com/magma-mcp/magma-mcp/memory/embed/ollamatest"
	"github.com/magma-mcp/magma-mcp/memory/graph"
)

var (
	nomic = ollamatest.Model{Name: "nomic-embed-text:latest", Digest: "d-nomic", Dim: 32, Context: 2048}
	mini  = ollamatest.Model{Name: "all-minilm:latest", Digest: "d-mini", Dim: 16, Context: 512}
	start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
)

func id(n int) graph.ID {
	var id graph.ID
	id[0] = 1
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	return id
}

func mem(n int, text string) consolidate.Memory {
	return consolidate.Memory{ID: id(n), Project: "p", Text: text, Session: "s", At: start.Add(time.Duration(n) * time.Minute)}
}

// builtin stands for the embedder that is part of the program.
type builtin struct{}

func (builtin) Space() embed.Space {
	return embed.Space{Provider: "builtin", Model: "words", Dimensions: 8}
}
func (builtin) Chunks(text string) []string { return []string{text} }
func (builtin) Embed(_ context.Context, _ embed.Kind, texts []string) ([][]float32, error) {
	var out [][]float32
	for _, t := range texts {
		out = append(out, ollamatest.Vector("builtin", t, 8))
	}
	return out, nil
}

// bench is a worker with its store, its provider and a fake server, running in a synctest bubble.
type bench struct {
	*consolidatetest.MemStore
	t        *testing.T
	fake     *ollamatest.Fake
	wire     *ollamatest.Transport
	provider embed.Provider
	worker   *consolidate.Worker
	stop     func()
}

type setup struct {
	store  *consolidatetest.MemStore
	config embed.Config
	opts   consolidate.Options
	chat   consolidate.Chat
	before func(*bench) // before anything runs
}

func run(t *testing.T, fake *ollamatest.Fake, s setup, f func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if s.store == nil {
			s.store = &consolidatetest.MemStore{}
		}
		b := &bench{MemStore: s.store, t: t, fake: fake, wire: &ollamatest.Transport{Fake: fake}}
		if s.before != nil {
			s.before(b)
		}
		s.config.Ollama = ollama.Config{Transport: b.wire}
		p, err := embed.Open(s.config)
		if err != nil {
			t.Fatal(err)
		}
		b.provider = p
		b.worker = consolidate.NewWorker(b.MemStore, p, s.chat, s.opts)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for name, run := range map[string]func(context.Context) error{"provider": p.Run, "worker": b.worker.Run, "thinking": b.worker.Think} {
			wg.Go(func() {
				if err := run(ctx); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		b.stop = sync.OnceFunc(func() {
			cancel()
			wg.Wait()
		})
		synctest.Wait()
		f(b)
		b.stop()
	})
}

func (b *bench) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// remember stores a memory as the bank does.
func (b *bench) remember(n int, text string) {
	b.Add(mem(n, text), consolidate.Embed)
	if b.worker != nil {
		b.worker.Wake()
		synctest.Wait()
	}
}

func (b *bench) space(model string) string {
	b.t.Helper()
	list, err := b.Spaces()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, s := range list {
		if s.Model == model {
			return s.Fingerprint()
		}
	}
	return ""
}

// has counts the memories with vectors in a model's space, and checks each: right dimension, right
// text, and from that model and no other.
func (b *bench) has(m ollamatest.Model, prefix string, texts ...string) int {
	b.t.Helper()
	n := 0
	for i, text := range texts {
		v := b.Vectors(b.space(m.Name), id(i+1))
		if len(v) == 0 {
			continue
		}
		n++
		want := ollamatest.Vector(m.Digest, prefix+text, m.Dim)
		if len(v[0].Values) != len(want) || v[0].Values[0] != want[0] || v[0].Values[7] != want[7] {
			b.t.Errorf("memory %d has a vector in the space of %s that is not its own", i+1, m.Name)
		}
	}
	return n
}

func numbered(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("memory number %d about topic %d", i+1, i%7))
	}
	return out
}

const document = "search_document: "

func TestEmbedsWhatIsQueued(t *testing.T) {
	texts := numbered(10)
	run(t, ollamatest.NewFake(nomic), setup{}, func(b *bench) {
		for i, text := range texts {
			b.remember(i+1, text)
		}
		if n := b.has(nomic, document, texts...); n != 10 {
			t.Errorf("%d of 10 have vectors", n)
		}
		if n := len(b.Owed(consolidate.Embed)); n != 0 {
			t.Errorf("%d are still owed", n)
		}
		if w := b.worker.Status().Waiting[consolidate.Embed]; w != "" {
			t.Errorf("waiting: %s", w)
		}
	})
}

// FIELD-NOTES, Writes that vanish: Ollama is down, the program restarts, Ollama comes up: the vector
// appears by itself.
func TestVectorAppearsLater(t *testing.T) {
	fake := ollamatest.NewFake(nomic)
	store := &consolidatetest.MemStore{}
	down := func(b *bench) { b.wire.SetError(syscall.ECONNREFUSED) }
	run(t, fake, setup{store: store, before: down}, func(b *bench) {
		b.remember(1, "the key is under the mat")
		if reason := b.worker.Status().Waiting[consolidate.Embed]; !strings.Contains(reason, "no server answers") {
			t.Errorf("it waits because of %q", reason)
		}
		if len(b.Owed(consolidate.Embed)) != 1 {
			t.Error("nothing is owed")
		}
	})
	run(t, fake, setup{store: store, before: down}, func(b *bench) {
		b.pass(3 * time.Hour)
		if j := b.Owed(consolidate.Embed); len(j) != 1 || j[0].Tries != 0 {
			t.Errorf("owed after three hours without a server: %+v", j)
		}
		b.wire.SetError(nil)
		b.pass(2 * time.Minute)
		if n := b.has(nomic, document, "the key is under the mat"); n != 1 {
			t.Error("no vector")
		}
		if w := b.worker.Status().Waiting[consolidate.Embed]; w != "" {
			t.Errorf("waiting: %s", w)
		}
	})
}

// FIELD-NOTES, Vectors: model A, then B of another dimension, then C of B's dimension. No vector of one
// ever stands in another's space, the old space stays until the new one is full, and an interruption
// loses nothing.
func TestChangeOfModel(t *testing.T) {
	texts := numbered(10)
	other := ollamatest.Model{Name: "other:latest", Digest: "d-other", Dim: 16, Context: 512}
	fake := ollamatest.NewFake(nomic, mini, other)
	store := &consolidatetest.MemStore{}
	with := func(model string) embed.Config {
		return embed.Config{Models: []string{model}, BatchSize: 2}
	}
	opts := consolidate.Options{Batch: 2}
	run(t, fake, setup{store: store, config: with("nomic-embed-text"), opts: opts}, func(b *bench) {
		for i, text := range texts {
			b.remember(i+1, text)
		}
		if n := b.has(nomic, document, texts...); n != 10 {
			t.Fatalf("%d of 10", n)
		}
	})
	// Interrupted in the middle: the third batch hangs.
	fake.Then("/api/embed", ollamatest.Pass, ollamatest.Pass, ollamatest.Pass, ollamatest.Hang)
	run(t, fake, setup{store: store, config: with("all-minilm"), opts: opts}, func(b *bench) {
		if n := b.has(mini, "", texts...); n != 4 {
			t.Errorf("%d of 10 when it hangs", n)
		}
		if n := b.has(nomic, document, texts...); n != 10 {
			t.Errorf("%d of 10 are left in the space that serves", n)
		}
		b.remember(11, "written meanwhile")
	})
	texts = append(texts, "written meanwhile")
	calls := len(fake.Calls("/api/embed"))
	run(t, fake, setup{store: store, config: with("all-minilm"), opts: opts}, func(b *bench) {
		if n := b.has(mini, "", texts...); n != 11 {
			t.Errorf("%d of 11 in the end", n)
		}
		if b.space(nomic.Name) != "" || len(b.Vectors(b.space(nomic.Name), id(1))) != 0 {
			t.Error("the old space is still there")
		}
		// 7 were missing: 4 batches, and one call to load the model.
		if n := len(fake.Calls("/api/embed")) - calls; n > 6 {
			t.Errorf("%d requests to go on with", n)
		}
	})
	run(t, fake, setup{store: store, config: with("other"), opts: opts}, func(b *bench) {
		if n := b.has(other, "", texts...); n != 11 {
			t.Errorf("%d of 11 in the third model's space", n)
		}
		if b.space(mini.Name) != "" {
			t.Error("the second space is still there")
		}
	})
}

// A model swapped under the same name while memories are being embedded: its vectors get a space of
// their own, and nothing of it gets into the old one.
func TestModelSwappedUnderway(t *testing.T) {
	texts := numbered(9)
	fake := ollamatest.NewFake(nomic)
	swapped := nomic
	swapped.Digest = "d-swapped"
	run(t, fake, setup{opts: consolidate.Options{Batch: 3}}, func(b *bench) {
		fake.Then("/api/embed", ollamatest.Pass, func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
			fake.SetModels(swapped)
			next(w, r)
		})
		for i, text := range texts {
			b.remember(i+1, text)
		}
		b.pass(2 * time.Minute)
		if n := b.has(swapped, document, texts...); n != 9 {
			t.Errorf("%d of 9 in the new model's space", n)
		}
		if list, _ := b.Spaces(); len(list) != 1 {
			t.Errorf("spaces: %+v", list)
		}
	})
}

// With a standby, its vectors are there at once and stay; Ollama's are added when it answers.
func TestStandby(t *testing.T) {
	fake := ollamatest.NewFake(nomic)
	config := embed.Config{Builtin: func() embed.Embedder { return builtin{} }}
	texts := numbered(5)
	count := func(b *bench, model string) (n int) {
		for i := range b.Count() {
			if s := b.space(model); s != "" && len(b.Vectors(s, id(i+1))) > 0 {
				n++
			}
		}
		return n
	}
	run(t, fake, setup{config: config, before: func(b *bench) { b.wire.SetError(syscall.ECONNREFUSED) }}, func(b *bench) {
		for i, text := range texts {
			b.remember(i+1, text)
		}
		if n := count(b, "words"); n != 5 {
			t.Errorf("%d of 5 have built-in vectors", n)
		}
		if n := len(b.Owed(consolidate.Embed)); n != 0 {
			t.Errorf("%d are owed although nobody misses Ollama", n)
		}
		b.wire.SetError(nil)
		b.pass(2 * time.Minute)
		if a, c := count(b, nomic.Name), count(b, "words"); a != 5 || c != 5 {
			t.Errorf("%d of 5 by Ollama, %d built in", a, c)
		}
		// An outage: new memories get the standby's vector now and Ollama's later. Nothing is thrown away.
		b.wire.SetError(syscall.ECONNREFUSED)
		b.pass(time.Minute)
		b.remember(6, "written in the outage")
		if a, c := count(b, nomic.Name), count(b, "words"); a != 5 || c != 6 {
			t.Errorf("in the outage, %d by Ollama, %d built in", a, c)
		}
		if n := len(b.Owed(consolidate.Embed)); n != 1 {
			t.Errorf("%d owed in the outage", n)
		}
		if b.worker.Status().Waiting[consolidate.Embed] == "" {
			t.Error("nothing is said to wait")
		}
		b.wire.SetError(nil)
		b.pass(2 * time.Minute)
		if a := count(b, nomic.Name); a != 6 {
			t.Errorf("after it, %d by Ollama", a)
		}
		if n := len(b.Owed(consolidate.Embed)); n != 0 {
			t.Errorf("%d owed after it", n)
		}
	})
}

// An outage of weeks: what waits is not read again for every memory that comes.
func TestWaitingIsCheap(t *testing.T) {
	reads := 0
	store := &countingStore{MemStore: &consolidatetest.MemStore{}, reads: &reads}
	synctest.Test(t, func(t *testing.T) {
		fake := ollamatest.NewFake(nomic)
		wire := &ollamatest.Transport{Fake: fake}
		wire.SetError(syscall.ECONNREFUSED)
		p, err := embed.Open(embed.Config{Ollama: ollama.Config{Transport: wire}, Builtin: func() embed.Embedder { return builtin{} },
			Stay: embed.Space{Provider: "ollama", Model: nomic.Name, Digest: nomic.Digest}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = p.Run(ctx) }()
		time.Sleep(3 * time.Second)
		if err := store.Aim([]embed.Space{{Provider: "ollama", Model: nomic.Name, Digest: nomic.Digest, Dimensions: 32}}); err != nil {
			t.Fatal(err)
		}
		w := consolidate.NewWorker(store, p, nil, consolidate.Options{})
		for i := range 300 {
			store.Add(mem(i+1, fmt.Sprint("memory ", i)), consolidate.Embed)
			if err := w.Drain(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(store.Owed(consolidate.Embed)); n != 300 {
			t.Errorf("%d of 300 wait for Ollama", n)
		}
		if reads > 400 {
			t.Errorf("%d memories read for 300", reads)
		}
	})
}

type countingStore struct {
	*consolidatetest.MemStore
	reads *int
}

func (s *countingStore) Memories(project string, ids []graph.ID) ([]consolidate.Memory, error) {
	*s.reads += len(ids)
	return s.MemStore.Memories(project, ids)
}

// One memory among many that the model cannot embed: the others get their vectors, it is tried again
// and then parked with the reason.
func TestPoison(t *testing.T) {
	fake := ollamatest.NewFake(nomic)
	poison := func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
		calls := fake.Calls("/api/embed")
		if strings.Contains(fmt.Sprint(calls[len(calls)-1].Body["input"]), "poison") {
			ollamatest.Status(500, "failed to encode response: json: unsupported value: NaN")(w, r, next)
			return
		}
		next(w, r)
	}
	fake.Always("/api/embed", poison)
	texts := numbered(20)
	texts[12] = "poison"
	run(t, fake, setup{before: func(b *bench) {
		for i, text := range texts {
			b.Add(mem(i+1, text), consolidate.Embed)
		}
	}}, func(b *bench) {
		if n := b.has(nomic, document, texts...); n != 19 {
			t.Errorf("%d of 19 have vectors", n)
		}
		if j := b.Owed(consolidate.Embed); len(j) != 1 || j[0].Memory != id(13) || j[0].Tries != 1 || !strings.Contains(j[0].Reason, "NaN") {
			t.Fatalf("owed: %+v", j)
		}
		b.pass(time.Hour)
		if j := b.Parked(consolidate.Embed); len(j) != 1 || j[0].Tries != 5 || !strings.Contains(j[0].Reason, "NaN") || strings.Contains(j[0].Reason, "poison") {
			t.Errorf("parked: %+v", j)
		}
		if list, _ := b.Spaces(); len(list) != 1 || !list[0].Full {
			t.Errorf("one that cannot be embedded keeps the space from being full: %+v", list)
		}
		if !strings.Contains(b.worker.Status().LastError, "NaN") {
			t.Errorf("last error: %q", b.worker.Status().LastError)
		}
	})
}

// Every fault of the server in the middle of a backfill: nothing is lost, nothing is stored twice or
// wrong, and it is all there in the end.
func TestFaultsDuringBackfill(t *testing.T) {
	texts := numbered(30)
	for name, step := range map[string]ollamatest.Step{
		"hangs":           ollamatest.Hang,
		"404":             ollamatest.Status(404, "model 'x' not found"),
		"503":             ollamatest.Status(503, "server busy"),
		"NaN once":        ollamatest.Status(500, "failed to encode response: json: unsupported value: NaN"),
		"500 empty":       ollamatest.Status(500, ""),
		"runner died":     ollamatest.Status(400, "do embedding request: EOF"),
		"wrong count":     ollamatest.Answer(map[string]any{"embeddings": [][]float32{{1, 0}}}),
		"wrong dimension": ollamatest.Answer(map[string]any{"embeddings": [][]float32{{1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}}}),
		"prose":           ollamatest.Text("I am sorry, I cannot do that."),
		"cut":             ollamatest.Cut(`{"embeddings":[[0.1,0.2],[`),
		"12 s":            ollamatest.After(12 * time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			fake := ollamatest.NewFake(nomic)
			run(t, fake, setup{opts: consolidate.Options{Batch: 8}, before: func(b *bench) {
				for i, text := range texts {
					b.Add(mem(i+1, text), consolidate.Embed)
				}
				fake.Then("/api/embed", ollamatest.Pass, ollamatest.Pass, step)
			}}, func(b *bench) {
				b.pass(time.Hour)
				if n := b.has(nomic, document, texts...); n != 30 {
					t.Errorf("%d of 30 have vectors", n)
				}
				if n := len(b.Owed(consolidate.Embed)) + len(b.Parked(consolidate.Embed)); n != 0 {
					t.Errorf("%d are owed or parked", n)
				}
			})
		})
	}
}

// A text of many pieces has as many vectors, and its end is found by one of them.
func TestLongText(t *testing.T) {
	long := strings.Repeat("The weather was fine and nothing happened. ", 700) + "The vault code is kestrel."
	run(t, ollamatest.NewFake(nomic), setup{}, func(b *bench) {
		b.remember(1, long)
		v := b.Vectors(b.space(nomic.Name), id(1))
		if len(v) < 10 {
			t.Fatalf("%d vectors", len(v))
		}
		for i, x := range v {
			if x.Chunk != i || x.TextHash != v[0].TextHash {
				t.Errorf("piece %d: chunk %d, hash %d", i, x.Chunk, x.TextHash)
			}
		}
	})
}

// A forgotten memory gets no vector any more, also when it is forgotten while its vector is made.
func TestForgottenUnderway(t *testing.T) {
	fake := ollamatest.NewFake(nomic)
	run(t, fake, setup{}, func(b *bench) {
		fake.Then("/api/embed", func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
			b.Forget(id(1))
			next(w, r)
		})
		b.remember(1, "soon forgotten")
		if v := b.Vectors(b.space(nomic.Name), id(1)); len(v) != 0 {
			t.Error("it has a vector")
		}
	})
}

// While a tool call is being answered no request starts, and one that runs is given up and done again.
func TestToolCallsGoFirst(t *testing.T) {
	fake := ollamatest.NewFake(nomic)
	texts := numbered(20)
	run(t, fake, setup{}, func(b *bench) {
		fake.Always("/api/embed", ollamatest.After(time.Second))
		for i, text := range texts {
			b.Add(mem(i+1, text), consolidate.Embed)
		}
		b.worker.Wake()
		b.pass(500 * time.Millisecond) // a batch is on its way
		running := len(fake.Calls("/api/embed"))
		end := b.worker.Begin()
		b.pass(time.Second)
		if n := len(fake.Calls("/api/embed")); n != running {
			t.Errorf("%d requests while a tool call is being answered", n-running)
		}
		if n := b.has(nomic, document, texts...); n != 0 {
			t.Errorf("%d vectors of a batch that was given up", n)
		}
		end()
		end()
		b.pass(30 * time.Second)
		if n := b.has(nomic, document, texts...); n != 20 {
			t.Errorf("%d of 20 in the end", n)
		}
		if _, state, _ := b.provider.Current(); state != embed.Ready {
			t.Errorf("giving way made the provider %s", state)
		}
		if j := b.Parked(consolidate.Embed); len(j) != 0 {
			t.Errorf("parked: %v", j)
		}
	})
}

// Tool calls without a pause do not stop the vectors for good.
func TestEndlessToolCalls(t *testing.T) {
	texts := numbered(20)
	run(t, ollamatest.NewFake(nomic), setup{}, func(b *bench) {
		end := b.worker.Begin()
		defer end()
		for i, text := range texts {
			b.remember(i+1, text)
		}
		b.pass(time.Minute)
		if n := b.has(nomic, document, texts...); n != 20 {
			t.Errorf("%d of 20 after a minute", n)
		}
	})
}

func TestDrain(t *testing.T) {
	fake := ollamatest.NewFake(nomic)
	run(t, fake, setup{}, func(b *bench) {
		for i, text := range numbered(100) {
			b.Add(mem(i+1, text), consolidate.Embed)
		}
		if err := b.worker.Drain(b.t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(b.Owed(consolidate.Embed)); n != 0 {
			t.Errorf("%d owed after draining", n)
		}
		fake.Always("/api/embed", ollamatest.Hang)
		b.Add(mem(101, "more"), consolidate.Embed)
		ctx, cancel := context.WithTimeout(b.t.Context(), time.Second)
		defer cancel()
		if err := b.worker.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a drain that is given up: %v", err)
		}
	})
}

// A store that fails ends the worker with its error: it does not spin.
func TestBrokenStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("disk full")
		store := &consolidatetest.MemStore{Before: func(consolidate.Outcome) error { return broken }}
		store.Add(mem(1, "x"), consolidate.Embed)
		w := consolidate.NewWorker(store, embed.Fixed(builtin{}), nil, consolidate.Options{})
		if err := w.Run(t.Context()); !errors.Is(err, broken) {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestNoEmbedder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &consolidatetest.MemStore{}
		store.Add(mem(1, "x"), consolidate.Embed)
		w := consolidate.NewWorker(store, embed.None(), nil, consolidate.Options{})
		if err := w.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r := w.Status().Waiting[consolidate.Embed]; !strings.Contains(r, "switched off") {
			t.Errorf("waiting for %q", r)
		}
		if len(store.Owed(consolidate.Embed)) != 1 {
			t.Error("the job is gone")
		}
	})
}
