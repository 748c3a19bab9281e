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

// eventsFlags are what carrel events was asked for.
type eventsFlags struct {
	asking
	follow, all  bool
	actor, since string
}

func (c *cli) events() *cobra.Command {
	var f eventsFlags
	cmd := &cobra.Command{
		Use:   "events",
		Short: "List who did what in a workspace, one record a line",
		Long: "List what happened in a workspace, one record a line: seq, time, type, who with which client in which\n" +
			"session, and what it came to. Without a workspace it is the stream of the project: repos and workspaces\n" +
			"that came and went. --all is everything in the project, in the order in which it was recorded, each\n" +
			"line with its stream. Behind the name of whoever came by a token or JWT stands which, in brackets.\n" +
			"--json prints one object a line, with the whole payload.",
		Example: "  carrel events\n" +
			"  carrel events --workspace '' --json\n" +
			"  carrel events --all --since 7d --actor t-4k2m8qrx",
		Args: usageArgs(cobra.NoArgs, "events takes no arguments, only flags"),
		RunE: c.does(func(ctx context.Context, _ []string) error {
			if f.all && f.workspace != "" {
				return c.usage("--all is about every workspace: leave --workspace out")
			}
			if !c.running.Flags().Changed("workspace") {
				f.workspace = c.getenv("CARREL_WORKSPACE")
			}
			return c.printEvents(ctx, &f)
		}),
	}
	f.workspaceFlag(c, cmd)
	f.jsonFlag(cmd)
	flags := cmd.Flags()
	flags.BoolVarP(&f.follow, "follow", "f", false, "go on with what happens from now on, until interrupted")
	flags.BoolVar(&f.all, "all", false, "everything in the project, not only one stream")
	flags.StringVar(&f.actor, "actor", "", "only what this one did: a name, or the id of a token or JWT as it stands in brackets")
	flags.StringVar(&f.since, "since", "", "only what is not older: a time ago such as 7d or 12h, or a time such as 2026-01-01T00:00:00Z")
	return cmd
}

// printEvents prints the records of a workspace's stream, of the project's if none
// is named, or of all.
func (c *cli) printEvents(ctx context.Context, f *eventsFlags) (err error) {
	wanted := eventFilter{actor: f.actor}
	if wanted.since, err = c.sinceWhen(f.since); err != nil {
		return err
	}
	return c.inHome(ctx, func(h *home, p *workspace.Project) error {
		read, err := reader(ctx, h, p, f)
		if err != nil {
			return err
		}
		for {
			for r, err := range read(ctx) {
				if err == nil && wanted.has(r) {
					err = c.printEvent(r, f)
				}
				if err != nil {
					return endOf(ctx, f.follow, err)
				}
			}
			if !f.follow {
				return nil
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(followEvery):
			}
		}
	})
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
	Stream  string          `json:"stream"` // the workspace or repo, / for the project
	Time    time.Time       `json:"time"`
	Type    string          `json:"type"`
	Version int             `json:"version"`
	Actor   string          `json:"actor,omitempty"`
	Client  string          `json:"client,omitempty"`
	Session string          `json:"session,omitempty"`
	Key     string          `json:"key,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

func (c *cli) printEvent(r workspace.Record, f *eventsFlags) error {
	if !f.json {
		line := []string{fmt.Sprint(r.Seq), r.At.UTC().Format(time.RFC3339), r.Type, who(r), summary(r)}
		if f.all {
			line[0] = r.Stream.Name + " " + line[0]
		}
		_, err := fmt.Fprintln(c.stdout, printable(strings.TrimRight(strings.Join(line, "  "), " ")))
		return err
	}
	payload := json.RawMessage(r.Payload)
	if len(payload) > 0 && !json.Valid(payload) { // damaged, but to be seen
		payload, _ = json.Marshal(string(payload))
	}
	b, err := json.Marshal(eventInfo{r.Seq, r.Stream.Name, r.At.UTC(), r.Type, r.Version, r.Actor, r.Client, r.Session, r.Key, payload})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.stdout, "%s\n", b)
	return err
}

// who did what a record is about, with which client, in which session.
func who(r workspace.Record) string {
	by := r.Client
	switch {
	case r.Actor != "" && r.Client != "":
		by = r.Actor + " with " + r.Client
	case r.Actor != "":
		by = r.Actor
	}
	if r.Session != "" {
		by += ", session " + r.Session
	}
	return by
}
