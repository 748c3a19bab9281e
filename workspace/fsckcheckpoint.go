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

// compare holds the checkpoint against what the records up to it add up to.
func (c *savedState) compare(r *replay) {
	c.reached = r.whole
	c.same = r.whole && sameState(c.State, r.state)
}

// sameState compares states in the form that both have once they were saved and
// loaded.
func sameState(saved []byte, replayed *State) bool {
	b, err := json.Marshal(replayed)
	if err != nil {
		return false
	}
	was, errWas := canonicalState(saved)
	is, errIs := canonicalState(b)
	return errWas == nil && errIs == nil && bytes.Equal(was, is)
}

func canonicalState(b []byte) ([]byte, error) {
	var s State
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, err
	}
	return json.Marshal(&s)
}

// judge reports what is wrong with a checkpoint, and makes it anew if that is
// asked for. That of a stream which cannot be read in full stays: it may be all
// that is left. So does that of a fork, which begins with what its parent had.
func (f *examination) judge(ctx context.Context, r *replay, c *savedState) error {
	x := Finding{Severity: Fault, Project: r.id.Project, Stream: r.id.Name, Seq: c.At, Hint: hintRebuild}
	switch {
	case c.damage != nil:
		x.Kind, x.Text = CheckpointDamaged, "the checkpoint does not match its checksum"
	case r.whole && c.At > r.last:
		x.Kind, x.Text = CheckpointWrong, fmt.Sprintf("the checkpoint is at seq %d, and the stream ends at %d", c.At, r.last)
	case c.reached && !c.same && c.Version == reducerVersion && !f.forked(r.id):
		x.Kind, x.Text = CheckpointWrong, "the checkpoint is not what the records up to it add up to"
	}
	if f.o.Rebuild && r.whole && r.state.Unread == 0 && !f.forked(r.id) {
		if err := f.rebuild(ctx, r); err != nil {
			return err
		}
		x.Mended = true
	}
	if x.Kind != "" {
		f.found(x)
	}
	return nil
}

// forked reports whether a stream is that of a fork.
func (f *examination) forked(id StreamID) bool {
	w := f.census.workspaces[id]
	return w != nil && w.from != StreamID{}
}

// rebuild makes a checkpoint anew.
func (f *examination) rebuild(ctx context.Context, r *replay) error {
	if err := f.host.cfg.Store.(CheckpointExaminer).DropCheckpoint(ctx, r.id); err != nil {
		return err
	}
	f.report.Rebuilt++
	store, ok := f.host.cfg.Store.(Checkpointer)
	if !ok || r.state.Seq < checkpointEvery {
		return nil
	}
	b, err := json.Marshal(r.state)
	if err != nil {
		return err
	}
	return store.SaveCheckpoint(ctx, r.id, r.state.Seq, reducerVersion, b)
}
