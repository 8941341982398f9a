package embed_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/embed"
	"github.com/magma-mcp/magma-mcp/memory/embed/ollama"
	"github.com/magma-mcp/magma-mcp/memory/embed/ollamatest"
)

var (
	nomic = ollamatest.Model{Name: "nomic-embed-text:latest", Digest: "d-nomic", Dim: 768, Context: 2048}
	mini  = ollamatest.Model{Name: "all-minilm:latest", Digest: "d-mini", Dim: 384, Context: 512, NumCtx: 256}
	chat  = ollamatest.Model{Name: "llama3.2:latest", Digest: "d-chat", Reply: func(string, string) string { return "{}" }}
)

// builtin stands for the embedder that is part of the program.
type builtin struct{}

func (builtin) Space() embed.Space {
	return embed.Space{Provider: "builtin", Model: "words", Dimensions: 16}
}
func (builtin) Chunks(text string) []string { return []string{text} }
func (builtin) Embed(_ context.Context, _ embed.Kind, texts []string) ([][]float32, error) {
	var out [][]float32
	for _, t := range texts {
		out = append(out, ollamatest.Vector("builtin", t, 16))
	}
	return out, nil
}

// world is a provider and its server in a bubble of its own time.
type world struct {
	*ollamatest.Fake
	t        *testing.T
	wire     *ollamatest.Transport
	provider embed.Provider
}

// inWorld runs f in a synctest bubble with a provider that runs.
func inWorld(t *testing.T, fake *ollamatest.Fake, change func(*embed.Config, *ollamatest.Transport), f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		wire := &ollamatest.Transport{Fake: fake}
		c := embed.Config{Ollama: ollama.Config{Transport: wire}}
		if change != nil {
			change(&c, wire)
		}
		p, err := embed.Open(c)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- p.Run(ctx) }()
		synctest.Wait()
		f(&world{Fake: fake, t: t, wire: wire, provider: p})
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func withBuiltin(c *embed.Config, _ *ollamatest.Transport) {
	c.Builtin = func() embed.Embedder { return builtin{} }
}

// pass lets time go by and everything settle.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (w *world) want(model string, state embed.State, reason string) {
	w.t.Helper()
	e, s, r := w.provider.Current()
	got := ""
	if e != nil {
		got = e.Space().Model
	}
	if got != model || s != state || !strings.Contains(r, reason) || (r == "") != (reason == "") {
		w.t.Fatalf("current is %q, %s, %q; want %q, %s, %q", got, s, r, model, state, reason)
	}
}

// ask embeds a question as a tool call does: within 250 ms.
func (w *world) ask() error {
	w.t.Helper()
	e, _, _ := w.provider.Current()
	if e == nil {
		return errors.New("no embedder")
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), 250*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := e.Embed(ctx, embed.Query, []string{"where is the key?"})
	if d := time.Since(start); d > 250*time.Millisecond {
		w.t.Errorf("a question took %v", d)
	}
	synctest.Wait()
	return err
}

func TestChoice(t *testing.T) {
	gemma := ollamatest.Model{Name: "embeddinggemma:300m", Digest: "d-gemma", Dim: 768}
	cloud := ollamatest.Model{Name: "embeddinggemma:cloud", Digest: "d-cloud", Dim: 768}
	remote := ollamatest.Model{Name: "mxbai-embed-large:latest", Digest: "d-remote", Dim: 1024, Remote: true}
	for name, c := range map[string]struct {
		models []ollamatest.Model
		named  []string
		stay   embed.Space
		want   string // "": none
		reason string
	}{
		"the only one":                    {models: []ollamatest.Model{chat, nomic}, want: nomic.Name},
		"the better one":                  {models: []ollamatest.Model{mini, nomic, gemma}, want: gemma.Name},
		"none":                            {models: []ollamatest.Model{chat}, reason: "ollama pull nomic-embed-text"},
		"nothing installed":               {reason: "ollama pull"},
		"named":                           {models: []ollamatest.Model{mini, nomic}, named: []string{"all-minilm"}, want: mini.Name},
		"named, second choice":            {models: []ollamatest.Model{mini}, named: []string{"bge-m3", "all-minilm"}, want: mini.Name},
		"named, missing":                  {models: []ollamatest.Model{nomic}, named: []string{"bge-m3"}, reason: "ollama pull bge-m3"},
		"named, a chat model":             {models: []ollamatest.Model{chat}, named: []string{"llama3.2"}, reason: "no embedding model"},
		"cloud models are passed over":    {models: []ollamatest.Model{cloud, remote, mini}, want: mini.Name},
		"the store's is kept":             {models: []ollamatest.Model{mini, gemma}, stay: embed.Space{Provider: "ollama", Model: mini.Name, Digest: mini.Digest}, want: mini.Name},
		"the store's, under another name": {models: []ollamatest.Model{mini, gemma}, stay: embed.Space{Provider: "ollama", Model: "gone", Digest: mini.Digest}, want: mini.Name},
		"naming one moves the store":      {models: []ollamatest.Model{mini, gemma}, named: []string{"embeddinggemma"}, stay: embed.Space{Provider: "ollama", Model: mini.Name, Digest: mini.Digest}, want: gemma.Name},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, ollamatest.NewFake(c.models...), func(k *embed.Config, _ *ollamatest.Transport) {
				k.Models, k.Stay = c.named, c.stay
			}, func(w *world) {
				if c.want == "" {
					w.want("", embed.Away, c.reason)
				} else {
					w.want(c.want, embed.Ready, "")
				}
			})
		})
	}
}

