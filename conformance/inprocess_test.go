package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel.dev/mounts"
	"carrel.dev/server"
	"carrel.dev/workspace"
)

// inprocess reaches Carrel without a wire: sessions at a desk, over real
// repositories and the store that name says.
type inprocess struct {
	name string
	open func(ctx context.Context, data string) (*parts, error)
}

func (i inprocess) Name() string { return i.name }

func (i inprocess) Start(ctx context.Context, data string) (Server, error) {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	p, err := i.open(ctx, data)
	if err != nil {
		return nil, err
	}
	repos := mounts.New(&mounts.Config{ManagedRoot: filepath.Join(data, "repos")})
	host, err := workspace.NewHost(ctx, &workspace.Config{
		Store: p.store, Blobs: p.blobs, Trees: repos, Committer: repos, Ignorer: repos, Processes: p.procs, DataID: p.id,
	})
	if err != nil {
		return nil, err
	}
	project, err := host.Project(ctx, "default")
	if err != nil {
		return nil, err
	}
	return &localServer{parts: p, repos: repos, project: project, desk: server.New(&server.Config{Project: project})}, nil
}

type localServer struct {
	*parts
	repos   *mounts.Repos
	project *workspace.Project
	desk    *server.Desk
}

func (s *localServer) AddRepo(ctx context.Context, name, path string) error {
	return register(ctx, s.project, name, path)
}

func (s *localServer) Records(ctx context.Context, stream string) (json.RawMessage, error) {
	type row struct {
		Seq  workspace.Seq `json:"seq"`
		Type string        `json:"type"`
	}
	rows := []row{}
	for r, err := range s.project.Records(ctx, stream, 0) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{r.Seq, r.Type})
	}
	return json.Marshal(rows)
}

func (s *localServer) Session(_ context.Context, o SessionOptions) (Session, error) {
	cfg := &server.SessionConfig{Tools: server.All}
	if o.Core {
		cfg.Tools = server.Core
	}
	if o.Workspace != "" {
		id, err := workspace.ParseID(o.Workspace)
		if err != nil {
			return nil, err
		}
		cfg.Workspace = id
	}
	return localSession{s.desk.Open(cfg), o.Client}, nil
}

func (s *localServer) Close() error { return errors.Join(s.repos.Close(), s.close()) }

type localSession struct {
	*server.Session
	client string
}

func (s localSession) Tools(context.Context) ([]Tool, error) {
	var list []Tool
	for _, l := range s.Session.Tools(server.Dotted) {
		list = append(list, Tool{l.Name, l.Input, l.Output})
	}
	return list, nil
}

// Call gives the reply the form that it has on MCP.
func (s localSession) Call(ctx context.Context, c Call) (Result, error) {
	r := s.Session.Call(ctx, server.Request{Tool: c.Tool, Arguments: c.Args, Key: c.Key, Client: s.client})
	res := Result{IsError: r.IsError(), Meta: map[string]json.RawMessage{}}
	for _, text := range r.Text {
		res.Blocks = append(res.Blocks, Block{Type: "text", Text: text})
	}
	if r.Data != nil {
		res.Blocks = append(res.Blocks, Block{Type: "resource", Bytes: r.Data.Bytes})
	}
	switch {
	case r.IsError():
		res.Meta[metaCode] = fmt.Appendf(nil, "%q", string(r.Code))
	case r.TextOnly:
		res.Meta[metaFacts] = r.Fields
	default:
		res.Structured = r.Fields
	}
	return res, nil
}

func (s localSession) Close() error { s.Session.Close(); return nil }

// TestBoundEndpointDoesNotCreate binds a session to a workspace that was never
// created: no call makes it but the explicit one, which may leave the path out.
//
// Cases: ID-7
func TestBoundEndpointDoesNotCreate(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.repo("app", map[string]string{"a": "a\n"})
	s := &localServer{project: r.project, desk: server.New(&server.Config{Project: r.project})}
	session, err := s.Session(t.Context(), SessionOptions{Workspace: "/agents/none"})
	must(t, err)
	for tool, args := range map[string]string{
		"readFile": `{"path":"/repos/app/a"}`, "writeFile": `{"path":"a","content":"x"}`, "git.status": `{}`, "git.commit": `{"message":"m"}`,
	} {
		got, err := session.Call(t.Context(), Call{Tool: tool, Args: json.RawMessage(args)})
		must(t, err)
		if got.Code() != "not_exist" || !strings.Contains(got.Text(0), "workspace.create") {
			t.Errorf("%s: got %s: %s", tool, got.Code(), got.Text(0))
		}
	}
	if n := r.records("/agents/none"); n != 0 {
		t.Errorf("%d records, want none", n)
	}
	if facts := ask(t, session, "workspace.create", `{}`); facts["workspace"] != "/agents/none" {
		t.Errorf("created %v", facts)
	}
	ask(t, session, "writeFile", `{"path":"a","content":"x"}`)
}
