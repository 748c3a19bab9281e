package workspace

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
	"weak"
)

// StoreWithFeed is what a Host keeps its events in.
type StoreWithFeed interface {
	Store
	Feed
}

// Config says what a Host stands on. Store, Blobs, Trees and Committer are
// needed; the zero value of any other field means its default.
type Config struct {
	Store     StoreWithFeed
	Blobs     Blobs
	Trees     Trees
	Committer Committer
	Ignorer   Ignorer   // default: nothing is ignored
	Processes Processes // default: this process is alone

	// DataID names the data directory, so that the branches which two of them
	// make in one repository differ.
	DataID string
	// Identity is the committer of every commit; default Carrel.
	Identity Signature
	Limits   Limits
	Log      *slog.Logger // default: discarded
	// IdleAfter is how long nobody has to ask for a workspace until its state
	// leaves the memory; default 15 minutes.
	IdleAfter time.Duration

	Now   func() time.Time // default time.Now
	NewID func() string    // default: random, 26 characters
	// Fault is asked at numbered steps, so that a test can stop there; an error
	// is returned as if the step had failed.
	Fault func(point string) error
}

func (c Config) withDefaults() *Config {
	if c.Processes == nil {
		c.Processes = alone{}
	}
	if c.Identity == (Signature{}) {
		c.Identity = Signature{Name: "Carrel", Email: "carrel@localhost"}
	}
	c.Limits = c.Limits.withDefaults()
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.IdleAfter == 0 {
		c.IdleAfter = 15 * time.Minute
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewID == nil {
		c.NewID = rand.Text
	}
	if c.Fault == nil {
		c.Fault = func(string) error { return nil }
	}
	return &c
}

// alone is the Processes of a store that nobody shares: whoever is not this
// process is dead.
type alone struct{}

func (alone) Self() string                    { return "alone" }
func (alone) Alive(name string) (bool, error) { return name == "alone", nil }

// Host serves the projects of one store. It follows what other processes append
// to it. All methods are safe for concurrent use.
type Host struct {
	cfg *Config

	// feed guards position: records are handed on in the store's order. It is
	// taken before any lock of a project or workspace.
	feed     sync.Mutex
	position Position
	swept    time.Time // when idle workspaces were last looked for; with feed

	mu       sync.Mutex // guards projects
	projects map[string]*Project

	checkouts checkouts
	recent    recentBodies
	watchers  watchers
}

// NewHost returns a Host over the stores of cfg.
func NewHost(ctx context.Context, cfg *Config) (*Host, error) {
	h := &Host{cfg: cfg.withDefaults(), projects: map[string]*Project{}}
	var err error
	h.position, err = h.cfg.Store.End(ctx)
	return h, err
}

// Limits returns the limits in force.
func (h *Host) Limits() Limits { return h.cfg.Limits }

// Project returns a project. One that nobody has registered a repo in is
// returned too: Exists tells.
func (h *Host) Project(ctx context.Context, name string) (*Project, error) {
	if err := CheckProject(name); err != nil {
		return nil, err
	}
	h.mu.Lock()
	p := h.projects[name]
	if p == nil {
		p = &Project{host: h, name: name, live: map[ID]*live{}, idle: map[ID]weak.Pointer[live]{}, catalog: (&Catalog{}).clone()}
		h.projects[name] = p
	}
	h.mu.Unlock()
	return p, p.load(ctx)
}

// Projects returns the names of the projects that have a record, sorted. A store
// that cannot tell has none.
func (h *Host) Projects(ctx context.Context) ([]string, error) {
	lister, ok := h.cfg.Store.(ProjectLister)
	if !ok {
		return nil, nil
	}
	return lister.Projects(ctx)
}

// catchUp takes in what any process appended since the last time.
func (h *Host) catchUp(ctx context.Context) error {
	h.feed.Lock()
	defer h.feed.Unlock()
	for {
		records, end, err := h.cfg.Store.Since(ctx, h.position)
		if errors.Is(err, Corrupt) {
			return h.stepOver(ctx, err)
		}
		if err != nil {
			return err
		}
		if len(records) == 0 {
			h.position = end
			h.evict()
			return nil
		}
		if err := h.handOn(ctx, records); err != nil {
			return err
		}
		h.position = end
	}
}

// longIdle is after how many times IdleAfter it is forgotten what a workspace
// without sessions gave to whom.
const longIdle = 16

// evict looks, a few times in the span after which a workspace counts as idle,
// for those that do. The caller holds feed.
func (h *Host) evict() {
	now := h.cfg.Now()
	if now.Sub(h.swept) < h.cfg.IdleAfter/4 {
		return
	}
	h.swept = now
	for _, p := range h.all() {
		p.evict(now.Add(-h.cfg.IdleAfter), now.Add(-longIdle*h.cfg.IdleAfter))
	}
}

// all returns the projects that are in memory.
func (h *Host) all() []*Project {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Values(h.projects))
}

