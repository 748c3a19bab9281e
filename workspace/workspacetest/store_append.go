package workspacetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/workspace"
)

func testNumbers(t *testing.T, c StoreTarget) {
	first := mustAppend(t, c.Store, batch(stream("/agents/a"), 0, "1"))
	rest := mustAppend(t, c.Store, batch(stream("/agents/a"), 1, "2", "3"))
	checkStream(t, c.Store, "/agents/a", "1", "2", "3")
	sameRecords(t, "returned against stored", append(first, rest...), read(t, c.Store, stream("/agents/a"), 0))
	if recs := mustAppend(t, c.Store); len(recs) != 0 {
		t.Errorf("append of nothing: got %v", places(recs))
	}
	if recs := mustAppend(t, c.Store, batch(stream("/agents/b"), 7)); len(recs) != 0 {
		t.Errorf("append of a batch without events: got %v", places(recs))
	}
}

func testLast(t *testing.T, c StoreTarget) {
	a := stream("/agents/a")
	for _, test := range []struct{ last, end workspace.Seq }{{1, 0}, {7, 0}, {0, 2}, {1, 2}, {3, 2}, {workspace.Any - 1, 2}} {
		if test.end == 2 {
			mustAppend(t, c.Store, batch(a, 0, "1", "2")) // only the first one adds something
		}
		_, err := c.Store.Append(t.Context(), batch(a, test.last, "x"))
		checkConflict(t, err, workspace.ConflictError{Stream: a, Want: test.last, Got: test.end})
	}
	checkStream(t, c.Store, "/agents/a", "1", "2")
}

func testAny(t *testing.T, c StoreTarget) {
	for i := range 3 {
		recs := mustAppend(t, c.Store, batch(stream("/"), workspace.Any, fmt.Sprint("a", i), fmt.Sprint("b", i)))
		if want := workspace.Seq(2*i + 1); recs[0].Seq != want || recs[1].Seq != want+1 {
			t.Errorf("append %d: got %v", i, places(recs))
		}
	}
	checkStream(t, c.Store, "/", "a0", "b0", "a1", "b1", "a2", "b2")
}

func testSeveralBatches(t *testing.T, c StoreTarget) {
	mustAppend(t, c.Store, batch(stream("/"), 0, "p1"))
	recs := mustAppend(t, c.Store,
		batch(stream("/agents/a"), 0, "a1", "a2"), batch(stream("/"), workspace.Any, "p2"), batch(stream("/repos/r"), 0, "r1"))
	want := []string{"/agents/a 1 a1", "/agents/a 2 a2", "/ 2 p2", "/repos/r 1 r1"}
	if diff := cmp.Diff(want, places(recs)); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	checkStream(t, c.Store, "/agents/a", "a1", "a2")
	checkStream(t, c.Store, "/", "p1", "p2")
	checkStream(t, c.Store, "/repos/r", "r1")
}

func testOneStreamTwice(t *testing.T, c StoreTarget) {
	a := stream("/agents/a")
	mustAppend(t, c.Store, batch(a, 0, "1"), batch(a, 1, "2", "1"), batch(a, workspace.Any, "3"))
	checkStream(t, c.Store, "/agents/a", "1", "2", "3")
	_, err := c.Store.Append(t.Context(), batch(a, 3, "4"), batch(a, 3, "5"))
	checkConflict(t, err, workspace.ConflictError{Stream: a, Want: 3, Got: 4})
	checkStream(t, c.Store, "/agents/a", "1", "2", "3")
}

