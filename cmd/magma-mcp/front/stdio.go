package front

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/magma-mcp/magma-mcp/tools"
)

// Bounds of a stdio session.
const (
	// maxLine is the longest message read. A memory of 1 MiB takes 6 MiB where every character of it is
	// escaped; more than ten times that is a mistake, and would only fill the machine's memory.
	maxLine = 64 << 20
	// maxRunning is how many requests run at once: twice what saturates the store's group commit.
	maxRunning = 32
	// maxPending is how many requests may wait before reading pauses, where a long one counts as one more
	// for every slotBytes: 128 MiB in all, two of the longest.
	maxPending = 4096
	slotBytes  = 32 << 10
	// drainEOF is how long requests may run on after stdin has ended, drainSignal after a signal, and
	// drainLast what cancelled ones get to notice. Together with closing the store they stay under the
	// ten seconds after which a client kills a server.
	drainEOF    = 8 * time.Second
	drainSignal = 2 * time.Second
	drainLast   = 500 * time.Millisecond
)

// ServeStdio speaks MCP over in and out, one JSON message a line, until in ends, ctx ends or out is
// broken. Every request read gets its answer, also after in has ended. Writes of the session happen in
// the order they were sent, and a read sees the writes sent before it. nil is a clean end.
//
// It reads in on a goroutine that ends with in: where ctx ends first, close in to end it.
func ServeStdio(ctx context.Context, s *server.MCPServer, in io.Reader, out io.Writer, log *slog.Logger) error {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := &conn{
		server:  s,
		session: newSession(),
		log:     log,
		out:     out,
		broken:  make(chan struct{}),
		running: make(chan struct{}, maxRunning),
		pending: make(chan struct{}, maxPending),
		flight:  map[string]*inFlight{},
		written: closed(),
		stopped: make(chan struct{}),
	}
	defer close(c.stopped)
	if err := s.RegisterSession(ctx, c.session); err != nil {
		return fmt.Errorf("begin a stdio session: %w", err)
	}
	defer s.UnregisterSession(context.WithoutCancel(ctx), c.session.SessionID())

	work, cancel := context.WithCancel(s.WithContext(context.WithoutCancel(ctx), c.session))
	defer cancel()
	go c.write()

	lines := make(chan line)
	go readLines(in, lines, c.stopped)
	drain, err := drainSignal, error(nil)
read:
	for {
		select {
		case l, ok := <-lines:
			if !ok {
				drain = drainEOF
				break read
			}
			if l.err != nil {
				if !errors.Is(l.err, io.EOF) {
					log.Warn("standard input ended", "error", l.err)
				}
				continue
			}
			c.take(work, l)
		case <-ctx.Done():
			break read
		case <-c.broken:
			drain, err = 0, c.writeErr
			break read
		}
	}
	c.endStreams()
	done := c.drained()
	if !within(done, drain) {
		cancel()
		if !within(done, drainLast) {
			log.Warn("stopped with requests unanswered")
		}
	}
	return err
}

// conn is one stdio session.
type conn struct {
	server  *server.MCPServer
	session *session
	log     *slog.Logger
	out     io.Writer

	stopped  chan struct{} // closed when ServeStdio returns
	broken   chan struct{} // closed when out failed
	writeErr error         // set before broken is closed

	running, pending chan struct{}
	requests         sync.WaitGroup

	mu      sync.Mutex
	flight  map[string]*inFlight
	written chan struct{} // closed when every write sent so far has been answered
}

// inFlight is a request that has no answer yet.
type inFlight struct {
	cancel    context.CancelFunc
	stream    bool // subscriptions/listen: ends only by being cancelled
	cancelled bool // by the client, which then expects no answer
}

// line is one line of input; long marks one over maxLine, of which text holds the beginning.
type line struct {
	text []byte
	long bool
	err  error
}

// readLines sends each line of in, and closes lines at its end.
func readLines(in io.Reader, lines chan<- line, stopped <-chan struct{}) {
	defer close(lines)
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		var l line
		for {
			part, err := r.ReadSlice('\n')
			if len(l.text)+len(part) <= maxLine {
				l.text = append(l.text, part...)
			} else {
				l.long = true
			}
			if err == bufio.ErrBufferFull {
				continue
			}
			l.err = err
			break
		}
		failed := l.err
		if len(bytes.TrimSpace(l.text)) > 0 { // a last line may lack its newline
			l.err = nil
			select {
			case lines <- l:
			case <-stopped:
				return
			}
		}
		if failed != nil {
			if failed != io.EOF {
				select {
				case lines <- line{err: failed}:
				case <-stopped:
				}
			}
			return
		}
	}
}

