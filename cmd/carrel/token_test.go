package main

import (
	"crypto/sha256"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/persistence/sqlite"
	"carrel.dev/server/auth"
	"carrel.dev/workspace"
)

// openStore opens the database of the world beside the commands.
func (w *world) openStore() *sqlite.Store {
	w.Helper()
	s, err := sqlite.Open(w.Context(), filepath.Join(w.dir, "data", "carrel.db"), nil)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { s.Close() })
	return s
}

// addToken adds a token with an id that the test knows to the project default.
func (w *world) addToken(id string) {
	w.Helper()
	s, err := sqlite.Open(w.Context(), filepath.Join(w.dir, "data", "carrel.db"), nil)
	if err != nil {
		w.Fatal(err)
	}
	err = errors.Join(s.AddToken(w.Context(), workspace.Token{
		ID: id, Hash: sha256.Sum256([]byte(id)), Project: "default", Name: "of a test",
		Grants: workspace.Grants{Verbs: []workspace.Verb{workspace.VerbRead}}, Created: time.Now(),
	}), s.Close())
	if err != nil {
		w.Fatal(err)
	}
}

// tokens are what carrel token list prints for programs.
func (w *world) tokens(args ...string) []tokenInfo {
	w.Helper()
	return decode[struct{ Tokens []tokenInfo }](w, append([]string{"token", "list"}, args...)...).Tokens
}

func TestTokenCreate(t *testing.T) {
	w := newWorld(t)
	w.demo()
	r := w.try("", "token", "create", "--allow", "read,write", "--allow", "commit,read", "--workspace", "/agents/ann/**", "--workspace", "/workspaces/x",
		"--repo", "**=none", "--repo", "app=branch", "--repo", "/repos/ap=read-only", "--name", "for Ann", "--expires", "12h")
	if r.status != statusOK || !regexp.MustCompile(`^carrel_[0-9a-z]{58}\n$`).MatchString(r.stdout) {
		t.Fatalf("got status %d, %q\n%s", r.status, r.stdout, r.stderr)
	}
	bearer := strings.TrimSpace(r.stdout)
	got := w.tokens()
	if len(got) != 1 || got[0].Expires == nil || time.Until(*got[0].Expires) > 12*time.Hour || time.Until(*got[0].Expires) < 11*time.Hour {
		t.Fatalf("got %+v", got)
	}
	want := tokenInfo{
		ID: got[0].ID, Name: "for Ann", State: "good", Allow: []workspace.Verb{"read", "write", "commit"}, Workspaces: []string{"/agents/ann/**", "/workspaces/x"},
		Repos:   []workspace.RepoGrant{{Pattern: "/repos/**", Policy: "none"}, {Pattern: "/repos/app", Policy: "branch"}, {Pattern: "/repos/ap", Policy: "read-only"}},
		Created: got[0].Created, Expires: got[0].Expires,
	}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, text := range []string{got[0].ID, "project default", "only time", "read,write,commit; workspaces: /agents/ann/** /workspaces/x; repos: /repos/**=none /repos/app=branch", "no repo /repos/ap now", "carrel token revoke " + got[0].ID} {
		w.has(r.stderr, text)
	}
	if strings.Contains(r.stderr, "no repo /repos/app ") || strings.Contains(r.stderr, bearer[7:20]) {
		t.Errorf("stderr: %s", r.stderr)
	}
	p, err := auth.New(&auth.Config{Tokens: w.openStore()}).Verify(t.Context(), bearer)
	if err != nil || p.ID != got[0].ID || p.Project != "default" || p.Actor.Name != "for Ann" {
		t.Errorf("got %+v, %v", p, err)
	}
	// Nothing on disk has the token.
	for _, name := range []string{"carrel.db", "carrel.db-wal"} {
		if strings.Contains(w.read(filepath.Join("data", name)), bearer[7:20]) {
			t.Errorf("%s has the token in it", name)
		}
	}
}

func TestTokenExpiry(t *testing.T) {
	w := newWorld(t)
	w.demo()
	for _, expires := range []string{"", "never", "2036-01-02T03:04:05+01:00"} {
		args := []string{"token", "create", "--allow", "admin"}
		if expires != "" {
			args = append(args, "--expires", expires)
		}
		w.carrel(args...)
	}
	got := w.tokens()
	if len(got) != 3 {
		t.Fatalf("got %+v", got)
	}
	if d := time.Until(*got[0].Expires); d > 30*24*time.Hour || d < 29*24*time.Hour {
		t.Errorf("by default it expires in %s", d)
	}
	if got[1].Expires != nil || !got[2].Expires.Equal(time.Date(2036, 1, 2, 2, 4, 5, 0, time.UTC)) {
		t.Errorf("got %v and %v", got[1].Expires, got[2].Expires)
	}
	w.has(w.carrel("token", "list"), "never")
}

