package tools

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"carrel.dev/tools/args"
	"carrel.dev/workspace"
)

// target is a path that a caller named, with the snapshot that it is judged on.
type target struct {
	ws       *workspace.Workspace
	snap     *workspace.Snapshot // nil if nothing was looked at yet
	spelling string
	path     workspace.Path
}

// aim resolves a caller's spelling on the workspace as it is now, or at one of
// its pasts.
func aim(ctx context.Context, w *workspace.Workspace, spelling, at string) (target, error) {
	p, err := workspace.ParsePath(spelling)
	if err != nil {
		return target{}, err
	}
	s, err := w.Snapshot(ctx)
	if err == nil {
		s, err = past(s, at)
	}
	return target{w, s, spelling, p}, err
}

// aimBlind is aim for who writes without looking: a snapshot is taken when there
// is an error to explain.
func aimBlind(w *workspace.Workspace, spelling string) (target, error) {
	p, err := workspace.ParsePath(spelling)
	return target{ws: w, spelling: spelling, path: p}, err
}

// past returns the snapshot that an "at" argument names.
func past(s *workspace.Snapshot, at string) (*workspace.Snapshot, error) {
	switch at {
	case "":
		return s, nil
	case "base":
		return s.AtBase(), nil
	}
	return nil, workspace.Errorf(workspace.Invalid, "at %q is not known", at).
		Hinted("Pass \"base\" for what is committed, or leave it out for what is here now.")
}

// lookup finds what is there; if that is nothing, the hint says what may have
// been meant.
func (t target) lookup(ctx context.Context) (workspace.Found, error) {
	f, err := t.snap.Lookup(ctx, t.path)
	if errors.Is(err, workspace.NotExist) {
		if above := t.snap.CheckAbove(ctx, t.path); above != nil {
			err = above
		}
	}
	return f, t.explain(ctx, err)
}

// absentNote says what a path that is nowhere may have been meant for, "" for one
// that is there, or is committed.
func (t target) absentNote(ctx context.Context) string {
	for _, s := range []*workspace.Snapshot{t.snap, t.snap.AtBase()} {
		if _, err := s.Lookup(ctx, t.path); err == nil {
			return ""
		}
	}
	_, err := t.lookup(ctx)
	return lines(fmt.Sprintf("Nothing is at %s.", shown(t.path.String())), workspace.HintOf(err))
}

// explain adds what a caller may have meant to the error of a path that is not
// there or cannot be written.
func (t target) explain(ctx context.Context, err error) error {
	k := workspace.KindOf(err)
	var e *workspace.Error
	if k != workspace.NotExist && k != workspace.Permission || !errors.As(err, &e) {
		return err
	}
	if t.snap == nil {
		s, snapErr := t.ws.Snapshot(ctx)
		if snapErr != nil {
			return err
		}
		t.snap = s
	}
	hint := t.onDisk()
	if hint == "" && k == workspace.NotExist {
		hint = t.inOneMount(ctx)
	}
	if hint == "" && k == workspace.NotExist {
		hint = t.nearest(ctx)
	}
	if hint == "" {
		return err
	}
	better := *e
	better.Hint = strings.TrimSpace(hint + " " + e.Hint)
	return &better
}

// onDisk recognises a path of the machine inside a repository that is served.
func (t target) onDisk() string {
	for _, m := range t.snap.Table.Mounts {
		top := m.Source.Location
		if m.Source.Managed || top == "" {
			continue
		}
		if disk := workspace.Path(path.Clean(top)); disk.Contains(t.path) {
			return fmt.Sprintf("Did you mean %s? Paths name the workspace, not the machine's disk.", shown(m.Point.Join(t.path.Rel(disk)).String()))
		}
	}
	return ""
}

// inOneMount looks for a relative path in the mounts, with the name of one before
// it or without.
func (t target) inOneMount(ctx context.Context) string {
	if strings.HasPrefix(t.spelling, "/") || !t.path.Below(workspace.Scratch) {
		return ""
	}
	rel := t.path.Rel(workspace.Scratch)
	candidates := []workspace.Path{workspace.Root.Join(rel), workspace.Path("/repos").Join(rel)}
	for _, m := range t.snap.Table.Mounts {
		candidates = append(candidates, m.Point.Join(rel))
	}
	var found []workspace.Path
	for _, p := range candidates {
		if _, err := t.snap.Lookup(ctx, p); err == nil && !slices.Contains(found, p) {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		return ""
	}
	return fmt.Sprintf("Did you mean %s? Relative paths are below %s.", shown(string(found[0])), workspace.Scratch)
}

// nearest names what the directory has that is spelled nearly so.
func (t target) nearest(ctx context.Context) string {
	dir, wrong := t.path.Dir(), t.path.Base()
	for {
		f, err := t.snap.Lookup(ctx, dir)
		if err == nil && f.Kind == workspace.Dir {
			break
		}
		if dir == workspace.Root {
			return ""
		}
		dir, wrong = dir.Dir(), dir.Base()
	}
	children, err := t.snap.ReadDir(ctx, dir)
	if err != nil {
		return ""
	}
	var names []string
	for _, c := range children {
		names = append(names, c.Path.Base())
	}
	if name := args.Nearest(wrong, names); name != "" {
		return fmt.Sprintf("Did you mean %s?", shown(dir.Join(name).String()))
	}
	if len(names) == 0 {
		return fmt.Sprintf("%s is empty.", shown(dir.String()))
	}
	const most = 10
	more := ""
	if len(names) > most {
		names, more = names[:most], ", …"
	}
	return fmt.Sprintf("%s has %s%s.", shown(dir.String()), strings.Join(shownAll(names), ", "), more)
}

// scratchNote tells that a relative path went to scratch although it looks like
// one of a repo.
func scratchNote(ctx context.Context, w *workspace.Workspace, spelling string, p workspace.Path) string {
	if strings.HasPrefix(spelling, "/") || !workspace.Scratch.Contains(p) {
		return ""
	}
	s, err := w.Snapshot(ctx)
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(p.Rel(workspace.Scratch), "/")
	for _, m := range s.Table.Mounts {
		if _, err := s.Lookup(ctx, m.Point.Join(first)); err == nil {
			return fmt.Sprintf("This is in private scratch, never committed. For the repo, write %s.", shown(m.Point.Join(p.Rel(workspace.Scratch)).String()))
		}
	}
	return ""
}

// lines joins what is not empty.
func lines(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "\n")
}

// notes is a list of notes without the empty ones.
func notes(parts ...string) []string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return kept
}

// plural counts things: "1 file", "2 files".
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
