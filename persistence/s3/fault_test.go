package s3

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel.dev/workspace"
)

// always is a count of faults without end.
const always = -1

// faults counts those that are still to happen. What asks are goroutines of a
// server, of which nothing says that one ends before the next.
type faults struct{ left atomic.Int64 }

// upcoming is n faults.
func upcoming(n int64) *faults {
	f := &faults{}
	f.left.Store(n)
	return f
}

// next reports whether one happens now, and counts it.
func (f *faults) next() bool {
	for {
		left := f.left.Load()
		if left <= 0 {
			return left < 0
		}
		if f.left.CompareAndSwap(left, left-1) {
			return true
		}
	}
}

// answering has every request answered with an error of S3.
func answering(code string, status int) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s %s</Message><Resource>%s</Resource></Error>", code, secret, r.URL, r.URL.Path)
	}
}

// TestAnswers holds what a server may answer against what a caller is told.
func TestAnswers(t *testing.T) {
	b := newBucket(t)
	id := put(t, b, []byte("content"))
	for _, test := range []struct {
		code   string
		status int
		kind   workspace.Kind // of Open; the others are unavailable
		hint   string
	}{
		{"NoSuchKey", 404, workspace.Corrupt, "Write the same content again"},
		{"InvalidRange", 416, workspace.Corrupt, "Write the same content again"},
		{"NoSuchBucket", 404, workspace.Unavailable, "make the bucket"},
		{"AccessDenied", 403, workspace.Unavailable, "s3:GetObject"},
		{"InvalidAccessKeyId", 403, workspace.Unavailable, "AWS_ACCESS_KEY_ID"},
		{"SignatureDoesNotMatch", 403, workspace.Unavailable, "AWS_ACCESS_KEY_ID"},
		{"PermanentRedirect", 301, workspace.Unavailable, "region=REGION"},
		{"RequestTimeTooSkewed", 403, workspace.Unavailable, "clock"},
		{"InvalidObjectState", 403, workspace.Unavailable, "archive"},
		{"SlowDown", 503, workspace.Unavailable, "Repeat the call"},
		{"<b>" + secret, 400, workspace.Unavailable, "Repeat the call"},
	} {
		b.through = answering(test.code, test.status)
		b.Blobs = b.open(t, &Config{})
		_, openErr := b.Open(t.Context(), id)
		_, putErr := b.Put(t.Context(), strings.NewReader("content"), 7)
		var listErr error
		for _, err := range b.Contents(t.Context(), time.Time{}) {
			listErr = err
		}
		for call, err := range map[string]error{"open": openErr, "put": putErr, "list": listErr, "check": b.Check(t.Context())} {
			want := workspace.Unavailable
			if call == "open" {
				want = test.kind
			}
			if workspace.KindOf(err) != want || workspace.HintOf(err) == "" {
				t.Errorf("%s of %s: got %v, want one of kind %s with a hint", call, test.code, err, want)
			}
			checkDiscreet(t, b, err)
			if call == "open" && !strings.Contains(workspace.HintOf(err), test.hint) {
				t.Errorf("%s of %s: got the hint %q, want %q in it", call, test.code, workspace.HintOf(err), test.hint)
			}
		}
	}
}

// checkDiscreet fails if an error says what a client must not see.
func checkDiscreet(t *testing.T, b *bucket, err error) {
	t.Helper()
	said := fmt.Sprintf("%v %+v %s", err, err, workspace.HintOf(err))
	for _, hidden := range []string{secret, b.url, strings.TrimPrefix(b.url, "http://"), "bodies", "some/where", "Amz"} {
		if strings.Contains(said, hidden) {
			t.Errorf("%q shows %q", said, hidden)
		}
	}
}

