package httpd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/magma-mcp/magma-mcp/cmd/magma-mcp/front"
	"github.com/magma-mcp/magma-mcp/memory"
	"github.com/magma-mcp/magma-mcp/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// watchdog ends a test that hangs; nothing here takes a tenth of it.
const watchdog = 30 * time.Second

// engine remembers in a map and says what it was asked.
type engine struct {
	memory.Engine
	mu    sync.Mutex
	notes []memory.Note
	asked []memory.Question
	hold  chan struct{} // recall waits for it, where there is one
	begun chan struct{}
}

func (e *engine) Remember(_ context.Context, n memory.Note) (memory.Receipt, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.notes = append(e.notes, n)
	return memory.Receipt{ID: "01ARZ3NDEKTSV4RRFFQ69G5FAV", Ref: "Q69G5F", Status: memory.StatusStored, Project: n.Project, SeenCount: 1}, nil
}

func (e *engine) Recall(ctx context.Context, q memory.Question) (memory.Recollection, error) {
	e.mu.Lock()
	e.asked = append(e.asked, q)
	e.mu.Unlock()
	if e.hold != nil {
		e.begun <- struct{}{}
		select {
		case <-e.hold:
		case <-ctx.Done():
			return memory.Recollection{}, ctx.Err()
		}
	}
	return memory.Recollection{Text: "nothing stored answers that", Intent: "general", Memories: []memory.Memory{}, Project: q.Project}, nil
}

func (e *engine) Watch(ctx context.Context) (<-chan memory.Change, error) {
	ch := make(chan memory.Change)
	context.AfterFunc(ctx, func() { close(ch) })
	return ch, nil
}

func (e *engine) Projects(context.Context) ([]memory.ProjectInfo, error) { return nil, nil }

// running is a server that serves, and what a test needs of it.
type running struct {
	*Server
	t      *testing.T
	base   string
	tokens *Tokens
	secret string
	engine *engine
	log    *syncBuffer
	stop   func() // waits
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func serve(t *testing.T, o Options) *running {
	t.Helper()
	r := &running{t: t, engine: &engine{}, log: &syncBuffer{}, tokens: OpenTokens(t.TempDir())}
	o.Tokens, o.Addr = r.tokens, "127.0.0.1:0"
	o.Log = slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if o.MCP == nil {
		o.MCP = front.New(front.Options{Engine: r.engine, Version: "test"}).MCP
	}
	var err error
	if r.secret, _, err = r.tokens.Builtin(); err != nil {
		t.Fatal(err)
	}
	if r.Server, err = New(o); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", o.Addr)
	if err != nil {
		t.Fatal(err)
	}
	r.base = "http://" + ln.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Serve(ctx, ln) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("serve: %v", err)
			}
		case <-time.After(watchdog):
			t.Error("the server does not stop")
		}
		http.DefaultClient.CloseIdleConnections()
	})
	t.Cleanup(r.stop)
	return r
}