// testAllOrNothing appends several batches of which one fails, in each place
// and for each reason, and expects that nothing happened.
func testAllOrNothing(t *testing.T, c StoreTarget) {
	mustAppend(t, c.Store, batch(stream("/agents/a"), 0, "a1"), batch(stream("/"), 0, "p1"))
	good := func() []workspace.Batch {
		b := batch(stream("/agents/a"), 1, "a2", "a3")
		b.Bodies = []workspace.Body{body(t, "carried in vain")}
		return []workspace.Batch{b, batch(stream("/agents/new"), 0, "n1"), batch(stream("/"), workspace.Any, "p2")}
	}
	other := event("a1")
	other.Actor = "somebody else"
	lost := event("names a lost body")
	lost.Bodies = []workspace.OID{body(t, "nowhere").ID}
	bad := map[string]workspace.Batch{
		"conflict":      batch(stream("/repos/r"), 1, "r2"),
		"other content": {Stream: stream("/agents/a"), Last: workspace.Any, Events: []workspace.Event{other}},
		"missing body":  {Stream: stream("/repos/r"), Events: []workspace.Event{lost}},
		"unfit":         batch(stream("/repos/r"), 0, ""),
	}
	for name, b := range bad {
		for place := range 4 {
			batches := append(good()[:place:place], append([]workspace.Batch{b}, good()[place:]...)...)
			if _, err := c.Store.Append(t.Context(), batches...); err == nil {
				t.Fatalf("%s, batch %d: no error", name, place)
			}
		}
	}
	checkStream(t, c.Store, "/agents/a", "a1")
	checkStream(t, c.Store, "/agents/new")
	checkStream(t, c.Store, "/repos/r")
	checkStream(t, c.Store, "/", "p1")
	if has, err := c.Blobs.Has(t.Context(), body(t, "carried in vain").ID); has || err != nil {
		t.Errorf("the body of a failed append: got %v, %v, want that it is not there", has, err)
	}
	mustAppend(t, c.Store, good()...)
	checkStream(t, c.Store, "/agents/a", "a1", "a2", "a3")
	checkStream(t, c.Store, "/", "p1", "p2")
}

func testRepeated(t *testing.T, c StoreTarget) {
	b := batch(stream("/agents/a"), 0, "1", "2")
	b.Events[0].Key, b.Events[0].Result = "k", []byte(`"r"`)
	b.Events[1].Bodies = []workspace.OID{body(t, "carried").ID}
	b.Bodies = []workspace.Body{body(t, "carried")}
	first := mustAppend(t, c.Store, b, batch(stream("/"), workspace.Any, "p"))
	mustAppend(t, c.Store, batch(stream("/agents/a"), 2, "3"), batch(stream("/"), workspace.Any, "q"))
	again := mustAppend(t, c.Store, b, batch(stream("/"), workspace.Any, "p"))
	sameRecords(t, "repeated append", first, again)
	checkStream(t, c.Store, "/agents/a", "1", "2", "3")
	checkStream(t, c.Store, "/", "p", "q")
}

func testRepeatedWithOtherContent(t *testing.T, c StoreTarget) {
	a := stream("/agents/a")
	carried := body(t, "carried")
	e := event("e")
	e.Key, e.Request, e.Result = "k", "r", []byte("1")
	e.PayloadBody, e.Bodies = carried.ID, []workspace.OID{carried.ID}
	mustAppend(t, c.Store, workspace.Batch{Stream: a, Events: []workspace.Event{e}, Bodies: []workspace.Body{carried}})
	changes := map[string]func(*workspace.Event){
		"type":         func(e *workspace.Event) { e.Type = "workspace/created" },
		"version":      func(e *workspace.Event) { e.Version = 2 },
		"time":         func(e *workspace.Event) { e.At = e.At.Add(time.Nanosecond) },
		"actor":        func(e *workspace.Event) { e.Actor = "" },
		"session":      func(e *workspace.Event) { e.Session = "s2" },
		"client":       func(e *workspace.Event) { e.Client = "other" },
		"key":          func(e *workspace.Event) { e.Key = "l" },
		"request":      func(e *workspace.Event) { e.Request = "" },
		"result":       func(e *workspace.Event) { e.Result = []byte("2") },
		"payload":      func(e *workspace.Event) { e.Payload = nil },
		"payload body": func(e *workspace.Event) { e.PayloadBody = workspace.OID{} },
		"bodies":       func(e *workspace.Event) { e.Bodies = append(e.Bodies, carried.ID) },
	}
	for name, change := range changes {
		other := e
		change(&other)
		_, err := c.Store.Append(t.Context(), workspace.Batch{Stream: a, Last: 1, Events: []workspace.Event{other}})
		var conflict *workspace.ConflictError
		if !errors.As(err, &conflict) || conflict.Event != "e" || conflict.Stream != a {
			t.Errorf("another %s: got error %v, want a conflict that names the event", name, err)
		}
	}
	checkStream(t, c.Store, "/agents/a", "e")
}

func testPartlyRepeated(t *testing.T, c StoreTarget) {
	a := stream("/agents/a")
	mustAppend(t, c.Store, batch(a, 0, "1"))
	_, err := c.Store.Append(t.Context(), batch(a, 0, "1", "2"))
	checkConflict(t, err, workspace.ConflictError{Stream: a, Want: 0, Got: 1})
	recs := mustAppend(t, c.Store, batch(a, 1, "2", "1", "3"))
	want := []string{"/agents/a 2 2", "/agents/a 1 1", "/agents/a 3 3"}
	if diff := cmp.Diff(want, places(recs)); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	checkStream(t, c.Store, "/agents/a", "1", "2", "3")
}

