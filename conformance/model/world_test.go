package model

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"carrel.dev/mounts"
	"carrel.dev/persistence/memory"
	"carrel.dev/persistence/sqlite"
	"carrel.dev/workspace"
)

// world is the model and the product side by side.
type world struct {
	dir    string
	repos  map[string]*repo
	spaces map[string]*space
	hosts  [2]*host
	stores stores
	clock  int64
	ids    int
	kept   []kept
	check  checking // how much is looked at after a step
	steps  int
}

// checking is how much is looked at after a step, besides its result.
type checking int

const (
	usual checking = iota // what it changed, now and then everything
	all                   // everything
	none                  // nothing
)

// host is one process of the product, and what the model knows of its memory.
type host struct {
	project *workspace.Project
	served  map[string]served // by workspace
	dies    string            // the fault point at which the next commit's process dies
	close   func() error
}

// stores opens the store of an episode, once more for every process.
type stores func(ctx context.Context, dir string) (workspace.StoreWithFeed, workspace.Blobs, func() error, error)

// inMemory is one store for all.
func inMemory() stores {
	s := memory.New(nil)
	return func(context.Context, string) (workspace.StoreWithFeed, workspace.Blobs, func() error, error) {
		return s, s, func() error { return nil }, nil
	}
}

// inDatabase opens the database again every time.
func inDatabase() stores {
	return func(ctx context.Context, dir string) (workspace.StoreWithFeed, workspace.Blobs, func() error, error) {
		s, err := sqlite.Open(ctx, filepath.Join(dir, "carrel.db"), nil)
		if err != nil {
			return nil, nil, nil, err
		}
		return s, s, s.Close, nil
	}
}

const dataID = "model"

func newWorld(ctx context.Context, dir string, s stores) (*world, error) {
	w := &world{dir: dir, repos: map[string]*repo{}, spaces: map[string]*space{}, stores: s}
	for i := range w.hosts {
		if err := w.open(ctx, i); err != nil {
			return w, err
		}
	}
	return w, nil
}

func (w *world) close() error {
	var errs []error
	for _, h := range w.hosts {
		if h != nil {
			errs = append(errs, h.close())
		}
	}
	for _, r := range w.repos {
		errs = append(errs, r.git.close())
	}
	return errors.Join(errs...)
}

// errDied stands for the death of a process.
var errDied = errors.New("the process died")

// open starts a process.
func (w *world) open(ctx context.Context, i int) error {
	h, err := w.start(ctx, w.stores)
	w.hosts[i] = h
	return err
}

// start makes a process on some store.
func (w *world) start(ctx context.Context, s stores) (*host, error) {
	store, blobs, closeStore, err := s(ctx, w.dir)
	if err != nil {
		return nil, err
	}
	lane := mounts.New(nil)
	h := &host{served: map[string]served{}, close: func() error { return errors.Join(lane.Close(), closeStore()) }}
	cfg := &workspace.Config{
		Store: store, Blobs: blobs, Trees: lane, Committer: lane, Ignorer: lane, DataID: dataID,
		Now:       func() time.Time { w.clock++; return time.Unix(1_700_000_000+w.clock, 0) },
		NewID:     func() string { w.ids++; return fmt.Sprintf("id-%d", w.ids) },
		IdleAfter: 3 * time.Minute, // some calls: every look at the clock is a second
		Fault: func(point string) error {
			if h.dies == point {
				return errDied
			}
			return nil
		},
	}
	product, err := workspace.NewHost(ctx, cfg)
	if err == nil {
		h.project, err = product.Project(ctx, "p")
	}
	return h, err
}

// layers are a workspace as it is now.
func (w *world) layers(s *space) layers {
	return layers{s.upper, w.table(s.devs, s.upper, s.work)}
}

// difference is where the product is not as the model.
type difference struct{ kind, text string }

func (d *difference) Error() string { return d.kind + ": " + d.text }

func differ(kind, format string, args ...any) error {
	return &difference{kind, fmt.Sprintf(format, args...)}
}

// step does one step on both sides and holds them against each other.
func (w *world) step(ctx context.Context, o op) error {
	w.steps++
	switch o.kind {
	case "repo", "policy", "remove", "outside", "merge", "reset-branch", "delete-branch", "repack":
		if err := w.beside(ctx, o); err != nil {
			return err
		}
		return w.look(ctx, nil)
	case "restart":
		if err := w.restart(ctx, o.host); err != nil {
			return err
		}
		return w.look(ctx, nil)
	case "snapshot":
		return w.keep(ctx, o)
	case "age":
		return w.age(ctx, o)
	}
	s := w.spaces[o.space]
	if s == nil {
		s = &space{id: o.space}
		w.spaces[o.space] = s
	}
	if err := w.ask(ctx, s, o); err != nil {
		return err
	}
	return w.look(ctx, s)
}

// ask does a step on a workspace.
func (w *world) ask(ctx context.Context, s *space, o op) error {
	o = w.layers(s).resolve(o)
	unfinished := s.pending != nil // the call records its end, even if it is refused
	before := w.records(ctx, o)
	want := w.predict(s, o)
	got, err := w.call(ctx, o)
	kind := workspace.KindOf(err)
	switch {
	case !slices.Contains(want.kinds, kind):
		return differ("refusal", "want one of %q, got %q: %v", want.kinds, kind, err)
	case errors.Is(err, errDied):
		return want.died()
	case err != nil:
		if now := w.records(ctx, o); now != before && !unfinished {
			return differ("refusal", "refused as %q, with %d records where %d were", kind, now, before)
		}
		return nil
	case o.kind != "commit" && got.result != want.result:
		return differ("result", "want %+v, got %+v", want.result, got.result)
	}
	return want.done(got)
}

// records is how many records a workspace has.
func (w *world) records(ctx context.Context, o op) workspace.Seq {
	ws, err := w.hosts[o.host].project.Workspace(ctx, workspace.ID(o.space), workspace.Caller{})
	if err != nil {
		return 0
	}
	s, err := ws.Snapshot(ctx)
	if err != nil {
		return 0
	}
	return s.State.Seq
}

// restart ends a process and starts another one.
func (w *world) restart(ctx context.Context, i int) error {
	w.kept = slices.DeleteFunc(w.kept, func(k kept) bool { return k.host == i })
	if err := w.hosts[i].close(); err != nil {
		return err
	}
	return w.open(ctx, i)
}

// age gives a workspace many records, so that checkpoints come into play.
func (w *world) age(ctx context.Context, o op) error {
	check := w.check
	w.check = none
	defer func() { w.check = check }()
	for i := range o.count {
		each := op{kind: "write", space: o.space, host: o.host, session: o.session, path: o.path, text: fmt.Sprint(i % 2)}
		if err := w.step(ctx, each); err != nil {
			return err
		}
	}
	return nil
}

// compare says how two maps differ.
func compare(want, got map[string]node) string {
	var b strings.Builder
	for _, p := range sorted(want) {
		if got[p] != want[p] {
			fmt.Fprintf(&b, "\n    %s: want %v, got %v", p, want[p], got[p])
		}
	}
	for _, p := range sorted(got) {
		if _, ok := want[p]; !ok {
			fmt.Fprintf(&b, "\n    %s: want nothing, got %v", p, got[p])
		}
	}
	return b.String()
}

// tempDir is a directory in memory if the machine has one, since the product
// waits for the disk.
func tempDir() (string, error) {
	dir, err := os.MkdirTemp("/dev/shm", "carrel-model-")
	if err != nil {
		dir, err = os.MkdirTemp("", "carrel-model-")
	}
	return dir, err
}