// request sends one HTTP request; headers come in pairs. A nil secret sends the built-in token.
func (r *running) request(method, path, body string, headers ...string) *http.Response {
	r.t.Helper()
	req, err := http.NewRequest(method, r.base+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.secret)
	req.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		} else if req.Header.Set(headers[i], headers[i+1]); headers[i+1] == "" {
			req.Header.Del(headers[i])
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	r.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func (r *running) text(resp *http.Response) string {
	r.t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}}`

// session begins one and returns its id.
func (r *running) session(headers ...string) string {
	r.t.Helper()
	resp := r.request("POST", "/mcp", initialize, headers...)
	id := resp.Header.Get("Mcp-Session-Id")
	if body := r.text(resp); resp.StatusCode != 200 || id == "" {
		r.t.Fatalf("initialize: %s %s", resp.Status, body)
	}
	return id
}

// call calls a tool and returns its text and whether it is an error.
func (r *running) call(session, tool, args string, headers ...string) (string, bool) {
	r.t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, args)
	resp := r.request("POST", "/mcp", body, append([]string{"Mcp-Session-Id", session}, headers...)...)
	raw := r.text(resp)
	if data, ok := strings.CutPrefix(raw[strings.Index(raw, "data: ")+1:], "ata: "); ok {
		raw = data
	}
	var m struct {
		Result struct {
			IsError bool `json:"isError"`
			Content []struct{ Text string }
		}
		Error *struct{ Message string }
	}
	if err := json.Unmarshal([]byte(raw), &m); err != nil || m.Error != nil || len(m.Result.Content) == 0 {
		r.t.Fatalf("%s: %s %s", tool, resp.Status, raw)
	}
	return m.Result.Content[0].Text, m.Result.IsError
}

func TestTokenIsAlwaysAskedFor(t *testing.T) {
	r := serve(t, Options{})
	for _, path := range []string{"/mcp", "/sse", "/sse/message", "/metrics"} {
		for _, auth := range []string{"", "Bearer wrong", "Bearer ", "Basic " + r.secret, r.secret} {
			method := "GET"
			if path == "/mcp" || path == "/sse/message" {
				method = "POST"
			}
			if resp := r.request(method, path, "{}", "Authorization", auth); resp.StatusCode != 401 || resp.Header.Get("WWW-Authenticate") == "" {
				if path == "/metrics" && method == "POST" {
					continue
				}
				t.Errorf("%s with %q: %s", path, auth, resp.Status)
			}
		}
	}
	if n := strings.Count(r.log.String(), "request refused"); n < 1 || n > 3 {
		t.Errorf("%d lines about refused requests, want about one a second", n)
	}
	if resp := r.request("GET", "/healthz", "", "Authorization", ""); resp.StatusCode != 200 || !strings.Contains(r.text(resp), `"ok"`) {
		t.Errorf("health: %s", resp.Status)
	}
	fi, err := os.Stat(filepath.Join(r.tokens.dir, secretName))
	if err != nil || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600 {
		t.Errorf("token file: %v, %v", fi, err)
	}
	again, _, err := OpenTokens(r.tokens.dir).Builtin()
	if err != nil || again != r.secret {
		t.Errorf("the token changed: %v", err)
	}
}

func TestNoTokenOnLoopbackAlone(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:1", ":1", "[::]:1", "192.168.1.5:1", "example.org:1"} {
		if _, err := New(Options{Addr: addr, NoToken: true}); err == nil {
			t.Errorf("%s without a token is accepted", addr)
		}
	}
	r := serve(t, Options{NoToken: true})
	if resp := r.request("POST", "/mcp", initialize, "Authorization", ""); resp.StatusCode != 200 {
		t.Errorf("without a token: %s", resp.Status)
	}
	if !strings.Contains(r.log.String(), "level=WARN") {
		t.Error("no warning")
	}
}

func TestForeignPagesAreRefused(t *testing.T) {
	r := serve(t, Options{Origins: []string{"https://app.example"}, Hosts: []string{"proxy.example"}})
	for _, c := range []struct {
		header, value string
		want          int
	}{
		{"Host", "evil.example", 403}, {"Host", "evil.example:7749", 403}, {"Host", "127.0.0.1.evil.example", 403},
		{"Host", "192.168.1.5:80", 403}, {"Host", "proxy.example", 200}, {"Host", "localhost:1", 200}, {"Host", "[::1]:1", 200},
		{"Origin", "https://evil.example", 403}, {"Origin", "null", 403}, {"Origin", "http://localhost.evil.example", 403},
		{"Origin", "file://localhost", 403}, {"Origin", "http://localhost:6274", 200}, {"Origin", "https://app.example", 200},
	} {
		for _, path := range []string{"/mcp", "/healthz"} {
			method, body := "POST", initialize
			if path == "/healthz" {
				method, body = "GET", ""
			}
			if resp := r.request(method, path, body, c.header, c.value); resp.StatusCode != c.want {
				t.Errorf("%s %s %s: %s, want %d", path, c.header, c.value, resp.Status, c.want)
			}
		}
	}
	resp := r.request("OPTIONS", "/mcp", "", "Origin", "https://app.example", "Access-Control-Request-Method", "POST", "Authorization", "")
	if resp.StatusCode != 204 || resp.Header.Get("Access-Control-Allow-Origin") != "https://app.example" {
		t.Errorf("preflight: %s %v", resp.Status, resp.Header)
	}
	if resp := r.request("GET", "/sse", ""); resp.StatusCode != 200 || resp.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a stream is open to every page: %v", resp.Header)
	}
	if resp := r.request("OPTIONS", "/mcp", "", "Origin", "https://evil.example", "Access-Control-Request-Method", "POST"); resp.StatusCode != 403 {
		t.Errorf("foreign preflight: %s", resp.Status)
	}
}

func TestNamedTokens(t *testing.T) {
	r := serve(t, Options{Scope: tools.Scope{Project: "home"}})
	now := time.Now()
	add := func(tok Token) string {
		t.Helper()
		s, err := r.tokens.Add(tok, now)
		if err != nil {
			t.Fatal(err)
		}
		return "Bearer " + s
	}
	reader := add(Token{Name: "reader", Projects: []string{"Shop"}, Project: "SHOP", ReadOnly: true})
	service := add(Token{Name: "service", Projects: []string{"acme/"}})
	all := add(Token{Name: "all", Projects: []string{"*"}})

	open := func(auth string) func(tool, args string, headers ...string) (string, bool) {
		id := r.session("Authorization", auth)
		return func(tool, args string, headers ...string) (string, bool) {
			t.Helper()
			return r.call(id, tool, args, append([]string{"Authorization", auth}, headers...)...)
		}
	}
	refused := func(what, text string, isError bool) {
		t.Helper()
		if !isError {
			t.Errorf("%s is allowed: %s", what, text)
		}
	}
	read := open(reader)
	text, bad := read("remember", `{"content":"x"}`)
	refused("a write of a reading token", text, bad)
	text, bad = read("recall", `{"query":"x","project":"other"}`)
	refused("another project", text, bad)
	if text, bad := read("recall", `{"query":"x"}`); bad {
		t.Errorf("its own project: %s", text)
	}
	if q := r.engine.asked[len(r.engine.asked)-1]; q.Project != "shop" {
		t.Errorf("default project of the token is %q, want shop", q.Project)
	}

	serve := open(service)
	text, bad = serve("remember", `{"content":"x"}`)
	refused("a call without a project", text, bad)
	text, bad = serve("remember", `{"content":"x","project":"other/ann"}`)
	refused("another tenant", text, bad)
	text, bad = serve("remember", `{"content":"x","project":"acme"}`)
	refused("a name that only begins like the prefix", text, bad)
	if text, bad := serve("remember", `{"content":"x","project":"acme/Ann"}`); bad {
		t.Errorf("a person of the tenant: %s", text)
	}
	if n := r.engine.notes[len(r.engine.notes)-1]; n.Project != "acme/ann" || n.From.Client != "service" {
		t.Errorf("stored as %+v", n)
	}
	if text, bad := serve("recall", `{"query":"x"}`, ProjectHeader, "acme/%C3%9Cli"); bad {
		t.Errorf("project by header: %s", text)
	}
	if q := r.engine.asked[len(r.engine.asked)-1]; q.Project != "acme/üli" {
		t.Errorf("project by header is %q", q.Project)
	}
	text, bad = serve("recall", `{"query":"x"}`, ProjectHeader, "other/ann")
	refused("another tenant by header", text, bad)
	if text, bad := serve("recall", `{"query":"x","project":"*"}`); bad {
		t.Errorf("all that it may see: %s", text)
	}
	if q := r.engine.asked[len(r.engine.asked)-1]; fmt.Sprint(q.From.Allowed) != "[acme/]" {
		t.Errorf("* may see %q", q.From.Allowed)
	}

	if text, bad := open(all)("recall", `{"query":"x","project":"whatever"}`); bad {
		t.Errorf("a token for all: %s", text)
	}
	if text, bad := open("Bearer "+r.secret)("remember", `{"content":"x"}`); bad {
		t.Errorf("the built-in token: %s", text)
	}
	if n := r.engine.notes[len(r.engine.notes)-1]; n.Project != "home" || n.From.Client != "tester" {
		t.Errorf("stored as %+v", n)
	}

	if err := OpenTokens(r.tokens.dir).Revoke("reader"); err != nil { // as another process does
		t.Fatal(err)
	}
	if resp := r.request("POST", "/mcp", initialize, "Authorization", reader); resp.StatusCode != 401 {
		t.Errorf("a revoked token: %s", resp.Status)
	}
	b, err := os.ReadFile(filepath.Join(r.tokens.dir, tokensName))
	if err != nil || strings.Contains(string(b), service[len("Bearer "):]) {
		t.Errorf("the file holds a secret: %s, %v", b, err)
	}
	for what, tok := range map[string]Token{
		"twice":     {Name: "all", Projects: []string{"*"}},
		"a bad one": {Name: "a b", Projects: []string{"*"}},
		"no one":    {Name: "none"},
		"outside":   {Name: "outside", Projects: []string{"a"}, Project: "b"},
	} {
		if _, err := r.tokens.Add(tok, now); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
}

func TestSessionsBelongToTheirTokenAndEnd(t *testing.T) {
	r := serve(t, Options{Limits: Limits{Sessions: 3}})
	other, err := r.tokens.Add(Token{Name: "other", Projects: []string{"*"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	list := `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	status := func(method, id string, headers ...string) int {
		t.Helper()
		body := ""
		if method == "POST" {
			body = list
		}
		resp := r.request(method, "/mcp", body, append([]string{"Mcp-Session-Id", id}, headers...)...)
		resp.Body.Close()
		return resp.StatusCode
	}
	id := r.session()
	if got := status("POST", id); got != 200 {
		t.Fatalf("its own session: %d", got)
	}
	for _, method := range []string{"POST", "GET", "DELETE"} {
		if got := status(method, id, "Authorization", "Bearer "+other); got != 404 {
			t.Errorf("%s on another token's session: %d", method, got)
		}
		if got := status(method, "mcp-session-6ba7b810-9dad-11d1-80b4-00c04fd430c8"); got != 404 {
			t.Errorf("%s on an invented session: %d", method, got)
		}
	}
	if got := status("GET", ""); got != 400 {
		t.Errorf("a stream without a session: %d", got)
	}
	if got := status("DELETE", id); got != 200 {
		t.Errorf("end: %d", got)
	}
	if got := status("POST", id); got != 404 {
		t.Errorf("after its end: %d", got)
	}
	first := r.session()
	stream := r.request("GET", "/mcp", "", "Mcp-Session-Id", first) // in use: it is not the one to go
	if stream.StatusCode != 200 {
		t.Fatalf("stream: %s", stream.Status)
	}
	second := r.session()
	r.session()
	r.session()
	if got := status("POST", first); got != 200 {
		t.Errorf("a session with an open stream was ended: %d", got)
	}
	if got := status("POST", second); got != 404 {
		t.Errorf("the longest idle session lives on beyond the limit: %d", got)
	}
	if n := r.sessions.count(); n != 3 {
		t.Errorf("%d sessions, want 3", n)
	}
}

