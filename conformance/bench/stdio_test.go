package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func stdioRows() []row {
	return []row{
		{"stdio-read", "Read a file over MCP", prepareStdioRead},
		{"stdio-edit", "Edit a file over MCP", prepareStdioEdit},
	}
}

const (
	byMCP        = "carrel mcp"
	byMinimal    = "a minimal server on mcp-go"
	byFileServer = "server-filesystem"
)

func prepareStdioRead(s *stage) {
	r := usual().checkedOut(s)
	n := sized(50, 500)
	s.about = "Over stdio, by processes; the calls to the servers alternate. The files have been read before. The minimal server has one tool, " +
		"which calls os.ReadFile of a checkout: what is left over is the price of the protocol."
	s.steps = n
	names := shuffled(r.paths(s), 6)[:n]
	name := func(t *turn) string { return names[(t.step+t.round*7)%n] }

	carrel := s.serveCarrel(r.dir)
	s.addReader(byMCP, carrel, "readFile", func(t *turn) (string, string) { return name(t), top + "/" + name(t) })
	onDisk := func(t *turn) (string, string) { return name(t), filepath.Join(r.files, name(t)) }
	cmd, err := child(s.Context(), "minimal")
	if err != nil {
		s.Fatal(err)
	}
	s.addReader(byMinimal, connect(s, cmd), "readFile", onDisk)
	if cmd, err := fileServer(s.Context(), r.files); err != nil {
		s.lack(byFileServer, err)
	} else {
		s.addReader(byFileServer, connect(s, cmd), "read_text_file", onDisk)
	}
	s.hold(byMCP, byMinimal, atMost(1.25))
	s.hold(byMCP, byFileServer, faster(1.6))
}

// serveCarrel starts the program on a data directory of its own.
func (s *stage) serveCarrel(repo string) *client {
	s.Helper()
	binary, err := shared.program()
	if err != nil {
		s.Fatal(err)
	}
	data := filepath.Join(dirOf(s), "data")
	return connect(s, carrelCommand(s.Context(), binary, data, "mcp", "--repo", "r="+repo, "--workspace", "/agents/bench", "--create"))
}

// addReader has a server read a file a turn. which is its name and its path.
func (s *stage) addReader(name string, c *client, tool string, which func(*turn) (name, path string)) {
	read := func(t *turn) error {
		name, path := which(t)
		text, took, err := c.call(tool, map[string]any{"path": path})
		t.sample("", took)
		t.saw(name, []byte(text))
		return err
	}
	s.add(name, read).warm = func(ctx context.Context) error {
		for i := range 2 * s.steps { // all of them, and the server's code
			if err := read(newTurn(ctx, 0, i%s.steps)); err != nil {
				return err
			}
		}
		return nil
	}
}

func prepareStdioEdit(s *stage) {
	s.about = "One line in a text of 200, over stdio; the calls alternate. Carrel's edit survives a power failure when it returns; " +
		"server-filesystem does not wait for the disk. Both show a diff."
	s.steps = sized(10, 100)
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, "line %d of the text that is edited\n", i)
	}
	text.WriteString(counter(0))

	s.addCarrelEditor(text.String())
	s.addFileServerEditor(text.String())
	s.hold(byMCP, byFileServer, atMost(1))
}

// addCarrelEditor has Carrel edit a text.
func (s *stage) addCarrelEditor(text string) {
	c := s.serveCarrel(usual().make(s).dir)
	const path = "/workspace/text"
	if _, _, err := c.call("writeFile", map[string]any{"path": path, "content": text}); err != nil {
		s.Fatal(err)
	}
	s.add(byMCP, func(t *turn) error {
		n := t.round*s.steps + t.step
		_, took, err := c.call("edit", map[string]any{"path": path, "oldString": counter(n), "newString": counter(n + 1)})
		if err != nil {
			return err
		}
		t.sample("", took)
		after, _, err := c.call("readFile", map[string]any{"path": path})
		t.saw("the text", []byte(after))
		return err
	})
}

// addFileServerEditor has server-filesystem edit a text.
func (s *stage) addFileServerEditor(text string) {
	path := filepath.Join(dirOf(s), "text")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.Fatal(err)
	}
	cmd, err := fileServer(s.Context(), filepath.Dir(path))
	if err != nil {
		s.lack(byFileServer, err)
		return
	}
	c := connect(s, cmd)
	s.add(byFileServer, func(t *turn) error {
		n := t.round*s.steps + t.step
		change := map[string]any{"oldText": counter(n), "newText": counter(n + 1)}
		_, took, err := c.call("edit_file", map[string]any{"path": path, "edits": []any{change}})
		if err != nil {
			return err
		}
		t.sample("", took)
		after, err := os.ReadFile(path)
		t.saw("the text", after)
		return err
	})
}

// counter is the line that is edited, after so many edits.
func counter(n int) string { return fmt.Sprintf("counter: %d.\n", n) }
