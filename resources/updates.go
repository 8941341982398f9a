package resources

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/magma-mcp/magma-mcp/memory"
	"github.com/magma-mcp/magma-mcp/tools"
)

// gather is how long changes are collected before subscribers are told, once for each resource: a
// pasted conversation is hundreds of writes, and a client reads the page again only once.
const gather = 100 * time.Millisecond

// mostSubscriptions bounds what one session may subscribe to, so that a client cannot fill the memory.
const mostSubscriptions = 1000

// Updates knows who subscribed to what and tells them. mcp-go answers a subscription without keeping
// it, hence the hooks.
type Updates struct {
	server   *server.MCPServer
	engine   memory.Engine
	log      *slog.Logger
	gathered chan struct{} // told after each round; tests wait on it

	mu       sync.Mutex
	sessions map[string]map[string]address // session id -> URI -> what it names
	streams  map[*stream]struct{}
}

// stream is one subscriptions/listen request of protocol version 2026-07-28: its notifications go
// to the request's own session and carry its id.
type stream struct {
	session server.ClientSession
	id      any
	uris    map[string]address
}

func newUpdates(s *server.MCPServer, e memory.Engine, defaults tools.Scope, hooks *server.Hooks, log *slog.Logger) *Updates {
	u := &Updates{server: s, engine: e, log: log, sessions: map[string]map[string]address{}, streams: map[*stream]struct{}{}}
	visible := func(ctx context.Context, uri string) (address, bool) {
		a, err := parse(uri)
		if err != nil || a.project != "" && !tools.ScopeFrom(ctx, defaults).Allows(a.project) {
			return address{}, false
		}
		return a, true
	}
	hooks.AddAfterSubscribe(func(ctx context.Context, _ any, req *mcp.SubscribeRequest, _ *mcp.EmptyResult) {
		session := server.ClientSessionFromContext(ctx)
		a, ok := visible(ctx, req.Params.URI)
		if session == nil || !ok {
			return
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		mine := u.sessions[session.SessionID()]
		if mine == nil {
			mine = map[string]address{}
			u.sessions[session.SessionID()] = mine
		}
		if len(mine) < mostSubscriptions {
			mine[req.Params.URI] = a
		}
	})
	hooks.AddAfterUnsubscribe(func(ctx context.Context, _ any, req *mcp.UnsubscribeRequest, _ *mcp.EmptyResult) {
		if session := server.ClientSessionFromContext(ctx); session != nil {
			u.mu.Lock()
			defer u.mu.Unlock()
			delete(u.sessions[session.SessionID()], req.Params.URI)
		}
	})
	hooks.AddOnUnregisterSession(func(_ context.Context, session server.ClientSession) {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.sessions, session.SessionID())
	})
	hooks.AddBeforeSubscriptionsListen(func(ctx context.Context, id any, req *mcp.SubscriptionsListenRequest) {
		session := server.ClientSessionFromContext(ctx)
		if session == nil {
			return
		}
		st := &stream{session: session, id: id, uris: map[string]address{}}
		for _, uri := range req.Params.Notifications.ResourceSubscriptions {
			if a, ok := visible(ctx, uri); ok && len(st.uris) < mostSubscriptions {
				st.uris[uri] = a
			}
		}
		u.mu.Lock()
		u.streams[st] = struct{}{}
		u.mu.Unlock()
		context.AfterFunc(ctx, func() {
			u.mu.Lock()
			defer u.mu.Unlock()
			delete(u.streams, st)
		})
	})
	return u
}

// Run sends updates until ctx ends, then returns nil. An engine that does not tell its changes ends
// it with that error; serving goes on without updates.
func (u *Updates) Run(ctx context.Context) error {
	changes, err := u.engine.Watch(ctx)
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	}
	known := u.projects(ctx)
	var pending []memory.Change
	var due <-chan time.Time
	for {
		select {
		case c, ok := <-changes:
			if !ok {
				return nil
			}
			if pending = append(pending, c); due == nil {
				due = time.After(gather)
			}
		case <-due:
			u.tell(pending)
			if u.listChanged(ctx, pending, &known) {
				u.server.SendNotificationToAllClients(mcp.MethodNotificationResourcesListChanged, nil)
			}
			pending, due = nil, nil
			if u.gathered != nil {
				u.gathered <- struct{}{}
			}
		}
	}
}

// projects is the set of project names, empty where the engine cannot tell.
func (u *Updates) projects(ctx context.Context) map[string]bool {
	list, err := u.engine.Projects(ctx)
	if err != nil {
		u.log.Debug("resource updates: project names", "error", err)
	}
	names := make(map[string]bool, len(list))
	for _, p := range list {
		names[p.Project] = true
	}
	return names
}

// listChanged reports whether the changes brought a project or took the last memory of one.
func (u *Updates) listChanged(ctx context.Context, changes []memory.Change, known *map[string]bool) bool {
	for _, c := range changes {
		if c.Lost || c.Kind == "forgotten" || !(*known)[c.Project] {
			now := u.projects(ctx)
			changed := !maps.Equal(now, *known)
			*known = now
			return changed
		}
	}
	return false
}

// tell sends notifications/resources/updated for every subscribed resource that the changes touch.
func (u *Updates) tell(changes []memory.Change) {
	touched := func(uris map[string]address) []string {
		var out []string
		for uri, a := range uris {
			if slices.ContainsFunc(changes, a.touchedBy) {
				out = append(out, uri)
			}
		}
		slices.Sort(out)
		return out
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, uris := range u.sessions {
		for _, uri := range touched(uris) {
			err := u.server.SendNotificationToSpecificClient(id, mcp.MethodNotificationResourceUpdated, map[string]any{"uri": uri})
			if err != nil { // not connected just now, or too slow: it reads again when it comes back
				u.log.Debug("resource update not delivered", "session", id, "error", err)
			}
		}
	}
	for st := range u.streams {
		for _, uri := range touched(st.uris) {
			n := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION}
			n.Method = mcp.MethodNotificationResourceUpdated
			n.Params.Meta = map[string]any{mcp.MetaKeySubscriptionID: st.id}
			n.Params.AdditionalFields = map[string]any{"uri": uri}
			select {
			case st.session.NotificationChannel() <- n:
			default:
				u.log.Debug("resource update not delivered: the client is too slow")
			}
		}
	}
}

// touchedBy reports whether a change alters what the address shows.
func (a address) touchedBy(c memory.Change) bool {
	switch {
	case c.Lost:
		return true
	case a.page == "projects":
		return c.Kind != "consolidated"
	case a.project != c.Project:
		return false
	case a.page != "memory":
		return true
	}
	return slices.ContainsFunc(c.IDs, func(id string) bool {
		return strings.HasSuffix(strings.ToUpper(id), strings.ToUpper(a.name))
	})
}
