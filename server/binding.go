package server

import (
	"context"
	"slices"
	"strings"
	"sync"

	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// The tools of a project's life cycle, which name their workspace themselves.
const (
	toolCreate = "workspace.create"
	toolOpen   = "workspace.open"
	toolList   = "workspace.list"
	toolDelete = "workspace.delete"
)

// namesOwn reports whether a tool names the workspace that it acts on by its
// argument `path`.
func namesOwn(t *tools.Tool) bool {
	return t.Name == toolCreate || t.Name == toolOpen || t.Name == toolDelete
}

// namesNone reports whether a tool acts on no workspace.
func namesNone(t *tools.Tool) bool { return t.Name == toolList }

// Binds reports whether a call of a tool may change what later calls of the
// session act on, so that they have to wait for it.
func Binds(t *tools.Tool) bool { return t.Name == toolCreate || t.Name == toolOpen }

// binding is the workspace that a session's calls act on unless they name one.
type binding struct {
	fixed     workspace.ID // if set, the only one but for those that grants name
	grants    *workspace.Grants
	stateless bool // nothing is remembered

	mu    sync.Mutex // guards what follows
	bound workspace.ID
	// rivals were created or opened after bound, by somebody who shares the
	// session. While there are any, nothing is bound.
	rivals []workspace.ID
}

// resolve returns the workspace of a call that names one, or "" for none. It is
// "" if the call names none and none is bound.
func (b *binding) resolve(named workspace.ID) (workspace.ID, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.fixed != "" && named != "" && named != b.fixed && !b.reaches(named):
		return "", workspace.Unborn(named)
	case named != "":
		return named, nil
	case b.fixed != "":
		return b.fixed, nil
	case len(b.rivals) > 0:
		return "", ambiguous(append([]workspace.ID{b.bound}, b.rivals...))
	}
	return b.bound, nil
}

// reaches reports whether a workspace beside the fixed one is granted by name: who
// has such a token may use the other one on this connection too.
func (b *binding) reaches(id workspace.ID) bool {
	return b.grants != nil && len(b.grants.Workspaces) > 0 && b.grants.Workspace(id)
}

// limits reports whether the session has one workspace and no other.
func (b *binding) limits() bool {
	if b.fixed == "" || b.grants == nil || len(b.grants.Workspaces) == 0 {
		return b.fixed != ""
	}
	only, ok := b.grants.OnlyWorkspace()
	return ok && only == b.fixed
}

// unbound is the error of a call that names no workspace on a session without
// one. It says how to get there, and which workspaces there are.
func (s *Session) unbound(ctx context.Context) error {
	hint := "Make a workspace with `workspace.create`, or go on in one with `workspace.open`; calls then act there. " +
		"Or pass its path in the argument workspace, for example workspace: \"/agents/demo\"."
	if s.binding.stateless {
		hint = "Pass its path in the argument workspace, for example workspace: \"/agents/demo\". Make one with `workspace.create`."
	}
	catalog, err := s.desk.cfg.Project.Visible(ctx, s.cfg.Grants)
	if err != nil {
		return err
	}
	const most = 5
	var ids []string
	for w := range catalog.List("", "") {
		if len(ids) == most {
			ids = append(ids, "…")
			break
		}
		ids = append(ids, string(w.ID))
	}
	if len(ids) > 0 {
		hint += " There are " + strings.Join(ids, ", ") + "."
	}
	return workspace.Errorf(workspace.Unbound, "no workspace is bound to this session").Hinted("%s", hint)
}

// ambiguous is the error of a call that may mean any of several workspaces.
func ambiguous(ids []workspace.ID) error {
	return workspace.Errorf(workspace.Unbound, "this session has used several workspaces: %s", joinIDs(ids)).
		Hinted("Pass the one that is meant in the argument workspace, with every call. " +
			"If the whole session is to go on in one of them, call `workspace.open` with its path and rebind: true.")
}

// joinIDs lists identities, the newest last; of many only the outer ones.
func joinIDs(ids []workspace.ID) string {
	const most = 5
	var names []string
	for i, id := range ids {
		if i == 1 && len(ids) > most {
			names = append(names, "…")
		}
		if i == 0 || i > len(ids)-most {
			names = append(names, string(id))
		}
	}
	return strings.Join(names, ", ")
}

// took notes that the session created or opened a workspace. It returns what the
// client is to be told, if that bound nothing.
func (b *binding) took(id workspace.ID, rebind bool) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.fixed != "" || b.stateless:
		return ""
	case rebind, b.bound == "":
		b.bound, b.rivals = id, nil
		return ""
	case id != b.bound && !slices.Contains(b.rivals, id):
		b.rivals = append(b.rivals, id)
	}
	if len(b.rivals) == 0 {
		return ""
	}
	return "Several workspaces share this session now: pass workspace: \"" + string(id) + "\" with every call that is meant for this one. " +
		"To move the whole session here, call `workspace.open` with rebind: true."
}

// now returns the workspace that a call acts on which names none, or "".
func (b *binding) now() workspace.ID {
	id, err := b.resolve("")
	if err != nil {
		return ""
	}
	return id
}
