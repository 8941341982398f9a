package front

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/magma-mcp/magma-mcp/memory"
	"github.com/magma-mcp/magma-mcp/tools"
)

// fake is an engine whose verbs a test can hold up.
type fake struct {
	memory.Engine
	remember func(context.Context, memory.Note) error
	recall   func(context.Context) error
	changes  chan memory.Change
	mu       sync.Mutex
	stored   []string
}

func (f *fake) Remember(ctx context.Context, n memory.Note) (memory.Receipt, error) {
	if f.remember != nil {
		if err := f.remember(ctx, n); err != nil {
			return memory.Receipt{}, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stored = append(f.stored, n.Content)
	return memory.Receipt{Ref: "7Q4K2Z", Status: memory.StatusStored, Project: n.Project}, nil
}

func (f *fake) Recall(ctx context.Context, q memory.Question) (memory.Recollection, error) {
	if f.recall != nil {
		if err := f.recall(ctx); err != nil {
			return memory.Recollection{}, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return memory.Recollection{Text: strings.Join(f.stored, "|"), Project: q.Project}, nil
}

func (f *fake) Projects(context.Context) ([]memory.ProjectInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.stored) == 0 {
		return nil, nil
	}
	return []memory.ProjectInfo{{Project: "default", Memories: len(f.stored)}}, nil
}

func (f *fake) Get(_ context.Context, _, id string) (memory.Memory, error) {
	return memory.Memory{}, memory.Errorf(memory.CodeNotFound, "id %s is unknown", id)
}

func (f *fake) Watch(context.Context) (<-chan memory.Change, error) { return f.changes, nil }

// client is the other end of a stdio session, a line at a time.
type client struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Reader
	done chan error
}

// dial serves e over pipes.
func dial(t *testing.T, ctx context.Context, e memory.Engine) *client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	s := New(Options{Engine: e, Version: "test"})
	c := &client{t: t, in: inW, out: bufio.NewReaderSize(outR, 1<<20), done: make(chan error, 1)}
	go func() {
		err := ServeStdio(ctx, s.MCP, inR, outW, nil)
		inR.Close()
		outW.Close()
		c.done <- err
	}()
	if f, ok := e.(*fake); ok && f.changes != nil {
		go func() { _ = s.Run(ctx) }()
	}
	return c
}

func (c *client) send(lines ...string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, strings.Join(lines, "\n")+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

type response struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params map[string]any  `json:"params"`
	Result struct {
		Content []struct{ Text string }
		IsError bool `json:"isError"`
	} `json:"result"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data"`
	} `json:"error"`
}

func (c *client) next() response {
	c.t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatalf("no answer: %v", err)
	}
	var r response
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		c.t.Fatalf("not JSON: %s", line)
	}
	return r
}

// end closes stdin and gives the rest of the output.
func (c *client) end() string {
	c.t.Helper()
	c.in.Close()
	rest, _ := io.ReadAll(c.out)
	if err := <-c.done; err != nil {
		c.t.Errorf("ServeStdio: %v", err)
	}
	return string(rest)
}

func rpc(id int, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
}