func TestSpaceComesFromTheModel(t *testing.T) {
	inWorld(t, ollamatest.NewFake(mini), nil, func(w *world) {
		e, _, _ := w.provider.Current()
		s := e.Space()
		if s.Dimensions != 384 || s.Digest != mini.Digest || s.Provider != "ollama" {
			t.Errorf("%+v", s)
		}
		// The parameters say that it reads 256 tokens.
		for _, c := range e.Chunks(strings.Repeat("nine words are in every one of these sentences. ", 100)) {
			if n := len(strings.Fields(c)); n > 256 {
				t.Errorf("a piece has %d words", n)
			}
		}
	})
}

// FIELD-NOTES, Start-up: a port that accepts and never answers.
func TestServerThatNeverAnswers(t *testing.T) {
	fake := ollamatest.NewFake(nomic)
	fake.Always("/api/tags", ollamatest.Hang)
	inWorld(t, fake, nil, func(w *world) {
		w.want("", embed.Loading, "looking for")
		w.pass(2 * time.Second)
		w.want("", embed.Away, "no answer in time")
		fake.Always("/api/tags", nil)
		w.pass(2 * time.Second)
		w.want(nomic.Name, embed.Ready, "")
	})
}

// FIELD-NOTES, Start-up: a model that needs 12 s for its first answer.
func TestColdModel(t *testing.T) {
	cold := nomic
	cold.Load = 12 * time.Second
	fake := ollamatest.NewFake(cold)
	inWorld(t, fake, withBuiltin, func(w *world) {
		w.want("words", embed.Loading, "loading nomic")
		if err := w.ask(); err != nil {
			t.Errorf("the built-in embedder meanwhile: %v", err)
		}
		w.pass(13 * time.Second)
		w.want(nomic.Name, embed.Ready, "")
		if err := w.ask(); err != nil {
			t.Error(err)
		}
		// Unloaded later: questions go without for a while, and do not keep aborting the load.
		fake.Unload()
		if err := w.ask(); ollama.FaultOf(err) != ollama.Slow {
			t.Errorf("a question to an unloaded model: %v", err)
		}
		w.pass(5 * time.Second)
		w.ask()
		w.want(nomic.Name, embed.Ready, "")
		w.pass(8 * time.Second)
		if err := w.ask(); err != nil {
			t.Errorf("after the load: %v", err)
		}
		w.want(nomic.Name, embed.Ready, "")
	})
}

func TestComesUpLaterAndGoesAway(t *testing.T) {
	fake := ollamatest.NewFake(nomic)
	inWorld(t, fake, func(c *embed.Config, wire *ollamatest.Transport) {
		wire.SetError(syscall.ECONNREFUSED)
	}, func(w *world) {
		w.want("", embed.Away, "no server answers")
		w.pass(10 * time.Minute)
		looks := len(fake.Calls(""))
		if looks != 0 {
			t.Errorf("%d requests arrived", looks)
		}
		changed := w.provider.Changed()
		w.wire.SetError(nil)
		w.pass(61 * time.Second) // the longest pause
		w.want(nomic.Name, embed.Ready, "")
		select {
		case <-changed:
		default:
			t.Error("nobody was told")
		}
		w.wire.SetError(syscall.ECONNREFUSED)
		if err := w.ask(); ollama.FaultOf(err) != ollama.Away {
			t.Errorf("a question to nobody: %v", err)
		}
		w.want("", embed.Away, "no server answers")
		w.wire.SetError(nil)
		w.pass(5 * time.Second)
		w.want(nomic.Name, embed.Ready, "")
		// It goes unasked: the next look finds out.
		w.wire.SetError(syscall.ECONNREFUSED)
		w.pass(31 * time.Second)
		w.want("", embed.Away, "no server answers")
	})
}

