// Package workspacetest holds the suites that judge any implementation of the
// interfaces of package workspace, and decorators that make one fail, for tests
// of the layers above it.
package workspacetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/workspace"
)

// StoreTarget is an implementation of workspace.Store under judgement, empty.
type StoreTarget struct {
	Store workspace.Store
	// Blobs is where the contents are that an append carries or names.
	Blobs workspace.Blobs
	// Again returns another handle on the same data, as another process has it.
	// It is nil if there is no such thing.
	Again func(t *testing.T) workspace.Store
}

// TestStore holds an implementation against the contract of workspace.Store,
// and of the optional interfaces that it implements. open is called once for
// each test and cleans up with t.Cleanup.
func TestStore(t *testing.T, open func(t *testing.T) StoreTarget) {
	tests := []struct {
		name string
		run  func(*testing.T, StoreTarget)
	}{
		{"Numbers", testNumbers},
		{"Last", testLast},
		{"Any", testAny},
		{"SeveralBatches", testSeveralBatches},
		{"OneStreamTwice", testOneStreamTwice},
		{"AllOrNothing", testAllOrNothing},
		{"Repeated", testRepeated},
		{"RepeatedWithOtherContent", testRepeatedWithOtherContent},
		{"PartlyRepeated", testPartlyRepeated},
		{"EventIDsAreTheStreams", testEventIDsAreTheStreams},
		{"Unfit", testUnfit},
		{"Canceled", testCanceled},
		{"CallersMemory", testCallersMemory},
		{"Concurrent", testConcurrent},
		{"CarriedBodies", testCarriedBodies},
		{"MissingBodies", testMissingBodies},
		{"Records", testRecords},
		{"RecordsManyPages", testRecordsManyPages},
		{"Newest", testNewest},
		{"Find", testFind},
		{"RoundTrip", testRoundTrip},
		{"Isolation", testIsolation},
		{"OtherHandle", testOtherHandle},
		{"Feed", testFeed},
		{"FeedManyPages", testFeedManyPages},
		{"FeedConcurrent", testFeedConcurrent},
		{"FeedOtherHandle", testFeedOtherHandle},
		{"Checkpoint", testCheckpoint},
		{"CheckpointKeepsNewer", testCheckpointKeepsNewer},
		{"CheckpointVersion", testCheckpointVersion},
		{"Projects", testProjects},
		{"OpenCommits", testOpenCommits},
		{"Sweep", testSweep},
		{"SweepSees", testSweepSees},
		{"Examine", testExamine},
		{"ExamineCheckpoint", testExamineCheckpoint},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

// stream names a stream of the project "p".
func stream(name string) workspace.StreamID { return workspace.StreamID{Project: "p", Name: name} }

// event makes an event with something in its usual fields.
func event(id string) workspace.Event {
	return workspace.Event{
		ID: id, Type: "workspace/changed", Version: 1,
		At:    time.Date(2026, 11, 29, 12, 30, 15, 123456789, time.UTC),
		Actor: "ann", Session: "s1", Client: "test",
		Payload: fmt.Appendf(nil, `{"id":%q}`, id),
	}
}

func batch(s workspace.StreamID, last workspace.Seq, ids ...string) workspace.Batch {
	b := workspace.Batch{Stream: s, Last: last}
	for _, id := range ids {
		b.Events = append(b.Events, event(id))
	}
	return b
}

func body(t *testing.T, content string) workspace.Body {
	t.Helper()
	id, err := workspace.BlobID([]byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return workspace.Body{ID: id, Content: []byte(content)}
}

func mustAppend(t *testing.T, s workspace.Store, batches ...workspace.Batch) []workspace.Record {
	t.Helper()
	recs, err := s.Append(t.Context(), batches...)
	if err != nil {
		t.Fatalf("append: %v", err)
	}
	return recs
}

// read collects a stream's records.
func read(t *testing.T, s workspace.Store, id workspace.StreamID, after workspace.Seq) []workspace.Record {
	t.Helper()
	var recs []workspace.Record
	for rec, err := range s.Records(t.Context(), id, after) {
		if err != nil {
			t.Fatalf("records of %s after %d: %v", id.Name, after, err)
		}
		recs = append(recs, rec)
	}
	return recs
}

// places writes records as "stream seq id", for comparison.
func places(recs []workspace.Record) []string {
	out := []string{}
	for _, rec := range recs {
		out = append(out, fmt.Sprintf("%s %d %s", rec.Stream.Name, rec.Seq, rec.ID))
	}
	return out
}

// checkStream fails unless a stream of project "p" holds exactly these events,
// numbered from 1.
func checkStream(t *testing.T, s workspace.Store, name string, ids ...string) {
	t.Helper()
	want := []string{}
	for i, id := range ids {
		want = append(want, fmt.Sprintf("%s %d %s", name, i+1, id))
	}
	if diff := cmp.Diff(want, places(read(t, s, stream(name), 0))); diff != "" {
		t.Errorf("stream %s (-want +got):\n%s", name, diff)
	}
}

func sameRecords(t *testing.T, what string, want, got []workspace.Record) {
	t.Helper()
	// What is empty may be nil.
	asBytes, asIDs := cmp.Comparer(bytes.Equal), cmp.Comparer(slices.Equal[[]workspace.OID])
	if diff := cmp.Diff(slices.Concat(want), slices.Concat(got), asBytes, asIDs); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func checkKind(t *testing.T, err error, want workspace.Kind) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got error %v, want one of kind %s", err, want)
	}
}

func checkConflict(t *testing.T, err error, want workspace.ConflictError) {
	t.Helper()
	var got *workspace.ConflictError
	if !errors.As(err, &got) {
		t.Fatalf("got error %v, want a *ConflictError", err)
	}
	checkKind(t, err, workspace.Conflict)
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Errorf("conflict (-want +got):\n%s", diff)
	}
}

func testRecords(t *testing.T, c StoreTarget) {
	mustAppend(t, c.Store, batch(stream("/agents/a"), 0, "1", "2", "3", "4", "5"))
	for after := range workspace.Seq(5) {
		got := read(t, c.Store, stream("/agents/a"), after)
		if len(got) != int(5-after) || got[0].Seq != after+1 {
			t.Errorf("after %d: got %v", after, places(got))
		}
	}
	for _, after := range []workspace.Seq{5, 6, 1 << 40, workspace.Any} {
		if got := read(t, c.Store, stream("/agents/a"), after); len(got) != 0 {
			t.Errorf("after %d: got %v, want nothing", after, places(got))
		}
	}
	if got := read(t, c.Store, stream("/agents/unknown"), 0); len(got) != 0 {
		t.Errorf("an unknown stream: got %v, want nothing", places(got))
	}

	seq := c.Store.Records(t.Context(), stream("/agents/a"), 0)
	for rec, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Seq == 2 {
			break
		}
	}
	// The broken iteration holds nothing that an append or another iteration
	// needs, nor does one that is under way; and it can be run again.
	n := 0
	for rec, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		n++
		mustAppend(t, c.Store, batch(stream("/agents/b"), workspace.Any, fmt.Sprint("b", rec.Seq)))
		read(t, c.Store, stream("/agents/a"), 0)
	}
	if n != 5 {
		t.Errorf("the second run of an iteration: got %d records, want 5", n)
	}
	checkStream(t, c.Store, "/agents/b", "b1", "b2", "b3", "b4", "b5")
}

