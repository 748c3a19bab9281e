package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"carrel.dev/workspace"
)

// followEvery is how often a stream that is followed is read on.
const followEvery = 200 * time.Millisecond

func (c *cli) events() *cobra.Command {
	var a asking
	var follow bool
	cmd := &cobra.Command{
		Use:   "events",
		Short: "List what happened in a workspace, one record a line",
		Long: "List what happened in a workspace, one record a line: seq, time, type, who with which client, and\n" +
			"what it came to. Without a workspace it is the stream of the project: repos and workspaces that came\n" +
			"and went. --json prints one object a line, with the whole payload.",
		Example: "  carrel events\n" +
			"  carrel events --workspace '' --json",
		Args: usageArgs(cobra.NoArgs, "events takes no arguments, only flags"),
		RunE: c.does(func(ctx context.Context, _ []string) error {
			named := a.workspace
			if !c.running.Flags().Changed("workspace") {
				named = c.getenv("CARREL_WORKSPACE")
			}
			return c.printEvents(ctx, named, follow, a.json)
		}),
	}
	a.workspaceFlag(c, cmd)
	a.jsonFlag(cmd)
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what happens from now on, until interrupted")
	return cmd
}

// printEvents prints the records of a workspace's stream, or of the project's if
// none is named.
func (c *cli) printEvents(ctx context.Context, named string, follow, asJSON bool) error {
	return c.inProject(ctx, func(p *workspace.Project) error {
		stream, err := streamOf(ctx, p, named)
		if err != nil {
			return err
		}
		for last := workspace.Seq(0); ; {
			if last, err = c.printAfter(ctx, p, stream, last, asJSON); err != nil || !follow {
				return endOf(ctx, follow, err)
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(followEvery):
			}
		}
	})
}

// printAfter prints the records of a stream after a seq and returns that of the
// last one.
func (c *cli) printAfter(ctx context.Context, p *workspace.Project, stream string, last workspace.Seq, asJSON bool) (workspace.Seq, error) {
	for r, err := range p.Records(ctx, stream, last) {
		if err == nil {
			err = c.printEvent(r, asJSON)
		}
		if err != nil {
			return last, err
		}
		last = r.Seq
	}
	return last, nil
}

// endOf is the error of a read, unless a person has ended it.
func endOf(ctx context.Context, follow bool, err error) error {
	if follow && ctx.Err() != nil {
		return nil
	}
	return err
}

// streamOf names the stream of a workspace that was born, deleted or not, or of
// the project.
func streamOf(ctx context.Context, p *workspace.Project, named string) (string, error) {
	if named == "" {
		return workspace.ProjectStream, nil
	}
	id, err := workspace.ParseID(named)
	if err != nil {
		return "", err
	}
	catalog, err := p.Catalog(ctx)
	if err != nil {
		return "", err
	}
	if _, born := catalog.Workspace(id); !born {
		return "", workspace.Errorf(workspace.NotExist, "the workspace does not exist in the project %s", p.Name()).At(named).
			Hinted("`workspace.list` shows which there are.")
	}
	return string(id), nil
}

// eventInfo is a record for a program.
type eventInfo struct {
	Seq     workspace.Seq   `json:"seq"`
	Time    time.Time       `json:"time"`
	Type    string          `json:"type"`
	Version int             `json:"version"`
	Actor   string          `json:"actor,omitempty"`
	Client  string          `json:"client,omitempty"`
	Session string          `json:"session,omitempty"`
	Key     string          `json:"key,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

func (c *cli) printEvent(r workspace.Record, asJSON bool) error {
	if !asJSON {
		who := r.Client
		if r.Actor != "" {
			who = r.Actor + " with " + r.Client
		}
		line := fmt.Sprintf("%d  %s  %s  %s  %s", r.Seq, r.At.UTC().Format(time.RFC3339), r.Type, who, summary(r))
		_, err := fmt.Fprintln(c.stdout, printable(strings.TrimRight(line, " ")))
		return err
	}
	payload := json.RawMessage(r.Payload)
	if len(payload) > 0 && !json.Valid(payload) { // damaged, but to be seen
		payload, _ = json.Marshal(string(payload))
	}
	b, err := json.Marshal(eventInfo{r.Seq, r.At.UTC(), r.Type, r.Version, r.Actor, r.Client, r.Session, r.Key, payload})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.stdout, "%s\n", b)
	return err
}
