package workspace

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// history makes records by hand.
type history struct {
	stream  StreamID
	records []Record
}

func (h *history) add(typ string, payload any) *history {
	e := encode(typ, payload)
	e.At = time.Unix(int64(1000+len(h.records)), 0).UTC()
	h.records = append(h.records, Record{Stream: h.stream, Seq: Seq(len(h.records) + 1), Event: e})
	return h
}

func (h *history) raw(typ string, version int, payload string) *history {
	h.records = append(h.records, Record{Stream: h.stream, Seq: Seq(len(h.records) + 1), Event: Event{Type: typ, Version: version, Payload: []byte(payload)}})
	return h
}

func (h *history) state() *State {
	s := NewState()
	for _, r := range h.records {
		s = Reduce(s, r)
	}
	return s
}

func born() *history {
	h := &history{stream: StreamID{"p", "/agents/a"}}
	return h.add(WorkspaceCreated, Created{Digest: "d"})
}

func val(s string) *string { return &s }

// Cases: RD-1, RD-3, RD-5
func TestReduceConfigured(t *testing.T) {
	h := born().add(WorkspaceConfigured, Configured{map[string]MountPatch{
		"/docs":    {FieldRepo: val("/repos/docs"), FieldPolicy: val("read-only")},
		"/iterate": {FieldRepo: val("/repos/iterate"), FieldPolicy: val("branch")},
	}})
	want := map[Path]Deviation{
		"/docs":    {Repo: "/repos/docs", Policy: ReadOnly},
		"/iterate": {Repo: "/repos/iterate", Policy: WorkBranch},
	}
	s := h.state()
	if !s.Born || !cmp.Equal(s.Deviations, want) {
		t.Errorf("after creation with mounts: born %v, deviations %v", s.Born, s.Deviations)
	}

	h.add(WorkspaceConfigured, Configured{map[string]MountPatch{"/iterate": {FieldPolicy: val("read-only")}, "/docs": nil}})
	h.add(WorkspaceConfigured, Configured{map[string]MountPatch{"/new": {FieldPolicy: val("read-only")}}})
	want = map[Path]Deviation{"/iterate": {Repo: "/repos/iterate", Policy: ReadOnly}, "/new": {Policy: ReadOnly}}
	if got := h.state().Deviations; !cmp.Equal(got, want) {
		t.Errorf("after two patches: %v, want %v", got, want)
	}

	h.add(WorkspaceConfigured, Configured{map[string]MountPatch{"/iterate": {FieldPolicy: nil}, "/new": {FieldPolicy: nil}}})
	want = map[Path]Deviation{"/iterate": {Repo: "/repos/iterate"}}
	if got := h.state().Deviations; !cmp.Equal(got, want) {
		t.Errorf("after clearing fields: %v, want %v", got, want)
	}
}

// Cases: RD-2, RD-4
func TestReduceCreated(t *testing.T) {
	h := (&history{}).raw(WorkspaceCreated, 1, `{"digest":"first","surprise":[1]}`).raw(WorkspaceCreated, 1, `{"digest":"second"}`)
	s := h.state()
	if !s.Born || s.Digest != "first" || len(s.Deviations) != 0 || len(s.Diagnostics) != 0 {
		t.Errorf("got %+v", s)
	}
}

// Cases: RD-6, RD-7
func TestReduceSkipsMalformed(t *testing.T) {
	h := born()
	before := h.state()
	for _, payload := range []string{
		`{"mounts":{"/docs/":{"repoPath":"/repos/docs","policy":"branch"}}}`,
		`{"mounts":{"/docs":{"repoPath":"/repos/b?alias=1","policy":"branch"}}}`,
		`{"mounts":{"/ok":{"policy":"branch"},"/workspace":{"policy":"branch"}}}`,
		`{"mounts":{"/docs":{"policy":"everything"}}}`,
		`{"mounts":`,
	} {
		h.raw(WorkspaceConfigured, 1, payload)
	}
	h.raw(WorkspaceChanged, 1, `{"changes":[{"path":"/repos/a/../b","after":{"kind":"file"}}]}`)
	h.raw(WorkspaceChanged, 1, `{"changes":[{"path":"/repos/a","after":{"kind":"pipe"}}]}`)
	h.raw(WorkspaceCommitted, 1, `{"key":"nobody","commit":"`+OID{1}.String()+`"}`)
	s := h.state()
	if len(s.Deviations) != 0 || s.Upper.Len() != 0 || s.Seq != Seq(len(h.records)) {
		t.Errorf("malformed records changed the state: %+v", s)
	}
	if len(s.Diagnostics) != len(h.records)-1 {
		t.Fatalf("%d diagnostics for %d malformed records: %v", len(s.Diagnostics), len(h.records)-1, s.Diagnostics)
	}
	for i, d := range s.Diagnostics {
		if d.Stream != "/agents/a" || d.Seq != Seq(i+2) || d.Why == "" {
			t.Errorf("diagnostic %d: %+v", i, d)
		}
	}
	if before.Seq != 1 || len(before.Diagnostics) != 0 {
		t.Errorf("an earlier state changed: %+v", before)
	}
}

