package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/server"
	"carrel.dev/tools"
)

// lines are log lines in JSON, without time and level.
func lines(t *testing.T, b *bytes.Buffer) (all []map[string]any) {
	t.Helper()
	for d := json.NewDecoder(b); d.More(); {
		var line map[string]any
		if err := d.Decode(&line); err != nil {
			t.Fatal(err)
		}
		delete(line, "time")
		delete(line, "level")
		all = append(all, line)
	}
	return all
}

func TestLogHandler(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(server.LogHandler(slog.NewJSONHandler(&b, nil))).With("of", "test")
	ctx := server.WithLabels(t.Context(), server.Labels{Request: "r", Principal: "p", Traceparent: "secret"})
	log.InfoContext(t.Context(), "none")
	log.InfoContext(ctx, "some")
	ctx = server.WithLabels(ctx, server.Labels{Session: "s", Workspace: "/agents/a"})
	log.InfoContext(ctx, "all", "session", "its own")
	want := []map[string]any{
		{"msg": "none", "of": "test"},
		{"msg": "some", "of": "test", "request": "r", "principal": "p"},
		{"msg": "all", "of": "test", "request": "r", "principal": "p", "session": "its own", "workspace": "/agents/a"},
	}
	if d := cmp.Diff(want, lines(t, &b)); d != "" {
		t.Errorf("log (-want +got):\n%s", d)
	}
}

// TestCallsAreLabelled logs from inside a call, and of one that fails inside.
func TestCallsAreLabelled(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(server.LogHandler(slog.NewJSONHandler(&b, nil)))
	run := func(ctx context.Context, _ *tools.Tool, _ tools.Call, _ json.RawMessage) (tools.Output, error) {
		log.WarnContext(ctx, "inside")
		return nil, errors.New("broken")
	}
	desk := server.New(&server.Config{Project: newProject(t), Log: log, Run: run, NewID: func() string { return "an-id" }})
	c := newCaller(t, desk, server.SessionConfig{Principal: "t-1", Workspace: "/agents/a"})
	ctx := server.WithLabels(t.Context(), server.Labels{Request: "r"})
	c.Call(ctx, server.Request{Tool: "readFile", Arguments: json.RawMessage(`{"path":"/x"}`)})
	want := []map[string]any{
		{"msg": "inside", "request": "r", "principal": "t-1", "session": "an-id", "workspace": "/agents/a"},
		{
			"msg": "a call failed inside", "id": "an-id", "tool": "readFile", "err": "broken",
			"request": "r", "principal": "t-1", "session": "an-id", "workspace": "/agents/a",
		},
	}
	if d := cmp.Diff(want, lines(t, &b)); d != "" {
		t.Errorf("log (-want +got):\n%s", d)
	}
}
