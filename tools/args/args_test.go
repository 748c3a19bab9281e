package args

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"carrel.dev/workspace"
	"github.com/google/go-cmp/cmp"
)

// paging is embedded, so that its properties are the outer struct's.
type paging struct {
	Offset int  `json:"offset,omitempty" doc:"first line, from 1" min:"1"`
	Limit  *int `json:"limit,omitempty" min:"1" max:"200"`
}

type edit struct {
	Old string `json:"oldString" req:"true"`
	New string `json:"newString"`
	All bool   `json:"replaceAll,omitempty"`
}

type mount struct {
	Branch Clearable[string] `json:"branch"`
	Policy string            `json:"policy,omitempty"`
}

// everything has a property of each shape.
type everything struct {
	Path   string `json:"path" doc:"a <file>" req:"true"`
	Mode   string `json:"mode,omitempty" enum:"content,files,count"`
	DryRun bool   `json:"dryRun,omitempty"`
	paging
	Ratio   float64                    `json:"ratio,omitempty" max:"1.5"`
	Small   int8                       `json:"small,omitempty"`
	Seq     *uint64                    `json:"seq,omitempty"`
	Edits   []edit                     `json:"edits,omitempty"`
	Paths   []string                   `json:"paths,omitempty"`
	Mounts  map[string]*mount          `json:"mounts,omitempty"`
	Labels  map[string]string          `json:"labels,omitempty"`
	Body    []byte                     `json:"base64,omitempty"`
	At      workspace.OID              `json:"at,omitempty"`
	Since   time.Time                  `json:"since,omitempty"`
	Changes []map[string]any           `json:"changes,omitempty"`
	Raw     map[string]json.RawMessage `json:"raw,omitempty"`
	Trace   bool                       `json:"trace,omitempty" hidden:"true"`
	Ignored int                        `json:"-"`
}

const everythingTakes = "path, mode, dryRun, offset, limit, ratio, small, seq, edits, paths, mounts, labels, base64, at, since, changes, raw"

