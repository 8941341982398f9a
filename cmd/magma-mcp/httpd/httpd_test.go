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
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/magma-mcp/magma-mcp/cmd/magma-mcp/front"
	"github.com/magma-mcp/magma-mcp/memory"
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
