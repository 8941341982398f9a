package front

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/magma-mcp/magma-mcp/prompts"
	"github.com/magma-mcp/magma-mcp/resources"
)

// badCursor is the message for a cursor that was never given out.
const badCursor = "unknown cursor: every list goes out whole, so send none"

// noTemplate is how mcp-go begins to say that a resource's URI is none of this server's.
const noTemplate = "handler not found for resource URI '"

// Mend gives an error the code that its protocol version has for it: mcp-go reports each fault of a
// reader, a prompt or a hook under one code. modern is set for protocol version 2026-07-28 and later.
func Mend(e mcp.JSONRPCErrorDetails, modern bool) mcp.JSONRPCErrorDetails {
	switch {
	case e.Code == mcp.INTERNAL_ERROR && strings.HasPrefix(e.Message, resources.NotFound):
		e.Code = mcp.RESOURCE_NOT_FOUND
		if modern {
			e.Code = mcp.INVALID_PARAMS
		}
		uri, _, _ := strings.Cut(strings.TrimPrefix(e.Message, resources.NotFound), ";")
		e.Data = map[string]any{"uri": uri}
	case strings.HasPrefix(e.Message, noTemplate) && e.Data == nil:
		// mcp-go's own, for a URI that fits no template: the code is right, the URI is missing.
		uri, _, _ := strings.Cut(strings.TrimPrefix(e.Message, noTemplate), "': ")
		e.Data = map[string]any{"uri": uri}
	case e.Code == mcp.INTERNAL_ERROR && strings.HasPrefix(e.Message, prompts.BadArgument),
		e.Code == mcp.INVALID_REQUEST && e.Message == badCursor:
		e.Code = mcp.INVALID_PARAMS
	}
	return e
}

// MendJSON is Mend for one JSON-RPC message as bytes, for a transport that only sees those. A message
// that needs nothing comes back as it is.
func MendJSON(message []byte, modern bool) []byte {
	if !bytes.Contains(message, []byte(`"error"`)) {
		return message
	}
	var m struct {
		JSONRPC string                   `json:"jsonrpc"`
		ID      json.RawMessage          `json:"id"`
		Error   *mcp.JSONRPCErrorDetails `json:"error"`
		Result  json.RawMessage          `json:"result"`
	}
	if json.Unmarshal(message, &m) != nil || m.Error == nil || m.Result != nil {
		return message
	}
	mended := Mend(*m.Error, modern)
	if mended.Code == m.Error.Code && (mended.Data == nil || m.Error.Data != nil) {
		return message
	}
	out, err := json.Marshal(map[string]any{"jsonrpc": m.JSONRPC, "id": m.ID, "error": mended})
	if err != nil {
		return message
	}
	return out
}

// hasCursor reports whether a list request carries a cursor.
func hasCursor(message any) bool {
	raw, ok := message.(json.RawMessage)
	if !ok || !bytes.Contains(raw, []byte(`"cursor"`)) {
		return false
	}
	var m struct {
		Method string `json:"method"`
		Params struct {
			Cursor *string `json:"cursor"`
		} `json:"params"`
	}
	return json.Unmarshal(raw, &m) == nil && strings.HasSuffix(m.Method, "/list") && m.Params.Cursor != nil && *m.Params.Cursor != ""
}
