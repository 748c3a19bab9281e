package workspacetest

import (
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/workspace"
)

func feedOf(t *testing.T, s workspace.Store) workspace.Feed {
	t.Helper()
	f, ok := s.(workspace.Feed)
	if !ok {
		t.Skip("the store has no feed")
	}
	return f
}

// maxPage is what "a few thousand records at once" is taken to mean.
const maxPage = 5000

// drain asks a feed until there is nothing more.
func drain(t *testing.T, f workspace.Feed, after workspace.Position) ([]workspace.Record, workspace.Position) {
	t.Helper()
	var all []workspace.Record
	for {
		recs, at, err := f.Since(t.Context(), after)
		if err != nil {
			t.Fatalf("since %d: %v", after, err)
		}
		if at < after || len(recs) > 0 && at == after {
			t.Fatalf("since %d: got %d records and position %d", after, len(recs), at)
		}
		if len(recs) > maxPage {
			t.Fatalf("since %d: got %d records at once, want at most %d", after, len(recs), maxPage)
		}
		if len(recs) == 0 {
			return all, at
		}
		all, after = append(all, recs...), at
	}
}

func end(t *testing.T, f workspace.Feed) workspace.Position {
	t.Helper()
	at, err := f.End(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func testFeed(t *testing.T, c StoreTarget) {
	f := feedOf(t, c.Store)
	if recs, at := drain(t, f, 0); len(recs) != 0 || at != 0 || end(t, f) != 0 {
		t.Errorf("empty: got %v, position %d, end %d", places(recs), at, end(t, f))
	}
	var want []workspace.Record
	marks := []workspace.Position{0} // marks[i] is the position after i appends
	for _, b := range [][]workspace.Batch{
		{batch(stream("/agents/a"), 0, "a1", "a2"), batch(stream("/"), workspace.Any, "p1")},
		{batch(workspace.StreamID{Project: "q", Name: "/"}, 0, "q1")},
		{batch(stream("/agents/a"), 2, "a3")},
	} {
		want = append(want, mustAppend(t, c.Store, b...)...)
		recs, at := drain(t, f, marks[len(marks)-1])
		sameRecords(t, "what was just appended", want[len(want)-len(recs):], recs)
		if len(recs) == 0 || at != end(t, f) {
			t.Errorf("after an append: got %d records, position %d, end %d", len(recs), at, end(t, f))
		}
		marks = append(marks, at)
	}
	for i, left := range []int{5, 2, 1, 0} { // from each earlier position, also after it was asked before
		recs, at := drain(t, f, marks[i])
		sameRecords(t, fmt.Sprint("since mark ", i), want[len(want)-left:], recs)
		if at != marks[3] {
			t.Errorf("since mark %d: got position %d, want %d", i, at, marks[3])
		}
	}
	mustAppend(t, c.Store, batch(stream("/agents/a"), 0, "a1")) // a repeat is not new
	if _, err := c.Store.Append(t.Context(), batch(stream("/agents/a"), 0, "x")); err == nil {
		t.Error("append at a wrong seq: no error")
	}
	if recs, _ := drain(t, f, marks[3]); len(recs) != 0 {
		t.Errorf("after a repeat and a conflict: got %v, want nothing", places(recs))
	}
	_, _, err := f.Since(canceled(t), 0)
	checkKind(t, err, workspace.Canceled)
}

func testFeedManyPages(t *testing.T, c StoreTarget) {
	f := feedOf(t, c.Store)
	var want []workspace.Record
	for i := range 3 {
		ids := make([]string, 2000)
		for n := range ids {
			ids[n] = fmt.Sprint(i, "-", n)
		}
		want = append(want, mustAppend(t, c.Store, batch(stream(fmt.Sprint("/agents/", i)), 0, ids...))...)
	}
	recs, at := drain(t, f, 0)
	if diff := cmp.Diff(places(want), places(recs)); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if at != end(t, f) {
		t.Errorf("got position %d, want the end %d", at, end(t, f))
	}
}

// testFeedConcurrent asks the feed from several goroutines while others append:
// each asker sees each record once, and each stream's in order.
func testFeedConcurrent(t *testing.T, c StoreTarget) {
	const appenders, each, askers = 4, 25, 3
	f := feedOf(t, c.Store)
	var appending, asking sync.WaitGroup
	done := make(chan struct{})
	for i := range appenders {
		appending.Go(func() {
			for n := range each {
				if _, err := c.Store.Append(t.Context(), batch(stream(fmt.Sprint("/agents/", i)), workspace.Seq(n), fmt.Sprint(n))); err != nil {
					t.Errorf("append: %v", err)
				}
			}
		})
	}
	for range askers {
		asking.Go(func() {
			seen, at := map[string]workspace.Seq{}, workspace.Position(0)
			for last := false; ; {
				recs, next, err := f.Since(t.Context(), at)
				if err != nil {
					t.Errorf("since %d: %v", at, err)
					return
				}
				for _, rec := range recs {
					if seen[rec.Stream.Name]+1 != rec.Seq {
						t.Errorf("%s: record %d after %d", rec.Stream.Name, rec.Seq, seen[rec.Stream.Name])
					}
					seen[rec.Stream.Name] = rec.Seq
				}
				at = next
				if last && len(recs) == 0 {
					break
				}
				select {
				case <-done:
					last = true
				default:
				}
			}
			for i := range appenders {
				if got := seen[fmt.Sprint("/agents/", i)]; got != each {
					t.Errorf("saw stream %d up to %d, want %d", i, got, each)
				}
			}
		})
	}
	appending.Wait()
	close(done)
	asking.Wait()
}

func testFeedOtherHandle(t *testing.T, c StoreTarget) {
	if c.Again == nil {
		t.Skip("the store has one handle only")
	}
	other := c.Again(t)
	mine, theirs := feedOf(t, c.Store), feedOf(t, other)
	var at, theirAt workspace.Position
	for i := range 10 {
		from := []workspace.Store{c.Store, other}[i%2]
		id := fmt.Sprint("e", i)
		want := mustAppend(t, from, batch(stream("/agents/a"), workspace.Seq(i), id))
		var got []workspace.Record
		got, at = drain(t, mine, at)
		sameRecords(t, "my feed", want, got)
		got, theirAt = drain(t, theirs, theirAt)
		sameRecords(t, "the other's feed", want, got)
		if at != theirAt {
			t.Errorf("positions differ: %d and %d", at, theirAt)
		}
	}
}

func checkpointerOf(t *testing.T, s workspace.Store) workspace.Checkpointer {
	t.Helper()
	c, ok := s.(workspace.Checkpointer)
	if !ok {
		t.Skip("the store keeps no checkpoints")
	}
	return c
}

func save(t *testing.T, c workspace.Checkpointer, name string, at workspace.Seq, version int, state string) {
	t.Helper()
	if err := c.SaveCheckpoint(t.Context(), stream(name), at, version, []byte(state)); err != nil {
		t.Fatalf("save a checkpoint: %v", err)
	}
}

func checkCheckpoint(t *testing.T, c workspace.Checkpointer, name string, version int, at workspace.Seq, want string) {
	t.Helper()
	got, state, err := c.LoadCheckpoint(t.Context(), stream(name), version)
	if err != nil || got != at || string(state) != want {
		t.Errorf("checkpoint of %s: got %d %q, %v, want %d %q", name, got, state, err, at, want)
	}
}

func testCheckpoint(t *testing.T, s StoreTarget) {
	c := checkpointerOf(t, s.Store)
	_, _, err := c.LoadCheckpoint(t.Context(), stream("/agents/a"), 1)
	checkKind(t, err, workspace.NotExist)
	mustAppend(t, s.Store, batch(stream("/agents/a"), 0, "1", "2"))
	save(t, c, "/agents/a", 2, 1, "state\x00\xff")
	save(t, c, "/agents/b", 7, 1, "of a stream without records")
	save(t, c, "/agents/c", 1, 1, "")
	checkCheckpoint(t, c, "/agents/a", 1, 2, "state\x00\xff")
	checkCheckpoint(t, c, "/agents/b", 1, 7, "of a stream without records")
	checkCheckpoint(t, c, "/agents/c", 1, 1, "")
	_, _, err = c.LoadCheckpoint(t.Context(), workspace.StreamID{Project: "q", Name: "/agents/a"}, 1)
	checkKind(t, err, workspace.NotExist)
	if recs := read(t, s.Store, stream("/agents/b"), 0); len(recs) != 0 {
		t.Errorf("a checkpoint made records: %v", places(recs))
	}
}

func testCheckpointKeepsNewer(t *testing.T, s StoreTarget) {
	c := checkpointerOf(t, s.Store)
	save(t, c, "/agents/a", 5, 1, "five")
	save(t, c, "/agents/a", 4, 1, "four")
	checkCheckpoint(t, c, "/agents/a", 1, 5, "five")
	save(t, c, "/agents/a", 6, 1, "six")
	checkCheckpoint(t, c, "/agents/a", 1, 6, "six")
	var wg sync.WaitGroup
	for at := range workspace.Seq(20) {
		wg.Go(func() { save(t, c, "/agents/b", at+1, 1, fmt.Sprint(at+1)) })
	}
	wg.Wait()
	checkCheckpoint(t, c, "/agents/b", 1, 20, "20")
}

func testCheckpointVersion(t *testing.T, s StoreTarget) {
	c := checkpointerOf(t, s.Store)
	save(t, c, "/agents/a", 5, 1, "of version 1")
	for _, version := range []int{0, 2} {
		_, _, err := c.LoadCheckpoint(t.Context(), stream("/agents/a"), version)
		checkKind(t, err, workspace.NotExist)
	}
	// A newer reducer replaces it at the same seq, or a stream that rests would
	// never have a checkpoint again.
	save(t, c, "/agents/a", 5, 2, "of version 2")
	checkCheckpoint(t, c, "/agents/a", 2, 5, "of version 2")
}

func testProjects(t *testing.T, c StoreTarget) {
	lister, ok := c.Store.(workspace.ProjectLister)
	if !ok {
		t.Skip("the store lists no projects")
	}
	check := func(want ...string) {
		t.Helper()
		got, err := lister.Projects(t.Context())
		if diff := cmp.Diff(slices.Concat(want), slices.Concat(got)); diff != "" || err != nil {
			t.Errorf("projects, %v (-want +got):\n%s", err, diff)
		}
	}
	check()
	for _, project := range []string{"b", "a", "b", "a-", "a.b"} {
		mustAppend(t, c.Store,
			batch(workspace.StreamID{Project: project, Name: "/"}, workspace.Any, "e"),
			batch(workspace.StreamID{Project: project, Name: "/agents/a"}, workspace.Any, "e"))
	}
	if _, err := c.Store.Append(t.Context(), batch(workspace.StreamID{Project: "failed", Name: "/"}, 7, "e")); err == nil {
		t.Error("append at a wrong seq: no error")
	}
	if checkpointer, ok := c.Store.(workspace.Checkpointer); ok {
		if err := checkpointer.SaveCheckpoint(t.Context(), workspace.StreamID{Project: "without records", Name: "/"}, 1, 1, nil); err != nil {
			t.Fatal(err)
		}
	}
	check("a", "a-", "a.b", "b")
	_, err := lister.Projects(canceled(t))
	checkKind(t, err, workspace.Canceled)
}

func testOpenCommits(t *testing.T, c StoreTarget) {
	seeker, ok := c.Store.(workspace.CommitSeeker)
	if !ok {
		t.Skip("the store finds no open commits")
	}
	step := func(name string, types ...string) {
		t.Helper()
		for _, typ := range types {
			b := batch(workspace.StreamID{Project: "p", Name: name}, workspace.Any, rand.Text())
			b.Events[0].Type = typ
			mustAppend(t, c.Store, b)
		}
	}
	check := func(want ...string) {
		t.Helper()
		open, err := seeker.OpenCommits(t.Context())
		var got []string
		for _, id := range open {
			got = append(got, id.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("open commits, %v (-want +got):\n%s", err, diff)
		}
	}
	check()
	step("/agents/none", workspace.WorkspaceChanged)
	step("/agents/b", workspace.WorkspaceCommitting, workspace.WorkspaceChanged)
	step("/agents/a", workspace.WorkspaceCommitting, workspace.WorkspaceCommitting, workspace.WorkspaceCommitted)
	check("/agents/a", "/agents/b")
	step("/agents/b", workspace.WorkspaceCommitDrop)
	check("/agents/a")
	step("/agents/a", workspace.WorkspaceCommitted)
	check()
	_, err := seeker.OpenCommits(canceled(t))
	checkKind(t, err, workspace.Canceled)
}
