package httpd

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/server"
	"golang.org/x/net/netutil"

	"github.com/magma-mcp/magma-mcp/memory"
	"github.com/magma-mcp/magma-mcp/tools"
)

// Options of New. MCP (with hooks) and, unless NoToken is set, Tokens are needed.
type Options struct {
	MCP    *server.MCPServer
	Tokens *Tokens
	// Scope is what the built-in token has: all projects, Scope.Project where a call names none. Named
	// tokens take its Zone.
	Scope tools.Scope

	Addr              string // "" is DefaultAddr
	CertFile, KeyFile string // both or neither; read again when they change
	// NoToken serves without a token, on loopback only: for test suites that cannot send one.
	NoToken bool
	// Hosts and Origins are further names that requests may carry: of a reverse proxy, of a web page.
	Hosts, Origins []string

	Limits  Limits
	Version string
	Log     *slog.Logger     // nil: discards
	Now     func() time.Time // nil: time.Now
	// Store says how the store is reached (owner, attached, ...) and what is wrong with it, if anything.
	// nil: always well.
	Store func() (role string, err error)
	// Watch tells of changes, so that what is forgotten leaves the replay buffer at once. May be nil.
	Watch func(context.Context) (<-chan memory.Change, error)
}

// DefaultAddr is loopback: nothing is served to other machines unless told so.
const DefaultAddr = "127.0.0.1:7749"

// Limits bound what clients can take. Zero fields take the value in the comment.
type Limits struct {
	// Body of one request: 8 MiB. Content of 1 MiB takes six where each of its characters is escaped.
	Body int64
	// Header of one request: 64 KiB.
	Header int
	// Connections open at once: 2,048.
	Connections int
	// Calls running at once: 256, then they queue; the store is saturated by a few dozen.
	Calls int
	// Sessions of streamable HTTP: 1,000. One more ends the one idle longest; its client starts anew.
	Sessions int
	// Streams of HTTP+SSE: 256.
	Streams int
	// Idle is how long a session lives without a request or an open stream: 30 minutes.
	Idle time.Duration
	// Call is how long one request may run: 2 minutes, twice what clients wait by default.
	Call time.Duration
	// Read and Write bound one body read and one write to the client: 30 seconds each.
	Read, Write time.Duration
	// Rate is requests a second for each token, with Burst at once: 1,000 and 2,000. A machine with two
	// cores serves fewer, so only a client run wild meets it, and waits up to a second before a 429.
	Rate  float64
	Burst int
	// Stop is how long calls under way may finish at the end: 10 seconds.
	Stop time.Duration
}

// DefaultLimits are the values in the comments.
func DefaultLimits() Limits { return Limits{}.withDefaults() }

func (l Limits) withDefaults() Limits {
	set(&l.Body, 8<<20)
	set(&l.Header, 64<<10)
	set(&l.Connections, 2048)
	set(&l.Calls, 256)
	set(&l.Sessions, 1000)
	set(&l.Streams, 256)
	set(&l.Idle, 30*time.Minute)
	set(&l.Call, 2*time.Minute)
	set(&l.Read, 30*time.Second)
	set(&l.Write, 30*time.Second)
	set(&l.Rate, 1000)
	set(&l.Burst, 2000)
	set(&l.Stop, 10*time.Second)
	return l
}

