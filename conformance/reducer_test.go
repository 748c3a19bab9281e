package conformance

import (
	"encoding/json"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/workspace"
)

var testTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// history makes records of one stream, each of a type and a payload.
func history(typesAndPayloads ...string) []workspace.Record {
	var records []workspace.Record
	for i := 0; i < len(typesAndPayloads); i += 2 {
		records = append(records, workspace.Record{
			Stream: workspace.StreamID{Project: "default", Name: "/agents/a"}, Seq: workspace.Seq(i/2 + 1),
			Event: workspace.Event{ID: strconv.Itoa(i), Type: typesAndPayloads[i], Version: 1, At: testTime, Payload: []byte(typesAndPayloads[i+1])},
		})
	}
	return records
}

func reduce(s *workspace.State, records ...workspace.Record) *workspace.State {
	for _, r := range records {
		s = workspace.Reduce(s, r)
	}
	return s
}

// stored is a state as a checkpoint keeps it.
func stored(t *testing.T, s *workspace.State) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestReduceBirth reduces creations.
//
// Cases: RD-1 RD-2 RD-4
func TestReduceBirth(t *testing.T) {
	t.Parallel()
	const cfg = `{"mounts":{"/cfg":{"repoPath":"/repos/config","policy":"branch"}}}`
	want := map[workspace.Path]workspace.Deviation{"/cfg": {Repo: "/repos/config", Policy: workspace.WorkBranch}}

	s := reduce(workspace.NewState(), history("workspace/created", `{"digest":"d1"}`, "workspace/configured", cfg)...)
	if !s.Born || s.Digest != "d1" || !s.BornAt.Equal(testTime) {
		t.Errorf("got born %v, digest %q, at %v", s.Born, s.Digest, s.BornAt)
	}
	if diff := cmp.Diff(want, s.Deviations); diff != "" {
		t.Errorf("deviations (-want +got):\n%s", diff)
	}

	s = reduce(workspace.NewState(), history("workspace/created", `{"digest":"d1","colour":"green","more":{"x":[1]}}`)...)
	if !s.Born || len(s.Deviations) != 0 || len(s.Diagnostics) != 0 || s.Unread != 0 {
		t.Errorf("an unknown field: got %+v", s)
	}

	s = reduce(workspace.NewState(), history(
		"workspace/created", `{"digest":"d1"}`, "workspace/configured", cfg, "workspace/created", `{"digest":"d2"}`)...)
	if s.Digest != "d1" || len(s.Deviations) != 1 || len(s.Diagnostics) != 0 || s.Seq != 3 {
		t.Errorf("two births: got digest %q, deviations %v, diagnostics %v, seq %d", s.Digest, s.Deviations, s.Diagnostics, s.Seq)
	}
}

// TestReducePartialDeviation keeps what does not stand by itself: the repo may
// come yet.
//
// Cases: RD-5
func TestReducePartialDeviation(t *testing.T) {
	t.Parallel()
	s := reduce(workspace.NewState(), history(
		"workspace/created", `{"digest":"d"}`,
		"workspace/configured", `{"mounts":{"/new":{"policy":"read-only"}}}`,
		"workspace/configured", `{"mounts":{"/cfg":{"repoPath":"/repos/config","policy":"branch"}}}`)...)
	want := map[workspace.Path]workspace.Deviation{
		"/new": {Policy: workspace.ReadOnly}, "/cfg": {Repo: "/repos/config", Policy: workspace.WorkBranch},
	}
	if diff := cmp.Diff(want, s.Deviations); diff != "" {
		t.Errorf("deviations (-want +got):\n%s", diff)
	}
	if s.Seq != 3 {
		t.Errorf("seq %d, want 3", s.Seq)
	}
}

