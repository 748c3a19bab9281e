package mcpwire_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel.dev/persistence/memory"
	"carrel.dev/server/mcpwire"
	"carrel.dev/workspace"
)

const (
	updated     = "notifications/resources/updated"
	listChanged = "notifications/resources/list_changed"
	mainFile    = "carrel:///repos/app/main.go?ws=/agents/a"
	statusDoc   = "carrel:///.carrel/status?ws=/agents/a"
	diffDoc     = "carrel:///.carrel/diff?ws=/agents/a"
	noteFile    = "carrel:///workspace/note?ws=/agents/a"
)

// told is what a subscriber gets, until its stream ends.
type told <-chan response

// open reads the messages of a stream.
func (w *web) open(r *http.Request) told {
	w.t.Helper()
	res, err := http.DefaultClient.Do(r)
	if err != nil || res.StatusCode != http.StatusOK {
		w.t.Fatalf("open a stream: %+v, %v", res, err)
	}
	messages := make(chan response, 10_000)
	go func() {
		defer close(messages)
		defer res.Body.Close()
		for scan := bufio.NewScanner(res.Body); scan.Scan(); {
			m := response{line: strings.TrimPrefix(scan.Text(), "data: ")}
			if json.Unmarshal([]byte(m.line), &m) == nil {
				messages <- m
			}
		}
	}()
	return messages
}

// decoded are the messages of lines.
func decoded(lines <-chan string) told {
	messages := make(chan response, 10_000)
	go func() {
		defer close(messages)
		for line := range lines {
			m := response{line: line}
			if json.Unmarshal([]byte(line), &m) == nil {
				messages <- m
			}
		}
	}()
	return messages
}

// listening is the request of 2026-07-28 to be told of resources and of their list.
func listening(id string, uris ...string) string {
	list, _ := json.Marshal(uris) // texts always encode
	body := modernBody("subscriptions/listen", fmt.Sprintf(`"notifications":{"resourcesListChanged":true,"toolsListChanged":true,"resourceSubscriptions":%s}`, list), "")
	return strings.Replace(body, `"id":1`, `"id":`+id, 1)
}

func subscribing(uri string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":9,"method":"resources/subscribe","params":{"uri":%q}}`, uri)
}

// subscribers subscribe over a transport, all that there are in either era.
var subscribers = map[string]func(w *web, cfg *mcpwire.Config, uris ...string) told{
	"stdio": func(w *web, cfg *mcpwire.Config, uris ...string) told {
		r := connect(w.t, cfg)
		r.initialize("example")
		for _, uri := range uris {
			if m := r.ask("resources/subscribe", fmt.Sprintf(`{"uri":%q}`, uri)); m.Error != nil {
				w.t.Fatal(m.line)
			}
		}
		return decoded(r.lines)
	},
	"stdio, listening": func(w *web, cfg *mcpwire.Config, uris ...string) told {
		r := connect(w.t, cfg)
		r.send(listening(`"l"`, uris...))
		return decoded(r.lines)
	},
	"sse": func(w *web, _ *mcpwire.Config, uris ...string) told {
		s := w.stream("")
		s.ask(fmt.Sprintf(initialize, "example"))
		for _, uri := range uris {
			if m := s.ask(subscribing(uri)); m.Error != nil {
				w.t.Fatal(m.line)
			}
		}
		return decoded(s.lines)
	},
	"sse, listening": func(w *web, _ *mcpwire.Config, uris ...string) told {
		s := w.stream("")
		s.post(listening(`"l"`, uris...))
		return decoded(s.lines)
	},
	"http": func(w *web, _ *mcpwire.Config, uris ...string) told {
		id := w.initialize("/mcp", "example")
		for _, uri := range uris {
			if m := w.post("/mcp", id, subscribing(uri)).message(w.t); m.Error != nil {
				w.t.Fatal(m.line)
			}
		}
		return w.open(w.request(w.t.Context(), http.MethodGet, "/mcp", "", "Mcp-Session-Id: "+id))
	},
	"http, listening": func(w *web, _ *mcpwire.Config, uris ...string) told {
		return w.open(w.request(w.t.Context(), http.MethodPost, "/mcp", listening(`"l"`, uris...), modernHeaders("subscriptions/listen", "")...))
	},
}

// await returns the next message of a method, and about a resource if one is named.
// Before the first one on a stream of 2026-07-28 is that it was opened.
func (c told) await(t *testing.T, method, uri string) response {
	t.Helper()
	for end := time.After(patience); ; {
		select {
		case m, ok := <-c:
			if !ok {
				t.Fatalf("the stream ended, and %s of %s did not come", method, uri)
			}
			if m.Method == method && (uri == "" || strings.Contains(m.line, `"uri":"`+uri+`"`)) {
				return m
			}
		case <-end:
			t.Fatalf("%s of %s did not come", method, uri)
		}
	}
}

