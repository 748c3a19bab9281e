package workspace_test

import (
	"context"
	"errors"
	"testing"

	. "carrel.dev/workspace"

	"github.com/google/go-cmp/cmp"
)

// TestNamesThatAreNotUTF8: git takes any bytes as a name, records take UTF-8 only, so
// that such files are read, and a change of one is refused as a whole instead of
// falling on another name.
func TestNamesThatAreNotUTF8(t *testing.T) {
	const r = "/repos/app/"
	ctx := context.Background()
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n", "d/n\xff": "one\n", "d/n\xfe": "two\n"}})
	w := b.create("/agents/a", nil)
	files := []string{r + "a", r + "d/n\xfe", r + "d/n\xff"}
	for name, change := range map[string]func() error{
		"write":  func() error { _, err := w.Write(ctx, r+"d/n\xff", []byte("2\n"), WriteOptions{}); return err },
		"new":    func() error { _, err := w.Write(ctx, r+"new\xff", []byte("2\n"), WriteOptions{}); return err },
		"delete": func() error { _, err := w.Delete(ctx, r+"d/n\xff", false); return err },
		"mkdir":  func() error { _, err := w.Mkdir(ctx, r+"\xff"); return err },
		"link":   func() error { _, err := w.Symlink(ctx, r+"\xff", "a"); return err },
		"copy":   func() error { _, err := w.Copy(ctx, r+"d", r+"e", false); return err },
		"move":   func() error { _, err := w.Move(ctx, r+"d", r+"e", false); return err },
		"batch": func() error {
			return w.Batch(ctx, []Step{WriteStep(r+"a", []byte("2\n"), WriteOptions{}), DeleteStep(r+"d/n\xff", false)})
		},
	} {
		if err := change(); !errors.Is(err, Invalid) {
			t.Errorf("%s: %v, want invalid", name, err)
		}
		if diff := cmp.Diff(files, w.walk("/repos/app")); diff != "" {
			t.Errorf("%s: files (-want +got):\n%s", name, diff)
		}
		if got := w.status("/repos/app"); len(got) != 0 {
			t.Errorf("%s: status: %q", name, got)
		}
	}
	if got := w.read(r+"d/n\xff") + w.read(r+"d/n\xfe"); got != "one\ntwo\n" {
		t.Errorf("they read %q", got)
	}
	w.write(r+"a", "2\n")
	w.commit("/repos/app")
	if got := b.git("app", "ls-tree", "-r", "-z", "--name-only", "main"); got != "a\x00d/n\xfe\x00d/n\xff\x00" {
		t.Errorf("committed tree: %q", got)
	}
}