// TestReduceSkipsWhatNoWriterMakes: one diagnostic for each record, and no change.
//
// Cases: RD-6 MT-11
func TestReduceSkipsWhatNoWriterMakes(t *testing.T) {
	t.Parallel()
	born := reduce(workspace.NewState(), history("workspace/created", `{"digest":"d"}`)...)
	for name, c := range map[string]struct{ typ, payload string }{
		"trailing slash":      {"workspace/configured", `{"mounts":{"/docs/":{"repoPath":"/repos/a","policy":"read-only"}}}`},
		"dots":                {"workspace/configured", `{"mounts":{"/a/../b":{"repoPath":"/repos/a","policy":"read-only"}}}`},
		"git segment":         {"workspace/configured", `{"mounts":{"/a/.git":{"repoPath":"/repos/a","policy":"read-only"}}}`},
		"root":                {"workspace/configured", `{"mounts":{"/":{"repoPath":"/repos/a","policy":"read-only"}}}`},
		"reserved":            {"workspace/configured", `{"mounts":{"/workspace/x":{"repoPath":"/repos/a","policy":"read-only"}}}`},
		"query in a repo":     {"workspace/configured", `{"mounts":{"/docs":{"repoPath":"/repos/b?alias=1","policy":"read-only"}}}`},
		"other domain":        {"workspace/configured", `{"mounts":{"/docs":{"repoPath":"/secrets/b","policy":"read-only"}}}`},
		"unknown policy":      {"workspace/configured", `{"mounts":{"/docs":{"repoPath":"/repos/b","policy":"all"}}}`},
		"half bad":            {"workspace/configured", `{"mounts":{"/ok":{"repoPath":"/repos/b","policy":"read-only"},"/zz/":null}}`},
		"no object":           {"workspace/configured", `{"mounts":[]}`},
		"no JSON":             {"workspace/changed", `{`},
		"relative path":       {"workspace/changed", `{"op":"writeFile","changes":[{"path":"a"}]}`},
		"path of the root":    {"workspace/changed", `{"op":"writeFile","changes":[{"path":"/"}]}`},
		"unknown entry":       {"workspace/changed", `{"op":"writeFile","changes":[{"path":"/workspace/a","after":{"kind":"door"}}]}`},
		"file without id":     {"workspace/changed", `{"op":"writeFile","changes":[{"path":"/workspace/a","after":{"kind":"file","mode":33188}}]}`},
		"end without a begin": {"workspace/committed", `{"key":"none","commit":"0000000000000000000000000000000000000001"}`},
	} {
		bad := history("workspace/created", `{}`, c.typ, c.payload)[1]
		s := reduce(born, bad)
		if len(s.Diagnostics) != 1 || s.Diagnostics[0].Seq != 2 || s.Diagnostics[0].Stream != "/agents/a" {
			t.Errorf("%s: diagnostics %v, want one for seq 2 of /agents/a", name, s.Diagnostics)
		}
		if s.Seq != 2 || s.Unread != 0 {
			t.Errorf("%s: seq %d, unread %d, want 2 and 0", name, s.Seq, s.Unread)
		}
		same := *s
		same.Diagnostics, same.Seq = nil, born.Seq
		if got, want := stored(t, &same), stored(t, born); got != want {
			t.Errorf("%s: state changed from %s to %s", name, want, got)
		}
		again := reduce(s, history("", "", "", "", "workspace/configured", `{"mounts":{"/cfg":{"repoPath":"/repos/a","policy":"branch"}}}`)[2])
		if len(again.Deviations) != 1 {
			t.Errorf("%s: the record after it was not taken in", name)
		}
	}
}

// TestReplayFromAnywhere lives a workspace through everything, with records of
// other writers among its own, and reduces its stream from the beginning, and
// from a checkpoint at every record.
//
// Cases: RD-7
func TestReplayFromAnywhere(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.repo("config", map[string]string{"worker.ts": "worker\n", "tasks/one.md": "# one\n"})
	r.repo("iterate", map[string]string{"README.md": "# iterate\n"})
	w := r.create("/agents/a", f1)
	write(t, w, "/config/worker.ts", "changed\n")
	r.append("/agents/a", "workspace/configured", `{"mounts":{"/docs/":null}}`)
	r.append("/agents/a", "agent/thought", `{"anything":[1,2]}`)
	if _, err := w.Delete(t.Context(), "/config/tasks", true); err != nil {
		t.Fatal(err)
	}
	write(t, w, "/workspace/a", "scratch\n")
	if _, err := w.Commit(t.Context(), workspace.CommitRequest{Mount: "/config", Message: "m"}); err != nil {
		t.Fatal(err)
	}
	r.append("/agents/a", "workspace/changed", `{"op":`+"\"x\""+`,"changes":[{"path":"no"}]}`)
	write(t, w, "/iterate/README.md", "mine\n")
	if _, err := w.Revert(t.Context(), "/workspace/a"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Configure(t.Context(), map[string]workspace.MountPatch{"/config": nil}); err != nil {
		t.Fatal(err)
	}
	live := snapshot(t, w).State

	var records []workspace.Record
	for rec, err := range r.project.Records(t.Context(), "/agents/a", 0) {
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, rec)
	}
	replayed := reduce(workspace.NewState(), records...)
	want := stored(t, replayed)
	if got := stored(t, live); got != want {
		t.Errorf("live state\n%s\nreplayed\n%s", got, want)
	}
	if len(live.Diagnostics) != 2 {
		t.Errorf("diagnostics %v, want two", live.Diagnostics)
	}
	for i := range records {
		var s workspace.State
		if err := json.Unmarshal([]byte(stored(t, reduce(workspace.NewState(), records[:i]...))), &s); err != nil {
			t.Fatal(err)
		}
		if got := stored(t, reduce(&s, records[i:]...)); got != want {
			t.Errorf("from a checkpoint at %d:\n%s\nwant\n%s", i, got, want)
		}
	}

	n := r.records("/agents/a")
	r.open(nil)
	if got := stored(t, snapshot(t, r.workspace("/agents/a")).State); got != want {
		t.Errorf("after a restart\n%s\nwant\n%s", got, want)
	}
	if got := r.records("/agents/a"); got != n || got != len(records) {
		t.Errorf("%d records after a replay, want %d", got, n)
	}
}

