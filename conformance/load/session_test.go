package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// session is one client, on a workspace of its own, which knows what has to be there.
type session struct {
	w    *world
	n    int
	repo int
	id   string // of MCP

	files   map[string]string // that it wrote, by path
	pending map[string]string // what a call whose answer did not come was to write; "" if none was under way
	made    int               // commits
	calls   map[string]int    // answered, by tool
	limited int               // calls that a limit refused
	took    []time.Duration
}

// errLimited is a refusal by a limit that is named.
var errLimited = errors.New("limited")

// errDown: no answer came.
var errDown = errors.New("the server is gone")

func (s *session) workspace() string { return fmt.Sprintf("/agents/load/%d", s.n) }

// result is what a tool answered.
type result struct {
	IsError bool
	Content []struct{ Text string }
	Fields  json.RawMessage `json:"structuredContent"`
	Meta    struct {
		Code   string
		Result json.RawMessage `json:"carrel.dev/result"`
	} `json:"_meta"`
}

func (r *result) text() string {
	var all []string
	for _, c := range r.Content {
		all = append(all, c.Text)
	}
	return strings.Join(all, "\n")
}

// post sends a message and returns the answer.
func (s *session) post(ctx context.Context, method string, params any) (json.RawMessage, error) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.w.url+"/mcp", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+s.w.token)
	if s.id != "" {
		r.Header.Set("Mcp-Session-Id", s.id)
	}
	res, err := s.w.http.Do(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDown, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errDown, err)
	case res.StatusCode == http.StatusTooManyRequests && res.Header.Get("Retry-After") != "":
		return nil, errLimited
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: status %d: %s", method, res.StatusCode, text)
	}
	if id := res.Header.Get("Mcp-Session-Id"); id != "" {
		s.id = id
	}
	if _, after, ok := strings.Cut(string(text), "data: "); ok { // as a stream of one event
		text = []byte(after)
	}
	var m struct {
		Result json.RawMessage
		Error  json.RawMessage
	}
	if err := json.Unmarshal(text, &m); err != nil || m.Error != nil {
		return nil, fmt.Errorf("%s: %s", method, text)
	}
	return m.Result, nil
}

// call calls a tool, and checks that the answer is about the session's workspace.
func (s *session) call(ctx context.Context, tool string, arguments map[string]any) (*result, error) {
	began := time.Now()
	raw, err := s.post(ctx, "tools/call", map[string]any{"name": tool, "arguments": arguments})
	if errors.Is(err, errLimited) {
		s.limited++
	}
	if err != nil {
		return nil, err
	}
	s.took = append(s.took, time.Since(began))
	s.calls[tool]++
	var r result
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, err
	}
	if r.IsError {
		if r.Meta.Code == "limit" {
			s.limited++
			return nil, errLimited
		}
		return nil, fmt.Errorf("%s %v: %s: %s", tool, arguments, r.Meta.Code, r.text())
	}
	var about struct{ Workspace string }
	fields := r.Fields
	if fields == nil {
		fields = r.Meta.Result
	}
	if err := json.Unmarshal(fields, &about); err != nil || about.Workspace != s.workspace() {
		return nil, fmt.Errorf("%s in %s: the answer is about %q: %s", tool, s.workspace(), about.Workspace, raw)
	}
	return &r, nil
}

// begin begins a session of MCP and goes to the workspace.
func (s *session) begin(ctx context.Context) error {
	s.id = ""
	_, err := s.post(ctx, "initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "example", "version": "1"},
	})
	if err == nil {
		_, err = s.call(ctx, "workspace.create", map[string]any{"path": s.workspace()})
	}
	return err
}

// own is a path that only this session writes.
func (s *session) own(i int) string {
	return fmt.Sprintf("/repos/r%d/work/%d/f%d.txt", s.repo, s.n, i)
}

// step makes one call, chosen as agents choose them, and checks what comes of it.
func (s *session) step(ctx context.Context) error {
	switch n := rand.IntN(100); {
	case n < 40:
		return s.readLower(ctx)
	case n < 60:
		return s.readOwn(ctx)
	case n < 75:
		return s.write(ctx)
	case n < 85:
		return s.edit(ctx)
	case n < 92:
		_, err := s.call(ctx, "git.status", map[string]any{})
		return err
	case n < 97:
		return s.search(ctx)
	}
	return s.commit(ctx)
}

