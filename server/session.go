package server

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"

	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// Session is one client at a desk. All methods are safe for concurrent use.
type Session struct {
	id      string
	desk    *Desk
	cfg     SessionConfig
	binding binding
}

// Request is one call of a tool.
type Request struct {
	Tool      string // by either spelling of its name
	Arguments json.RawMessage
	Key       string   // makes a mutation idempotent; "" for none
	Client    string   // name of the client's program, for the records
	Spelling  Spelling // of tool names in the reply
	// Progress is handed to the tool; nil if the client did not ask for it.
	Progress func(done, total float64, message string)
}

// Bounds on what a client says of a call, in bytes.
const (
	maxKey    = 255
	maxClient = 128
)

// ID names the session in records.
func (s *Session) ID() string { return s.id }

// Close ends the session: what it was served is forgotten, and what it watches is
// watched no more.
func (s *Session) Close() {
	s.desk.watch.drop(s)
	s.desk.cfg.Project.EndSession(s.id)
}

// caller is who asks on behalf of the session, by the program of a client.
func (s *Session) caller(client string) workspace.Caller {
	return workspace.Caller{
		Actor: s.cfg.Actor, Session: s.id, Client: clip(client, maxClient), Principal: s.cfg.Principal, Grants: s.cfg.Grants,
	}
}

// Call runs a tool. Whatever goes wrong is a Reply with a Code; a tool that the
// session does not have is Invalid, and Tool tells beforehand.
func (s *Session) Call(ctx context.Context, r Request) (reply Reply) {
	v := voice{s, r.Spelling}
	t, ok := s.Tool(r.Tool)
	if !ok {
		return Reply{Code: workspace.Invalid, Text: []string{"there is no tool " + s.Suggest(r.Tool, r.Spelling)}}
	}
	ctx = WithLabels(ctx, Labels{Session: s.id, Principal: s.cfg.Principal})
	defer func() {
		if p := recover(); p != nil {
			reply = v.failed(ctx, t, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	a, err := s.admit(ctx, t, r)
	if err != nil {
		return v.failed(ctx, t, workspace.InOp(t.Name, err))
	}
	ctx = WithLabels(ctx, Labels{Workspace: string(a.call.Workspace)})
	out, err := s.desk.cfg.Run(ctx, t, a.call, a.raw)
	if err != nil {
		return v.failed(ctx, t, err)
	}
	note := ""
	if Binds(t) {
		note = s.binding.took(a.call.Workspace, a.rebind)
		s.desk.watch.rebound(s)
	}
	return v.succeeded(ctx, t, out, a.call.Workspace, note)
}

// admitted is a call that may be made.
type admitted struct {
	call   tools.Call
	raw    json.RawMessage // the arguments as the tool takes them
	rebind bool
}

// admit finds the workspace that a call acts on and holds it against the
// session's binding.
func (s *Session) admit(ctx context.Context, t *tools.Tool, r Request) (a admitted, err error) {
	if len(r.Key) > maxKey {
		return a, workspace.Errorf(workspace.Invalid, "the idempotency key is longer than %d bytes", maxKey)
	}
	a.call = tools.Call{Project: s.desk.cfg.Project, Progress: r.Progress, Caller: s.caller(r.Client)}
	a.call.Caller.Key = r.Key
	var in struct {
		Workspace string `json:"workspace"`
	}
	if a.raw, err = take(unwrap(r.Arguments), "workspace", &in); err != nil {
		return a, err
	}
	var named workspace.ID
	if in.Workspace != "" {
		if named, err = workspace.ParseID(in.Workspace); err != nil {
			return a, err
		}
	}
	switch {
	case namesOwn(t):
		return s.admitOwn(t, a, named)
	case namesNone(t):
		a.call.Workspace = s.binding.now()
		return a, nil
	}
	a.call.Workspace, err = s.acts(ctx, named)
	return a, err
}

// acts returns the workspace that is acted on where one is named, "" for none.
func (s *Session) acts(ctx context.Context, named workspace.ID) (workspace.ID, error) {
	id, err := s.binding.resolve(named)
	if err == nil && id == "" {
		err = s.unbound(ctx)
	}
	return id, err
}

// admitOwn is admit for a tool that names its workspace by its argument `path`.
// The argument `workspace` and a fixed binding stand in for a path left out.
func (s *Session) admitOwn(t *tools.Tool, a admitted, named workspace.ID) (admitted, error) {
	var in struct {
		Path string `json:"path"`
	}
	without, err := take(a.raw, "path", &in)
	if err != nil {
		return a, err
	}
	if in.Path == "" && named == "" {
		named = s.binding.fixed
	}
	switch {
	case in.Path == "" && named == "":
		return a, nil // the tool will say that it is missing
	case in.Path == "":
		in.Path = string(named)
	case named != "" && string(named) != in.Path:
		return a, workspace.Errorf(workspace.Invalid, "argument `path` is %q and argument `workspace` is %q", clip(in.Path, maxQuoted), named)
	}
	id, err := workspace.ParseID(in.Path)
	if err != nil {
		return a, err
	}
	if t.Name == toolCreate && s.binding.fixed != "" && id != s.binding.fixed && !s.binding.reaches(id) {
		return a, workspace.Errorf(workspace.Permission, "this session is bound to %s and cannot create another workspace", s.binding.fixed).
			At(in.Path).Hinted("Leave path out.")
	}
	if a.call.Workspace, err = s.binding.resolve(id); err != nil {
		return a, err
	}
	value, err := json.Marshal(in.Path)
	if err != nil {
		return a, err
	}
	a.raw = insert(without, "path", value)
	if t.Name != toolOpen {
		return a, nil
	}
	var opening struct {
		Rebind bool `json:"rebind"`
	}
	_, err = take(a.raw, "rebind", &opening)
	a.rebind = opening.Rebind
	return a, err
}

// Fixed is the workspace that all calls are bound to for good, "" for none.
func (s *Session) Fixed() workspace.ID { return s.binding.fixed }

// Bound is what a session that goes on in the place of this one has to begin with:
// Start and Rivals of its SessionConfig.
func (s *Session) Bound() (start workspace.ID, rivals []workspace.ID) {
	s.binding.mu.Lock()
	defer s.binding.mu.Unlock()
	return s.binding.bound, slices.Clone(s.binding.rivals)
}
