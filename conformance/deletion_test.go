package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"carrel.dev/mounts"
	"carrel.dev/persistence/datadir"
	"carrel.dev/persistence/dir"
	"carrel.dev/persistence/spill"
	"carrel.dev/persistence/sqlite"
	"carrel.dev/workspace"
)

// TestDeletionAndItsContents kills processes while they delete a workspace: it is
// there with everything, or deleted. A day later what only deleted ones had is
// swept, and what others have as well stays.
//
// Cases: LC-4
func TestDeletionAndItsContents(t *testing.T) {
	t.Parallel()
	rounds := 6
	if *full {
		rounds = 200
	}
	b := newBench(t, false)
	large := strings.Repeat("shared ", 50_000)
	keeper, witness := b.connect("/agents/keeper"), b.unbound()
	ask(t, keeper, "writeFile", `{"path":"small","content":"shared by all"}`)
	ask(t, keeper, "writeFile", fmt.Sprintf(`{"path":"large","content":%q}`, large))
	deleted := map[int]bool{}
	for round := range rounds {
		id := fmt.Sprintf("/agents/d%d", round)
		p := b.connect(id)
		ask(t, p, "writeFile", `{"path":"small","content":"shared by all"}`)
		ask(t, p, "writeFile", fmt.Sprintf(`{"path":"large","content":%q}`, large))
		ask(t, p, "writeFile", fmt.Sprintf(`{"path":"own","content":"of %d"}`, round))
		ask(t, p, "writeFile", fmt.Sprintf(`{"path":"own-large","content":%q}`, ownLarge(round)))
		answered := make(chan bool, 1)
		go func() {
			_, err := p.Call(context.Background(), Call{Tool: "workspace.delete", Args: json.RawMessage(`{"discard":true}`)})
			answered <- err == nil
		}()
		if round%4 > 0 { // else it is answered
			time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
			must(t, p.Kill())
		}
		acknowledged := <-answered
		if round%4 == 0 {
			must(t, p.Close())
		}
		deleted[round] = isDeleted(t, witness, id, round)
		if acknowledged && !deleted[round] {
			t.Errorf("%s: the deletion was acknowledged, and it is there", id)
		}
	}
	host, has := later(t, b.server.data)
	if c, err := host.GC(t.Context(), workspace.GC{}); err != nil || c.Contents == 0 {
		t.Errorf("gc: %+v, %v", c, err)
	}
	for round, gone := range deleted {
		for _, content := range []string{fmt.Sprint("of ", round), ownLarge(round)} {
			if got := has(content); got == gone {
				t.Errorf("round %d, deleted %v: its content of %d bytes is there: %v", round, gone, len(content), got)
			}
		}
	}
	checked, err := host.Fsck(t.Context(), workspace.Fsck{})
	must(t, err)
	for _, f := range checked.Findings {
		t.Errorf("fsck: %+v", f)
	}
	for path, want := range map[string]string{"small": "shared by all", "large": large} {
		s := ask(t, keeper, "stat", fmt.Sprintf(`{"path":%q}`, path))
		if got := s["size"]; got != float64(len(want)) {
			t.Errorf("%s of the keeper has %v bytes, want %d", path, got, len(want))
		}
		if content, _ := text(t, keeper, path); !strings.HasPrefix(want, content) || content == "" {
			t.Errorf("%s of the keeper cannot be read", path)
		}
	}
	must(t, errors.Join(keeper.Close(), witness.Close()))
}

func ownLarge(round int) string { return strings.Repeat(fmt.Sprint("own of ", round, " "), 30_000) }

// isDeleted asks another process whether a workspace was deleted; one that was not
// has everything.
func isDeleted(t *testing.T, p Session, id string, round int) bool {
	t.Helper()
	r, err := p.Call(t.Context(), Call{Tool: "workspace.show", Args: json.RawMessage(fmt.Sprintf(`{"workspace":%q}`, id))})
	must(t, err)
	if r.Code() == "closed" {
		return true
	}
	if r.IsError {
		t.Fatalf("%s: %s", id, r.Text(0))
	}
	if got, _ := textIn(t, p, id, "own"); got != fmt.Sprint("of ", round) {
		t.Errorf("%s is there, and its file holds %q", id, got)
	}
	for path, size := range map[string]int{"small": len("shared by all"), "own-large": len(ownLarge(round))} {
		s := ask(t, p, "stat", fmt.Sprintf(`{"workspace":%q,"path":%q}`, id, path))
		if s["size"] != float64(size) {
			t.Errorf("%s is there, and its file %s has %v bytes", id, path, s["size"])
		}
	}
	return false
}

// later opens a data directory two days from now, and tells which contents are
// there.
func later(t *testing.T, data string) (host *workspace.Host, has func(content string) bool) {
	t.Helper()
	d, err := datadir.Open(t.Context(), data)
	must(t, err)
	files, err := dir.Open(d.Blobs())
	must(t, err)
	store, err := sqlite.Open(t.Context(), d.Database(), &sqlite.Config{Large: files.Has, Discard: files.Discard})
	must(t, err)
	t.Cleanup(func() { must(t, errors.Join(store.Close(), d.Close())) })
	blobs := spill.New(store, files, nil)
	repos := mounts.New(&mounts.Config{ManagedRoot: d.Repos()})
	host, err = workspace.NewHost(t.Context(), &workspace.Config{
		Store: store, Blobs: blobs, Trees: repos, Committer: repos, Processes: d, DataID: d.ID(),
		Now: func() time.Time { return time.Now().Add(48 * time.Hour) },
	})
	must(t, err)
	return host, func(content string) bool {
		t.Helper()
		id, err := workspace.BlobID([]byte(content))
		must(t, err)
		found, err := blobs.Has(t.Context(), id)
		must(t, err)
		return found
	}
}