func set[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// heartbeat keeps intermediaries from closing a quiet stream and finds clients that are gone. Proxies
// cut after 60 seconds of silence as a rule.
const heartbeat = 25 * time.Second

// sseLinger is what HTTP+SSE clients get to read their last answers before the stream ends.
const sseLinger = 250 * time.Millisecond

// Server serves one MCP server over HTTP.
type Server struct {
	o        Options
	loopback bool
	handler  http.Handler
	stream   *server.StreamableHTTPServer
	sse      *server.SSEServer
	sessions *sessions
	events   *events
	limiters limiters
	metrics  *metrics
	slots    chan struct{}

	streams context.Context // ends what would run for ever
	end     context.CancelFunc

	mu       sync.Mutex
	stopping bool
	underWay int
	idle     chan struct{}  // closed when stopping and nothing is under way
	pending  map[string]int // answers that HTTP+SSE streams still owe
	flights  map[flight]*context.CancelFunc
	addr     net.Addr
}

// New builds the server; it listens only in Run. The error says which option is unwise or missing.
func New(o Options) (*Server, error) {
	if o.Addr == "" {
		o.Addr = DefaultAddr
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Store == nil {
		o.Store = func() (string, error) { return "", nil }
	}
	o.Limits = o.Limits.withDefaults()
	loopback, err := isLoopback(o.Addr)
	switch {
	case err != nil:
		return nil, fmt.Errorf("listen address %q: %w", o.Addr, err)
	case o.NoToken && !loopback:
		return nil, fmt.Errorf("refusing to serve %s without a token: anybody on the network could read and write every memory; drop --no-token, or serve on 127.0.0.1", o.Addr)
	case !o.NoToken && o.Tokens == nil:
		return nil, errors.New("no tokens given")
	case (o.CertFile == "") != (o.KeyFile == ""):
		return nil, errors.New("TLS needs both a certificate file and a key file")
	}
	s := &Server{
		o: o, loopback: loopback, idle: make(chan struct{}), pending: map[string]int{}, flights: map[flight]*context.CancelFunc{},
		slots:    make(chan struct{}, o.Limits.Calls),
		events:   newEvents(o.Now),
		limiters: limiters{rate: o.Limits.Rate, burst: o.Limits.Burst},
	}
	s.streams, s.end = context.WithCancel(context.Background())
	s.sessions = newSessions(o.Limits.Sessions, o.Limits.Idle, o.Now, s.dropSession)
	s.metrics = newMetrics(s)
	s.stream = server.NewStreamableHTTPServer(o.MCP,
		server.WithSessionIdManagerResolver(s.sessions),
		server.WithEventStore(s.events),
		server.WithHeartbeatInterval(heartbeat),
		server.WithDisableLocalhostProtection(true), // checked here, for every path and address
		server.WithStreamableHTTPLogger(quiet(o.Log)),
	)
	s.sse = server.NewSSEServer(o.MCP,
		server.WithSSEEndpoint("/sse"), server.WithMessageEndpoint("/sse/message"),
		server.WithUseFullURLForMessageEndpoint(false),
		server.WithKeepAlive(true), server.WithKeepAliveInterval(heartbeat),
		server.WithSSEDisableLocalhostProtection(true),
		server.WithSessionIDGenerator(s.sseSession),
	)
	if h := o.MCP.GetHooks(); h != nil {
		h.AddAfterCallTool(flushNotifications)
	}
	s.handler = s.routes()
	return s, nil
}

// Handler is everything that is served, for tests and for mounting elsewhere. Run is needed too.
func (s *Server) Handler() http.Handler { return s.handler }

// Addr is where Run listens, nil before.
func (s *Server) Addr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addr
}

// Run listens and serves until ctx ends; then it takes no more, lets calls under way finish, ends the
// streams, and returns nil.
func (s *Server) Run(ctx context.Context) error {
	ln, err := net.Listen("tcp", s.o.Addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w (is another magma-mcp serving there? choose another --http address)", s.o.Addr, err)
	}
	return s.Serve(ctx, ln)
}

// Serve is Run on a listener that is there already. It closes ln.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	s.mu.Lock()
	s.addr = ln.Addr()
	s.mu.Unlock()
	scheme := "http"
	ln = netutil.LimitListener(ln, s.o.Limits.Connections)
	hs := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    s.o.Limits.Header,
		ErrorLog:          slog.NewLogLogger(s.o.Log.Handler(), slog.LevelDebug),
	}
	if s.o.CertFile != "" {
		scheme = "https"
		certs := &certificate{certFile: s.o.CertFile, keyFile: s.o.KeyFile}
		if _, err := certs.get(nil); err != nil {
			ln.Close()
			return err
		}
		hs.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certs.get}
	}
	s.warn(scheme)
	s.o.Log.Info("serving MCP over HTTP", "streamable", fmt.Sprintf("%s://%s/mcp", scheme, s.addr), "sse", fmt.Sprintf("%s://%s/sse", scheme, s.addr))

	background, cancel := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	tasks.Go(func() { s.housekeep(background) })
	served := make(chan error, 1)
	tasks.Go(func() {
		if hs.TLSConfig != nil {
			served <- hs.ServeTLS(ln, "", "")
		} else {
			served <- hs.Serve(ln)
		}
	})
	var err error
	select {
	case err = <-served:
		err = fmt.Errorf("serve HTTP on %s: %w", s.addr, err)
	case <-ctx.Done():
	}
	s.stop(hs)
	cancel()
	tasks.Wait()
	return err
}

