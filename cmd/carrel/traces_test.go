package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"carrel.dev/workspace"
)

// receiver takes spans as a collector does, by OTLP over HTTP.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex // guards what follows
	raw    []byte     // all that was sent
	spans  []*trace.Span
	about  []string // attributes of the resource
	faults []string
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(r.take))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) take(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body, err := io.ReadAll(req.Body)
	var sent collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &sent)
	}
	if err != nil || req.URL.Path != "/v1/traces" || req.Header.Get("Api-Key") != "of-the-collector" {
		r.faults = append(r.faults, fmt.Sprint(req.URL.Path, req.Header, err))
	}
	r.raw = append(r.raw, body...)
	for _, rs := range sent.ResourceSpans {
		for _, a := range rs.Resource.Attributes {
			r.about = append(r.about, a.Key+"="+a.Value.GetStringValue())
		}
		for _, ss := range rs.ScopeSpans {
			r.spans = append(r.spans, ss.Spans...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// branches returns each span of a trace with those around it, as "outer > inner".
func (r *receiver) branches(traceID string) (all []string) {
	byID := map[string]*trace.Span{}
	for _, s := range r.spans {
		byID[string(s.SpanId)] = s
	}
	for _, s := range r.spans {
		if hex.EncodeToString(s.TraceId) != traceID {
			continue
		}
		names := []string{}
		for at := s; at != nil; at = byID[string(at.ParentSpanId)] {
			names = append(names, at.Name)
		}
		slices.Reverse(names)
		all = append(all, strings.Join(names, " > "))
	}
	return all
}

// find returns the first span of a name in a trace.
func (r *receiver) find(t *testing.T, traceID, name string) *trace.Span {
	t.Helper()
	for _, s := range r.spans {
		if hex.EncodeToString(s.TraceId) == traceID && s.Name == name {
			return s
		}
	}
	t.Fatalf("the trace %s has no span %q: %q", traceID, name, r.branches(traceID))
	return nil
}

// texts are the attributes of a span that are text.
func texts(s *trace.Span) map[string]string {
	all := map[string]string{}
	for _, a := range s.Attributes {
		if v := a.Value.GetStringValue(); v != "" {
			all[a.Key] = v
		}
	}
	return all
}

// webAgent is a client over HTTP.
type webAgent struct {
	*testing.T
	url, bearer, session string
	n                    int
}

// ask makes a request that is part of a trace, whose number is that of the request.
func (a *webAgent) ask(method, params string) (body string) {
	a.n++
	r, err := http.NewRequest("POST", a.url, strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, a.n, method, params)))
	if err != nil {
		a.Error(err)
		return ""
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Authorization": "Bearer " + a.bearer, "Traceparent": "00-" + traceOf(a.n) + "-00f067aa0ba902b7-01",
	} {
		r.Header.Set(name, value)
	}
	if a.session != "" {
		r.Header.Set("Mcp-Session-Id", a.session)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		a.Error(err)
		return ""
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		a.Error(err)
	}
	if id := res.Header.Get("Mcp-Session-Id"); id != "" {
		a.session = id
	}
	return string(b)
}

func (a *webAgent) call(tool string, arguments map[string]any) string {
	params, err := json.Marshal(map[string]any{"name": tool, "arguments": arguments})
	if err != nil {
		a.Error(err)
	}
	return a.ask("tools/call", string(params))
}

func (a *webAgent) initialize() {
	a.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"agent","version":"1"}}`)
}

// traceOf is the trace that the nth request of an agent is part of.
func traceOf(n int) string { return fmt.Sprintf("4bf92f3577b34da6a3ce929d0e0e%04x", n) }

// TestTraces lets a server send spans to a collector, and looks for what must not be
// in them.
func TestTraces(t *testing.T) {
	w, r := newWorld(t), newReceiver(t)
	w.demo()
	w.carrel("repo", "configure", "lib", "--policy", "commit-to-main")
	w.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
	w.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=of-the-collector")
	w.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	bearer := strings.TrimSpace(w.carrel("token", "create", "--allow", "admin", "--name", "hidden-name"))
	tokens := decode[struct{ Tokens []tokenInfo }](w, "token", "list")
	client := func(url string) {
		a := &webAgent{T: t, url: strings.Replace(url, "/mcp", "/agents/demo/mcp", 1), bearer: bearer}
		a.initialize()
		a.call("writeFile", map[string]any{"path": "/repos/lib/hidden-path.go", "content": "hidden-content"})       // 2
		a.call("grep", map[string]any{"pattern": "hidden-pattern|package"})                                         // 3
		a.call("git.commit", map[string]any{"message": "hidden-message"})                                           // 4
		a.call("edit", map[string]any{"path": "/repos/lib/lib.go", "oldString": "hidden-old", "newString": "x"})    // 5
		a.call("writeFile", map[string]any{"path": "large", "content": strings.Repeat("hidden-content\n", 30<<10)}) // 6
		a.ask("hidden/method", `{}`)                                                                                // 7
		a.ask("hidden/both", `{},"result":{}`)                                                                      // 8: as a response would be
		a.ask("tools/list", `{}`)                                                                                   // 9
	}
	if got := w.interrupted(client, "serve", "--addr", "127.0.0.1:0", "--tokens", "--traces", "otlp", "--tools", "all"); got.status != statusOK {
		t.Fatalf("serve: status %d\n%s", got.status, got.stderr)
	}
	if len(r.faults) > 0 || !slices.Contains(r.about, "service.name=carrel") || !slices.Contains(r.about, "deployment.environment.name=test") {
		t.Errorf("the collector was sent %v, about %v", r.faults, r.about)
	}
	for n, branches := range map[int][]string{
		1: {"mcp initialize"},
		2: {"mcp tools/call", "mcp tools/call > tool writeFile", "mcp tools/call > tool writeFile > store append"},
		3: {"mcp tools/call > tool grep"},
		4: {"mcp tools/call > tool git.commit > git propose", "mcp tools/call > tool git.commit > git land", "mcp tools/call > tool git.commit > store append"},
		6: {"mcp tools/call > tool writeFile > blobs put"},
		7: {"mcp"},
		8: {"mcp"},
		9: {"mcp tools/list"},
	} {
		got := r.branches(traceOf(n))
		for _, want := range branches {
			if !slices.Contains(got, want) {
				t.Errorf("trace %d: got %q, want %q in it", n, got, want)
			}
		}
	}
	r.holdsNothingHidden(t, bearer)
	written := r.find(t, traceOf(2), "tool writeFile")
	session := texts(written)["carrel.session"]
	want := map[string]string{
		"carrel.tool": "writeFile", "carrel.project": "default", "carrel.workspace": "/agents/demo",
		"carrel.principal": tokens.Tokens[0].ID, "carrel.session": session, "carrel.code": "ok",
	}
	if d := cmp.Diff(want, texts(written)); d != "" || session == "" {
		t.Errorf("the call's attributes (-want +got):\n%s", d)
	}
	if outer := r.find(t, traceOf(2), "mcp tools/call"); hex.EncodeToString(outer.ParentSpanId) != "00f067aa0ba902b7" ||
		texts(outer)["carrel.request"] != traceOf(2) || outer.Kind != trace.Span_SPAN_KIND_SERVER {
		t.Errorf("the request is %v", outer)
	}
	failed := r.find(t, traceOf(5), "tool edit")
	if code := texts(failed)["carrel.code"]; code != string(workspace.Conflict) || failed.Status.GetCode() != trace.Status_STATUS_CODE_ERROR || failed.Status.Message != code {
		t.Errorf("the failed call is %v", failed)
	}
	if reads := fmt.Sprint(r.find(t, traceOf(3), "tool grep").Attributes); !strings.Contains(reads, "carrel.git.reads") {
		t.Errorf("grep read nothing: %s", reads)
	}
}

// holdsNothingHidden looks through all that was sent, byte by byte.
func (r *receiver) holdsNothingHidden(t *testing.T, bearer string) {
	t.Helper()
	for _, secret := range []string{"hidden", "oldString", bearer, bearer[len(bearer)/2:], "of-the-collector", "main.go", "lib.go"} {
		if i := bytes.Index(r.raw, []byte(secret)); i >= 0 {
			t.Errorf("%q was sent: %q", secret, r.raw[max(0, i-60):min(len(r.raw), i+60)])
		}
	}
}

// TestTracesInFile has one span a line, and none without being asked.
func TestTracesInFile(t *testing.T) {
	w := newWorld(t)
	client := func(url string) { (&webAgent{T: t, url: url}).initialize() }
	if r := w.interrupted(client, "serve", "--addr", "127.0.0.1:0", "--repo", "app", "--traces", "file:spans"); r.status != statusOK {
		t.Fatal(r.stderr)
	}
	var span struct {
		Name        string
		SpanContext struct{ TraceID string }
	}
	if err := json.NewDecoder(strings.NewReader(w.read("spans"))).Decode(&span); err != nil || span.Name != "mcp initialize" || span.SpanContext.TraceID != traceOf(1) {
		t.Errorf("got %+v, %v", span, err)
	}
	r := w.interrupted(client, "serve", "--addr", "127.0.0.1:0", "--repo", "app", "--traces", "stdout")
	w.has(r.stdout, `"Name":"mcp initialize"`)
	if r := w.interrupted(client, "serve", "--addr", "127.0.0.1:0", "--repo", "app"); r.stdout != "" {
		t.Errorf("without traces: got %q", r.stdout)
	}
	w.fails(workspace.Invalid, `"otpl" is no place for traces`, "serve", "--traces", "otpl", "--check-config")
	w.fails(workspace.Unavailable, "the file for traces", "serve", "--traces", "file:"+filepath.Join("no", "where"))
}
