package workspace

import (
	"context"
	"encoding/json"
	"errors"
)

// replay is a stream that was examined.
type replay struct {
	id    StreamID
	last  Seq
	state *State // what the records add up to, if it is a workspace's
	// whole says that every record was read, so that state is right.
	whole bool
	// named are the contents that its records name, each with the first record
	// that does so; checked says that they were looked at.
	named   map[OID]Seq
	checked bool
	// events are those of which the project's stream has a copy.
	events map[Seq]Record
}

func newReplay(id StreamID) *replay {
	return &replay{id: id, state: NewState(), whole: true, named: map[OID]Seq{}, events: map[Seq]Record{}}
}

// isCopied reports whether an event is copied to the project's stream.
func isCopied(typ string) bool {
	switch typ {
	case WorkspaceCreated, WorkspaceDeleted, RepoCreated, RepoConfigured, RepoRemoved:
		return true
	}
	return false
}

// stream examines a stream and all that it names.
func (f *examination) stream(ctx context.Context, id StreamID) (*replay, error) {
	f.report.Streams++
	saved, err := f.checkpoint(ctx, id) // before the records, which then reach it
	if err != nil {
		return nil, err
	}
	r := newReplay(id)
	d := r.reduction()
	if err := f.records(ctx, r, func(Record) { saved.compare(r, d) }); err != nil {
		return nil, err
	}
	if err := f.judge(ctx, r, saved, d); err != nil {
		return nil, err
	}
	for _, d := range r.state.Diagnostics {
		if r.state.Unread != 0 && d.Seq > r.state.Unread {
			continue // what it needs may be in the record that is not understood
		}
		f.found(Finding{Kind: RecordMalformed, Severity: Loss, Project: id.Project, Stream: id.Name, Seq: d.Seq,
			Text: "the record is passed over: " + d.Why, Hint: "Nothing of ours writes such a record. Look at what it was to do with `carrel events`, and do it again."})
	}
	if w := f.census.workspaces[id]; w == nil || w.deletedAt.IsZero() {
		if err := f.checkContents(ctx, r); err != nil {
			return nil, err
		}
	}
	return r, f.intents(ctx, r)
}

// records examines the records of a stream and hands each on that can be read.
func (f *examination) records(ctx context.Context, r *replay, then func(Record)) error {
	for rec, err := range f.store.Examine(ctx, r.id) {
		switch {
		case err != nil && rec.Seq == 0 && KindOf(err) != Corrupt:
			return err
		case err != nil:
			r.whole, r.last = false, max(r.last, rec.Seq)
			f.found(f.damaged(r.id, rec.Seq, err))
			continue
		}
		if err := f.record(ctx, r, rec); err != nil {
			return err
		}
		then(rec)
	}
	return nil
}

// record examines one record.
func (f *examination) record(ctx context.Context, r *replay, rec Record) error {
	f.report.Records++
	f.o.Progress.tell("reading records", f.report.Records, f.end)
	r.last = rec.Seq
	whole, err := f.payload(ctx, &rec)
	if err != nil {
		return err
	}
	r.whole = r.whole && whole
	if isNewer(rec) {
		f.found(Finding{Kind: RecordNewer, Severity: Fault, Project: r.id.Project, Stream: r.id.Name, Seq: rec.Seq,
			Text: "only a newer version of Carrel understands the record, of type " + rec.Type, Hint: hintUpdate})
	} else if err := f.census.count(rec); err != nil {
		return err
	}
	if err := f.names(ctx, r, rec); err != nil {
		return err
	}
	if rec.Version <= payloadVersion && isCopied(rec.Type) {
		r.events[rec.Seq] = rec
	}
	if _, err := ParseID(r.id.Name); err == nil && r.whole {
		r.state = Reduce(r.state, rec)
	}
	return nil
}

// names notes the contents that a record names. Those of other domains are kept
// whatever becomes of the workspace, and are looked at now.
func (f *examination) names(ctx context.Context, r *replay, rec Record) error {
	for _, id := range rec.Bodies {
		if _, known := r.named[id]; known || id == rec.PayloadBody {
			continue
		}
		if isOurs(rec.Type) {
			r.named[id] = rec.Seq
			continue
		}
		v, err := f.content(ctx, id)
		if err != nil {
			return err
		}
		if v.damage != nil {
			f.found(v.finding(Finding{Project: r.id.Project, Stream: r.id.Name, Seq: rec.Seq}, id, "a content that the record names"))
		}
	}
	return nil
}

// damaged is the finding of a record that cannot be read.
func (*examination) damaged(id StreamID, seq Seq, err error) Finding {
	x := Finding{Kind: RecordDamaged, Severity: Loss, Project: id.Project, Stream: id.Name, Seq: seq, Text: plainText(err), Hint: hintRestore}
	if errors.Is(err, ErrMissing) {
		x.Kind = RecordMissing
	}
	return x
}

// plainText is an error without the name of what it was found at.
func plainText(err error) string {
	var e *Error
	if errors.As(err, &e) && e.Err != nil {
		return e.Err.Error()
	}
	return err.Error()
}

// payload reads a record's payload if it is a content, and reports whether it is
// there.
func (f *examination) payload(ctx context.Context, r *Record) (whole bool, err error) {
	if r.PayloadBody.IsZero() {
		return true, nil
	}
	v, err := f.content(ctx, r.PayloadBody)
	if err != nil {
		return false, err
	}
	if v.damage != nil {
		f.found(v.finding(Finding{Project: r.Stream.Project, Stream: r.Stream.Name, Seq: r.Seq}, r.PayloadBody, "the record's payload"))
		return false, nil
	}
	*r, err = f.host.resolve(ctx, *r)
	return true, err
}

// intents looks for commits that dead processes left under way.
func (f *examination) intents(ctx context.Context, r *replay) error {
	for key, in := range r.state.Intents {
		alive, err := f.host.cfg.Processes.Alive(in.By)
		if alive && err == nil {
			continue
		}
		if open, err := f.stillOpen(ctx, r, key); err != nil || !open {
			if err != nil {
				return err
			}
			continue
		}
		f.found(Finding{Kind: CommitOpen, Severity: Leftover, Project: r.id.Project, Stream: r.id.Name, Repo: in.Repo, ID: in.Commit.String(),
			Text: "a process died while it made a commit", Hint: "Whoever changes the workspace next decides it; nothing has to be done."})
	}
	return nil
}

// stillOpen reads on from where the replay ended: the process may have ended its
// commit, and then itself.
func (f *examination) stillOpen(ctx context.Context, r *replay, key string) (bool, error) {
	for rec, err := range f.host.cfg.Store.Records(ctx, r.id, r.last) {
		if err == nil {
			rec, err = f.host.resolve(ctx, rec)
		}
		if KindOf(err) == Corrupt {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		var end struct{ Key string }
		if rec.Type == WorkspaceCommitted || rec.Type == WorkspaceCommitDrop {
			if json.Unmarshal(rec.Payload, &end) == nil && end.Key == key {
				return false, nil
			}
		}
	}
	return true, nil
}
