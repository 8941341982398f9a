package embed_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/embed"
	"github.com/magma-mcp/magma-mcp/memory/embed/ollama"
	"github.com/magma-mcp/magma-mcp/memory/embed/ollamatest"
	"github.com/magma-mcp/magma-mcp/memory/embed/ollamatest/tinymodel"
)

// real is a provider that runs against a real server, until the test ends.
func real(t *testing.T, url string, c embed.Config) embed.Provider {
	t.Helper()
	c.Ollama.Host = url
	p, err := embed.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return p
}

// until waits for the provider to say what is wanted, and returns its embedder.
func until(t *testing.T, p embed.Provider, limit time.Duration, want func(embed.Embedder, embed.State, string) bool) embed.Embedder {
	t.Helper()
	deadline := time.After(limit)
	for {
		changed := p.Changed()
		e, state, reason := p.Current()
		if want(e, state, reason) {
			return e
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("after %v the provider is still %s: %s", limit, state, reason)
		}
	}
}

func ready(_ embed.Embedder, s embed.State, _ string) bool { return s == embed.Ready }

func TestRealProvider(t *testing.T) {
	r := ollamatest.Real(t)
	r.Embedder(t, "tiny-embed", tinymodel.Embedder{Context: 512})
	r.Chat(t, "tiny-chat", tinymodel.Chat{})
	p := real(t, r.URL, embed.Config{Models: []string{"missing-model", "tiny-chat", "tiny-embed"}})
	e := until(t, p, time.Minute, ready)
	s := e.Space()
	if s.Model != "tiny-embed:latest" || s.Dimensions != 64 || len(s.Digest) != 64 {
		t.Fatalf("%+v", s)
	}
	v, err := e.Embed(t.Context(), embed.Query, []string{"what tea does the user like?"})
	if err != nil {
		t.Fatal(err)
	}
	d, err := e.Embed(t.Context(), embed.Document, []string{"The user likes green tea.", "the car needs a new window"})
	if err != nil {
		t.Fatal(err)
	}
	if near, far := dot(v[0], d[0]), dot(v[0], d[1]); near < far+0.2 {
		t.Errorf("tea is %v near, a car %v", near, far)
	}
	for _, x := range append(v, d...) {
		if l := dot(x, x); l < 0.9999 || l > 1.0001 {
			t.Errorf("a vector of length² %v", l)
		}
	}
	if _, err := e.Embed(t.Context(), embed.Document, []string{"x", ""}); !errors.Is(err, embed.ErrBlank) {
		t.Errorf("a blank text: %v", err)
	}
}

// The vectors of a batch are the vectors one by one, bit for bit, in order.
func TestRealBatches(t *testing.T) {
	r := ollamatest.Real(t)
	r.Embedder(t, "tiny-embed", tinymodel.Embedder{Context: 512})
	e := until(t, real(t, r.URL, embed.Config{Models: []string{"tiny-embed"}}), time.Minute, ready)
	var texts []string
	words := strings.Fields("tea car house sea book song street table water winter work year door dog cat bread")
	for i := range 200 {
		texts = append(texts, words[i%16]+" "+words[i/16]+" "+words[(i*7)%16])
	}
	all, err := e.Embed(t.Context(), embed.Document, texts)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(texts); i += 23 {
		one, err := e.Embed(t.Context(), embed.Document, texts[i:i+1])
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(one[0], all[i]) {
			t.Errorf("text %d: %v alone, %v in a batch", i, one[0][:4], all[i][:4])
		}
	}
}

// Texts longer than the model reads, and words of thousands of letters: nothing is cut silently, and the
// server is not busy for a minute.
func TestRealLongTexts(t *testing.T) {
	r := ollamatest.Real(t)
	r.Embedder(t, "tiny-short", tinymodel.Embedder{Context: 100})
	e := until(t, real(t, r.URL, embed.Config{Models: []string{"tiny-short"}}), time.Minute, ready)
	// This tokenizer spells unknown words in pairs of letters: far more tokens than estimated.
	odd := strings.Repeat("Zyxwvut qponmlk jihgfed ", 60)
	long := odd + "the dog likes bread"
	v, err := e.Embed(t.Context(), embed.Document, []string{long, odd + "the sea in winter", "the dog likes bread"})
	if err != nil {
		t.Fatal(err)
	}
	if slices.Equal(v[0], v[1]) {
		t.Error("the end of a long text does not count")
	}
	pieces := e.Chunks(long)
	chunks, err := e.Embed(t.Context(), embed.Document, pieces)
	if err != nil {
		t.Fatal(err)
	}
	if near := dot(chunks[len(chunks)-1], v[2]); near < dot(chunks[0], v[2])+0.1 {
		t.Errorf("the last piece is %v near to its last words, the first %v", near, dot(chunks[0], v[2]))
	}
	started := time.Now()
	giant := strings.Repeat("x", 20_000)
	if _, err := e.Embed(t.Context(), embed.Document, e.Chunks(giant)); err != nil {
		t.Errorf("a giant word: %v", err)
	}
	// Unbroken, 8,000 letters take about a minute here, cubic from there on.
	if d := time.Since(started); d > 20*time.Second {
		t.Errorf("a giant word took %v", d)
	}
}

func TestRealPoison(t *testing.T) {
	r := ollamatest.Real(t)
	r.Embedder(t, "tiny-poison", tinymodel.Embedder{NaNWord: "poison"})
	p := real(t, r.URL, embed.Config{Models: []string{"tiny-poison"}})
	e := until(t, p, time.Minute, ready)
	_, err := e.Embed(t.Context(), embed.Document, []string{"good", "this is poison"})
	if ollama.FaultOf(err) != ollama.Broken {
		t.Errorf("a text whose vector is NaN: %v", err)
	}
	if _, state, _ := p.Current(); state != embed.Ready {
		t.Errorf("one bad text makes the provider %s", state)
	}
}

