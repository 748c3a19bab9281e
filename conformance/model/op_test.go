package model

import (
	"fmt"
	"strings"
)

// op is one step of a history. It names all that it does, so that a history can be
// played again with other steps left out.
type op struct {
	kind string

	// What is asked of a workspace, by which session, on which host.
	space   string
	host    int
	session string

	path, to string
	text     string // content, a link's target, a commit's message
	exec     string // "", "yes" or "no"
	version  string // ifVersion: "" for any, "none", "current", or an id
	asked    string // the version that this comes to, once the step is played
	flag     bool   // recursive, overwrite, discard, allowEmptyTree
	force    bool
	paths    []string
	steps    []op
	mounts   map[string]patch
	fault    string // where a commit's process dies
	count    int    // how often

	// What happens beside it.
	repo, branch, policy string
	edits                []edit
}

// edit is one path of a commit made beside Carrel; nothing removes it.
type edit struct {
	path string
	node node
}

func (o op) String() string {
	var b strings.Builder
	if o.space != "" {
		fmt.Fprintf(&b, "%s (host %d, session %q): ", o.space, o.host, o.session)
	} else if o.kind == "restart" {
		fmt.Fprintf(&b, "host %d: ", o.host)
	}
	b.WriteString(o.kind)
	for _, part := range []struct{ name, value string }{
		{"", o.path}, {"to", o.to}, {"repo", o.repo}, {"branch", o.branch}, {"policy", o.policy},
		{"exec", o.exec}, {"ifVersion", o.version}, {"dies", o.fault},
	} {
		if part.value != "" {
			fmt.Fprintf(&b, " %s", strings.TrimSpace(part.name+" "+part.value))
		}
	}
	switch o.kind {
	case "write", "edit", "symlink", "commit":
		fmt.Fprintf(&b, " %q", o.text)
	}
	if o.flag {
		fmt.Fprintf(&b, " %s", map[string]string{
			"delete": "recursive", "copy": "overwrite", "move": "overwrite", "commit": "allowEmptyTree", "end": "discard",
		}[o.kind])
	}
	if o.count > 0 {
		fmt.Fprintf(&b, " %d times", o.count)
	}
	if o.force {
		b.WriteString(" force")
	}
	if o.paths != nil {
		fmt.Fprintf(&b, " paths %v", o.paths)
	}
	for _, p := range sorted(o.mounts) {
		fmt.Fprintf(&b, " %s=%v", p, map[string]string(o.mounts[p]))
	}
	for _, e := range o.edits {
		fmt.Fprintf(&b, " %s=%v", e.path, e.node)
	}
	for _, s := range o.steps {
		s.space = ""
		fmt.Fprintf(&b, "\n        | %v", s)
	}
	return b.String()
}
