package workspace

import (
	"context"
)

// Written is what a write did.
type Written struct {
	Path     Path
	Version  OID // of the content: its git blob id
	Size     int64
	Created  bool
	Replaced OID // the version that was there; zero if Created
	// ModeChanged says that the exec bit, or the kind of node, is another one now.
	ModeChanged bool
	// Count is what an edit said it replaced.
	Count int
}

// WriteOptions refine a write. The zero value writes whatever is there.
type WriteOptions struct {
	// Executable sets the exec bit or clears it; nil keeps that of an existing file.
	Executable *bool
	// IfVersion is the version that the file must have, "" if there must be none;
	// nil accepts any.
	IfVersion *string
}

// Write sets a file's content, making the directories above it. The bytes are
// kept exactly.
func (w *Workspace) Write(ctx context.Context, p Path, content []byte, o WriteOptions) (Written, error) {
	return w.rewrite(ctx, p, o, rewriting{op: "writeFile", edit: replaceBy(content)})
}

// rewriting is how a file gets its new content.
type rewriting struct {
	op   string
	edit Edit
	// onCurrent says that the new content is made of what is there now, so that
	// it undoes nothing, whatever the caller was served before.
	onCurrent bool
}

// Edit makes new content of what is there, with an empty Path if that is nothing,
// and of a file's content. It returns how much it replaced, for the answer, and
// may be called again on newer content.
type Edit func(cur Found, content []byte) (after []byte, count int, err error)

func replaceBy(content []byte) Edit {
	return func(Found, []byte) ([]byte, int, error) { return content, 0, nil }
}

// Edit replaces a file's content by what edit makes of it, in the chain of the
// workspace, so that no other change comes between.
func (w *Workspace) Edit(ctx context.Context, p Path, o WriteOptions, edit Edit) (Written, error) {
	return w.rewrite(ctx, p, o, rewriting{"edit", edit, true})
}

// TryEdit is Edit that only says what would come of it.
func (w *Workspace) TryEdit(ctx context.Context, p Path, o WriteOptions, edit Edit) (Written, error) {
	s, err := w.Snapshot(ctx)
	if err != nil {
		return Written{}, err
	}
	return newStage(w, s).rewrite(ctx, p, o, rewriting{"edit", edit, true})
}

func (w *Workspace) rewrite(ctx context.Context, p Path, o WriteOptions, how rewriting) (Written, error) {
	return apply(ctx, w, how.op, func(ctx context.Context, st *stage) (Written, error) { return st.rewrite(ctx, p, o, how) })
}

func (st *stage) rewrite(ctx context.Context, p Path, o WriteOptions, how rewriting) (Written, error) {
	m, cur, err := st.now.guardNew(ctx, p)
	if err != nil {
		return Written{}, err
	}
	if err := writableKind(cur); err != nil {
		return Written{}, err
	}
	if err := checkVersion(p, cur, o.IfVersion); err != nil {
		return Written{}, err
	}
	var old []byte
	if cur.Kind == File {
		if old, err = st.now.Content(ctx, cur); err != nil {
			return Written{}, err
		}
	}
	content, count, err := how.edit(cur, old)
	if err != nil {
		return Written{}, err
	}
	if how.onCurrent || o.IfVersion != nil {
		st.sees(p)
	}
	mode := cur.Mode
	if cur.Kind != File {
		mode = ModeFile
	}
	if o.Executable != nil {
		mode = ModeFile
		if *o.Executable {
			mode = ModeExecutable
		}
	}
	r, err := st.setContent(ctx, m, cur, p, content, mode)
	r.Count = count
	return r, err
}

// setContent sets a file or symlink with its content at p, where cur stands now.
func (st *stage) setContent(ctx context.Context, m *Mount, cur Found, p Path, content []byte, mode Mode) (Written, error) {
	if most := st.w.live.host.cfg.Limits.FileBytes; int64(len(content)) > most {
		return Written{}, Errorf(Limit, "content of %d bytes is larger than %d", len(content), most).At(p.String())
	}
	id, err := BlobID(content)
	if err != nil {
		return Written{}, err
	}
	e := Entry{Kind: mode.Kind(), OID: id, Size: int64(len(content)), Mode: mode, Owner: m.Owner()}
	if err := st.put(ctx, m, p, e); err != nil {
		return Written{}, err
	}
	if _, kept := st.now.entry(p, m); kept {
		if err := st.hold(ctx, id, content); err != nil {
			return Written{}, err
		}
	}
	return Written{
		Path: p, Version: id, Size: e.Size, Created: cur.Path == "", Replaced: cur.OID,
		ModeChanged: cur.Path != "" && cur.Mode != mode,
	}, nil
}

// put sets an entry with its base, or drops what is there if the lower has the
// very same and shows it.
func (st *stage) put(ctx context.Context, m *Mount, p Path, e Entry) error {
	base, err := st.baseFor(ctx, p, m)
	if err != nil {
		return err
	}
	n, err := st.now.lowerNode(ctx, p, m)
	if err != nil {
		return err
	}
	st.knows(p, e.Node())
	if n.present() && (Node{n.Mode.Canonical(), n.OID}) == e.Node() && !st.coveredAbove(p, m) && !st.landing(p) {
		st.set(p, nil)
		return nil
	}
	if base.Node == e.Node() && !st.coveredAbove(p, m) && !st.landing(p) {
		// Nothing is changed here, and what the branch has got since wins.
		st.set(p, nil)
		return nil
	}
	e.Base = base
	st.set(p, &e)
	return nil
}