// begun waits until a subscription is known to have begun.
func (c told) begun(t *testing.T, transport string) {
	t.Helper()
	if strings.HasSuffix(transport, "listening") {
		m := c.await(t, "notifications/subscriptions/acknowledged", "")
		if !strings.Contains(m.line, `"io.modelcontextprotocol/subscriptionId":"l"`) || strings.Contains(m.line, "toolsListChanged") {
			t.Errorf("the stream begins with %s", m.line)
		}
	}
}

// call calls a tool of a project without a session, and must succeed.
func (w *web) call(tool, args string) {
	w.t.Helper()
	a := w.modern("tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args), "")
	if res := a.message(w.t).decode(w.t); res.IsError {
		w.t.Fatalf("%s %s: %s", tool, args, res.Content[0].Text)
	}
}

// Whoever changes what a subscriber sees, the subscriber is told: over every
// transport, in either era.
func TestSubscribersAreTold(t *testing.T) {
	for name, subscribe := range subscribers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, dir := memory.New(nil), newRepo(t, map[string]string{"main.go": "package main\n", "other.go": "package main\n"})
			cfg := &mcpwire.Config{Project: newProjectOn(t, store, dir), Tools: "all"}
			w, process := serve(t, cfg), serve(t, &mcpwire.Config{Project: newProjectOn(t, store, dir)})
			w.call("workspace.create", `{"path":"/agents/a"}`)
			w.call("workspace.create", `{"path":"/agents/b"}`)
			c := subscribe(w, cfg, mainFile, statusDoc, noteFile)
			c.begun(t, name)

			w.call("writeFile", `{"workspace":"/agents/a","path":"note","content":"x"}`)
			m := c.await(t, updated, noteFile)
			if tagged := strings.Contains(m.line, "subscriptionId"); tagged != strings.HasSuffix(name, "listening") {
				t.Errorf("told by %s", m.line)
			}
			process.call("writeFile", `{"workspace":"/agents/a","path":"note","content":"y"}`)
			c.await(t, updated, noteFile)
			w.call("writeFile", `{"workspace":"/agents/b","path":"/repos/app/main.go","content":"theirs"}`)
			w.call("git.commit", `{"workspace":"/agents/b","message":"theirs"}`)
			c.await(t, updated, mainFile)
			clone := filepath.Join(t.TempDir(), "clone")
			git(t, "", "clone", "-q", dir, clone)
			git(t, clone, "rm", "-q", "main.go")
			git(t, clone, "commit", "-qm", "outside")
			git(t, clone, "push", "-q", "origin", "HEAD:main")
			c.await(t, updated, mainFile)
			w.call("workspace.delete", `{"path":"/agents/a","discard":true}`)
			c.await(t, updated, statusDoc)
		})
	}
}

// What a subscriber sees as before is not told.
func TestSubscribersAreNotDisturbed(t *testing.T) {
	cfg := &mcpwire.Config{Project: newProject(t, map[string]string{"main.go": "package main\n", "other.go": "package main\n"})}
	w := serve(t, cfg)
	w.call("workspace.create", `{"path":"/agents/a"}`)
	w.call("workspace.create", `{"path":"/agents/b"}`)
	r := connect(t, cfg)
	r.initialize("example")
	for _, uri := range []string{mainFile, mainFile + "&at=base", noteFile} {
		if m := r.ask("resources/subscribe", fmt.Sprintf(`{"uri":%q}`, uri)); m.Error != nil {
			t.Fatal(m.line)
		}
	}
	w.call("writeFile", `{"workspace":"/agents/a","path":"/repos/app/other.go","content":"x"}`)
	w.call("git.commit", `{"workspace":"/agents/a","message":"of another file"}`)
	w.call("writeFile", `{"workspace":"/agents/b","path":"note","content":"x"}`)
	w.call("writeFile", `{"workspace":"/agents/b","path":"/repos/app/main.go","content":"x"}`)
	w.call("writeFile", `{"workspace":"/agents/a","path":"note","content":"last"}`)
	if m := r.next(); m.Method != updated || !strings.Contains(m.line, noteFile) {
		t.Errorf("first comes %s", m.line)
	}
	w.call("writeFile", `{"workspace":"/agents/a","path":"/repos/app/main.go","content":"changed"}`)
	if m := r.next(); m.Method != updated || !strings.Contains(m.line, mainFile) || strings.Contains(m.line, "at=base") {
		t.Errorf("then comes %s", m.line)
	}
	if m := r.ask("resources/unsubscribe", fmt.Sprintf(`{"uri":%q}`, mainFile)); m.Error != nil {
		t.Fatal(m.line)
	}
	w.call("writeFile", `{"workspace":"/agents/a","path":"/repos/app/main.go","content":"committed"}`)
	w.call("git.commit", `{"workspace":"/agents/a","message":"of this one"}`)
	if m := r.next(); !strings.Contains(m.line, "at=base") {
		t.Errorf("after the commit comes %s", m.line)
	}
}

