package server

import (
	"regexp"
	"strings"
	"testing"

	"carrel.dev/tools"
)

func TestSay(t *testing.T) {
	d := New(&Config{})
	core, all := d.Open(&SessionConfig{}), d.Open(&SessionConfig{Tools: All})
	tests := []struct {
		name     string
		session  *Session
		spelling Spelling
		text     string
		want     string
	}{
		{"spelled", core, Underscore, "Look with `git.diff`. Then `revert` it.", "Look with `git_diff`. Then `revert` it."},
		{"dotted", core, Dotted, "Look with `git.diff`.", "Look with `git.diff`."},
		{"outside of the set", core, Dotted, "It is a directory. Ask `stat` for more. List it with `readDir`.", "It is a directory. List it with `readDir`."},
		{"in the set", all, Dotted, "Ask `stat` for more.", "Ask `stat` for more."},
		{"of a later version", all, Dotted, "Take it back with `undo`. Or run `git.sync`.", ""},
		{"a command is no tool", core, Underscore, "Create it with `carrel repo create`.", "Create it with `carrel repo create`."},
		{"only in backquotes", core, Underscore, "The file git.diff is there.", "The file git.diff is there."},
		{"versions are no sentences", core, Dotted, "Version 1.2 has `stat`, 1.3 too! Yes?", "Yes?"},
		{"lines", core, Dotted, "One `stat`\nTwo `edit`", "Two `edit`"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.session.Say(tt.text, tt.spelling); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Hosts take names of letters, digits and underscores, and show the description
// of a tool to a model that has no other tools than those listed.
func TestListingIsFitForStrictHosts(t *testing.T) {
	valid := regexp.MustCompile(`^[a-zA-Z0-9_]{1,40}$`)
	for _, cfg := range []SessionConfig{{}, {Tools: All}, {Workspace: "/agents/a"}, {Workspace: "/agents/a", Tools: All}} {
		s := New(&Config{}).Open(&cfg)
		for _, l := range s.Tools(Underscore) {
			if !valid.MatchString(l.Name) {
				t.Errorf("the name %q is not taken everywhere", l.Name)
			}
			if l.Description == "" || strings.Contains(l.Description, "`git.") {
				t.Errorf("%s is described as %q", l.Name, l.Description)
			}
			for _, w := range word.FindAllString(l.Description, -1) {
				if _, ok := s.Tool(strings.Trim(w, "`")); !ok {
					t.Errorf("the description of %s names %s, which is not listed", l.Name, w)
				}
			}
		}
	}
}

func TestListingKeepsTheOrder(t *testing.T) {
	d := New(&Config{})
	var want []string
	for _, tool := range tools.All() {
		want = append(want, tool.Name)
	}
	var got []string
	for _, l := range d.Open(&SessionConfig{Tools: All}).Tools(Dotted) {
		got = append(got, l.Name)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestToolSets(t *testing.T) {
	d := New(&Config{})
	tests := []struct {
		name, tool string
		cfg        SessionConfig
		want       bool
	}{
		{"core has edit", "edit", SessionConfig{}, true},
		{"either spelling", "git_status", SessionConfig{}, true},
		{"either spelling", "git.status", SessionConfig{}, true},
		{"core lacks stat", "stat", SessionConfig{}, false},
		{"all has stat", "stat", SessionConfig{Tools: All}, true},
		{"an unknown set is core", "stat", SessionConfig{Tools: "most"}, false},
		{"unbound opens", "workspace.open", SessionConfig{}, true},
		{"bound creates its own", "workspace_create", SessionConfig{Workspace: "/agents/a"}, true},
		{"bound opens nothing", "workspace.open", SessionConfig{Workspace: "/agents/a", Tools: All}, false},
		{"bound lists nothing", "workspace_list", SessionConfig{Workspace: "/agents/a", Tools: All}, false},
		{"exact", "Edit", SessionConfig{}, false},
		{"nothing", "", SessionConfig{}, false},
	}
	for _, tt := range tests {
		if _, got := d.Open(&tt.cfg).Tool(tt.tool); got != tt.want {
			t.Errorf("%s: Tool(%q) = %v, want %v", tt.name, tt.tool, got, tt.want)
		}
	}
}

func TestSuggest(t *testing.T) {
	s := New(&Config{}).Open(&SessionConfig{})
	tests := []struct {
		name     string
		spelling Spelling
		want     string
	}{
		{"git.stauts", Dotted, "git.stauts (did you mean git.status?)"},
		{"gitStatus", Underscore, "gitStatus (did you mean git_status?)"},
		{"zzz", Dotted, "zzz"},
		{"workspace.delete", Dotted, "workspace.delete (not offered here)"},
		{"a\x00\nb", Dotted, "ab"},
		{strings.Repeat("z", 1000), Dotted, strings.Repeat("z", maxQuoted) + "…"},
	}
	for _, tt := range tests {
		if got := s.Suggest(tt.name, tt.spelling); got != tt.want {
			t.Errorf("Suggest(%.20q) = %q, want %q", tt.name, got, tt.want)
		}
	}
}
