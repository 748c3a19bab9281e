package workspace

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// recordTypes are what a script of FuzzReplay may begin a line with.
var recordTypes = map[byte]string{
	'b': WorkspaceCreated, 'm': WorkspaceConfigured, 'w': WorkspaceChanged, 'i': WorkspaceCommitting, 'c': WorkspaceCommitted,
	'd': WorkspaceCommitDrop, 'p': WorkspaceCheckpointed, 'x': WorkspaceExpired, 'e': WorkspaceDeleted,
	'o': "agent/thought", 'n': "workspace/newer",
}

// script makes records of lines: a letter for the type, then the payload. A
// capital letter gives the record a key.
func script(text []byte) *history {
	h := born()
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if len(line) == 0 || len(h.records) > 12 {
			continue
		}
		typ, ok := recordTypes[line[0]|0x20]
		if !ok {
			continue
		}
		h.raw(typ, 1, string(line[1:]))
		r := &h.records[len(h.records)-1]
		r.At = time.Unix(int64(2000+len(h.records)), 0).UTC()
		if line[0] < 'a' {
			r.Key, r.Request, r.Result = string(line[:1]), "q", []byte(`{"a":1}`)
		}
	}
	return h
}

// FuzzReplay feeds histories that no writer makes. The reducer is total and pure:
// every record moves seq on by one, a skipped one changes nothing else, no state
// changes once it was returned, and a checkpoint of any leads where it led.
func FuzzReplay(f *testing.F) {
	const entry = `{"kind":"file","oid":"0303030303030303030303030303030303030303","mode":33188,"size":3}`
	f.Add([]byte(`w{"changes":[{"path":"/workspace/a","after":` + entry + `},{"path":"/workspace/a/b","after":{"kind":"whiteout"}}]}` + "\n" +
		`w{"drop":["/workspace/a"],"changes":[{"path":"/workspace/c","after":{"kind":"dir","base":{"mode":16384}}}]}`))
	f.Add([]byte(`m{"mounts":{"/docs":{"repoPath":"/repos/docs","policy":"branch"}}}` + "\n" + `M{"mounts":{"/docs":{"policy":null}}}` + "\n" + `m{"mounts":{"/docs":null}}`))
	f.Add([]byte(`I{"key":"k","repoPath":"/repos/r","branch":"w","upstream":"main","changes":[]}` + "\n" +
		`C{"key":"k","commit":"0404040404040404040404040404040404040404","changes":[{"path":"/repos/r/a"}]}` + "\nd{\"key\":\"k\"}\nc{\"key\":\"k\"}"))
	f.Add([]byte("w{\"changes\":[{}]}\nw{\"changes\":[{\"path\":\"/\"}]}\nw{\nw[]\nwnull\nn{}\nw{\"drop\":[\"/\"]}\ne\np\no{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		h := script(text)
		states, dumps := []*State{NewState()}, []string{dump(t, NewState())}
		for i, r := range h.records {
			before := states[i]
			after := Reduce(before, r)
			if after.Seq != r.Seq {
				t.Fatalf("seq %d after record %d", after.Seq, r.Seq)
			}
			if after.Unread != 0 {
				break // such a state has no dump
			}
			states, dumps = append(states, after), append(dumps, dump(t, after))
			if len(after.Diagnostics) > len(before.Diagnostics) {
				skipped := *after
				skipped.Seq, skipped.Diagnostics = before.Seq, before.Diagnostics
				if diff := cmp.Diff(dumps[i], dump(t, &skipped)); diff != "" {
					t.Errorf("record %d was skipped, and changed (-before +after):\n%s", r.Seq, diff)
				}
			}
		}
		for i, s := range states {
			if diff := cmp.Diff(dumps[i], dump(t, s)); diff != "" {
				t.Errorf("the state at %d changed later (-then +now):\n%s", s.Seq, diff)
			}
			again := &State{}
			if err := json.Unmarshal([]byte(dumps[i]), again); err != nil {
				t.Fatalf("the checkpoint at %d: %v\n%s", s.Seq, err, dumps[i])
			}
			for _, r := range h.records[i : len(states)-1] {
				again = Reduce(again, r)
			}
			if diff := cmp.Diff(dumps[len(dumps)-1], dump(t, again)); diff != "" {
				t.Errorf("the checkpoint at %d leads elsewhere (-live +checkpoint):\n%s", s.Seq, diff)
			}
		}
	})
}

