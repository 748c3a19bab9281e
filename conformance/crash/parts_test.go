package crash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"carrel.dev/conformance"
	"carrel.dev/mounts"
	"carrel.dev/persistence/datadir"
	"carrel.dev/persistence/dir"
	"carrel.dev/persistence/spill"
	"carrel.dev/persistence/sqlite"
	"carrel.dev/server"
	"carrel.dev/workspace"
)

// fault is called at every step, which it names "part: step". What it returns
// fails the step.
type fault func(point string) error

// in is the fault of a part.
func (f fault) in(part string) func(point string) error {
	return func(point string) error { return f(part + ": " + point) }
}

// parts are a session in this process, on the parts that the program stands on.
type parts struct {
	*server.Session
	close func() error
}

// wire opens a data directory as the program does.
func wire(ctx context.Context, path string, f fault) (*parts, error) {
	data, err := datadir.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	large, err := dir.Open(data.Blobs())
	if err != nil {
		return nil, err
	}
	store, err := sqlite.Open(ctx, data.Database(), &sqlite.Config{Large: large.Has, Fault: f.in("store")})
	if err != nil {
		return nil, err
	}
	repos := mounts.New(&mounts.Config{ManagedRoot: data.Repos(), Fault: f.in("lane")})
	host, err := workspace.NewHost(ctx, &workspace.Config{
		Store: answering{store, f.in("store")}, Blobs: spill.New(store, putting{large, f.in("content")}, nil),
		Trees: repos, Committer: repos, Ignorer: repos,
		Processes: data, DataID: data.ID(), Fault: f.in("workspace"),
	})
	if err != nil {
		return nil, err
	}
	project, err := host.Project(ctx, "default")
	if err != nil {
		return nil, err
	}
	session := server.New(&server.Config{Project: project}).Open(&server.SessionConfig{Tools: server.All})
	return &parts{session, func() error { return errors.Join(repos.Close(), store.Close(), data.Close()) }}, nil
}

// Call implements conformance.Session.
func (p *parts) Call(ctx context.Context, c conformance.Call) (conformance.Result, error) {
	r := p.Session.Call(ctx, server.Request{Tool: c.Tool, Arguments: c.Args, Key: c.Key, Client: "crash"})
	res := conformance.Result{IsError: r.IsError(), Structured: r.Fields, Meta: map[string]json.RawMessage{}}
	for _, text := range r.Text {
		res.Blocks = append(res.Blocks, conformance.Block{Type: "text", Text: text})
	}
	if r.IsError() {
		res.Meta["code"] = fmt.Appendf(nil, "%q", string(r.Code))
	}
	return res, nil
}

// Tools implements conformance.Session. Nobody asks here.
func (p *parts) Tools(context.Context) ([]conformance.Tool, error) { return nil, nil }

// Close implements conformance.Session.
func (p *parts) Close() error {
	p.Session.Close()
	return p.close()
}

// answering is a store whose appends have a step after the last one of its own.
type answering struct {
	*sqlite.Store
	fault func(point string) error
}

// answered is reached when an append has returned and nothing is published.
const answered = "answered"

func (a answering) Append(ctx context.Context, batches ...workspace.Batch) ([]workspace.Record, error) {
	recs, err := a.Store.Append(ctx, batches...)
	if err == nil {
		err = a.fault(answered)
	}
	return recs, err
}

// putting is a store of larger contents with two steps.
type putting struct {
	workspace.Blobs
	fault func(point string) error
}

// The steps of putting a larger content.
const (
	halfPut = "half put"
	wasPut  = "put"
)

func (p putting) Put(ctx context.Context, r io.Reader, size int64) (workspace.OID, error) {
	first := io.LimitReader(r, size/2)
	id, err := p.Blobs.Put(ctx, io.MultiReader(first, pause{p.fault}, r), size)
	if err == nil {
		err = p.fault(wasPut)
	}
	return id, err
}

// pause is an empty reader at which half of a content has been read.
type pause struct{ fault func(point string) error }

func (p pause) Read([]byte) (int, error) {
	if err := p.fault(halfPut); err != nil {
		return 0, err
	}
	return 0, io.EOF
}
