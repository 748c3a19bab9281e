package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"slices"

	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// Runner runs a tool. Its errors are those of [tools.Tool.Run].
type Runner func(ctx context.Context, t *tools.Tool, c tools.Call, raw json.RawMessage) (tools.Output, error)

// Config says what a Desk serves. Project is needed; the zero value of any other
// field means its default.
type Config struct {
	Project *workspace.Project
	Log     *slog.Logger // of what clients are not told; default: discarded
	// Run stands around every call, to measure it for example; default: it runs
	// the tool.
	Run   Runner
	NewID func() string // of sessions and logged errors; default: random, 26 characters
}

// Desk serves the tools of one project to sessions. All methods are safe for
// concurrent use.
type Desk struct {
	cfg   Config
	tools []*tools.Tool
	// byName finds a tool by either spelling of its name.
	byName map[string]*tools.Tool
	// named are the tools whose results name their workspace themselves.
	named map[*tools.Tool]bool
	watch watch
}

// New returns a Desk.
func New(cfg *Config) *Desk {
	d := &Desk{cfg: *cfg, tools: tools.All(), byName: map[string]*tools.Tool{}, named: map[*tools.Tool]bool{}}
	if d.cfg.Log == nil {
		d.cfg.Log = slog.New(slog.DiscardHandler)
	}
	if d.cfg.Run == nil {
		d.cfg.Run = Run
	}
	if d.cfg.NewID == nil {
		d.cfg.NewID = rand.Text
	}
	d.watch.desk, d.watch.wake, d.watch.views = d, make(chan struct{}, 1), map[*Session]map[*view]struct{}{}
	for _, t := range d.tools {
		d.named[t] = hasWorkspace(t.Out)
		for _, s := range [...]Spelling{Dotted, Underscore} {
			d.byName[s.Of(t.Name)] = t
		}
	}
	return d
}

// Tools returns every tool of the desk, in the order in which they are listed.
func (d *Desk) Tools() []*tools.Tool { return slices.Clone(d.tools) }

// ToolSet is how many of the tools a session has.
type ToolSet string

// The tool sets. Whatever is not All is Core.
const (
	Core ToolSet = "core" // what an agent needs for everyday work
	All  ToolSet = "all"
)

// SessionConfig says who a session is and what it may do.
type SessionConfig struct {
	Actor     workspace.Signature // whom commits and records name
	Tools     ToolSet             // default Core
	Principal string              // who was let in, in logs
	// Grants are what it may do; nil: everything. If they name one workspace, that
	// fixes the binding.
	Grants *workspace.Grants
	// Workspace fixes the binding: the session can use no other workspace.
	Workspace workspace.ID
	// Start is the first binding of a session without a fixed one.
	Start workspace.ID
	// Rivals are what was created or opened beside Start by those who share the
	// session, if it goes on in the place of another one: then nothing is bound.
	Rivals []workspace.ID
	// Stateless sessions are not bound by what they create or open: each of
	// their calls names its workspace.
	Stateless bool
}

// Open begins a session. Its Close ends it.
func (d *Desk) Open(c *SessionConfig) *Session {
	fixed := c.Workspace
	if only, ok := c.Grants.OnlyWorkspace(); ok && fixed == "" {
		fixed = only
	}
	return &Session{
		id: d.cfg.NewID(), desk: d, cfg: *c,
		binding: binding{fixed: fixed, grants: c.Grants, bound: c.Start, rivals: slices.Clone(c.Rivals), stateless: c.Stateless},
	}
}