func TestIdleSessionsEnd(t *testing.T) {
	var now atomic.Int64
	clock := func() time.Time { return time.Unix(now.Load(), 0) }
	var dropped []string
	s := newSessions(10, time.Minute, clock, func(id string) { dropped = append(dropped, id) })
	m := manager{s, caller{}}
	a, b := m.Generate(), m.Generate()
	s.enter(caller{}, a)
	now.Add(120)
	s.sweep()
	if len(dropped) != 1 || dropped[0] != b {
		t.Errorf("dropped %v, want [%s]", dropped, b)
	}
	s.leave(a)
	s.sweep()
	if _, err := m.Validate(a); err != nil {
		t.Error("a session just used was ended")
	}
	now.Add(61)
	s.sweep()
	if _, err := m.Validate(a); err == nil {
		t.Error("an idle session lives on")
	}
}

func TestLimits(t *testing.T) {
	r := serve(t, Options{Limits: Limits{Body: 1 << 20, Header: 8 << 10, Rate: 0.001, Burst: 12}})
	if resp := r.request("POST", "/mcp", strings.Repeat("x", 100<<20)); resp.StatusCode != 413 {
		t.Errorf("100 MB: %s", resp.Status)
	}
	if resp := r.request("GET", "/healthz", "", "X-Big", strings.Repeat("x", 64<<10)); resp.StatusCode != 431 {
		t.Errorf("a huge header: %s", resp.Status)
	}
	for what, body := range map[string]string{
		"bad UTF-8":        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"resources/read\",\"params\":{\"uri\":\"memory://\xff\"}}",
		"a lone surrogate": `{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"memory://\ud800"}}`,
	} {
		resp := r.request("POST", "/mcp", body)
		if text := r.text(resp); resp.StatusCode != 400 || !strings.Contains(text, `"id":7`) || !strings.Contains(text, "-32602") {
			t.Errorf("%s: %s %s", what, resp.Status, text)
		}
	}
	if resp := r.request("POST", "/mcp", strings.Repeat("[", 100_000)); resp.StatusCode >= 500 {
		t.Errorf("deep nesting: %s", resp.Status)
	}
	limited := false
	for range 12 {
		limited = limited || r.request("POST", "/mcp", initialize).StatusCode == 429
	}
	if !limited {
		t.Error("no rate limit")
	}
}

