package httpd

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestSessionsBelongToTheirTokenAndEnd(t *testing.T) {
	r := serve(t, Options{Limits: Limits{Sessions: 3}})
	other, err := r.tokens.Add(Token{Name: "other", Projects: []string{"*"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	list := `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	status := func(method, id string, headers ...string) int {
		t.Helper()
		body := ""
		if method == "POST" {
			body = list
		}
		resp := r.request(method, "/mcp", body, append([]string{"Mcp-Session-Id", id}, headers...)...)
		resp.Body.Close()
		return resp.StatusCode
	}
	id := r.session()
	if got := status("POST", id); got != 200 {
		t.Fatalf("its own session: %d", got)
	}
	for _, method := range []string{"POST", "GET", "DELETE"} {
		if got := status(method, id, "Authorization", "Bearer "+other); got != 404 {
			t.Errorf("%s on another token's session: %d", method, got)
		}
		if got := status(method, "mcp-session-6ba7b810-9dad-11d1-80b4-00c04fd430c8"); got != 404 {
			t.Errorf("%s on an invented session: %d", method, got)
		}
	}
	if got := status("GET", ""); got != 400 {
		t.Errorf("a stream without a session: %d", got)
	}
	if got := status("DELETE", id); got != 200 {
		t.Errorf("end: %d", got)
	}
	if got := status("POST", id); got != 404 {
		t.Errorf("after its end: %d", got)
	}
	first := r.session()
	stream := r.request("GET", "/mcp", "", "Mcp-Session-Id", first) // in use: it is not the one to go
	if stream.StatusCode != 200 {
		t.Fatalf("stream: %s", stream.Status)
	}
	second := r.session()
	r.session()
	r.session()
	if got := status("POST", first); got != 200 {
		t.Errorf("a session with an open stream was ended: %d", got)
	}
	if got := status("POST", second); got != 404 {
		t.Errorf("the longest idle session lives on beyond the limit: %d", got)
	}
	if n := r.sessions.count(); n != 3 {
		t.Errorf("%d sessions, want 3", n)
	}
}

func TestIdleSessionsEnd(t *testing.T) {
	var now atomic.Int64
	clock := func() time.Time { return time.Unix(now.Load(), 0) }
	var dropped []string
	s := newSessions(10, time.Minute, clock, func(id string) { dropped = append(dropped, id) })
	m := manager{s, caller{}}
	a, b := m.Generate(), m.Generate()
	s.enter(caller{}, a)
	now.Add(120)
	s.sweep()
	if len(dropped) != 1 || dropped[0] != b {
		t.Errorf("dropped %v, want [%s]", dropped, b)
	}
	s.leave(a)
	s.sweep()
	if _, err := m.Validate(a); err != nil {
		t.Error("a session just used was ended")
	}
	now.Add(61)
	s.sweep()
	if _, err := m.Validate(a); err == nil {
		t.Error("an idle session lives on")
	}
}

func TestEventsAreBounded(t *testing.T) {
	var now atomic.Int64
	s := newEvents(func() time.Time { return time.Unix(now.Load(), 0) })
	put := func(session, stream, text string) string {
		id, err := s.StoreEvent(t.Context(), session, stream, json.RawMessage(text))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	replay := func(session, last string) (out []string, err error) {
		_, err = s.ReplayEventsAfter(t.Context(), session, last, func(_ string, m json.RawMessage) error {
			out = append(out, string(m))
			return nil
		})
		return out, err
	}
	first := put("a", "1", `"one"`)
	put("a", "2", `"other stream"`)
	put("b", "1", `"other session"`)
	put("a", "1", `"two"`)
	if got, err := replay("a", first); err != nil || fmt.Sprint(got) != `["two"]` {
		t.Errorf("replay %v, %v", got, err)
	}
	if _, err := replay("b", first); err == nil {
		t.Error("one session replays another's")
	}
	for range 100 {
		put("a", "1", `"`+strings.Repeat("x", 1<<20)+`"`)
	}
	if s.bytes > eventsBytes {
		t.Errorf("%d bytes are kept", s.bytes)
	}
	if _, err := replay("a", first); err == nil {
		t.Error("a gap is not told")
	}
	now.Add(int64(eventsAge/time.Second) + 1)
	s.expire()
	if len(s.kept) != 0 || s.bytes != 0 {
		t.Errorf("%d old events, %d bytes are kept", len(s.kept), s.bytes)
	}
	put("a", "1", `"secret"`)
	s.clear()
	if len(s.kept) != 0 {
		t.Error("events outlive a forgetting")
	}
}

func TestManySessionsStayFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("opens thousands of sessions")
	}
	r := serve(t, Options{Limits: Limits{Sessions: 100, Rate: 1e6, Burst: 1e6}})
	open := func(n int) {
		for range n {
			resp := r.request("POST", "/mcp", initialize)
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse
	}
	open(200)
	before := heap()
	open(2000)
	after := heap()
	t.Logf("2,000 sessions opened and dropped: heap %d kB -> %d kB", before>>10, after>>10)
	if after > before+12<<20 { // they were 14 kB each; 8 MB are what the test keeps of its responses
		t.Errorf("the heap grew from %d to %d", before, after)
	}
}
