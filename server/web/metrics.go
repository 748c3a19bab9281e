package web

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"carrel.dev/server"
	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// Metrics are the figures of a server, as Prometheus collects them. A nil *Metrics
// counts nothing. All methods are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	refused  *prometheus.CounterVec
	calls    *prometheus.HistogramVec
	running  prometheus.Gauge
}

// Standing is what is there at a moment, for gauges.
type Standing interface {
	Sessions() int
	Streams() int
}

// NewMetrics returns figures of a program of a version.
func NewMetrics(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "carrel_http_requests_total", Help: "HTTP requests, by endpoint and status.",
		}, []string{"endpoint", "status"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "carrel_limited_total", Help: "Requests and calls that were over a limit, by limit.",
		}, []string{"limit"}),
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "carrel_call_seconds", Help: "Time of tool calls in seconds, by tool and code; the code of success is ok.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 4, 9),
		}, []string{"tool", "code"}),
		running: prometheus.NewGauge(prometheus.GaugeOpts{Name: "carrel_calls_running", Help: "Tool calls that are running."}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "carrel_build_info", Help: "Always 1; the version is a label.", ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.registry.MustRegister(m.requests, m.refused, m.calls, m.running, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Watch adds the gauges of what is there.
func (m *Metrics) Watch(s Standing) {
	gauge := func(name, help string, n func() int) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(n()) }))
	}
	gauge("carrel_sessions", "Sessions of MCP clients over HTTP.", s.Sessions)
	gauge("carrel_streams", "Streams that are open to clients.", s.Streams)
}

// Runner measures the calls of tools that another one runs.
func (m *Metrics) Runner(run server.Runner) server.Runner {
	return func(ctx context.Context, t *tools.Tool, c tools.Call, raw json.RawMessage) (tools.Output, error) {
		began := time.Now()
		m.running.Inc()
		defer m.running.Dec()
		out, err := run(ctx, t, c, raw)
		code := "ok"
		if err != nil {
			code = string(workspace.KindOf(err))
		}
		m.calls.WithLabelValues(t.Name, code).Observe(time.Since(began).Seconds())
		if code == string(workspace.Limit) {
			m.limited("call")
		}
		return out, err
	}
}

func (m *Metrics) limited(what string) {
	if m != nil {
		m.refused.WithLabelValues(what).Inc()
	}
}

// count counts the requests of a handler.
func (m *Metrics) count(next http.Handler) http.Handler {
	if m == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := &observed{ResponseWriter: w}
		next.ServeHTTP(seen, r)
		m.requests.WithLabelValues(endpointOf(r.URL.Path), strconv.Itoa(seen.status())).Inc()
	})
}

// endpointOf is the label of a path: one of few, whatever clients ask for.
func endpointOf(path string) string {
	last := path[strings.LastIndexByte(path, '/')+1:]
	switch {
	case strings.HasPrefix(path, "/.well-known/"):
		return "metadata"
	case last == "mcp", last == "sse", last == "message", last == "healthz", last == "readyz", last == "metrics":
		return last
	}
	return "other"
}

func (m *Metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
