package traced

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"carrel.dev/server"
	"carrel.dev/tools"
)

// methods are those by which the span of a request is named.
var methods = []mcp.MCPMethod{
	mcp.MethodInitialize, mcp.MethodServerDiscover, mcp.MethodPing, mcp.MethodToolsList, mcp.MethodToolsCall,
	mcp.MethodResourcesList, mcp.MethodResourcesTemplatesList, mcp.MethodResourcesRead, mcp.MethodResourcesSubscribe,
	mcp.MethodResourcesUnsubscribe, mcp.MethodSubscriptionsListen, mcp.MethodPromptsList, mcp.MethodPromptsGet,
	mcp.MethodCompletionComplete,
}

// Request begins the span of an MCP request, as mcpwire.Config.Around. It is part of
// the trace that the client names, if there is one.
func (t *Tracer) Request(ctx context.Context, method string) (context.Context, func(code int)) {
	l := server.LabelsOf(ctx)
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": l.Traceparent, "tracestate": l.Tracestate})
	name := "mcp"
	if slices.Contains(methods, mcp.MCPMethod(method)) { // else it is whatever the client has sent
		name += " " + method
	}
	ctx, span := t.spans.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(known(map[string]string{
			"carrel.request": l.Request, "carrel.session": l.Session, "carrel.principal": l.Principal,
		})...))
	return ctx, func(code int) {
		if code != 0 {
			span.SetStatus(codes.Error, "")
			span.SetAttributes(attribute.Int("rpc.jsonrpc.error_code", code))
		}
		span.End()
	}
}

// Runner traces the calls of tools that another one runs.
func (t *Tracer) Runner(run server.Runner) server.Runner {
	return func(ctx context.Context, tool *tools.Tool, c tools.Call, raw json.RawMessage) (tools.Output, error) {
		ctx, span, end := t.begin(ctx, "tool "+tool.Name, known(map[string]string{
			"carrel.tool": tool.Name, "carrel.project": c.Project.Name(), "carrel.workspace": string(c.Workspace),
			"carrel.session": c.Caller.Session, "carrel.principal": c.Caller.Principal,
		})...)
		var reads tally
		out, err := run(context.WithValue(ctx, tallyKey{}, &reads), tool, c, raw)
		reads.tell(span)
		end(err)
		return out, err
	}
}

// known are the attributes that have a value.
func known(all map[string]string) (some []attribute.KeyValue) {
	for key, value := range all {
		if value != "" {
			some = append(some, attribute.String(key, value))
		}
	}
	return some
}

// tally counts the blobs that a call reads from repositories.
type tally struct{ reads, bytes, time atomic.Int64 }

type tallyKey struct{}

// read notes that a blob was read for a call.
func read(ctx context.Context, size int, took time.Duration) {
	if t, ok := ctx.Value(tallyKey{}).(*tally); ok {
		t.reads.Add(1)
		t.bytes.Add(int64(size))
		t.time.Add(int64(took))
	}
}

// tell gives the sums to the span of the call. Reads at the same time count each.
func (t *tally) tell(span trace.Span) {
	if n := t.reads.Load(); n > 0 {
		span.SetAttributes(attribute.Int64("carrel.git.reads", n), attribute.Int64("carrel.git.bytes", t.bytes.Load()),
			attribute.Float64("carrel.git.seconds", time.Duration(t.time.Load()).Seconds()))
	}
}