func TestBackOff(t *testing.T) {
	fake := ollamatest.NewFake()
	inWorld(t, fake, nil, func(w *world) {
		w.pass(time.Hour)
		// 1 + 2 + 4 + ... + 32 s, then once a minute: about 65 looks, not 3,600.
		if n := len(fake.Calls("/api/tags")); n < 55 || n > 75 {
			t.Errorf("%d looks in an hour", n)
		}
	})
}

// Without Ollama the built-in embedder is no fallback, but what the user has.
func TestBuiltinAlone(t *testing.T) {
	refused := func(c *embed.Config, wire *ollamatest.Transport) {
		withBuiltin(c, wire)
		wire.SetError(syscall.ECONNREFUSED)
	}
	inWorld(t, ollamatest.NewFake(nomic), refused, func(w *world) {
		w.want("words", embed.Ready, "built in")
		w.wire.SetError(nil)
		w.pass(time.Minute)
		w.want(nomic.Name, embed.Ready, "")
		w.wire.SetError(syscall.ECONNREFUSED)
		w.ask()
		w.want("words", embed.Away, "no server answers") // now it is missed
	})
	// A store that Ollama filled misses it from the start.
	inWorld(t, ollamatest.NewFake(nomic), func(c *embed.Config, wire *ollamatest.Transport) {
		refused(c, wire)
		c.Stay = embed.Space{Provider: "ollama", Model: "x", Digest: "y"}
	}, func(w *world) { w.want("words", embed.Away, "no server answers") })
}

// Three silences in a row open the circuit, and then nobody waits any more.
func TestCircuitOpens(t *testing.T) {
	fake := ollamatest.NewFake(nomic)
	inWorld(t, fake, nil, func(w *world) {
		fake.Always("/api/embed", ollamatest.Hang)
		for range 3 {
			if err := w.ask(); err == nil {
				t.Fatal("an answer")
			}
		}
		w.want("", embed.Away, "no answer in time")
		w.pass(time.Second)
		if _, s, _ := w.provider.Current(); s == embed.Ready {
			t.Error("ready, while every call hangs")
		}
		fake.Always("/api/embed", nil)
		w.pass(5 * time.Minute) // the look that hangs has its own deadline
		w.want(nomic.Name, embed.Ready, "")
	})
}

// A model replaced under the same name is another space, also at equal dimension, and no vector of the
// new one gets out under the old one's name.
func TestSwappedModel(t *testing.T) {
	fake := ollamatest.NewFake(nomic)
	inWorld(t, fake, nil, func(w *world) {
		e, _, _ := w.provider.Current()
		before := e.Space()
		swapped := nomic
		swapped.Digest = "d-other"
		fake.SetModels(swapped)
		if v, err := e.Embed(w.t.Context(), embed.Document, []string{"x"}); !errors.Is(err, embed.ErrSwapped) || v != nil {
			t.Errorf("vectors of the new model under the old name: %v", err)
		}
		w.pass(time.Second)
		w.want(nomic.Name, embed.Ready, "")
		e, _, _ = w.provider.Current()
		if e.Space().Fingerprint() == before.Fingerprint() {
			t.Error("one fingerprint for two models")
		}
		if e.Space().Dimensions != before.Dimensions {
			t.Error("the test wants equal dimensions")
		}
		// Swapped while the call runs.
		fake.Then("/api/embed", func(rw http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
			next(rw, r)
			fake.SetModels(nomic)
		})
		if _, err := e.Embed(w.t.Context(), embed.Document, []string{"x"}); !errors.Is(err, embed.ErrSwapped) {
			t.Errorf("swapped during the call: %v", err)
		}
		// Removed.
		w.pass(time.Second)
		e, _, _ = w.provider.Current()
		fake.SetModels()
		if _, err := e.Embed(w.t.Context(), embed.Document, []string{"x"}); err == nil {
			t.Error("vectors of a model that is gone")
		}
		w.pass(time.Second)
		w.want("", embed.Away, "has no embedding model")
	})
}