func toolCall(id int, tool, args string) string {
	return rpc(id, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
}

const (
	initialize  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

func TestOddMessages(t *testing.T) {
	c := dial(t, t.Context(), &fake{})
	c.send(initialize)
	c.next()
	c.send(initialized, "", "   ", "\t\r")
	for _, tt := range []struct {
		send, id string
		code     int // 0: a result
	}{
		{`hello`, `null`, -32700},
		{`{"jsonrpc":"2.0","id":1,`, `null`, -32700},
		{`42`, `null`, -32600},
		{`"text"`, `null`, -32600},
		{`[]`, `null`, -32600},
		{`[1,`, `null`, -32700},
		{`{"jsonrpc":"1.0","id":3,"method":"ping"}`, `3`, -32600},
		{`{"jsonrpc":"2.0","id":4}`, `4`, -32600},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, `null`, -32600},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `null`, -32600},
		{`{"jsonrpc":"2.0","id":"abc","method":"ping"}`, `"abc"`, 0},
		{`{"jsonrpc":"2.0","id":12345678901234567890,"method":"ping"}`, `12345678901234567890`, 0},
		{rpc(5, "no/such", `{}`), `5`, -32601},
		{rpc(6, "tools/call", `"x"`), `6`, -32600},
		{rpc(7, "tools/list", `null`), `7`, 0},
		{rpc(8, "tools/call", `{}`), `8`, -32602},
		{rpc(9, "tools/call", `{"name":"nope","arguments":{}}`), `9`, -32602},
		{rpc(10, "tools/list", `{"cursor":"enp6eg=="}`), `10`, -32602},
		{rpc(11, "resources/read", `{"uri":"x://nope"}`), `11`, -32002},
		{rpc(12, "resources/read", `{"uri":"memory://default/nope"}`), `12`, -32002},
		{rpc(13, "resources/read", `{"uri":"memory://default/memories/7Q4K2Z"}`), `13`, -32002},
		{rpc(14, "prompts/get", `{"name":"answer_with_memory"}`), `14`, -32602},
		{rpc(15, "prompts/get", `{"name":"nope"}`), `15`, -32602},
		{rpc(16, "prompts/get", `{"name":"answer_with_memory","arguments":{"question":"\ud800"}}`), `16`, -32602},
		{"{\"jsonrpc\":\"2.0\",\"id\":17,\"method\":\"resources/read\",\"params\":{\"uri\":\"memory://\xff/stats\"}}", `17`, -32602},
		{rpc(18, "ping", `{}`) + "\r", `18`, 0},
		{`{"jsonrpc":"2.0","id":19,"method":"resources/read","params":{"uri":"memory://default/memories/x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, `19`, -32602},
	} {
		c.send(tt.send)
		r := c.next()
		code := 0
		if r.Error != nil {
			code = r.Error.Code
		}
		if string(r.ID) != tt.id || code != tt.code {
			t.Errorf("%s\n got id %s, code %d (%+v); want %s, %d", tt.send, r.ID, code, r.Error, tt.id, tt.code)
		}
	}
	// A tool's own fault is a tool error, whatever is wrong with its arguments.
	c.send("{\"jsonrpc\":\"2.0\",\"id\":20,\"method\":\"tools/call\",\"params\":{\"name\":\"recall\",\"arguments\":{\"query\":\"\xff\"}}}")
	if r := c.next(); string(r.ID) != "20" || !r.Result.IsError {
		t.Errorf("bad UTF-8: %+v", r)
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/no-such"}`, `{"jsonrpc":"2.0","id":77,"result":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":999}}`)
	if rest := c.end(); rest != "" {
		t.Errorf("unasked for: %s", rest)
	}
}

func TestBatch(t *testing.T) {
	c := dial(t, t.Context(), &fake{})
	c.send("[" + toolCall(1, "remember", `{"content":"a"}`) + "," + initialized + "," + toolCall(2, "recall", `{}`) + ",7," + rpc(3, "ping", "{}") + "]")
	line, err := c.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var rs []response
	if err := json.Unmarshal([]byte(line), &rs); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	if len(rs) != 4 || string(rs[0].ID) != "1" || rs[1].Result.Content[0].Text != "a" || rs[2].Error == nil || string(rs[3].ID) != "3" {
		t.Errorf("got %s", line)
	}
	c.send("[" + initialized + "]")
	if rest := c.end(); rest != "" {
		t.Errorf("a batch of notifications was answered: %s", rest)
	}
}

func TestLongLines(t *testing.T) {
	c := dial(t, t.Context(), &fake{})
	c.send(toolCall(1, "recall", `{"query":"`+strings.Repeat("x", 9<<20)+`"}`))
	if r := c.next(); string(r.ID) != "1" || r.Error != nil {
		t.Errorf("9 MB: %+v", r)
	}
	go func() {
		fmt.Fprint(c.in, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"x":"`)
		chunk := strings.Repeat("y", 1<<20)
		for range maxLine>>20 + 1 {
			fmt.Fprint(c.in, chunk)
		}
		fmt.Fprint(c.in, "\"}}\n"+rpc(3, "ping", "{}")+"\n")
	}()
	if r := c.next(); string(r.ID) != "2" || r.Error == nil || r.Error.Code != -32600 {
		t.Errorf("over the limit: %+v", r)
	}
	if r := c.next(); string(r.ID) != "3" || r.Error != nil {
		t.Errorf("after it: %+v", r)
	}
	c.end()
}

// A piped script sends all it has and closes stdin: each request read gets its answer, reads see the
// writes before them, and the last line needs no newline.
func TestEOFIsDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{remember: func(context.Context, memory.Note) error { time.Sleep(10 * time.Millisecond); return nil }}
		var script strings.Builder
		fmt.Fprintln(&script, initialize)
		fmt.Fprintln(&script, initialized)
		const n = 50
		for i := range n {
			fmt.Fprintln(&script, toolCall(2*i+1, "remember", fmt.Sprintf(`{"content":"%d"}`, i)))
			fmt.Fprintln(&script, toolCall(2*i+2, "recall", `{}`))
		}
		fmt.Fprint(&script, rpc(2*n+1, "ping", "{}"))
		var out bytes.Buffer
		s := New(Options{Engine: f})
		began := time.Now()
		if err := ServeStdio(t.Context(), s.MCP, strings.NewReader(script.String()), &out, nil); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d > n*10*time.Millisecond+time.Second {
			t.Errorf("took %v", d)
		}
		answers := map[string]response{}
		for line := range strings.Lines(out.String()) {
			var r response
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatalf("not JSON: %s", line)
			}
			answers[string(r.ID)] = r
		}
		if len(answers) != 2*n+2 {
			t.Fatalf("%d answers to %d requests", len(answers), 2*n+2)
		}
		var want []string
		for i := range n {
			want = append(want, fmt.Sprint(i))
			if got := answers[fmt.Sprint(2*i+2)].Result.Content[0].Text; got != strings.Join(want, "|") {
				t.Fatalf("recall %d saw %q", i, got)
			}
		}
	})
}

func TestStuckRequestDoesNotHoldTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{recall: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		var out bytes.Buffer
		s := New(Options{Engine: f})
		began := time.Now()
		in := strings.NewReader(initialize + "\n" + toolCall(1, "recall", `{}`) + "\n")
		if err := ServeStdio(t.Context(), s.MCP, in, &out, nil); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d < drainEOF || d > 10*time.Second {
			t.Errorf("took %v", d)
		}
		if !strings.Contains(out.String(), `recall: cancelled`) {
			t.Errorf("the request was not answered: %s", out.String())
		}
	})
}

func TestSignalStopsCleanly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var release atomic.Bool
		f := &fake{remember: func(context.Context, memory.Note) error {
			time.Sleep(time.Second)
			release.Store(true)
			return nil
		}}
		c := dial(t, ctx, f)
		c.send(toolCall(1, "remember", `{"content":"a"}`))
		synctest.Wait()
		stop()
		if r := c.next(); string(r.ID) != "1" || !release.Load() {
			t.Errorf("a write under way: %+v", r)
		}
		if err := <-c.done; err != nil {
			t.Error(err)
		}
	})
}

func TestCancel(t *testing.T) {
	f := &fake{recall: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
	c := dial(t, t.Context(), f)
	c.send(toolCall(1, "recall", `{}`))
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	c.send(rpc(2, "ping", "{}"))
	if r := c.next(); string(r.ID) != "2" {
		t.Errorf("a cancelled request was answered: %+v", r)
	}
	// A write that runs is finished and told.
	started := make(chan struct{})
	release := make(chan struct{})
	f.remember = func(ctx context.Context, _ memory.Note) error {
		close(started)
		<-release
		return ctx.Err()
	}
	c.send(toolCall(3, "remember", `{"content":"a"}`))
	<-started
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`)
	close(release)
	if r := c.next(); string(r.ID) != "3" || r.Result.IsError {
		t.Errorf("a cancelled write: %+v", r)
	}
	c.end()
}

func TestBrokenOutputEnds(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	outR.Close()
	done := make(chan error, 1)
	go func() {
		done <- ServeStdio(t.Context(), New(Options{Engine: &fake{}}).MCP, inR, outW, nil)
		inR.Close()
	}()
	fmt.Fprintln(inW, rpc(1, "ping", "{}"))
	if err := <-done; err == nil {
		t.Error("a client that is gone was not noticed")
	}
}

func TestProgressComesBeforeTheAnswer(t *testing.T) {
	c := dial(t, t.Context(), &fake{})
	c.send(initialize)
	c.next()
	for i := range 20 {
		c.send(rpc(i+1, "tools/call", `{"name":"recall","arguments":{},"_meta":{"progressToken":"p"}}`))
		last := -1.0
		for range 2 {
			r := c.next()
			if r.Method != "notifications/progress" || r.Params["progressToken"] != "p" {
				t.Fatalf("got %+v", r)
			}
			if p := r.Params["progress"].(float64); p <= last {
				t.Errorf("progress %v after %v", p, last)
			} else {
				last = p
			}
		}
		if r := c.next(); r.Method != "" || string(r.ID) != fmt.Sprint(i+1) {
			t.Fatalf("got %+v", r)
		}
	}
	c.end()
}

// An engine that panics at every verb costs its caller one error line each time, and nothing else.
func TestPanickingEngine(t *testing.T) {
	type broken struct{ memory.Engine }
	c := dial(t, t.Context(), broken{})
	c.send(initialize)
	c.next()
	for i, line := range []string{
		toolCall(1, "remember", `{"content":"x"}`), toolCall(2, "recall", `{}`), toolCall(3, "why", `{"query":"x"}`),
		toolCall(4, "when", `{"query":"x"}`), toolCall(5, "forget", `{"ids":["x"]}`),
		rpc(6, "resources/read", `{"uri":"memory://projects"}`), rpc(7, "resources/read", `{"uri":"memory://x/graph"}`),
		rpc(8, "prompts/get", `{"name":"load_context"}`),
		rpc(9, "completion/complete", `{"ref":{"type":"ref/prompt","name":"load_context"},"argument":{"name":"project","value":""}}`),
		rpc(10, "resources/list", `{}`),
	} {
		c.send(line)
		r := c.next()
		if string(r.ID) != fmt.Sprint(i+1) || !r.Result.IsError && r.Error == nil {
			t.Errorf("%s\n got %+v", line, r)
		}
	}
	c.send(rpc(11, "ping", "{}"))
	if r := c.next(); string(r.ID) != "11" || r.Error != nil {
		t.Errorf("after them: %+v", r)
	}
	if rest := c.end(); rest != "" {
		t.Errorf("unasked for: %s", rest)
	}
}

func TestSubscriptions(t *testing.T) {
	f := &fake{changes: make(chan memory.Change)}
	c := dial(t, t.Context(), f)
	c.send(initialize)
	c.next()
	c.send(initialized)
	for i, uri := range []string{"memory://default/recent", "memory://other/recent", "memory://default/memories/q4k2z", "memory://default/memories/zzzzzz"} {
		c.send(rpc(i+1, "resources/subscribe", fmt.Sprintf(`{"uri":%q}`, uri)))
		c.next()
	}
	f.changes <- memory.Change{Kind: "remembered", Project: "default", IDs: []string{"01K00000000000000007Q4K2Z"}}
	f.mu.Lock()
	f.stored = []string{"a"}
	f.mu.Unlock()
	var got []string
	for range 3 {
		r := c.next()
		got = append(got, r.Method+" "+fmt.Sprint(r.Params["uri"]))
	}
	want := "notifications/resources/updated memory://default/memories/q4k2z\n" +
		"notifications/resources/updated memory://default/recent\n" +
		"notifications/resources/list_changed <nil>"
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	c.send(rpc(9, "resources/unsubscribe", `{"uri":"memory://default/recent"}`))
	c.next()
	f.changes <- memory.Change{Kind: "remembered", Project: "default", IDs: []string{"01K00000000000000000000AAA"}}
	f.changes <- memory.Change{Lost: true}
	for range 3 { // lost: whatever is still subscribed may have changed
		if r := c.next(); r.Params["uri"] == "memory://default/recent" {
			t.Error("unsubscribed, and still told")
		}
	}
	c.end()
}

func TestListenStream(t *testing.T) {
	f := &fake{changes: make(chan memory.Change)}
	c := dial(t, t.Context(), f)
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	c.send(rpc(1, "subscriptions/listen", `{"notifications":{"resourcesListChanged":true,"resourceSubscriptions":["memory://default/stats"]},`+meta+`}`))
	if r := c.next(); !strings.HasSuffix(r.Method, "acknowledged") {
		t.Fatalf("got %+v", r)
	}
	f.mu.Lock()
	f.stored = []string{"a"}
	f.mu.Unlock()
	f.changes <- memory.Change{Kind: "remembered", Project: "default"}
	for _, want := range []string{"notifications/resources/updated", "notifications/resources/list_changed"} {
		r := c.next()
		m, _ := r.Params["_meta"].(map[string]any)
		if r.Method != want || fmt.Sprint(m["io.modelcontextprotocol/subscriptionId"]) != "1" {
			t.Errorf("got %+v, want %s of subscription 1", r, want)
		}
	}
	began := time.Now()
	if rest := c.end(); !strings.Contains(rest, `"id":1`) {
		t.Errorf("the stream's own request has no answer: %s", rest)
	}
	if d := time.Since(began); d > drainEOF/2 {
		t.Errorf("the stream held the end up for %v", d)
	}
}

// What a script sends right behind initialize is written by the client that it names.
func TestInitializeGoesFirst(t *testing.T) {
	for range 20 {
		var by string
		f := &fake{remember: func(_ context.Context, n memory.Note) error { by = n.From.Client; return nil }}
		var out bytes.Buffer
		in := strings.NewReader(initialize + "\n" + toolCall(1, "remember", `{"content":"a"}`) + "\n")
		if err := ServeStdio(t.Context(), New(Options{Engine: f}).MCP, in, &out, nil); err != nil {
			t.Fatal(err)
		}
		if by != "test" {
			t.Fatalf("written by %q", by)
		}
	}
}

// TestServeForFuzz is no test of its own: with MAGMA_FRONT_STDIO set, this binary is a stdio server
// for ../shared/bench/clients/fuzz-stdio.mjs.
func TestServeForFuzz(t *testing.T) {
	if os.Getenv("MAGMA_FRONT_STDIO") == "" {
		t.Skip("only as a server, with MAGMA_FRONT_STDIO=1")
	}
	out := os.Stdout
	os.Stdout = os.Stderr
	s := New(Options{Engine: &fake{}, Scope: tools.Scope{}})
	_ = ServeStdio(t.Context(), s.MCP, os.Stdin, out, nil)
	os.Exit(0)
}
