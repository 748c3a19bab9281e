// Package tools holds what Carrel can be asked to do, one file a tool: the types
// of its arguments and result, what a model is told about it, and a plain
// function. It knows no protocol: MCP and the command line both call it.
//
// A tool's function takes a workspace, or a project for the tools that make and
// end workspaces, and its arguments; it returns a result that says the same
// twice: by its fields, for programs, and by Render, in text written for a model
// to read. Text and hints name tools by their canonical names in backquotes, so
// that whoever passes them on can use the spelling that its client was shown.
package tools

import (
	"context"
	"encoding/json"
	"reflect"

	"carrel.dev/tools/args"
	"carrel.dev/workspace"
)

// Tool is one verb.
type Tool struct {
	Name        string // canonical, for example "git.status"
	Description string // when to use it and what it returns, in a few lines
	Core        bool   // part of the core set
	// Lifecycle marks the tools by which an unbound session finds its workspace.
	Lifecycle bool

	// The annotations of MCP.
	ReadOnly    bool // changes nothing
	Destructive bool // may take away what cannot be had back by another call
	Idempotent  bool // repeating it with the same arguments changes nothing more

	// TextOnly tools give their content once, as text: a program finds their
	// fields beside it, and there is no schema for them.
	TextOnly bool

	// Long tools may read a whole repository: whoever serves many lets few of them run
	// at a time.
	Long bool

	// needs is the verb that a caller must be granted, where Verb does not tell it
	// by what the tool changes.
	needs workspace.Verb

	In, Out reflect.Type // structs; see package args for their schemas
	run     func(ctx context.Context, c Call, raw json.RawMessage) (Output, error)
}

// Verb is what a caller must be granted to use the tool. It is the workspace that
// refuses whoever is not; this tells beforehand.
func (t *Tool) Verb() workspace.Verb {
	switch {
	case t.needs != "":
		return t.needs
	case t.ReadOnly:
		return workspace.VerbRead
	}
	return workspace.VerbWrite
}

// Call says on whose behalf and where a tool runs.
type Call struct {
	Project *workspace.Project
	// Workspace is the identity of the workspace to act on. The tools of a
	// project's life cycle take it from their arguments instead.
	Workspace workspace.ID
	Caller    workspace.Caller
	// Progress, if not nil, tells the client how far a long call is: done so far,
	// of total or of 0 if that is not known. It may wait for the client.
	Progress func(done, total float64, message string)
}

// Output is a tool's result: a struct whose exported fields are its facts.
type Output interface {
	// Render returns the same facts for a model to read.
	Render() Rendering
}

// Rendering is a result in the form that a model reads.
type Rendering struct {
	Text string
	// More are further blocks like Text, which may be the content of files.
	More []string
	// Notes are blocks after those. They are Carrel's own words and may name tools
	// in backquotes.
	Notes []string
	// Data is an image or another content in bytes, nil for none.
	Data *Data
}

// Data is content that is not text.
type Data struct {
	URI   string
	MIME  string
	Bytes []byte
	Image bool // shown as an image, else given as a resource
}

// Run decodes the arguments and runs the tool. Every error is a
// *workspace.Error that names the tool.
func (t *Tool) Run(ctx context.Context, c Call, raw json.RawMessage) (Output, error) {
	ctx, end := watched(ctx, c.Progress)
	defer end()
	out, err := t.run(ctx, c, raw)
	if err != nil {
		return nil, workspace.InOp(t.Name, err)
	}
	return out, nil
}

// onWorkspace makes a tool of a function on a workspace.
func onWorkspace[In any, Out Output](t Tool, f func(context.Context, *workspace.Workspace, In) (Out, error)) *Tool {
	t.run = func(ctx context.Context, c Call, raw json.RawMessage) (Output, error) {
		in, err := decode[In](&c, t.Name, raw)
		if err != nil {
			return nil, err
		}
		w, err := c.Project.Workspace(ctx, c.Workspace, c.Caller)
		if err != nil {
			return nil, err
		}
		return f(ctx, w, in)
	}
	return typed[In, Out](t)
}

// onProject makes a tool of a function on a project.
func onProject[In any, Out Output](t Tool, f func(context.Context, Call, In) (Out, error)) *Tool {
	t.run = func(ctx context.Context, c Call, raw json.RawMessage) (Output, error) {
		in, err := decode[In](&c, t.Name, raw)
		if err != nil {
			return nil, err
		}
		return f(ctx, c, in)
	}
	return typed[In, Out](t)
}

func typed[In, Out any](t Tool) *Tool {
	t.In, t.Out = reflect.TypeFor[In](), reflect.TypeFor[Out]()
	return &t
}

// decode reads the arguments and completes the caller's idempotency key with the
// digest of what is asked.
func decode[In any](c *Call, tool string, raw json.RawMessage) (In, error) {
	var in In
	if err := args.Decode(raw, &in); err != nil {
		return in, err
	}
	if c.Caller.Key != "" {
		c.Caller.Request = tool + " " + args.Digest(in)
	}
	return in, nil
}

// All returns every tool, in the order in which they are listed.
func All() []*Tool {
	return []*Tool{
		workspaceCreate(), workspaceOpen(), workspaceList(),
		readFile(), writeFile(), edit(), deleteFile(), mv(), revert(),
		readDir(), glob(), grep(),
		gitStatus(), gitDiff(), gitCommit(), gitLog(),
		readFiles(), readFileBytes(), writeFileBytes(), stat(), exists(), listAllFiles(),
		cp(), mkdir(), symlink(), batch(), reset(),
		workspaceShow(), workspaceConfigure(), workspaceDelete(),
	}
}
