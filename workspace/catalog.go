package workspace

import (
	"iter"
	"maps"
	"strings"
	"time"

	"github.com/tidwall/btree"
)

// Catalog is what a project's own records add up to: its repos and workspaces.
// A published one never changes: the next is made from a clone.
type Catalog struct {
	Seq        Seq
	Born       bool              // whether the project exists
	Repos      map[RepoPath]Repo // shared between catalogs until one of them changes
	Unread     Seq
	reposAt    Seq    // of the record that Repos last changed with
	event      string // the id of the record at Seq
	workspaces *btree.Map[ID, Listed]
	alive      int     // of the workspaces, those that are not deleted
	grants     *Grants // of whom it is for
}

// Listed is a workspace as the catalog knows it.
type Listed struct {
	ID        ID
	CreatedAt time.Time
	Deleted   bool
}

// Workspace returns what the catalog knows of a workspace.
func (c *Catalog) Workspace(id ID) (Listed, bool) {
	w, ok := c.workspaces.Get(id)
	if !ok || !c.grants.Workspace(id) {
		return Listed{}, false
	}
	return w, true
}

// List yields the workspaces whose identity starts with prefix and comes after
// another one, those that were born and not deleted, in order.
func (c *Catalog) List(prefix string, after ID) iter.Seq[Listed] {
	return func(yield func(Listed) bool) {
		c.workspaces.Ascend(max(ID(prefix), after), func(id ID, w Listed) bool {
			if !strings.HasPrefix(string(id), prefix) {
				return false
			}
			return w.Deleted || id == after || !c.grants.Workspace(id) || yield(w)
		})
	}
}

// catalogTypes are the events that a project's reducer knows.
var catalogTypes = map[string]bool{
	ProjectCreated: true, WorkspaceCreated: true, WorkspaceDeleted: true,
	RepoCreated: true, RepoConfigured: true, RepoRemoved: true,
}

// reduce changes c, which nobody else has seen yet, by one record of the
// project's stream. What it does not understand it passes over; a newer version
// of what it does marks the catalog as unread.
func (c *Catalog) reduce(r Record) {
	c.Seq, c.event = r.Seq, r.ID
	domain, _, _ := strings.Cut(r.Type, "/")
	if domain != "project" && domain != "workspace" && domain != "repo" {
		return // of others
	}
	if r.Version > payloadVersion || !catalogTypes[r.Type] {
		if c.Unread == 0 {
			c.Unread = r.Seq
		}
		return
	}
	if r.Type == ProjectCreated {
		c.Born = true
		return
	}
	p, err := decode[Copied](r)
	if err != nil {
		return
	}
	switch r.Type {
	case WorkspaceCreated, WorkspaceDeleted:
		c.reduceWorkspace(r, ID(p.Stream))
	case RepoCreated, RepoConfigured, RepoRemoved:
		r.Payload = p.Payload
		c.reduceRepo(r, RepoPath(p.Stream))
	}
}

func (c *Catalog) reduceWorkspace(r Record, id ID) {
	if _, err := ParseID(string(id)); err != nil {
		return
	}
	w, known := c.workspaces.Get(id)
	if !known {
		w = Listed{ID: id, CreatedAt: r.At}
	}
	if was := known && !w.Deleted; was {
		c.alive--
	}
	w.Deleted = w.Deleted || r.Type == WorkspaceDeleted
	if !w.Deleted {
		c.alive++
	}
	c.workspaces.Set(id, w)
}

func (c *Catalog) reduceRepo(r Record, path RepoPath) {
	if _, err := ParseRepoPath(string(path)); err != nil {
		return
	}
	if r.Type == RepoRemoved {
		if repo, ok := c.Repos[path]; ok {
			repo.Removed = true
			c.setRepo(repo)
		}
		return
	}
	p, err := decode[RepoSettings](r)
	if err != nil {
		return
	}
	if _, err := ParsePolicy(string(p.Policy)); err != nil {
		return
	}
	c.setRepo(Repo{Path: path, Source: Source{p.Location, p.Managed}, Branch: p.Branch, Policy: p.Policy})
}

// setRepo changes a repo under the record at Seq.
func (c *Catalog) setRepo(r Repo) {
	c.Repos = maps.Clone(c.Repos)
	c.Repos[r.Path] = r
	c.reposAt = c.Seq
}

// clone returns a catalog that may be changed.
func (c *Catalog) clone() *Catalog {
	next := &Catalog{
		Seq: c.Seq, Born: c.Born, Repos: c.Repos, Unread: c.Unread, reposAt: c.reposAt, event: c.event, alive: c.alive,
	}
	if c.workspaces == nil {
		next.workspaces = &btree.Map[ID, Listed]{}
	} else {
		next.workspaces = c.workspaces.Copy()
	}
	if next.Repos == nil {
		next.Repos = map[RepoPath]Repo{}
	}
	return next
}
