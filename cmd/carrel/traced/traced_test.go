package traced_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace"

	"carrel.dev/cmd/carrel/traced"
	"carrel.dev/mounts"
	"carrel.dev/workspace"
)

// TestTreesLoseNothing compares the methods of a tree with those of the decorated
// one: further abilities are found by them.
func TestTreesLoseNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("a\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"-c", "init.defaultBranch=main", "init", "-q"}, {"add", "a"},
		{"-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "-q", "-m", "a"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	found, err := mounts.Inspect(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	repos := mounts.New(nil)
	defer repos.Close()
	provider := trace.NewTracerProvider()
	ctx, span := provider.Tracer("test").Start(t.Context(), "outer")
	defer span.End()
	decorated := traced.New(provider).Repos(repos)
	head, err := decorated.Head(ctx, found.Source, "main")
	if err != nil {
		t.Fatal(err)
	}
	var trees [2]workspace.Tree
	for i, r := range [...]workspace.Trees{repos, decorated} {
		if trees[i], err = r.Tree(ctx, found.Source, head); err != nil {
			t.Fatal(err)
		}
	}
	plain, over := reflect.TypeOf(trees[0]), reflect.TypeOf(trees[1])
	if plain == over {
		t.Errorf("%v is not decorated: what does it lack?", plain)
	}
	for m := range plain.Methods() {
		if _, ok := over.MethodByName(m.Name); !ok {
			t.Errorf("%v lacks %s of %v", over, m.Name, plain)
		}
	}
}
