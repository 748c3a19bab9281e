package tools_test

import (
	"errors"
	"strings"
	"testing"

	"carrel.dev/tools"
	"carrel.dev/workspace"
)

func TestURI(t *testing.T) {
	const ws = workspace.ID("/agents/foo")
	tests := []struct {
		uri  tools.URI
		want string
	}{
		{tools.URI{Path: "/repos/app/src/main.go", Workspace: ws, At: "base"}, "carrel:///repos/app/src/main.go?ws=/agents/foo&at=base"},
		{tools.URI{Path: "/repos/app/a%20b"}, "carrel:///repos/app/a%2520b"},
		{tools.URI{Path: "/repos/app/a b"}, "carrel:///repos/app/a%20b"},
		{tools.URI{Path: "/repos/app/what?#;,'&=+@:$"}, "carrel:///repos/app/what%3F%23%3B%2C%27%26%3D%2B@:$"},
		{tools.URI{Path: "/repos/app/\xff\xfe/ü", Workspace: "/agents/ü+&="}, "carrel:///repos/app/%FF%FE/%C3%BC?ws=/agents/%C3%BC%2B%26%3D"},
		{tools.URI{Path: "/repos/app/a\nb\\[x]"}, "carrel:///repos/app/a%0Ab%5C%5Bx%5D"},
		{tools.URI{Path: "/"}, "carrel:///"},
		{tools.URI{Path: tools.StatusPath, Workspace: ws}, "carrel:///.carrel/status?ws=/agents/foo"},
	}
	for _, tt := range tests {
		if got := tt.uri.String(); got != tt.want {
			t.Errorf("%+v is %s, want %s", tt.uri, got, tt.want)
		}
		if got, err := tools.ParseURI(tt.want); err != nil || got != tt.uri {
			t.Errorf("%s is %+v, %v; want %+v", tt.want, got, err, tt.uri)
		}
	}
}

// Clients spell one address in several ways.
func TestSpellingsOfAURI(t *testing.T) {
	want := tools.URI{Path: "/repos/app/ü a.go", Workspace: "/agents/a+b", At: "base"}
	for _, spelling := range []string{
		"carrel:///repos/app/%C3%BC%20a.go?ws=%2Fagents%2Fa%2Bb&at=base",
		"carrel:///repos/app/ü a.go?at=base&ws=/agents/a+b",
		"CARREL:///repos%2Fapp/./x/../%c3%bc%20a.go?ws=/agents/a%2bb&at=base",
		"carrel:////repos/app/%C3%BC%20a.go/?ws=/agents/a+b&at=base",
	} {
		if got, err := tools.ParseURI(spelling); err != nil || got != want {
			t.Errorf("%s is %+v, %v", spelling, got, err)
		}
	}
}

func TestWhatIsNoURI(t *testing.T) {
	for _, spelling := range []string{
		"", "x", "/repos/app", "file:///repos/app", "carrel:repos/app", "carrel://repos/app", "carrel://u@/repos/app",
		"carrel:///a#b", "carrel:///a#", "carrel:///a%zz", "carrel:///a%", "carrel:///a%00b", "carrel:///a?ws=/repos/app", "carrel:///a?ws=%zz",
		"carrel:///a?ws=/agents/a&ws=/agents/b", "carrel:///a?at=base&at=base", "carrel:///a?x=y",
	} {
		if got, err := tools.ParseURI(spelling); !errors.Is(err, workspace.Invalid) {
			t.Errorf("%q is %+v, %v", spelling, got, err)
		}
	}
	if _, err := tools.ParseURI("carrel:///" + strings.Repeat("a", 5000)); !errors.Is(err, workspace.Limit) {
		t.Errorf("a long path: %v", err)
	}
}

func FuzzURI(f *testing.F) {
	f.Add("carrel:///repos/app/a%20b?ws=/agents/foo&at=base")
	f.Add("carrel:///%ff?ws=%2Fagents%2Fa+b")
	f.Fuzz(func(t *testing.T, spelling string) {
		u, err := tools.ParseURI(spelling)
		if err != nil {
			return
		}
		again, err := tools.ParseURI(u.String())
		if err != nil || again != u {
			t.Errorf("%q is %+v, and its spelling %s is %+v, %v", spelling, u, u, again, err)
		}
	})
}