// FuzzPayload reads payloads as each type of event has them. What one is read
// as is written so that it is read the same, and the bodies of its entries are
// listed.
func FuzzPayload(f *testing.F) {
	h := born()
	f.Add(h.records[0].Payload)
	f.Add([]byte(`{"key":"k","mount":"/m","repoPath":"/repos/r","branch":"b","upstream":"u","parent":"0303030303030303030303030303030303030303","by":"p",` +
		`"changes":[{"path":"/m/a","before":{"kind":"whiteout"},"after":{"kind":"symlink","oid":"0303030303030303030303030303030303030303","mode":40960,` +
		`"owner":{"mount":"/m","repo":"/repos/r"},"base":{"mode":33188,"oid":"0404040404040404040404040404040404040404"},"modified":"2026-01-02T03:04:05.000000006+01:00"}}]}`))
	f.Add([]byte(`{"mounts":{"/a":{"pin":null,"x":"y"},"b":null},"drop":["/",""],"undoes":18446744073709551615,"op":"\ud800"}`))
	f.Add([]byte(`{"stream":"/agents/a","seq":3,"payload":{"source":"/r","managed":true,"policy":"branch"},"from":{"workspace":"/agents/a","seq":1,"starts":{"/m":"0303030303030303030303030303030303030303"}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		stable[Created](t, b)
		stable[Configured](t, b)
		stable[Changed](t, b)
		stable[Committing](t, b)
		stable[Committed](t, b)
		stable[RepoSettings](t, b)
		stable[RepoCommit](t, b)
		stable[Copied](t, b)
	})
}

// stable checks that a payload which is read as a T stays it.
func stable[T any](t *testing.T, b []byte) {
	t.Helper()
	first, err := decode[T](Record{Event: Event{Payload: b}})
	if err != nil {
		return
	}
	e := encode("x", first)
	second, err := decode[T](Record{Event: e})
	if err != nil {
		t.Fatalf("%s cannot be read: %v", e.Payload, err)
	}
	if again := encode("x", second); !bytes.Equal(e.Payload, again.Payload) {
		t.Errorf("%T: %s became %s", first, e.Payload, again.Payload)
	}
	for _, id := range e.Bodies {
		if id.IsZero() || !bytes.Contains(e.Payload, []byte(id.String())) {
			t.Errorf("%T: %s names a body %s", first, e.Payload, id)
		}
	}
}

// resolved is a second reading of a path: its segments, one by one.
func resolved(spelling string) string {
	if !strings.HasPrefix(spelling, "/") {
		spelling = "/workspace/" + spelling
	}
	var kept []string
	for _, s := range strings.Split(spelling, "/") {
		switch s {
		case "", ".":
		case "..":
			kept = kept[:max(len(kept)-1, 0)]
		default:
			kept = append(kept, s)
		}
	}
	return "/" + strings.Join(kept, "/")
}

// FuzzPath holds the paths and their relations against the segments that they
// are made of.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"", "/", "a/../../b", "/a//b/.", "..", "/…/\xff", "a\x00", "/repos/app", "/repos/app-2"} {
		f.Add(s, "/workspace/b")
		f.Add("/repos", s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		p, errP := ParsePath(a)
		q, errQ := ParsePath(b)
		want := resolved(a)
		if fits := !strings.Contains(a, "\x00") && len(want) <= MaxPath; fits != (errP == nil) {
			t.Errorf("ParsePath(%q): %v", a, errP)
		}
		if errP != nil || errQ != nil {
			return
		}
		if string(p) != want {
			t.Errorf("ParsePath(%q) = %q, want %q", a, p, want)
		}
		below := p != q && strings.HasPrefix(string(p)+"/", strings.TrimSuffix(string(q), "/")+"/")
		if p.Below(q) != below || q.Contains(p) != (below || p == q) {
			t.Errorf("%q below %q: got %v, want %v", p, q, p.Below(q), below)
		}
		if below && q.Join(p.Rel(q)) != p {
			t.Errorf("%q is %q relative to %q", p, p.Rel(q), q)
		}
		above := slices.Collect(p.Ancestors)
		if n := max(strings.Count(string(p), "/")-1, 0); len(above) != n || slices.Contains(above, Root) {
			t.Errorf("%q has the ancestors %q", p, above)
		}
	})
}

// FuzzNames holds identities against what makes a name that is stored forever.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"/agents/a", "/workspaces/a/b@c..d", "/repos/app", "/agents/", "/agents/.GIT", "/repos/a\u200b", "/agents/a b", "/repos/a%2f", "/agents/..."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		_, errID := ParseID(s)
		_, errRepo := ParseRepoPath(s)
		if errID != nil && KindOf(errID) != Invalid || errRepo != nil && KindOf(errRepo) != Invalid {
			t.Errorf("%q: %v, %v", s, errID, errRepo)
		}
		if errID == nil && errRepo == nil {
			t.Errorf("%q is a workspace and a repo", s)
		}
		if errID != nil && errRepo != nil {
			return
		}
		p, err := ParsePath(s)
		if err != nil || string(p) != s || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsSpace) {
			t.Errorf("%q is taken, and is the path %q, %v", s, p, err)
		}
		if err := p.checkSegments(); err != nil {
			t.Errorf("%q is taken, and git refuses it: %v", s, err)
		}
		if n := strings.Count(s, "/"); n < 2 {
			t.Errorf("%q is taken, with %d segments", s, n)
		}
	})
}