// stepOver goes on after a damaged record: what is in memory reads its own stream
// again, so that only whoever needs the damaged one fails.
func (h *Host) stepOver(ctx context.Context, damage error) error {
	end, err := h.cfg.Store.End(ctx)
	if err != nil {
		return err
	}
	h.cfg.Log.ErrorContext(ctx, "a damaged record", "err", damage)
	for _, p := range h.all() {
		p.reread(ctx)
	}
	h.position = end
	h.watchers.tell(Record{})
	return nil
}

// handOn gives records to the loaded streams that they belong to.
func (h *Host) handOn(ctx context.Context, records []Record) error {
	for _, r := range records {
		h.watchers.tell(r)
		h.mu.Lock()
		p := h.projects[r.Stream.Project]
		h.mu.Unlock()
		if p == nil {
			continue
		}
		if err := p.handOn(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// resolve returns a record with its payload in hand.
func (h *Host) resolve(ctx context.Context, r Record) (Record, error) {
	if r.PayloadBody.IsZero() {
		return r, nil
	}
	var err error
	r.Payload, err = h.content(ctx, r.PayloadBody)
	return r, err
}

// content reads a body to its end.
func (h *Host) content(ctx context.Context, id OID) ([]byte, error) {
	if b, ok := h.recent.get(id); ok {
		return b, nil
	}
	r, err := h.cfg.Blobs.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// maxPayload is the largest payload, in bytes, that an event carries itself.
const maxPayload = 64 << 10

// appendDurably appends what was decided: larger contents first, then the batches.
// Missing bodies are put again, an append of unknown outcome is looked up.
func (h *Host) appendDurably(ctx context.Context, batches []Batch, bodies []Body) ([]Record, error) {
	for i := range batches {
		for j := range batches[i].Events {
			bodies = externalise(&batches[i].Events[j], bodies)
		}
	}
	small, large := h.sortBodies(bodies)
	batches[0].Bodies = small
	for attempt := 0; ; attempt++ {
		if err := h.putAll(ctx, large); err != nil {
			return nil, err
		}
		if err := h.cfg.Fault("bodies put"); err != nil {
			return nil, err
		}
		records, err := h.cfg.Store.Append(ctx, batches...)
		var missing *MissingBodiesError
		if errors.As(err, &missing) && attempt == 0 {
			continue
		}
		if err != nil && !errors.Is(err, Conflict) && missing == nil {
			return h.outcome(ctx, batches, err)
		}
		if err == nil {
			h.recent.add(bodies)
			h.watchers.wake()
		}
		return records, err
	}
}

// externalise moves a large payload into a body of its own.
func externalise(e *Event, bodies []Body) []Body {
	if len(e.Payload) <= maxPayload {
		return bodies
	}
	id, err := BlobID(e.Payload)
	if err != nil {
		return bodies // stays inline: a store takes it, if reluctantly
	}
	bodies = append(bodies, Body{id, e.Payload})
	e.Payload, e.PayloadBody = nil, id
	e.Bodies = append(e.Bodies, id)
	return bodies
}

// sortBodies parts the bodies that travel in the append from those that are put before.
func (h *Host) sortBodies(bodies []Body) (small, large []Body) {
	in, _ := h.cfg.Blobs.(Inliner)
	for _, b := range bodies {
		if in != nil && in.Inline(int64(len(b.Content))) {
			small = append(small, b)
		} else {
			large = append(large, b)
		}
	}
	return small, large
}

func (h *Host) putAll(ctx context.Context, bodies []Body) error {
	for _, b := range bodies {
		id, err := h.cfg.Blobs.Put(ctx, bytes.NewReader(b.Content), int64(len(b.Content)))
		if err != nil {
			return err
		}
		if id != b.ID {
			return Errorf(Corrupt, "content %s was stored as %s", b.ID, id)
		}
	}
	return nil
}

// outcome asks the store whether an append that failed has happened after all.
func (h *Host) outcome(ctx context.Context, batches []Batch, cause error) ([]Record, error) {
	var records []Record
	for _, b := range batches {
		for _, e := range b.Events {
			r, err := h.cfg.Store.Find(context.WithoutCancel(ctx), b.Stream, e.ID)
			if err != nil {
				return nil, cause
			}
			records = append(records, r)
		}
	}
	h.watchers.wake()
	return records, nil
}
