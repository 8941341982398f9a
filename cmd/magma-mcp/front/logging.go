package front

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// A client that asks for log messages hears what made an answer weaker than it could be: an embedder
// that is away, a graph that failed. The model reads the same in the answer; this is for the person in
// front of the client. A session's level is "error" until logging/setLevel says otherwise, so nobody
// hears it unasked; a request of protocol version 2026-07-28 names its own level.

func (s *session) SetLogLevel(level mcp.LoggingLevel) { s.level.Store(level) }

func (s *session) GetLogLevel() mcp.LoggingLevel {
	if level, ok := s.level.Load().(mcp.LoggingLevel); ok {
		return level
	}
	return mcp.LoggingLevelError
}

// tellDegraded sends what a tool's answer says of its own weakness.
func tellDegraded(s *server.MCPServer) server.OnAfterCallToolFunc {
	return func(ctx context.Context, _ any, _ *mcp.CallToolRequest, result any) {
		r, ok := result.(*mcp.CallToolResult)
		if !ok || r.StructuredContent == nil {
			return
		}
		raw, ok := r.StructuredContent.(json.RawMessage)
		if !ok {
			return
		}
		var answer struct {
			Degraded []string `json:"degraded"`
		}
		if json.Unmarshal(raw, &answer) != nil {
			return
		}
		for _, d := range answer.Degraded {
			// A session that takes none, or is gone, is no fault of the call.
			_ = s.SendLogMessageToClient(ctx, mcp.NewLoggingMessageNotification(mcp.LoggingLevelWarning, "magma-mcp", d))
		}
	}
}
