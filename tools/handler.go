package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/magma-mcp/magma-mcp/memory"
)

// MaxAnswer bounds a whole tool answer in bytes, as it goes over the wire (CONTRACT section 5). Some
// clients drop a server that sends 10 MiB, and no model reads one.
const MaxAnswer = 1 << 20

// progressEvery is how often a call that asked for progress hears that it still runs: often enough
// to keep a client's idle time-out from firing (the shortest known is 10 s), and no chatter.
const progressEvery = 2 * time.Second

// handler answers calls of t. It never returns an error: a fault is a tool result.
func handler(t Tool, e memory.Engine, defaults Scope, log *slog.Logger) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (result *mcp.CallToolResult, _ error) {
		defer func() {
			if p := recover(); p != nil {
				logPanic(log, t.Name, p)
				result = mcp.NewToolResultError(fmt.Sprintf("%s: internal error, a bug in magma-mcp; its log on standard error has the trace. Nothing else is affected.", t.Name))
			}
		}()
		stop := reportProgress(ctx, req, t.Name)
		defer stop()

		raw := req.Params.RawArguments
		if raw == nil && req.Params.Arguments != nil { // a transport without a wire
			var err error
			if raw, err = json.Marshal(req.Params.Arguments); err != nil {
				return mcp.NewToolResultError(t.Name + ": the arguments are no JSON"), nil
			}
		}
		text, structured, err := t.Call(ctx, e, ScopeFrom(ctx, defaults), raw)
		if err != nil {
			return mcp.NewToolResultError(FaultLine(log, t.Name, err)), nil
		}
		return &mcp.CallToolResult{
			Content:           []mcp.Content{mcp.NewTextContent(text)},
			StructuredContent: structured,
		}, nil
	}
}

// Call reads arguments (a JSON object, as it came) and answers: the text block and the structured
// content. The error is an *memory.Error where the caller can mend something; FaultLine prints it.
// What t writes is finished even if ctx ends meanwhile.
func (t Tool) Call(ctx context.Context, e memory.Engine, scope Scope, arguments json.RawMessage) (text string, structured json.RawMessage, err error) {
	c, err := readCall(arguments)
	if err != nil {
		return "", nil, err
	}
	c.scope, c.session = scope, scope.Session(ctx)
	if !t.readOnly {
		if scope.ReadOnly {
			return "", nil, memory.Errorf(memory.CodeRefused, "%s: this token may read and not write", t.Name)
		}
		ctx = context.WithoutCancel(ctx)
	}
	a, err := t.answer(ctx, e, c)
	for try := 0; err == nil; try++ {
		if structured, err = json.Marshal(a.structured); err != nil {
			return "", nil, fmt.Errorf("print the answer of %s: %w", t.Name, err)
		}
		quoted, err := json.Marshal(a.text)
		if err != nil {
			return "", nil, fmt.Errorf("print the answer of %s: %w", t.Name, err)
		}
		if len(structured)+len(quoted)+1024 <= MaxAnswer { // 1024: what wraps them
			return a.text, structured, nil
		}
		smaller, ok := a.structured.(shrinker)
		if !ok || try == maxShrinks {
			return "", nil, memory.Errorf(memory.CodeTooLarge, "%s: the answer would be over 1 MiB; ask with a smaller limit or max_tokens, or narrow it with filters", t.Name)
		}
		if a, err = smaller.shrink(ctx, e); err != nil {
			return "", nil, err
		}
	}
	return "", nil, err
}

// maxShrinks is how often an answer is halved before it is given up: enough to get from the most that
// can be asked for down to a single memory.
const maxShrinks = 16

// shrinker is a structured answer that can be had smaller: the same question with half the room, or
// long lists cut with a word about it.
type shrinker interface {
	shrink(context.Context, memory.Engine) (answer, error)
}

// FaultLine is err in one line for a caller: an *memory.Error's own text, else that something inside
// went wrong, with the particulars in log alone, since they may hold paths.
func FaultLine(log *slog.Logger, doing string, err error) string {
	var e *memory.Error
	switch {
	case errors.As(err, &e):
		return oneLine(e.Text)
	case errors.Is(err, context.Canceled):
		return doing + ": cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		return doing + ": took too long; try again, or ask for less"
	}
	log.Error("internal fault", "doing", doing, "error", err)
	return doing + ": internal fault; magma-mcp's log on standard error says more, and `magma-mcp doctor` checks the store"
}

func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
}

// logPanic logs where a panic came from. Its value is logged only where the runtime made it: any
// other may hold a memory's text.
func logPanic(log *slog.Logger, doing string, p any) {
	what := fmt.Sprintf("%T", p)
	if err, ok := p.(interface{ RuntimeError() }); ok {
		what = fmt.Sprint(err)
	}
	log.Error("panic", "doing", doing, "panic", what, "stack", string(debug.Stack()))
}

// reportProgress tells a client that asked for it that the call runs, and until stop is called, every
// progressEvery, for how many seconds it has.
func reportProgress(ctx context.Context, req mcp.CallToolRequest, tool string) (stop func()) {
	s := server.ServerFromContext(ctx)
	if s == nil || req.Params.Meta == nil || req.Params.Meta.ProgressToken == nil {
		return func() {}
	}
	send := func(seconds float64, message string) {
		_ = s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
			"progressToken": req.Params.Meta.ProgressToken,
			"progress":      seconds,
			"message":       message,
		}) // a client that is gone or too slow misses progress, not its answer
	}
	send(0, tool+" started")
	done, ended := make(chan struct{}), make(chan struct{})
	began := time.Now()
	go func() {
		defer close(ended)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				send(time.Since(began).Seconds(), tool+" runs")
			}
		}
	}()
	return func() {
		close(done)
		<-ended
		send(max(time.Since(began).Seconds(), 0.001), tool+" done")
	}
}
