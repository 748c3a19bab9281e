package server

import (
	"context"
	"net/url"
	"strings"

	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// MaxCompletions is how many values a completion has at most.
const MaxCompletions = 100

// Argument is one that a client is typing.
type Argument struct {
	Name, Value string
	// With are the values of the other ones, as far as they are known.
	With map[string]string
}

// Completion is what an argument may become, sorted.
type Completion struct {
	Values []string
	More   bool // there are others
}

// CompleteURI completes an argument of tools.URITemplate. A path is percent-encoded,
// since the expansion of a template by RFC 6570 leaves it as it is.
func (s *Session) CompleteURI(ctx context.Context, a Asked, arg Argument) (Completion, error) {
	c, err := s.complete(ctx, a, arg.Name, arg)
	return c, s.refuse(ctx, a, err)
}

// CompletePrompt completes an argument of a prompt.
func (s *Session) CompletePrompt(ctx context.Context, a Asked, prompt string, arg Argument) (Completion, error) {
	p, err := findPrompt(prompt)
	if err != nil {
		return Completion{}, s.refuse(ctx, a, err)
	}
	kind := ""
	switch {
	case !p.takes(arg.Name):
	case arg.Name == argPath:
		kind = argAbsolute
	default:
		kind = arg.Name
	}
	c, err := s.complete(ctx, a, kind, arg)
	return c, s.refuse(ctx, a, err)
}

// complete finds the values of a kind of argument. Where nothing can be found, for
// whatever reason of the client's, nothing is.
func (s *Session) complete(ctx context.Context, a Asked, kind string, arg Argument) (c Completion, err error) {
	named := workspace.ID(arg.With["ws"] + arg.With[argWorkspace])
	switch kind {
	case "at":
		if strings.HasPrefix("base", arg.Value) {
			c.Values = []string{"base"}
		}
	case "ws", argWorkspace:
		c, err = s.completeWorkspace(ctx, a, arg.Value)
	case argPath:
		c, err = s.completeEncoded(ctx, a, named, arg.Value)
	case argAbsolute:
		c, err = s.completeIn(ctx, a, named, arg.Value, tools.CompletePath)
	case argScope:
		c, err = s.completeIn(ctx, a, named, arg.Value, tools.CompleteMount)
	default:
		return c, workspace.Errorf(workspace.Invalid, "there is no argument %q", clip(arg.Name, maxQuoted))
	}
	switch workspace.KindOf(err) {
	case workspace.NotExist, workspace.Closed, workspace.Unbound, workspace.Invalid, workspace.Permission:
		return Completion{}, nil
	}
	return c, err
}

func (s *Session) completeWorkspace(ctx context.Context, a Asked, prefix string) (c Completion, err error) {
	if id := s.binding.fixed; s.binding.limits() {
		if strings.HasPrefix(string(id), prefix) {
			c.Values = []string{string(id)}
		}
		return c, nil
	}
	call := tools.Call{Project: s.desk.cfg.Project, Caller: s.caller(a.Client)}
	out, err := tools.WorkspaceList(ctx, call, tools.WorkspaceListIn{Prefix: prefix})
	if err != nil {
		return c, err
	}
	for _, w := range out.Workspaces {
		c.Values = append(c.Values, w.Path)
	}
	c.More = out.Truncated || len(c.Values) > MaxCompletions
	c.Values = c.Values[:min(len(c.Values), MaxCompletions)]
	return c, nil
}

// argAbsolute is a path as it is, and not as the template has it.
const argAbsolute = "absolute path"

type completer func(ctx context.Context, w *workspace.Workspace, prefix string, most int) ([]string, bool, error)

func (s *Session) completeIn(ctx context.Context, a Asked, named workspace.ID, prefix string, find completer) (c Completion, err error) {
	w, err := s.open(ctx, named, a.Client)
	if err != nil {
		return c, err
	}
	c.Values, c.More, err = find(ctx, w, prefix, MaxCompletions)
	return c, err
}

// completeEncoded completes a path as the template has it, which begins behind the
// slash unless what was typed has one.
func (s *Session) completeEncoded(ctx context.Context, a Asked, named workspace.ID, typed string) (Completion, error) {
	slash := strings.HasPrefix(typed, "/")
	prefix := "/" + strings.TrimPrefix(typed, "/")
	if plain, err := url.PathUnescape(prefix); err == nil {
		prefix = plain
	}
	c, err := s.completeIn(ctx, a, named, prefix, tools.CompletePath)
	for i, p := range c.Values {
		c.Values[i] = strings.TrimPrefix(tools.URI{Path: workspace.Path(p)}.String(), tools.Scheme+"://")
		if !slash {
			c.Values[i] = c.Values[i][1:]
		}
	}
	return c, err
}
