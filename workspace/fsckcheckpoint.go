package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// savedState is a checkpoint that waits for the replay to come to it.
type savedState struct {
	Checkpoint
	damage  error // it is not as it was saved
	reached bool  // the replay came to its seq with every record read
	same    bool  // and added up to the same
}

// checkpoint reads the checkpoint of a stream, nil if there is none.
func (f *examination) checkpoint(ctx context.Context, id StreamID) (*savedState, error) {
	store, ok := f.host.cfg.Store.(CheckpointExaminer)
	if !ok {
		return nil, nil
	}
	c, err := store.ExamineCheckpoint(ctx, id)
	if errors.Is(err, NotExist) {
		return nil, nil
	}
	if err != nil && KindOf(err) != Corrupt {
		return nil, err
	}
	f.report.Checkpoints++
	return &savedState{Checkpoint: c, damage: err}, nil
}

// reduction is what a stream adds up to, and how checkpoints keep it.
type reduction struct {
	version int                          // of the reducer
	save    func() ([]byte, error)       // what it is by now; one that is unread cannot be saved
	again   func([]byte) ([]byte, error) // loads what was saved and saves it
}

// reduction is that of a workspace.
func (r *replay) reduction() reduction {
	return reduction{reducerVersion, func() ([]byte, error) { return json.Marshal(r.state) }, stateAgain}
}

// reduction is that of a project.
func (h *home) reduction() reduction {
	return reduction{catalogVersion, h.catalog.checkpoint, catalogAgain}
}

func stateAgain(b []byte) ([]byte, error) {
	var s State
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, err
	}
	return json.Marshal(&s)
}

func catalogAgain(b []byte) ([]byte, error) {
	c, err := readCatalog(b)
	if err != nil {
		return nil, err
	}
	return c.checkpoint()
}

// is reports whether a saved state is what the stream adds up to by now, in the
// form that both have once they were saved and loaded.
func (d reduction) is(saved []byte) bool {
	b, err := d.save()
	if err != nil {
		return false
	}
	was, errWas := d.again(saved)
	is, errIs := d.again(b)
	return errWas == nil && errIs == nil && bytes.Equal(was, is)
}

// compare holds the checkpoint, if the replay has come to it, against what the
// records up to it add up to.
func (c *savedState) compare(r *replay, d reduction) {
	if c != nil && c.At == r.last {
		c.reached = r.whole
		c.same = r.whole && d.is(c.State)
	}
}

// judge reports what is wrong with a checkpoint, and makes it anew if that is
// asked for. That of a stream which cannot be read in full stays: it may be all
// that is left. So does that of a fork, which begins with what its parent had.
func (f *examination) judge(ctx context.Context, r *replay, c *savedState, d reduction) error {
	if c == nil {
		return nil
	}
	x := Finding{Severity: Fault, Project: r.id.Project, Stream: r.id.Name, Seq: c.At, Hint: hintRebuild}
	switch {
	case c.damage != nil:
		x.Kind, x.Text = CheckpointDamaged, "the checkpoint does not match its checksum"
	case r.whole && c.At > r.last:
		x.Kind, x.Text = CheckpointWrong, fmt.Sprintf("the checkpoint is at seq %d, and the stream ends at %d", c.At, r.last)
	case c.reached && !c.same && c.Version == d.version && !f.forked(r.id):
		x.Kind, x.Text = CheckpointWrong, "the checkpoint is not what the records up to it add up to"
	}
	var err error
	if f.o.Rebuild && r.whole && !f.forked(r.id) {
		x.Mended, err = f.rebuild(ctx, r, d)
	}
	if x.Kind != "" && err == nil {
		f.found(x)
	}
	return err
}

// forked reports whether a stream is that of a fork.
func (f *examination) forked(id StreamID) bool {
	w := f.census.workspaces[id]
	return w != nil && w.from != StreamID{}
}

// rebuild makes the checkpoint of a stream that was read in full anew, unless the
// stream is unread: a newer Carrel may have made that.
func (f *examination) rebuild(ctx context.Context, r *replay, d reduction) (done bool, err error) {
	b, err := d.save()
	if err != nil {
		return false, nil
	}
	if err := f.host.cfg.Store.(CheckpointExaminer).DropCheckpoint(ctx, r.id); err != nil {
		return false, err
	}
	f.report.Rebuilt++
	store, ok := f.host.cfg.Store.(Checkpointer)
	if !ok || r.last < checkpointEvery {
		return true, nil
	}
	return true, store.SaveCheckpoint(ctx, r.id, r.last, d.version, b)
}
