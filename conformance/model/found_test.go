package model

import (
	"context"
	"testing"

	"carrel.dev/workspace"
)

// TestFound plays, with every check after every step, histories in which a
// difference was found once.
func TestFound(t *testing.T) {
	file := func(text string) node { return node{workspace.ModeFile, text} }
	seed := op{kind: "repo", repo: "/repos/a", policy: "commit-to-main", edits: []edit{
		{"b", file("1\n")}, {"c", file("1\n")}, {"d/a", file("1\n")}, {"e/d/a", file("1\n")}, {"e/d/b", file("1\n")},
	}}
	do := func(kind, path, text string) op {
		return op{kind: kind, space: "/agents/w", session: "s", path: path, text: text, flag: true}
	}
	for name, history := range map[string][]op{
		"a made directory, committed, below one that is deleted": {
			do("mkdir", "/repos/a/n/m", ""), do("write", "/repos/a/n/m/x", "2\n"), do("commit", "/repos/a", "work"),
			do("delete", "/repos/a/n", ""), do("commit", "/repos/a", "work"),
		},
		"a made directory in the place of a file": {
			do("delete", "/repos/a/b", ""), do("mkdir", "/repos/a/b/a", ""), do("write", "/repos/a/b/a/x", "2\n"),
			do("commit", "/repos/a", "work"), do("write", "/repos/a/c", "3\n"), do("commit", "/repos/a", "work"),
		},
		"an ignored file in the place of a directory": {
			do("write", "/repos/a/.gitignore", "*.log\n"), do("write", "/repos/a/n/x.log/y", "1\n"),
			{kind: "commit", space: "/agents/w", path: "/repos/a", text: "work", paths: []string{"/repos/a/n", "/repos/a/.gitignore"}, force: true},
			do("delete", "/repos/a/n/x.log", ""), do("write", "/repos/a/n/x.log", "1\n"), do("commit", "/repos/a", "work"),
		},
		"a batch that writes below its own link": {
			{kind: "batch", space: "/agents/w", steps: []op{do("symlink", "/repos/a/b", "elsewhere"), do("write", "/repos/a/b/x", "1\n")}},
		},
		"a directory that is deleted, made again and committed in part": {
			do("delete", "/repos/a/d", ""), do("write", "/repos/a/d/b", "1\n"), do("write", "/repos/a/d/a", "2\n"),
			{kind: "commit", space: "/agents/w", path: "/repos/a", text: "work", paths: []string{"/repos/a/d/b"}}, do("commit", "/repos/a", "work"),
		},
		"a file that is read while it is deleted, and comes back": {
			do("delete", "/repos/a/b", ""), do("serve", "/repos/a/b", ""), do("revert", "/repos/a/b", ""),
			do("write", "/repos/a/b", "2\n"), do("commit", "/repos/a", "work"),
		},
		"a commit of a part below a directory that was deleted and has nothing left to commit": {
			{kind: "configure", space: "/agents/w", mounts: map[string]patch{"/repos/a": {workspace.FieldPolicy: "branch"}}},
			do("delete", "/repos/a/e", ""), do("write", "/repos/a/e/d", "2\n"),
			{kind: "commit", space: "/agents/w", path: "/repos/a", text: "work", paths: []string{"/repos/a/e/d/a"}},
			{kind: "configure", space: "/agents/w", mounts: map[string]patch{"/repos/a": nil}},
		},
		"a directory that took the place of one with another file on the branch by now, deleted": {
			do("delete", "/repos/a/d", ""), do("commit", "/repos/a", "work"), do("mkdir", "/repos/a/d", ""),
			{kind: "outside", repo: "/repos/a", branch: "main", edits: []edit{{"d", file("2\n")}}},
			do("mkdir", "/workspace/a/b", ""),
			{kind: "move", space: "/agents/w", session: "t", path: "/workspace/a", to: "/repos/a/d", flag: true},
			do("delete", "/repos/a/d", ""),
		},
		"what a session without a name was served is not what the first one was": {
			do("write", "/repos/a/n", "2\n"),
			{kind: "write", space: "/agents/w", path: "/repos/a/b", text: "2\n"}, do("commit", "/repos/a", "work"),
			{kind: "outside", repo: "/repos/a", branch: "main", edits: []edit{{"b", nothing}}},
			{kind: "delete", space: "/agents/w", session: "t", path: "/repos/a/b"}, do("write", "/repos/a/b", "3\n"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			history = append([]op{seed, {kind: "create", space: "/agents/w"}}, history...)
			err := play(t.Context(), 1, func(ctx context.Context, w *world) error {
				w.check = all
				for i, o := range history {
					if err := w.step(ctx, o); err != nil {
						t.Fatalf("step %d, %v: %v", i+1, o, err)
					}
				}
				return w.finally()
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
