package workspace

import (
	"context"
	"errors"
	"slices"
	"time"
)

// GC says what Host.GC may take.
type GC struct {
	// Age is how long a content must not have been put, and a workspace be
	// deleted, before what nothing refers to is removed; default a day.
	Age      time.Duration
	Progress Progress
}

const defaultAge = 24 * time.Hour

// Collected is what Host.GC did.
type Collected struct {
	Contents int   // that were removed
	Bytes    int64 // of them
	Refs     []RepoRef
	// Left are refs of deleted workspaces that are not ours to remove, with the
	// reason: each may be the only one that holds a commit.
	Left []RepoRef
}

// RepoRef is a ref in a repository.
type RepoRef struct {
	Source    Source
	Ref       string
	Commit    OID
	Project   string // of the workspace that made it
	Workspace ID
	Why       string
}

// GC removes contents that no record refers to, but for those of workspaces
// that were deleted, and the refs by which deleted workspaces held commits that
// a branch or tag has as well. It runs beside any number of writers and of
// itself, may be killed at any point, and removes no content that a record
// names or may soon name:
//
//   - the payload of a record is a part of it, and stays
//   - the contents that a workspace's records name stay until it, and every fork
//     of it, has been deleted for the age; those that another one names as well
//     stay for that one
//   - what was put in the last age stays, whoever may be about to name it
//
// It is Unavailable while any stream holds a record that only a newer Carrel
// understands, and Corrupt while a record is missing or cannot be read: what such
// a record refers to is not known.
func (h *Host) GC(ctx context.Context, o GC) (Collected, error) {
	if o.Age == 0 {
		o.Age = defaultAge
	}
	inventory, ok := h.cfg.Blobs.(Inventory)
	sweeper, can := h.cfg.Store.(Sweeper)
	if !ok || !can {
		return Collected{}, Errorf(Unavailable, "the store cannot be swept")
	}
	g := &garbage{
		host: h, progress: o.Progress, inventory: inventory, sweeper: sweeper, before: h.cfg.Now().Add(-o.Age),
	}
	if err := h.checkStructure(ctx); err != nil {
		return Collected{}, err
	}
	err := errForked
	for attempt := 0; attempt < 3 && errors.Is(err, errForked); attempt++ {
		err = g.sweep(ctx)
	}
	if err == nil {
		err = g.sweepRefs(ctx)
	}
	return g.done, err
}

// checkStructure refuses to sweep a store that is damaged as a whole, where a
// record may be there that reading does not find.
func (h *Host) checkStructure(ctx context.Context) error {
	x, ok := h.cfg.Store.(Examiner)
	if !ok {
		return nil
	}
	wrong, err := x.Structure(ctx)
	if err == nil && len(wrong) > 0 {
		err = Errorf(Corrupt, "the database is damaged: %s", wrong[0]).
			Hinted("Try `carrel fsck --rebuild` first, which mends indexes. " + hintRestore)
	}
	return err
}

// garbage is one run of GC.
type garbage struct {
	host      *Host
	progress  Progress
	inventory Inventory
	sweeper   Sweeper
	before    time.Time
	done      Collected

	census *census
	ended  map[StreamID]bool
	// candidates are contents that may be removed, with their sizes; position is
	// up to which records were held against them.
	candidates map[OID]int64
	position   Position
}

// Bounds of a run. A transaction of a sweep keeps other writers waiting.
const (
	maxCandidates = 200_000
	maxSweep      = 256      // contents of one transaction
	maxSweepBytes = 16 << 20 // of them
)

// errForked says that a workspace which had ended was forked meanwhile.
var errForked error = Errorf(Conflict, "a deleted workspace was forked").Hinted("Try again.")

// sweep removes contents, as many at once as there is memory for.
func (g *garbage) sweep(ctx context.Context) error {
	var err error
	if g.census, err = g.host.takeCensus(ctx, g.progress); err != nil {
		return err
	}
	g.ended = g.census.ended(g.before)
	g.candidates = map[OID]int64{}
	for c, err := range g.inventory.Contents(ctx, g.before) {
		if err != nil {
			return err
		}
		g.candidates[c.ID] = c.Size
		if len(g.candidates) >= maxCandidates {
			if err := g.sweepCandidates(ctx); err != nil {
				return err
			}
		}
	}
	return g.sweepCandidates(ctx)
}

// sweepCandidates removes those candidates that nothing refers to.
func (g *garbage) sweepCandidates(ctx context.Context) error {
	g.position = 0
	if len(g.candidates) == 0 {
		return nil
	}
	if err := g.catchUp(ctx); err != nil {
		return err
	}
	total := int64(len(g.candidates))
	for len(g.candidates) > 0 {
		g.progress.tell("removing contents", total-int64(len(g.candidates)), total)
		if err := g.catchUp(ctx); err != nil {
			return err
		}
		if err := g.host.cfg.Fault("references read"); err != nil {
			return err
		}
		batch := g.next()
		gone, err := g.sweeper.Sweep(ctx, g.before, g.position, func(newer []Record) ([]OID, error) { return g.choose(batch, newer) })
		for _, c := range gone {
			g.done.Contents++
			g.done.Bytes += c.Size
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// catchUp takes away the candidates that records keep.
func (g *garbage) catchUp(ctx context.Context) error {
	end, err := g.host.since(ctx, g.position, func(r Record, at Position) error {
		g.progress.tell("looking for references", int64(at), int64(g.census.position))
		if r.Type == WorkspaceCreated {
			var err error
			if r, err = g.host.resolve(ctx, r); err != nil {
				return err
			}
		}
		if err := g.check(r); err != nil {
			return err
		}
		for _, id := range wanted(r, g.ended) {
			delete(g.candidates, id)
		}
		return nil
	})
	g.position = end
	return err
}

// check refuses a record that changes what was decided before.
func (g *garbage) check(r Record) error {
	if isNewer(r) {
		return unread(r.Stream.Name, r.Seq)
	}
	if r.Type != WorkspaceCreated || r.Stream.Name == ProjectStream || g.ended[r.Stream] {
		return nil
	}
	p, err := decode[Created](r)
	switch {
	case r.Payload == nil && !r.PayloadBody.IsZero(): // not at hand
		return errForked
	case err == nil && p.From != nil && g.ended[StreamID{r.Stream.Project, string(p.From.Workspace)}]:
		return errForked
	}
	return nil
}

// next takes some of the candidates out.
func (g *garbage) next() []OID {
	var batch []OID
	bytes := int64(0)
	for id, size := range g.candidates {
		if len(batch) == maxSweep || bytes > maxSweepBytes {
			break
		}
		delete(g.candidates, id)
		batch = append(batch, id)
		bytes += size
	}
	return batch
}

// choose returns what is to be removed of a batch, under the store's lock.
func (g *garbage) choose(batch []OID, newer []Record) ([]OID, error) {
	kept := map[OID]bool{}
	for _, r := range newer {
		if err := g.check(r); err != nil {
			return nil, err
		}
		for _, id := range r.Bodies {
			kept[id] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(batch), func(id OID) bool { return kept[id] }), nil
}
