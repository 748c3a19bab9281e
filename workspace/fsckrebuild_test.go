package workspace_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	. "carrel.dev/workspace"
)

// TestFsckRebuilds mends checkpoints and touches nothing else.
func TestFsckRebuilds(t *testing.T) {
	d := newDesk(t)
	d.furnish()
	w := d.open("/agents/a", "s")
	for i := range 500 {
		w.write("/workspace/small", fmt.Sprint(i))
	}
	d.checkpoint(func(b []byte) []byte {
		return bytes.ReplaceAll(b, []byte("/workspace/small"), []byte("/workspace/smell"))
	})
	d.reopen()
	if got := d.open("/agents/a", "s").read("/workspace/smell"); got != "499" {
		t.Fatalf("the checkpoint is not taken up: %q", got)
	}
	before := d.dump()
	if diff := cmp.Diff([]string{"fault checkpoint-wrong /agents/a mended"}, d.found(Fsck{Rebuild: true})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	after := d.dump()
	if after["checkpoints"] == before["checkpoints"] {
		t.Error("the checkpoint is as it was")
	}
	delete(before, "checkpoints")
	delete(after, "checkpoints")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("something else was changed (-before +after):\n%s", diff)
	}
	d.sound()
	d.reopen()
	if got := d.open("/agents/a", "s").read("/workspace/small"); got != "499" {
		t.Errorf("after the rebuild: %q", got)
	}
	c, err := d.cfg.Store.(CheckpointExaminer).ExamineCheckpoint(context.Background(), StreamID{Project: "p", Name: "/agents/a"})
	if err != nil || c.At < 500 {
		t.Errorf("the checkpoint made anew: %v at %d", err, c.At)
	}
}

// TestFsckKeepsTheLastCheckpoint: that of a stream which cannot be replayed is
// all that is left of it.
func TestFsckKeepsTheLastCheckpoint(t *testing.T) {
	d := newDesk(t)
	d.furnish()
	d.exec("UPDATE events SET actor = 'x' WHERE seq = 3 AND stream = " + ofA)
	d.reopen()
	before := d.dump()
	if diff := cmp.Diff([]string{"loss record-damaged /agents/a"}, d.found(Fsck{Rebuild: true})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, d.dump()); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	d.reopen()
	if got := d.open("/agents/a", "s").read("/workspace/small"); got != smallText {
		t.Errorf("from the checkpoint: %q", got)
	}
}

