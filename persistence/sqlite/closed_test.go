package sqlite

import (
	"path/filepath"
	"testing"

	"carrel.dev/workspace"
)

// TestClosed asks a store that is closed: the driver would not survive some of the
// questions.
func TestClosed(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "carrel.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Since(t.Context(), 0); workspace.KindOf(err) != workspace.Unavailable {
		t.Errorf("since: got %v, want unavailable", err)
	}
	if _, err := s.Append(t.Context(), workspace.Batch{Stream: stream("/agents/a")}); err == nil {
		t.Error("append succeeded")
	}
	for name, ask := range map[string]func() error{
		"last": func() error { _, err := s.Last(t.Context(), stream("/agents/a")); return err },
		"end":  func() error { _, err := s.End(t.Context()); return err },
	} {
		if ask() == nil {
			t.Errorf("%s succeeded", name)
		}
	}
}
