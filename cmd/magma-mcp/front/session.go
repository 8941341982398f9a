package front

import (
	"bytes"
	"encoding/json"
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

	mu           sync.Mutex
	info         mcp.Implementation
	capabilities mcp.ClientCapabilities
	version      string
	filter       *mcp.SubscriptionFilter // set while subscriptions/listen runs
	listenID     json.RawMessage
	modern       bool // spoke 2026-07-28 or later: hears only what it listens to
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

// listen notes the id of a subscriptions/listen request: what it brings is tagged with it.
func (s *session) listen(id json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listenID, s.modern = id, true
}

func (s *session) SetSubscriptionFilter(filter mcp.SubscriptionFilter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.filter = &filter
}

func (s *session) SubscriptionFilter() (mcp.SubscriptionFilter, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.filter == nil {
		return mcp.SubscriptionFilter{}, s.modern
	}
	return *s.filter, true
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
	}
}

// write writes what is queued until stopped is closed or out fails.
func (c *conn) write(stopped <-chan struct{}) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for {
		var n mcp.JSONRPCNotification
		select {
		case n = <-c.session.notifications:
		case <-stopped:
			return
		}
		var message any = n
		if v, ok := n.Params.AdditionalFields[outgoingKey]; ok {
			if flushed, ok := v.(chan struct{}); ok {
				close(flushed)
				continue
			}
			message = v
		} else {
			c.session.tag(&n)
			message = n
		}
		b.Reset()
		if err := enc.Encode(message); err != nil {
			c.log.Error("a message does not marshal", "error", err)
			continue
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

// tag marks a notification that a subscriptions/listen stream brought with that request's id.
func (s *session) tag(n *mcp.JSONRPCNotification) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listenID == nil || n.Method != mcp.MethodNotificationResourcesListChanged &&
		n.Method != mcp.MethodNotificationToolsListChanged && n.Method != mcp.MethodNotificationPromptsListChanged {
		return
	}
	meta := map[string]any{mcp.MetaKeySubscriptionID: s.listenID}
	for k, v := range n.Params.Meta {
		meta[k] = v
	}
	n.Params.Meta = meta
}
