package conformance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// repo NAME [checkout] [unregistered] makes a repository of the script's files
// below NAME/, with one commit on main, and registers it.
func (t *thread) repo(ctx context.Context, c command) error {
	args, err := fields(c.rest)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return fmt.Errorf("needs a name")
	}
	name, flags := args[0], args[1:]
	for _, f := range flags {
		if f != "checkout" && f != "unregistered" {
			return fmt.Errorf("unknown flag %q", f)
		}
	}
	var edits []Edit
	for _, file := range slices.Sorted(maps.Keys(t.play.script.Files)) {
		if path, ok := strings.CutPrefix(file, name+"/"); ok {
			edits = append(edits, Edit{Path: path, Mode: "100644", Content: t.play.script.Files[file]})
		}
	}
	if err := t.play.repos.Create(ctx, name, slices.Contains(flags, "checkout"), edits); err != nil {
		return err
	}
	if slices.Contains(flags, "unregistered") {
		return nil
	}
	s, err := t.play.running(ctx)
	if err != nil {
		return err
	}
	return s.AddRepo(ctx, name, t.play.repos.Path(name))
}

// commit REPO[#BRANCH] PATH="text" PATH*="script" PATH@="target" -PATH … makes a
// commit with git, beside Carrel: files, executables, symlinks, removals.
func (t *thread) commit(ctx context.Context, c command) error {
	args, err := fields(c.rest)
	if err != nil {
		return err
	}
	if len(args) < 2 {
		return fmt.Errorf("needs a repo and what to change")
	}
	name, branch, ok := strings.Cut(args[0], "#")
	if !ok {
		branch = "main"
	}
	var edits []Edit
	for _, a := range args[1:] {
		e, err := t.play.script.edit(a)
		if err != nil {
			return err
		}
		edits = append(edits, e)
	}
	return t.play.repos.Commit(ctx, name, branch, "outside", edits)
}

func (s *Script) edit(spelled string) (Edit, error) {
	if path, ok := strings.CutPrefix(spelled, "-"); ok {
		return Edit{Path: path}, nil
	}
	path, content, ok := strings.Cut(spelled, "=")
	if !ok {
		return Edit{}, fmt.Errorf("%q is neither -PATH nor PATH=…", spelled)
	}
	e := Edit{Path: path, Mode: "100644", Content: []byte(content)}
	if name, ok := strings.CutPrefix(content, "@"); ok && s.Files[name] != nil {
		e.Content = s.Files[name]
	}
	switch {
	case strings.HasSuffix(path, "*"):
		e.Path, e.Mode = strings.TrimSuffix(path, "*"), "100755"
	case strings.HasSuffix(path, "@"):
		e.Path, e.Mode = strings.TrimSuffix(path, "@"), "120000"
	}
	return e, nil
}

// git REPO ARGS… runs git. What it prints is the text, a failure has the code
// "exit".
func (t *thread) git(ctx context.Context, c command) error {
	args, err := fields(c.rest)
	if err != nil {
		return err
	}
	if len(args) < 2 {
		return fmt.Errorf("needs a repo and a command")
	}
	out, err := t.play.repos.Git(ctx, args[0], args[1:]...)
	t.last = outcome{from: c, text: string(out)}
	if err != nil {
		t.last = outcome{from: c, text: err.Error(), failed: true, code: "exit"}
	}
	return ctx.Err()
}

// plant REPO FILE VALUE puts an executable file into the repository's directory.
func (t *thread) plant(_ context.Context, c command) error {
	name, rest, _ := strings.Cut(c.rest, " ")
	file, spelled, _ := strings.Cut(strings.TrimSpace(rest), " ")
	v, err := t.play.script.textValue(strings.TrimSpace(spelled))
	if err != nil {
		return err
	}
	return t.play.repos.Plant(name, file, []byte(v), 0o755)
}

// unplant REPO FILE removes it, and fails if somebody else did.
func (t *thread) unplant(_ context.Context, c command) error {
	name, file, _ := strings.Cut(c.rest, " ")
	return t.play.repos.Unplant(name, file)
}
