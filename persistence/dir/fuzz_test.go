package dir

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel.dev/workspace"
)

// FuzzDamaged has any bytes in the place of a stored content. It is read as it
// was, or is Corrupt.
func FuzzDamaged(f *testing.F) {
	const content = "hello, world\n"
	b := open(f, filepath.Join(f.TempDir(), "blobs"))
	id := put(f, b, content)
	stored, err := os.ReadFile(b.path(id))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(stored)
	f.Add(stored[:len(stored)-1])
	f.Add([]byte(strings.Replace(string(stored), "blob 13", "blob 013", 1)))
	f.Add([]byte("blob 9223372036854775807\x00"))
	f.Add([]byte("blob -1\x00"))
	f.Fuzz(func(t *testing.T, file []byte) {
		if err := os.Remove(b.path(id)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(b.path(id), file, 0o600); err != nil {
			t.Fatal(err)
		}
		has, hasErr := b.Has(t.Context(), id)
		r, err := b.Open(t.Context(), id)
		if err != nil {
			if workspace.KindOf(err) != workspace.Corrupt {
				t.Errorf("%q: %v", file, err)
			}
			return
		}
		defer r.Close()
		got, err := io.ReadAll(r)
		if string(got) != content || err != nil || !has || hasErr != nil {
			t.Errorf("%q is read as %q, %v; it is there: %v, %v", file, got, err, has, hasErr)
		}
	})
}