func testEventIDsAreTheStreams(t *testing.T, c StoreTarget) {
	mustAppend(t, c.Store, batch(stream("/agents/a"), 0, "e"))
	other := event("e")
	other.Actor = "somebody else"
	mustAppend(t, c.Store, workspace.Batch{Stream: stream("/agents/b"), Events: []workspace.Event{other}})
	checkStream(t, c.Store, "/agents/a", "e")
	checkStream(t, c.Store, "/agents/b", "e")
}

func testUnfit(t *testing.T, c StoreTarget) {
	edit := func(change func(*workspace.Batch, *workspace.Event)) workspace.Batch {
		b := batch(stream("/agents/a"), 0, "e")
		change(&b, &b.Events[0])
		return b
	}
	tests := map[string]workspace.Batch{
		"no project":    edit(func(b *workspace.Batch, _ *workspace.Event) { b.Stream.Project = "" }),
		"no stream":     edit(func(b *workspace.Batch, _ *workspace.Event) { b.Stream.Name = "" }),
		"no event id":   edit(func(_ *workspace.Batch, e *workspace.Event) { e.ID = "" }),
		"time too late": edit(func(_ *workspace.Batch, e *workspace.Event) { e.At = time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC) }),
		"large payload": edit(func(_ *workspace.Batch, e *workspace.Event) { e.Payload = make([]byte, 64<<10+1) }),
		"zero body":     edit(func(_ *workspace.Batch, e *workspace.Event) { e.Bodies = make([]workspace.OID, 1) }),
		"unlisted body": edit(func(_ *workspace.Batch, e *workspace.Event) { e.PayloadBody = workspace.OID{1} }),
		"body not as id": edit(func(b *workspace.Batch, _ *workspace.Event) {
			b.Bodies = []workspace.Body{{ID: workspace.OID{1}, Content: []byte("x")}}
		}),
	}
	for name, b := range tests {
		_, err := c.Store.Append(t.Context(), b)
		if workspace.KindOf(err) != workspace.Invalid {
			t.Errorf("%s: got error %v, want one of kind invalid", name, err)
		}
	}
	checkStream(t, c.Store, "/agents/a")
}

func testCanceled(t *testing.T, c StoreTarget) {
	mustAppend(t, c.Store, batch(stream("/agents/a"), 0, "1"))
	_, err := c.Store.Append(canceled(t), batch(stream("/agents/a"), 1, "2"))
	checkKind(t, err, workspace.Canceled)
	checkStream(t, c.Store, "/agents/a", "1")
	_, err = c.Store.Find(canceled(t), stream("/agents/a"), "1")
	checkKind(t, err, workspace.Canceled)
	n := 0
	for _, err := range c.Store.Records(canceled(t), stream("/agents/a"), 0) {
		n++
		checkKind(t, err, workspace.Canceled)
	}
	if n != 1 {
		t.Errorf("records under an ended context: got %d results, want one error", n)
	}
}

// testCallersMemory changes what it gave and was given after the call.
func testCallersMemory(t *testing.T, c StoreTarget) {
	carried := body(t, "carried")
	e := event("e")
	e.Result, e.Bodies = []byte("result"), []workspace.OID{carried.ID}
	given := workspace.Batch{Stream: stream("/agents/a"), Events: []workspace.Event{e}, Bodies: []workspace.Body{carried}}
	want := string(e.Payload)
	recs := mustAppend(t, c.Store, given)
	read := read(t, c.Store, stream("/agents/a"), 0)
	for _, e := range []workspace.Event{e, recs[0].Event, read[0].Event} {
		clear(e.Payload)
		clear(e.Result)
		clear(e.Bodies)
	}
	clear(carried.Content)
	got, err := c.Store.Find(t.Context(), stream("/agents/a"), "e")
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Payload) != want || string(got.Result) != "result" || got.Bodies[0] != carried.ID {
		t.Errorf("the stored event changed with the caller's memory: %s %s %v", got.Payload, got.Result, got.Bodies)
	}
	checkContent(t, c.Blobs, carried.ID, []byte("carried"))
}

