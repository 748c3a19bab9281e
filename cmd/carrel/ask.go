package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"carrel.dev/server"
	"carrel.dev/workspace"
)

// asking is what the commands that call tools have in common.
type asking struct {
	workspace string // flag --workspace
	key       string // flag --key
	json      bool   // flag --json
}

func (a *asking) workspaceFlag(c *cli, cmd *cobra.Command) {
	const name = "workspace"
	cmd.Flags().StringVar(&a.workspace, name, "", "workspace, for example /agents/demo; default $CARREL_WORKSPACE")
	c.complete(cmd, name, func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return c.completeWorkspaces(cmd, nil, typed)
	})
}

func (a *asking) keyFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.key, "key", "", "makes a retry harmless: a repeat with the same key is given the first answer")
}

func (a *asking) jsonFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON")
}

// workspaceOf returns the workspace that a command is about.
func (c *cli) workspaceOf(named string) (workspace.ID, error) {
	if named == "" {
		named = c.getenv("CARREL_WORKSPACE")
	}
	if named == "" {
		return "", workspace.Errorf(workspace.Unbound, "no workspace is named").
			Hinted("Pass --workspace /agents/NAME, or set CARREL_WORKSPACE. `workspace.list` shows which there are.")
	}
	return workspace.ParseID(named)
}

// client is a person's session with the tools of a project.
type client struct {
	cli     *cli
	home    *home
	project *workspace.Project
	session *server.Session
}

// connect opens the project of a command that registers nothing. bound is the
// workspace that calls act on, "" for none.
func (c *cli) connect(ctx context.Context, o homeOptions, bound workspace.ID) (*client, error) {
	h, err := c.open(ctx, o)
	if err != nil {
		return nil, err
	}
	p, err := c.existingProject(ctx, h)
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	desk := server.New(&server.Config{Project: p, Log: h.log})
	return &client{c, h, p, desk.Open(&server.SessionConfig{Tools: server.All, Start: bound})}, nil
}

func (cl *client) Close() error {
	cl.session.Close()
	return cl.home.Close()
}

// ask makes one call. A refusal is an error, in the words of a tool.
func (cl *client) ask(ctx context.Context, tool string, arguments any, key string) (server.Reply, error) {
	raw, err := json.Marshal(arguments)
	if err != nil {
		return server.Reply{}, err
	}
	r := cl.session.Call(ctx, server.Request{Tool: tool, Arguments: raw, Key: key, Client: cl.cli.running.CommandPath()})
	if r.IsError() {
		return r, refused(strings.Join(r.Text, "\n"))
	}
	return r, nil
}

// tool makes one call for a command that is a tool for a terminal and shows the
// answer as show does, or as JSON.
func (c *cli) tool(ctx context.Context, a *asking, tool string, arguments any, show func(text string) error) error {
	id, err := c.workspaceOf(a.workspace)
	if err != nil {
		return err
	}
	cl, err := c.connect(ctx, homeOptions{unbounded: true}, id)
	if err != nil {
		return err
	}
	r, err := cl.ask(ctx, tool, arguments, a.key)
	if err == nil {
		err = c.show(r, a.json, show)
	}
	return errors.Join(inWords(err), cl.Close())
}

// inWords puts a refusal into words of the command line.
func inWords(err error) error {
	var r refused
	if errors.As(err, &r) {
		return refused(inCommands(string(r)))
	}
	return err
}

// show prints an answer: as JSON, or its text by a function and what is to be
// said beside it on stderr.
func (c *cli) show(r server.Reply, asJSON bool, print func(text string) error) error {
	if asJSON {
		return c.printReply(r)
	}
	for i, text := range r.Text {
		if i > 0 {
			c.note("%s", inCommands(text))
			continue
		}
		if err := print(text); err != nil {
			return err
		}
	}
	return nil
}

// printReply prints the fields of an answer, with the text of those tools that
// give their content as text.
func (c *cli) printReply(r server.Reply) error {
	if !r.TextOnly && r.Data == nil {
		return c.printJSON(r.Fields)
	}
	var fields map[string]any
	d := json.NewDecoder(bytes.NewReader(r.Fields))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil {
		return err
	}
	if r.TextOnly && len(r.Text) > 0 {
		fields["text"] = r.Text[0]
	}
	if r.Data != nil {
		fields["data"], fields["mimeType"] = r.Data.Bytes, r.Data.MIME
	}
	return c.printJSON(fields)
}

// printJSON prints a value as indented JSON.
func (c *cli) printJSON(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := c.stdout.Write(b.Bytes())
	return err
}