// envelope is what the transport has to know of a message.
type envelope struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  *string         `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

var null = json.RawMessage("null")

// take begins to answer one line.
func (c *conn) take(ctx context.Context, l line) {
	text := bytes.TrimSpace(l.text)
	if l.long {
		c.send(failure(idOf(text), mcp.INVALID_REQUEST, fmt.Sprintf("the message is over %d MiB", maxLine>>20)))
		return
	}
	if text[0] == '[' {
		c.takeBatch(ctx, text)
		return
	}
	m, bad := open(text)
	if bad != nil {
		c.send(bad)
		return
	}
	if m.ID == nil {
		c.notified(ctx, m, text)
		return
	}
	c.start(ctx, m.ID, m.needs(), len(text), func(ctx context.Context) any { return c.answer(ctx, m, text) })
}

// takeBatch answers a JSON-RPC batch, which protocol version 2025-03-26 has, with one array.
func (c *conn) takeBatch(ctx context.Context, text []byte) {
	var items []json.RawMessage
	if err := json.Unmarshal(text, &items); err != nil {
		c.send(failure(null, mcp.PARSE_ERROR, "not JSON"))
		return
	}
	if len(items) == 0 {
		c.send(failure(null, mcp.INVALID_REQUEST, "an empty batch"))
		return
	}
	needs := free
	for _, item := range items {
		if m, bad := open(item); bad == nil {
			needs = max(needs, m.needs())
		}
	}
	c.start(ctx, nil, min(needs, write), len(text), func(ctx context.Context) any {
		var answers []any
		for _, item := range items {
			m, bad := open(item)
			switch {
			case bad != nil:
				answers = append(answers, bad)
			case m.ID == nil:
				c.notified(ctx, m, item)
			case m.needs() == stream:
				answers = append(answers, failure(m.ID, mcp.INVALID_REQUEST, *m.Method+" cannot be part of a batch"))
			default:
				answers = append(answers, c.answer(ctx, m, item))
			}
		}
		if len(answers) == 0 {
			return nil
		}
		return answers
	})
}

// open reads a message's envelope; bad is the answer to one that is no JSON-RPC message. A
// notification has a nil ID.
func open(text []byte) (m envelope, bad any) {
	if err := json.Unmarshal(text, &m); err != nil {
		if json.Valid(text) {
			return m, failure(idOf(text), mcp.INVALID_REQUEST, "not a JSON-RPC request object")
		}
		return m, failure(null, mcp.PARSE_ERROR, "not JSON")
	}
	isResponse := m.Result != nil || m.Error != nil
	switch {
	case m.Method == nil && isResponse:
		m.ID = nil // an answer to something: nothing was asked
		return m, nil
	case m.Method == nil:
		return m, failure(idOr(m.ID), mcp.INVALID_REQUEST, "method is missing")
	case string(m.ID) == "null" && !strings.HasPrefix(*m.Method, "notifications/"):
		return m, failure(null, mcp.INVALID_REQUEST, "id has to be a string or a number")
	case string(m.ID) == "null":
		m.ID = nil
	case m.ID != nil && (m.ID[0] == '{' || m.ID[0] == '[' || m.ID[0] == 't' || m.ID[0] == 'f'):
		return m, failure(null, mcp.INVALID_REQUEST, "id has to be a string or a number")
	}
	if m.ID != nil && *m.Method != string(mcp.MethodToolsCall) { // a tool complains in its own words
		if bad := tools.BadText(text); bad != "" {
			return m, failure(m.ID, mcp.INVALID_PARAMS, bad+"; send the text as valid UTF-8")
		}
	}
	return m, nil
}

func idOr(id json.RawMessage) json.RawMessage {
	if len(id) == 0 {
		return null
	}
	return id
}

// idOf finds the id near the beginning of a message that cannot be read whole.
func idOf(text []byte) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return null
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return null
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return null
		}
		if key == "id" && (value[0] == '"' || value[0] == '-' || value[0] >= '0' && value[0] <= '9') {
			return value
		}
	}
	return null
}

// need orders requests: what one has to wait for.
type need int

const (
	free   need = iota // touches no memory: at once
	read               // after the writes sent before it
	write              // after those too, and before every read and write sent after it
	stream             // runs until it is cancelled
)

func (m envelope) needs() need {
	if m.Method == nil {
		return free
	}
	switch mcp.MCPMethod(*m.Method) {
	case mcp.MethodInitialize: // it says who writes
		return write
	case mcp.MethodToolsCall:
		var p struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(m.Params, &p) == nil && (p.Name == "remember" || p.Name == "forget") {
			return write
		}
		return read
	case mcp.MethodResourcesRead, mcp.MethodPromptsGet, mcp.MethodCompletionComplete:
		return read
	case mcp.MethodSubscriptionsListen:
		return stream
	}
	return free
}

// start runs a request on a goroutine of its own and sends what run answers, in the order its need
// asks for. size is that of its message. It blocks while too many wait.
func (c *conn) start(ctx context.Context, id json.RawMessage, needs need, size int, run func(context.Context) any) {
	slots := 1 + size/slotBytes
	if needs == stream {
		slots = 0 // it would hold them for ever
	}
	for range slots { // one goroutine takes them all, so two requests cannot wait for each other
		select {
		case c.pending <- struct{}{}:
		case <-c.broken:
			return
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	f := &inFlight{cancel: cancel, stream: needs == stream}
	key := string(id)
	c.mu.Lock()
	if id != nil {
		c.flight[key] = f
	}
	before := c.written
	var mine chan struct{}
	if needs == write {
		mine = make(chan struct{})
		c.written = mine
	}
	c.mu.Unlock()

	c.requests.Go(func() {
		defer cancel()
		defer func() {
			for range slots {
				<-c.pending
			}
		}()
		if mine != nil {
			defer close(mine)
		}
		if needs == read || needs == write {
			select {
			case <-before:
			case <-ctx.Done():
				if mine != nil {
					<-before // the next one relies on it
				}
			}
			c.running <- struct{}{}
			defer func() { <-c.running }()
		}
		response := run(ctx)
		c.mu.Lock()
		if c.flight[key] == f {
			delete(c.flight, key)
		}
		silent := f.cancelled && needs != write
		c.mu.Unlock()
		if response != nil && !silent {
			c.send(response)
		}
	})
}

// answer asks mcp-go, and gives its answer the request's id as it came: a large number would lose
// digits on the way.
func (c *conn) answer(ctx context.Context, m envelope, text []byte) (response any) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("panic", "doing", *m.Method, "panic", fmt.Sprintf("%T", p))
			response = failure(m.ID, mcp.INTERNAL_ERROR, "internal error, a bug in magma-mcp")
		}
	}()
	if m.needs() == stream {
		defer c.session.listen(m)()
	}
	switch r := c.server.HandleMessage(ctx, text).(type) {
	case mcp.JSONRPCResponse:
		return success{JSONRPC: mcp.JSONRPC_VERSION, ID: m.ID, Result: r.Result}
	case mcp.JSONRPCError:
		return fault{JSONRPC: mcp.JSONRPC_VERSION, ID: m.ID, Error: Mend(r.Error, modern(m.Params))}
	default:
		return nil
	}
}

// modern reports whether params say protocol version 2026-07-28 or later.
func modern(params json.RawMessage) bool {
	var p struct {
		Meta *mcp.Meta `json:"_meta"`
	}
	return json.Unmarshal(params, &p) == nil && mcp.IsModernProtocol(p.Meta.ProtocolVersion())
}

// notified handles a notification, and ignores an answer to nothing.
func (c *conn) notified(ctx context.Context, m envelope, text []byte) {
	if m.Method == nil {
		return
	}
	if *m.Method == string(mcp.MethodNotificationCancelled) {
		var p struct {
			RequestID json.RawMessage `json:"requestId"`
		}
		if json.Unmarshal(m.Params, &p) == nil {
			c.mu.Lock()
			if f := c.flight[string(p.RequestID)]; f != nil {
				f.cancelled = !f.stream // a stream ends with its result
				f.cancel()
			}
			c.mu.Unlock()
		}
		return
	}
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("panic", "doing", *m.Method, "panic", fmt.Sprintf("%T", p))
		}
	}()
	c.server.HandleMessage(ctx, text)
}

// endStreams ends what would otherwise run for ever.
func (c *conn) endStreams() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.flight {
		if f.stream {
			f.cancel()
		}
	}
}

// drained returns a channel that is closed once every request was answered and the answers written, or
// can no longer be.
func (c *conn) drained() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.requests.Wait()
		flushed := make(chan struct{})
		select {
		case c.session.notifications <- outgoing(flushed):
		case <-c.broken:
			return
		case <-c.stopped:
			return
		}
		select {
		case <-flushed:
		case <-c.broken:
		case <-c.stopped:
		}
	}()
	return done
}

// within reports whether done is closed within d.
func within(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}
