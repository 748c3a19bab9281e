package dir

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel.dev/workspace"
	"carrel.dev/workspace/workspacetest"
)

func open(t testing.TB, root string) *Blobs {
	t.Helper()
	b, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func put(t testing.TB, b *Blobs, content string) workspace.OID {
	t.Helper()
	id, err := b.Put(t.Context(), strings.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestBlobs(t *testing.T) {
	workspacetest.TestBlobs(t, func(t *testing.T) workspacetest.BlobsTarget {
		b := open(t, filepath.Join(t.TempDir(), "blobs"))
		t.Cleanup(func() { checkNothingLeft(t, b) })
		return workspacetest.BlobsTarget{Blobs: b, Damage: func(t *testing.T, id workspace.OID, change func([]byte) []byte) {
			t.Helper()
			stored, err := os.ReadFile(b.path(id))
			if err != nil {
				t.Fatal(err)
			}
			header, content, _ := bytes.Cut(stored, []byte{0})
			content = change(content)
			err = os.Remove(b.path(id))
			if content != nil {
				err = errors.Join(err, os.WriteFile(b.path(id), append(append(bytes.Clone(header), 0), content...), 0o600))
			}
			if err != nil {
				t.Fatal(err)
			}
		}}
	})
}

// checkNothingLeft fails if there are temporary files.
func checkNothingLeft(t *testing.T, b *Blobs) {
	t.Helper()
	left, err := os.ReadDir(b.tmp())
	if err != nil || len(left) != 0 {
		t.Errorf("below tmp: got %v, %v, want nothing", left, err)
	}
}

// TestFormat has other programs read a file.
func TestFormat(t *testing.T) {
	b := open(t, filepath.Join(t.TempDir(), "blobs"))
	const content = "a content\x00 with a NUL\n"
	id := put(t, b, content)
	stored, err := os.ReadFile(filepath.Join(b.root, id.String()[:2], id.String()[2:]))
	if err != nil {
		t.Fatal(err)
	}
	if want := "blob 22\x00" + content; string(stored) != want {
		t.Errorf("file: got %q, want %q", stored, want)
	}
	git := exec.Command("git", "hash-object", "--stdin", "--no-filters")
	git.Stdin = strings.NewReader(content)
	if out, err := git.Output(); strings.TrimSpace(string(out)) != id.String() || err != nil {
		t.Errorf("git calls it %s, %v, want %s", out, err, id)
	}
	for path, want := range map[string]fs.FileMode{b.root: 0o700, b.fan(id): 0o700, b.path(id): 0o600} {
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != want {
			t.Errorf("mode of %s: got %v, %v, want %v", filepath.Base(path), st.Mode().Perm(), err, want)
		}
	}
}

func TestDamagedHeader(t *testing.T) {
	b := open(t, filepath.Join(t.TempDir(), "blobs"))
	id := put(t, b, "some content")
	for _, stored := range []string{
		"", "blob", "blob 12", "blob \x00some content", "blob +12\x00some content", "blob 012\x00some content", "blob 12 \x00some content",
		"tree 12\x00some content", "blob -1\x00", "blob 99999999999999999999\x00", "some content", "blob 12345678901234567890123456789012345\x00",
	} {
		if err := os.WriteFile(b.path(id), []byte(stored), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Open(t.Context(), id); workspace.KindOf(err) != workspace.Corrupt || workspace.HintOf(err) == "" {
			t.Errorf("open %q: got error %v, want one of kind corrupt with a hint", stored, err)
		}
		if has, err := b.Has(t.Context(), id); has || err != nil {
			t.Errorf("has %q: got %v, %v", stored, has, err)
		}
		put(t, b, "some content")
		if _, err := b.Open(t.Context(), id); err != nil {
			t.Errorf("open after it was put again: %v", err)
		}
	}
}

// TestCutWhileRead cuts a file that is open.
func TestCutWhileRead(t *testing.T) {
	b := open(t, filepath.Join(t.TempDir(), "blobs"))
	id := put(t, b, strings.Repeat("content ", 100_000))
	r, err := b.Open(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := os.Truncate(b.path(id), 1000); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); workspace.KindOf(err) != workspace.Corrupt {
		t.Errorf("got %d bytes, %v, want an error of kind corrupt", len(got), err)
	}
}

// TestRenew looks at the time of modification, which garbage collection goes by.
func TestRenew(t *testing.T) {
	b := open(t, filepath.Join(t.TempDir(), "blobs"))
	id := put(t, b, "content")
	old := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(b.path(id), old, old); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(b.path(id))
	if err != nil {
		t.Fatal(err)
	}
	put(t, b, "content")
	after, err := os.Stat(b.path(id))
	if err != nil {
		t.Fatal(err)
	}
	if time.Since(after.ModTime()) > time.Hour {
		t.Errorf("put again: got a file modified at %v, want now", after.ModTime())
	}
	if !os.SameFile(before, after) {
		t.Error("put again: the content was stored again")
	}
	checkNothingLeft(t, b)
}

func TestClean(t *testing.T) {
	root := filepath.Join(t.TempDir(), "blobs")
	b := open(t, root)
	fresh, stale := filepath.Join(b.tmp(), "put-fresh"), filepath.Join(b.tmp(), "put-stale")
	for path, age := range map[string]time.Duration{fresh: abandoned - time.Hour, stale: abandoned + time.Hour} {
		at := time.Now().Add(-age)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	open(t, root)
	if _, err := os.Stat(fresh); err != nil {
		t.Errorf("a file that may be in use: %v", err)
	}
	if _, err := os.Stat(stale); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an abandoned file is still there, %v", err)
	}
}

// TestDiskFails takes the directory away, which is as good as any failure of the
// disk: the error is classified, and does not name the path.
func TestDiskFails(t *testing.T) {
	b := open(t, filepath.Join(t.TempDir(), "blobs"))
	if err := os.RemoveAll(b.root); err != nil {
		t.Fatal(err)
	}
	_, err := b.Put(t.Context(), strings.NewReader("x"), 1)
	if workspace.KindOf(err) != workspace.Unavailable || strings.Contains(err.Error(), b.root) || workspace.HintOf(err) == "" {
		t.Errorf("got error %v, want one of kind unavailable without the path", err)
	}
	if err := os.WriteFile(b.root, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(b.root); workspace.KindOf(err) != workspace.Unavailable {
		t.Errorf("open a file: got error %v, want one of kind unavailable", err)
	}
}

func BenchmarkPut1MiB(b *testing.B) {
	blobs := open(b, filepath.Join(b.TempDir(), "blobs"))
	content := make([]byte, 1<<20)
	b.SetBytes(int64(len(content)))
	for i := 0; b.Loop(); i++ {
		content[0], content[1], content[2] = byte(i), byte(i>>8), byte(i>>16)
		if _, err := blobs.Put(b.Context(), bytes.NewReader(content), int64(len(content))); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen1MiB(b *testing.B) {
	blobs := open(b, filepath.Join(b.TempDir(), "blobs"))
	id := put(b, blobs, strings.Repeat("x", 1<<20))
	b.SetBytes(1 << 20)
	for b.Loop() {
		r, err := blobs.Open(b.Context(), id)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, r); err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
}