func TestSchema(t *testing.T) {
	const edits = `{"type":"array","items":{"type":"object","properties":{"oldString":{"type":"string"},"newString":{"type":"string"},` +
		`"replaceAll":{"type":"boolean"}},"required":["oldString"],"additionalProperties":false}}`
	want := `{"type":"object","properties":{` +
		`"path":{"type":"string","description":"a <file>"},` +
		`"mode":{"type":"string","enum":["content","files","count"]},` +
		`"dryRun":{"type":"boolean"},` +
		`"offset":{"type":"integer","description":"first line, from 1","minimum":1},` +
		`"limit":{"type":"integer","minimum":1,"maximum":200},` +
		`"ratio":{"type":"number","maximum":1.5},` +
		`"small":{"type":"integer"},` +
		`"seq":{"type":"integer"},` +
		`"edits":` + edits + `,` +
		`"paths":{"type":"array","items":{"type":"string"}},` +
		`"mounts":{"type":"object","additionalProperties":{"type":"object","properties":{"branch":{"type":"string"},"policy":{"type":"string"}},"additionalProperties":false}},` +
		`"labels":{"type":"object","additionalProperties":{"type":"string"}},` +
		`"base64":{"type":"string","contentEncoding":"base64"},` +
		`"at":{"type":"string"},` +
		`"since":{"type":"string","format":"date-time"},` +
		`"changes":{"type":"array","items":{"type":"object"}},` +
		`"raw":{"type":"object"}` +
		`},"required":["path"],"additionalProperties":false}`
	got := Schema(reflect.TypeFor[everything]())
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if !json.Valid(got) {
		t.Error("not JSON")
	}
	hidden := string(Schema(reflect.TypeFor[everything](), "path", "oldString"))
	if strings.Contains(hidden, `"path"`) || !strings.Contains(hidden, `"oldString"`) {
		t.Errorf("hiding path and a nested name gave %s", hidden)
	}
	if got, want := string(Schema(reflect.TypeFor[struct{}]())), `{"type":"object","properties":{},"additionalProperties":false}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestOutputSchema(t *testing.T) {
	type entry struct {
		Name string         `json:"name"`
		Kind workspace.Kind `json:"kind" doc:"what it is"`
	}
	type out struct {
		entry
		Entries []entry           `json:"entries"`
		Next    string            `json:"nextCursor,omitempty"`
		At      time.Time         `json:"at"`
		Size    *int64            `json:"size,omitempty"`
		Commit  workspace.OID     `json:"commit"`
		Counts  map[string]int    `json:"counts,omitzero"`
		Data    json.RawMessage   `json:"data"`
		Any     any               `json:"any" doc:"whatever"`
		Plain   map[string]string `json:"plain"`
	}
	const entries = `"name":{"type":"string"},"kind":{"type":"string","description":"what it is"}`
	want := `{"type":"object","properties":{` + entries + `,` +
		`"entries":{"type":"array","items":{"type":"object","properties":{` + entries + `},"required":["name","kind"]}},` +
		`"nextCursor":{"type":"string"},` +
		`"at":{"type":"string","format":"date-time"},` +
		`"size":{"type":"integer"},` +
		`"commit":{"type":"string"},` +
		`"counts":{"type":"object","additionalProperties":{"type":"integer"}},` +
		`"data":{},` +
		`"any":{"description":"whatever"},` +
		`"plain":{"type":"object","additionalProperties":{"type":"string"}}` +
		`},"required":["name","kind","entries","at","commit","data","any","plain"]}`
	if diff := cmp.Diff(want, string(OutputSchema(reflect.TypeFor[out]()))); diff != "" {
		t.Error(diff)
	}
}

func TestMistakesPanic(t *testing.T) {
	type itself struct {
		Next []itself `json:"next"`
	}
	for name, f := range map[string]func(){
		"no name": func() { Schema(reflect.TypeFor[struct{ Path string }]()) },
		"no type": func() {
			Schema(reflect.TypeFor[struct {
				X any `json:"x"`
			}]())
		},
		"no number": func() {
			Schema(reflect.TypeFor[struct {
				X string `json:"x" min:"1"`
			}]())
		},
		"bad bound": func() {
			Schema(reflect.TypeFor[struct {
				X int `json:"x" min:"one"`
			}]())
		},
		"enum": func() {
			Schema(reflect.TypeFor[struct {
				X int `json:"x" enum:"a,b"`
			}]())
		},
		"channel": func() {
			Schema(reflect.TypeFor[struct {
				X chan int `json:"x"`
			}]())
		},
		"no struct": func() { Schema(reflect.TypeFor[string]()) },
		"itself":    func() { OutputSchema(reflect.TypeFor[itself]()) },
		"null": func() {
			OutputSchema(reflect.TypeFor[struct {
				X *int `json:"x"`
			}]())
		},
		"no pointer": func() { Decode(nil, struct{}{}) },
		"array": func() {
			Decode(json.RawMessage(`{"x":[1]}`), &struct {
				X [1]int `json:"x"`
			}{})
		},
		"not a struct": func() { Digest(3) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if r, ok := recover().(string); !ok || !strings.HasPrefix(r, "args: ") {
					t.Errorf("got panic %q, want one of this package", r)
				}
			}()
			f()
		})
	}
}

func TestDecode(t *testing.T) {
	want := everything{
		Path: "a.go", Mode: "files", DryRun: true, paging: paging{Offset: 10, Limit: new(5)},
		Ratio: 0.5, Small: -3, Seq: new(uint64(9007199254740993)),
		Edits: []edit{{Old: "a", New: "b", All: true}, {Old: "c"}}, Paths: []string{"x", "y"},
		Mounts: map[string]*mount{"/m": {Policy: "branch"}, "/gone": nil}, Labels: map[string]string{"k": "v"},
		Body: []byte{0, 255}, At: workspace.OID{0xab}, Since: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC),
		Changes: []map[string]any{{"op": "mv", "n": 1.0}}, Raw: map[string]json.RawMessage{"r": json.RawMessage(`[1, 2]`)}, Trace: true,
	}
	const oid = "ab00000000000000000000000000000000000000"
	for name, raw := range map[string]string{
		"plain": `{"path":"a.go","mode":"files","dryRun":true,"offset":10,"limit":5,"ratio":0.5,"small":-3,"seq":9007199254740993,
			"edits":[{"oldString":"a","newString":"b","replaceAll":true},{"oldString":"c"}],"paths":["x","y"],
			"mounts":{"/m":{"policy":"branch"},"/gone":null},"labels":{"k":"v","absent":null},"base64":"AP8=","at":"` + oid + `",
			"since":"2026-11-01T00:00:00Z","changes":[{"op":"mv","n":1}],"raw":{"r":[1, 2]},"trace":true}`,
		"JSON text, as some hosts send it": `{"path":"a.go","mode":"files","dryRun":"true","offset":"10.0","limit":" 5 ","ratio":"5e-1","small":"-3",
			"seq":"9007199254740993","edits":"[{\"oldString\":\"a\",\"newString\":\"b\",\"replaceAll\":\"true\"},\"{\\\"oldString\\\":\\\"c\\\"}\"]",
			"paths":"[\"x\",\"y\"]","mounts":"{\"/m\":{\"policy\":\"branch\"},\"/gone\":null}","labels":"{\"k\":\"v\"}","base64":"AP8=",
			"at":"` + oid + `","since":"2026-11-01T00:00:00Z","changes":["{\"op\":\"mv\",\"n\":1}"],"raw":"{\"r\":[1, 2]}","trace":"true"}`,
	} {
		t.Run(name, func(t *testing.T) {
			var got everything
			if err := Decode(json.RawMessage(raw), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(everything{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeAbsent(t *testing.T) {
	type in struct {
		N    int    `json:"n,omitempty"`
		P    *int   `json:"p,omitempty"`
		Text string `json:"text,omitempty"`
	}
	for _, raw := range []string{``, ` `, `null`, `{}`, `{"n":null,"p":null,"text":null}`, `"{}"`} {
		got := in{N: 7}
		if err := Decode(json.RawMessage(raw), &got); err != nil || got != (in{N: 7}) {
			t.Errorf("%q: got %+v, %v; want n as it was", raw, got, err)
		}
	}
	var zero in
	if err := Decode(json.RawMessage(`{"p":0}`), &zero); err != nil || zero.P == nil || *zero.P != 0 {
		t.Errorf("got %+v, %v; want a zero that was sent", zero, err)
	}
}

func TestClearable(t *testing.T) {
	for raw, want := range map[string]Clearable[string]{
		`{}`:                {},
		`{"branch":null}`:   {Given: true, Null: true},
		`{"branch":"main"}`: {Given: true, Value: "main"},
	} {
		var got mount
		if err := Decode(json.RawMessage(raw), &got); err != nil || got.Branch != want {
			t.Errorf("%s: got %+v, %v, want %+v", raw, got.Branch, err, want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for _, test := range []struct{ raw, want string }{
		// Names.
		{`{"path":"a","dry_run":true}`, "unknown argument `dry_run` (did you mean `dryRun`?); takes " + everythingTakes},
		{`{"path":"a","DRYRUN":true}`, "unknown argument `DRYRUN` (did you mean `dryRun`?); takes " + everythingTakes},
		{`{"file_path":"a"}`, "unknown argument `file_path` (did you mean `path`?); takes " + everythingTakes},
		{`{"path":"a","zzz":null}`, "unknown argument `zzz`; takes " + everythingTakes},
		{`{"path":"a","trac":true}`, "unknown argument `trac`; takes " + everythingTakes},
		{`{"path":"a","edits":[{"oldString":"x"},{"old_string":"x"}]}`,
			"unknown argument `edits[1].old_string` (did you mean `oldString`?); takes oldString, newString, replaceAll"},
		{`{"path":"a","mounts":{"/m":{"branches":"x"}}}`, "unknown argument `mounts./m.branches` (did you mean `branch`?); takes branch, policy"},
		{`{}`, "missing argument `path`; takes " + everythingTakes},
		{`{"path":null}`, "missing argument `path`; takes " + everythingTakes},
		{`{"path":"a","edits":[{"newString":"x"}]}`, "missing argument `edits[0].oldString`; takes oldString, newString, replaceAll"},
		{`{"path":"a","path":"b"}`, "argument `path` is given twice"},
		{`{"path":"a","\u0070ath":null}`, "argument `path` is given twice"},
		{`{"path":"a","labels":{"k":"v","k":"w"}}`, "argument `labels.k` is given twice"},
		// Types.
		{`[1]`, "arguments must be an object, got an array"},
		{`"path"`, "arguments must be an object, got the string \"path\""},
		{`{"path":`, "arguments are not JSON: unexpected end of JSON input"},
		{`{"path":7}`, "argument `path` must be a string, got 7"},
		{`{"path":["a"]}`, "argument `path` must be a string, got an array"},
		{`{"path":"a","offset":10.5}`, "argument `offset` must be an integer, got 10.5"},
		{`{"path":"a","offset":"ten"}`, "argument `offset` must be an integer, got the string \"ten\""},
		{`{"path":"a","offset":""}`, "argument `offset` must be an integer, got the string \"\""},
		{`{"path":"a","offset":"null"}`, "argument `offset` must be an integer, got the string \"null\""},
		{`{"path":"a","offset":"\"10\""}`, "argument `offset` must be an integer, got the string \"\\\"10\\\"\""},
		{`{"path":"a","offset":true}`, "argument `offset` must be an integer, got true"},
		{`{"path":"a","dryRun":1}`, "argument `dryRun` must be true or false, got 1"},
		{`{"path":"a","dryRun":"yes"}`, "argument `dryRun` must be true or false, got the string \"yes\""},
		{`{"path":"a","ratio":[]}`, "argument `ratio` must be a number, got an array"},
		{`{"path":"a","paths":"x.go"}`, "argument `paths` must be an array, got the string \"x.go\""},
		{`{"path":"a","paths":{}}`, "argument `paths` must be an array, got an object"},
		{`{"path":"a","paths":["x",null]}`, "argument `paths[1]` must be a string, got null"},
		{`{"path":"a","labels":[]}`, "argument `labels` must be an object, got an array"},
		{`{"path":"a","base64":"!"}`, "argument `base64` is not base64: illegal base64 data at input byte 0"},
		{`{"path":"a","base64":1}`, "argument `base64` must be a string of base64, got 1"},
		{`{"path":"a","at":"HEAD"}`, "argument `at`: \"HEAD\" is not an object id of 40 hexadecimal digits"},
		// Values.
		{`{"path":"a","offset":0}`, "argument `offset` must be at least 1, got 0"},
		{`{"path":"a","limit":"500"}`, "argument `limit` must be from 1 to 200, got 500"},
		{`{"path":"a","ratio":1.6}`, "argument `ratio` must be at most 1.5, got 1.6"},
		{`{"path":"a","small":200}`, "argument `small` is out of range: 200"},
		{`{"path":"a","seq":-1}`, "argument `seq` is out of range: -1"},
		{`{"path":"a","seq":1e300}`, "argument `seq` is out of range: 1e300"},
		{`{"path":"a","seq":1e999}`, "argument `seq` is out of range: 1e999"},
		{`{"path":"a","mode":"file"}`, "argument `mode` must be one of content, files, count, got \"file\" (did you mean `files`?)"},
		// Text.
		{`{"path":"a\ud800b"}`, "argument `path` has the lone surrogate \\ud800, which UTF-8 cannot hold"},
		{`{"path":"\udc00"}`, "argument `path` has the lone surrogate \\udc00, which UTF-8 cannot hold"},
		{`{"path":"\ud83d\ud83d\ude00"}`, "argument `path` has the lone surrogate \\ud83d, which UTF-8 cannot hold"},
		{"{\"path\":\"caf\xe9\"}", "argument `path` has bytes that are not UTF-8"},
		{`{"path":"a","\ud800":1}`, "a name in arguments has the lone surrogate \\ud800, which UTF-8 cannot hold"},
		// Size.
		{`{"path":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`, "arguments are not JSON: invalid character '[' exceeded max depth"},
		{`{"path":"a","` + long + `":1}`, "unknown argument `" + long[:80] + "…`; takes " + everythingTakes},
		{`{"path":"a","mode":"` + long + `"}`, "argument `mode` must be one of content, files, count, got \"" + long[:80] + "…\""},
	} {
		var in everything
		err := Decode(json.RawMessage(test.raw), &in)
		if err == nil || err.Error() != test.want || !errors.Is(err, workspace.Invalid) {
			t.Errorf("%.80s:\n got %v\nwant %s", test.raw, err, test.want)
		}
	}
}

func TestDecodeKeepsText(t *testing.T) {
	for raw, want := range map[string]string{
		`""`:                            "",
		`"a\r\nb\tc\u0000\\\""`:         "a\r\nb\tc\x00\\\"",
		`"\ud83d\ude00 \u00e9 e\u0301"`: "😀 é e\u0301",
		`"\\ud800 \\\\u"`:               `\ud800 \\u`,
		`"\ufeff\ufffd"`:                "\ufeff\ufffd",
		`"[1, 2]"`:                      "[1, 2]",
		`"null"`:                        "null",
	} {
		var in everything
		if err := Decode(json.RawMessage(`{ "path" : `+raw+` , "labels" : { "x" : `+raw+"}\n}"), &in); err != nil {
			t.Errorf("%s: %v", raw, err)
		} else if in.Path != want || in.Labels["x"] != want {
			t.Errorf("%s: got %q and %q, want %q", raw, in.Path, in.Labels["x"], want)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"path", "oldString", "newString", "replaceAll", "edits", "ifVersion", "dryRun"}
	for name, want := range map[string]string{
		"replace_all": "replaceAll", "replace-all": "replaceAll", "ReplaceAll": "replaceAll", "replaceall": "replaceAll",
		"dry_run": "dryRun", "dry.run": "dryRun", "file_path": "path", "filepath": "path", "pth": "path", "paht": "path",
		"old_str": "oldString", "old_string": "oldString", "oldStrng": "oldString", "new_str": "newString", "edit": "edits",
		"if_version": "ifVersion", "version": "ifVersion",
		"": "", "x": "", "recursive": "", "content": "", "___": "", strings.Repeat("path", 1000): "",
	} {
		if got := Nearest(name, known); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestDigest(t *testing.T) {
	digest := func(raw string, except ...string) string {
		t.Helper()
		var in everything
		if err := Decode(json.RawMessage(raw), &in); err != nil {
			t.Fatal(err)
		}
		return Digest(&in, except...)
	}
	// The digests are stored: what they are of never changes.
	for raw, canonical := range map[string]string{
		`{"path":"a"}`: `{"path":"a"}`,
		`{"seq":0,"path":"a","limit":5.0,"dryRun":true,"edits":[{"oldString":"<a>","newString":""},{"oldString":"b"}]}`: `{"dryRun":true,"edits":[{"oldString":"<a>"},{"oldString":"b"}],"limit":5,"path":"a","seq":0}`,
		`{"path":"a","mounts":{"/n":null,"/m":{"branch":null},"/l":{"branch":""}}}`:                                     `{"mounts":{"/l":{"branch":""},"/m":{"branch":null},"/n":null},"path":"a"}`,
		`{"path":"\"\\/\b\u2028é\u007f\n"}`:                                                              "{\"path\":\"\\\"\\\\/\\u0008\u2028é\u007f\\u000a\"}",
		`{"path":"a","ratio":1e-7,"small":-1,"seq":9007199254740993,"base64":"AP8="}`:                    `{"base64":"AP8=","path":"a","ratio":1e-07,"seq":9007199254740993,"small":-1}`,
		`{"path":"a","since":"2026-11-01T00:00:00.50Z","at":"ab00000000000000000000000000000000000000"}`: `{"at":"ab00000000000000000000000000000000000000","path":"a","since":"2026-11-01T00:00:00.5Z"}`,
		`{"path":"a","raw":{"r":[10.0,1e2,0.50,123456789012345678901,true,null,{},[]]}}`:                 `{"path":"a","raw":{"r":[10,100,0.5,123456789012345678901,true,null,{},[]]}}`,
	} {
		sum := sha256.Sum256([]byte(canonical))
		if got, want := digest(raw), hex.EncodeToString(sum[:]); got != want {
			t.Errorf("%s: got %s, want %s, that of %s", raw, got, want, canonical)
		}
	}
	for _, same := range [][]string{
		{`{"path":"a"}`, ` { "path" : "\u0061", "mode": null, "dryRun": false, "edits": [] } `, `"{\"path\":\"a\"}"`},
		{`{"path":"a","offset":10,"limit":5}`, `{"limit":"5","offset":10.0,"path":"a"}`},
		{`{"path":"a","raw":{"r":{"x":1,"y":[1e1]}}}`, `{"path":"a","raw":{"r":{ "y":[10.0], "x":1 }}}`},
		{`{"path":"a","changes":[{"n":1,"op":"mv"}]}`, `{"path":"a","changes":[{"op":"mv","n":1.0}]}`},
	} {
		for _, other := range same[1:] {
			if got, want := digest(other), digest(same[0]); got != want {
				t.Errorf("%s has another digest than %s", other, same[0])
			}
		}
	}
	seen := map[string]string{}
	for _, raw := range []string{
		`{"path":"a"}`, `{"path":"b"}`, `{"path":"a","limit":1}`, `{"path":"a","seq":0}`, `{"path":"a","paths":["a"]}`, `{"path":"a","paths":["a",""]}`,
		`{"path":"a","mounts":{"/m":null}}`, `{"path":"a","mounts":{"/m":{}}}`, `{"path":"a","mounts":{"/m":{"branch":null}}}`,
		`{"path":"a","mounts":{"/m":{"branch":""}}}`, `{"path":"a","raw":{"r":1}}`, `{"path":"a","raw":{"r":"1"}}`, `{"path":"a","base64":"AP8="}`,
	} {
		d := digest(raw)
		if other, ok := seen[d]; ok {
			t.Errorf("%s and %s have one digest", raw, other)
		}
		seen[d] = raw
	}
	if got, want := digest(`{"path":"a","offset":3}`, "path"), digest(`{"path":"b","offset":3}`, "path"); got != want {
		t.Error("an excepted property counts")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"path":"a","offset":"10","edits":"[{\"oldString\":\"a\"}]","mounts":{"/m":{"branch":null}}}`))
	f.Add([]byte(`{"path":"\ud83d\ude00\\\"","labels":{"k":"v"},"changes":[{"n":[1,{"x":null}]}]}`))
	f.Add([]byte(`{"path":"\ud83d","small":1e2,"seq":18446744073709551615,"ratio":-0.0}`))
	f.Add([]byte("{\"path\":\"\xff\",\"base64\":\"AA==\"}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var in everything
		if err := Decode(raw, &in); err != nil {
			if !errors.Is(err, workspace.Invalid) || len(err.Error()) > 4096 {
				t.Fatalf("%d bytes of %v", len(err.Error()), err)
			}
			return
		}
		// The standard decoder agrees on whatever both take.
		var std everything
		if json.Unmarshal(raw, &std) == nil && in.Mounts == nil && Digest(&in) != Digest(&std) {
			t.Errorf("got %+v, encoding/json %+v", in, std)
		}
		// Another spelling of the same request gives the same request.
		in.Mounts = nil // encoding/json cannot spell a Clearable
		again, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var second everything
		if err := Decode(again, &second); err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		if Digest(&in) != Digest(&second) {
			t.Errorf("%s became %s", raw, again)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	raw := json.RawMessage(`{"path":"/repos/app/main.go","offset":10,"limit":200,"dryRun":true}`)
	b.ReportAllocs()
	for b.Loop() {
		var in everything
		if err := Decode(raw, &in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeLargeText(b *testing.B) {
	raw := json.RawMessage(`{"path":"` + strings.Repeat(`a line of text\n`, 1<<20) + `"}`)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		var in everything
		if err := Decode(raw, &in); err != nil {
			b.Fatal(err)
		}
	}
}
