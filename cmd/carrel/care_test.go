package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3" // to damage what it has written

	"carrel.dev/workspace"
)

// damageDB changes the database behind the program's back.
func (w *world) damageDB(query string) {
	w.Helper()
	db, err := sql.Open("sqlite3", filepath.Join(w.dir, "data", "carrel.db"))
	if err != nil {
		w.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(query); err != nil {
		w.Fatal(err)
	}
}

// die runs a process that leaves its file, as one that was killed does.
func (w *world) die() {
	w.Helper()
	cmd := exec.Command(os.Args[0], "mcp", "--project", defaultProject)
	cmd.Env = append(os.Environ(), asCarrel+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		w.Fatal(err)
	}
	defer in.Close()
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	for limit := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		files, _ := os.ReadDir(filepath.Join(w.dir, "data", "processes"))
		if len(files) > 0 {
			break
		}
		if time.Now().After(limit) {
			w.Fatal("the process does not register")
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
}

func TestFsck(t *testing.T) {
	w := newWorld(t)
	w.fails(workspace.NotExist, "there is no data directory", "fsck")
	w.demo()
	w.carrel("call", "writeFile", "path=notes", "content=some notes")
	w.carrel("call", "writeFile", "path=large", "content="+strings.Repeat("large ", 60_000))
	out := w.carrel("fsck")
	for _, want := range []string{"checked: 1 project, 4 streams, ", " 2 repos, ", "nothing is wrong\n"} {
		w.has(out, want)
	}
	w.die()
	out = w.carrel("fsck")
	w.has(out, "leftover process-dead: the process ")
	w.has(out, "found: 0 losses, 0 faults, 1 leftover\n")
	w.has(w.carrel("fsck"), "1 leftover\n") // it has changed nothing

	w.damageDB("DELETE FROM bodies WHERE content = CAST('some notes' AS BLOB)")
	w.fails(workspace.Corrupt, "something is lost, or cannot be read", "fsck")
	r := w.try("", "fsck")
	w.has(r.stdout, "loss     content-missing /agents/demo @2 ")
	w.has(r.stdout, "\n         Write the same content again")
	r = w.try("", "fsck", "--json")
	var report fsckReport
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil || r.status != statusRefused {
		t.Fatalf("status %d, %v\n%s", r.status, err, r.stdout)
	}
	kinds := map[workspace.FindingKind]int{}
	for _, f := range report.Findings {
		kinds[f.Kind]++
	}
	if report.OK || kinds[workspace.ContentMissing] != 2 || kinds[workspace.ProcessDead] != 1 || len(kinds) != 2 || report.Projects != 1 {
		t.Errorf("got %+v", report)
	}
	w.carrel("call", "writeFile", "path=again", "content=some notes") // which the hint says
	w.has(w.carrel("fsck"), "nothing is wrong\n")
	if report := decode[fsckReport](w, "fsck", "--rebuild"); !report.OK || report.Findings == nil {
		t.Errorf("rebuild: got %+v", report)
	}
	w.misused("fsck takes no arguments", "fsck", "now")
}

func TestGCCommand(t *testing.T) {
	w := newWorld(t)
	w.demo()
	w.carrel("call", "writeFile", "path=notes", "content=some notes")
	w.carrel("call", "writeFile", "path=large", "content="+strings.Repeat("large ", 60_000))
	w.die()
	// What nobody has named for long.
	w.damageDB("INSERT INTO bodies (id, size, used, content) VALUES (x'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391', 0, 0, x'')")
	lone := filepath.Join(w.dir, "data", "blobs", "b6", "fc4c620b67d95f953a5c1c1230aaab5db5a1b0")
	abandoned := filepath.Join(w.dir, "data", "blobs", "tmp", "put-1")
	for name, content := range map[string]string{lone: "blob 5\x00hello", abandoned: "half"} {
		w.write(name, content)
		if err := os.Chtimes(name, time.Time{}, time.Now().Add(-48*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	w.has(w.carrel("fsck"), "found: 0 losses, 0 faults, 2 leftovers\n")
	got := decode[gcReport](w, "gc")
	if got.Contents != 2 || got.Bytes != 5 || got.Processes != 1 || got.Files != 1 || got.Repos != 0 || got.Refs == nil || got.Left == nil {
		t.Errorf("got %+v", got)
	}
	if _, err := os.Stat(lone); err == nil {
		t.Error("a content that nothing names is there")
	}
	if got, want := w.carrel("gc"), "removed: 0 contents (0 B), 0 refs\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	w.has(w.carrel("fsck"), "nothing is wrong\n")
	w.has(w.carrel("call", "readFile", "path=notes"), "some notes")

	r := gcReport{Contents: 1, Bytes: 3 << 20, Processes: 2, Left: []gcRef{{Repository: "/r", Ref: "refs/heads/carrel/a", Workspace: "/agents/a", Why: "because"}}}
	want := "removed: 1 content (3.0 MiB), 0 refs\ncleaned up: 2 leftovers of dead processes\n" +
		"LEFT                 REPOSITORY  WORKSPACE  WHY\nrefs/heads/carrel/a  /r          /agents/a  because\n"
	if got := r.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	w.misused("gc takes no arguments", "gc", "now")
}

// TestGCRefuses: what a record that is gone has named must not go after it, nor all
// contents with a database that is gone.
func TestGCRefuses(t *testing.T) {
	for name, damage := range map[string]func(w *world){
		"a record is missing": func(w *world) {
			w.damageDB("DELETE FROM events WHERE seq = 2 AND stream = (SELECT id FROM streams WHERE name = '/agents/demo')")
		},
		"a stream's name is missing": func(w *world) { w.damageDB("DELETE FROM streams WHERE name = '/agents/demo'") },
		"the database is empty":      func(w *world) { w.write(filepath.Join(w.dir, "data", "carrel.db"), "") },
		"the id is missing": func(w *world) {
			if err := os.Remove(filepath.Join(w.dir, "data", "id")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.demo()
			w.carrel("call", "writeFile", "path=notes", "content=some notes")
			w.carrel("call", "writeFile", "path=large", "content="+strings.Repeat("large ", 60_000))
			w.carrel("call", "writeFile", "path=more", "content=more notes")
			w.damageDB("UPDATE bodies SET used = 0")
			damage(w)
			for _, command := range []string{"gc", "fsck"} {
				if r := w.try("", command); r.status != statusRefused || r.stderr == "" {
					t.Errorf("%s: status %d\n%s%s", command, r.status, r.stdout, r.stderr)
				}
			}
			if large, err := filepath.Glob(filepath.Join(w.dir, "data", "blobs", "??", "*")); len(large) != 1 || err != nil {
				t.Errorf("%d large contents are left, %v", len(large), err)
			}
		})
	}
}

func TestWorkspacePrune(t *testing.T) {
	w := newWorld(t)
	w.demo()
	w.carrel("workspace", "create", "/agents/clean")
	w.carrel("call", "writeFile", "path=notes", "content=some notes")
	if got, want := w.carrel("workspace", "prune", "--idle", "1m"), "no workspace has been idle for that long\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := decode[pruneReport](w, "workspace", "prune", "--idle", "14d"); got.Idle == nil || len(got.Idle) != 0 {
		t.Errorf("got %+v", got)
	}
	for _, idle := range []string{"", "14", "d", "0d", "-1d", "1.5d", "99999999w", "14x"} {
		w.misused("--idle is ", "workspace", "prune", "--idle", idle)
	}
	w.misused("idle", "workspace", "prune")
	w.misused("takes no arguments", "workspace", "prune", "/agents/demo", "--idle", "14d")

	c := &cli{now: func() time.Time { return time.Unix(1_800_000_000, 0) }}
	old := c.now().Add(-20 * 24 * time.Hour)
	r := pruneReport{Idle: []prunedInfo{
		{Path: "/agents/a", ChangedAt: old, Client: "test", Deleted: true}, {Path: "/agents/b", ChangedAt: old, Dirty: 2, Kept: "2 files"},
	}}
	want := "PATH       LAST CHANGE  DIRTY  LAST CLIENT  RESULT\n" +
		"/agents/a  20d          0      test         deleted\n" +
		"/agents/b  20d          2                   kept: 2 files\n" + "deleted: 1"
	if got := c.pruneText(r); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	r.DryRun = true
	w.has(c.pruneText(r), "would be deleted\n")
}

func TestParseAge(t *testing.T) {
	for text, want := range map[string]time.Duration{"14d": 14 * 24 * time.Hour, "36h": 36 * time.Hour, "2w": 14 * 24 * time.Hour, "5m": 5 * time.Minute, "10000w": 10_000 * 7 * 24 * time.Hour} {
		if got, err := parseAge(text); got != want || err != nil {
			t.Errorf("%s: got %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestBar(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(1_800_000_000, 0)
	b := &bar{w: &out, now: func() time.Time { return now }}
	b.end() // of nothing
	b.tell("reading", 0, 10)
	b.tell("reading", 1, 10) // too soon
	now = now.Add(barEvery)
	b.tell("reading", 5, 10)
	b.tell("other", 12, 0)
	b.end()
	want := eraseLine + "reading                  [------------------------]   0%" +
		eraseLine + "reading                  [############------------]  50%" +
		eraseLine + "other                    12" + eraseLine
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := barLine("x", 20, 10), "x                        [########################] 100%"; got != want {
		t.Errorf("too much: got %q, want %q", got, want)
	}
}
