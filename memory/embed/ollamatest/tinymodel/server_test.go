package tinymodel_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/magma-mcp/magma-mcp/memory/embed/ollamatest"
	"github.com/magma-mcp/magma-mcp/memory/embed/ollamatest/tinymodel"
)

func call[T any](t *testing.T, url string, body any) T {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(url, "application/json", bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", resp.Status, text)
	}
	var out T
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// A real server loads the model, and texts that share words come out near each other.
func TestEmbedderRanks(t *testing.T) {
	s := ollamatest.Real(t)
	s.Embedder(t, "rank-test", tinymodel.Embedder{})
	input := []string{
		"what kind of tea does the user like?", // the query
		"The user likes green tea.",
		"The user's sister lives in a small house near the sea",
		"Meeting with the team on Monday at the office",
		"the car needs a new window",
	}
	r := call[struct{ Embeddings [][]float32 }](t, s.URL+"/api/embed", map[string]any{"model": "rank-test", "input": input})
	var scores []float32
	for _, v := range r.Embeddings {
		var dot float32
		for i, x := range v {
			dot += x * r.Embeddings[0][i]
		}
		scores = append(scores, dot)
	}
	for i, score := range scores[2:] {
		if score > scores[1]-0.2 {
			t.Errorf("%q is as near to the query as %q: %v", input[i+2], input[1], scores)
		}
	}
}

// A set reply comes out word for word under a schema, and a tidy model's own answers are valid JSON.
func TestChatReplies(t *testing.T) {
	s := ollamatest.Real(t)
	const reply = `{"facts":[{"text":"The user likes green tea, not black tea","weight":7},{"text":"The user likes green tea","weight":2}]}`
	schema := json.RawMessage(`{"type":"object","properties":{"facts":{"type":"array","items":{"type":"object",
		"properties":{"text":{"type":"string"},"weight":{"type":"integer"}},"required":["text","weight"]}}},"required":["facts"]}`)
	type answer struct {
		Message    struct{ Content string }
		DoneReason string `json:"done_reason"`
	}
	for _, arch := range []string{"llama", "qwen3"} {
		for name, c := range map[string]tinymodel.Chat{
			"reply": {Arch: arch, Reply: reply},
			"tidy":  {Arch: arch},
		} {
			model := "reply-test-" + arch + "-" + name
			s.Chat(t, model, c)
			for _, temperature := range []float64{0, 0.8} {
				for i := range 3 {
					a := call[answer](t, s.URL+"/api/chat", map[string]any{
						"model": model, "stream": false, "format": schema,
						"messages": []map[string]string{{"role": "user", "content": fmt.Sprint("merge ", i)}},
						"options":  map[string]any{"temperature": temperature, "num_predict": 1000, "seed": i},
					})
					switch {
					case a.DoneReason != "stop" || !json.Valid([]byte(a.Message.Content)):
						t.Errorf("%s at temperature %v: %q (%s)", model, temperature, a.Message.Content, a.DoneReason)
					case name == "reply" && a.Message.Content != reply:
						t.Errorf("%s at temperature %v: %q", model, temperature, a.Message.Content)
					}
				}
			}
		}
	}
}