// A better model that is installed later does not make all vectors anew by itself.
func TestChoiceIsSticky(t *testing.T) {
	fake := ollamatest.NewFake(nomic)
	inWorld(t, fake, nil, func(w *world) {
		fake.SetModels(nomic, ollamatest.Model{Name: "embeddinggemma:latest", Digest: "g", Dim: 768})
		w.pass(time.Minute)
		w.want(nomic.Name, embed.Ready, "")
	})
}

func TestReopen(t *testing.T) {
	fake := ollamatest.NewFake(mini)
	inWorld(t, fake, withBuiltin, func(w *world) {
		p := w.provider.(embed.Reopener)
		e, _, _ := w.provider.Current()
		old := e.Space()
		if got := p.Reopen(old); got != e {
			t.Error("the current space is not the current embedder")
		}
		if got := p.Reopen(builtin{}.Space()); got == nil {
			t.Error("the standby's space cannot be opened")
		}
		gone := old
		gone.Digest = "gone"
		if p.Reopen(gone) != nil {
			t.Error("a model that is gone was opened")
		}
		changed := old
		changed.Recipe = strings.Replace(old.Recipe, "c1", "c0", 1)
		if changed == old || p.Reopen(changed) != nil {
			t.Error("another way of chunking was opened")
		}
	})
	inWorld(t, ollamatest.NewFake(mini, nomic), func(c *embed.Config, _ *ollamatest.Transport) {
		c.Models = []string{"nomic-embed-text"}
	}, func(w *world) {
		// What an earlier process filled with all-minilm.
		old := embed.Space{Provider: "ollama", Model: mini.Name, Digest: mini.Digest, Dimensions: 384,
			Recipe: `{"chunks":"c1","tokens":224}`}
		e := w.provider.(embed.Reopener).Reopen(old)
		if e == nil {
			t.Fatal("the earlier model's space cannot be asked")
		}
		if v, err := e.Embed(w.t.Context(), embed.Query, []string{"x"}); err != nil || len(v[0]) != 384 {
			t.Errorf("%v", err)
		}
		if e.Space() != old {
			t.Errorf("%+v is not %+v", e.Space(), old)
		}
		now, _, _ := w.provider.Current()
		gone := old
		gone.Digest = "gone"
		serving := embed.Serving(w.provider, []embed.Space{old, gone, now.Space()})
		if len(serving) != 2 || serving[0].Space() != old || serving[1] != now {
			t.Errorf("serving are %v", serving)
		}
	})
}

func TestEmbedding(t *testing.T) {
	fake := ollamatest.NewFake(nomic)
	inWorld(t, fake, func(c *embed.Config, _ *ollamatest.Transport) { c.BatchSize = 4 }, func(w *world) {
		e, _, _ := w.provider.Current()
		fresh := func() []ollamatest.Call {
			all := fake.Calls("/api/embed")
			return all[len(all)-1:]
		}
		if _, err := e.Embed(w.t.Context(), embed.Query, []string{"a question"}); err != nil {
			t.Fatal(err)
		}
		if in := fresh()[0].Body["input"].([]any); in[0] != "search_query: a question" {
			t.Errorf("a question is sent as %q", in)
		}
		if _, err := e.Embed(w.t.Context(), embed.Document, []string{"a text", " \n"}); !errors.Is(err, embed.ErrBlank) {
			t.Errorf("a blank text: %v", err)
		}
		texts := strings.Fields("one two three four five six seven eight nine")
		before := len(fake.Calls("/api/embed"))
		v, err := e.Embed(w.t.Context(), embed.Document, texts)
		if err != nil || len(v) != len(texts) {
			t.Fatalf("%d vectors, %v", len(v), err)
		}
		if n := len(fake.Calls("/api/embed")) - before; n != 3 {
			t.Errorf("%d requests for 9 texts in batches of 4", n)
		}
		for i, x := range v {
			want := ollamatest.Vector(nomic.Digest, "search_document: "+texts[i], nomic.Dim)
			if x[0] != want[0] || x[700] != want[700] {
				t.Errorf("vector %d is not of %q", i, texts[i])
			}
		}
		if v, err := e.Embed(w.t.Context(), embed.Document, nil); err != nil || len(v) != 0 {
			t.Errorf("no texts: %v, %v", v, err)
		}
		// Longer than the model reads: parts, averaged. Nothing longer is ever sent.
		long := strings.Repeat("words and words. ", 3000)
		if v, err := e.Embed(w.t.Context(), embed.Query, []string{long}); err != nil || len(v) != 1 {
			t.Errorf("a long question: %v", err)
		}
	})
}

