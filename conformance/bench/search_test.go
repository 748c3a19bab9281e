package bench

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"carrel.dev/tools"
	"carrel.dev/workspace"
)

func searchRows() []row {
	return []row{
		{"glob", "Find files by name", prepareGlob},
		{"grep", "Search the text of all files", prepareGrep},
	}
}

const (
	byGlob    = "Carrel: glob"
	byRgFiles = "rg --files -g"
	byGrep    = "Carrel: grep"
	byRg      = "rg -n"
	byGitGrep = "git grep -n HEAD"
)

// globs are what people ask for: kinds of files, parts of the tree, names, and
// what is not there.
func globs(names []string) []string {
	return []string{
		"**/*.js", "**/*.{json,yml}", "test/built-ins/**", "**/index.js", "harness/core/*.md", "test/language/*/index.js",
		"**/[a-c]*.html", "test/*/*/*.json", "**/*-1[0-9][0-9]-*.js", "test/{annexB,intl402}/**/*.mjs", "**/no-such-file.txt",
		names[len(names)/2],
	}
}

func prepareGlob(s *stage) {
	r := usual().checkedOut(s)
	s.about = fmt.Sprintf("Every hit of twelve patterns among %d files: Carrel gives up to 300 a call, so that a frequent one takes many calls; "+
		"ripgrep walks a checkout whose directories are in memory.", r.spec.files)
	patterns := globs(r.paths(s))
	w := newCarrel(s, r.dir).workspace(s, "searcher")
	s.add(byGlob, func(t *turn) error { return t.ask(patterns, globber(t, w)) })
	s.addRgFiles(r, patterns)
	s.rehearse()
	s.hold(byGlob, byRgFiles, faster(10))
}

// addRgFiles has ripgrep find the files of patterns.
func (s *stage) addRgFiles(r *repo, patterns []string) {
	s.Helper()
	if _, err := exec.LookPath("rg"); err != nil {
		s.lack(byRgFiles, err)
		return
	}
	s.add(byRgFiles, func(t *turn) error {
		return t.ask(patterns, func(pattern string) ([]string, error) {
			return found(t, r.files, "rg", "--files", "--hidden", "--no-ignore", "-g", pattern)
		})
	})
}

// ask asks some questions, one after the other. An answer is lines in any order.
func (t *turn) ask(questions []string, answer func(question string) ([]string, error)) error {
	for _, q := range questions {
		var lines []string
		err := t.time(q, func() (err error) {
			lines, err = answer(q)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
		slices.Sort(lines)
		for _, l := range lines {
			t.saw(q+": "+l, nil)
		}
	}
	return nil
}

// rehearse has every contestant take a turn that does not count. The short size
// counts none.
func (s *stage) rehearse() {
	if !*full {
		return
	}
	for _, c := range s.contestants {
		if c.missing == "" {
			c.warm = func(ctx context.Context) error { return c.turn(newTurn(ctx, 0, 0)) }
		}
	}
}

// globber finds the files of a pattern, with as many calls as it takes.
func globber(ctx context.Context, w *workspace.Workspace) func(string) ([]string, error) {
	return func(pattern string) (all []string, err error) {
		in := tools.GlobIn{Pattern: pattern, Path: top}
		for {
			out, err := tools.Glob(ctx, w, in)
			if err != nil {
				return nil, err
			}
			all = append(all, inRepo(out.Paths)...)
			if in.Cursor = out.NextCursor; in.Cursor == "" {
				return all, nil
			}
		}
	}
}

// inRepo are paths as the repository has them.
func inRepo(paths []string) []string {
	for i, p := range paths {
		paths[i] = strings.TrimPrefix(p, top+"/")
	}
	return paths
}

// found runs a command that ends with 1 if it finds nothing.
func found(ctx context.Context, dir string, args ...string) ([]string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, gitEnv()
	out, err := output(cmd)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return nil, nil
	}
	if len(out) == 0 || err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"), nil
}

// greps are texts that occur, from never to a few thousand times, and regular
// expressions, with and without a text that a match must have.
var greps = []tools.GrepIn{
	{Pattern: "XMLHttpRequest", Literal: true},
	{Pattern: "Test262Error('dibe", Literal: true},
	{Pattern: "if (soxydi !==", Literal: true},
	{Pattern: "description: lube", Literal: true},
	{Pattern: "test262ERROR('LUBE", Literal: true, IgnoreCase: true},
	{Pattern: `throw new Test262Error\('(lube|pefebe|vadibe)'\)`},
	{Pattern: `^function [a-z]+be\(qi[a-z]+`},
	{Pattern: `[a-z]+xy\.[a-z]+be\(99[0-9]\)`},
}

func prepareGrep(s *stage) {
	r := usual().checkedOut(s)
	s.about = fmt.Sprintf("Every hit of eight patterns in the text of %d files: Carrel gives up to 300 a call. Each contestant has searched once before. "+
		"ripgrep reads a warm checkout, git grep what is committed.", r.spec.files)
	w := newCarrel(s, r.dir).workspace(s, "searcher")
	byQuestion := map[string]tools.GrepIn{}
	var questions []string
	for _, g := range greps {
		g.Path = top
		byQuestion[g.Pattern] = g
		questions = append(questions, g.Pattern)
	}
	// flags are those that rg and git grep have in common.
	flags := func(q string) []string {
		var all []string
		if byQuestion[q].Literal {
			all = append(all, "-F")
		}
		if byQuestion[q].IgnoreCase {
			all = append(all, "-i")
		}
		return append(all, "-e", q)
	}
	s.add(byGrep, func(t *turn) error {
		return t.ask(questions, func(q string) ([]string, error) { return grepAll(t, w, byQuestion[q]) })
	})
	if _, err := exec.LookPath("rg"); err != nil {
		s.lack(byRg, err)
	} else {
		s.add(byRg, func(t *turn) error {
			return t.ask(questions, func(q string) ([]string, error) {
				return found(t, r.files, append([]string{"rg", "-n", "--hidden", "--no-ignore", "--no-heading"}, append(flags(q), ".")...)...)
			})
		})
	}
	s.add(byGitGrep, func(t *turn) error {
		return t.ask(questions, func(q string) ([]string, error) {
			lines, err := found(t, r.dir, append([]string{"git", "grep", "-n", "-E"}, append(flags(q), "HEAD")...)...)
			for i, l := range lines {
				lines[i] = "./" + strings.TrimPrefix(l, "HEAD:")
			}
			return lines, err
		})
	})
	s.rehearse()
	s.hold(byGrep, byRg, target{})
	s.hold(byGrep, byGitGrep, target{})
}

// grepAll finds all lines, with as many calls as it takes, and shows them as
// ripgrep does.
func grepAll(ctx context.Context, w *workspace.Workspace, in tools.GrepIn) (all []string, err error) {
	in.Limit = 300
	for {
		out, err := tools.Grep(ctx, w, in)
		if err != nil {
			return nil, err
		}
		for _, m := range out.Matches {
			all = append(all, fmt.Sprintf("./%s:%d:%s", strings.TrimPrefix(m.Path, top+"/"), m.Line, m.Text))
		}
		if in.Cursor = out.NextCursor; in.Cursor == "" {
			return all, nil
		}
	}
}
