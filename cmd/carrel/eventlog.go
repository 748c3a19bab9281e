package main

import (
	"context"
	"iter"
	"strings"
	"time"

	"carrel.dev/workspace"
)

// reader returns what reads on, each time, from where it was.
func reader(ctx context.Context, h *home, p *workspace.Project, f *eventsFlags) (func(context.Context) iter.Seq2[workspace.Record, error], error) {
	if f.all {
		var at workspace.Position
		return func(ctx context.Context) iter.Seq2[workspace.Record, error] { return allAfter(ctx, h.feed, p, &at) }, nil
	}
	stream, err := streamOf(ctx, p, f.workspace)
	var last workspace.Seq
	return func(ctx context.Context) iter.Seq2[workspace.Record, error] {
		return func(yield func(workspace.Record, error) bool) {
			for r, err := range p.Records(ctx, stream, last) {
				if err == nil {
					last = r.Seq
				}
				if !yield(r, err) {
					return
				}
			}
		}
	}, err
}

// allAfter yields the records of a project after a position, which moves on, in the
// order in which they were taken. Copies on the project's own stream are left out.
func allAfter(ctx context.Context, feed workspace.Feed, p *workspace.Project, at *workspace.Position) iter.Seq2[workspace.Record, error] {
	return func(yield func(workspace.Record, error) bool) {
		for {
			records, end, err := feed.Since(ctx, *at)
			if err != nil {
				yield(workspace.Record{}, err)
				return
			}
			for _, r := range records {
				if r.Stream.Project != p.Name() || isCopy(r) {
					continue
				}
				if r, err = whole(ctx, p, r); !yield(r, err) || err != nil {
					return
				}
			}
			if *at = end; len(records) == 0 {
				return
			}
		}
	}
}

// isCopy reports whether a record is the copy of one on another stream.
func isCopy(r workspace.Record) bool {
	return r.Stream.Name == workspace.ProjectStream && told(r.Payload, func(p workspace.Copied) string { return p.Stream }) != ""
}

// whole returns a record with its payload, if that is kept apart.
func whole(ctx context.Context, p *workspace.Project, r workspace.Record) (workspace.Record, error) {
	if r.PayloadBody.IsZero() {
		return r, nil
	}
	for r, err := range p.Records(ctx, r.Stream.Name, r.Seq-1) {
		return r, err
	}
	return r, nil
}

// eventFilter says which records are shown; the zero value has all.
type eventFilter struct {
	actor string
	since time.Time
}

func (f eventFilter) has(r workspace.Record) bool {
	if r.At.Before(f.since) {
		return false
	}
	name, principal := r.Actor, ""
	if i := strings.LastIndex(r.Actor, " ["); i >= 0 && strings.HasSuffix(r.Actor, "]") {
		name, principal = r.Actor[:i], r.Actor[i+2:len(r.Actor)-1]
	}
	return f.actor == "" || f.actor == r.Actor || f.actor == name || f.actor == principal
}

// sinceWhen reads a time that has passed; zero for "".
func (c *cli) sinceWhen(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := parseAge(s); err == nil {
		return c.now().Add(-d), nil
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return at, c.usage("--since is %q, not a time such as 7d, 12h or 2026-01-01T00:00:00Z", s)
	}
	return at, nil
}
