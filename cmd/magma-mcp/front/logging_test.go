//lint:file-ignore SA1019 clients of the older protocol versions still ask for log messages this way

package front

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/magma-mcp/magma-mcp/memory"
)

// weak answers as an engine whose embedder is away.
type weak struct{ memory.Engine }

func (weak) Recall(context.Context, memory.Question) (memory.Recollection, error) {
	return memory.Recollection{Text: "nothing", Intent: "general", Memories: []memory.Memory{}, Degraded: []string{"embedding: away"}}, nil
}

// What weakened an answer is told to a client that asked for warnings, and to no other.
func TestDegradedIsLogged(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // a watchdog
	defer cancel()
	heard := make(chan string, 10)
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	s := New(Options{Engine: weak{}})
	served := make(chan error, 1)
	go func() { served <- ServeStdio(ctx, s.MCP, in, out, nil) }()
	client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, &mcp.ClientOptions{
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			text, _ := r.Params.Data.(string)
			heard <- string(r.Params.Level) + " " + text
		}})
	c, err := client.Connect(ctx, &mcp.IOTransport{Reader: fromServer, Writer: toServer}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	call := func() {
		t.Helper()
		if r, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "recall", Arguments: map[string]any{"query": "x"}}); err != nil || r.IsError {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	call()
	if len(heard) > 0 {
		t.Errorf("unasked: %s", <-heard)
	}
	if err := c.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "warning"}); err != nil {
		t.Fatal(err)
	}
	call()
	select {
	case got := <-heard:
		if got != "warning embedding: away" {
			t.Errorf("heard %q", got)
		}
	case <-ctx.Done():
		t.Error("nothing was said")
	}
	c.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
