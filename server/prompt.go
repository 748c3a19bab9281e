package server

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"carrel.dev/tools/args"
	"carrel.dev/workspace"
)

// Prompt is something to ask a model for, which the person at a client chooses.
type Prompt struct {
	Name, Title, Description string
	Arguments                []PromptArgument

	task string // what the model is to do: Carrel's own words
	show []shown
}

// PromptArgument is an argument of a prompt. All of them may be left out.
type PromptArgument struct{ Name, Description string }

// The arguments of prompts.
const (
	argWorkspace = "workspace"
	argScope     = "scope"
	argPath      = "path"
)

// shown is a tool whose text goes with a prompt.
type shown struct {
	title, tool string
	takes       []string // those of the prompt's arguments that go to the tool
	fixed       map[string]any
	only        string // shown only if this argument is given; "" for always
	optional    bool   // an error leaves it out
}

// prompts are all that there are.
var prompts = func() []Prompt {
	ws := PromptArgument{argWorkspace, "the workspace; default: this session's"}
	scope := PromptArgument{argScope, "the mount, for example /repos/app; default: all"}
	path := PromptArgument{argPath, "a file or directory; default: all"}
	status := shown{title: "Status", tool: "git.status", takes: []string{argScope}}
	diff := shown{title: "Diff", tool: "git.diff", takes: []string{argScope, argPath}}
	return []Prompt{{
		Name: "review-changes", Title: "Review my changes", Arguments: []PromptArgument{scope, path, ws},
		Description: "Have the uncommitted changes reviewed before they are committed.",
		task: "Review the uncommitted changes below as if somebody else had made them. " +
			"Look for mistakes, for cases and tests that are missing, and for what does not belong to the change. " +
			"Read what is around a change with `readFile`. Look for what else a change concerns with `grep`. " +
			"Change nothing. Name the file and line of each finding, what is wrong and what to do about it, the gravest first. If there is nothing to find, say so.",
		show: []shown{status, diff},
	}, {
		Name: "commit-message", Title: "Write the commit message", Arguments: []PromptArgument{scope, ws},
		Description: "Have the message for a commit of the uncommitted changes written.",
		task: "Write the message for a commit of the changes below, in the manner of the messages before it. " +
			"The first line says in at most 72 characters what the commit does. After an empty line comes why, if that is not plain. " +
			"A commit takes the changes of one mount: if several are changed, write a message for each. " +
			"Commit nothing yet: once the message is agreed on, `git.commit` takes it.",
		show: []shown{status, {title: "Commits before", tool: "git.log", takes: []string{argScope}, fixed: map[string]any{"limit": 5}, optional: true}, diff},
	}, {
		Name: "resolve-conflict", Title: "Resolve the conflict", Arguments: []PromptArgument{path, scope, ws},
		Description: "Have changes that conflict with what others committed brought together with it.",
		task: "Others have committed to what was changed here. Bring both together: what is marked as a conflict below cannot be committed before. " +
			"For each such file, first keep our change, which the diff shows against what it was made from. " +
			"Read their version with `readFile` and at: \"base\". Then `revert` the path, which takes theirs. " +
			"Make our change again on it with `edit`, so that what both sides meant is kept. " +
			"Where they cannot be reconciled, ask which is to win. Look at the result with `git.status` and `git.diff`. Commit nothing.",
		show: []shown{status, {title: "Their version", tool: "readFile", takes: []string{argPath}, fixed: map[string]any{"at": "base"}, only: argPath, optional: true}, diff},
	}}
}()

func findPrompt(name string) (Prompt, error) {
	var names []string
	for _, p := range prompts {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	text := clip(name, maxQuoted)
	if near := args.Nearest(name, names); near != "" {
		text += " (did you mean " + near + "?)"
	}
	return Prompt{}, workspace.Errorf(workspace.Invalid, "there is no prompt %s", text)
}

func (p Prompt) takes(argument string) bool {
	return slices.ContainsFunc(p.Arguments, func(a PromptArgument) bool { return a.Name == argument })
}

// Prompts lists the prompts. A session that has one workspace and no other has
// none to choose.
func (s *Session) Prompts() []Prompt {
	all := slices.Clone(prompts)
	if !s.binding.limits() {
		return all
	}
	for i, p := range all {
		all[i].Arguments = slices.DeleteFunc(slices.Clone(p.Arguments), func(a PromptArgument) bool { return a.Name == argWorkspace })
	}
	return all
}

// Prompt returns the text of a prompt: the task and, as tools of the session give
// it, what it is about. It has the size of a result at most.
func (s *Session) Prompt(ctx context.Context, a Asked, name string, in map[string]string) (string, error) {
	p, err := findPrompt(name)
	if err != nil {
		return "", s.refuse(ctx, a, err)
	}
	for given := range in {
		if !p.takes(given) {
			return "", s.refuse(ctx, a, workspace.Errorf(workspace.Invalid, "the prompt has no argument %q", clip(given, maxQuoted)))
		}
	}
	text := s.Say(p.task, a.Spelling)
	room := s.desk.cfg.Project.Host().Limits().ResultBytes - len(text)
	for i, part := range p.show {
		if part.only != "" && in[part.only] == "" {
			continue
		}
		r := s.Call(ctx, part.request(a, in))
		switch {
		case r.IsError() && part.optional:
			continue
		case r.IsError():
			return "", &Refusal{r.Code, strings.Join(r.Text, "\n")}
		}
		share := room
		if i < len(p.show)-1 {
			share /= 3 // the last part is the diff, which has what is left
		}
		section := part.section(strings.Join(r.Text, "\n"), share, a.Spelling)
		room -= len(section)
		text += section
	}
	return text, nil
}

// request is the call of the tool.
func (p shown) request(a Asked, in map[string]string) Request {
	arguments := map[string]any{}
	for name, value := range p.fixed {
		arguments[name] = value
	}
	for _, name := range append([]string{argWorkspace}, p.takes...) {
		if in[name] != "" {
			arguments[name] = in[name]
		}
	}
	raw, _ := json.Marshal(arguments) // texts and numbers always encode
	return Request{Tool: p.tool, Arguments: raw, Client: a.Client, Spelling: a.Spelling}
}

// section puts the text of a tool below its title, in a fence that nothing in it
// can close.
func (p shown) section(text string, room int, spelling Spelling) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	head := "\n\n" + p.title + " (`" + spelling.Of(p.tool) + "`):\n" + fence + "\n"
	tail := "\n" + fence
	return head + bound(text, max(room-len(head)-len(tail), 64)) + tail
}

// Prompts lists every prompt.
func (d *Desk) Prompts() []Prompt { return slices.Clone(prompts) }
