package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"carrel.dev/server"
	"carrel.dev/tools"
	"carrel.dev/workspace"
)

func (c *cli) call() *cobra.Command {
	var a asking
	cmd := &cobra.Command{
		Use:   "call TOOL ['{json}' | key=value ...]",
		Short: "Call one tool, as an agent does",
		Long: "Call one tool, as an agent does, and print the text of its answer.\n\n" +
			"Arguments are one JSON object, or key=value: a value is text where the tool takes text, and JSON\n" +
			"where it takes anything else. key=@FILE reads the value from a file and key=@- from stdin; a value\n" +
			"that begins with @ is written with two. --json prints the fields of the answer; readFile, readFiles\n" +
			"and git.diff add their text as \"text\".\n\n" +
			"The tools, with dots or underscores:\n" + toolList(),
		Example: "  carrel call readFile path=/repos/app/main.go limit=20\n" +
			"  carrel call edit '{\"path\": \"/repos/app/main.go\", \"oldString\": \"one\", \"newString\": \"two\"}'\n" +
			"  carrel call writeFile path=notes.md content=@README.md\n" +
			"  carrel call --workspace /agents/demo git.status all=true --json",
		Args:              usageArgs(cobra.MinimumNArgs(1), "name a tool"),
		ValidArgsFunction: completeTools,
		RunE:              c.does(func(ctx context.Context, args []string) error { return c.callTool(ctx, &a, args[0], args[1:]) }),
	}
	a.workspaceFlag(c, cmd)
	a.keyFlag(cmd)
	a.jsonFlag(cmd)
	return cmd
}

// usageArgs checks arguments and says in words what is wrong with them.
func usageArgs(check cobra.PositionalArgs, wrong string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if check(cmd, args) != nil {
			return &usageError{errors.New(wrong), seeHelp(cmd)}
		}
		return nil
	}
}

// toolList names all tools, a few a line.
func toolList() string {
	var b strings.Builder
	width := 0
	for _, t := range tools.All() {
		if width+len(t.Name) > 90 {
			b.WriteByte('\n')
			width = 0
		}
		fmt.Fprintf(&b, "  %s", t.Name)
		width += 2 + len(t.Name)
	}
	return b.String()
}

func completeTools(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var names []string
	for _, t := range tools.All() {
		names = append(names, t.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// callTool makes one call. The workspace is optional: some tools name their own,
// and the others say so if it is missing.
func (c *cli) callTool(ctx context.Context, a *asking, name string, args []string) (err error) {
	arguments, err := c.arguments(args)
	if err != nil {
		return err
	}
	id, err := c.workspaceOf(a.workspace)
	if errors.Is(err, workspace.Unbound) {
		id, err = "", nil
	}
	if err != nil {
		return err
	}
	cl, err := c.connect(ctx, homeOptions{}, id)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cl.Close()) }()
	t, ok := cl.session.Tool(name)
	if !ok {
		return c.usage("unknown tool %s", cl.session.Suggest(name, server.Dotted))
	}
	r, err := cl.ask(ctx, t.Name, arguments, a.key)
	if err != nil {
		return err
	}
	if a.json {
		return c.printReply(r)
	}
	return c.printAnswer(t, r)
}

// printAnswer prints what a tool says; Carrel's own words about a content go to
// stderr, so that the content alone is on stdout, exactly.
func (c *cli) printAnswer(t *tools.Tool, r server.Reply) error {
	raw := r.Data != nil && !r.Data.Image
	if raw {
		if _, err := c.stdout.Write(r.Data.Bytes); err != nil {
			return err
		}
	}
	for i, text := range r.Text {
		switch {
		case i >= r.Contents || raw:
			c.note("%s", text)
		case t.TextOnly && !isTerminal(c.stdout):
			if _, err := io.WriteString(c.stdout, text); err != nil {
				return err
			}
		default:
			if err := c.print(text); err != nil {
				return err
			}
		}
	}
	return nil
}

// arguments reads those of a tool: a JSON object, or key=value.
func (c *cli) arguments(args []string) (any, error) {
	if len(args) == 1 && strings.HasPrefix(strings.TrimSpace(args[0]), "{") {
		if !json.Valid([]byte(args[0])) {
			return nil, c.usage("the arguments are not JSON: %w", json.Unmarshal([]byte(args[0]), new(any)))
		}
		return json.RawMessage(args[0]), nil
	}
	values := map[string]string{}
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok || key == "" {
			return nil, c.usage("argument %q is not key=value, nor all of them one JSON object", arg)
		}
		if _, twice := values[key]; twice {
			return nil, c.usage("argument %q is given twice", key)
		}
		value, err := c.value(value)
		if err != nil {
			return nil, err
		}
		values[key] = value
	}
	// A tool reads JSON from text where it takes anything but text, so the type
	// of each value is the tool's to know.
	return values, nil
}

// value returns a value as it was meant: itself, or the content of a file.
func (c *cli) value(s string) (string, error) {
	name, file := strings.CutPrefix(s, "@")
	if !file || strings.HasPrefix(name, "@") {
		return name, checkText(name, "the value")
	}
	var b []byte
	var err error
	if name == "-" {
		b, err = io.ReadAll(c.stdin)
	} else {
		b, err = os.ReadFile(c.abs(name))
	}
	if err != nil {
		return "", workspace.Errorf(workspace.Invalid, "the value cannot be read: %w", err)
	}
	return string(b), checkText(string(b), "the content of "+name)
}

// checkText refuses what JSON cannot carry unchanged.
func checkText(s, what string) error {
	if utf8.ValidString(s) {
		return nil
	}
	return workspace.Errorf(workspace.Invalid, "%s is not UTF-8 text, which an argument has to be", what)
}
