package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/workspace"
)

// inSession is the part of a line that differs each time.
var inSession = regexp.MustCompile(`, session [A-Z2-7]{26}`)

func TestEvents(t *testing.T) {
	w := newWorld(t)
	w.demo()
	w.carrel("call", "writeFile", "path=/repos/app/main.go", "content=one\n")
	commit := decode[struct{ Branch, Commit string }](w, "commit", "-m", "one")
	w.carrel("workspace", "delete", "/agents/demo")

	short := commit.Commit[:10]
	want := []string{
		"1  workspace/created  carrel workspace create",
		"2  workspace/changed  carrel call  writeFile /repos/app/main.go",
		"3  workspace/committing  carrel commit  " + short + " to " + commit.Branch + " of /repos/app: /repos/app/main.go",
		"4  workspace/committed  carrel commit  " + short,
		"5  workspace/deleted  carrel workspace delete",
	}
	var got []string
	for line := range strings.Lines(w.carrel("events")) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), "  ", 3) // without the time
		got = append(got, f[0]+"  "+inSession.ReplaceAllString(f[2], ""))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}

	home := inSession.ReplaceAllString(w.carrel("events", "--workspace", ""), "")
	for _, want := range []string{"project/created", "repo/created  carrel repo add  /repos/app\n", "workspace/deleted  carrel workspace delete  /agents/demo\n"} {
		w.has(home, want)
	}
	w.fails(workspace.NotExist, "does not exist in the project default", "events", "--workspace", "/agents/none")

	lines := json.NewDecoder(strings.NewReader(w.carrel("events", "--json")))
	var all []eventInfo
	for {
		var e eventInfo
		if err := lines.Decode(&e); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	if len(all) != 5 || all[1].Type != "workspace/changed" || !strings.Contains(string(all[1].Payload), "/repos/app/main.go") {
		t.Errorf("--json: got %+v", all)
	}
}

// TestAudit finds who did what to which workspace, of those who came by a token and
// whoever has the data directory.
func TestAudit(t *testing.T) {
	w := newWorld(t)
	w.demo()
	var ids []string
	client := func(bearers ...string) func(string) {
		return func(url string) {
			for i, b := range bearers {
				a := &webAgent{T: t, url: url, bearer: b}
				a.initialize()
				a.call("workspace.create", map[string]any{"path": fmt.Sprintf("/agents/w%d", i)})
				a.call("writeFile", map[string]any{"path": "a.txt", "content": strings.Repeat("a", 10)})
			}
		}
	}
	var bearers []string
	for range 2 { // two of one name
		bearers = append(bearers, strings.TrimSpace(w.carrel("token", "create", "--allow", "admin", "--name", "ci")))
	}
	for _, tok := range decode[struct{ Tokens []tokenInfo }](w, "token", "list").Tokens {
		ids = append(ids, tok.ID)
	}
	if r := w.interrupted(client(bearers...), "serve", "--addr", "127.0.0.1:0", "--tokens"); r.status != statusOK {
		t.Fatal(r.stderr)
	}
	w.carrel("call", "writeFile", "path=b.txt", "content=b")

	// done returns what a command line lists, without time and session.
	done := func(args ...string) (all []string) {
		for line := range strings.Lines(w.carrel(append([]string{"events"}, args...)...)) {
			f := strings.SplitN(strings.TrimSuffix(line, "\n"), "  ", 3)
			all = append(all, f[0]+"  "+inSession.ReplaceAllString(f[2], ""))
		}
		return all
	}
	by := func(i int) []string {
		who := "ci [" + ids[i] + "] with agent"
		at := fmt.Sprintf("/agents/w%d ", i)
		return []string{at + "1  workspace/created  " + who, at + "2  workspace/changed  " + who + "  writeFile /workspace/a.txt"}
	}
	own := []string{"/agents/demo 2  workspace/changed  carrel call  writeFile /workspace/b.txt"}
	begun := []string{
		"/ 1  project/created  carrel repo add", "/repos/app 1  repo/created  carrel repo add",
		"/repos/lib 1  repo/created  carrel repo add", "/agents/demo 1  workspace/created  carrel workspace create",
	}
	everything := slices.Concat(begun, by(0), by(1), own)
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"--all"}, everything},
		{[]string{"--all", "--since", "1d"}, everything},
		{[]string{"--all", "--since", "2200-01-01T00:00:00Z"}, nil},
		{[]string{"--all", "--actor", ids[1]}, by(1)},
		{[]string{"--all", "--actor", "ci"}, slices.Concat(by(0), by(1))},
		{[]string{"--all", "--actor", "ci [" + ids[0] + "]"}, by(0)},
		{[]string{"--all", "--actor", "c"}, nil},
		{[]string{"--workspace", "/agents/w1", "--actor", ids[0]}, nil},
	} {
		got := done(tt.args...)
		if tt.args[0] == "--all" && len(got) > 1 { // what one append has to several streams has no order
			slices.Sort(got)
			tt.want = slices.Sorted(slices.Values(tt.want))
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%q (-want +got):\n%s", tt.args, d)
		}
	}
	var last eventInfo
	for line := range strings.Lines(w.carrel("events", "--all", "--json", "--actor", ids[1])) {
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Fatal(err)
		}
	}
	if last.Stream != "/agents/w1" || last.Actor != "ci ["+ids[1]+"]" || last.Client != "agent" || len(last.Session) != 26 || last.Seq != 2 {
		t.Errorf("--json: got %+v", last)
	}
	w.misused("--since is \"soon\"", "events", "--since", "soon")
	w.misused("leave --workspace out", "events", "--all", "--workspace", "/agents/demo")
}