func testRecordsManyPages(t *testing.T, c StoreTarget) {
	ids := make([]string, 2500)
	for i := range ids {
		ids[i] = fmt.Sprint("e", i)
	}
	mustAppend(t, c.Store, batch(stream("/agents/a"), 0, ids...))
	checkStream(t, c.Store, "/agents/a", ids...)
}

func testNewest(t *testing.T, c StoreTarget) {
	a, b := stream("/agents/a"), stream("/agents/b")
	for i := range workspace.Seq(3) {
		mustAppend(t, c.Store, batch(a, i, fmt.Sprint(i)))
	}
	for s, want := range map[workspace.StreamID]workspace.Seq{a: 3, b: 0} {
		got, err := c.Store.Last(t.Context(), s)
		if got != want || err != nil {
			t.Errorf("%s: got %d, %v, want %d", s.Name, got, err, want)
		}
	}
	if _, err := c.Store.Last(canceled(t), a); workspace.KindOf(err) != workspace.Canceled {
		t.Errorf("with a context that ended: got %v", err)
	}
}

func testFind(t *testing.T, c StoreTarget) {
	recs := mustAppend(t, c.Store, batch(stream("/agents/a"), 0, "one", "two"))
	got, err := c.Store.Find(t.Context(), stream("/agents/a"), "two")
	if err != nil {
		t.Fatal(err)
	}
	sameRecords(t, "found", recs[1:], []workspace.Record{got})
	for _, miss := range []struct{ stream, event string }{{"/agents/a", "three"}, {"/agents/b", "one"}, {"/agents/a", ""}} {
		_, err := c.Store.Find(t.Context(), stream(miss.stream), miss.event)
		checkKind(t, err, workspace.NotExist)
	}
}