// testConcurrent has appenders of different kinds race: some at the end that
// they saw, deciding again after a conflict, some wherever the stream ends.
func testConcurrent(t *testing.T, c StoreTarget) {
	const appenders, each = 8, 15
	a, p := stream("/agents/a"), stream("/")
	var wg sync.WaitGroup
	for i := range appenders {
		wg.Go(func() {
			for n := range each {
				id := fmt.Sprintf("%d-%d", i, n)
				for end := workspace.Seq(0); ; {
					_, err := c.Store.Append(t.Context(), batch(a, end, id), batch(p, workspace.Any, id))
					var conflict *workspace.ConflictError
					if err == nil {
						break
					}
					if !errors.As(err, &conflict) {
						t.Errorf("append: %v", err)
						return
					}
					end = conflict.Got
				}
			}
		})
	}
	wg.Wait()
	for _, s := range []workspace.StreamID{a, p} {
		recs, seen := read(t, c.Store, s, 0), map[string]bool{}
		for i, rec := range recs {
			if rec.Seq != workspace.Seq(i+1) {
				t.Errorf("%s: record %d has seq %d", s.Name, i+1, rec.Seq)
			}
			seen[rec.ID] = true
		}
		if len(recs) != appenders*each || len(seen) != len(recs) {
			t.Errorf("%s: got %d records of %d events, want %d", s.Name, len(recs), len(seen), appenders*each)
		}
	}
}

func testCarriedBodies(t *testing.T, c StoreTarget) {
	contents := []string{"", "x", strings.Repeat("0123456789", 1000)}
	b := batch(stream("/agents/a"), 0, "1")
	for _, content := range contents {
		b.Bodies = append(b.Bodies, body(t, content))
		b.Events[0].Bodies = append(b.Events[0].Bodies, body(t, content).ID)
	}
	mustAppend(t, c.Store, b)
	b.Last, b.Events = 1, []workspace.Event{event("2")} // carries the same once more
	mustAppend(t, c.Store, b)
	for _, content := range contents {
		checkContent(t, c.Blobs, body(t, content).ID, []byte(content))
	}
}

func testMissingBodies(t *testing.T, c StoreTarget) {
	here, carried, lost, gone := body(t, "here"), body(t, "carried"), body(t, "lost"), body(t, "gone")
	if _, err := c.Blobs.Put(t.Context(), bytes.NewReader(here.Content), int64(len(here.Content))); err != nil {
		t.Fatal(err)
	}
	b := batch(stream("/agents/a"), 0, "1", "2")
	b.Events[0].Bodies = []workspace.OID{here.ID, lost.ID, carried.ID}
	b.Events[1].Bodies = []workspace.OID{lost.ID, gone.ID}
	carrier := workspace.Batch{Stream: stream("/"), Last: workspace.Any, Bodies: []workspace.Body{carried}}
	for range 2 {
		_, err := c.Store.Append(t.Context(), b, carrier)
		var missing *workspace.MissingBodiesError
		if !errors.As(err, &missing) {
			t.Fatalf("got error %v, want a *MissingBodiesError", err)
		}
		checkKind(t, err, workspace.Unavailable)
		if diff := cmp.Diff([]workspace.OID{lost.ID, gone.ID}, missing.IDs); diff != "" {
			t.Errorf("missing (-want +got):\n%s", diff)
		}
	}
	for _, body := range []workspace.Body{lost, gone} {
		if _, err := c.Blobs.Put(t.Context(), bytes.NewReader(body.Content), int64(len(body.Content))); err != nil {
			t.Fatal(err)
		}
	}
	mustAppend(t, c.Store, b, carrier)
	checkStream(t, c.Store, "/agents/a", "1", "2")
	mustAppend(t, c.Store, b) // all of it is stored: what it names is not asked for
}

// checkContent fails unless a blob can be read and is want.
func checkContent(t *testing.T, blobs workspace.Blobs, id workspace.OID, want []byte) {
	t.Helper()
	got, err := readBlob(t, blobs, id)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("blob %s: got %d bytes, %v, want %d bytes", id.Short(), len(got), err, len(want))
	}
	if has, err := blobs.Has(t.Context(), id); !has || err != nil {
		t.Errorf("has blob %s: got %v, %v", id.Short(), has, err)
	}
}

func readBlob(t *testing.T, blobs workspace.Blobs, id workspace.OID) ([]byte, error) {
	t.Helper()
	r, err := blobs.Open(t.Context(), id)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}
