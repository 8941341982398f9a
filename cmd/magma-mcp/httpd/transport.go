package httpd

import (
	"context"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// serveStreamable is /mcp.
func (s *Server) serveStreamable(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(server.HeaderKeySessionID)
	modern := mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion))
	var m message
	if r.Method == http.MethodPost {
		var ok bool
		if m, modern, ok = s.readBody(w, r); !ok {
			return
		}
	}
	if !modern {
		switch {
		case id != "":
			// mcp-go would open a stream to any session and end any session, whosever it is.
			if !s.sessions.enter(callerOf(r.Context()), id) {
				http.Error(w, "Session not found: it ended or is not this token's; begin with initialize", http.StatusNotFound)
				return
			}
			defer s.sessions.leave(id)
		case r.Method == http.MethodGet || r.Method == http.MethodDelete:
			http.Error(w, "Mcp-Session-Id is missing: begin with initialize", http.StatusBadRequest)
			return
		}
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	lasting := r.Method == http.MethodGet || m.Method == string(mcp.MethodSubscriptionsListen)
	switch {
	case lasting:
		defer context.AfterFunc(s.streams, cancel)()
		s.metrics.streams.Inc()
		defer s.metrics.streams.Dec()
	case r.Method == http.MethodPost:
		if !s.beginCall() {
			s.busy(w, "stopping")
			return
		}
		defer s.endCalls(1)
		if m.request() {
			if !s.slot(ctx) {
				s.busy(w, "calls")
				return
			}
			defer func() { <-s.slots }()
			defer s.metrics.call(m)()
			var stop context.CancelFunc
			ctx, stop = context.WithTimeout(ctx, s.o.Limits.Call)
			defer stop()
			if id != "" {
				defer s.cancellable(id, m.ID, stop)()
			}
		} else if m.Method == string(mcp.MethodNotificationCancelled) && id != "" {
			s.cancelled(id, m.Params.RequestID)
		}
	}
	out := s.newWriter(w, modern)
	s.stream.ServeHTTP(out, r.WithContext(context.WithValue(ctx, writerKey{}, out)))
	if !out.sent && ctx.Err() != nil {
		out.WriteHeader(http.StatusAccepted) // mcp-go answers nothing then; nobody waits for more
	}
	out.finish()
}

// flight names a call under way: ids are unique within a session alone.
type flight struct{ session, id string }

// cancellable lets notifications/cancelled end a call, which mcp-go does not do over HTTP: a client that
// gives up need not close the connection. The returned function takes the call out again.
func (s *Server) cancellable(session string, id []byte, stop context.CancelFunc) func() {
	key := flight{session, string(id)}
	entry := &stop
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flights[key] = entry
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.flights[key] == entry { // an id used twice: the later one's
			delete(s.flights, key)
		}
	}
}

func (s *Server) cancelled(session string, id []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stop := s.flights[flight{session, string(id)}]; stop != nil {
		(*stop)()
	}
}

type sseKey struct{}

// serveSSE is the stream of HTTP+SSE at /sse.
func (s *Server) serveSSE(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		// A client of streamable HTTP that tries this address learns from a 405 that it is the older transport.
		w.Header().Set("Allow", "GET")
		http.Error(w, "Method not allowed: /sse is the HTTP+SSE transport; streamable HTTP is at /mcp", http.StatusMethodNotAllowed)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.streams, cancel)()
	id := "sse-" + uuid.NewString()
	if !s.beginSSE(id, callerOf(ctx)) {
		s.busy(w, "streams")
		return
	}
	defer s.endSSE(id)
	s.metrics.streams.Inc()
	defer s.metrics.streams.Dec()
	out := s.newWriter(w, false)
	out.answered = func() { s.answered(id) }
	w.Header().Set("X-Accel-Buffering", "no")
	s.sse.SSEHandler().ServeHTTP(out, r.WithContext(context.WithValue(ctx, sseKey{}, id)))
	out.finish()
}

// sseSession gives mcp-go the id that serveSSE chose.
func (s *Server) sseSession(ctx context.Context, _ *http.Request) (string, error) {
	id, _ := ctx.Value(sseKey{}).(string)
	return id, nil
}

// serveMessage takes a message of HTTP+SSE; its answer goes out on the stream.
func (s *Server) serveMessage(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		http.Error(w, "Method not allowed", http.StatusMethodNotAllowed)
		return
	}
	if media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); !strings.EqualFold(strings.TrimSpace(media), "application/json") {
		http.Error(w, "Content-Type has to be application/json", http.StatusUnsupportedMediaType)
		return
	}
	m, _, ok := s.readBody(w, r)
	if !ok {
		return
	}
	id := r.URL.Query().Get("sessionId")
	switch s.message(id, callerOf(r.Context()), m.request()) {
	case messageUnknown:
		http.Error(w, "Session not found: its stream ended or is not this token's; open /sse again", http.StatusNotFound)
		return
	case messageStopping:
		s.busy(w, "stopping")
		return
	}
	if m.request() {
		defer s.metrics.call(m)()
	}
	s.sse.MessageHandler().ServeHTTP(w, r)
}

// The answers of HTTP+SSE come long after the request that asked for them, so that what is under way is
// counted by stream: up when a request is taken, down when an answer has been written.

func (s *Server) beginSSE(id string, c caller) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping || len(s.pending) >= s.o.Limits.Streams {
		return false
	}
	s.pending[id] = 0
	s.sessions.claim(c, id)
	return true
}

func (s *Server) endSSE(id string) {
	s.mu.Lock()
	n := s.pending[id]
	delete(s.pending, id)
	s.mu.Unlock()
	s.sessions.release(id)
	s.endCalls(n)
}

const (
	messageTaken = iota
	messageUnknown
	messageStopping
)

func (s *Server) message(id string, c caller, counts bool) int {
	if !s.sessions.owns(c, id) {
		return messageUnknown
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.pending[id]
	switch {
	case !ok:
		return messageUnknown
	case s.stopping:
		return messageStopping
	}
	if counts {
		s.pending[id] = n + 1
		s.underWay++
	}
	return messageTaken
}

func (s *Server) answered(id string) {
	s.mu.Lock()
	n := s.pending[id]
	if n > 0 {
		s.pending[id] = n - 1
	}
	s.mu.Unlock()
	if n > 0 {
		s.endCalls(1)
	}
}
