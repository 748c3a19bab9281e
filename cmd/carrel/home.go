package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"

	"carrel.dev/cmd/carrel/traced"
	"carrel.dev/mounts"
	"carrel.dev/persistence/datadir"
	"carrel.dev/persistence/spill"
	"carrel.dev/persistence/sqlite"
	"carrel.dev/server/mcpwire"
	"carrel.dev/workspace"
)

// home is a data directory that is open, with all that stands on it.
type home struct {
	path   string
	blobs  string // where larger contents are, "" for the data directory
	host   *workspace.Host
	repos  *mounts.Repos
	tokens workspace.Tokens
	keep   mcpwire.Keeper
	feed   workspace.Feed
	log    *slog.Logger
	data   *datadir.Dir
	large  *bodies
	close  []func() error // in the order of opening
}

// homeOptions say how a data directory is used.
type homeOptions struct {
	// create makes a data directory that is not there. A command that registers
	// nothing would find nothing in it.
	create bool
	// asIs leaves what dead processes have left, which is cleaned up otherwise.
	asIs   bool
	limits workspace.Limits // of what is served; default: those of the contract
	cache  int64            // bytes of memory for what is read; default: that of mounts
	// unbounded results are for a terminal, which takes any size.
	unbounded bool
	// tracer, if not nil, makes spans of what is done for requests.
	tracer *traced.Tracer
}

// unboundedResult is the size of a result that nobody bounds, in bytes.
const unboundedResult = 1 << 30

// dataPath is the data directory that the flags and the environment name.
func (c *cli) dataPath() (string, error) {
	if c.data != "" {
		return c.abs(c.data), nil
	}
	path, err := datadir.Default(c.getenv)
	return c.abs(path), err
}

// open opens the data directory and wires what stands on it.
func (c *cli) open(ctx context.Context, o homeOptions) (*home, error) {
	log, err := c.logger()
	if err != nil {
		return nil, err
	}
	path, err := c.dataPath()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); !o.create && errors.Is(err, fs.ErrNotExist) {
		return nil, noData(path)
	}
	h := &home{path: path, blobs: c.blobsLocation(), log: log}
	if err := h.wire(ctx, o); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

func noData(path string) error {
	return workspace.Errorf(workspace.NotExist, "there is no data directory at %s", path).
		Hinted("Add a repo with `carrel repo add PATH`, or start `carrel mcp` inside a checkout: that makes it.")
}

// wire opens the parts in the order in which they stand on each other.
func (h *home) wire(ctx context.Context, o homeOptions) error {
	if err := h.openData(ctx, o); err != nil {
		return err
	}
	data, large := h.data, h.large
	store, err := sqlite.Open(ctx, data.Database(), &sqlite.Config{Large: large.Has, Discard: large.Discard})
	if err != nil {
		return err
	}
	h.tokens, h.keep, h.feed = store, store, store
	h.close = append(h.close, store.Close)
	h.repos = mounts.New(&mounts.Config{ManagedRoot: data.Repos(), CacheBytes: o.cache})
	h.close = append(h.close, h.repos.Close)
	blobs := spill.New(store, large, nil)
	cfg := &workspace.Config{
		Store: store, Blobs: blobs,
		Trees: h.repos, Committer: h.repos, Ignorer: h.repos,
		Processes: data, DataID: data.ID(), Log: h.log,
	}
	cfg.Limits = o.limits
	if o.tracer != nil {
		repos := o.tracer.Repos(h.repos)
		cfg.Store, cfg.Blobs = o.tracer.Store(store), o.tracer.Blobs(blobs)
		cfg.Trees, cfg.Committer = repos, repos
	}
	if o.unbounded {
		cfg.Limits.ResultBytes = unboundedResult
	}
	h.host, err = workspace.NewHost(ctx, cfg)
	return err
}

// Close closes what was opened, the last first.
func (h *home) Close() error {
	var err error
	for i := len(h.close) - 1; i >= 0; i-- {
		err = errors.Join(err, h.close[i]())
	}
	return err
}
