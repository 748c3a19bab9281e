package auth_test

import (
	"path/filepath"
	"testing"
	"time"

	"carrel.dev/persistence/sqlite"
	"carrel.dev/server/auth"
	"carrel.dev/workspace"
)

// BenchmarkVerifyToken is what every request with a capability token costs.
func BenchmarkVerifyToken(b *testing.B) {
	s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "carrel.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	m := auth.Mint()
	err = s.AddToken(b.Context(), workspace.Token{ID: m.ID, Hash: m.Hash, Project: "p", Created: time.Now(), Grants: workspace.Grants{Verbs: workspace.Verbs}})
	if err != nil {
		b.Fatal(err)
	}
	a := auth.New(&auth.Config{Tokens: s})
	for b.Loop() {
		if _, err := a.Verify(b.Context(), m.Bearer); err != nil {
			b.Fatal(err)
		}
	}
}
