package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// act carries out a word that does something.
func (t *thread) act(ctx context.Context, c command) error {
	words := map[string]func(context.Context, command) error{
		"fixture": t.fixture, "repo": t.repo, "commit": t.commit, "git": t.git, "plant": t.plant, "unplant": t.unplant,
		"session": t.open, "as": t.as, "call": t.call, "tools": t.tools, "events": t.events, "restart": t.restart,
		"let": t.let, "hostpaths": t.showHostPaths,
	}
	do, ok := words[c.word]
	if !ok {
		return fmt.Errorf("unknown word")
	}
	return do(ctx, c)
}

// fixture NAME plays a script of the fixtures first.
func (t *thread) fixture(ctx context.Context, c command) error {
	b, err := fs.ReadFile(t.play.env.Fixtures, c.rest+".txtar")
	if err != nil {
		return err
	}
	s, err := Parse(c.rest, b)
	if err != nil {
		return err
	}
	for name, content := range s.Files {
		if _, taken := t.play.script.Files[name]; !taken {
			t.play.script.Files[name] = content
		}
	}
	t.play.fixture = true
	defer func() { t.play.fixture = false }()
	if err := t.block(ctx, s.commands); err != nil {
		return err
	}
	return t.settled()
}

// session NAME [workspace=PATH] [client=NAME] [core] connects a client; calls go
// to it from now on.
func (t *thread) open(ctx context.Context, c command) error {
	args, err := fields(c.rest)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return fmt.Errorf("needs a name")
	}
	var o SessionOptions
	for _, a := range args[1:] {
		key, value, _ := strings.Cut(a, "=")
		switch key {
		case "workspace":
			o.Workspace = value
		case "client":
			o.Client = value
		case "core":
			o.Core = true
		default:
			return fmt.Errorf("unknown option %q", a)
		}
	}
	p := t.play
	p.mu.Lock()
	_, taken := p.sessions[args[0]]
	if !taken {
		p.sessions[args[0]] = &connection{options: o}
	}
	p.mu.Unlock()
	if taken {
		return fmt.Errorf("the name is taken")
	}
	t.session = args[0]
	_, _, err = t.connected(ctx)
	return err
}

// as NAME sends the calls that follow to an open session.
func (t *thread) as(_ context.Context, c command) error {
	t.play.mu.Lock()
	defer t.play.mu.Unlock()
	if t.play.sessions[c.rest] == nil {
		return fmt.Errorf("no such session")
	}
	t.session = c.rest
	return nil
}

// connected returns the session that calls go to, and the name of its client.
func (t *thread) connected(ctx context.Context) (s Session, client string, err error) {
	server, err := t.play.running(ctx)
	if err != nil {
		return nil, "", err
	}
	t.play.mu.Lock()
	c := t.play.sessions[t.session]
	t.play.mu.Unlock()
	if c == nil {
		return nil, "", fmt.Errorf("no session is open")
	}
	s, err = c.open(ctx, server)
	return s, c.options.Client, err
}

// call [key=K] TOOL [JSON] calls a tool.
func (t *thread) call(ctx context.Context, c command) error {
	var req Call
	rest := c.rest
	if after, ok := strings.CutPrefix(rest, "key="); ok {
		req.Key, rest, _ = strings.Cut(after, " ")
	}
	var args string
	req.Tool, args, _ = strings.Cut(rest, " ")
	if args = strings.TrimSpace(args); args == "" {
		args = "{}"
	}
	if req.Args = json.RawMessage(args); !json.Valid(req.Args) {
		return fmt.Errorf("the arguments are not JSON")
	}
	s, client, err := t.connected(ctx)
	if err != nil {
		return err
	}
	r, err := s.Call(ctx, req)
	if err != nil {
		return err
	}
	if err := t.play.checkResult(client, req, r); err != nil {
		return err
	}
	t.last = outcome{from: c, text: r.Blocks[0].Text, notes: r.Text(1), facts: r.Facts()}
	for _, b := range r.Blocks {
		if b.Type != "text" {
			t.last.bytes = b.Bytes
		}
	}
	if r.IsError {
		t.last = outcome{from: c, text: r.Text(0), failed: true, code: r.Code()}
	}
	return nil
}

// tools lists the tools: an array of their names, and of the sizes of both
// schemas.
func (t *thread) tools(ctx context.Context, c command) error {
	s, _, err := t.connected(ctx)
	if err != nil {
		return err
	}
	list, err := s.Tools(ctx)
	if err != nil {
		return err
	}
	type row struct {
		Name   string          `json:"name"`
		Input  json.RawMessage `json:"input"`
		Output json.RawMessage `json:"output"`
	}
	rows := []row{}
	for _, tool := range list {
		rows = append(rows, row{tool.Name, tool.InputSchema, tool.OutputSchema})
	}
	b, err := json.Marshal(rows)
	t.last = outcome{from: c, facts: b}
	return err
}

// events STREAM [TYPE] reads a stream's records: an array.
func (t *thread) events(ctx context.Context, c command) error {
	stream, typ, _ := strings.Cut(c.rest, " ")
	s, err := t.play.running(ctx)
	if err != nil {
		return err
	}
	b, err := s.Records(ctx, stream)
	if err != nil {
		return err
	}
	var records []map[string]any
	if err := json.Unmarshal(b, &records); err != nil {
		return err
	}
	kept := []map[string]any{}
	for _, r := range records {
		if typ == "" || r["type"] == typ {
			kept = append(kept, r)
		}
	}
	if b, err = json.Marshal(kept); err != nil {
		return err
	}
	t.last = outcome{from: c, facts: b}
	return nil
}

// restart ends the server and all sessions and starts them again on the same
// data.
func (t *thread) restart(ctx context.Context, _ command) error {
	if err := t.play.stop(); err != nil {
		return err
	}
	_, err := t.play.running(ctx)
	return err
}

// let NAME = json PATH | count PATH | text | repeat N "format" | VALUE sets a
// variable. In the format, %d is the number of the repetition from 1.
func (t *thread) let(_ context.Context, c command) error {
	name, what, ok := strings.Cut(c.rest, " = ")
	if !ok {
		return fmt.Errorf("needs NAME = …")
	}
	word, arg, _ := strings.Cut(what, " ")
	var err error
	switch word {
	case "json":
		t.vars[name], err = t.jsonText(arg)
	case "count":
		var n int
		n, err = t.count(arg)
		t.vars[name] = strconv.Itoa(n)
	case "text":
		t.vars[name] = t.last.text
	case "repeat":
		t.vars[name], err = repeated(arg)
	default:
		t.vars[name], err = t.play.script.textValue(what)
	}
	return err
}

func repeated(arg string) (string, error) {
	count, spelled, _ := strings.Cut(arg, " ")
	n, err := strconv.Atoi(count)
	if err != nil {
		return "", err
	}
	format, err := strconv.Unquote(spelled)
	if err != nil {
		return "", fmt.Errorf("%s is no Go string", spelled)
	}
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(format, "%d", strconv.Itoa(i+1)))
	}
	return b.String(), nil
}

// hostpaths lets results show where files lie on the host from here on.
func (t *thread) showHostPaths(context.Context, command) error {
	t.play.hostPaths = true
	return nil
}
