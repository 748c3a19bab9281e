package server

import (
	"cmp"
	"context"
	"log/slog"
)

// Labels name what a context belongs to, so that all that is logged for one request
// can be found. An empty one is not known.
type Labels struct {
	Request   string // of HTTP; the client may have chosen it
	Session   string
	Workspace string
	Principal string

	// Traceparent and Tracestate are those of W3C Trace Context, as they were sent.
	// They are not logged.
	Traceparent, Tracestate string
}

type labelsKey struct{}

// WithLabels returns a context that has further labels. An empty one leaves what
// there was.
func WithLabels(ctx context.Context, l Labels) context.Context {
	had := LabelsOf(ctx)
	return context.WithValue(ctx, labelsKey{}, Labels{
		Request: cmp.Or(l.Request, had.Request), Session: cmp.Or(l.Session, had.Session),
		Workspace: cmp.Or(l.Workspace, had.Workspace), Principal: cmp.Or(l.Principal, had.Principal),
		Traceparent: cmp.Or(l.Traceparent, had.Traceparent), Tracestate: cmp.Or(l.Tracestate, had.Tracestate),
	})
}

// LabelsOf returns the labels of a context.
func LabelsOf(ctx context.Context) Labels {
	l, _ := ctx.Value(labelsKey{}).(Labels)
	return l
}

// LogHandler writes by another handler and adds to each record the labels of its
// context, as request, session, workspace and principal, but for those that the
// record has itself.
func LogHandler(h slog.Handler) slog.Handler { return labelled{h} }

type labelled struct{ slog.Handler }

func (h labelled) Handle(ctx context.Context, r slog.Record) error {
	l := LabelsOf(ctx)
	if l == (Labels{}) {
		return h.Handler.Handle(ctx, r)
	}
	own := map[string]bool{}
	r.Attrs(func(a slog.Attr) bool { own[a.Key] = true; return true })
	r = r.Clone()
	for _, a := range [...]slog.Attr{
		slog.String("request", l.Request), slog.String("session", l.Session),
		slog.String("workspace", l.Workspace), slog.String("principal", l.Principal),
	} {
		if a.Value.String() != "" && !own[a.Key] {
			r.AddAttrs(a)
		}
	}
	return h.Handler.Handle(ctx, r)
}

func (h labelled) WithAttrs(attrs []slog.Attr) slog.Handler {
	return labelled{h.Handler.WithAttrs(attrs)}
}
func (h labelled) WithGroup(name string) slog.Handler { return labelled{h.Handler.WithGroup(name)} }
