// Package ollamatest answers: how do we test against Ollama? With a real server, built once from its Go
// module and given tiny models of made-up weights (Real, run-real-ollama.sh, tinymodel), and with a
// Fake, for what a real one cannot be made to do.
package ollamatest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
)

// Model is a model of a Fake.
type Model struct {
	Name    string
	Digest  string
	Dim     int // over 0: it makes vectors
	Context int // tokens, a word each; over it a text is refused. 0: no limit
	NumCtx  int // the num_ctx among the model's parameters; 0: none
	Remote  bool
	Thinks  bool
	// Reply makes the model chat: what it answers to a prompt.
	Reply func(system, user string) string
	// Load is how long the first call takes. A client that leaves earlier aborts it.
	Load time.Duration
}

// Call is one request that a Fake got.
type Call struct {
	Path string
	Body map[string]any
}

// Step is what a Fake does with one request instead of answering; next answers.
type Step func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc)

// Fake is a server that answers as Ollama does, or as its steps say. It is safe for concurrent use.
type Fake struct {
	mu     sync.Mutex
	models []Model
	loaded map[string]bool
	steps  map[string][]Step
	always map[string]Step
	calls  []Call
}

// NewFake makes a Fake with these models.
func NewFake(models ...Model) *Fake {
	return &Fake{models: models, loaded: map[string]bool{}, steps: map[string][]Step{}, always: map[string]Step{}}
}

// Start serves on a loopback port until the test ends and returns the URL.
func (f *Fake) Start(t testing.TB) string {
	s := httptest.NewServer(f)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// SetModels replaces the installed models.
func (f *Fake) SetModels(models ...Model) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.models = models
}

// Then adds steps for the coming requests of a path ("/api/embed"), one each.
func (f *Fake) Then(path string, steps ...Step) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.steps[path] = append(f.steps[path], steps...)
}

// Always sets the step for every request of a path that has no step of its own; nil: answer.
func (f *Fake) Always(path string, step Step) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.always[path] = step
}

// Calls are the requests so far, of one path, or of all with "".
func (f *Fake) Calls(path string) []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []Call
	for _, c := range f.calls {
		if path == "" || c.Path == path {
			out = append(out, c)
		}
	}
	return out
}

func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var call = Call{Path: r.URL.Path}
	_ = json.Unmarshal(body, &call.Body) // a GET has none
	f.mu.Lock()
	f.calls = append(f.calls, call)
	step := f.always[r.URL.Path]
	if queue := f.steps[r.URL.Path]; len(queue) > 0 {
		step, f.steps[r.URL.Path] = queue[0], queue[1:]
	}
	f.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	next := func(w http.ResponseWriter, r *http.Request) { f.answer(w, r, call) }
	if step != nil {
		step(w, r, next)
		return
	}
	next(w, r)
}

func (f *Fake) answer(w http.ResponseWriter, r *http.Request, call Call) {
	switch call.Path {
	case "/api/tags":
		f.mu.Lock()
		list := []map[string]any{}
		for _, m := range f.models {
			entry := map[string]any{"name": m.Name, "model": m.Name, "digest": m.Digest, "size": 1000}
			if m.Remote {
				entry["remote_host"] = "https://ollama.com:443"
			}
			list = append(list, entry)
		}
		f.mu.Unlock()
		send(w, map[string]any{"models": list})
		return
	case "/api/show", "/api/embed", "/api/chat":
	default:
		http.NotFound(w, r)
		return
	}
	name, _ := call.Body["model"].(string)
	m, ok := f.model(name)
	if !ok {
		sendError(w, http.StatusNotFound, fmt.Sprintf("model '%s' not found", name))
		return
	}
	switch call.Path {
	case "/api/show":
		info := map[string]any{"general.architecture": "bert", "bert.context_length": m.Context, "bert.embedding_length": m.Dim}
		caps := []string{}
		if m.Dim > 0 {
			caps = append(caps, "embedding")
		}
		if m.Reply != nil {
			caps = append(caps, "completion")
		}
		if m.Thinks {
			caps = append(caps, "thinking")
		}
		answer := map[string]any{"model_info": info, "capabilities": caps}
		if m.NumCtx > 0 {
			answer["parameters"] = fmt.Sprintf("num_ctx                        %d\nstop  \"x\"", m.NumCtx)
		}
		send(w, answer)
	case "/api/embed":
		if !f.load(r, m) {
			return
		}
		var vectors [][]float32
		input, _ := call.Body["input"].([]any)
		for _, x := range input {
			text, _ := x.(string)
			if m.Context > 0 && len(strings.Fields(text)) > m.Context && call.Body["truncate"] == false {
				sendError(w, http.StatusBadRequest, "the input length exceeds the context length")
				return
			}
			vectors = append(vectors, Vector(m.Digest, text, m.Dim))
		}
		send(w, map[string]any{"model": name, "embeddings": vectors})
	case "/api/chat":
		if m.Reply == nil {
			sendError(w, http.StatusBadRequest, fmt.Sprintf("%q does not support chat", name))
			return
		}
		if !f.load(r, m) {
			return
		}
		content := map[string]string{}
		messages, _ := call.Body["messages"].([]any)
		for _, x := range messages {
			message, _ := x.(map[string]any)
			role, _ := message["role"].(string)
			content[role], _ = message["content"].(string)
		}
		send(w, ChatAnswer(m.Reply(content["system"], content["user"])))
	}
}

