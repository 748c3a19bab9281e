package server

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// MaxWatched is how many resources a session may watch at a time.
const MaxWatched = 256

// The pace of a watch. What happens in this process is looked at without delay,
// unless there was a look a moment ago.
const (
	watchRest  = 100 * time.Millisecond // from one look to the next, so that a watcher is told no more often
	watchPoll  = 150 * time.Millisecond // after that: until another process's records are asked for
	watchHeads = time.Second            // until everything is looked at, for branches that others move
	watchLook  = 10 * time.Second       // for one look, after which it has failed
	// watchShare is how many times as long as a look at everything takes, until
	// the next one.
	watchShare = 10
)

// watch notices that what sessions watch has changed. It runs while anything is
// watched.
type watch struct {
	desk *Desk
	wake chan struct{} // has an item when there may be something to take in

	running sync.Mutex // guards stop; taken before mu and before any lock of the host
	stop    func()     // ends what runs; nil if nothing does

	mu    sync.Mutex // guards what follows; taken last
	views map[*Session]map[*view]struct{}
}

// view is one thing that a session watches.
type view struct {
	session *Session
	look    func(context.Context) (seen, error)
	told    func()
	list    bool // of the mounts, not of what stands at a path

	// The watch's mu guards what follows.
	last    seen   // what it is read from
	sight   string // how that looked
	ready   bool   // it was looked at
	due     bool   // to be looked at
	touched bool   // by a change after which it may look as before: somebody may have read it in between
	gone    bool
}

// seen is what somebody saw at a URI, and where.
type seen struct {
	tools.Sight
	workspace workspace.ID // "" for none
	uri       tools.URI
}

// Watch calls told after what the session sees at a URI has changed, be that
// something or nothing, until stop is called or the session ends. It is called at
// most once in a tenth of a second, after the last change in any case, and must not
// block. Whatever the reason for which a resource cannot be read now, it can be
// watched, if only the URI is one and the workspace is there for the session.
func (s *Session) Watch(ctx context.Context, a Asked, told func()) (stop func(), err error) {
	stop, err = s.watch(ctx, a, told)
	return stop, s.refuse(ctx, a, err)
}

func (s *Session) watch(ctx context.Context, a Asked, told func()) (stop func(), err error) {
	u, err := tools.ParseURI(a.URI)
	if err != nil {
		return nil, err
	}
	w, err := s.open(ctx, u.Workspace, a.Client)
	if err == nil {
		err = u.Check()
	}
	if err != nil {
		return nil, err
	}
	look := func(ctx context.Context) (seen, error) {
		at := seen{uri: u}
		w, err := s.open(ctx, u.Workspace, a.Client)
		if err != nil {
			at.Many, at.Digest = true, string(workspace.KindOf(err))
			return at, ctx.Err()
		}
		at.workspace = w.ID()
		at.Sight, err = tools.Look(ctx, w, u)
		return at, err
	}
	return s.desk.watch.add(ctx, &view{session: s, look: look, told: told, last: seen{uri: u, workspace: w.ID()}})
}

// WatchOffers is Watch for the list of Offers.
func (s *Session) WatchOffers(ctx context.Context, a Asked, told func()) (stop func(), err error) {
	look := func(ctx context.Context) (at seen, err error) {
		at.Many = true
		if at.workspace = s.binding.now(); at.workspace == "" {
			return at, nil
		}
		w, err := s.open(ctx, at.workspace, a.Client)
		if err != nil {
			at.Digest = string(workspace.KindOf(err))
			return at, ctx.Err()
		}
		at.Sight, err = tools.LookAtMounts(ctx, w)
		return at, err
	}
	stop, err = s.desk.watch.add(ctx, &view{session: s, look: look, told: told, list: true, last: seen{workspace: s.binding.now()}})
	return stop, s.refuse(ctx, a, err)
}

// add begins to watch: what happens from here on is noticed.
func (w *watch) add(ctx context.Context, v *view) (stop func(), err error) {
	if err := w.enter(v); err != nil {
		return nil, err
	}
	stop = func() { w.remove(v.session, v) }
	if err := w.see(ctx, v, false); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// enter adds a view, and begins to run with the first.
func (w *watch) enter(v *view) error {
	w.running.Lock()
	defer w.running.Unlock()
	if !w.insert(v) {
		return workspace.Errorf(workspace.Limit, "the session watches %d resources, which is the most", MaxWatched).
			Hinted("Unsubscribe from some first.")
	}
	if w.stop == nil {
		ctx, cancel := context.WithCancel(context.Background())
		ignore := w.desk.cfg.Project.Host().Watch(w.note, w.hurry)
		w.stop = func() { cancel(); ignore() }
		go w.run(ctx)
	}
	return nil
}

func (w *watch) insert(v *view) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	own := w.views[v.session]
	if len(own) >= MaxWatched {
		return false
	}
	if own == nil {
		own = map[*view]struct{}{}
		w.views[v.session] = own
	}
	own[v] = struct{}{}
	return true
}

