package httpd

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/time/rate"
)

// metrics is what /metrics shows: how much, how long and how often refused, never for which memory,
// project or person.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	refused  *prometheus.CounterVec
	calls    *prometheus.HistogramVec
	streams  prometheus.Gauge
}

// What labels may hold is a fixed list each: a client cannot make new series.
var (
	knownPaths   = []string{"/mcp", "/sse", "/sse/message", "/healthz", "/metrics"}
	knownMethods = []string{http.MethodGet, http.MethodPost, http.MethodDelete, http.MethodOptions, http.MethodHead}
	knownCalls   = []string{"initialize", "ping", "tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read",
		"resources/subscribe", "resources/unsubscribe", "subscriptions/listen", "notifications/initialized", "notifications/cancelled", "prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "server/discover"}
	knownTools = []string{"remember", "recall", "why", "when", "forget"}
)

func oneOf(known []string, s string) string {
	if slices.Contains(known, s) {
		return s
	}
	return "other"
}

func newMetrics(s *Server) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "magma_http_requests_total", Help: "HTTP requests by path, method and status."}, []string{"path", "method", "status"}),
		refused:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "magma_http_refused_total", Help: "Requests refused before they reached the memory, by reason."}, []string{"reason"}),
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "magma_mcp_call_seconds", Help: "Time to take an MCP request, by method and tool; over HTTP+SSE only until it is accepted.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 120}}, []string{"method", "tool"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{Name: "magma_http_streams", Help: "Streams open to clients."}),
	}
	gauge := func(name, help string, f func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, f)
	}
	m.registry.MustRegister(m.requests, m.refused, m.calls, m.streams,
		gauge("magma_http_sessions", "Sessions of streamable HTTP.", func() float64 { return float64(s.sessions.count()) }),
		gauge("magma_store_up", "1 where the store is reached.", func() float64 {
			if _, err := s.o.Store(); err != nil {
				return 0
			}
			return 1
		}),
		gauge("magma_store_owner", "1 where this process owns the store.", func() float64 {
			if role, _ := s.o.Store(); role == "owner" {
				return 1
			}
			return 0
		}),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// access is what a request's log line says of it: never what it is about.
type access struct {
	token        string
	method, tool string // of the MCP message
}

type accessKey struct{}

// note fills the log line of the request that ctx belongs to.
func note(ctx context.Context, fill func(*access)) {
	if a, ok := ctx.Value(accessKey{}).(*access); ok {
		fill(a)
	}
}

// observe counts and logs every request. What is refused is a warning, once a second at most: an attack
// must not fill the disk.
func (s *Server) observe(next http.Handler) http.Handler {
	refusals := rate.Sometimes{Interval: time.Second}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		c, a := &counted{ResponseWriter: w, status: http.StatusOK}, &access{}
		path, method := oneOf(knownPaths, r.URL.Path), oneOf(knownMethods, r.Method)
		defer func() {
			s.metrics.requests.WithLabelValues(path, method, strconv.Itoa(c.status)).Inc()
			log := func(level slog.Level, what string) {
				s.o.Log.Log(r.Context(), level, what, "path", path, "method", method, "status", c.status, "token", a.token,
					"call", a.method, "tool", a.tool, "took", time.Since(began).Round(time.Microsecond), "from", r.RemoteAddr)
			}
			switch c.status {
			case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusRequestEntityTooLarge, http.StatusServiceUnavailable:
				refusals.Do(func() { log(slog.LevelWarn, "request refused") })
			default:
				log(slog.LevelDebug, "request")
			}
		}()
		next.ServeHTTP(c, r.WithContext(context.WithValue(r.Context(), accessKey{}, a)))
	})
}

// call times one MCP request from now until the returned function is called.
func (m *metrics) call(msg message) func() {
	began := time.Now()
	tool := ""
	if msg.Method == "tools/call" {
		tool = oneOf(knownTools, msg.Params.Name)
	}
	return func() {
		m.calls.WithLabelValues(oneOf(knownCalls, msg.Method), tool).Observe(time.Since(began).Seconds())
	}
}

type counted struct {
	http.ResponseWriter
	status int
}

func (c *counted) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }
func (c *counted) Flush()                      { http.NewResponseController(c.ResponseWriter).Flush() }
