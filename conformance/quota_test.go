package conformance

import (
	"strings"
	"testing"
	"time"

	"carrel.dev/workspace"
)

// TestQuotas holds a project to what its workspaces may hold together, whichever
// process they are used by.
func TestQuotas(t *testing.T) {
	t.Parallel()
	now := time.Now()
	limited := func(c *workspace.Config) {
		c.Limits.ProjectBytes, c.Limits.ProjectEntries, c.Limits.ProjectWorkspaces = 1<<20, 200, 2
		c.Now = func() time.Time { now = now.Add(2 * time.Second); return now } // nothing is fresh
	}
	r := newRig(t, nil)
	r.open(limited)
	r.repo("app", map[string]string{"a": "a\n"})
	a := r.create("/agents/a", nil)
	r.create("/agents/b", nil)
	_, err := r.project.Create(t.Context(), workspace.Caller{}, workspace.CreateRequest{ID: "/agents/c"})
	if workspace.KindOf(err) != workspace.Limit || !strings.Contains(err.Error(), "2 workspaces") {
		t.Errorf("a third workspace: %v", err)
	}
	put := func(w *workspace.Workspace, p workspace.Path, size int) error {
		_, err := w.Write(t.Context(), p, []byte(strings.Repeat("x", size)), workspace.WriteOptions{})
		return err
	}
	must(t, put(a, "/repos/app/big", 700<<10))
	r.open(limited) // another process
	b := r.workspace("/agents/b")
	if err := put(b, "/repos/app/big", 700<<10); workspace.KindOf(err) != workspace.Limit || workspace.HintOf(err) == "" {
		t.Errorf("above the quota: %v", err)
	}
	must(t, put(b, "/repos/app/small", 100<<10))
	must(t, put(b, "/repos/app/small", 90<<10))
	if _, err := r.workspace("/agents/a").Revert(t.Context(), "/repos/app/big"); err != nil {
		t.Fatal(err)
	}
	must(t, put(b, "/repos/app/big", 700<<10))
	if _, err := r.project.Delete(t.Context(), workspace.Caller{}, "/agents/b", true); err != nil {
		t.Fatal(err)
	}
	c := r.create("/agents/c", nil) // there is room for another one again
	must(t, put(c, "/repos/app/big", 900<<10))

	var steps []workspace.Step
	for i := range 300 {
		steps = append(steps, workspace.WriteStep(workspace.Path("/workspace/"+strings.Repeat("f", 1+i)), []byte("x"), workspace.WriteOptions{}))
	}
	if err := r.workspace("/agents/a").Batch(t.Context(), steps[:150]); err != nil {
		t.Errorf("within the entries: %v", err)
	}
	if err := r.workspace("/agents/c").Batch(t.Context(), steps[:150]); workspace.KindOf(err) != workspace.Limit {
		t.Errorf("above the entries: %v", err)
	}
}