// ChatAnswer is a whole answer of a chat.
func ChatAnswer(text string) map[string]any {
	return map[string]any{
		"model": "fake", "done": true, "done_reason": "stop",
		"message": map[string]string{"role": "assistant", "content": text},
	}
}

func (f *Fake) model(name string) (Model, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.models {
		if m.Name == name || m.Name == name+":latest" {
			return m, true
		}
	}
	return Model{}, false
}

func (f *Fake) load(r *http.Request, m Model) bool {
	f.mu.Lock()
	wait := m.Load
	if f.loaded[m.Digest] {
		wait = 0
	}
	f.mu.Unlock()
	if wait > 0 {
		select {
		case <-r.Context().Done():
			return false
		case <-time.After(wait):
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.loaded[m.Digest] = true
	return true
}

// Unload makes the next call load its model again.
func (f *Fake) Unload() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.loaded)
}

func send(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may have left
}

func sendError(w http.ResponseWriter, status int, text string) {
	w.WriteHeader(status)
	send(w, map[string]string{"error": text})
}

// Vector is the vector of a text: the sum of its words' vectors, of length 1. Texts that share words are
// near each other. Models of different digests give unrelated vectors.
func Vector(digest, text string, dim int) []float32 {
	sum := make([]float64, dim)
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		h := fnv.New64a()
		_, _ = io.WriteString(h, digest+"\x00"+word) // a hash takes everything
		r := rand.New(rand.NewPCG(h.Sum64(), 1))
		for i := range sum {
			sum[i] += r.NormFloat64()
		}
	}
	var length float64
	for _, x := range sum {
		length += x * x
	}
	out := make([]float32, dim)
	if length == 0 {
		length, sum[0] = 1, 1
	}
	for i, x := range sum {
		out[i] = float32(x / math.Sqrt(length))
	}
	return out
}

// Hang never answers: until the client leaves.
func Hang(_ http.ResponseWriter, r *http.Request, _ http.HandlerFunc) { <-r.Context().Done() }

// After answers late.
func After(d time.Duration) Step {
	return func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
		select {
		case <-r.Context().Done():
		case <-time.After(d):
			next(w, r)
		}
	}
}

// Status answers with a status and, if it is not "", an Ollama error.
func Status(code int, message string) Step {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		w.WriteHeader(code)
		if message != "" {
			send(w, map[string]string{"error": message})
		}
	}
}

// Answer sends this value, as JSON, whatever was asked.
func Answer(v any) Step {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) { send(w, v) }
}

// Text sends this text as it is.
func Text(s string) Step {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) { _, _ = io.WriteString(w, s) }
}

// Cut sends the beginning of an answer and then closes the connection.
func Cut(beginning string) Step {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		w.Header().Set("Content-Length", "100000")
		_, _ = io.WriteString(w, beginning)
		panic(http.ErrAbortHandler)
	}
}

// Pass answers as ever; it is there to count requests with.
func Pass(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) { next(w, r) }

// Transport brings requests to the Fake without a network, so that a test can run it in a synctest
// bubble. SetError makes it a machine without a server.
type Transport struct {
	Fake *Fake
	mu   sync.Mutex
	err  error
}

// SetError makes every request fail with err; nil lets them through.
func (t *Transport) SetError(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = err
}

func (t *Transport) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	t.mu.Lock()
	err = t.err
	t.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	rec := httptest.NewRecorder()
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			panic(p)
		} else if p != nil {
			resp, err = nil, io.ErrUnexpectedEOF
		}
	}()
	t.Fake.ServeHTTP(rec, r)
	if r.Context().Err() != nil {
		return nil, r.Context().Err()
	}
	return rec.Result(), nil
}