func TestReduceOtherDomainsAndNewer(t *testing.T) {
	h := born().raw("agent/thought", 7, `{"x":1}`)
	if s := h.state(); s.Unread != 0 || len(s.Diagnostics) != 0 || s.Seq != 2 {
		t.Errorf("an event of another domain: %+v", s)
	}
	h.raw(WorkspaceChanged, payloadVersion+1, `{}`).raw("workspace/teleported", 1, `{}`)
	s := h.state()
	if s.Unread != 3 {
		t.Errorf("unread at %d, want 3", s.Unread)
	}
	if _, err := json.Marshal(s); err == nil {
		t.Error("an unread state was saved")
	}
}

func TestReduceDeletedAndKeys(t *testing.T) {
	h := born()
	for i := range maxKeys + 5 {
		h.add(WorkspaceCheckpointed, struct{}{})
		r := &h.records[len(h.records)-1]
		r.Key, r.Request, r.Result = string(rune('a'+i%26))+time.Unix(int64(i), 0).String(), "q", []byte(`1`)
	}
	s := h.state()
	if len(s.order) != maxKeys || len(s.answers) != maxKeys {
		t.Errorf("%d keys, %d answers are kept, want %d", len(s.order), len(s.answers), maxKeys)
	}
	if _, ok := s.Answer(h.records[1].Key); ok {
		t.Error("the oldest key is kept")
	}
	if a, ok := s.Answer(h.records[len(h.records)-1].Key); !ok || a.Request != "q" {
		t.Errorf("the newest key: %+v, %v", a, ok)
	}
	if s = h.add(WorkspaceDeleted, struct{}{}).state(); !s.Deleted {
		t.Error("not deleted")
	}
}

// TestReplay holds a checkpoint and a replay against the states that were seen
// on the way, over random histories.
func TestReplay(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		h := born()
		live := h.state()
		var seen []*State
		for range 60 {
			n := len(h.records)
			h.random(rng)
			for _, r := range h.records[n:] {
				live = Reduce(live, r)
			}
			seen = append(seen, live)
		}
		if diff := cmp.Diff(dump(t, h.state()), dump(t, live)); diff != "" {
			t.Fatalf("replay differs from live (-replay +live):\n%s", diff)
		}
		for _, s := range seen {
			var again State
			if err := json.Unmarshal([]byte(dump(t, s)), &again); err != nil {
				t.Fatal(err)
			}
			for _, r := range h.records[s.Seq:] {
				next := Reduce(&again, r)
				again = *next
			}
			if diff := cmp.Diff(dump(t, live), dump(t, &again)); diff != "" {
				t.Fatalf("a checkpoint at %d leads elsewhere (-live +checkpoint):\n%s", s.Seq, diff)
			}
		}
	}
}

func dump(t *testing.T, s *State) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// random appends something that could happen.
func (h *history) random(rng *rand.Rand) {
	paths := []Path{"/workspace/a", "/workspace/a/b", "/workspace/a-b", "/repos/r/d", "/repos/r/d/x", "/repos/r/d0"}
	p := paths[rng.IntN(len(paths))]
	switch rng.IntN(6) {
	case 0:
		h.add(WorkspaceChanged, Changed{Op: "revert", Drop: []Path{p}})
	case 1:
		h.raw(WorkspaceChanged, 1, `{"changes":[{}]}`)
	case 2:
		h.add(WorkspaceCommitting, Committing{Key: "k", Mount: "/repos/r", Repo: "/repos/r", Upstream: "main", Branch: "w"})
	case 3:
		h.add(WorkspaceCommitted, Committed{Key: "k", Commit: OID{2}, Changes: []PathChange{{Path: p}}})
	default:
		e := Entry{Kind: File, Mode: ModeFile, OID: OID{byte(rng.IntN(250) + 1)}, Size: int64(rng.IntN(9)), Base: Base{Node{ModeFile, OID{3}}, OID{4}}}
		h.add(WorkspaceChanged, Changed{Op: "writeFile", Changes: []PathChange{{Path: p, After: &e}}})
	}
}

// FuzzReduce feeds payloads that no writer makes: the reducer is total.
func FuzzReduce(f *testing.F) {
	for typ := range workspaceTypes {
		f.Add(typ, []byte(`{"mounts":{"/a":{"pin":"x"}},"changes":[{"path":"/a","after":{"kind":"dir"}}],"drop":["/"],"key":"k"}`))
	}
	f.Fuzz(func(t *testing.T, typ string, payload []byte) {
		h := born()
		h.records = append(h.records, Record{Stream: h.stream, Seq: 2, Event: Event{Type: typ, Version: 1, Payload: payload}})
		s := h.state()
		if s.Seq != 2 {
			t.Errorf("seq %d after two records", s.Seq)
		}
		if s.Unread == 0 {
			dump(t, s)
		}
	})
}
