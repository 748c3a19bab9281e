package mcpwire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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
		all[i] = f.server.connect(&server.SessionConfig{})
		all[i].enter()
		f.sessions.add(endpoint{door: doorMCP}, all[i], len(all))
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

// What is over and stored is in memory no longer.
func TestReplaysAreStored(t *testing.T) {
	stored := map[string]string{}
	r := replays{store: func(id, text string) bool { stored[id] = text; return true }}
	p, silent := r.begin(), r.begin()
	p.add("message", []byte("{1}\n"))
	p.add("message", []byte("{2}\n"))
	p.end()
	silent.end()
	if len(r.kept) != 0 || len(stored) != 1 {
		t.Errorf("%d are kept, and %d are stored", len(r.kept), len(stored))
	}
	second := "id: " + p.id + "-2\nevent: message\ndata: {2}\n\n"
	for n, want := range []string{stored[p.id], second, "", ""} {
		if got := after(stored[p.id], n); got != want {
			t.Errorf("behind event %d comes %q, want %q", n, got, want)
		}
	}
	if !strings.HasSuffix(stored[p.id], second) || len(stored[p.id]) != 2*len(second) {
		t.Errorf("stored is %q", stored[p.id])
	}
}

func TestReplaysAreBounded(t *testing.T) {
	var r replays
	first := r.begin()
	if r.find(first.id) != nil {
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
	if p := r.find(first.id); p != nil || len(r.kept) != maxReplays {
		t.Errorf("the first is kept: %v, of %d", p != nil, len(r.kept))
	}
}

// A thread forgets what it has sent, the oldest first, and nothing else: who tells it
// something waits until there is room.
func TestThreadIsBounded(t *testing.T) {
	var all atomic.Int64
	th, message := newThread(&all), make([]byte, threadBytes/4)
	carrier, _ := th.attach(0)
	const n = 10
	telling := make(chan struct{})
	go func() {
		defer close(telling)
		for range n {
			th.tell(message)
		}
	}()
	for sent := 0; sent < n; {
		m, more := th.next(carrier, sent)
		if m == nil {
			<-more
			continue
		}
		if sent++; !th.carried(carrier, sent) {
			t.Fatal("nothing carries the thread")
		}
	}
	<-telling
	if th.lost != n-4 || th.bytes != threadBytes {
		t.Errorf("%d messages are forgotten of %d, and %d bytes remembered", th.lost, n, th.bytes)
	}
	for last, want := range map[int]bool{0: false, n - 5: false, n + 1: false, n - 2: true} {
		if _, ok := th.attach(last); ok != want {
			t.Errorf("to go on behind message %d is %v", last, ok)
		}
	}
	<-carrier
	if th.carried(carrier, n) || th.end(carrier) {
		t.Error("the carrier before carries the thread still")
	}
	carrier, _ = th.attach(n - 2)
	th.carried(carrier, n-1)
	th.detach(carrier)
	th.forget(time.Now().Add(time.Hour))
	if th.lost != n-2 {
		t.Fatalf("%d messages are forgotten, which the client may not have got", th.lost-(n-2))
	}
	th.tell(message) // there is room
	th.tell(message)
	full := make(chan struct{})
	go func() { th.tell(message); close(full) }()
	for messages := 0; messages < 5; time.Sleep(time.Millisecond) { // until it waits
		all, _ := th.remembered(1 << 30)
		messages = len(all)
	}
	select {
	case <-full:
		t.Error("there is room for more")
	default:
	}
	if all, lost := th.remembered(2 * len(message)); len(all) != 2 || lost != n+1 {
		t.Errorf("of it all %d messages behind %d would be kept", len(all), lost)
	}
	if !th.end(carrier) {
		t.Error("it does not end")
	}
	<-full
	if _, ok := th.attach(n); ok {
		t.Error("it goes on after its end")
	}
	th.clear()
	if m, _ := th.next(carrier, n-1); m != nil || th.carried(carrier, n) || all.Load() != 0 {
		t.Errorf("at the end %d bytes are remembered", all.Load())
	}
	all.Store(threadsBytes)
	other := newThread(&all, message, message, message)
	carrier, _ = other.attach(0)
	for n := range 3 {
		other.carried(carrier, n+1)
	}
	if other.lost != 2 {
		t.Errorf("where all remember too much, one forgets %d messages of 3", other.lost)
	}
}

func TestThreadForgets(t *testing.T) {
	th := newThread(new(atomic.Int64), []byte("{1}\n"), []byte("{2}\n"))
	carrier, _ := th.attach(0)
	th.carried(carrier, 1)
	th.forget(time.Now().Add(-time.Hour))
	if th.lost != 0 {
		t.Error("it forgets at once")
	}
	th.forget(time.Now().Add(time.Hour))
	if m, _ := th.next(carrier, 1); th.lost != 1 || string(m) != "{2}\n" {
		t.Errorf("%d messages are forgotten, and %s is next", th.lost, m)
	}
}