func TestTokenMisused(t *testing.T) {
	w := newWorld(t)
	create := []string{"token", "create", "--allow", "read"}
	w.fails(workspace.NotExist, "there is no data directory", create...)
	w.demo()
	w.misused(`required flag(s) "allow"`, "token", "create")
	w.misused("never", append(create, "--expires", "soon")...)
	w.misused("never", append(create, "--expires", "0d")...)
	w.misused("takes no arguments", append(create, "x")...)
	w.misused("takes one ID", "token", "revoke")
	for _, tt := range []struct {
		args []string
		text string
	}{
		{[]string{"--expires", "2020-01-01T00:00:00Z"}, "Name a time to come"},
		{[]string{"--expires", "9999-01-01T00:00:00Z"}, "Use --expires never."},
		{[]string{"--allow", "fly"}, "Use read, write, commit, create or admin."},
		{[]string{"--allow", "read,,write"}, "Use read, write, commit, create or admin."},
		{[]string{"--repo", "app"}, "Write PATTERN=POLICY"},
		{[]string{"--repo", "app=write"}, "Use commit-to-main, branch, read-only or none."},
		{[]string{"--repo", "[app=none"}, "for example /repos/team/**"},
		{[]string{"--repo", "=none"}, "for example /repos/team/**"},
		{[]string{"--repo", "/app=none"}, "for example /repos/team/**"},
		{[]string{"--workspace", "ann"}, "for example /agents/team/**"},
		{[]string{"--workspace", "/repos/app"}, "for example /agents/team/**"},
		{[]string{"--name", "a\nb"}, "on one line"},
		{[]string{"--name", "a <b>"}, "without angle brackets"},
		{[]string{"--name", strings.Repeat("a", 101)}, "at most 100 bytes"},
	} {
		w.fails(workspace.Invalid, tt.text, append(create, tt.args...)...)
	}
	w.fails(workspace.Invalid, "Allow at least read.", "token", "create", "--allow", "")
	w.fails(workspace.NotExist, "The projects are: default.", append(create, "--project", "other")...)
	if got := w.tokens(); len(got) != 0 {
		t.Errorf("got %+v, want none", got)
	}
	w.has(w.carrel("token", "list"), "no tokens")
}

func TestTokenRevoke(t *testing.T) {
	w := newWorld(t)
	w.demo()
	w.carrel("repo", "create", "notes", "--project", "other")
	bearer := strings.TrimSpace(w.carrel("token", "create", "--allow", "read"))
	id := w.tokens()[0].ID
	w.fails(workspace.NotExist, "carrel token list --project other", "token", "revoke", id, "--project", "other")
	w.fails(workspace.NotExist, "carrel token list", "token", "revoke", "t-0")
	r := w.try("", "token", "revoke", bearer)
	w.has(r.stderr, "not its id")
	if r.status != statusRefused || strings.Contains(r.stderr, bearer[7:20]) {
		t.Errorf("got %d, %s", r.status, r.stderr)
	}
	if got := w.tokens(); got[0].State != "good" {
		t.Errorf("got %+v", got)
	}
	w.has(w.carrel("token", "revoke", id), "revoked "+id)
	revoked := w.tokens()[0]
	w.carrel("token", "revoke", id)
	if again := w.tokens()[0]; again.State != "revoked" || !again.Revoked.Equal(*revoked.Revoked) {
		t.Errorf("got %+v and then %+v", revoked, again)
	}
	w.has(w.carrel("token", "list"), "  revoked  ")
}

// TestTokenProcess revokes a token with another process while this one serves it.
func TestTokenProcess(t *testing.T) {
	w := newWorld(t)
	w.demo()
	store := w.openStore()
	a := auth.New(&auth.Config{Tokens: store})
	for range 3 {
		p, err := a.Verify(t.Context(), strings.TrimSpace(w.carrel("token", "create", "--allow", "read")))
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Recheck(t.Context(), p); err != nil {
			t.Errorf("before it is revoked: got %v", err)
		}
		cmd := exec.Command(os.Args[0], "token", "revoke", p.ID)
		cmd.Env = append(os.Environ(), asCarrel+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if err := a.Recheck(t.Context(), p); !errors.Is(err, auth.ErrToken) {
			t.Errorf("once it was revoked: got %v", err)
		}
	}
}

// unwritable is a stdout that takes nothing.
type unwritable struct{}

func (unwritable) Write([]byte) (int, error) { return 0, errors.New("stdout is closed") }

// TestTokenUnseen revokes a token that could not be printed.
func TestTokenUnseen(t *testing.T) {
	w := newWorld(t)
	w.demo()
	var stderr strings.Builder
	if err := run(t.Context(), []string{"token", "create", "--allow", "read"}, strings.NewReader(""), unwritable{}, &stderr); err == nil {
		t.Error("got no error")
	}
	if got := w.tokens(); len(got) != 1 || got[0].State != "revoked" {
		t.Errorf("got %+v", got)
	}
}
