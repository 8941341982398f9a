package front

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// session is what mcp-go knows of the one client of a stdio connection. All output goes through its
// notification channel, answers too (outgoing): so one goroutine writes, and a notification that a
// handler sent stands before that handler's answer.
type session struct {
	notifications chan mcp.JSONRPCNotification
	initialized   atomic.Bool
	level         atomic.Value // mcp.LoggingLevel

	mu           sync.Mutex
	info         mcp.Implementation
	capabilities mcp.ClientCapabilities
	version      string
	streams      []listening // subscriptions/listen requests that run, in the order they came
	modern       bool        // has listened, so it hears only what it listens to
}

// listening is one subscriptions/listen request: a client may run several.
type listening struct {
	id     json.RawMessage
	filter mcp.SubscriptionFilter
}

// queued is how many messages may wait for the writer. mcp-go drops a notification that finds the
// queue full; an answer waits.
const queued = 512

func newSession() *session {
	return &session{notifications: make(chan mcp.JSONRPCNotification, queued)}
}

func (s *session) SessionID() string                                   { return "stdio" }
func (s *session) Initialize()                                         { s.initialized.Store(true) }
func (s *session) Initialized() bool                                   { return s.initialized.Load() }
func (s *session) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.notifications }

func (s *session) GetClientInfo() mcp.Implementation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info
}

func (s *session) SetClientInfo(info mcp.Implementation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.info = info
}

func (s *session) GetClientCapabilities() mcp.ClientCapabilities {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.capabilities
}

func (s *session) SetClientCapabilities(c mcp.ClientCapabilities) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.capabilities = c
}

func (s *session) ProtocolVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

func (s *session) SetProtocolVersion(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = version
}

// listen notes a subscriptions/listen request until end is called.
func (s *session) listen(m envelope) (end func()) {
	var p mcp.SubscriptionsListenParams
	_ = json.Unmarshal(m.Params, &p) // mcp-go answers one that cannot be read with an error
	id := m.ID
	s.mu.Lock()
	defer s.mu.Unlock()
	s.modern = true
	s.streams = append(s.streams, listening{id, p.Notifications})
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.streams = slices.DeleteFunc(s.streams, func(l listening) bool { return string(l.id) == string(id) })
	}
}

// SetSubscriptionFilter is mcp-go's word that a stream began or ended, without saying which: listen
// knows already.
func (s *session) SetSubscriptionFilter(mcp.SubscriptionFilter) {}

// SubscriptionFilter is what any of the streams wants to hear.
func (s *session) SubscriptionFilter() (mcp.SubscriptionFilter, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all mcp.SubscriptionFilter
	for _, l := range s.streams {
		all.ToolsListChanged = all.ToolsListChanged || l.filter.ToolsListChanged
		all.PromptsListChanged = all.PromptsListChanged || l.filter.PromptsListChanged
		all.ResourcesListChanged = all.ResourcesListChanged || l.filter.ResourcesListChanged
	}
	return all, s.modern
}

var (
	_ server.SessionWithClientInfo         = (*session)(nil)
	_ server.SessionWithProtocolVersion    = (*session)(nil)
	_ server.SessionWithSubscriptionFilter = (*session)(nil)
)

// Messages that the transport writes itself.
type (
	success struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}
	fault struct {
		JSONRPC string                  `json:"jsonrpc"`
		ID      json.RawMessage         `json:"id"`
		Error   mcp.JSONRPCErrorDetails `json:"error"`
	}
)

func failure(id json.RawMessage, code int, message string) any {
	return fault{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Error: mcp.JSONRPCErrorDetails{Code: code, Message: message}}
}

// outgoingKey marks an entry of the notification channel that is no notification.
const outgoingKey = "\x00out"

// outgoing wraps an answer, or a channel to close once all before it is written.
func outgoing(v any) mcp.JSONRPCNotification {
	var n mcp.JSONRPCNotification
	n.Params.AdditionalFields = map[string]any{outgoingKey: v}
	return n
}

// send queues an answer; it waits for room unless the client is gone.
func (c *conn) send(response any) {
	select {
	case c.session.notifications <- outgoing(response):
	case <-c.broken:
	case <-c.stopped:
	}
}

// write writes what is queued until the session stops or out fails.
func (c *conn) write() {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for {
		var n mcp.JSONRPCNotification
		select {
		case n = <-c.session.notifications:
		case <-c.stopped:
			return
		}
		messages := c.session.addressed(n)
		if v, ok := n.Params.AdditionalFields[outgoingKey]; ok {
			if flushed, ok := v.(chan struct{}); ok {
				close(flushed)
				continue
			}
			messages = []any{v}
		}
		b.Reset()
		for _, message := range messages {
			if err := enc.Encode(message); err != nil {
				c.log.Error("a message does not marshal", "error", err)
			}
		}
		if _, err := c.out.Write(b.Bytes()); err != nil {
			c.writeErr = err
			close(c.broken)
			return
		}
		if b.Cap() > 1<<20 { // one large answer shall not keep its room for ever
			b = bytes.Buffer{}
		}
	}
}

// addressed is a notification as it goes out: one that a list changed goes once to each stream that
// listens for it, with that request's id; any other as it is.
func (s *session) addressed(n mcp.JSONRPCNotification) []any {
	var wants func(mcp.SubscriptionFilter) bool
	switch n.Method {
	case mcp.MethodNotificationResourcesListChanged:
		wants = func(f mcp.SubscriptionFilter) bool { return f.ResourcesListChanged }
	case mcp.MethodNotificationToolsListChanged:
		wants = func(f mcp.SubscriptionFilter) bool { return f.ToolsListChanged }
	case mcp.MethodNotificationPromptsListChanged:
		wants = func(f mcp.SubscriptionFilter) bool { return f.PromptsListChanged }
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if wants == nil || !s.modern {
		return []any{n}
	}
	var out []any
	for _, l := range s.streams {
		if wants(l.filter) {
			tagged := n
			tagged.Params.Meta = map[string]any{mcp.MetaKeySubscriptionID: l.id}
			out = append(out, tagged)
		}
	}
	return out
}
