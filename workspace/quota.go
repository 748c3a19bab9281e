package workspace

import (
	"context"
	"sync"
	"time"
)

// Usage is what workspaces hold uncommitted.
type Usage struct {
	Entries int
	Bytes   int64 // of contents
}

func (u Usage) plus(v Usage) Usage  { return Usage{u.Entries + v.Entries, u.Bytes + v.Bytes} }
func (u Usage) minus(v Usage) Usage { return Usage{u.Entries - v.Entries, u.Bytes - v.Bytes} }

// UsageStore keeps what each workspace holds, for the quotas of projects. It is a
// copy that may be a little behind, and may be lost.
type UsageStore interface {
	// NoteUsage keeps what a workspace holds now.
	NoteUsage(ctx context.Context, workspace StreamID, u Usage) error
	// Usage returns what was noted of a workspace, and of all of its project together.
	Usage(ctx context.Context, workspace StreamID) (own, all Usage, err error)
}

// usageFresh is for how long the usage of a project is taken to be what it was.
const usageFresh = time.Second

// quota is what is known of a project's usage.
type quota struct {
	mu    sync.Mutex // guards what follows
	noted map[ID]Usage
	total Usage
	asked time.Time
}

// quotas returns the store of usages, nil if there are no quotas to hold.
func (h *Host) quotas() UsageStore {
	if h.cfg.Limits.ProjectEntries == 0 && h.cfg.Limits.ProjectBytes == 0 {
		return nil
	}
	s, _ := h.cfg.Store.(UsageStore)
	return s
}

// mayGrow refuses what would bring the project above its quotas. A workspace counts
// with what it is about to hold, the others with what was noted of them.
func (l *live) mayGrow(ctx context.Context, is Usage) error {
	store := l.host.quotas()
	if store == nil {
		return nil
	}
	q, limits := &l.project.quota, l.host.cfg.Limits
	q.mu.Lock()
	defer q.mu.Unlock()
	_, known := q.noted[l.id]
	if now := l.host.cfg.Now(); !known || now.Sub(q.asked) >= usageFresh {
		own, all, err := store.Usage(ctx, l.stream())
		if err != nil {
			return err
		}
		q.note(l.id, own)
		q.total, q.asked = all, now
	}
	const hint = "Commit, revert or delete what is not needed in some workspace, or ask whoever runs this server for more."
	switch would := q.total.minus(q.noted[l.id]).plus(is); {
	case limits.ProjectEntries > 0 && would.Entries > limits.ProjectEntries:
		return Errorf(Limit, "the project would have more than %d uncommitted entries in all workspaces", limits.ProjectEntries).Hinted(hint)
	case limits.ProjectBytes > 0 && would.Bytes > limits.ProjectBytes:
		return Errorf(Limit, "the project would have more than %d bytes of uncommitted content in all workspaces", limits.ProjectBytes).Hinted(hint)
	}
	return nil
}

// noteUsage keeps what the workspace holds now, if that is notably different from
// what was noted: by an eighth, or a little of a little.
func (l *live) noteUsage(ctx context.Context) {
	store := l.host.quotas()
	if store == nil {
		return
	}
	l.mu.Lock()
	is := l.state.Upper.usage()
	if l.state.Deleted {
		is = Usage{}
	}
	l.mu.Unlock()
	q := &l.project.quota
	q.mu.Lock()
	was, known := q.noted[l.id]
	q.mu.Unlock()
	if known && !is.differs(was) {
		return
	}
	if err := store.NoteUsage(ctx, l.stream(), is); err != nil {
		l.host.cfg.Log.WarnContext(ctx, "usage not noted", "workspace", l.id, "err", err)
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if known {
		q.total = q.total.minus(was).plus(is)
	} else {
		q.asked = time.Time{} // what another process has noted is not known
	}
	q.note(l.id, is)
}

// note remembers what the store has of a workspace. The caller holds mu.
func (q *quota) note(id ID, u Usage) {
	if q.noted == nil {
		q.noted = map[ID]Usage{}
	}
	q.noted[id] = u
}

// differs reports whether a usage is to be noted again.
func (u Usage) differs(was Usage) bool {
	const fewEntries, fewBytes = 16, 64 << 10
	d := u.minus(was)
	return u == Usage{} && was != u ||
		max(d.Entries, -d.Entries) > max(was.Entries/8, fewEntries) ||
		max(d.Bytes, -d.Bytes) > max(was.Bytes/8, fewBytes)
}

func (u *Upper) usage() Usage { return Usage{u.Len(), u.Bytes()} }