// TestReducerOutOfReach reads a stream that a newer Carrel wrote: reads go on,
// mutations do not, and no checkpoint hides that.
//
// Cases: RD-7
func TestReducerOutOfReach(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.repo("config", map[string]string{"worker.ts": "worker\n"})
	w := r.create("/agents/a", nil)
	write(t, w, "/workspace/a", "a\n")
	r.append("/agents/a", "workspace/teleported", `{}`)
	n := r.records("/agents/a")
	if got := read(t, w, "/workspace/a"); got != "a\n" {
		t.Errorf("read: got %q", got)
	}
	_, err := w.Write(t.Context(), "/workspace/b", []byte("b"), workspace.WriteOptions{})
	if workspace.KindOf(err) != workspace.Unavailable {
		t.Errorf("write: got %v, want unavailable", err)
	}
	_, err = w.Commit(t.Context(), workspace.CommitRequest{Mount: "/repos/config", Message: "m"})
	if workspace.KindOf(err) != workspace.Unavailable {
		t.Errorf("commit: got %v, want unavailable", err)
	}
	if got := r.records("/agents/a"); got != n {
		t.Errorf("%d records, want %d", got, n)
	}
}

// TestAppendedIsVisibleAtOnce reads through two hosts on one store.
//
// Cases: RD-8
func TestAppendedIsVisibleAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.repo("config", map[string]string{"worker.ts": "worker\n"})
	w := r.create("/agents/a", nil)
	if s := snapshot(t, w).State; !s.Born || s.Seq != 1 {
		t.Errorf("after create: born %v, seq %d", s.Born, s.Seq)
	}
	first := *r
	r.open(nil)
	other := r.workspace("/agents/a")
	for i, policy := range []string{"branch", "read-only", "branch"} {
		_, err := w.Configure(t.Context(), map[string]workspace.MountPatch{"/cfg": {workspace.FieldRepo: str("/repos/config"), workspace.FieldPolicy: &policy}})
		if err != nil {
			t.Fatal(err)
		}
		for name, handle := range map[string]*workspace.Workspace{"own": w, "other": other} {
			s := snapshot(t, handle)
			if m := s.Table.At("/cfg"); m == nil || string(m.Policy) != policy || s.State.Seq != workspace.Seq(i+2) {
				t.Errorf("%s host after configuration %d: mount %+v, seq %d", name, i, m, s.State.Seq)
			}
		}
	}
	first.append("/agents/a", "workspace/configured", `{"mounts":{"/cfg":null}}`)
	for name, handle := range map[string]*workspace.Workspace{"own": w, "other": other} {
		if snapshot(t, handle).Table.At("/cfg") != nil {
			t.Errorf("%s host does not see a record of another writer", name)
		}
	}
}

// TestNothingOddIsMounted puts repos and deviations on the streams that no writer
// of ours makes.
//
// Cases: MT-4 MT-5 MT-6
func TestNothingOddIsMounted(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.repo("config", map[string]string{"worker.ts": "worker\n"})
	w := r.create("/agents/a", nil)
	for _, stream := range []string{"/repos/", "/secrets/a", "/repos/a/../b", "/repos/.git", "repos/x", "/repos/a b", "/repos"} {
		r.append("/", "repo/created", `{"stream":`+strconv.Quote(stream)+`,"seq":1,"payload":{"source":"/nowhere","managed":false,"branch":"main","policy":"branch"}}`)
	}
	r.append("/agents/a", "workspace/configured", `{"mounts":{"/new":{"policy":"read-only"}}}`)
	r.append("/agents/a", "workspace/configured", `{"mounts":{"/":{"repoPath":"/repos/config","policy":"read-only"}}}`)
	points := func(w *workspace.Workspace) []string {
		var got []string
		for _, m := range snapshot(t, w).Table.Mounts {
			got = append(got, string(m.Point))
		}
		return got
	}
	want := []string{"/repos/config"}
	if got := points(w); !slices.Equal(got, want) {
		t.Errorf("mounts %v, want %v", got, want)
	}
	r.open(nil)
	w = r.workspace("/agents/a")
	if got := points(w); !slices.Equal(got, want) {
		t.Errorf("after a restart: mounts %v, want %v", got, want)
	}
	if got := read(t, w, "/repos/config/worker.ts"); got != "worker\n" {
		t.Errorf("got %q", got)
	}
	write(t, w, "/workspace/a", "still works")
	r.append("/", "repo/created", `{"stream":"/new","seq":1,"payload":{}}`)
	if got := points(w); !slices.Equal(got, want) {
		t.Errorf("mounts %v, want %v", got, want)
	}
}
