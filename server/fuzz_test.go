package server

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// members are those of an object, of one given twice the last. Not ok if the text
// is no object.
func members(raw json.RawMessage) (all map[string]json.RawMessage, ok bool) {
	return all, json.Unmarshal(raw, &all) == nil && all != nil
}

// spelled makes equal JSON texts the same.
func spelled(t *testing.T, all map[string]json.RawMessage) string {
	t.Helper()
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// FuzzCut takes a member out of any text and puts it in again, and holds both
// against a map.
func FuzzCut(f *testing.F) {
	f.Add([]byte(`{"a":1,"workspace":"x","b":[{}]}`))
	f.Add([]byte(`{"workspace":1,"workspace":2}`))
	f.Add([]byte(" { \"\\u0077orkspace\" : {\"workspace\":[]} , \"\xff\":\"\\ud800\" }\n"))
	f.Add([]byte(`"{\"workspace\":1}"`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		const name = "workspace"
		before := string(raw)
		value, without, times := cut(raw, name)
		put := insert(raw, "new", json.RawMessage(`7`))
		unwrap(raw)
		if string(raw) != before {
			t.Fatalf("%q became %q", before, raw)
		}
		if !json.Valid(raw) {
			return // arguments are part of a message that was read
		}
		want, ok := members(raw)
		if !ok {
			if times != 0 || string(without) != before {
				t.Errorf("cut of %q: %d times, leaves %q", raw, times, without)
			}
			return
		}
		if _, there := want[name]; there != (times > 0) || there && string(want[name]) != string(value) {
			t.Errorf("cut of %q: %q, %d times, want %q", raw, value, times, want[name])
		}
		if times == 1 {
			got, ok := members(without)
			delete(want, name)
			if diff := cmp.Diff(spelled(t, want), spelled(t, got)); !ok || diff != "" {
				t.Errorf("cut of %q leaves %q:\n%s", raw, without, diff)
			}
			want[name] = value
		}
		if _, taken := want["new"]; taken {
			return
		}
		want["new"] = json.RawMessage(`7`)
		if got, ok := members(put); !ok || spelled(t, got) != spelled(t, want) {
			t.Errorf("insert into %q makes %q", raw, put)
		}
	})
}