func TestErrorsAreMended(t *testing.T) {
	r := serve(t, Options{})
	read := `{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"memory://nowhere/nothing/at/all"}}`
	resp := r.request("POST", "/mcp", read, "Mcp-Session-Id", r.session())
	if text := r.text(resp); !strings.Contains(text, "-32002") {
		t.Errorf("unknown resource: %s %s", resp.Status, text)
	}
	modern := `{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"memory://nowhere/nothing/at/all","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	resp = r.request("POST", "/mcp", modern, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "resources/read", "Mcp-Name", "memory://nowhere/nothing/at/all")
	if text := r.text(resp); resp.StatusCode != 400 || !strings.Contains(text, "-32602") {
		t.Errorf("unknown resource, modern: %s %s", resp.Status, text)
	}
}

// client connects the second client library over one of the two transports.
func (r *running) client(transport string, o *sdk.ClientOptions) *sdk.ClientSession {
	r.t.Helper()
	hc := &http.Client{Transport: bearer{r.secret, http.DefaultTransport}}
	var tr sdk.Transport = &sdk.StreamableClientTransport{Endpoint: r.base + "/mcp", HTTPClient: hc}
	transport, version, _ := strings.Cut(transport, " ")
	if transport == "sse" {
		tr = &sdk.SSEClientTransport{Endpoint: r.base + "/sse", HTTPClient: hc}
	}
	c, err := sdk.NewClient(&sdk.Implementation{Name: "sdk", Version: "1"}, o).Connect(context.Background(), tr, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		r.t.Fatalf("%s: %v", transport, err)
	}
	return c
}

type bearer struct {
	secret string
	next   http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.secret)
	return b.next.RoundTrip(r)
}

func TestOtherLibraryOnBothTransports(t *testing.T) {
	for _, transport := range []string{"streamable", "streamable 2025-03-26", "sse"} {
		t.Run(transport, func(t *testing.T) {
			r := serve(t, Options{})
			ctx, cancel := context.WithTimeout(t.Context(), watchdog)
			defer cancel()
			c := r.client(transport, nil)
			defer c.Close()
			list, err := c.ListTools(ctx, nil)
			if err != nil || len(list.Tools) != 5 {
				t.Fatalf("tools: %v, %v", list, err)
			}
			var wg sync.WaitGroup
			for i := range 50 {
				wg.Go(func() {
					res, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "remember", Arguments: map[string]any{"content": fmt.Sprint("note ", i, strings.Repeat(" €", 1000))}})
					if err != nil || res.IsError {
						t.Errorf("call %d: %v %v", i, res, err)
					}
				})
			}
			wg.Wait()
			if n := len(r.engine.notes); n != 50 {
				t.Errorf("%d notes, want 50", n)
			}
			if strings.Contains(r.log.String(), "note") {
				t.Error("the log holds what was remembered")
			}
			if l := r.log.String(); !strings.Contains(l, "tool=remember") || strings.Contains(l, r.secret) {
				t.Errorf("the log of requests: %.2000s", l)
			}
			if m := r.text(r.request("GET", "/metrics", "")); strings.Contains(m, "note") || !strings.Contains(m, `tool="remember"`) {
				t.Errorf("metrics: %s", m)
			}
		})
	}
}

// A stop in the middle of calls: they get their answers, new ones are refused, and it ends.
func TestGracefulStop(t *testing.T) {
	for _, transport := range []string{"streamable", "sse"} {
		t.Run(transport, func(t *testing.T) {
			r := serve(t, Options{})
			r.engine.hold, r.engine.begun = make(chan struct{}), make(chan struct{}, 8)
			ctx, cancel := context.WithTimeout(t.Context(), watchdog)
			defer cancel()
			c := r.client(transport, nil)
			defer c.Close()
			got := make(chan error, 4)
			for range cap(got) {
				go func() {
					res, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "recall", Arguments: map[string]any{"query": "x"}})
					if err == nil && res.IsError {
						err = fmt.Errorf("tool error %v", res.Content)
					}
					got <- err
				}()
			}
			for range cap(got) {
				<-r.engine.begun
			}
			stopped := make(chan struct{})
			go func() { r.stop(); close(stopped) }()
			for {
				r.mu.Lock()
				stopping := r.stopping
				r.mu.Unlock()
				if stopping {
					break
				}
				runtime.Gosched()
			}
			close(r.engine.hold)
			for range cap(got) {
				if err := <-got; err != nil {
					t.Errorf("a call under way: %v", err)
				}
			}
			select {
			case <-stopped:
			case <-ctx.Done():
				t.Error("does not stop")
			}
		})
	}
}

// A client that gives up says so, and the call ends, over a connection that stays.
func TestCancelledNotificationEndsTheCall(t *testing.T) {
	r := serve(t, Options{})
	r.engine.hold, r.engine.begun = make(chan struct{}), make(chan struct{}, 1)
	c := r.client("streamable 2025-06-18", nil)
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error, 1)
	go func() {
		_, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "recall", Arguments: map[string]any{"query": "x"}})
		got <- err
	}()
	<-r.engine.begun
	cancel()
	if err := <-got; err == nil {
		t.Error("the call succeeded")
	}
	id := r.session()
	done := make(chan *http.Response, 1)
	go func() {
		done <- r.request("POST", "/mcp", `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"recall","arguments":{"query":"x"}}}`, "Mcp-Session-Id", id)
	}()
	<-r.engine.begun
	other := r.session()
	cancelling := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`
	r.request("POST", "/mcp", cancelling, "Mcp-Session-Id", other) // not this session's
	select {
	case resp := <-done:
		t.Fatalf("another session ended the call: %s", resp.Status)
	default:
	}
	r.request("POST", "/mcp", cancelling, "Mcp-Session-Id", id)
	select {
	case resp := <-done:
		if resp.StatusCode != 202 {
			t.Errorf("cancelled: %s", resp.Status)
		}
	case <-time.After(watchdog):
		t.Error("the call goes on")
	}
	if r.mu.Lock(); len(r.flights) != 0 {
		t.Errorf("%d calls are still listed", len(r.flights))
	}
	r.mu.Unlock()
}

