package server

import (
	"encoding/json"
	"testing"
)

func TestCut(t *testing.T) {
	tests := []struct {
		name, raw, value, without string
		times                     int
	}{
		{"first", `{"workspace":"/agents/a","path":"x"}`, `"/agents/a"`, `{"path":"x"}`, 1},
		{"first, spaced", "{ \"workspace\" : \"a\" ,\n\"path\":1}", `"a"`, "{ \n\"path\":1}", 1},
		{"last", `{"path":"x", "workspace":"a"}`, `"a"`, `{"path":"x"}`, 1},
		{"middle", `{"a":1,"workspace":{"b":[1]},"c":2}`, `{"b":[1]}`, `{"a":1,"c":2}`, 1},
		{"alone", `{"workspace":null}`, `null`, `{}`, 1},
		{"twice", `{"workspace":1,"workspace":2}`, `2`, "", 2},
		{"escaped name", `{"\u0077orkspace":"a"}`, `"a"`, `{}`, 1},
		{"absent", `{"path":"workspace"}`, ``, `{"path":"workspace"}`, 0},
		{"nested", `{"a":{"workspace":1}}`, ``, `{"a":{"workspace":1}}`, 0},
		{"lone surrogate kept", `{"content":"\ud800","workspace":"a"}`, `"a"`, `{"content":"\ud800"}`, 1},
		{"no object", `[1]`, ``, `[1]`, 0},
		{"no JSON", `{"workspace":`, ``, `{"workspace":`, 0},
		{"nothing", ``, ``, ``, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			raw := json.RawMessage(tt.raw)
			value, without, times := cut(raw, "workspace")
			if times != tt.times {
				t.Fatalf("times = %d, want %d", times, tt.times)
			}
			if string(raw) != tt.raw {
				t.Errorf("the arguments changed to %s", raw)
			}
			if times > 1 {
				return
			}
			if got := string(value); got != tt.value {
				t.Errorf("value = %s, want %s", got, tt.value)
			}
			if got := string(without); got != tt.without {
				t.Errorf("without = %s, want %s", got, tt.without)
			}
		})
	}
}

func TestInsert(t *testing.T) {
	tests := []struct{ raw, want string }{
		{``, `{"path":"p"}`},
		{`null`, `{"path":"p"}`},
		{`{}`, `{"path":"p"}`},
		{` { } `, `{"path":"p"}`},
		{`{"a":1}`, `{"path":"p","a":1}`},
		{`[1]`, `[1]`},
	}
	for _, tt := range tests {
		if got := string(insert(json.RawMessage(tt.raw), "path", json.RawMessage(`"p"`))); got != tt.want {
			t.Errorf("insert into %q = %s, want %s", tt.raw, got, tt.want)
		}
	}
}

func TestUnwrap(t *testing.T) {
	tests := []struct{ name, raw, want string }{
		{"an object", `{"a":1}`, `{"a":1}`},
		{"its text", `"{\"a\":1}"`, `{"a":1}`},
		{"other text", `"hello"`, `"hello"`},
		{"text that decoding would change", `"{\"a\":\"\ud800\"}"`, `"{\"a\":\"\ud800\"}"`},
		{"nothing", ``, ``},
	}
	for _, tt := range tests {
		if got := string(unwrap(json.RawMessage(tt.raw))); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}
