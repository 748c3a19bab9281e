package model

import (
	"context"

	"carrel.dev/workspace"
)

// answer is what the product says of a call.
type answer struct {
	result
	workspace.Commit // of a commit
}

// call does a step on a workspace with the product.
func (w *world) call(ctx context.Context, o op) (answer, error) {
	h := w.hosts[o.host]
	id, err := workspace.ParseID(o.space)
	if err != nil {
		return answer{}, err
	}
	caller := workspace.Caller{Session: o.session, Actor: workspace.Signature{Name: "Agent", Email: "agent@example.com"}}
	switch o.kind {
	case "create":
		did, err := h.project.Create(ctx, caller, workspace.CreateRequest{ID: id, Mounts: patches(o.mounts)})
		return answer{result: result{did: did}}, err
	case "end":
		did, err := h.project.Delete(ctx, caller, id, o.flag)
		return answer{result: result{did: did}}, err
	}
	ws, err := h.project.Workspace(ctx, id, caller)
	if err != nil {
		return answer{}, err
	}
	switch o.kind {
	case "serve":
		return answer{}, serve(ctx, ws, workspace.Path(o.path))
	case "configure":
		_, err := ws.Configure(ctx, patches(o.mounts))
		return answer{}, err
	case "commit":
		h.dies = o.fault
		defer func() { h.dies = "" }()
		c, err := ws.Commit(ctx, workspace.CommitRequest{
			Mount: workspace.Path(o.path), Message: o.text, Paths: paths(o.paths), Force: o.force, AllowEmptyTree: o.flag,
		})
		return answer{Commit: c}, err
	case "batch":
		var steps []workspace.Step
		for _, item := range o.steps {
			steps = append(steps, w.item(item))
		}
		return answer{}, ws.Batch(ctx, steps)
	}
	r, err := w.change(ctx, ws, o)
	return answer{result: r}, err
}

func serve(ctx context.Context, ws *workspace.Workspace, p workspace.Path) error {
	s, err := ws.Snapshot(ctx)
	if err != nil {
		return err
	}
	f, err := s.Lookup(ctx, p)
	if workspace.KindOf(err) == workspace.NotExist {
		ws.Serve(s, p, workspace.Found{})
		return nil
	}
	if err == nil && f.Kind != workspace.Dir {
		ws.Serve(s, p, f)
	}
	return err
}

// change does a call that changes the upper.
func (w *world) change(ctx context.Context, ws *workspace.Workspace, o op) (result, error) {
	p, to := workspace.Path(o.path), workspace.Path(o.to)
	switch o.kind {
	case "write":
		r, err := ws.Write(ctx, p, []byte(o.text), w.options(o))
		return result{did: r.Created, replaced: r.Replaced}, err
	case "edit":
		r, err := ws.Edit(ctx, p, w.options(o), extend(o))
		return result{did: r.Created, replaced: r.Replaced}, err
	case "symlink":
		r, err := ws.Symlink(ctx, p, o.text)
		return result{did: r.Created, replaced: r.Replaced}, err
	case "mkdir":
		did, err := ws.Mkdir(ctx, p)
		return result{did: did}, err
	case "delete":
		r, err := ws.Delete(ctx, p, o.flag)
		return result{did: r.Deleted, count: r.Count}, err
	case "copy":
		r, err := ws.Copy(ctx, p, to, o.flag)
		return result{did: r.Replaced, count: r.Count}, err
	case "move":
		r, err := ws.Move(ctx, p, to, o.flag)
		return result{did: r.Replaced, count: r.Count}, err
	case "revert":
		n, err := ws.Revert(ctx, p)
		return result{count: n}, err
	case "reset":
		n, err := ws.Reset(ctx)
		return result{count: n}, err
	}
	panic("no such call: " + o.kind)
}

// item is a call as part of a batch.
func (w *world) item(o op) workspace.Step {
	p, to := workspace.Path(o.path), workspace.Path(o.to)
	switch o.kind {
	case "write":
		return workspace.WriteStep(p, []byte(o.text), w.options(o))
	case "edit":
		return workspace.EditStep(p, w.options(o), extend(o))
	case "symlink":
		return workspace.SymlinkStep(p, o.text)
	case "mkdir":
		return workspace.MkdirStep(p)
	case "delete":
		return workspace.DeleteStep(p, o.flag)
	case "copy", "move":
		return workspace.TransferStep(p, to, o.flag, o.kind == "move")
	case "revert":
		return workspace.RevertStep(p)
	}
	panic("no such item: " + o.kind)
}

func extend(o op) workspace.Edit {
	return func(cur workspace.Found, content []byte) ([]byte, int, error) {
		if cur.Path == "" {
			return nil, 0, workspace.NotExist
		}
		return append(append([]byte{}, content...), o.text...), 1, nil
	}
}

func (w *world) options(o op) workspace.WriteOptions {
	var opts workspace.WriteOptions
	if o.exec != "" {
		yes := o.exec == "yes"
		opts.Executable = &yes
	}
	if o.version != "" {
		v := o.asked
		opts.IfVersion = &v
	}
	return opts
}

func paths(list []string) []workspace.Path {
	var paths []workspace.Path
	for _, p := range list {
		paths = append(paths, workspace.Path(p))
	}
	return paths
}

func patches(mounts map[string]patch) map[string]workspace.MountPatch {
	if mounts == nil {
		return nil
	}
	all := map[string]workspace.MountPatch{}
	for p, fields := range mounts {
		all[p] = nil
		if fields == nil {
			continue
		}
		all[p] = workspace.MountPatch{}
		for name, v := range fields {
			all[p][name] = nil
			if v != "" {
				all[p][name] = &v
			}
		}
	}
	return all
}