// coveredAbove reports whether an entry above p hides what the lower has at p.
func (st *stage) coveredAbove(p Path, m *Mount) bool {
	_, _, covered := st.now.cover(p, m)
	return covered
}

func writableKind(f Found) error {
	switch f.Kind {
	case Dir:
		return Errorf(IsDir, "is a directory").At(f.Path.String()).Hinted("Name a file below it.")
	case Submodule:
		return Errorf(Permission, "is a submodule, whose files are in a repository of their own").At(f.Path.String())
	}
	return nil
}

// checkVersion holds what the caller believes against what is there.
func checkVersion(p Path, cur Found, want *string) error {
	if want == nil {
		return nil
	}
	have := ""
	if cur.Path != "" {
		have = cur.OID.String()
	}
	switch {
	case *want == have:
		return nil
	case have == "":
		return Errorf(Conflict, "the file does not exist, and not with version %s", clip(*want)).At(p.String()).
			Hinted("Leave ifVersion out, or pass an empty one, to create it.")
	case *want == "":
		return Errorf(Conflict, "the file exists, with version %s", have).At(p.String()).
			Hinted("Read it with `readFile` and pass that version to replace it.")
	}
	return Errorf(Conflict, "the file has version %s, not %s", have, clip(*want)).At(p.String()).
		Hinted("Read it again with `readFile` and decide on what it has now.")
}

// Symlink makes a symbolic link with any target, which nothing follows.
func (w *Workspace) Symlink(ctx context.Context, p Path, target string) (Written, error) {
	return apply(ctx, w, "symlink", func(ctx context.Context, st *stage) (Written, error) { return st.symlink(ctx, p, target) })
}

func (st *stage) symlink(ctx context.Context, p Path, target string) (Written, error) {
	if target == "" {
		return Written{}, Errorf(Invalid, "a link needs a target").At(p.String())
	}
	m, cur, err := st.now.guardNew(ctx, p)
	if err == nil {
		err = writableKind(cur)
	}
	if err != nil {
		return Written{}, err
	}
	return st.setContent(ctx, m, cur, p, []byte(target), ModeSymlink)
}

// Mkdir makes a directory with those above it and reports whether it was not
// there. Git does not keep directories: it is never committed.
func (w *Workspace) Mkdir(ctx context.Context, p Path) (created bool, err error) {
	return apply(ctx, w, "mkdir", func(ctx context.Context, st *stage) (bool, error) { return st.mkdir(ctx, p) })
}

func (st *stage) mkdir(ctx context.Context, p Path) (created bool, err error) {
	if f, err := st.now.Lookup(ctx, p); err == nil && f.Kind == Dir {
		return false, nil
	}
	m, cur, err := st.now.guardNew(ctx, p)
	if err != nil {
		return false, err
	}
	if cur.Path != "" {
		return false, Errorf(Exist, "a %s is there", cur.Kind).At(p.String())
	}
	return true, st.setDir(ctx, p, m)
}

// setDir sets a directory that stands by itself. Over a whiteout, and below one,
// it keeps hiding what that hid.
func (st *stage) setDir(ctx context.Context, p Path, m *Mount) error {
	e := Entry{Kind: Dir, Mode: ModeDir, Owner: m.Owner()}
	if _, ok := st.now.entry(p, m); ok || st.coveredAbove(p, m) {
		var err error
		if e.Base, err = st.baseFor(ctx, p, m); err != nil {
			return err
		}
	}
	st.set(p, &e)
	return nil
}

// landing reports whether a commit that is under way holds what p had. It may
// come to the lower at any moment, so that p needs an entry of its own until the
// commit's end is recorded.
func (st *stage) landing(p Path) bool { return st.inFlight[p] }

// Revert drops the upper at and below a path and returns how many entries that
// were.
func (w *Workspace) Revert(ctx context.Context, p Path) (int, error) {
	return w.drop(ctx, p, "revert")
}

// Reset drops all of the upper, except what Carrel keeps for itself.
func (w *Workspace) Reset(ctx context.Context) (int, error) { return w.drop(ctx, Root, "reset") }

func (w *Workspace) drop(ctx context.Context, p Path, op string) (int, error) {
	return apply(ctx, w, op, func(_ context.Context, st *stage) (int, error) {
		after := st.now.State.Upper.WithoutTree(p)
		n := st.now.State.Upper.Len() - after.Len()
		if n == 0 {
			return 0, st.now.deletedAbove(p)
		}
		if st.first.hides(p) {
			for _, q := range st.now.State.Upper.droppable(p) {
				st.set(q, nil)
			}
		} else {
			st.drops = []Path{p} // one record, however much it is
		}
		st.forgets(p)
		st.now = st.now.with(after)
		return n, nil
	})
}

// deletedAbove is why a revert of p would change nothing although p is gone: a
// directory above it was deleted. It is nil if that is not so.
func (s *Snapshot) deletedAbove(p Path) error {
	_, d, covered := s.cover(p, s.Table.Route(p))
	if !covered {
		return nil
	}
	return Errorf(Conflict, "is gone with %s, which was deleted or replaced as a whole", d).At(p.String()).
		Hinted("Use `revert` on %s.", d)
}