// TestFollow reads on while another command writes.
func TestFollow(t *testing.T) {
	for name, args := range map[string][]string{
		"workspace": {"events", "--follow"}, "all": {"events", "--all", "--follow", "--since", "1h"},
	} {
		t.Run(name, func(t *testing.T) { follow(t, args) })
	}
}

func follow(t *testing.T, args []string) {
	w := newWorld(t)
	w.demo()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, in := io.Pipe()
	ended := make(chan error)
	go func() {
		err := run(ctx, args, strings.NewReader(""), in, io.Discard)
		in.Close()
		ended <- err
	}()
	lines := bufio.NewScanner(out)
	next := func(want string) {
		t.Helper()
		if !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Fatalf("got %q, %v, want %q in it", lines.Text(), lines.Err(), want)
		}
	}
	if slices.Contains(args, "--all") {
		for range 3 { // the project and its repos, in the order of one append or the other
			next("/created")
		}
	}
	next("workspace/created")
	for i := range 3 {
		w.carrel("call", "writeFile", fmt.Sprintf("path=file%d", i), "content=x")
		next(fmt.Sprintf("writeFile /workspace/file%d", i))
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("interrupted: got %v", err)
	}
	if lines.Scan() {
		t.Errorf("got another line %q", lines.Text())
	}
}

func TestSummary(t *testing.T) {
	tests := []struct {
		stream, typ, payload, want string
	}{
		{"/agents/a", workspace.WorkspaceChanged, `{"op":"mv","drop":["/a"],"changes":[{"path":"/b"},{"path":"/c"},{"path":"/d"}]}`, "mv /a, /b, /c and 1 more"},
		{"/agents/a", workspace.WorkspaceConfigured, `{"mounts":{"/b":null,"/a":{}}}`, "/a, /b"},
		{"/agents/a", workspace.WorkspaceCreated, `{"digest":"x"}`, ""},
		{"/agents/a", workspace.WorkspaceChanged, `{"op":1}`, ""},
		{"/agents/a", "chat/said", `{"op":"x"}`, ""},
		{"/repos/a", workspace.RepoCommitted, `{"branch":"main","after":"0123456789012345678901234567890123456789"}`, "0123456789 on main"},
		{"/", workspace.RepoRemoved, `{"stream":"/repos/a","seq":3}`, "/repos/a"},
	}
	for _, tt := range tests {
		r := workspace.Record{Stream: workspace.StreamID{Project: "default", Name: tt.stream}, Event: workspace.Event{Type: tt.typ, Payload: []byte(tt.payload)}}
		if got := summary(r); got != tt.want {
			t.Errorf("%s %s: got %q, want %q", tt.typ, tt.payload, got, tt.want)
		}
	}
}
