package model

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"carrel.dev/workspace"
)

// prediction says how a call ends.
type prediction struct {
	kinds  []workspace.Kind // of a refusal that would be right; "" is success
	result result
	done   func(answer) error // the model follows the product's success
	died   func() error       // the model follows the death of the process
}

func refused(kinds ...workspace.Kind) prediction { return prediction{kinds: kinds} }

func succeeds(r result, done func()) prediction {
	return prediction{kinds: []workspace.Kind{""}, result: r, done: func(answer) error { done(); return nil }}
}

func (w *world) predict(s *space, o op) prediction {
	nothing := func() {}
	switch {
	case o.kind == "create":
		return w.predictCreate(s, o)
	case !s.born:
		return refused(workspace.NotExist)
	case s.deleted && o.kind == "end":
		return succeeds(result{}, nothing)
	case s.deleted:
		return refused(workspace.Closed)
	case o.kind == "serve":
		return w.predictServe(s, o)
	case o.kind != "commit" || o.text != "":
		w.settle(s)
	}
	l := w.layers(s)
	switch o.kind {
	case "end":
		if !o.flag && l.unsaved() > 0 {
			return refused(workspace.Conflict)
		}
		return succeeds(result{did: true}, func() { s.deleted = true })
	case "configure":
		return w.predictConfigure(s, l, o)
	case "commit":
		return w.predictCommit(s, l, o)
	}
	return w.predictChange(s, l, o)
}

func (w *world) predictCreate(s *space, o op) prediction {
	switch {
	case s.deleted, s.born && len(o.mounts) > 0:
		return refused(workspace.Exist)
	case s.born:
		return succeeds(result{}, func() {})
	}
	devs, wrong := w.plan(layers{nil, w.table(nil, nil, nil)}, s, o.mounts)
	if wrong != "" {
		return refused(wrong)
	}
	return succeeds(result{did: true}, func() { s.born, s.devs = true, devs })
}

func (w *world) predictServe(s *space, o op) prediction {
	l := w.layers(s)
	n, m := l.view()[o.path], l.t.route(o.path)
	e, draft := l.own(o.path)
	if !n.present() { // a draft where the workspace took away what was there
		draft = draft && e.hides() || l.covered(o.path)
	}
	return succeeds(result{}, func() {
		if m != nil && !n.isDir() || !n.present() {
			w.hosts[o.host].sessions(s).note(o.session, place{o.path, m.owner()}, version{n, draft})
		}
	})
}

func (w *world) predictConfigure(s *space, l layers, o op) prediction {
	devs, wrong := w.plan(l, s, o.mounts)
	if wrong != "" {
		return refused(wrong)
	}
	return succeeds(result{}, func() {
		s.devs = devs
		for p := range o.mounts {
			w.forget(s, p, true)
		}
	})
}

// predictChange stages a call that changes the upper.
func (w *world) predictChange(s *space, l layers, o op) prediction {
	if o.kind == "reset" {
		o.kind, o.path = "revert", "/"
	}
	known := w.hosts[o.host].sessions(s)
	u := upper{}
	maps.Copy(u, l.u)
	st := &stage{
		layers: layers{u, l.t}, served: known, caller: o.session, touched: map[string]bool{}, seen: map[string]bool{},
	}
	r, wrong := st.apply(o, true)
	if wrong != "" {
		return refused(wrong)
	}
	st.sweep()
	return succeeds(r, func() {
		s.upper = st.u
		for p := range l.u {
			if _, kept := st.u[p]; !kept {
				w.forget(s, p, false)
			}
		}
		if o.kind == "revert" && r.count > 0 {
			w.forget(s, o.path, false)
		}
		for _, m := range st.marks {
			if m.forget {
				known.forget(m.path, false)
			} else {
				known.note(o.session, place{m.path, st.t.route(m.path).owner()}, version{m.node, true})
			}
		}
	})
}

func (w *world) predictCommit(s *space, l layers, o op) prediction {
	in, wrong := w.commit(l, s, o)
	if in == nil {
		return refused(wrong...)
	}
	p := prediction{kinds: []workspace.Kind{""}}
	if o.fault != "" {
		p.kinds = []workspace.Kind{workspace.Internal}
	}
	p.done = func(got answer) error {
		if err := in.took(got.Commit, s.id); err != nil {
			return err
		}
		in.branch, in.made.id = got.Branch, got.Commit.Commit
		in.mount.repo.branches[in.branch] = in.made
		w.finish(s, in)
		return w.readBranch(in.mount.repo, in.branch)
	}
	p.died = func() error {
		s.pending = in
		if o.fault != "landed" {
			return nil
		}
		return w.landed(in, s)
	}
	return p
}

// took holds the product's commit against the model's.
func (in *landing) took(got workspace.Commit, id string) error {
	var paths []string
	for _, p := range got.Paths {
		paths = append(paths, string(p))
	}
	switch {
	case !slices.Equal(paths, in.paths):
		return differ("result", "committed paths: want %q, got %q", in.paths, paths)
	case got.Upstream != in.upstream || string(got.Mount) != in.mount.point || string(got.Repo) != in.mount.repo.path:
		return differ("result", "want a commit of %s with upstream %q, got %+v", in.mount.point, in.upstream, got)
	case in.branch != "" && got.Branch != in.branch, in.branch == "" && !isWorkBranch(got.Branch, id):
		return differ("result", "want a commit on %q, got one on %q", in.branch, got.Branch)
	}
	return nil
}

func isWorkBranch(branch, id string) bool {
	hex, ok := strings.CutPrefix(branch, "carrel/"+filepath.Base(id)+"-")
	return ok && len(hex) == 8
}

// landed finds the commit that a process left behind when it died.
func (w *world) landed(in *landing, s *space) error {
	r := in.mount.repo
	if in.branch == "" {
		names, err := filepath.Glob(filepath.Join(r.git.dir, "refs", "heads", "carrel", filepath.Base(s.id)+"-*"))
		if err != nil || len(names) != 1 {
			return differ("tree", "the first commit of %s is on the branches %q", s.id, names)
		}
		in.branch = "carrel/" + filepath.Base(names[0])
	}
	id, _, _, err := r.git.branch(in.branch)
	if err != nil {
		return err
	}
	if in.made.id, err = workspace.ParseOID(id); err != nil {
		return err
	}
	r.branches[in.branch] = in.made
	return w.readBranch(r, in.branch)
}

// readBranch holds a branch, as git reads it, against the model.
func (w *world) readBranch(r *repo, branch string) error {
	want := r.branches[branch]
	id, got, parents, err := r.git.branch(branch)
	switch {
	case err != nil:
		return differ("tree", "%s of %s: %v", branch, r.path, err)
	case want == nil && id == "":
		return nil
	case want == nil || id != want.id.String():
		return differ("tree", "%s of %s is at %q, want %+v", branch, r.path, id, want)
	case !maps.Equal(got, want.files):
		return differ("tree", "%s of %s: %s", branch, r.path, compare(want.files, got))
	case len(parents) != len(want.parents):
		return differ("tree", "%s of %s has the parents %q", branch, r.path, parents)
	}
	for i, p := range parents {
		if p != want.parents[i].id.String() {
			return differ("tree", "%s of %s has the parents %q", branch, r.path, parents)
		}
	}
	return nil
}
