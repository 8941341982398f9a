package ollama_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/embed/ollama"
	"github.com/magma-mcp/magma-mcp/memory/embed/ollamatest"
	"github.com/magma-mcp/magma-mcp/memory/embed/ollamatest/tinymodel"
)

// How the real server misbehaves, row by row, and what a Server makes of it.

func realServer(t *testing.T, url string, call time.Duration) *ollama.Server {
	t.Helper()
	s, err := ollama.New(ollama.Config{Host: url, Call: call})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func wantFault(t *testing.T, what string, err error, want ollama.Fault) {
	t.Helper()
	if got := ollama.FaultOf(err); got != want || (want == "") != (err == nil) {
		t.Errorf("%s: fault %q, want %q: %v", what, got, want, err)
	}
}

const schema = `{"type":"object","properties":{"facts":{"type":"array","items":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}},"required":["facts"]}`

func TestRealModels(t *testing.T) {
	r := ollamatest.Real(t)
	r.Embedder(t, "row-embed", tinymodel.Embedder{Dim: 96, Context: 256})
	r.Chat(t, "row-chat", tinymodel.Chat{})
	s := realServer(t, r.URL, time.Minute)
	installed, err := s.Installed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, m := range installed {
		if ollama.SameName(m.Name, "row-embed") || ollama.SameName(m.Name, "row-chat") {
			found++
			if len(m.Digest) != 64 || m.Cloud || m.Size == 0 {
				t.Errorf("%+v", m)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d of 2 models among %v", found, installed)
	}
	d, err := s.Show(t.Context(), "row-embed")
	if err != nil || !d.Known || !d.Embeds || d.Chats || d.Context != 256 || d.Embedded != 96 {
		t.Errorf("row-embed: %+v, %v", d, err)
	}
	d, err = s.Show(t.Context(), "row-chat")
	if err != nil || !d.Chats || d.Embeds || d.Thinks {
		t.Errorf("row-chat: %+v, %v", d, err)
	}
	_, err = s.Show(t.Context(), "no-such-model")
	wantFault(t, "show a missing model", err, ollama.Missing)
	_, err = s.Embed(t.Context(), ollama.EmbedCall{Model: "no-such-model", Texts: []string{"x"}})
	wantFault(t, "embed with a missing model", err, ollama.Missing)
	_, err = s.Chat(t.Context(), ollama.ChatCall{Model: "no-such-model", User: "x", NumCtx: 512, Tokens: 5})
	wantFault(t, "chat with a missing model", err, ollama.Missing)
	_, err = s.Chat(t.Context(), ollama.ChatCall{Model: "row-embed", User: "x", NumCtx: 256, Tokens: 5})
	wantFault(t, "chat with an embedding model", err, ollama.Refused)
}

func TestRealEmbedding(t *testing.T) {
	r := ollamatest.Real(t)
	r.Embedder(t, "row-short", tinymodel.Embedder{Context: 64, NaNWord: "poison"})
	s := realServer(t, r.URL, time.Minute)
	embed := func(texts ...string) ([][]float32, error) {
		return s.Embed(t.Context(), ollama.EmbedCall{Model: "row-short", Texts: texts})
	}
	v, err := embed("green tea", "a car")
	if err != nil || len(v) != 2 || len(v[0]) != 64 {
		t.Fatalf("%d vectors, %v", len(v), err)
	}
	_, err = embed(strings.Repeat("tea and ", 100))
	wantFault(t, "too long", err, ollama.TooLong)
	_, err = embed("one", strings.Repeat("tea and ", 100), "two")
	wantFault(t, "one of a batch too long", err, ollama.TooLong)
	_, err = embed("good", "this is poison", "good too")
	wantFault(t, "NaN in one of a batch", err, ollama.Broken)
	if _, err = embed("good"); err != nil {
		t.Errorf("after the NaN: %v", err)
	}
	if v, err = embed(); err != nil || len(v) != 0 {
		t.Errorf("no texts: %d vectors, %v", len(v), err)
	}
}

func TestRealChat(t *testing.T) {
	r := ollamatest.Real(t)
	s := realServer(t, r.URL, time.Minute)
	ask := func(model string, c ollama.ChatCall) (string, error) {
		c.Model = model
		if c.User == "" {
			c.User = "what is known?"
		}
		if c.NumCtx == 0 {
			c.NumCtx = 2048
		}
		if c.Tokens == 0 {
			c.Tokens = 500
		}
		return s.Chat(t.Context(), c)
	}
	const reply = `{"facts":[{"text":"The user likes green tea"}]}`
	r.Chat(t, "row-reply", tinymodel.Chat{Reply: reply})
	if got, err := ask("row-reply", ollama.ChatCall{Schema: json.RawMessage(schema)}); err != nil || got != reply {
		t.Errorf("a set reply under a schema: %q, %v", got, err)
	}
	r.Chat(t, "row-tidy", tinymodel.Chat{})
	got, err := ask("row-tidy", ollama.ChatCall{Schema: json.RawMessage(schema)})
	if err != nil || !json.Valid([]byte(got)) {
		t.Errorf("under a schema: %q, %v", got, err)
	}
	again, err := ask("row-tidy", ollama.ChatCall{Schema: json.RawMessage(schema)})
	if err != nil || again != got {
		t.Errorf("the same question has two answers: %q, %q, %v", got, again, err)
	}
	_, err = ask("row-reply", ollama.ChatCall{Tokens: 3, Schema: json.RawMessage(schema)})
	wantFault(t, "the limit is reached", err, ollama.Cut)
	_, err = ask("row-tidy", ollama.ChatCall{User: strings.Repeat("we talked about the garden. ", 600), NumCtx: 512})
	wantFault(t, "a prompt that does not fit", err, ollama.TooLong)
	r.Chat(t, "row-loop", tinymodel.Chat{Style: tinymodel.Loop})
	_, err = ask("row-loop", ollama.ChatCall{})
	wantFault(t, "the same token for ever", err, ollama.Cut)
	r.Chat(t, "row-noise", tinymodel.Chat{Style: tinymodel.Random})
	if _, err = ask("row-noise", ollama.ChatCall{Tokens: 60}); err != nil {
		wantFault(t, "noise", err, ollama.Cut)
	}
	_, err = ask("row-tidy", ollama.ChatCall{Schema: json.RawMessage(`{"type":"no such type"}`)})
	wantFault(t, "a bad schema", err, ollama.Broken)

	// A model that can think is told not to, and answers at once.
	r.Chat(t, "row-think", tinymodel.Chat{Arch: "qwen3", Reply: reply}, tinymodel.Settings{Template: tinymodel.ThinkingTemplate})
	d, err := s.Show(t.Context(), "row-think")
	if err != nil || !d.Thinks {
		t.Fatalf("row-think: %+v, %v", d, err)
	}
	if got, err := ask("row-think", ollama.ChatCall{Thinks: true, Schema: json.RawMessage(schema)}); err != nil || got != reply {
		t.Errorf("a thinking model: %q, %v", got, err)
	}
	// With a parser of the server's own, the schema is ignored: the caller must check.
	r.Chat(t, "row-parser", tinymodel.Chat{Arch: "qwen3", Reply: "I would rather not say."}, tinymodel.Settings{Template: tinymodel.ThinkingTemplate, Parser: "qwen3-thinking"})
	if got, err := ask("row-parser", ollama.ChatCall{Thinks: true, Schema: json.RawMessage(schema)}); err == nil && json.Valid([]byte(got)) {
		t.Errorf("a thinking parser held its model to the schema (%q): the caller's check may be less strict", got)
	}
}

// A deadline in the middle of an answer is an error, never half an answer.
func TestRealDeadlines(t *testing.T) {
	r := ollamatest.Real(t)
	r.Chat(t, "row-endless", tinymodel.Chat{Style: tinymodel.Random, Layers: 8})
	s := realServer(t, r.URL, time.Minute)
	call := ollama.ChatCall{Model: "row-endless", User: "talk", NumCtx: 8192, Tokens: 8000}
	if _, err := s.Chat(t.Context(), ollama.ChatCall{Model: "row-endless", User: "load", NumCtx: 8192, Tokens: 1}); ollama.FaultOf(err) != ollama.Cut && err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	text, err := s.Chat(ctx, call)
	if err == nil || text != "" {
		t.Errorf("an answer of %d bytes came with %v", len(text), err)
	} else if f := ollama.FaultOf(err); f != ollama.Slow && f != ollama.Cut {
		t.Errorf("a deadline: fault %q: %v", f, err)
	}
	ctx2, cancel2 := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel2)
	if _, err = s.Chat(ctx2, call); err == nil || ollama.FaultOf(err) != "" && ollama.FaultOf(err) != ollama.Cut || !errors.Is(err, context.Canceled) && ollama.FaultOf(err) == "" {
		t.Errorf("cancelled: %v", err)
	}
}

// The process that holds a model dies: a passing fault, and the next call works.
func TestRealRunnerDies(t *testing.T) {
	r := ollamatest.Private(t)
	r.Embedder(t, "row-embed", tinymodel.Embedder{})
	r.Chat(t, "row-endless", tinymodel.Chat{Style: tinymodel.Random, Layers: 8})
	s := realServer(t, r.URL, 30*time.Second)
	embed := func() error {
		_, err := s.Embed(t.Context(), ollama.EmbedCall{Model: "row-embed", Texts: []string{"x"}})
		return err
	}
	if err := embed(); err != nil {
		t.Fatal(err)
	}
	if n, err := r.KillRunners(); err != nil || n == 0 {
		t.Fatalf("%d runners killed, %v", n, err)
	}
	err := embed()
	for tries := 0; ollama.FaultOf(err) == ollama.Busy && tries < 20; tries++ {
		time.Sleep(100 * time.Millisecond)
		err = embed()
	}
	if err != nil {
		t.Errorf("after a runner died: fault %q: %v", ollama.FaultOf(err), err)
	}
	// In the middle of a chat. The server is asked until the call has begun to run.
	call := ollama.ChatCall{Model: "row-endless", User: "talk", NumCtx: 8192, Tokens: 8000}
	if _, err := s.Chat(t.Context(), ollama.ChatCall{Model: "row-endless", User: "load", NumCtx: 8192, Tokens: 1}); err != nil && ollama.FaultOf(err) != ollama.Cut {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := s.Chat(t.Context(), call)
		done <- err
	}()
	time.Sleep(100 * time.Millisecond)
	if _, err := r.KillRunners(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		if f := ollama.FaultOf(err); f != ollama.Busy && f != ollama.Broken && f != ollama.Cut {
			t.Errorf("a runner died during a chat: fault %q: %v", f, err)
		}
	case <-time.After(25 * time.Second):
		t.Error("a chat hangs after its runner died")
	}
}

// The server dies during a call: an error, and away until it is back.
func TestRealServerDies(t *testing.T) {
	r := ollamatest.Private(t)
	r.Chat(t, "row-endless", tinymodel.Chat{Style: tinymodel.Random, Layers: 8})
	s := realServer(t, r.URL, 30*time.Second)
	done := make(chan error, 1)
	go func() {
		_, err := s.Chat(t.Context(), ollama.ChatCall{Model: "row-endless", User: "talk", NumCtx: 8192, Tokens: 8000})
		done <- err
	}()
	time.Sleep(300 * time.Millisecond)
	if err := r.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; ollama.FaultOf(err) != ollama.Away && ollama.FaultOf(err) != ollama.Cut {
		t.Errorf("the server died during a chat: %v", err)
	}
	_, err := s.Installed(t.Context())
	wantFault(t, "the server is dead", err, ollama.Away)
}

// A full queue and a load that takes too long are passing faults.
func TestRealBusy(t *testing.T) {
	r := ollamatest.Private(t, "OLLAMA_MAX_QUEUE=1", "OLLAMA_NUM_PARALLEL=1")
	r.Chat(t, "row-endless", tinymodel.Chat{Style: tinymodel.Random, Layers: 8})
	s := realServer(t, r.URL, 5*time.Second)
	faults := make(chan ollama.Fault, 40)
	for range 40 {
		go func() {
			_, err := s.Chat(t.Context(), ollama.ChatCall{Model: "row-endless", User: "talk", NumCtx: 1024, Tokens: 20})
			faults <- ollama.FaultOf(err)
		}()
	}
	count := map[ollama.Fault]int{}
	for range 40 {
		count[<-faults]++
	}
	if count[ollama.Busy] == 0 {
		t.Errorf("nobody was told that the queue is full: %v", count)
	}
	if n := count[ollama.Refused] + count[ollama.Broken] + count[ollama.Missing] + count[ollama.TooLong]; n > 0 {
		t.Errorf("a full queue was taken for something lasting: %v", count)
	}
}

// A client that gives up during a load aborts it. What the next one gets is a passing fault at most.
func TestRealAbortedLoad(t *testing.T) {
	r := ollamatest.Private(t)
	r.Embedder(t, "row-big", tinymodel.Embedder{FF: 100_000}) // 100 MB: a load that can be left
	s := realServer(t, r.URL, 30*time.Second)
	embed := func(limit time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		_, err := s.Embed(ctx, ollama.EmbedCall{Model: "row-big", Texts: []string{"x"}})
		return err
	}
	if err := embed(20 * time.Millisecond); err != nil {
		wantFault(t, "given up during the load", err, ollama.Slow)
	}
	err := embed(20 * time.Second)
	for tries := 0; ollama.FaultOf(err) == ollama.Busy && tries < 20; tries++ {
		time.Sleep(200 * time.Millisecond)
		err = embed(20 * time.Second)
	}
	if err != nil {
		t.Errorf("after an aborted load: fault %q: %v", ollama.FaultOf(err), err)
	}
}