// mcp-go alone loses most notifications that a tool sends during a call.
func TestNotificationsDuringCallsArrive(t *testing.T) {
	m := server.NewMCPServer("noisy", "1", server.WithToolCapabilities(true), server.WithHooks(&server.Hooks{}))
	m.AddTool(mcp.NewTool("noisy"), func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			if err := server.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/progress",
				map[string]any{"progressToken": req.Params.Meta.ProgressToken, "progress": i + 1}); err != nil {
				return nil, err
			}
		}
		return mcp.NewToolResultText("done"), nil
	})
	for _, transport := range []string{"streamable", "streamable 2025-06-18", "sse"} {
		t.Run(transport, func(t *testing.T) {
			r := serve(t, Options{MCP: m})
			heard := make(chan struct{}, 1000)
			c := r.client(transport, &sdk.ClientOptions{ProgressNotificationHandler: func(context.Context, *sdk.ProgressNotificationClientRequest) { heard <- struct{}{} }})
			defer c.Close()
			ctx, cancel := context.WithTimeout(t.Context(), watchdog)
			defer cancel()
			for i := range 40 {
				p := &sdk.CallToolParams{Name: "noisy"}
				p.SetProgressToken(i)
				if _, err := c.CallTool(ctx, p); err != nil {
					t.Fatal(err)
				}
				for range 3 {
					select {
					case <-heard:
					case <-ctx.Done():
						t.Fatalf("call %d: a notification is lost", i)
					}
				}
			}
		})
	}
}

