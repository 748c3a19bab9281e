package sqlite

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/workspace"
	"carrel.dev/workspace/workspacetest"
)

func TestTokens(t *testing.T) {
	workspacetest.TestTokens(t, func(t *testing.T) workspacetest.TokensTarget {
		path := filepath.Join(t.TempDir(), "carrel.db")
		return workspacetest.TokensTarget{Tokens: openAt(t, path, nil), Again: func(t *testing.T) workspace.Tokens {
			return openAt(t, path, nil)
		}}
	})
}

// someToken is a token named by its id.
func someToken(id string) workspace.Token {
	return workspace.Token{
		ID: id, Hash: sha256.Sum256([]byte(id)), Project: "p", Name: "ü",
		Grants:  workspace.Grants{Verbs: []workspace.Verb{workspace.VerbRead}, Workspaces: []string{"/agents/*"}},
		Created: time.Date(2026, 12, 1, 2, 3, 4, 5, time.UTC), Expires: time.Date(2036, 12, 1, 0, 0, 0, 0, time.UTC),
	}
}

func TestTokensReopened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "carrel.db")
	s, err := Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	kept, revoked := someToken("kept"), someToken("revoked")
	revoked.Revoked = kept.Created.Add(time.Minute)
	err = errors.Join(s.AddToken(t.Context(), kept), s.AddToken(t.Context(), someToken("revoked")),
		s.RevokeToken(t.Context(), "p", "revoked", revoked.Revoked), s.Close())
	if err != nil {
		t.Fatal(err)
	}
	got, err := openAt(t, path, nil).Tokens(t.Context(), "p")
	if diff := cmp.Diff([]workspace.Token{kept, revoked}, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

// TestTokenDamage changes each column of a token behind the store's back: what
// nobody granted is never read.
func TestTokenDamage(t *testing.T) {
	for column, value := range map[string]string{
		"id": "'other'", "project": "'q'", "name": "'other'", "grants": `CAST('{"verbs":["admin"]}' AS BLOB)`,
		"created": "NULL", "expires": "expires + 1", "revoked": "NULL", "checksum": "checksum + 1", "hash": "zeroblob(32)",
	} {
		path := filepath.Join(t.TempDir(), "carrel.db")
		s := openAt(t, path, nil)
		tok := someToken("a")
		if err := errors.Join(s.AddToken(t.Context(), tok), s.RevokeToken(t.Context(), "p", "a", tok.Created)); err != nil {
			t.Fatal(err)
		}
		execRaw(t, path, "UPDATE tokens SET "+column+" = "+value)
		hash := tok.Hash
		if column == "hash" {
			hash = [32]byte{}
		}
		got, err := s.TokenByHash(t.Context(), hash)
		if workspace.KindOf(err) != workspace.Corrupt || workspace.HintOf(err) == "" {
			t.Errorf("%s: got %+v, %v, want corrupt", column, got, err)
		}
	}
}

// revoker is a child that revokes each token whose id it is told, and says so.
func revoker(ctx context.Context, path string) error {
	s, err := Open(ctx, path, nil)
	if err != nil {
		return err
	}
	for {
		var id string
		if _, err := fmt.Fscanln(os.Stdin, &id); err != nil {
			return s.Close()
		}
		if err := s.RevokeToken(ctx, "p", id, time.Now()); err != nil {
			return err
		}
		fmt.Println(id)
	}
}

// TestTokenProcesses has another process revoke: what it has said is seen here.
func TestTokenProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "carrel.db")
	s := openAt(t, path, nil)
	cmd, tell, said := startChild(t, fmt.Sprintf("%s=%s", revokerEnv, path))
	for i := range 50 {
		tok := someToken(fmt.Sprint(i))
		if err := s.AddToken(t.Context(), tok); err != nil {
			t.Fatal(err)
		}
		if before, err := s.TokenByHash(t.Context(), tok.Hash); err != nil || !before.Revoked.IsZero() {
			t.Fatalf("token %d: got %v, %v", i, before.Revoked, err)
		}
		var id string
		fmt.Fprintln(tell, tok.ID)
		if _, err := fmt.Fscanln(said, &id); err != nil || id != tok.ID {
			t.Fatalf("the other process said %q, %v\n%s", id, err, cmd.Stderr)
		}
		if after, err := s.TokenByHash(t.Context(), tok.Hash); err != nil || after.Revoked.IsZero() {
			t.Fatalf("token %d was revoked: got %v, %v", i, after.Revoked, err)
		}
	}
	tell.Close()
	rest, _ := io.ReadAll(said)
	if err := cmd.Wait(); err != nil || strings.TrimSpace(string(rest)) != "" {
		t.Errorf("the other process: %v, %q\n%s", err, rest, cmd.Stderr)
	}
}

func BenchmarkTokenByHash(b *testing.B) {
	s := openAt(b, filepath.Join(b.TempDir(), "carrel.db"), nil)
	for i := range 1000 {
		if err := s.AddToken(b.Context(), someToken(fmt.Sprint(i))); err != nil {
			b.Fatal(err)
		}
	}
	hash := someToken("500").Hash
	for b.Loop() {
		if _, err := s.TokenByHash(b.Context(), hash); err != nil {
			b.Fatal(err)
		}
	}
}