// What is changed and set back at once may have been read in between.
func TestChangesBackAndForth(t *testing.T) {
	cfg := &mcpwire.Config{Project: newProject(t, map[string]string{"main.go": "package main\n"}), Workspace: "/agents/a"}
	r, other := connect(t, cfg), connect(t, cfg)
	r.initialize("example")
	other.ok("workspace.create", `{}`)
	if m := r.ask("resources/subscribe", `{"uri":"carrel:///repos/app/main.go"}`); m.Error != nil {
		t.Fatal(m.line)
	}
	other.ok("writeFile", `{"path":"/repos/app/main.go","content":"x"}`)
	r.next()
	// From here on there is a rest, after which it looks as before.
	other.ok("writeFile", `{"path":"/repos/app/main.go","content":"y"}`)
	other.ok("writeFile", `{"path":"/repos/app/main.go","content":"x"}`)
	if m := r.next(); m.Method != updated {
		t.Errorf("told by %s", m.line)
	}
}

// The list of resources changes with the mounts, and with the workspace of the
// session. Who has not asked for it is not told.
func TestListChanged(t *testing.T) {
	p := newProject(t, map[string]string{"main.go": "package main\n"})
	cfg := &mcpwire.Config{Project: p, Tools: "all"}
	w := serve(t, cfg)
	r, deaf := connect(t, cfg), connect(t, cfg)
	r.initialize("example")
	deaf.initialize("example")
	r.offers("")
	r.ok("workspace.create", `{"path":"/agents/a"}`)
	if m := r.next(); m.Method != listChanged || strings.Contains(m.line, "uri") {
		t.Errorf("after the binding comes %s", m.line)
	}
	deaf.ok("workspace.open", `{"path":"/agents/a"}`)
	bound := w.open(w.request(t.Context(), http.MethodPost, "/agents/a/mcp", listening(`"l"`), modernHeaders("subscriptions/listen", "")...))
	bound.begun(t, "listening")
	w.call("workspace.configure", `{"workspace":"/agents/a","mounts":{"/vendor/app":{"repoPath":"/repos/app","policy":"read-only"}}}`)
	if m := r.next(); m.Method != listChanged {
		t.Errorf("after the mounts changed comes %s", m.line)
	}
	bound.await(t, listChanged, "")
	repo := workspace.Repo{Path: "/repos/second", Source: workspace.Source{Location: newRepo(t, map[string]string{"a": "a"})}, Branch: "main", Policy: workspace.ReadOnly}
	if err := p.SetRepo(t.Context(), workspace.Caller{}, repo); err != nil {
		t.Fatal(err)
	}
	if m := r.next(); m.Method != listChanged {
		t.Errorf("after a repo was registered comes %s", m.line)
	}
	bound.await(t, listChanged, "")
	if m := deaf.ask("ping", `{}`); m.Error != nil { // comes first
		t.Error(m.line)
	}
}

// A session over HTTP is told on its next stream what it missed, and once more what
// may have been lost with the last one.
func TestToldOnTheNextStream(t *testing.T) {
	w := serve(t, &mcpwire.Config{Project: newProject(t, map[string]string{"main.go": "package main\n"})})
	w.call("workspace.create", `{"path":"/agents/a"}`)
	id := w.initialize("/mcp", "example")
	for _, uri := range []string{noteFile, mainFile} {
		w.post("/mcp", id, subscribing(uri))
	}
	w.call("writeFile", `{"workspace":"/agents/a","path":"note","content":"x"}`)
	get := func() (told, context.CancelFunc) {
		ctx, cancel := context.WithCancel(t.Context())
		return w.open(w.request(ctx, http.MethodGet, "/mcp", "", "Mcp-Session-Id: "+id)), cancel
	}
	first, hangUp := get()
	first.await(t, updated, noteFile)
	hangUp()
	w.call("writeFile", `{"workspace":"/agents/a","path":"/repos/app/main.go","content":"x"}`)
	second, hangUp := get()
	defer hangUp()
	for range 2 {
		m := second.await(t, updated, "")
		if !strings.Contains(m.line, noteFile) && !strings.Contains(m.line, mainFile) {
			t.Errorf("told by %s", m.line)
		}
	}
}