func TestEventsAreBounded(t *testing.T) {
	var now atomic.Int64
	s := newEvents(func() time.Time { return time.Unix(now.Load(), 0) })
	put := func(session, stream, text string) string {
		id, err := s.StoreEvent(t.Context(), session, stream, json.RawMessage(text))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	replay := func(session, last string) (out []string, err error) {
		_, err = s.ReplayEventsAfter(t.Context(), session, last, func(_ string, m json.RawMessage) error {
			out = append(out, string(m))
			return nil
		})
		return out, err
	}
	first := put("a", "1", `"one"`)
	put("a", "2", `"other stream"`)
	put("b", "1", `"other session"`)
	put("a", "1", `"two"`)
	if got, err := replay("a", first); err != nil || fmt.Sprint(got) != `["two"]` {
		t.Errorf("replay %v, %v", got, err)
	}
	if _, err := replay("b", first); err == nil {
		t.Error("one session replays another's")
	}
	for range 100 {
		put("a", "1", `"`+strings.Repeat("x", 1<<20)+`"`)
	}
	if s.bytes > eventsBytes {
		t.Errorf("%d bytes are kept", s.bytes)
	}
	if _, err := replay("a", first); err == nil {
		t.Error("a gap is not told")
	}
	now.Add(int64(eventsAge/time.Second) + 1)
	s.expire()
	if len(s.kept) != 0 || s.bytes != 0 {
		t.Errorf("%d old events, %d bytes are kept", len(s.kept), s.bytes)
	}
	put("a", "1", `"secret"`)
	s.clear()
	if len(s.kept) != 0 {
		t.Error("events outlive a forgetting")
	}
}

func TestManySessionsStayFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("opens thousands of sessions")
	}
	r := serve(t, Options{Limits: Limits{Sessions: 100, Rate: 1e6, Burst: 1e6}})
	open := func(n int) {
		for range n {
			resp := r.request("POST", "/mcp", initialize)
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse
	}
	open(200)
	before := heap()
	open(2000)
	after := heap()
	t.Logf("2,000 sessions opened and dropped: heap %d kB -> %d kB", before>>10, after>>10)
	if after > before+8<<20 { // they were 14 kB each, and these are what the test keeps of its responses
		t.Errorf("the heap grew from %d to %d", before, after)
	}
}

func TestCertificateIsNeededWhole(t *testing.T) {
	if _, err := New(Options{NoToken: true, CertFile: "a"}); err == nil {
		t.Error("a certificate without a key is accepted")
	}
}
