package mcpwire_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"carrel.dev/server/mcpwire"
	"carrel.dev/tools"
)

// event is an event of a stream.
type event struct{ id, data string }

// events reads a stream to its end, or until enough have come.
func readEvents(t *testing.T, res *http.Response, enough int) []event {
	t.Helper()
	var all []event
	var e event
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 4<<20)
	for len(all) != enough && lines.Scan() {
		switch name, value, _ := strings.Cut(lines.Text(), ": "); {
		case name == "id":
			e.id = value
		case name == "data":
			e.data = value
		case lines.Text() == "" && e.data != "":
			all, e = append(all, e), event{}
		}
	}
	return all
}

func dataOf(all []event) (data []string) {
	for _, e := range all {
		data = append(data, e.data)
	}
	return data
}

// TestResume cuts clients off while their calls tell how far they are. Whoever comes
// back with the last event that it got is sent the others, and the answer, in order.
func TestResume(t *testing.T) {
	const notes = 5
	g := newGate()
	defer g.release()
	w := serve(t, &mcpwire.Config{
		Project: newProject(t, map[string]string{"a": "a\n"}), Workspace: "/agents/a",
		Run: func(ctx context.Context, _ *tools.Tool, c tools.Call, _ json.RawMessage) (tools.Output, error) {
			for i := range notes {
				if i == 3 {
					if err := g.pass(ctx); err != nil {
						return nil, err
					}
				}
				c.Progress(float64(i+1), notes, strings.Repeat("x", 100))
			}
			return said{"done"}, nil
		},
	})
	id, other := w.initialize("/mcp", "example"), w.initialize("/mcp", "example")
	ctx, cut := context.WithCancel(t.Context())
	res, err := http.DefaultClient.Do(w.request(ctx, http.MethodPost, "/mcp", progressCall(1), "Mcp-Session-Id: "+id))
	if err != nil {
		t.Fatal(err)
	}
	first := readEvents(t, res, 2)
	g.wait(t, 1)
	cut()
	res.Body.Close()

	get := func(session, last string) *http.Response {
		t.Helper()
		res, err := http.DefaultClient.Do(w.request(t.Context(), http.MethodGet, "/mcp", "", "Mcp-Session-Id: "+session, "Last-Event-ID: "+last))
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("resume: %v, %v", res, err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
	res = get(id, first[0].id) // that of the second event was lost
	g.release()
	rest := readEvents(t, res, -1)
	if len(rest) != notes || !slices.Equal(rest[:1], first[1:]) || !strings.Contains(rest[notes-1].data, "done") {
		t.Errorf("came %q after %q", dataOf(rest), dataOf(first))
	}
	for i, e := range rest[:max(len(rest)-1, 0)] {
		if !strings.Contains(e.data, fmt.Sprintf(`"progress":%d`, i+2)) {
			t.Errorf("event %d is %s", i, e.data)
		}
	}
	if again := readEvents(t, get(id, rest[2].id), -1); !slices.Equal(again, rest[3:]) {
		t.Errorf("a second time came %q", dataOf(again))
	}
	if end := readEvents(t, get(id, rest[len(rest)-1].id), -1); len(end) != 0 {
		t.Errorf("after the last came %q", dataOf(end))
	}
	// What is unknown is a stream like others, on which nothing is repeated.
	for session, last := range map[string]string{other: first[0].id, id: "nonsense-1"} {
		ctx, cut := context.WithCancel(t.Context())
		r := w.request(ctx, http.MethodGet, "/mcp", "", "Mcp-Session-Id: "+session, "Last-Event-ID: "+last)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if a := w.post("/mcp", session, ping); a.status != http.StatusOK {
			t.Errorf("ping: %+v", a)
		}
		cut()
		if got := readEvents(t, res, -1); len(got) != 0 {
			t.Errorf("with %s came %q", last, dataOf(got))
		}
		res.Body.Close()
	}
}