// TestFsckLeavesForks: the state of a fork is not its own records alone.
func TestFsckLeavesForks(t *testing.T) {
	d := newDesk(t)
	d.create("/agents/parent", nil)
	birth := []byte(`{"digest":"","from":{"workspace":"/agents/parent","seq":1}}`)
	_, err := d.cfg.Store.Append(context.Background(),
		Batch{Stream: StreamID{Project: "p", Name: "/agents/a"}, Events: []Event{{ID: "b", Type: WorkspaceCreated, Version: 1, Payload: birth}}},
		Batch{Stream: StreamID{Project: "p", Name: "/"}, Last: Any, Events: []Event{{ID: "b/copy", Type: WorkspaceCreated, Version: 1,
			Payload: fmt.Appendf(nil, `{"stream":"/agents/a","seq":1,"payload":%s}`, birth)}}})
	if err != nil {
		t.Fatal(err)
	}
	d.checkpoint(func(b []byte) []byte { return bytes.Replace(b, []byte(`"born"`), []byte(`"digest":"x","born"`), 1) })
	d.reopen()
	before := d.dump()
	if diff := cmp.Diff([]string{}, d.found(Fsck{Rebuild: true})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, d.dump()); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

// TestFsckRebuildsIndexes damages an index and has it made anew.
func TestFsckRebuildsIndexes(t *testing.T) {
	d := newDesk(t)
	d.furnish()
	redefine := func(was, is string) {
		d.exec(`PRAGMA writable_schema = ON;
			UPDATE sqlite_schema SET sql = replace(sql, '` + was + `', '` + is + `') WHERE name = 'events_of_commits'`)
	}
	redefine("workspace/commit", "workspace/nothing")
	d.exec(`INSERT INTO events (stream, seq, id, type, version, actor, session, client, key, request, checksum)
		VALUES (` + ofA + `, 99, 'x', 'workspace/committing', 1, '', '', '', '', '', 0)`) // and not into the index
	redefine("workspace/nothing", "workspace/commit")
	d.reopen()
	found := d.found(Fsck{})
	if !slices.Contains(found, "loss structure-damaged") {
		t.Errorf("got %v", found)
	}
	if found := d.found(Fsck{Rebuild: true}); !slices.Contains(found, "fault structure-damaged mended") {
		t.Errorf("rebuild: got %v", found)
	}
	if found := d.found(Fsck{}); slices.Contains(found, "loss structure-damaged") {
		t.Errorf("after the rebuild: got %v", found)
	}
}

// TestFsckBesideWriters examines a directory in which everything happens at once,
// and finds nothing.
func TestFsckBesideWriters(t *testing.T) {
	d := newDesk(t)
	ctx, stop := context.WithCancel(context.Background())
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	var steps [3]atomic.Int64
	for n := range steps {
		project := d.process()
		group.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if err := live(ctx, project, ID(fmt.Sprintf("/agents/w%d-%d", n, i)), i); err != nil && ctx.Err() == nil {
					t.Errorf("writer %d: %v", n, err)
					return
				}
				steps[n].Add(1)
			}
		})
	}
	later := *d.cfg
	later.Now = func() time.Time { return time.Now().Add(2 * day) }
	sweeper, err := NewHost(ctx, &later)
	if err != nil {
		t.Fatal(err)
	}
	var swept atomic.Int64
	group.Go(func() {
		for ctx.Err() == nil {
			c, err := sweeper.GC(ctx, GC{})
			if err != nil && ctx.Err() == nil {
				t.Errorf("gc: %v", err)
				return
			}
			swept.Add(int64(c.Contents))
		}
	})
	enough := func() bool {
		return min(steps[0].Load(), steps[1].Load(), steps[2].Load()) >= 3 && swept.Load() > 5
	}
	limit := time.Now().Add(2 * time.Minute)
	for n := 0; (n < 6 || !enough()) && time.Now().Before(limit) && !t.Failed(); n++ {
		for _, f := range d.found(Fsck{}) {
			// A workspace may be between its end and the sweep.
			if !strings.HasPrefix(f, "leftover ref-left") {
				t.Errorf("found %s", f)
			}
		}
	}
	stop()
	group.Wait()
	if !enough() {
		t.Error("too little happened")
	}
	for _, f := range d.found(Fsck{}) {
		if !strings.HasPrefix(f, "leftover") {
			t.Errorf("in the end: found %s", f)
		}
	}
	d.fsck("app")
}

// live is the life of a workspace. A content that was collected between its
// storing and its naming is Unavailable, which cannot be while gc waits a day.
func live(ctx context.Context, p *Project, id ID, i int) error {
	for _, step := range []func() error{
		func() error {
			_, err := p.Create(ctx, Caller{}, CreateRequest{ID: id, Mounts: map[string]MountPatch{"/repos/app": {FieldPolicy: ptr(string(WorkBranch))}}})
			return err
		},
		func() error { return put(ctx, p, id, "/workspace/large", largeText) },
		func() error { return put(ctx, p, id, "/workspace/small", fmt.Sprint("small ", i%3)) },
		func() error { return put(ctx, p, id, "/repos/app/f", fmt.Sprint("file ", i%3)) },
		func() error {
			w, err := p.Workspace(ctx, id, Caller{})
			if err == nil {
				_, err = w.Commit(ctx, CommitRequest{Mount: "/repos/app", Message: "m"})
			}
			return err
		},
		func() error { _, err := p.Delete(ctx, Caller{}, id, true); return err },
	} {
		err := step()
		for KindOf(err) == Unavailable && ctx.Err() == nil {
			err = step()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func put(ctx context.Context, p *Project, id ID, path Path, content string) error {
	w, err := p.Workspace(ctx, id, Caller{})
	if err == nil {
		_, err = w.Write(ctx, path, []byte(content), WriteOptions{})
	}
	return err
}
