package mcpwire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"carrel.dev/persistence/memory"
	"carrel.dev/workspace"
)

// emptyProject is a project without repos, in memory.
func emptyProject(t *testing.T) *workspace.Project {
	t.Helper()
	store := memory.New(nil)
	host, err := workspace.NewHost(t.Context(), &workspace.Config{Store: store, Blobs: store, DataID: "test"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := host.Project(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// same makes ids comparable: the text of a number, a string decoded.
func same(id json.RawMessage) string {
	var s string
	if len(id) > 0 && id[0] == '"' && json.Unmarshal(id, &s) == nil {
		return fmt.Sprintf("%q", s)
	}
	return string(id)
}

// nobody is the id of an answer to what has none that can be used.
const nobody = "null"

// expected is a second reading of what a client sends: how often each id has to
// be answered.
type expected struct {
	answers   map[string]int
	cancelled map[string]bool // may be answered or not
	long      []string        // ids of messages that are too long
	odd       bool            // encoding/json and JSON-RPC read it differently
}

func expect(input []byte, most int) expected {
	e := expected{answers: map[string]int{}, cancelled: map[string]bool{}}
	for line := range bytes.SplitAfterSeq(input, []byte("\n")) {
		raw := bytes.TrimSpace(line)
		switch {
		case len(line) > most:
			var m map[string]json.RawMessage
			_ = json.Unmarshal(raw, &m) // of what is no object no id is known
			e.long = append(e.long, same(m["id"]))
		case len(raw) > 0:
			e.read(raw)
		}
	}
	return e
}

func (e *expected) read(raw []byte) {
	var m, params map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m == nil {
		e.answers[nobody]++ // no JSON, or no object
		return
	}
	for key := range m {
		for _, name := range []string{"jsonrpc", "id", "method", "params", "result", "error"} {
			e.odd = e.odd || key != name && strings.EqualFold(key, name)
		}
	}
	id, asks := m["id"]
	_, result := m["result"]
	_, failed := m["error"]
	method, named := m["method"]
	switch {
	case asks && !isID(id):
		e.answers[nobody]++
	case !named && (result || failed):
	case asks:
		e.answers[same(id)]++
	case text(m["jsonrpc"]) != "2.0" || text(method) == "":
		e.answers[nobody]++
	case text(method) == "notifications/cancelled":
		if json.Unmarshal(m["params"], &params) == nil {
			for key, value := range params {
				if strings.EqualFold(key, "requestId") {
					e.cancelled[same(value)] = true
				}
			}
		}
	}
}

// FuzzConnection sends any bytes. Every request is answered once, whatever else
// there is, and the connection goes on: at the end ping is answered.
func FuzzConnection(f *testing.F) {
	const call = `{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}` + "\n"
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`))
	f.Add([]byte(fmt.Sprintf(call, `1`, "workspace.create", `{"path":"/agents/a"}`) + fmt.Sprintf(call, `"1"`, "writeFile", `{"path":"a","content":"b"}`) +
		fmt.Sprintf(call, `1.0`, "grep", `{"pattern":"b","_meta":1}`) + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`))
	f.Add([]byte("[{}]\nnull\n{}\n{\"id\":null}\n\xff\n" + `{"id":7}` + "\n" + `{"jsonrpc":"2.0","id":7,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":7,"method":"x","params":[],"result":{}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":8,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":{}}}}` + "\n" +
		`{"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{"notifications":{}}}` + "\n" + `{"id":5,"x":"` + strings.Repeat("y", 3000) + `"}`))
	f.Fuzz(func(t *testing.T, input []byte) {
		const most, last = 2000, "\n" + `{"jsonrpc":"2.0","id":"the last","method":"ping"}` + "\n"
		input = append(bytes.Clone(input), last...)
		want := expect(input, most)
		if want.odd {
			return
		}
		var out bytes.Buffer
		s := New(&Config{Project: emptyProject(t), Tools: "all", MaxMessage: most})
		if err := s.ServeStdio(context.Background(), bytes.NewReader(input), &out); err != nil {
			t.Fatal(err)
		}
		want.check(t, out.String())
	})
}

// check holds what was sent against what is expected.
func (e expected) check(t *testing.T, out string) {
	t.Helper()
	free := 0
	for line := range strings.SplitSeq(strings.TrimSuffix(out, "\n"), "\n") {
		var m struct {
			Method        string
			ID            json.RawMessage
			Result, Error json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if m.Method != "" {
			continue
		}
		if (m.Result == nil) == (m.Error == nil) {
			t.Errorf("no answer: %s", line)
		}
		id := same(m.ID)
		if e.answers[id]--; e.answers[id] >= 0 {
			continue
		}
		e.answers[id] = 0
		if free++; free > len(e.long) || id != nobody && !slices.Contains(e.long, id) {
			t.Errorf("nobody asked for %s", line)
		}
	}
	for id, n := range e.answers {
		if n > 0 && !e.cancelled[id] {
			t.Errorf("%d requests with the id %s are not answered", n, id)
		}
	}
	if free < len(e.long) {
		t.Errorf("of %d messages that are too long %d are answered", len(e.long), free)
	}
}

// FuzzReadLine splits any bytes in other ways into the same lines. The id that is
// found of a message which is too long is its id.
func FuzzReadLine(f *testing.F) {
	f.Add([]byte("a\n\nbcd\nlast"), uint16(3), uint16(0))
	f.Add([]byte(`{"jsonrpc":"2.0","params":{"id":3,"a":"}"},"id":"x"}`), uint16(10), uint16(20))
	f.Add([]byte(`{"id":-4,"params":{"a":"{\"id\":5}"}}`), uint16(20), uint16(1))
	f.Add([]byte(`{"a":{"id":5},"id" : 6 , "jsonrpc": "2.0" } `), uint16(5), uint16(1))
	f.Fuzz(func(t *testing.T, input []byte, most, buffer uint16) {
		r := bufio.NewReaderSize(bytes.NewReader(input), int(buffer))
		for want := range bytes.SplitAfterSeq(input, []byte("\n")) {
			if len(want) == 0 {
				continue // behind the last line feed
			}
			l, err := readLine(r, int(most))
			if err != nil {
				t.Fatalf("%v before %q", err, want)
			}
			if long := len(want) > int(most); l.tooLong != long || !long && !bytes.Equal(l.text, want) {
				t.Fatalf("got %q, too long %v, want %q", l.text, l.tooLong, want)
			}
			checkID(t, l, want)
		}
		if _, err := readLine(r, int(most)); err != io.EOF {
			t.Errorf("at the end: %v", err)
		}
	})
}

// checkID holds the id found of a long message against the one that it has, if
// it is an object with one.
func checkID(t *testing.T, l line, whole []byte) {
	t.Helper()
	var m map[string]json.RawMessage
	if !l.tooLong || json.Unmarshal(whole, &m) != nil || m == nil || keys(whole) != len(m) {
		return
	}
	if got := l.id(); got != nil && (!isID(got) || same(got) != same(m["id"])) {
		t.Errorf("%q has the id %s, and %s is found", whole, m["id"], got)
	}
}

// keys counts the members of an object, those given twice too.
func keys(object []byte) (n int) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if _, err := dec.Token(); err != nil {
		return 0
	}
	for dec.More() {
		var skipped json.RawMessage
		if _, err := dec.Token(); err != nil || dec.Decode(&skipped) != nil {
			return n
		}
		n++
	}
	return n
}
