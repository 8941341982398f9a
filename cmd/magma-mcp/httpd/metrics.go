package httpd

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
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
		"resources/subscribe", "resources/unsubscribe", "prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "server/discover"}
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

// count counts every request by its status.
func (m *metrics) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &counted{ResponseWriter: w, status: http.StatusOK}
		defer func() {
			m.requests.WithLabelValues(oneOf(knownPaths, r.URL.Path), oneOf(knownMethods, r.Method), strconv.Itoa(c.status)).Inc()
		}()
		next.ServeHTTP(c, r)
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