// Another model under the same name, of the same dimension: found out at the first call.
func TestRealSwap(t *testing.T) {
	r := ollamatest.Real(t)
	r.Embedder(t, "tiny-swap", tinymodel.Embedder{Seed: 1})
	p := real(t, r.URL, embed.Config{Models: []string{"tiny-swap"}})
	e := until(t, p, time.Minute, ready)
	before, err := e.Embed(t.Context(), embed.Document, []string{"green tea"})
	if err != nil {
		t.Fatal(err)
	}
	r.Embedder(t, "tiny-swap", tinymodel.Embedder{Seed: 2})
	if v, err := e.Embed(t.Context(), embed.Document, []string{"green tea"}); !errors.Is(err, embed.ErrSwapped) || v != nil {
		t.Fatalf("after the swap: %v", err)
	}
	after := until(t, p, time.Minute, func(n embed.Embedder, s embed.State, _ string) bool {
		return s == embed.Ready && n.Space() != e.Space()
	})
	if after.Space().Fingerprint() == e.Space().Fingerprint() || after.Space().Dimensions != e.Space().Dimensions {
		t.Errorf("%+v and %+v", e.Space(), after.Space())
	}
	v, err := after.Embed(t.Context(), embed.Document, []string{"green tea"})
	if err != nil || dot(v[0], before[0]) > 0.7 {
		t.Errorf("the new model's vector is %v near the old one's: %v", dot(v[0], before[0]), err)
	}
}

// The server dies and comes back on the same port: away, then ready, without a restart.
func TestRealServerComesBack(t *testing.T) {
	models := t.TempDir()
	first := ollamatest.Private(t, "REAL_OLLAMA_MODELS="+models)
	first.Embedder(t, "tiny-embed", tinymodel.Embedder{})
	p := real(t, first.URL, embed.Config{Models: []string{"tiny-embed"}, RetryMin: 50 * time.Millisecond, RetryMax: 200 * time.Millisecond, Recheck: time.Minute})
	e := until(t, p, time.Minute, ready)
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	first.Stop()
	if _, err := e.Embed(t.Context(), embed.Query, []string{"x"}); ollama.FaultOf(err) != ollama.Away {
		t.Errorf("a call to a dead server: %v", err)
	}
	if n, state, reason := p.Current(); n != nil || state == embed.Ready || reason == "" {
		t.Errorf("after it, current is %v, %s, %q", n, state, reason)
	}
	port := first.URL[strings.LastIndexByte(first.URL, ':')+1:]
	second := ollamatest.Private(t, "REAL_OLLAMA_MODELS="+models, "REAL_OLLAMA_PORT="+port)
	if second.URL != first.URL {
		t.Skipf("the port was taken: %s", second.URL)
	}
	again := until(t, p, time.Minute, ready)
	if again.Space().Fingerprint() != e.Space().Fingerprint() {
		t.Error("the same model is another space")
	}
}

// A model that takes long to load: questions are answered without it in time, and its load is not
// aborted again and again by them.
func TestRealColdModel(t *testing.T) {
	r := ollamatest.Private(t)
	r.Embedder(t, "tiny-big", tinymodel.Embedder{FF: 80_000})
	p := real(t, r.URL, embed.Config{Models: []string{"tiny-big"}})
	deadline := time.Now().Add(time.Minute)
	for {
		started := time.Now()
		e, state, _ := p.Current()
		if state == embed.Ready {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			_, err := e.Embed(ctx, embed.Query, []string{"x"})
			cancel()
			if err != nil {
				t.Errorf("once it is loaded: %v", err)
			}
			return
		}
		if d := time.Since(started); d > 100*time.Millisecond {
			t.Errorf("looking at a loading provider took %v", d)
		}
		if time.Now().After(deadline) {
			t.Fatalf("still %s", state)
		}
		select {
		case <-p.Changed():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// The same with any real model: MAGMA_TEST_MODEL=nomic-embed-text go test ./memory/embed
func TestRealModelOfYours(t *testing.T) {
	url, model, _ := ollamatest.Models(t)
	if model == "" {
		t.Skip("no embedding model is named")
	}
	e := until(t, real(t, url, embed.Config{Models: []string{model}}), 5*time.Minute, ready)
	t.Logf("%+v", e.Space())
	v, err := e.Embed(t.Context(), embed.Query, []string{"Why could nobody log in?"})
	if err != nil {
		t.Fatal(err)
	}
	d, err := e.Embed(t.Context(), embed.Document, []string{
		"The authentication service was down because its certificate had expired.",
		"We had pizza with the neighbours on Sunday.",
	})
	if err != nil {
		t.Fatal(err)
	}
	if near, far := dot(v[0], d[0]), dot(v[0], d[1]); near <= far {
		t.Errorf("the reason is %v near, pizza %v", near, far)
	}
	long := strings.Repeat("The weather was fine and nothing happened that day. ", 600) + "The vault code is kestrel."
	pieces := e.Chunks(long)
	vectors, err := e.Embed(t.Context(), embed.Document, pieces)
	if err != nil {
		t.Fatal(err)
	}
	q, err := e.Embed(t.Context(), embed.Query, []string{"What is the vault code?"})
	if err != nil {
		t.Fatal(err)
	}
	best := 0
	for i := range vectors {
		if dot(q[0], vectors[i]) > dot(q[0], vectors[best]) {
			best = i
		}
	}
	if best != len(vectors)-1 {
		t.Errorf("piece %d of %d is nearest to the question about the last one", best, len(vectors))
	}
}
