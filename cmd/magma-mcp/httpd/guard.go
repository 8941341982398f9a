package httpd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"golang.org/x/time/rate"

	"github.com/magma-mcp/magma-mcp/tools"
)

// ProjectHeader names the project of a call that names none, percent-encoded where it is not ASCII.
const ProjectHeader = "Magma-Project"

// caller is who sent a request: the name of its token, "" for the built-in one.
type caller struct {
	token string
	admin bool // this package itself
}

type callerKey struct{}

func withCaller(ctx context.Context, c caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.health)
	mux.Handle("GET /metrics", s.authenticated(s.metrics.handler()))
	mux.Handle("/mcp", s.authenticated(http.HandlerFunc(s.serveStreamable)))
	mux.Handle("/sse", s.authenticated(http.HandlerFunc(s.serveSSE)))
	mux.Handle("/sse/message", s.authenticated(http.HandlerFunc(s.serveMessage)))
	return s.observe(s.sameSite(mux))
}

// sameSite refuses what a foreign web page could make a browser send: a Host that is not ours (a name
// rebound to this machine) and an Origin that is not ours. The specification wants a 403.
func (s *Server) sameSite(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		if !s.hostAllowed(r.Host) {
			s.metrics.refused.WithLabelValues("host").Inc()
			http.Error(w, "Forbidden: this Host is not served here", http.StatusForbidden)
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" {
			if !s.originAllowed(origin, r) {
				s.metrics.refused.WithLabelValues("origin").Inc()
				http.Error(w, "Forbidden: this Origin is not allowed; --origin adds one", http.StatusForbidden)
				return
			}
			h.Set("Access-Control-Allow-Origin", origin)
			h.Add("Vary", "Origin")
			h.Set("Access-Control-Expose-Headers", server.HeaderKeySessionID)
			if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
				h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
				h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept, Last-Event-ID, Mcp-Session-Id, Mcp-Protocol-Version, Mcp-Method, Mcp-Name, "+ProjectHeader)
				h.Set("Access-Control-Max-Age", "600")
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// isLoopback reports whether only this machine reaches addr. A name counts where all it stands for does.
func isLoopback(addr string) (bool, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return false, err
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return false, fmt.Errorf("port %q is not a number up to 65535", port)
	}
	return loopbackName(host), nil
}

func loopbackName(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.Unmap().IsLoopback()
}

func hostOnly(hostport string) string {
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		return h
	}
	return strings.Trim(hostport, "[]")
}

