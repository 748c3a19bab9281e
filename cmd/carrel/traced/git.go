package traced

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"carrel.dev/mounts"
	"carrel.dev/workspace"
)

// Repos are repositories whose reading and committing is traced.
type Repos struct {
	*mounts.Repos
	t *Tracer
}

var (
	_ workspace.Trees     = (*Repos)(nil)
	_ workspace.Committer = (*Repos)(nil)
)

// Repos decorates repositories.
func (t *Tracer) Repos(r *mounts.Repos) *Repos { return &Repos{r, t} }

// Head implements workspace.Trees.
func (r *Repos) Head(ctx context.Context, s workspace.Source, branch string) (workspace.OID, error) {
	ctx, _, end := r.t.begin(ctx, "git head")
	id, err := r.Repos.Head(ctx, s, branch)
	end(err)
	return id, err
}

// Tree implements workspace.Trees.
func (r *Repos) Tree(ctx context.Context, s workspace.Source, commit workspace.OID) (workspace.Tree, error) {
	ctx, _, end := r.t.begin(ctx, "git tree")
	under, err := r.Repos.Tree(ctx, s, commit)
	end(err)
	if whole, ok := under.(wholeTree); ok && err == nil {
		return &tree{whole, r.t}, nil
	}
	return under, err
}

// Propose implements workspace.Committer.
func (r *Repos) Propose(ctx context.Context, c workspace.Change) (workspace.Proposal, error) {
	ctx, _, end := r.t.begin(ctx, "git propose", attribute.Int("carrel.changes", len(c.Edits)))
	p, err := r.Repos.Propose(ctx, c)
	end(err)
	if err != nil {
		return p, err
	}
	return &proposal{p, r.t}, nil
}

// Settle implements workspace.Committer.
func (r *Repos) Settle(ctx context.Context, s workspace.Source, branch string, commit workspace.OID) (bool, error) {
	ctx, _, end := r.t.begin(ctx, "git settle")
	landed, err := r.Repos.Settle(ctx, s, branch, commit)
	end(err)
	return landed, err
}

// Log implements workspace.Historian.
func (r *Repos) Log(ctx context.Context, s workspace.Source, from workspace.OID, path string, limit int) ([]workspace.LogEntry, error) {
	ctx, span, end := r.t.begin(ctx, "git log")
	entries, err := r.Repos.Log(ctx, s, from, path, limit)
	span.SetAttributes(attribute.Int("carrel.commits", len(entries)))
	end(err)
	return entries, err
}

// Contains implements workspace.Ancestry.
func (r *Repos) Contains(ctx context.Context, s workspace.Source, tip, commit workspace.OID) (bool, error) {
	ctx, _, end := r.t.begin(ctx, "git contains")
	has, err := r.Repos.Contains(ctx, s, tip, commit)
	end(err)
	return has, err
}

// proposal is a commit whose landing is traced.
type proposal struct {
	workspace.Proposal
	t *Tracer
}

func (p *proposal) Land(ctx context.Context) error {
	ctx, _, end := p.t.begin(ctx, "git land")
	err := p.Proposal.Land(ctx)
	end(err)
	return err
}

// wholeTree is a tree with all that one can do.
type wholeTree interface {
	workspace.Tree
	workspace.LookupsTree
}

// tree is a tree whose lists are traced and whose reads are counted.
type tree struct {
	wholeTree
	t *Tracer
}

func (t *tree) List(ctx context.Context, l workspace.Listing, yield func(string, workspace.Node) bool) error {
	ctx, span, end := t.t.begin(ctx, "git list")
	n := 0
	err := t.wholeTree.List(ctx, l, func(path string, node workspace.Node) bool {
		n++
		return yield(path, node)
	})
	span.SetAttributes(attribute.Int("carrel.paths", n))
	end(err)
	return err
}

func (t *tree) Read(ctx context.Context, blob workspace.OID) ([]byte, error) {
	began := time.Now()
	b, err := t.wholeTree.Read(ctx, blob)
	read(ctx, len(b), time.Since(began))
	return b, err
}
