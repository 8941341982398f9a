package tools

import (
	"context"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/server"

	"github.com/magma-mcp/magma-mcp/memory"
)

// DefaultProject is the project of a call that names none, where nothing else says one.
const DefaultProject = "default"

// Scope is who asks, and what they may see. A transport puts it into the context of each request
// (stdio once, HTTP from the token and the headers); the zero value is a local user who may do all.
type Scope struct {
	// Project is the project of a call that names none; "" is DefaultProject.
	Project string
	// Zone is the IANA time zone in which relative words are read; "" is the engine's own.
	Zone string
	// Client is kept as written_by; "" takes the name that the client gave when it connected.
	Client string
	// Allowed limits the projects: canonical names, or prefixes that end in "/". nil allows all.
	Allowed []string
	// ReadOnly refuses remember and forget.
	ReadOnly bool
	// RequireProject refuses a call that names no project where Project is "" too.
	RequireProject bool
}

type scopeKey struct{}

// WithScope returns a context whose calls are made in s.
func WithScope(ctx context.Context, s Scope) context.Context {
	return context.WithValue(ctx, scopeKey{}, s)
}

// ScopeFrom is the Scope that WithScope put into ctx, else defaults.
func ScopeFrom(ctx context.Context, defaults Scope) Scope {
	if s, ok := ctx.Value(scopeKey{}).(Scope); ok {
		return s
	}
	return defaults
}

// Session is what the engine is told about who asks: the scope's zone and rights, and as Client the
// scope's name, else the one the MCP client gave in this request or when it connected.
func (s Scope) Session(ctx context.Context) memory.Session {
	client := s.Client
	if client == "" {
		if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.ClientInfo != nil {
			client = info.ClientInfo.Name
		} else if session, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
			client = session.GetClientInfo().Name
		}
	}
	return memory.Session{Client: client, Zone: s.Zone, Allowed: s.Allowed}
}

// ProjectFor is the canonical name of the project a call is about: arg, else the scope's own. "*"
// passes only with wildcard set. The error says what is allowed.
func (s Scope) ProjectFor(arg string, wildcard bool) (string, error) {
	name := arg
	if strings.TrimSpace(name) == "" {
		name = s.Project
	}
	if strings.TrimSpace(name) == "" && s.RequireProject {
		return "", memory.Errorf(memory.CodeInvalid, "project: missing; this server speaks for several people, so name the project in each call")
	}
	name, err := memory.CanonicalProject(name, DefaultProject, wildcard)
	if err != nil || name == "*" {
		return name, err
	}
	if !s.Allows(name) {
		return "", memory.Errorf(memory.CodeRefused, "project: this token may not see %q; allowed: %s", name, strings.Join(s.Allowed, ", "))
	}
	return name, nil
}

// Allows reports whether the scope may see the project of that canonical name.
func (s Scope) Allows(name string) bool {
	return s.Allowed == nil || slices.ContainsFunc(s.Allowed, func(a string) bool {
		return a == name || a == "*" || strings.HasSuffix(a, "/") && strings.HasPrefix(name, a)
	})
}