// TestUnreachable has nobody answer at all.
func TestUnreachable(t *testing.T) {
	b := newBucket(t)
	b.url = "http://127.0.0.1:1"
	b.Blobs = b.open(t, &Config{})
	_, err := b.Open(t.Context(), workspace.OID{1})
	if workspace.KindOf(err) != workspace.Unavailable || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("open: got %v", err)
	}
	checkDiscreet(t, b, err)

	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	b = &bucket{url: "http://127.0.0.1:1"}
	b.Blobs = b.open(t, &Config{})
	if err := b.Check(t.Context()); workspace.KindOf(err) != workspace.Unavailable || !strings.Contains(err.Error(), "no credentials") || !strings.Contains(workspace.HintOf(err), "AWS_ACCESS_KEY_ID") {
		t.Errorf("without credentials: got %v", err)
	}
}

// TestRetries counts the attempts, and sees that a few faults are none.
func TestRetries(t *testing.T) {
	b := newBucket(t)
	var asked atomic.Int64
	slow := upcoming(3)
	b.through = func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		asked.Add(1)
		if !slow.next() {
			server.ServeHTTP(w, r)
			return
		}
		answering("SlowDown", 503)(w, r, server)
	}
	data := made(100_000)
	id := put(t, b, data)
	if asked.Load() != 4 {
		t.Errorf("a put with 3 faults took %d attempts, want 4", asked.Load())
	}
	slow.left.Store(3)
	if got, err := read(b, t.Context(), id); err != nil || !bytes.Equal(got, data) {
		t.Errorf("a read with 3 faults: got %d bytes, %v", len(got), err)
	}
	asked.Store(0)
	slow.left.Store(always)
	b.Blobs = b.open(t, &Config{Attempts: 5})
	if _, err := b.Open(t.Context(), id); workspace.KindOf(err) != workspace.Unavailable || asked.Load() != 5 {
		t.Errorf("faults without end: %v after %d attempts, want 5", err, asked.Load())
	}
	asked.Store(0)
	b.Blobs = b.open(t, &Config{Attempts: 100, MaxBackoff: time.Hour, Hold: 50 * time.Millisecond})
	if has, err := b.Has(t.Context(), id); has || workspace.KindOf(err) != workspace.Unavailable {
		t.Errorf("has, in an outage: got %v, %v, want one of kind unavailable", has, err)
	}
	if _, err := b.Discard(t.Context(), time.Time{}, []workspace.OID{id}); workspace.KindOf(err) != workspace.Unavailable {
		t.Errorf("discard, in an outage: got %v, want one of kind unavailable", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := b.Open(ctx, id); workspace.KindOf(err) != workspace.Canceled {
		t.Errorf("canceled between attempts: got %v", err)
	}
}

// cutting is a server's answer that ends early, with its connection.
type cutting struct {
	http.ResponseWriter
	left int
}

func (c *cutting) Write(p []byte) (int, error) {
	if len(p) <= c.left {
		c.left -= len(p)
		return c.ResponseWriter.Write(p)
	}
	c.ResponseWriter.Write(p[:c.left])
	http.NewResponseController(c.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

// altering is a server's answer with a byte that is another one.
type altering struct {
	http.ResponseWriter
	at int
}

func (a *altering) Write(p []byte) (int, error) {
	if a.at < 0 || a.at >= len(p) {
		a.at -= len(p)
		return a.ResponseWriter.Write(p)
	}
	q := bytes.Clone(p)
	q[a.at] ^= 1
	a.at = -1
	return a.ResponseWriter.Write(q)
}

// TestBadLines cuts and alters bodies on their way here.
func TestBadLines(t *testing.T) {
	data := made(2*minChunk + 1000)
	for name, test := range map[string]struct {
		times int64 // that it happens
		fault func(http.ResponseWriter) http.ResponseWriter
		want  workspace.Kind
	}{
		"cut in the header": {3, func(w http.ResponseWriter) http.ResponseWriter { return &cutting{w, 4} }, ""},
		"cut in a chunk":    {3, func(w http.ResponseWriter) http.ResponseWriter { return &cutting{w, minChunk + 70_000} }, ""},
		"cut always":        {always, func(w http.ResponseWriter) http.ResponseWriter { return &cutting{w, 1000} }, workspace.Unavailable},
		"altered once":      {1, func(w http.ResponseWriter) http.ResponseWriter { return &altering{w, minChunk + 70_000} }, ""},
		"altered always":    {always, func(w http.ResponseWriter) http.ResponseWriter { return &altering{w, 70_000} }, workspace.Corrupt},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBucket(t)
			id := put(t, b, data)
			bad := upcoming(test.times)
			b.through = func(w http.ResponseWriter, r *http.Request, server http.Handler) {
				if r.Method == http.MethodGet && bad.next() {
					w = test.fault(w)
				}
				server.ServeHTTP(w, r)
			}
			got, err := read(b, t.Context(), id)
			if workspace.KindOf(err) != test.want {
				t.Errorf("got %v, want one of kind %q", err, test.want)
			}
			if !bytes.HasPrefix(data, got) || err == nil && len(got) != len(data) {
				t.Errorf("got %d bytes, which are not those that were put", len(got))
			}
		})
	}
}

// TestStall has a server stop in the middle of an answer.
func TestStall(t *testing.T) {
	b := newBucket(t)
	data := made(3 * minChunk)
	id := put(t, b, data)
	stalls := upcoming(1)
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	b.through = func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		if !stalls.next() {
			server.ServeHTTP(w, r)
			return
		}
		whole := httptest.NewRecorder()
		server.ServeHTTP(whole, r)
		for name, values := range whole.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(whole.Code)
		w.Write(whole.Body.Bytes()[:minChunk])
		http.NewResponseController(w).Flush()
		select {
		case <-ended:
		case <-r.Context().Done():
		}
	}
	b.Blobs = b.open(t, &Config{Stall: 200 * time.Millisecond})
	if got, err := read(b, t.Context(), id); err != nil || !bytes.Equal(got, data) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

// TestRanges looks at what a reader asks for.
func TestRanges(t *testing.T) {
	b := newBucket(t)
	data := made(6 * minChunk)
	id := put(t, b, data)
	var mu sync.Mutex
	var asked []string
	b.through = func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		mu.Lock()
		asked = append(asked, r.Header.Get("Range"))
		mu.Unlock()
		server.ServeHTTP(w, r)
	}
	check := func(doing string, want ...string) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(asked, want) {
			t.Errorf("%s asked for %q, want %q", doing, asked, want)
		}
		asked = nil
	}
	if _, err := read(b, t.Context(), id); err != nil {
		t.Fatal(err)
	}
	check("reading all", "bytes=0-")
	r, err := b.Open(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	check("opening", "bytes=0-")
	head := int64(len("blob 25165824") + 1)
	span := func(from, to int64) string { return fmt.Sprintf("bytes=%d-%d", head+from*minChunk, head+to*minChunk-1) }
	buf := make([]byte, 10)
	for _, at := range []int64{4*minChunk + 10, 4*minChunk + 100} {
		r.Seek(at, io.SeekStart)
		if _, err := io.ReadFull(r, buf); err != nil || !bytes.Equal(buf, data[at:at+10]) {
			t.Errorf("at %d: %v", at, err)
		}
	}
	check("a range", span(4, 5))
	r.Seek(minChunk, io.SeekStart)
	if _, err := io.ReadFull(r, make([]byte, 4*minChunk)); err != nil {
		t.Fatal(err)
	}
	check("reading on", span(1, 2), span(2, 4), span(4, 6))
}

// TestVanished removes a content while it is read.
func TestVanished(t *testing.T) {
	b := newBucket(t)
	id := put(t, b, made(3*minChunk))
	r, err := b.Open(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b.damage(t, id, func([]byte) []byte { return nil })
	r.Seek(2*minChunk, io.SeekStart)
	if _, err := r.Read(make([]byte, 1)); workspace.KindOf(err) != workspace.Unavailable {
		t.Errorf("got %v, want one of kind unavailable", err)
	}
	r.Close()
	if _, err := r.Read(make([]byte, 1)); workspace.KindOf(err) != workspace.Closed {
		t.Errorf("read after close: got %v", err)
	}
}
