package tools_test

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// paged are the lists that go on by cursors: the tool, its arguments but for the
// cursor, and the field of a result that has the items.
func paged(pattern string) []struct {
	tool, field string
	in          args
} {
	return []struct {
		tool, field string
		in          args
	}{
		{"glob", "paths", args{"pattern": "/**/*" + pattern + "*"}},
		{"readDir", "entries", args{"path": "/", "depth": 6}},
		{"grep", "matches", args{"pattern": pattern, "literal": true}},
		{"grep", "paths", args{"pattern": pattern, "literal": true, "mode": "files"}},
		{"grep", "counts", args{"pattern": pattern, "literal": true, "mode": "count"}},
	}
}

// page is the part of a result that all lists have.
type page struct {
	items []string
	next  string
}

// page calls a tool for one page. Without a page there is a refusal.
func (b *bench) page(t *testing.T, tool, field string, in args, cursor string, limit int) (p page, err error) {
	t.Helper()
	asked := args{}
	for k, v := range in {
		asked[k] = v
	}
	if cursor != "" {
		asked["cursor"] = cursor
	}
	if limit > 0 {
		asked["limit"] = limit
	}
	raw, err := json.Marshal(asked)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(tools.All(), func(x *tools.Tool) bool { return x.Name == tool })
	out, err := tools.All()[i].Run(t.Context(), tools.Call{Project: b.project, Workspace: id, Caller: workspace.Caller{Session: "s"}}, raw)
	if err != nil {
		return p, err
	}
	var fields map[string]json.RawMessage
	var items []json.RawMessage
	raw, err = json.Marshal(out)
	if err != nil || json.Unmarshal(raw, &fields) != nil || json.Unmarshal(fields[field], &items) != nil {
		t.Fatalf("%s %v: %s", tool, asked, raw)
	}
	if next, ok := fields["nextCursor"]; ok {
		if err := json.Unmarshal(next, &p.next); err != nil {
			t.Fatal(err)
		}
	}
	for _, item := range items {
		p.items = append(p.items, string(item))
	}
	return p, nil
}

// cursorBench is a workspace with files whose order is not that of their text.
func cursorBench(f *testing.F) *bench {
	b := newBench(f, "app")
	var changes []args
	for _, p := range []string{"a/x", "a-b", "a.txt", "a/y/z", "b", "é", "a/y-", "B", "a0"} {
		changes = append(changes, args{"op": "writeFile", "path": p, "content": "x\nyx\n" + p + "\n"},
			args{"op": "writeFile", "path": "/repos/app/d/" + p, "content": "x"})
	}
	b.call("batch", "", args{"changes": changes})
	return b
}

// FuzzPages reads every list in pages of any sizes: together they are the list.
func FuzzPages(f *testing.F) {
	b := cursorBench(f)
	f.Add("", []byte{1, 2, 3})
	f.Add("x", []byte{1})
	f.Add("a", []byte{2, 1, 7})
	f.Fuzz(func(t *testing.T, pattern string, sizes []byte) {
		if len(pattern) > 20 || strings.ContainsAny(pattern, "{}[]\\!/") || len(sizes) == 0 {
			return
		}
		for _, list := range paged(pattern) {
			whole, err := b.page(t, list.tool, list.field, list.in, "", 300)
			if err != nil {
				continue // no pattern at all
			}
			var got []string
			cursor := ""
			for i := 0; ; i++ {
				limit := int(sizes[i%len(sizes)])%20 + 1
				p, err := b.page(t, list.tool, list.field, list.in, cursor, limit)
				if err != nil || i > len(whole.items) || len(p.items) > limit {
					t.Fatalf("page %d of %s %v: %d items of %d, %v", i, list.tool, list.in, len(p.items), limit, err)
				}
				got = append(got, p.items...)
				if cursor = p.next; cursor == "" {
					break
				}
			}
			if !slices.Equal(got, whole.items) {
				t.Errorf("%s %v in pages of %v: got %q, want %q", list.tool, list.in, sizes, got, whole.items)
			}
		}
	})
}

// FuzzCursor passes any text as a cursor, and cursors in which any place was put.
// They are refused as Invalid or Conflict, or go on within the list.
func FuzzCursor(f *testing.F) {
	b := cursorBench(f)
	f.Add("x", "e30", "/workspace/a/x", 1)
	f.Add("a", "", "", -1)
	f.Add("", "!", "/repos/app/d/a/zzz", 1<<40)
	f.Fuzz(func(t *testing.T, pattern, cursor, after string, line int) {
		if len(pattern) > 20 || strings.ContainsAny(pattern, "{}[]\\!/") {
			return
		}
		for _, list := range paged(pattern) {
			whole, err := b.page(t, list.tool, list.field, list.in, "", 300)
			if err != nil {
				continue
			}
			first, err := b.page(t, list.tool, list.field, list.in, "", 1)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []string{cursor, moved(t, first.next, after, line)} {
				p, err := b.page(t, list.tool, list.field, list.in, c, 300)
				if kind := workspace.KindOf(err); err != nil && kind != workspace.Invalid && kind != workspace.Conflict {
					t.Errorf("%s %v from %q: %v", list.tool, list.in, c, err)
				}
				if n := len(p.items); n > len(whole.items) || !slices.Equal(p.items, whole.items[len(whole.items)-n:]) {
					t.Errorf("%s %v from %q: got %q of %q", list.tool, list.in, c, p.items, whole.items)
				}
			}
		}
	})
}

// moved is a cursor with another place in it.
func moved(t *testing.T, cursor, after string, line int) string {
	t.Helper()
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		t.Fatal(err)
	}
	if cursor == "" {
		return ""
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	fields["a"], fields["l"] = after, line
	text, err = json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}
