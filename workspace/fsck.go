package workspace

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// Fsck says what Host.Fsck does.
type Fsck struct {
	// Rebuild drops what can be made anew, checkpoints and indexes, and makes it
	// anew. Nothing else is ever changed.
	Rebuild  bool
	Progress Progress
}

// Checked is what Host.Fsck looked at.
type Checked struct {
	Findings    []Finding `json:"findings"`
	Projects    int       `json:"projects"`
	Streams     int       `json:"streams"`
	Records     int64     `json:"records"`
	Contents    int       `json:"contents"`
	Bytes       int64     `json:"bytes"` // of the contents
	Checkpoints int       `json:"checkpoints"`
	Repos       int       `json:"repos"`
	Refs        int       `json:"refs"`
	Rebuilt     int       `json:"rebuilt"` // checkpoints
}

// Lossless reports whether nothing that was found is a Loss.
func (c *Checked) Lossless() bool {
	return !slices.ContainsFunc(c.Findings, func(f Finding) bool { return f.Severity == Loss })
}

// Fsck replays every stream of every project and holds what it finds against
// each other: records, the contents that they and the uppers name, checkpoints,
// the copies on the projects' streams, repositories and the refs in them.
//
// It runs beside any number of writers without taking what they do for damage:
// streams only grow; what is copied, named or pointed at is read before or after
// what does so, whichever makes the later reading contain the earlier; and what
// still looks wrong is held against the end of the stream once more.
//
// An error says that the check could not be made, Unavailable if the store
// cannot be examined.
func (h *Host) Fsck(ctx context.Context, o Fsck) (*Checked, error) {
	store, ok := h.cfg.Store.(Examiner)
	if !ok {
		return nil, Errorf(Unavailable, "the store cannot be examined")
	}
	end, err := h.cfg.Store.End(ctx)
	if err != nil {
		return nil, err
	}
	f := &examination{
		host: h, store: store, o: o, end: int64(end), contents: map[OID]examined{},
		report: &Checked{Findings: []Finding{}}, census: &census{workspaces: map[StreamID]*resident{}},
	}
	return f.report, f.run(ctx)
}

// examination is one run of Fsck.
type examination struct {
	host     *Host
	store    Examiner
	o        Fsck
	end      int64 // records there are, about
	report   *Checked
	contents map[OID]examined
	census   *census
	sources  []Source // whose repositories were read
}

func (f *examination) found(x Finding) { f.report.Findings = append(f.report.Findings, x) }

func (f *examination) run(ctx context.Context) error {
	if err := f.structure(ctx); err != nil {
		return err
	}
	streams, err := f.store.Streams(ctx)
	if err != nil {
		return err
	}
	var projects []string
	for _, id := range streams {
		projects = append(projects, id.Project)
	}
	for _, name := range slices.Compact(projects) {
		f.report.Projects++
		if err := f.project(ctx, name); err != nil {
			return err
		}
	}
	return f.leftRefs(ctx)
}

// structure looks at what the records are kept in.
func (f *examination) structure(ctx context.Context) error {
	f.o.Progress.tell("checking the database", 0, 0)
	texts, err := f.store.Structure(ctx)
	if err != nil {
		return err
	}
	mended := false
	if f.o.Rebuild && len(texts) > 0 && f.store.Reindex(ctx) == nil {
		again, err := f.store.Structure(ctx)
		if err != nil {
			return err
		}
		mended = len(again) == 0
	}
	for _, text := range texts {
		x := Finding{Kind: StructureDamaged, Severity: Loss, Text: "the database is damaged: " + text, Hint: hintRestore, Mended: mended}
		if !f.o.Rebuild {
			x.Hint = "Try `carrel fsck --rebuild` first, which mends indexes. " + hintRestore
		}
		if mended {
			x.Severity = Fault
		}
		f.found(x)
	}
	return nil
}

// project examines the streams of a project. Its own comes first and again last:
// a copy in the first part has its original, and an original has its copy by the
// time of the second.
func (f *examination) project(ctx context.Context, name string) error {
	home, err := f.home(ctx, name)
	if err != nil {
		return err
	}
	all, err := f.store.Streams(ctx)
	if err != nil {
		return err
	}
	var streams []*replay
	for _, id := range all {
		if id.Project != name || id.Name == ProjectStream {
			continue
		}
		r, err := f.stream(ctx, id)
		if err != nil {
			return err
		}
		streams = append(streams, r)
	}
	if err := f.keptByForks(ctx, streams); err != nil {
		return err
	}
	if err := f.copies(ctx, home, streams); err != nil {
		return err
	}
	return f.repos(ctx, home, streams)
}

// keptByForks checks the contents of deleted workspaces that forks still need.
func (f *examination) keptByForks(ctx context.Context, streams []*replay) error {
	const never = 1 << 62
	ended := f.census.ended(time.Unix(0, never))
	for _, r := range streams {
		if _, known := f.census.workspaces[r.id]; !known || ended[r.id] || r.checked {
			continue
		}
		if err := f.checkContents(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// sameJSON reports whether two texts are the same JSON value, but for the order
// of keys and white space.
func sameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	p, errP := json.Marshal(x)
	q, errQ := json.Marshal(y)
	return errP == nil && errQ == nil && string(p) == string(q)
}
