package refs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel.dev/workspace"
	"github.com/google/go-cmp/cmp"
)

// listed is what git lists below a folder.
func listed(out string) (refs []workspace.Ref) {
	for line := range strings.Lines(out) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		parsed, _ := workspace.ParseOID(id)
		refs = append(refs, workspace.Ref{Name: name, ID: parsed})
	}
	return refs
}

func TestListAsGit(t *testing.T) {
	git, s, one, two := repo(t)
	for i := range 5 {
		git.Git("update-ref", fmt.Sprintf("refs/carrel/x/packed%d", i), one.String())
	}
	git.Git("tag", "-a", "-m", "a tag", "v1", one.String())
	git.Git("pack-refs", "--all")
	git.Git("update-ref", "refs/carrel/x/packed3", two.String()) // loose over packed
	git.Git("update-ref", "refs/carrel/x/loose/deep", two.String())
	git.Git("update-ref", "refs/carrel/xy", two.String())
	if err := os.WriteFile(filepath.Join(git.Dir, "refs/carrel/x/y.lock"), []byte(one.String()+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"refs/carrel/x", "refs/carrel", "refs/heads", "refs/tags", "refs/none", "refs/carrel/xy"} {
		got, err := s.List(folder)
		want := listed(git.Git("for-each-ref", "--format=%(objectname) %(refname)", folder+"/"))
		if err != nil || len(got) != len(want) || len(want) > 0 && !cmp.Equal(got, want) {
			t.Errorf("%s: error %v (-want +got):\n%s", folder, err, cmp.Diff(want, got))
		}
	}
	if _, err := s.List("../x"); !errors.Is(err, workspace.Invalid) {
		t.Errorf("outside: got %v", err)
	}
	if err := os.WriteFile(filepath.Join(git.Dir, "refs/carrel/x/broken"), []byte("what\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := s.List("refs/carrel/x"); !errors.Is(err, workspace.Corrupt) {
		t.Errorf("a broken one: got %v", err)
	}
}

// TestRemove removes refs that lie in every way, and only those.
func TestRemove(t *testing.T) {
	const ref, wait = "refs/carrel/x/a", 50 * time.Millisecond
	tests := []struct {
		name string
		lay  []string // git commands
		left string   // a lock, and its content
		want workspace.Kind
	}{
		{"loose", []string{"update-ref refs/carrel/x/a ONE"}, "", ""},
		{"packed", []string{"update-ref refs/carrel/x/a ONE", "pack-refs --all"}, "", ""},
		{"loose over packed", []string{"update-ref refs/carrel/x/a TWO", "pack-refs --all", "update-ref refs/carrel/x/a ONE"}, "", ""},
		{"packed with a tag around", []string{"update-ref refs/carrel/x/a ONE", "tag -a -m v v1 ONE", "update-ref refs/zz/z ONE", "pack-refs --all"}, "", ""},
		{"absent", nil, "", ""},
		{"moved", []string{"update-ref refs/carrel/x/a TWO"}, "", workspace.Conflict},
		{"moved and packed", []string{"update-ref refs/carrel/x/a TWO", "pack-refs --all"}, "", workspace.Conflict},
		{"abandoned lock", []string{"update-ref refs/carrel/x/a ONE"}, ref + ".lock ONE", ""},
		{"somebody's lock", []string{"update-ref refs/carrel/x/a ONE"}, ref + ".lock TWO", workspace.Unavailable},
		{"packed-refs locked", []string{"update-ref refs/carrel/x/a ONE", "pack-refs --all"}, "packed-refs.lock ONE", workspace.Unavailable},
		{"symbolic", []string{"symbolic-ref refs/carrel/x/a refs/heads/main"}, "", workspace.Invalid},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			git, s, one, two := repo(t)
			named := strings.NewReplacer("ONE", one.String(), "TWO", two.String())
			git.Git("update-ref", "refs/carrel/x/b", one.String())
			for _, line := range test.lay {
				git.Git(strings.Fields(named.Replace(line))...)
			}
			if name, content, ok := strings.Cut(named.Replace(test.left), " "); ok {
				if err := os.WriteFile(filepath.Join(git.Dir, name), []byte(content+"\n"), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			before := git.Git("for-each-ref")
			err := s.Remove(context.Background(), ref, one, wait, noShare)
			if workspace.KindOf(err) != test.want {
				t.Fatalf("got error %v, want of kind %q", err, test.want)
			}
			want := before
			if test.want == "" {
				want = strings.TrimSuffix(strings.ReplaceAll(before+"\n", one.String()+" commit\t"+ref+"\n", ""), "\n")
			}
			if got := git.Git("for-each-ref"); got != want {
				t.Errorf("got refs\n%s\nwant\n%s", got, want)
			}
			if test.left == "" {
				git.Git("pack-refs", "--all") // no lock stands in the way
			}
			git.Fsck()
		})
	}
}

// TestRemoveBesideGit removes refs from two processes' stores while git packs and
// makes others.
func TestRemoveBesideGit(t *testing.T) {
	const refs = 20
	git, s, one, two := repo(t)
	for i := range refs {
		git.Git("update-ref", fmt.Sprintf("refs/carrel/x/r%d", i), one.String())
	}
	var group sync.WaitGroup
	for _, store := range []*Store{s, Open(git.Dir)} {
		group.Go(func() {
			for i := range refs {
				if err := store.Remove(context.Background(), fmt.Sprintf("refs/carrel/x/r%d", i), one, 20*time.Second, noShare); err != nil {
					t.Errorf("remove: %v", err)
				}
			}
		})
	}
	group.Go(func() {
		for i := range refs / 2 {
			git.Git("update-ref", fmt.Sprintf("refs/heads/n%d", i), two.String())
			git.Try("", "pack-refs", "--all") // gives up if we have the lock
		}
	})
	group.Wait()
	if got := git.Git("for-each-ref", "refs/carrel"); got != "" {
		t.Errorf("refs left:\n%s", got)
	}
	if got := strings.Count(git.Git("for-each-ref", "refs/heads"), "\n") + 1; got != refs/2+1 {
		t.Errorf("got %d branches, want %d", got, refs/2+1)
	}
	git.Fsck()
}
