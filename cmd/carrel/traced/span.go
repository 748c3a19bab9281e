package traced

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"carrel.dev/workspace"
)

// Tracer makes spans. Its methods are safe for concurrent use.
type Tracer struct{ spans trace.Tracer }

// New returns a Tracer whose spans go to a provider.
func New(p trace.TracerProvider) *Tracer { return &Tracer{p.Tracer("carrel.dev")} }

// codeKey says how what a span is about has ended: ok, or the code of an error.
const codeKey = attribute.Key("carrel.code")

// begin begins a span within that of the context; without one it does nothing. end
// ends it, with the error if there is one.
func (t *Tracer) begin(ctx context.Context, name string, about ...attribute.KeyValue) (_ context.Context, span trace.Span, end func(error)) {
	outer := trace.SpanFromContext(ctx)
	if !outer.SpanContext().IsValid() {
		return ctx, outer, func(error) {}
	}
	ctx, span = t.spans.Start(ctx, name, trace.WithAttributes(about...))
	return ctx, span, func(err error) { finish(span, err) }
}

// finish ends a span. Of an error only the code is told: its text may show content.
func finish(span trace.Span, err error) {
	code := "ok"
	if err != nil {
		code = string(workspace.KindOf(err))
		span.SetStatus(codes.Error, code)
	}
	span.SetAttributes(codeKey.String(code))
	span.End()
}
