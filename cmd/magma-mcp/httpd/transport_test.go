package httpd

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

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