// The estimate of the length was too low: the server refuses, the text is halved until it fits.
func TestTooLongAfterAll(t *testing.T) {
	fake := ollamatest.NewFake(ollamatest.Model{Name: "nomic-embed-text:latest", Digest: "d", Dim: 32, Context: 400})
	inWorld(t, fake, nil, func(w *world) {
		e, _, _ := w.provider.Current()
		// Words of one letter: the server counts one token each, the estimate too; so make it stricter.
		fake.SetModels(ollamatest.Model{Name: "nomic-embed-text:latest", Digest: "d", Dim: 32, Context: 50})
		long := strings.Repeat("a b c d e f. ", 40) + "kestrel"
		v, err := e.Embed(w.t.Context(), embed.Document, []string{"short", long, "short too"})
		if err != nil || len(v) != 3 {
			t.Fatalf("%d vectors, %v", len(v), err)
		}
		if dot(v[1], ollamatest.Vector("d", "a b c d e f", 32)) < 0.5 {
			t.Error("the halves' mean is not near its parts")
		}
	})
}

func dot(a, b []float32) (s float64) {
	for i := range a {
		s += float64(a[i]) * float64(b[i])
	}
	return s
}

// Passing faults are asked again; what is broken is the caller's to halve.
func TestFaultsOfEmbedding(t *testing.T) {
	busy := ollamatest.Status(400, "do embedding request: EOF")
	loading := ollamatest.Status(400, "unexpected server status: llm server loading model")
	vector := func(dim int, x float32) []float32 {
		v := make([]float32, dim)
		v[0] = x
		return v
	}
	for name, c := range map[string]struct {
		steps []ollamatest.Step
		want  ollama.Fault
		state embed.State
	}{
		"a runner that died":      {[]ollamatest.Step{busy}, "", embed.Ready},
		"a load that was aborted": {[]ollamatest.Step{loading, loading}, "", embed.Ready},
		"busy for long":           {[]ollamatest.Step{busy, busy, busy}, ollama.Busy, embed.Ready},
		"NaN":                     {[]ollamatest.Step{ollamatest.Status(500, "failed to encode response: json: unsupported value: NaN")}, ollama.Broken, embed.Ready},
		"too few vectors":         {[]ollamatest.Step{ollamatest.Answer(map[string]any{"embeddings": [][]float32{vector(768, 1)}})}, ollama.Broken, embed.Ready},
		"none":                    {[]ollamatest.Step{ollamatest.Answer(map[string]any{"embeddings": [][]float32{}})}, ollama.Broken, embed.Ready},
		"another dimension":       {[]ollamatest.Step{ollamatest.Answer(map[string]any{"embeddings": [][]float32{vector(1024, 1), vector(1024, 1)}})}, ollama.Broken, embed.Ready},
		"a vector without length": {[]ollamatest.Step{ollamatest.Answer(map[string]any{"embeddings": [][]float32{vector(768, 1), vector(768, 0)}})}, ollama.Broken, embed.Ready},
		"the connection is cut":   {[]ollamatest.Step{ollamatest.Cut(`{"embeddings"`)}, ollama.Away, embed.Away},
		"404":                     {[]ollamatest.Step{ollamatest.Status(404, "model 'x' not found")}, ollama.Missing, embed.Away},
		"503":                     {[]ollamatest.Step{ollamatest.Status(503, "server busy")}, "", embed.Ready},
	} {
		t.Run(name, func(t *testing.T) {
			fake := ollamatest.NewFake(nomic)
			inWorld(t, fake, nil, func(w *world) {
				e, _, _ := w.provider.Current()
				fake.Then("/api/embed", c.steps...)
				fake.Then("/api/tags", ollamatest.Pass, ollamatest.Hang) // no second look in this test
				v, err := e.Embed(w.t.Context(), embed.Document, []string{"one", "two"})
				if ollama.FaultOf(err) != c.want || (err == nil) != (c.want == "") || (v == nil) != (err != nil) {
					t.Errorf("fault %q: %v", c.want, err)
				}
				if c.state == embed.Away {
					if _, s, _ := w.provider.Current(); s == embed.Ready {
						t.Error("still ready")
					}
				} else if _, s, _ := w.provider.Current(); s != c.state {
					t.Errorf("state %s", s)
				}
			})
		})
	}
}
