package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/workspace"
)

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
		got = append(got, f[0]+"  "+f[2])
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}

	home := w.carrel("events", "--workspace", "")
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

// TestFollow reads on while another command writes.
func TestFollow(t *testing.T) {
	w := newWorld(t)
	w.demo()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, in := io.Pipe()
	ended := make(chan error)
	go func() {
		err := run(ctx, []string{"events", "--follow"}, strings.NewReader(""), in, io.Discard)
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
