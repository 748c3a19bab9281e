package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
)

// fake is a target that answers from a table, to judge the engine itself.
type fake struct {
	answers map[string]Result
	calls   atomic.Int64
	starts  atomic.Int64
}

func (f *fake) Name() string { return "fake" }
func (f *fake) Start(context.Context, string) (Server, error) {
	f.starts.Add(1)
	return fakeServer{f}, nil
}

type fakeServer struct{ *fake }

func (fakeServer) AddRepo(context.Context, string, string) error { return nil }
func (s fakeServer) Session(context.Context, SessionOptions) (Session, error) {
	return fakeSession(s), nil
}
func (fakeServer) Records(context.Context, string) (json.RawMessage, error) {
	return json.RawMessage(`[{"seq":1,"type":"a"},{"seq":2,"type":"b"}]`), nil
}
func (fakeServer) Close() error { return nil }

type fakeSession struct{ *fake }

func (fakeSession) Tools(context.Context) ([]Tool, error) { return []Tool{{Name: "say"}}, nil }
func (s fakeSession) Call(_ context.Context, c Call) (Result, error) {
	s.calls.Add(1)
	r, ok := s.answers[c.Tool]
	if !ok {
		return Result{}, errors.New("no such tool")
	}
	return r, nil
}
func (fakeSession) Close() error { return nil }

func success(text, facts string) Result {
	return Result{Blocks: []Block{{Type: "text", Text: text}}, Structured: json.RawMessage(facts)}
}

func refusal(text, code string) Result {
	return Result{Blocks: []Block{{Type: "text", Text: text}}, IsError: true, Meta: map[string]json.RawMessage{metaCode: json.RawMessage(code)}}
}

func play1(t *testing.T, commands string) error {
	t.Helper()
	s, err := Parse("test.txtar", []byte(commands))
	if err != nil {
		return err
	}
	dir := t.TempDir()
	both := success("x", `{"workspace":"/agents/a"}`)
	both.Meta = map[string]json.RawMessage{metaFacts: json.RawMessage(`{}`)}
	carrying := refusal("no", `"conflict"`)
	carrying.Structured = json.RawMessage(`{}`)
	f := &fake{answers: map[string]Result{
		"say":        success("a\r\nb", `{"workspace":"/agents/a","n":2,"list":[{"p":"/x","v":1},{"p":"/y"}]}`),
		"refuse":     refusal("no: not now", `"conflict"`),
		"nameless":   success("x", `{"n":1}`),
		"fieldless":  {Blocks: []Block{{Type: "text", Text: "x"}}},
		"twice":      both,
		"leak":       success("see "+dir+"/data", `{"workspace":"/agents/a"}`),
		"odd":        refusal("no", `"teapot"`),
		"broken":     refusal("no", `"internal"`),
		"mute":       refusal(" ", `"conflict"`),
		"structured": carrying,
	}}
	fixtures := fstest.MapFS{"F.txtar": {Data: []byte("session A\ncall say\nok\n-- shared.txt --\nhello\n")}}
	return Run(t.Context(), Env{Target: f, Dir: dir, Fixtures: fixtures}, s)
}

