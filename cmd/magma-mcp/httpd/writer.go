package httpd

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/magma-mcp/magma-mcp/cmd/magma-mcp/front"
)

// writer is what mcp-go writes an answer to: it mends error codes on the way (front.MendJSON), bounds
// each write in time, and tells when an answer to a request has gone out. mcp-go writes a JSON answer,
// and a server-sent event, in one Write each.
type writer struct {
	http.ResponseWriter
	rc       *http.ResponseController
	limit    time.Duration
	modern   bool
	origin   string // of the page that asked, where it is allowed
	status   int    // held back until the first Write: mending may change it
	sent     bool
	answered func() // may be nil; called once an answer is out
	answers  int    // written and not yet flushed

	flushes chan struct{} // one for each flush mark that came by
}

// flushMark is the method of a notification that never leaves this package.
const flushMark = "notifications/magma-mcp/flush"

func (s *Server) newWriter(w http.ResponseWriter, modern bool) *writer {
	return &writer{ResponseWriter: w, rc: http.NewResponseController(w), limit: s.o.Limits.Write, modern: modern, origin: w.Header().Get("Access-Control-Allow-Origin"), flushes: make(chan struct{}, 1)}
}

type writerKey struct{}

// flushNotifications holds a tool's result back until the notifications that it sent are written. In
// protocol version 2026-07-28 an event store does not help: mcp-go takes a notification off its queue,
// and drops it where the result comes before its turn to write. So a mark is sent after them, and waited
// for. Only a request that asks for progress or log messages hears any.
func flushNotifications(ctx context.Context, _ any, req *mcp.CallToolRequest, _ any) {
	w, _ := ctx.Value(writerKey{}).(*writer)
	session := server.ClientSessionFromContext(ctx)
	if w == nil || !w.modern || session == nil {
		return
	}
	info := server.RequestProtocolInfoFromContext(ctx)
	progress := req.Params.Meta != nil && req.Params.Meta.ProgressToken != nil
	if !progress && (info == nil || info.LogLevel == "") {
		return
	}
	limit := time.NewTimer(time.Second)
	defer limit.Stop()
	select {
	case session.NotificationChannel() <- mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{Method: flushMark}}:
	case <-ctx.Done():
		return
	case <-limit.C:
		return
	}
	select {
	case <-w.flushes:
	case <-ctx.Done():
	case <-limit.C:
	}
}

func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *writer) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *writer) start() {
	if !w.sent {
		w.sent = true
		if h := w.Header(); h.Get("Access-Control-Allow-Origin") == "*" {
			h.Del("Access-Control-Allow-Origin") // mcp-go's default for HTTP+SSE
			if w.origin != "" {
				h.Set("Access-Control-Allow-Origin", w.origin)
			}
		}
		if w.status != 0 {
			w.ResponseWriter.WriteHeader(w.status)
		}
	}
}

func (w *writer) Write(p []byte) (int, error) {
	out := p
	switch ct := w.Header().Get("Content-Type"); {
	case strings.HasPrefix(ct, "application/json"):
		out = front.MendJSON(p, w.modern)
		if !w.sent && w.modern && w.status == http.StatusOK && !bytes.Equal(out, p) && codeOf(out) == mcp.INVALID_PARAMS {
			w.status = http.StatusBadRequest
		}
	case strings.HasPrefix(ct, "text/event-stream"):
		if out = w.event(p); out == nil {
			return len(p), nil
		}
	}
	w.start()
	w.rc.SetWriteDeadline(time.Now().Add(w.limit)) // not supported by a test's recorder: then unbounded
	if _, err := w.ResponseWriter.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// event mends the data of one server-sent event; nil is one that is not to be sent.
func (w *writer) event(p []byte) []byte {
	before, rest, ok := bytes.Cut(p, []byte("data: "))
	data, end, ended := bytes.Cut(rest, []byte("\n\n"))
	if !ok || !ended || len(data) == 0 || data[0] != '{' {
		return p
	}
	if bytes.Contains(data, []byte(flushMark)) && isFlushMark(data) {
		select {
		case w.flushes <- struct{}{}:
		default:
		}
		return nil
	}
	if w.answered != nil {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(data, &m) == nil && m.Method == "" && len(m.ID) > 0 {
			w.answers++
		}
	}
	mended := front.MendJSON(data, w.modern)
	if bytes.Equal(mended, data) {
		return p
	}
	return bytes.Join([][]byte{before, []byte("data: "), mended, []byte("\n\n"), end}, nil)
}

func isFlushMark(data []byte) bool {
	var m struct {
		Method string `json:"method"`
	}
	return json.Unmarshal(data, &m) == nil && m.Method == flushMark
}

func codeOf(message []byte) int {
	var m struct {
		Error struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	json.Unmarshal(message, &m) // what is none has no code
	return m.Error.Code
}

func (w *writer) Flush() {
	w.start()
	w.rc.SetWriteDeadline(time.Now().Add(w.limit))
	w.rc.Flush()
	for ; w.answers > 0; w.answers-- {
		w.answered()
	}
}

// finish sends a status that had no body, and lifts the deadline for the connection's next request.
func (w *writer) finish() {
	w.start()
	w.rc.SetWriteDeadline(time.Time{})
}

// discard is where the answer to a request of this package's own goes.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

// quiet lowers what mcp-go reports as errors and are none here: a client that went away while it was
// written to, a stream that ended.
func quiet(log *slog.Logger) *slog.Logger { return slog.New(lowered{log.Handler()}) }

type lowered struct{ slog.Handler }

func (h lowered) Enabled(ctx context.Context, _ slog.Level) bool {
	return h.Handler.Enabled(ctx, slog.LevelDebug)
}

func (h lowered) Handle(ctx context.Context, r slog.Record) error {
	if !strings.HasPrefix(r.Message, "panic") {
		r.Level = slog.LevelDebug
	}
	return h.Handler.Handle(ctx, r)
}

func (h lowered) WithAttrs(a []slog.Attr) slog.Handler { return lowered{h.Handler.WithAttrs(a)} }
func (h lowered) WithGroup(n string) slog.Handler      { return lowered{h.Handler.WithGroup(n)} }
