package httpd

import (
	"container/list"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/mark3labs/mcp-go/server"
)

// sessions knows every session of streamable HTTP, and whose it is. mcp-go's own managers either accept
// any id for ever or keep every ended one; here a session ends by DELETE, by being idle, or by being the
// longest idle one when there are too many, and then its id is unknown.
//
// It is the resolver that mcp-go asks for a manager with every request, because a manager alone would
// not see who asks.
type sessions struct {
	most int
	idle time.Duration
	now  func() time.Time
	drop func(id string) // tells mcp-go; called without the lock

	mu    sync.Mutex
	by    map[string]*list.Element
	order *list.List        // of *session, the last used first
	sse   map[string]string // HTTP+SSE sessions: id -> token; they live as long as their stream
}

type session struct {
	id, token string
	used      time.Time
	open      int // requests and streams
}

func newSessions(most int, idle time.Duration, now func() time.Time, drop func(string)) *sessions {
	return &sessions{most: most, idle: idle, now: now, drop: drop, by: map[string]*list.Element{}, order: list.New(), sse: map[string]string{}}
}

// ResolveSessionIdManager is mcp-go's. A nil request is mcp-go itself, closing down.
func (s *sessions) ResolveSessionIdManager(r *http.Request) server.SessionIdManager {
	c := caller{admin: true}
	if r != nil {
		c = callerOf(r.Context())
	}
	return manager{s, c}
}

type manager struct {
	s *sessions
	c caller
}

// Generate begins a session of the caller's token.
func (m manager) Generate() string {
	id := "mcp-session-" + uuid.NewString()
	s := m.s
	s.mu.Lock()
	var out []string
	for e := s.order.Back(); e != nil && s.order.Len() >= s.most; {
		before := e.Prev()
		if v := e.Value.(*session); v.open == 0 {
			out = append(out, v.id)
			s.remove(e)
		}
		e = before
	}
	s.by[id] = s.order.PushFront(&session{id: id, token: m.c.token, used: s.now()})
	s.mu.Unlock()
	for _, old := range out {
		s.drop(old)
	}
	return id
}

func (m manager) Validate(id string) (terminated bool, err error) {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	if e := m.s.by[id]; e != nil && (m.c.admin || e.Value.(*session).token == m.c.token) {
		return false, nil
	}
	return false, errors.New("unknown session")
}

func (m manager) Terminate(id string) (notAllowed bool, err error) {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	if e := m.s.by[id]; e != nil && (m.c.admin || e.Value.(*session).token == m.c.token) {
		m.s.remove(e)
	}
	return false, nil
}

// remove takes a session out; s.mu is held.
func (s *sessions) remove(e *list.Element) {
	delete(s.by, e.Value.(*session).id)
	s.order.Remove(e)
}

// enter marks a session as in use by one request more, if it is the caller's.
func (s *sessions) enter(c caller, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.by[id]
	if e == nil || e.Value.(*session).token != c.token {
		return false
	}
	v := e.Value.(*session)
	v.open++
	v.used = s.now()
	s.order.MoveToFront(e)
	return true
}

func (s *sessions) leave(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.by[id]; e != nil {
		v := e.Value.(*session)
		v.open--
		v.used = s.now()
		s.order.MoveToFront(e)
	}
}

// sweep ends the sessions that were idle too long.
func (s *sessions) sweep() {
	s.mu.Lock()
	old := s.now().Add(-s.idle)
	var out []string
	for e := s.order.Back(); e != nil; {
		before := e.Prev()
		v := e.Value.(*session)
		if !v.used.Before(old) {
			break // sorted by use
		}
		if v.open == 0 {
			out = append(out, v.id)
			s.remove(e)
		}
		e = before
	}
	s.mu.Unlock()
	for _, id := range out {
		s.drop(id)
	}
}

func (s *sessions) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.order.Len()
}

func (s *sessions) claim(c caller, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sse[id] = c.token
}

func (s *sessions) release(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sse, id)
}

func (s *sessions) owns(c caller, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	token, ok := s.sse[id]
	return ok && token == c.token
}