// warn says what is unusual about how it serves.
func (s *Server) warn(scheme string) {
	if s.o.NoToken {
		s.o.Log.Warn("serving without a token: every user and program of this machine can read, write and forget every memory; meant for test suites alone")
	}
	if !s.loopback && scheme == "http" {
		s.o.Log.Warn("serving other machines without TLS: tokens and memories cross the network readable; give --tls-cert and --tls-key, or put a TLS proxy before it")
	}
}

// stop ends serving in the order that loses nothing: no new connections, the calls under way, then the
// streams, on which the answers of HTTP+SSE calls still went out.
func (s *Server) stop(hs *http.Server) {
	limit, cancel := context.WithTimeout(context.Background(), s.o.Limits.Stop)
	defer cancel()
	s.mu.Lock()
	if !s.stopping {
		s.stopping = true
		if s.underWay == 0 {
			close(s.idle)
		}
	}
	s.mu.Unlock()
	down := make(chan struct{})
	go func() {
		defer close(down)
		hs.Shutdown(limit) // its error is the time-out, seen below
	}()
	select {
	case <-s.idle:
	case <-limit.Done():
		s.o.Log.Warn("calls still under way are cut off", "after", s.o.Limits.Stop)
	}
	s.mu.Lock()
	streaming := len(s.pending) > 0
	s.mu.Unlock()
	if streaming {
		// Clients of HTTP+SSE drop the answers that they have not looked at when their stream ends.
		select {
		case <-time.After(sseLinger):
		case <-limit.Done():
		}
	}
	s.end()
	s.sse.CloseSessions()
	s.stream.CloseSessions(limit)
	select {
	case <-down:
	case <-time.After(time.Second): // a stream whose client does not read
	}
	hs.Close()
	<-down
	// Sessions that began while the others were closed.
	s.sse.CloseSessions()
	s.stream.Shutdown(context.Background())
}

// housekeep drops idle sessions and what is too old to be replayed, until ctx ends.
func (s *Server) housekeep(ctx context.Context) {
	var changes <-chan memory.Change
	if s.o.Watch != nil {
		var err error
		if changes, err = s.o.Watch(ctx); err != nil {
			changes = nil
			s.o.Log.Debug("changes are not told", "error", err)
		}
	}
	tick := time.NewTicker(min(30*time.Second, s.o.Limits.Idle))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.sessions.sweep()
			s.events.expire()
		case c, ok := <-changes:
			if !ok {
				changes = nil
			} else if c.Kind == "forgotten" || c.Lost {
				s.events.clear()
			}
		case <-ctx.Done():
			s.events.clear()
			return
		}
	}
}

// dropSession makes mcp-go let go of a session: it has no other door for that.
func (s *Server) dropSession(id string) {
	r, err := http.NewRequestWithContext(withCaller(context.Background(), caller{admin: true}), http.MethodDelete, "/mcp", nil)
	if err != nil {
		return // a constant request
	}
	r.Header.Set(server.HeaderKeySessionID, id)
	s.stream.ServeHTTP(discard{}, r)
}

// begin counts a call in; end counts it out. false: the server is stopping.
func (s *Server) beginCall() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return false
	}
	s.underWay++
	return true
}

func (s *Server) endCalls(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n == 0 {
		return
	}
	if s.underWay -= n; s.underWay == 0 && s.stopping {
		close(s.idle)
	}
}

// health is /healthz: open to all, so it says little.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	stopping := s.stopping
	s.mu.Unlock()
	role, err := s.o.Store()
	status, code := "ok", http.StatusOK
	if err != nil {
		status, code = "store unavailable", http.StatusServiceUnavailable
	}
	if stopping {
		status, code = "stopping", http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(map[string]string{"status": status, "store": role, "version": s.o.Version})
}

// certificate reads its files again when they change, so that a renewal needs no restart.
type certificate struct {
	certFile, keyFile string

	mu     sync.Mutex
	cert   *tls.Certificate
	loaded time.Time
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fi, err := os.Stat(c.certFile)
	if c.cert != nil && (err != nil || fi.ModTime().Equal(c.loaded)) {
		return c.cert, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the TLS certificate: %w", err)
	}
	cert, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		if c.cert != nil {
			return c.cert, nil // half of a renewal: the key comes next
		}
		return nil, fmt.Errorf("read the TLS certificate and key: %w", err)
	}
	c.cert, c.loaded = &cert, fi.ModTime()
	return c.cert, nil
}
