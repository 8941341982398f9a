package ollama_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/embed/ollama"
	"github.com/magma-mcp/magma-mcp/memory/embed/ollamatest"
)

func TestHosts(t *testing.T) {
	for _, c := range []struct {
		host, want string // "": refused
	}{
		{"", "127.0.0.1:11434"},
		{"localhost", "localhost:11434"},
		{"127.0.0.1:5000", "127.0.0.1:5000"},
		{"http://127.0.0.1:5000/", "127.0.0.1:5000"},
		{"http://127.0.0.1:5000/ollama", "127.0.0.1:5000"},
		{":5000", "127.0.0.1:5000"},
		{"0.0.0.0", "127.0.0.1:11434"},
		{"0.0.0.0:80", "127.0.0.1:80"},
		{"[::]:80", "127.0.0.1:80"},
		{"[::1]:80", "[::1]:80"},
		{"::1", "[::1]:11434"},
		{"127.3.2.1", "127.3.2.1:11434"},
		{"https://localhost", "localhost:443"},
		{"ollama.com", ""},
		{"http://192.168.1.5:11434", ""},
		{"10.0.0.1", ""},
		{"localhost.evil.example", ""},
		{"127.0.0.1.evil.example:80", ""},
		{"http://127.0.0.1@evil.example", ""},
		{"ftp://127.0.0.1", ""},
		{"127.0.0.1:99999", ""},
		{"127.0.0.1:x", ""},
	} {
		s, err := ollama.New(ollama.Config{Host: c.host})
		switch {
		case c.want == "" && err == nil:
			t.Errorf("%q was accepted as %s", c.host, s.Host())
		case c.want != "" && err != nil:
			t.Errorf("%q: %v", c.host, err)
		case c.want != "" && s.Host() != c.want:
			t.Errorf("%q is %s, want %s", c.host, s.Host(), c.want)
		}
	}
	if _, err := ollama.New(ollama.Config{Host: "192.168.1.5", AllowRemote: true}); err != nil {
		t.Errorf("a remote host that is allowed: %v", err)
	}
	if _, err := ollama.New(ollama.Config{Host: "http://u:secret@192.168.1.5", AllowRemote: true}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a password in the address: %v", err)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	fake := ollamatest.NewFake()
	fake.Always("/api/tags", func(w http.ResponseWriter, r *http.Request, _ http.HandlerFunc) {
		http.Redirect(w, r, "http://192.0.2.1/api/tags", http.StatusTemporaryRedirect)
	})
	s := server(t, fake, time.Second)
	if _, err := s.Installed(t.Context()); ollama.FaultOf(err) != ollama.Away || !strings.Contains(err.Error(), "redirects") {
		t.Errorf("a redirect: %v", err)
	}
}

func server(t *testing.T, fake *ollamatest.Fake, limit time.Duration) *ollama.Server {
	t.Helper()
	s, err := ollama.New(ollama.Config{Host: fake.Start(t), Probe: limit, Call: limit})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// What the server answers instead of vectors, and what a client makes of it.
func TestFaults(t *testing.T) {
	nan := "failed to encode response: json: unsupported value: NaN"
	for name, c := range map[string]struct {
		step ollamatest.Step
		want ollama.Fault
	}{
		"never answers":            {ollamatest.Hang, ollama.Slow},
		"model missing":            {ollamatest.Status(404, `model "x" not found, try pulling it first`), ollama.Missing},
		"queue full":               {ollamatest.Status(503, "server busy, please try again.  maximum pending requests exceeded"), ollama.Busy},
		"proxy without a server":   {ollamatest.Status(502, ""), ollama.Busy},
		"NaN":                      {ollamatest.Status(500, nan), ollama.Broken},
		"500 with an empty body":   {ollamatest.Status(500, ""), ollama.Broken},
		"load timed out":           {ollamatest.Status(500, "timed out waiting for llama runner to start"), ollama.Busy},
		"runner died":              {ollamatest.Status(400, `do embedding request: Post "http://127.0.0.1:1/embedding": EOF`), ollama.Busy},
		"runner died, other words": {ollamatest.Status(400, "health resp: Get: connection refused"), ollama.Busy},
		"load aborted":             {ollamatest.Status(400, "unexpected server status: llm server loading model"), ollama.Busy},
		"too long":                 {ollamatest.Status(400, "the input length exceeds the context length"), ollama.TooLong},
		"no embedding model":       {ollamatest.Status(501, "this model does not support embeddings"), ollama.Refused},
		"bad request":              {ollamatest.Status(400, "invalid input type"), ollama.Refused},
		"a web page":               {ollamatest.Text("<html>hello</html>"), ollama.Broken},
		"cut":                      {ollamatest.Cut(`{"embeddings":[[0.1,`), ollama.Away},
	} {
		t.Run(name, func(t *testing.T) {
			fake := ollamatest.NewFake(ollamatest.Model{Name: "m:latest", Dim: 8})
			fake.Always("/api/embed", c.step)
			s := server(t, fake, 200*time.Millisecond)
			_, err := s.Embed(t.Context(), ollama.EmbedCall{Model: "m", Texts: []string{"a private sentence"}})
			if got := ollama.FaultOf(err); got != c.want {
				t.Errorf("fault %q, want %q: %v", got, c.want, err)
			}
			if err != nil && strings.Contains(err.Error(), "private") {
				t.Errorf("the error holds the text: %v", err)
			}
		})
	}
}

func TestNobodyThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := ollama.New(ollama.Config{Host: host})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Installed(t.Context()); ollama.FaultOf(err) != ollama.Away {
		t.Errorf("%v", err)
	}
}

func TestCancelledIsNobodysFault(t *testing.T) {
	fake := ollamatest.NewFake()
	fake.Always("/api/tags", ollamatest.Hang)
	s := server(t, fake, time.Minute)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("a call comes first")
	time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
	_, err := s.Installed(ctx)
	if ollama.FaultOf(err) != "" || !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}

func TestNotAnOllamaServer(t *testing.T) {
	fake := ollamatest.NewFake()
	fake.Always("/api/tags", ollamatest.Text(`{"hello":"world"}`))
	if _, err := server(t, fake, time.Second).Installed(t.Context()); ollama.FaultOf(err) != ollama.Broken {
		t.Errorf("%v", err)
	}
}

// What goes over the wire: numbers where the server takes strings too, and nothing cut silently.
func TestRequests(t *testing.T) {
	fake := ollamatest.NewFake(
		ollamatest.Model{Name: "m:latest", Dim: 8},
		ollamatest.Model{Name: "c:latest", Reply: func(string, string) string { return "{}" }})
	s := server(t, fake, time.Second)
	if _, err := s.Embed(t.Context(), ollama.EmbedCall{Model: "m", Texts: []string{"x"}, NumCtx: 512}); err != nil {
		t.Fatal(err)
	}
	body := fake.Calls("/api/embed")[0].Body
	if body["keep_alive"] != 1800.0 {
		t.Errorf("keep_alive is %#v, want the number 1800", body["keep_alive"])
	}
	if body["truncate"] != false {
		t.Errorf("truncate is %#v", body["truncate"])
	}
	if o, _ := body["options"].(map[string]any); o["num_ctx"] != 512.0 {
		t.Errorf("options are %#v", body["options"])
	}
	if _, err := s.Chat(t.Context(), ollama.ChatCall{Model: "c", System: "s", User: "u", Schema: json.RawMessage(`{"type":"object"}`), NumCtx: 4096, Tokens: 100, Thinks: true}); err != nil {
		t.Fatal(err)
	}
	body = fake.Calls("/api/chat")[0].Body
	for key, want := range map[string]any{"stream": false, "think": false, "truncate": false, "shift": false, "keep_alive": 1800.0} {
		if body[key] != want {
			t.Errorf("%s is %#v, want %#v", key, body[key], want)
		}
	}
	if o, _ := body["options"].(map[string]any); o["temperature"] != 0.0 || o["num_ctx"] != 4096.0 || o["num_predict"] != 100.0 {
		t.Errorf("options are %#v", o)
	}
	for keep, want := range map[time.Duration]float64{-1: -1, time.Second / 2: 1, time.Hour: 3600} {
		s, err := ollama.New(ollama.Config{KeepAlive: keep, Transport: &ollamatest.Transport{Fake: fake}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Embed(t.Context(), ollama.EmbedCall{Model: "m", Texts: []string{"x"}}); err != nil {
			t.Fatal(err)
		}
		calls := fake.Calls("/api/embed")
		if got := calls[len(calls)-1].Body["keep_alive"]; got != want {
			t.Errorf("keep_alive %v is sent as %#v, want %v", keep, got, want)
		}
	}
}

// Only a whole answer is an answer.
func TestChatAnswers(t *testing.T) {
	answer := func(done bool, reason, text string) map[string]any {
		return map[string]any{"done": done, "done_reason": reason, "message": map[string]string{"content": text}}
	}
	for name, c := range map[string]struct {
		step ollamatest.Step
		want ollama.Fault
	}{
		"whole":                 {ollamatest.Answer(answer(true, "stop", `{"a":1}`)), ""},
		"limit reached":         {ollamatest.Answer(answer(true, "length", `{"a":`)), ollama.Cut},
		"not done":              {ollamatest.Answer(answer(false, "", `{"a":1}`)), ollama.Cut},
		"model was only loaded": {ollamatest.Answer(answer(true, "load", "")), ollama.Cut},
		"empty":                 {ollamatest.Answer(answer(true, "stop", " \n")), ollama.Broken},
		"error inside a 200":    {ollamatest.Text(`{"error":"llama runner process no longer running"}`), ollama.Cut},
		"500 without a body":    {ollamatest.Status(500, ""), ollama.Broken},
		"runner died":           {ollamatest.Status(500, "model runner has unexpectedly stopped"), ollama.Busy},
		"connection cut":        {ollamatest.Cut(`{"done":true,"done_reason":"stop","message":{"content":"{\"a\":1}"}`), ollama.Away},
		"no body at all":        {ollamatest.Text(""), ollama.Broken},
		"prompt too long":       {ollamatest.Status(400, "the input length exceeds the context length"), ollama.TooLong},
		"no chat model":         {ollamatest.Status(400, `"m" does not support chat`), ollama.Refused},
		"never":                 {ollamatest.Hang, ollama.Slow},
	} {
		t.Run(name, func(t *testing.T) {
			fake := ollamatest.NewFake(ollamatest.Model{Name: "c:latest", Reply: func(string, string) string { return "{}" }})
			fake.Always("/api/chat", c.step)
			text, err := server(t, fake, 200*time.Millisecond).Chat(t.Context(), ollama.ChatCall{Model: "c", User: "u", NumCtx: 100, Tokens: 10})
			if got := ollama.FaultOf(err); got != c.want || (err == nil) != (c.want == "") {
				t.Errorf("fault %q, want %q: %v", got, c.want, err)
			}
			if err == nil && text != `{"a":1}` {
				t.Errorf("answer %q", text)
			}
		})
	}
}

func TestShow(t *testing.T) {
	fake := ollamatest.NewFake(
		ollamatest.Model{Name: "small:latest", Dim: 384, Context: 512, NumCtx: 256},
		ollamatest.Model{Name: "chat:latest", Reply: func(string, string) string { return "" }, Thinks: true, Context: 4096},
		ollamatest.Model{Name: "big:120b-cloud", Reply: func(string, string) string { return "" }})
	s := server(t, fake, time.Second)
	for name, want := range map[string]ollama.Details{
		"small":          {Known: true, Embeds: true, Context: 256, Embedded: 384},
		"chat":           {Known: true, Chats: true, Thinks: true, Context: 4096},
		"big:120b-cloud": {Known: true, Chats: true, Cloud: true},
	} {
		if got, err := s.Show(t.Context(), name); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, want)
		}
	}
	if _, err := s.Show(t.Context(), "none"); ollama.FaultOf(err) != ollama.Missing {
		t.Errorf("a missing model: %v", err)
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"nomic-embed-text", "nomic-embed-text:latest", true},
		{"Nomic-Embed-Text:latest", "nomic-embed-text", true},
		{"a:v1", "a", false},
		{"hf.co/x/a", "hf.co/x/a:latest", true},
		{"host:80/a", "host:80/a:latest", true},
	} {
		if ollama.SameName(c.a, c.b) != c.same {
			t.Errorf("SameName(%q, %q) is %v", c.a, c.b, !c.same)
		}
	}
	for name, cloud := range map[string]bool{"gpt-oss:120b-cloud": true, "x:cloud": true, "x": false, "cloudy:7b": false, "x-cloud": true} {
		if ollama.CloudName(name) != cloud {
			t.Errorf("CloudName(%q) is %v", name, !cloud)
		}
	}
}
