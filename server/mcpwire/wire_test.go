package mcpwire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"

	"carrel.dev/persistence/memory"
	"carrel.dev/server"
	"carrel.dev/workspace"
)

func TestReadLine(t *testing.T) {
	const most = 100
	fits, over := strings.Repeat("a", most-1)+"\n", strings.Repeat("b", most)+"\n"
	r := bufio.NewReaderSize(strings.NewReader(fits+over+"\n"+over+"last"), 16)
	for i, want := range []struct {
		text    string
		tooLong bool
	}{{text: fits}, {tooLong: true}, {text: "\n"}, {tooLong: true}, {text: "last"}} {
		l, err := readLine(r, most)
		if err != nil || string(l.text) != want.text || l.tooLong != want.tooLong {
			t.Errorf("line %d is %q, %v, %v; want %+v", i, l.text, l.tooLong, err, want)
		}
	}
	if _, err := readLine(r, most); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func TestIDOfLongLine(t *testing.T) {
	tests := []struct{ name, head, tail, want string }{
		{"in front", `{"jsonrpc":"2.0","id":12,"method":"x","params":{"a":"xxx`, `xxx"}}`, `12`},
		{"text in front", `{"id":"a b","params":"xxx`, `xxx"}`, `"a b"`},
		{"behind", `{"method":"x","params":{"id":3,"a":"xxx`, `xxx"},"jsonrpc":"2.0","id":12}` + "\n", `12`},
		{"before the version", `{"params":{"a":"xxx`, `xxx"}, "id" : -4, "jsonrpc": "2.0" }`, `-4`},
		{"of something inside", `{"params":{"id":3,"a":"xxx`, `xxx","id":5}}`, ``},
		{"null", `{"id":null,"a":"xxx`, `xxx"}`, ``},
		{"no object", `[{"id":1},"xxx`, `xxx"]`, ``},
		{"no JSON", `xxx`, `xxx`, ``},
	}
	for _, tt := range tests {
		l := line{tooLong: true, head: []byte(tt.head), tail: []byte(tt.tail)}
		if got := string(l.id()); got != tt.want {
			t.Errorf("%s: id %q, want %q", tt.name, got, tt.want)
		}
	}
}

func FuzzPlainHTML(f *testing.F) {
	f.Add(`<a href="&">` + "\u2028\\u003c\\\\u003e\\")
	f.Fuzz(func(t *testing.T, s string) {
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		got := plainHTML(bytes.Clone(want))
		var a, b string
		if json.Unmarshal(want, &a) != nil || json.Unmarshal(got, &b) != nil || a != b {
			t.Errorf("%s became %s", want, got)
		}
		if bytes.Count(got, []byte("<")) != strings.Count(a, "<") {
			t.Errorf("escapes are left in %s", got)
		}
	})
}

// Unused sessions are not only unknown but gone.
func TestSweep(t *testing.T) {
	store := memory.New(nil)
	host, err := workspace.NewHost(t.Context(), &workspace.Config{Store: store, Blobs: store, DataID: "test"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := host.Project(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	f := NewFront(New(&Config{Project: p, Idle: 16 * time.Millisecond, Now: func() time.Time { return now }}))
	var all [3]*conn
	for i := range all {
		all[i] = f.server.connect(semaphore.NewWeighted(1), &server.SessionConfig{})
		all[i].enter()
		f.sessions.add(endpoint{door: doorMCP}, all[i])
	}
	unused, used := all[0], all[1] // and one in use
	unused.leave()
	now = now.Add(time.Hour)
	used.leave()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	swept := make(chan struct{})
	go func() {
		defer close(swept)
		f.sweep(ctx)
	}()
	select {
	case <-unused.over:
	case <-time.After(30 * time.Second):
		t.Error("the session stays")
	}
	cancel()
	<-swept
	if len(f.sessions.byKey) != 2 || all[1].ended || all[2].ended {
		t.Errorf("%d sessions are left, of 2", len(f.sessions.byKey))
	}
}

func TestReplaysAreBounded(t *testing.T) {
	var r replays
	first := r.begin()
	if _, _, ok := r.find(first.id + "-0"); ok {
		t.Error("a stream without events is kept")
	}
	first.add("message", []byte("{}\n"))
	data := bytes.Repeat([]byte("x"), replayBytes/4)
	p := r.begin()
	for range 10 {
		p.add("message", data)
	}
	events, last, over, _ := p.after(0)
	if len(events) != 3 || last != 10 || over || p.bytes > replayBytes {
		t.Errorf("%d events up to %d, over %v, %d bytes", len(events), last, over, p.bytes)
	}
	p.add("message", bytes.Repeat(data, 8)) // an answer is kept, however large
	if events, last, _, _ = p.after(10); len(events) != 1 || last != 11 {
		t.Errorf("of the answer: %d events up to %d", len(events), last)
	}
	for range maxReplays {
		r.begin().add("message", []byte("{}\n"))
	}
	if _, _, ok := r.find(first.id + "-1"); ok || len(r.kept) != maxReplays {
		t.Errorf("the first is kept: %v, of %d", ok, len(r.kept))
	}
}
