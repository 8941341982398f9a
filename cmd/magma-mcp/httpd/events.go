package httpd

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

const (
	// eventsBytes, eventsCount and eventsAge bound what is kept for clients whose connection broke. They
	// come back within seconds; what is kept longer is memory text in a place that forget does not reach
	// by itself. Five megabyte answers and some thousand notifications fit.
	eventsBytes = 16 << 20
	eventsCount = 4096
	eventsAge   = 2 * time.Minute
)

// events is mcp-go's EventStore: without one it loses most notifications sent during a call, and its own
// keeps every answer until the session ends. This one keeps the newest, of all sessions together.
type events struct {
	now func() time.Time

	mu    sync.Mutex
	seq   int64
	bytes int
	kept  []event // by seq
}

type event struct {
	seq             int64
	session, stream string
	at              time.Time
	message         json.RawMessage
}

func newEvents(now func() time.Time) *events { return &events{now: now} }

func (s *events) StoreEvent(_ context.Context, session, stream string, message json.RawMessage) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	now := s.now()
	s.kept = append(s.kept, event{s.seq, session, stream, now, slices.Clone(message)})
	s.bytes += len(message)
	s.trim(now)
	return strconv.FormatInt(s.seq, 10), nil
}

// trim drops the oldest while there is too much; s.mu is held.
func (s *events) trim(now time.Time) {
	n := 0
	for n < len(s.kept) && (s.bytes > eventsBytes || len(s.kept)-n > eventsCount || now.Sub(s.kept[n].at) > eventsAge) {
		s.bytes -= len(s.kept[n].message)
		n++
	}
	s.kept = slices.Delete(s.kept, 0, n) // clears what it leaves behind
}

// ReplayEventsAfter replays what is left. A gap, where something after last was dropped, is an error: a
// client that is told of it asks anew, one that is not would miss something.
func (s *events) ReplayEventsAfter(_ context.Context, session, last string, send func(string, json.RawMessage) error) (string, error) {
	seq, err := strconv.ParseInt(last, 10, 64)
	if err != nil {
		return "", fmt.Errorf("%w: not one of ours", server.ErrUnknownEventID)
	}
	s.mu.Lock()
	i, found := slices.BinarySearchFunc(s.kept, seq, func(e event, seq int64) int { return int(e.seq - seq) })
	if !found || s.kept[i].session != session {
		s.mu.Unlock()
		return "", fmt.Errorf("%w: too old, or of another session", server.ErrUnknownEventID)
	}
	stream := s.kept[i].stream
	var after []event
	for _, e := range s.kept[i+1:] {
		if e.session == session && e.stream == stream {
			after = append(after, e)
		}
	}
	s.mu.Unlock()
	for _, e := range after {
		if err := send(strconv.FormatInt(e.seq, 10), e.message); err != nil {
			return "", err
		}
	}
	return stream, nil
}

func (s *events) PurgeSession(_ context.Context, session string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = slices.DeleteFunc(s.kept, func(e event) bool {
		if e.session == session {
			s.bytes -= len(e.message)
			return true
		}
		return false
	})
	return nil
}

func (s *events) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trim(s.now())
}

// clear drops all: something was forgotten, and any answer kept may hold it.
func (s *events) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept, s.bytes = nil, 0
}