func (s *session) readLower(ctx context.Context) error {
	f := rand.IntN(300)
	path := fmt.Sprintf("/repos/r%d/src/d%d/f%d.txt", s.repo, f%20, f)
	r, err := s.call(ctx, "readFile", map[string]any{"path": path})
	if err == nil && r.text() != fileOf(s.repo, f) {
		err = fmt.Errorf("%s has %q", path, r.text())
	}
	return err
}

// some returns one of the files that the session wrote, "" if there is none.
func (s *session) some() string {
	for p := range s.files {
		return p
	}
	return ""
}

func (s *session) readOwn(ctx context.Context) error {
	path := s.some()
	if path == "" {
		return s.write(ctx)
	}
	return s.check(ctx, path)
}

// check reads a file that the session wrote.
func (s *session) check(ctx context.Context, path string) error {
	r, err := s.call(ctx, "readFile", map[string]any{"path": path})
	if err == nil && r.text() != s.files[path] {
		err = fmt.Errorf("%s has %q, want %q", path, r.text(), s.files[path])
	}
	return err
}

// change makes a call that leaves a file with a content.
func (s *session) change(ctx context.Context, tool, path, content string, arguments map[string]any) error {
	arguments["path"] = path
	s.pending[path] = content
	_, err := s.call(ctx, tool, arguments)
	if err == nil {
		s.files[path] = content
	}
	if !errors.Is(err, errDown) {
		delete(s.pending, path)
	}
	return err
}

func (s *session) write(ctx context.Context) error {
	path := s.own(rand.IntN(8))
	if rand.IntN(4) == 0 {
		path = fmt.Sprintf("/workspace/notes%d.md", rand.IntN(4))
	}
	content := fmt.Sprintf("session %d, number %d\n%s\n", s.n, rand.Uint64(), strings.Repeat("some text ", rand.IntN(200)))
	return s.change(ctx, "writeFile", path, content, map[string]any{"content": content})
}

func (s *session) edit(ctx context.Context) error {
	path := s.some()
	if path == "" {
		return s.write(ctx)
	}
	was, rest, _ := strings.Cut(s.files[path], "\n")
	line := fmt.Sprintf("session %d, number %d", s.n, rand.Uint64())
	return s.change(ctx, "edit", path, line+"\n"+rest, map[string]any{"oldString": was + "\n", "newString": line + "\n"})
}

func (s *session) search(ctx context.Context) error {
	d := rand.IntN(20)
	dir := fmt.Sprintf("/repos/r%d/src/d%d", s.repo, d)
	if rand.IntN(2) == 0 {
		r, err := s.call(ctx, "glob", map[string]any{"pattern": "**/*.txt", "path": dir})
		if err == nil && strings.Count(r.text(), ".txt") != 15 {
			err = fmt.Errorf("glob in %s: %s", dir, r.text())
		}
		return err
	}
	r, err := s.call(ctx, "grep", map[string]any{"pattern": fmt.Sprintf("^repository %d, file %d$", s.repo, d), "path": dir, "mode": "files"})
	if err == nil && !strings.Contains(r.text(), fmt.Sprintf("/f%d.txt", d)) {
		err = fmt.Errorf("grep in %s: %s", dir, r.text())
	}
	return err
}

// commit commits what the session has in its repository, if it has anything.
func (s *session) commit(ctx context.Context) error {
	content := fmt.Sprintf("commit %d of session %d, %d\n", s.made, s.n, rand.Uint64())
	if err := s.change(ctx, "writeFile", s.own(0), content, map[string]any{"content": content}); err != nil {
		return err
	}
	_, err := s.call(ctx, "git.commit", map[string]any{"message": fmt.Sprintf("session %d commits", s.n), "scope": fmt.Sprintf("/repos/r%d", s.repo)})
	if err == nil {
		s.made++
	}
	return err
}