// hostAllowed: names of this machine, what the options add and, where other machines are served, bare
// addresses: an attack by rebinding always carries a name.
func (s *Server) hostAllowed(hostport string) bool {
	host := hostOnly(hostport)
	if loopbackName(host) || containsFold(s.o.Hosts, host) || containsFold(s.o.Hosts, hostport) {
		return true
	}
	if s.loopback {
		return false
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	own, err := os.Hostname()
	return err == nil && strings.EqualFold(own, host)
}

// originAllowed: the page that this server itself would have served, a page of this machine where only
// this machine is served, and what the options add.
func (s *Server) originAllowed(origin string, r *http.Request) bool {
	if containsFold(s.o.Origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return false
	}
	return strings.EqualFold(u.Host, r.Host) || s.loopback && loopbackName(u.Hostname())
}

func containsFold(list []string, s string) bool {
	return slices.ContainsFunc(list, func(o string) bool { return strings.EqualFold(o, s) })
}

// authenticated finds the token, holds its rate, and puts its scope into the context.
func (s *Server) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, scope, ok := s.identify(r)
		if !ok {
			s.metrics.refused.WithLabelValues("token").Inc()
			w.Header().Set("WWW-Authenticate", `Bearer realm="magma-mcp"`)
			http.Error(w, "Unauthorized: send Authorization: Bearer TOKEN; the token of the server's own user is in the file http-token of its data folder, `magma-mcp token add` makes others", http.StatusUnauthorized)
			return
		}
		note(r.Context(), func(a *access) {
			if a.token = who.token; a.token == "" {
				a.token = "(built-in)"
			}
		})
		if wait, ok := s.limiters.take(who.token, s.o.Now()); !ok {
			s.metrics.refused.WithLabelValues("rate").Inc()
			w.Header().Set("Retry-After", "1")
			http.Error(w, "Too many requests for this token", http.StatusTooManyRequests)
			return
		} else if wait > 0 {
			t := time.NewTimer(wait)
			defer t.Stop()
			select {
			case <-t.C:
			case <-r.Context().Done():
				return
			}
		}
		if p := r.Header.Get(ProjectHeader); p != "" {
			if plain, err := url.PathUnescape(p); err == nil {
				p = plain
			}
			scope.Project = p
		}
		ctx := tools.WithScope(withCaller(r.Context(), who), scope)
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// identify says who sends r and what they may do.
func (s *Server) identify(r *http.Request) (caller, tools.Scope, bool) {
	if s.o.NoToken {
		return caller{}, s.o.Scope, true
	}
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	secret = strings.TrimSpace(secret)
	if !strings.EqualFold(scheme, "Bearer") || secret == "" {
		return caller{}, tools.Scope{}, false
	}
	tok, builtin, ok := s.o.Tokens.check(secret)
	switch {
	case !ok:
		return caller{}, tools.Scope{}, false
	case builtin:
		return caller{}, s.o.Scope, true
	}
	return caller{token: tok.Name}, tools.Scope{
		Project: tok.Project, Zone: s.o.Scope.Zone, Client: tok.Name,
		Allowed: tok.Projects, ReadOnly: tok.ReadOnly, RequireProject: true,
	}, true
}

// limiters holds one rate for each token. There are as many as tokens, so none is ever dropped.
type limiters struct {
	rate  float64
	burst int

	mu sync.Mutex
	by map[string]*rate.Limiter
}

// longestWait is how long a request waits for its turn before it is refused.
const longestWait = time.Second

func (l *limiters) take(token string, now time.Time) (time.Duration, bool) {
	l.mu.Lock()
	if l.by == nil {
		l.by = map[string]*rate.Limiter{}
	}
	lim := l.by[token]
	if lim == nil {
		lim = rate.NewLimiter(rate.Limit(l.rate), l.burst)
		l.by[token] = lim
	}
	l.mu.Unlock()
	res := lim.ReserveN(now, 1)
	wait := res.DelayFrom(now)
	if !res.OK() || wait > longestWait {
		res.CancelAt(now)
		return 0, false
	}
	return wait, true
}

// message is what this package has to know of a JSON-RPC message.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		RequestID json.RawMessage `json:"requestId"` // of notifications/cancelled
		Meta      struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
}

func (m message) request() bool { return m.Method != "" && len(m.ID) > 0 && string(m.ID) != "null" }

// readBody reads a request's body whole, within its limits, and looks at it. It answers what cannot be
// read, and then returns false.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) (m message, modern, ok bool) {
	rc := http.NewResponseController(w)
	rc.SetReadDeadline(time.Now().Add(s.o.Limits.Read)) // not supported by a test's recorder: then unbounded
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.o.Limits.Body))
	rc.SetReadDeadline(time.Time{})
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			s.metrics.refused.WithLabelValues("size").Inc()
			http.Error(w, fmt.Sprintf("the request is over %d bytes; nothing was stored", tooLarge.Limit), http.StatusRequestEntityTooLarge)
		} else {
			s.metrics.refused.WithLabelValues("read").Inc()
			http.Error(w, "the request could not be read whole", http.StatusBadRequest)
		}
		return m, false, false
	}
	json.Unmarshal(body, &m) // what is no message is mcp-go's to refuse
	note(r.Context(), func(a *access) {
		if m.Method != "" {
			a.method = oneOf(knownCalls, m.Method)
		}
		if m.Method == string(mcp.MethodToolsCall) {
			a.tool = oneOf(knownTools, m.Params.Name)
		}
	})
	modern = mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)) || mcp.IsModernProtocol(m.Params.Meta.Version)
	if m.Method != string(mcp.MethodToolsCall) { // a tool complains in its own words
		if bad := tools.BadText(body); bad != "" {
			id := m.ID
			if len(id) == 0 {
				id = json.RawMessage("null")
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": id,
				"error": map[string]any{"code": mcp.INVALID_PARAMS, "message": bad + "; send the text as valid UTF-8"}})
			return m, modern, false
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	return m, modern, true
}

// slot waits for room to run one more call.
func (s *Server) slot(ctx context.Context) bool {
	select {
	case s.slots <- struct{}{}:
		return true
	default:
	}
	t := time.NewTimer(5 * time.Second)
	defer t.Stop()
	select {
	case s.slots <- struct{}{}:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	return false
}

func (s *Server) busy(w http.ResponseWriter, why string) {
	s.metrics.refused.WithLabelValues(why).Inc()
	w.Header().Set("Retry-After", "1")
	http.Error(w, "Busy: try again", http.StatusServiceUnavailable)
}
