package workspace

import (
	"context"
	"strings"
	"time"
)

// census is what the records of all streams say about which workspaces there
// are, and were. It is taken from records in any order that keeps each stream's.
type census struct {
	workspaces map[StreamID]*resident
	position   Position // up to which records were counted
}

// resident is a workspace in a census.
type resident struct {
	deletedAt time.Time // zero while it lives
	from      StreamID  // the workspace that it was forked from, or zero
}

// takeCensus reads every record there is. One that is missing is Corrupt: what it
// referred to is not known.
func (h *Host) takeCensus(ctx context.Context, progress Progress) (*census, error) {
	c := &census{workspaces: map[StreamID]*resident{}}
	ends := map[StreamID]Seq{}
	end, err := h.cfg.Store.End(ctx)
	if err != nil {
		return nil, err
	}
	c.position, err = h.since(ctx, 0, func(r Record, at Position) error {
		progress.tell("reading records", int64(at), int64(end))
		if want := ends[r.Stream] + 1; r.Seq != want {
			return Errorf(Corrupt, "record %d in project %s %w", want, r.Stream.Project, ErrMissing).At(r.Stream.Name).
				Hinted("`carrel fsck` says what else is lost. " + hintRestore)
		}
		ends[r.Stream] = r.Seq
		if r.Type == WorkspaceCreated {
			var err error
			if r, err = h.resolve(ctx, r); err != nil {
				return err
			}
		}
		return c.count(r)
	})
	return c, err
}

// since hands every record after a position to f, in order, with a position that
// is not before it, and returns the end.
func (h *Host) since(ctx context.Context, after Position, f func(Record, Position) error) (Position, error) {
	for {
		records, end, err := h.cfg.Store.Since(ctx, after)
		if err != nil {
			return after, err
		}
		if len(records) == 0 {
			return end, nil
		}
		for _, r := range records {
			if err := f(r, end); err != nil {
				return after, err
			}
		}
		after = end
	}
}

// count takes in a record. One that a newer Carrel wrote is Unavailable.
func (c *census) count(r Record) error {
	if isNewer(r) {
		return unread(r.Stream.Name, r.Seq)
	}
	if _, err := ParseID(r.Stream.Name); err != nil {
		return nil
	}
	w := c.workspaces[r.Stream]
	switch r.Type {
	case WorkspaceCreated:
		p, err := decode[Created](r)
		if err != nil || w != nil {
			return nil // as the reducer has it
		}
		w = &resident{}
		if p.From != nil {
			w.from = StreamID{r.Stream.Project, string(p.From.Workspace)}
		}
		c.workspaces[r.Stream] = w
	case WorkspaceDeleted:
		if w != nil && w.deletedAt.IsZero() {
			w.deletedAt = r.At
		}
	}
	return nil
}

// isNewer reports whether only a newer Carrel understands a record.
func isNewer(r Record) bool {
	domain, _, _ := strings.Cut(r.Type, "/")
	switch domain {
	case "project", "workspace", "repo":
		return r.Version > payloadVersion || !(workspaceTypes[r.Type] || catalogTypes[r.Type] || r.Type == RepoCommitted)
	}
	return false
}

// ended returns the workspaces of which only the records are kept: those that
// were deleted before a time, and of which no fork is kept.
func (c *census) ended(before time.Time) map[StreamID]bool {
	ended := map[StreamID]bool{}
	for id, w := range c.workspaces {
		if !w.deletedAt.IsZero() && w.deletedAt.Before(before) {
			ended[id] = true
		}
	}
	for id := range c.workspaces {
		if ended[id] {
			continue
		}
		for w := c.workspaces[id]; w != nil && ended[w.from]; w = c.workspaces[w.from] {
			delete(ended, w.from)
		}
	}
	return ended
}

// wanted returns the contents that a record keeps: all that it names, but only
// its payload if it is one of a workspace that has ended.
func wanted(r Record, ended map[StreamID]bool) []OID {
	switch {
	case !ended[r.Stream] || !isOurs(r.Type):
		return r.Bodies
	case !r.PayloadBody.IsZero():
		return []OID{r.PayloadBody}
	}
	return nil
}