func TestScriptsThatHold(t *testing.T) {
	scripts := map[string]string{
		"text and fields": "session A\ncall say\ntext == \"a\\r\\nb\"\ntext lacks \"c\"\njson n == 2\njson list[p=/y].p == \"/y\"\n" +
			"json list[*].p == [\"/x\",\"/y\"]\njson list contains {\"p\":\"/x\"}\njson list lacks {\"p\":\"/z\"}\ncount list == 2\njson gone absent\n",
		"expected refusal":   "session A\ncall refuse\nerror conflict\ntext contains \"not now\"\n",
		"variables":          "session A\ncall say\nlet w = json workspace\nlet big = repeat 2 \"l%d\\n\"\ncall say {\"a\":\"${w}${big}\"}\njson workspace == \"${w}\"\n",
		"blocks":             "session A\nparallel 4 {\n  repeat 2 {\n    call say {\"i\":${i}}\n    ok\n  }\n}\n",
		"fixture":            "fixture F\ncall say\nok\n",
		"events":             "events /agents/a b\ncount . == 1\njson [0].seq == 2\n",
		"restart":            "session A\ncall say\nrestart\ncall say\nok\n",
		"quoted file":        "session A\ncall say\ntext == @f\n-- f.quoted --\n\"a\\r\\n\"\n\"b\"\n",
		"git":                "repo r\ncommit r a=\"caf\\xe9\" x*=\"#!\" l@=\"/etc\" -gone.txt\ngit r cat-file blob main:a\ntext == \"caf\\xe9\"\ngit r ls-tree -r --name-only main\ntext == \"a\\nl\\nx\\n\"\ngit r rev-parse nothing\nerror exit\n-- r/gone.txt --\nx\n",
		"blob":               "repo r\ngit r rev-parse main:a\ntext contains blob @r/a\n-- r/a --\nhello\n",
		"planted lock stays": "repo r\nplant r refs/heads/main.lock \"\"\ngit r log\nok\nunplant r refs/heads/main.lock\n-- r/a --\nhello\n",
	}
	for name, s := range scripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := play1(t, s); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestEngineFailsClosed(t *testing.T) {
	scripts := map[string]struct{ script, want string }{
		"unknown word":               {"session A\ncall say\nokay\n", "unknown word"},
		"unknown word in a block":    {"session A\nrepeat 1 {\n  shout\n}\n", "unknown word"},
		"checks nothing":             {"session A\ncall say\n", "checks nothing"},
		"only the fixture checks":    {"fixture F\n", "checks nothing"},
		"no fixture":                 {"fixture G\n", "G.txtar"},
		"unexpected refusal":         {"session A\ncall refuse\nok\n", "unexpected error conflict"},
		"refusal that nobody reads":  {"session A\ncall say\nok\ncall refuse\n", "unexpected error conflict"},
		"refusal before an action":   {"session A\ncall refuse\ncall say\nok\n", "unexpected error conflict"},
		"refusal in a parallel copy": {"session A\ncall say\nok\nparallel 2 {\n  call refuse\n}\n", "unexpected error conflict"},
		"unexpected success":         {"session A\ncall say\nerror conflict\n", "succeeded"},
		"another kind":               {"session A\ncall refuse\nerror invalid\n", "got conflict"},
		"text":                       {"session A\ncall say\ntext == \"a\\nb\"\n", `got "a\r\nb"`},
		"unknown comparison":         {"session A\ncall say\ntext ~ \"a\"\n", "unknown comparison"},
		"field":                      {"session A\ncall say\njson n == 3\n", "got 2"},
		"absent field":               {"session A\ncall say\njson nothing == 3\n", "absent"},
		"absent field is no list":    {"session A\ncall say\njson nothing lacks 3\n", "absent"},
		"count":                      {"session A\ncall say\ncount list == 3\n", "got 2"},
		"count of no list":           {"session A\ncall say\ncount n == 0\n", "no array"},
		"bad arguments":              {"session A\ncall say {\nok\n", "not JSON"},
		"unknown tool":               {"session A\ncall cry\nok\n", "no such tool"},
		"unset variable":             {"session A\ncall say {\"a\":\"${b}\"}\nok\n", "not set"},
		"unknown file":               {"session A\ncall say\ntext == @f\n", "no file f"},
		"unknown session":            {"session A\nas B\ncall say\nok\n", "no such session"},
		"no session":                 {"call say\nok\n", "no session"},
		"expectation before action":  {"ok\n", "nothing was done"},
		"open block":                 {"session A\nrepeat 2 {\ncall say\n", "does not end"},
		"empty repetition":           {"session A\nrepeat 0 {\ncall say\nok\n}\n", "number from 1"},
		"unknown code":               {"session A\ncall odd\nerror teapot\n", "unknown code"},
		"internal error":             {"session A\ncall broken\nerror internal\n", "internal error"},
		"error without text":         {"session A\ncall mute\nerror conflict\n", "without a text"},
		"error with fields":          {"session A\ncall structured\nerror conflict\n", "carries fields"},
		"facts twice":                {"session A\ncall twice\nok\n", "twice"},
		"no facts":                   {"session A\ncall fieldless\nok\n", "no fields"},
		"workspace not named":        {"session A\ncall nameless\nok\n", "does not name its workspace"},
		"host path":                  {"session A\ncall leak\nok\n", "host path"},
		"git fails unseen":           {"repo r\ngit r log --no-such-flag\nsession A\ncall say\nok\n", "unexpected error exit"},
		"damaged repository":         {"repo r\nsession A\ncall say\nok\ncommit r .git/config=\"x\"\n", "git fsck"},
		"stray lock":                 {"repo r\nsession A\ncall say\nok\ngit r symbolic-ref x.lock refs/heads/main\n", "stray lock"},
		"file twice":                 {"session A\ncall say\nok\n-- a --\n-- a.quoted --\n", "twice"},
	}
	for name, c := range scripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := play1(t, c.script)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestLoadFailsClosed(t *testing.T) {
	for name, fsys := range map[string]fstest.MapFS{
		"no script found": {"README.md": {}},
		"which cases":     {"a.txtar": {Data: []byte("# A script.\nsession A\n")}},
	} {
		if _, err := Load(fsys); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("Load of a folder with %q: got %v", name, err)
		}
	}
}

func TestSelectRefusesUnknownTargets(t *testing.T) {
	all := []Target{&fake{}}
	if got, err := Select(all, ""); err != nil || len(got) != 1 {
		t.Errorf("Select of none: got %v, %v, want all", got, err)
	}
	if _, err := Select(all, "fake,carrier-pigeon"); err == nil {
		t.Error("Select took an unknown target")
	}
}

func TestLedgerFailsClosed(t *testing.T) {
	const cases = "# people\nA-1 one\nA-2 two\n"
	for name, c := range map[string]struct {
		cases, baseline string
		covered         map[string][]string
		want            string
	}{
		"uncovered":        {cases, "A-1 later\n", nil, "nothing covers A-2"},
		"unexpected pass":  {cases, "A-1 later\nA-2 later\n", map[string][]string{"s": {"A-2"}}, "stands in the baseline, and s covers it"},
		"no such case":     {cases, "A-1 later\nA-2 later\n", map[string][]string{"s": {"B-1"}}, "which is no case"},
		"baseline unknown": {cases, "A-1 later\nA-2 later\nB-1 later\n", nil, "the baseline has B-1"},
		"no reason":        {cases, "A-1\nA-2 later\n", nil, "without a word"},
		"twice":            {cases + "A-1 one\n", "A-1 later\nA-2 later\n", nil, "twice"},
		"no cases":         {"", "A-1 later\n", nil, "cases is empty"},
	} {
		wrong := CheckLedger(c.cases, c.baseline, c.covered)
		if !strings.Contains(errors.Join(wrong...).Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, wrong, c.want)
		}
	}
	if wrong := CheckLedger(cases, "A-2 later\n", map[string][]string{"s": {"A-1"}}); wrong != nil {
		t.Errorf("a complete ledger: got %v", wrong)
	}
}
