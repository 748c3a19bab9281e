package mcpwire_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"carrel.dev/server/mcpwire"
	"carrel.dev/tools"
)

const (
	progressCalls = 60 // at the same time
	progressNotes = 40 // of each
)

// chatty is a server whose calls tell how far they are, also when they should not.
func chatty(t *testing.T) *mcpwire.Config {
	return &mcpwire.Config{
		Project: newProject(t, map[string]string{"a": "a\n"}), Workspace: "/agents/a",
		Run: func(_ context.Context, _ *tools.Tool, c tools.Call, _ json.RawMessage) (tools.Output, error) {
			if c.Progress == nil {
				return said{"nobody asked"}, nil
			}
			for i := range progressNotes {
				c.Progress(float64(i+1), progressNotes, "fetching")
				c.Progress(float64(i), progressNotes, "going back is dropped")
			}
			go c.Progress(1e9, 0, "too late or not, never behind the response")
			return said{"done"}, nil
		},
	}
}

func progressCall(i int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"git.status","arguments":{},"_meta":{"progressToken":"t%d"}}}`, i, i)
}

// tally counts what became of the progress of calls on one stream.
type tally struct {
	seen       map[string]float64 // progress so far, by token
	finished   map[string]bool
	late, lost int
}

func newTally() *tally { return &tally{seen: map[string]float64{}, finished: map[string]bool{}} }

// take takes the next message of the stream.
func (c *tally) take(t *testing.T, m response) {
	t.Helper()
	if m.ID != nil {
		token := "t" + string(m.ID)
		c.finished[token] = true
		if got := min(c.seen[token], progressNotes); got < progressNotes {
			c.lost += progressNotes - int(got)
		}
		return
	}
	var p struct {
		ProgressToken   string
		Progress, Total float64
		Message         string
	}
	if err := json.Unmarshal(m.Params, &p); err != nil || m.Method != "notifications/progress" {
		t.Errorf("%v: %s", err, m.line)
		return
	}
	if c.finished[p.ProgressToken] || p.Progress <= c.seen[p.ProgressToken] {
		c.late++
	}
	if p.Progress <= progressNotes && p.Progress != c.seen[p.ProgressToken]+1 {
		c.lost++
	}
	c.seen[p.ProgressToken] = p.Progress
}

func (c *tally) check(t *testing.T, calls int) {
	t.Helper()
	if c.lost != 0 || c.late != 0 || len(c.finished) != calls || len(c.seen) != calls {
		t.Errorf("%d lost, %d late, of %d calls; want none of %d", c.lost, c.late, len(c.finished), calls)
	}
}

// What a call notifies comes before its response, complete, in order and under its
// own token, whatever else runs.
func TestProgress(t *testing.T) {
	t.Run("stdio", func(t *testing.T) {
		r := connect(t, chatty(t))
		for i := range progressCalls {
			r.send(progressCall(i))
		}
		c := newTally()
		for len(c.finished) < progressCalls {
			c.take(t, r.next())
		}
		c.check(t, progressCalls)
		if got := r.call("git.status", `{}`).Content[0].Text; got != "nobody asked" {
			t.Errorf("a call without a token: %q", got)
		}
	})
	t.Run("sse", func(t *testing.T) {
		s := serve(t, chatty(t)).stream("")
		for i := range progressCalls {
			go s.post(progressCall(i))
		}
		c := newTally()
		for len(c.finished) < progressCalls {
			c.take(t, s.next())
		}
		c.check(t, progressCalls)
	})
	t.Run("http", func(t *testing.T) {
		s := serve(t, chatty(t))
		id := s.initialize("/mcp", "example")
		answers := make(chan answer, progressCalls)
		for i := range progressCalls {
			go func() { answers <- s.post("/mcp", id, progressCall(i)) }()
		}
		for range progressCalls {
			c := newTally() // each call has a stream of its own
			for _, m := range (<-answers).messages(t) {
				c.take(t, m)
			}
			c.check(t, 1)
		}
	})
	t.Run("stateless", func(t *testing.T) {
		s := serve(t, chatty(t))
		got := s.modern("tools/call", `"name":"git.status","arguments":{}`, `,"progressToken":"t1"`)
		c := newTally()
		for _, m := range got.messages(t) {
			c.take(t, m)
		}
		c.check(t, 1)
	})
	t.Run("client without streams", func(t *testing.T) {
		s := serve(t, chatty(t))
		id := s.initialize("/mcp", "example")
		got := s.post("/mcp", id, progressCall(1), "Accept: application/json")
		if all := got.messages(t); len(all) != 1 || !strings.Contains(got.body, "done") || !strings.HasPrefix(got.header.Get("Content-Type"), "application/json") {
			t.Errorf("answered %s %s", got.header, got.body)
		}
	})
}