// A stream that waits takes no room from requests, ends with its client and with
// the server, and is bounded like the subscriptions of a session.
func TestListenStreams(t *testing.T) {
	w := serve(t, &mcpwire.Config{Project: newProject(t, map[string]string{"main.go": "package main\n"})})
	w.call("workspace.create", `{"path":"/agents/a"}`)
	var streams []told
	for range 300 { // more than there is room for requests
		c := w.open(w.request(t.Context(), http.MethodPost, "/mcp", listening(`"l"`, noteFile), modernHeaders("subscriptions/listen", "")...))
		c.begun(t, "listening")
		streams = append(streams, c)
	}
	s := w.stream("")
	for i := range 20 { // more than there is room for answers
		s.post(listening(fmt.Sprint(i), noteFile))
		s.next()
	}
	w.call("writeFile", `{"workspace":"/agents/a","path":"note","content":"x"}`)
	for _, c := range streams {
		c.await(t, updated, noteFile)
	}
	var many []string
	for i := range 300 {
		many = append(many, fmt.Sprintf("carrel:///workspace/%d?ws=/agents/a", i))
	}
	if a := w.do(http.MethodPost, "/mcp", listening("1", many...), modernHeaders("subscriptions/listen", "")...); a.code() != -32602 || !strings.Contains(a.body, "256") {
		t.Errorf("too many at once: %+v", a)
	}
	w.stop()
	for _, c := range streams {
		last := response{}
		for m := range c {
			last = m
		}
		if string(last.ID) != `"l"` || last.Error != nil {
			t.Errorf("a stream ends with %s", last.line)
		}
	}
	if err := w.ended(); err != nil {
		t.Error(err)
	}
}

// A stream over stdio ends with its request.
func TestCancelListening(t *testing.T) {
	cfg := &mcpwire.Config{Project: newProject(t, map[string]string{"main.go": "package main\n"}), Workspace: "/agents/a"}
	r := connect(t, cfg)
	r.ok("workspace.create", `{}`)
	r.send(listening(`"l"`, noteFile))
	r.next()
	r.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"l"}}`)
	r.ok("writeFile", `{"path":"note","content":"x"}`) // its answer comes next
	r.send(listening(`"m"`, noteFile))
	r.next()
	r.in.Close()
	if m := r.next(); string(m.ID) != `"m"` || m.Error != nil {
		t.Errorf("at the end comes %s", m.line)
	}
	if err := r.ended(); err != nil {
		t.Error(err)
	}
}

// However many changes there are, and whoever makes them, each subscriber is told
// after the last, and of none too often.
func TestManyChanges(t *testing.T) {
	const writers, changes = 4, 250
	p := newProject(t, map[string]string{"main.go": "package main\n"})
	cfg := &mcpwire.Config{Project: p}
	w := serve(t, cfg)
	w.call("workspace.create", `{"path":"/agents/a"}`)
	uris := []string{noteFile, statusDoc, diffDoc, "carrel:///repos/app/w0?ws=/agents/a", "carrel:///repos/app/w3?ws=/agents/a", "carrel:///repos/app?ws=/agents/a"}
	read := func(uri string) string {
		a := w.do(http.MethodPost, "/mcp", modernBody("resources/read", fmt.Sprintf(`"uri":%q`, uri), ""), modernHeaders("resources/read", uri)...)
		return a.body
	}
	start := time.Now()
	var lock sync.Mutex
	known, count := map[string]string{}, map[string]int{} // what each subscriber has read of each
	for name, subscribe := range subscribers {
		c := subscribe(w, cfg, uris...)
		c.begun(t, name)
		go func() {
			for m := range c {
				var params struct{ URI string }
				if m.Method != updated || json.Unmarshal(m.Params, &params) != nil {
					continue
				}
				got := read(params.URI)
				lock.Lock()
				known[name+" "+params.URI] = got
				count[name+" "+params.URI]++
				lock.Unlock()
			}
		}()
	}
	var writing sync.WaitGroup
	for i := range writers {
		c := connect(t, &mcpwire.Config{Project: p, Workspace: "/agents/a"})
		writing.Go(func() {
			for j := range changes {
				c.ok("writeFile", fmt.Sprintf(`{"path":"/repos/app/w%d","content":"%d"}`, i, j))
				if j%10 == 0 {
					c.ok("writeFile", fmt.Sprintf(`{"path":"note","content":"%d %d"}`, i, j))
				}
			}
		})
	}
	writing.Wait()
	final := map[string]string{}
	for _, uri := range uris {
		final[uri] = read(uri)
	}
	for name := range subscribers {
		for _, uri := range uris {
			for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
				lock.Lock()
				got, n := known[name+" "+uri], count[name+" "+uri]
				lock.Unlock()
				if got == final[uri] {
					if most := int(time.Since(start)/(100*time.Millisecond)) + 1; n > most {
						t.Errorf("%s was told %d times of %s, in which %d were to be", name, n, uri, most)
					}
					break
				}
				if time.Now().After(end) {
					t.Errorf("%s has of %s %.200q, and it is %.200q", name, uri, got, final[uri])
					break
				}
			}
		}
	}
}
