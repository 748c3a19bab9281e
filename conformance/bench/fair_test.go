package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
)

func fairRows() []row {
	return []row{{"fair-edit", "An edit beside somebody's 64 searches at once", prepareFair}}
}

const (
	editAlone  = "carrel serve: edit, nobody else"
	editBeside = "carrel serve: edit beside 64 greps"
)

// prepareFair has one client edit while another one searches the whole repository
// without a pause.
func prepareFair(s *stage) {
	s.about = "Over HTTP, a client edits a file of its workspace, again and again; another one keeps 64 searches of the whole repository going, for nothing that is there."
	url := serveHTTP(s, usual().make(s).dir)
	editor, searcher := dial(s, url), dial(s, url)
	editor.must(s, "workspace.create", map[string]any{"path": "/agents/editor"})
	searcher.must(s, "workspace.create", map[string]any{"path": "/agents/searcher"})
	editor.must(s, "writeFile", map[string]any{"path": "/workspace/f", "content": "a 0 z\n"})
	n, now := sized(20, 300), 0
	edits := func(t *turn) error {
		for range n {
			err := t.time("", func() error {
				next := 1 - now
				err := editor.call(t, "edit", map[string]any{"path": "/workspace/f", "oldString": fmt.Sprint("a ", now), "newString": fmt.Sprint("a ", next)})
				now = next
				return err
			})
			if err != nil {
				return err
			}
		}
		t.saw("edits", fmt.Append(nil, n))
		return nil
	}
	s.add(editAlone, edits)
	s.add(editBeside, func(t *turn) error {
		ctx, stop := context.WithCancel(t)
		var searching sync.WaitGroup
		for i := range 64 {
			searching.Go(func() {
				for ctx.Err() == nil {
					searcher.call(ctx, "grep", map[string]any{"pattern": fmt.Sprintf("no such thing %d [a-z]+", i)})
				}
			})
		}
		err := edits(t)
		stop()
		searching.Wait()
		return err
	})
	s.finish = func() {
		alone, beside := s.contestants[0].scores().all.P95, s.contestants[1].scores().all.P95
		s.fact("p95 of an edit beside the searches, by that of one alone", float64(beside)/float64(alone), "times", 3)
	}
}

// serveHTTP starts the program on a repository and returns its endpoint.
func serveHTTP(s *stage, repo string) string {
	s.Helper()
	binary, err := shared.program()
	if err != nil {
		s.Fatal(err)
	}
	cmd := carrelCommand(context.Background(), binary, filepath.Join(dirOf(s), "data"),
		"serve", "--repo", "r="+repo, "--addr", "127.0.0.1:0", "--tools", "all", "--tool-names", "dotted")
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	})
	var said bytes.Buffer
	for buf := make([]byte, 4096); ; {
		n, err := stderr.Read(buf)
		said.Write(buf[:n])
		if at := regexp.MustCompile(`on (http://\S+/mcp)`).FindSubmatch(said.Bytes()); at != nil {
			go io.Copy(io.Discard, stderr)
			return string(at[1])
		}
		if err != nil {
			s.Fatalf("carrel serve: %v: %s", err, said.Bytes())
		}
	}
}

// caller is a session over HTTP.
type caller struct{ url, session string }

// ids are those of requests, of all callers.
var ids atomic.Int64

func dial(s *stage, url string) *caller {
	s.Helper()
	c := &caller{url: url}
	_, err := c.post(s.Context(), "initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "bench", "version": "1"},
	})
	if err != nil {
		s.Fatal(err)
	}
	return c
}

func (c *caller) post(ctx context.Context, method string, params any) ([]byte, error) {
	id := ids.Add(1)
	message := map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}
	text, err := c.send(ctx, message)
	if ctx.Err() != nil {
		c.send(context.WithoutCancel(ctx), map[string]any{
			"jsonrpc": "2.0", "method": "notifications/cancelled", "params": map[string]any{"requestId": id},
		})
	}
	return text, err
}

// send sends a message and returns what is answered.
func (c *caller) send(ctx context.Context, message map[string]any) ([]byte, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if c.session == "" {
		c.session = res.Header.Get("Mcp-Session-Id")
	}
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("%v: status %d: %s", message["method"], res.StatusCode, text)
	}
	return text, err
}

// call calls a tool, which has to succeed.
func (c *caller) call(ctx context.Context, tool string, arguments map[string]any) error {
	text, err := c.post(ctx, "tools/call", map[string]any{"name": tool, "arguments": arguments})
	if err == nil && (strings.Contains(string(text), `"isError":true`) || strings.Contains(string(text), `"error":{`)) {
		err = errors.New(string(text))
	}
	return err
}

func (c *caller) must(s *stage, tool string, arguments map[string]any) {
	s.Helper()
	if err := c.call(s.Context(), tool, arguments); err != nil {
		s.Fatal(err)
	}
}
