package workspace

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"time"
)

// catalogVersion changes when the catalog's reducer does, or the form of its
// checkpoints, so that those which an older one saved are not taken up.
const catalogVersion = 1

// catalogJSON is the first line of a catalog's checkpoint. The workspaces follow
// in the order of their identities, each as
//
//	uvarint  twice the length of the identity in bytes, and 1 more if it was deleted
//	bytes    the identity
//	varint   when it was created, in seconds of Unix time
//	uvarint  and the nanoseconds of that second
//
// since reading ten thousand of them as JSON takes as long as many replays.
type catalogJSON struct {
	Seq        Seq                   `json:"seq"`
	Event      string                `json:"event"` // the id of the record at Seq
	Born       bool                  `json:"born"`
	Repos      map[RepoPath]repoJSON `json:"repos"`
	ReposAt    Seq                   `json:"reposAt"`
	Workspaces int                   `json:"workspaces"`
}

type repoJSON struct {
	RepoSettings
	Removed bool `json:"removed,omitempty"`
}

// checkpoint returns the catalog as a checkpoint keeps it. One that is unread has
// none.
func (c *Catalog) checkpoint() ([]byte, error) {
	if c.Unread != 0 {
		return nil, Errorf(Unavailable, "a catalog that is unread at seq %d has no checkpoint", c.Unread)
	}
	head := catalogJSON{
		Seq: c.Seq, Event: c.event, Born: c.Born, Repos: map[RepoPath]repoJSON{}, ReposAt: c.reposAt, Workspaces: c.workspaces.Len(),
	}
	for path, r := range c.Repos {
		head.Repos[path] = repoJSON{RepoSettings{r.Source.Location, r.Source.Managed, r.Branch, r.Policy}, r.Removed}
	}
	b, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	b = append(b, '\n')
	c.workspaces.Scan(func(id ID, w Listed) bool {
		b = appendListed(b, w)
		return true
	})
	return b, nil
}

func appendListed(b []byte, w Listed) []byte {
	size := uint64(len(w.ID)) << 1
	if w.Deleted {
		size |= 1
	}
	b = append(binary.AppendUvarint(b, size), w.ID...)
	b = binary.AppendVarint(b, w.CreatedAt.Unix())
	return binary.AppendUvarint(b, uint64(w.CreatedAt.Nanosecond()))
}

// readCatalog returns the catalog that a checkpoint keeps, Corrupt if that cannot
// be read.
func readCatalog(b []byte) (*Catalog, error) {
	line, rows, _ := bytes.Cut(b, []byte("\n"))
	var head catalogJSON
	if err := json.Unmarshal(line, &head); err != nil {
		return nil, Errorf(Corrupt, "checkpoint of a catalog: %w", err)
	}
	c := (&Catalog{Seq: head.Seq, event: head.Event, Born: head.Born, reposAt: head.ReposAt}).clone()
	for path, r := range head.Repos {
		c.Repos[path] = Repo{Path: path, Source: Source{r.Location, r.Managed}, Branch: r.Branch, Policy: r.Policy, Removed: r.Removed}
	}
	l := listedReader{rest: rows, text: string(rows)}
	for last, n := ID(""), 0; n < head.Workspaces; n++ {
		w, ok := l.next()
		if !ok || w.ID <= last {
			return nil, Errorf(Corrupt, "checkpoint of a catalog: workspace %d of %d cannot be read", n+1, head.Workspaces)
		}
		last = w.ID
		c.workspaces.Load(w.ID, w)
		if !w.Deleted {
			c.alive++
		}
	}
	if len(l.rest) > 0 {
		return nil, Errorf(Corrupt, "checkpoint of a catalog: %d bytes are left over", len(l.rest))
	}
	return c, nil
}

// listedReader reads the workspaces of a checkpoint one after the other. Their
// identities are parts of one string, which costs one allocation for all.
type listedReader struct {
	rest []byte
	text string // all that there was, of which rest is the end
}

func (l *listedReader) next() (w Listed, ok bool) {
	size, ok := l.uvarint()
	if !ok || size>>1 > uint64(len(l.rest)) {
		return w, false
	}
	at := len(l.text) - len(l.rest)
	l.rest = l.rest[size>>1:]
	w.ID, w.Deleted = ID(l.text[at:at+int(size>>1)]), size&1 != 0
	seconds, n := binary.Varint(l.rest)
	if n <= 0 {
		return w, false
	}
	l.rest = l.rest[n:]
	nanoseconds, ok := l.uvarint()
	w.CreatedAt = time.Unix(seconds, int64(nanoseconds)).UTC()
	return w, ok && nanoseconds < uint64(time.Second)
}

func (l *listedReader) uvarint() (uint64, bool) {
	v, n := binary.Uvarint(l.rest)
	if n <= 0 {
		return 0, false
	}
	l.rest = l.rest[n:]
	return v, true
}

// savedCatalog returns the catalog of the newest checkpoint, nil if there is none
// that can be read. One whose last record is not where the stream has it is of
// another history: the stream was cut, or put back to what it was at some time.
func (p *Project) savedCatalog(ctx context.Context) *Catalog {
	store, ok := p.host.cfg.Store.(Checkpointer)
	if !ok {
		return nil
	}
	at, b, err := store.LoadCheckpoint(ctx, p.stream(ProjectStream), catalogVersion)
	if err != nil {
		return nil
	}
	c, err := readCatalog(b)
	if err != nil || c.Seq != at {
		return nil
	}
	r, err := p.host.cfg.Store.Find(ctx, p.stream(ProjectStream), c.event)
	if err != nil || r.Seq != c.Seq {
		return nil
	}
	return c
}

// saveCatalog keeps a checkpoint of the catalog once enough records were taken in.
// It is a droppable copy: a failure costs time at the next start and nothing else.
// Whoever only follows what others append leaves it to them. The caller does not
// hold mu, since saving waits for the store's other writers.
func (p *Project) saveCatalog(ctx context.Context) {
	store, ok := p.host.cfg.Store.(Checkpointer)
	if !ok {
		return
	}
	p.mu.Lock()
	c := p.catalog
	due := c.Unread == 0 && c.Seq >= p.saved+checkpointEvery
	if due {
		p.saved = c.Seq
	}
	p.mu.Unlock()
	if !due {
		return
	}
	b, err := c.checkpoint()
	if err == nil {
		err = store.SaveCheckpoint(ctx, p.stream(ProjectStream), c.Seq, catalogVersion, b)
	}
	if err != nil {
		p.host.cfg.Log.WarnContext(ctx, "checkpoint not saved", "project", p.name, "err", err)
	}
}