func testRoundTrip(t *testing.T, c StoreTarget) {
	one, two := body(t, "one"), body(t, "two")
	full := event("full")
	full.Key, full.Request, full.Result = "k\u00e9y\x00 with more", "sha256:ab", []byte("{\"ok\":true}\x00\xff")
	full.Bodies = []workspace.OID{two.ID, one.ID, two.ID}
	large := event("large payload")
	large.Payload, large.PayloadBody, large.Bodies = nil, one.ID, []workspace.OID{one.ID}
	big := event("largest payload")
	big.Payload = make([]byte, 64<<10)
	zone := event("time of a zone")
	zone.At = time.Date(2026, 3, 1, 23, 59, 59, 1, time.FixedZone("somewhere", 5*3600+1800))
	early := event("before the epoch")
	early.At = time.Date(1969, 12, 31, 23, 59, 59, 999999999, time.UTC)
	now := event("time with a monotonic clock")
	now.At = time.Now()
	versions := event("version")
	versions.Version = 1<<31 - 1
	events := []workspace.Event{full, large, big, zone, early, now, versions, {ID: "nothing else"}}

	s := stream("/agents/\u00fcber@1.2")
	appended := mustAppend(t, c.Store, workspace.Batch{Stream: s, Events: events, Bodies: []workspace.Body{one, two}})
	var want []workspace.Record
	for i, e := range events {
		want = append(want, workspace.Record{Stream: s, Seq: workspace.Seq(i + 1), Event: e})
	}
	stored := read(t, c.Store, s, 0)
	sameRecords(t, "appended", want, appended)
	sameRecords(t, "stored", want, stored)
	for _, rec := range append(appended, stored...) {
		if rec.At != rec.At.UTC().Round(0) {
			t.Errorf("event %q: time %v is not in UTC without a monotonic clock", rec.ID, rec.At)
		}
	}
	for _, e := range events { // the same times in another zone are the same events
		e.At = e.At.In(time.FixedZone("elsewhere", -3600))
		mustAppend(t, c.Store, workspace.Batch{Stream: s, Events: []workspace.Event{e}})
	}
}

func testIsolation(t *testing.T, c StoreTarget) {
	streams := []workspace.StreamID{{Project: "p", Name: "/"}, {Project: "q", Name: "/"}, {Project: "p", Name: "/agents/a"}, {Project: "p/", Name: "agents/a"}}
	for i, s := range streams {
		mustAppend(t, c.Store, batch(s, 0, "e", fmt.Sprint("of ", i)))
	}
	for i, s := range streams {
		got := read(t, c.Store, s, 0)
		want := []string{s.Name + " 1 e", fmt.Sprintf("%s 2 of %d", s.Name, i)}
		if diff := cmp.Diff(want, places(got)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", s, diff)
		}
		for _, rec := range got {
			if rec.Stream != s {
				t.Errorf("record of stream %v, want %v", rec.Stream, s)
			}
		}
		_, err := c.Store.Find(t.Context(), s, fmt.Sprint("of ", (i+1)%len(streams)))
		checkKind(t, err, workspace.NotExist)
	}
}

func testOtherHandle(t *testing.T, c StoreTarget) {
	if c.Again == nil {
		t.Skip("the store has one handle only")
	}
	other := c.Again(t)
	b := batch(stream("/agents/a"), 0, "1")
	b.Bodies = []workspace.Body{body(t, "carried")}
	mustAppend(t, c.Store, b)
	checkStream(t, other, "/agents/a", "1")
	_, err := other.Append(t.Context(), batch(stream("/agents/a"), 0, "2"))
	checkConflict(t, err, workspace.ConflictError{Stream: stream("/agents/a"), Want: 0, Got: 1})
	naming := batch(stream("/agents/a"), 1, "2")
	naming.Events[0].Bodies = []workspace.OID{body(t, "carried").ID}
	mustAppend(t, other, naming)
	mustAppend(t, c.Store, batch(stream("/agents/a"), 2, "3"))
	checkStream(t, c.Store, "/agents/a", "1", "2", "3")
	checkStream(t, other, "/agents/a", "1", "2", "3")
}

// canceled is a context that ended.
func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