// remove ends views of a session, all if none is named, and what runs with the
// last of all.
func (w *watch) remove(s *Session, which ...*view) {
	w.running.Lock()
	defer w.running.Unlock()
	w.mu.Lock()
	for v := range w.views[s] {
		if len(which) == 0 || slices.Contains(which, v) {
			v.gone = true
			delete(w.views[s], v)
		}
	}
	if len(w.views[s]) == 0 {
		delete(w.views, s)
	}
	last := len(w.views) == 0
	w.mu.Unlock()
	if last && w.stop != nil {
		w.stop()
		w.stop = nil
	}
}

// drop ends all that a session watches.
func (w *watch) drop(s *Session) { w.remove(s) }

// rebound notes that a session may be bound to another workspace.
func (w *watch) rebound(s *Session) {
	w.mark(func(v *view) (due, touched bool) { return v.session == s, false })
}

// hurry has what happened taken in now.
func (w *watch) hurry() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// mark notes which views are to be looked at.
func (w *watch) mark(which func(*view) (due, touched bool)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	some := false
	for _, own := range w.views {
		for v := range own {
			due, touched := which(v)
			v.due, v.touched = v.due || due, v.touched || touched
			some = some || v.due
		}
	}
	if some {
		w.hurry()
	}
}

// note notes what a record may have changed.
func (w *watch) note(r workspace.Record) {
	stream := r.Stream.Name
	ours := r.Stream.Project == w.desk.cfg.Project.Name()
	everything := r.Type == ""
	repos := ours && stream == workspace.ProjectStream && strings.HasPrefix(r.Type, "repo/")
	w.mark(func(v *view) (due, touched bool) {
		switch {
		case everything || repos:
			return true, false
		case !ours:
			return false, false
		case stream == string(v.last.workspace):
			return true, v.last.Upper && r.Touches(v.last.uri.Path, v.session.cfg.Grants)
		case v.list:
			return false, false
		}
		return stream == string(v.last.Repo) || v.last.Many && strings.HasPrefix(stream, "/repos/"), false
	})
}

// run looks at what is due until nothing is watched any more.
func (w *watch) run(ctx context.Context) {
	everything := time.Now().Add(watchHeads)
	for pause(ctx, nil, watchRest) && pause(ctx, w.wake, watchPoll) {
		if _, err := w.desk.cfg.Project.Catalog(ctx); err != nil && ctx.Err() == nil {
			w.desk.cfg.Log.Warn("changes are not followed", "err", err)
		}
		start := time.Now()
		all := start.After(everything)
		if all {
			w.mark(func(*view) (due, touched bool) { return true, false })
		}
		for _, v := range w.takeDue() {
			if w.see(ctx, v.view, v.touched) != nil {
				w.mark(func(o *view) (due, touched bool) { return o == v.view, o == v.view && v.touched })
			}
		}
		if end := time.Now(); all {
			everything = end.Add(max(watchHeads, watchShare*end.Sub(start)))
		}
	}
}

// pause waits for a time, or until early has an item, and reports whether to go on.
func pause(ctx context.Context, early <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-early:
	case <-t.C:
	}
	return true
}

// dueView is a view that is to be looked at.
type dueView struct {
	*view
	touched bool
}

// takeDue returns the views that are due, which they are no more.
func (w *watch) takeDue() []dueView {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []dueView
	for _, own := range w.views {
		for v := range own {
			if v.due && v.ready {
				all = append(all, dueView{v, v.touched})
				v.due, v.touched = false, false
			}
		}
	}
	return all
}

// see looks at a view, and tells if it looks different or was touched. The first
// look tells nothing. The error is that the look was given up.
func (w *watch) see(ctx context.Context, v *view, touched bool) (err error) {
	ctx, cancel := context.WithTimeout(ctx, watchLook)
	defer cancel()
	at, err := w.lookSafely(ctx, v)
	if err != nil {
		return err
	}
	sight := fmt.Sprintf("%s %s", at.workspace, at.Digest)
	w.mu.Lock()
	tells := v.ready && !v.gone && (touched || sight != v.sight)
	v.last, v.sight, v.ready = at, sight, true
	w.mu.Unlock()
	if tells {
		v.told()
	}
	return nil
}

// lookSafely is the look of a view. A panic, which would end the process, is like
// any other reason not to see anything.
func (w *watch) lookSafely(ctx context.Context, v *view) (at seen, err error) {
	defer func() {
		if p := recover(); p != nil {
			w.desk.cfg.Log.Error("a look panicked", "session", v.session.id, "panic", p, "stack", string(debug.Stack()))
			at.Digest, at.Many = string(workspace.Internal), true
		}
	}()
	return v.look(ctx)
}
