// Package httpd answers: how does a memory go over HTTP without going to anybody else?
//
// It serves one MCP server as streamable HTTP at /mcp and as the older HTTP+SSE at /sse, with /healthz
// and, for Prometheus, /metrics. mcp-go has the transports; this package is the wall round them, because
// mcp-go has no authentication, no limits and no Origin check, and works round what else is known of it:
//
//	request -> Host, Origin -> token, rate -> session of that token -> body whole, bounded, valid
//	        -> mcp-go -> error codes mended, one write deadline each -> client
//
// A machine's loopback is open to all of its users, so a bearer token is always asked for, there too. One
// is made on first use; further ones have names, projects they may see, and may be read-only (tokens.go).
// What a token may do travels as tools.Scope in the request's context: tools, resources and prompts check
// it, not this package.
//
// Nothing here logs or counts what a memory says.
package httpd
