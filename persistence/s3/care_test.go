package s3

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"carrel.dev/workspace"
)

// contents lists what a store has.
func contents(t *testing.T, b *Blobs, before time.Time) map[workspace.OID]int64 {
	t.Helper()
	found := map[workspace.OID]int64{}
	for c, err := range b.Contents(t.Context(), before) {
		if err != nil {
			t.Fatal(err)
		}
		found[c.ID] = c.Size
	}
	return found
}

// TestContents lists contents only, of one prefix.
func TestContents(t *testing.T) {
	b := newBucket(t)
	id, empty := put(t, b, []byte("content")), put(t, b, nil)
	below := b.Below("more")
	other := put(t, below, []byte("other"))
	for _, key := range []string{"some/where/notes", "some/where/" + strings.ToUpper(id.String()), "some/where" + id.String(), "some/whereelse/" + id.String()} {
		if _, err := b.client.PutObject(t.Context(), &sdk.PutObjectInput{Bucket: &b.cfg.Bucket, Key: &key, Body: strings.NewReader("x")}); err != nil {
			t.Fatal(err)
		}
	}
	if got := contents(t, b.Blobs, time.Time{}); len(got) != 2 || got[id] != 7 {
		t.Errorf("got %v, want %s and %s", got, id, empty)
	}
	if got := contents(t, below, time.Time{}); len(got) != 1 || got[other] != 5 {
		t.Errorf("below: got %v, want %s", got, other)
	}
	if got := contents(t, b.Blobs, time.Now().Add(-time.Hour)); len(got) != 0 {
		t.Errorf("before they were put: got %v", got)
	}
}

func TestOld(t *testing.T) {
	at := time.Date(2026, 11, 1, 12, 0, 5, 0, time.UTC)
	for before, want := range map[time.Time]bool{{}: true, at.Add(999 * time.Millisecond): false, at.Add(time.Second): true, at.Add(-time.Second): false} {
		if got := old(at, before); got != want {
			t.Errorf("put at %v, old before %v: got %v", at, before, got)
		}
	}
}

func TestDiscard(t *testing.T) {
	b := newBucket(t)
	old, kept, cut := put(t, b, []byte("old")), put(t, b, []byte("kept")), put(t, b, []byte("damaged"))
	b.damage(t, cut, func(b []byte) []byte { return b[:3] })
	absent, err := workspace.BlobID([]byte("absent"))
	if err != nil {
		t.Fatal(err)
	}
	if gone, err := b.Discard(t.Context(), time.Now().Add(-time.Hour), []workspace.OID{old, kept}); len(gone) > 0 || err != nil {
		t.Errorf("what is young: got %v, %v", gone, err)
	}
	gone, err := b.Discard(t.Context(), time.Now().Add(time.Hour), []workspace.OID{old, absent, cut})
	if len(gone) != 2 || err != nil {
		t.Errorf("got %v, %v, want the old and the damaged one", gone, err)
	}
	if got := contents(t, b.Blobs, time.Time{}); len(got) != 1 || got[kept] != 4 {
		t.Errorf("left: %v", got)
	}
}

// TestAbandoned leaves uploads unfinished, and looks at them when they are young
// and when they are old.
func TestAbandoned(t *testing.T) {
	b := newBucket(t)
	for _, key := range []string{*b.key(workspace.OID{1}), "elsewhere/" + workspace.OID{2}.String()} {
		if _, err := b.client.CreateMultipartUpload(t.Context(), &sdk.CreateMultipartUploadInput{Bucket: &b.cfg.Bucket, Key: &key}); err != nil {
			t.Fatal(err)
		}
	}
	if names, err := b.Abandoned(t.Context()); len(names) != 0 || err != nil {
		t.Errorf("young: got %q, %v", names, err)
	}
	initiated := regexp.MustCompile(`<Initiated>[^<]*</Initiated>`)
	b.through = func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		if _, list := r.URL.Query()["uploads"]; !list || r.Method != http.MethodGet {
			server.ServeHTTP(w, r)
			return
		}
		answer := &rewriting{ResponseWriter: w}
		server.ServeHTTP(answer, r)
		w.Header().Del("Content-Length")
		io.WriteString(w, initiated.ReplaceAllString(answer.text.String(), "<Initiated>2020-01-01T00:00:00Z</Initiated>"))
	}
	if names, err := b.Abandoned(t.Context()); len(names) != 1 || names[0] != (workspace.OID{1}).String() || err != nil {
		t.Errorf("old: got %q, %v", names, err)
	}
	if n, err := b.Clean(t.Context()); n != 1 || err != nil {
		t.Errorf("clean: got %d, %v", n, err)
	}
	if n, err := b.Clean(t.Context()); n != 0 || err != nil {
		t.Errorf("clean again: got %d, %v", n, err)
	}
}

// rewriting keeps an answer back.
type rewriting struct {
	http.ResponseWriter
	text strings.Builder
}

func (r *rewriting) Write(p []byte) (int, error) { return r.text.Write(p) }

// smallPart makes small contents go in parts.
const smallPart = 100_000

// TestAbort has an upload in parts fail: nothing of it is left.
func TestAbort(t *testing.T) {
	b := newBucket(t)
	b.Blobs = b.open(t, &Config{Attempts: 2})
	b.part = smallPart
	b.through = func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		if r.URL.Query().Get("partNumber") == "3" {
			answering("InternalError", 500)(w, r, server)
			return
		}
		server.ServeHTTP(w, r)
	}
	data := made(4 * smallPart)
	if _, err := b.Put(t.Context(), strings.NewReader(string(data)), int64(len(data))); workspace.KindOf(err) != workspace.Unavailable {
		t.Errorf("got %v, want one of kind unavailable", err)
	}
	uploads, err := b.client.ListMultipartUploads(t.Context(), &sdk.ListMultipartUploadsInput{Bucket: &b.cfg.Bucket})
	if err == nil && len(uploads.Uploads) > 0 || err != nil && !isCode(err, codeNoUpload) {
		t.Errorf("left: %d uploads, %v", len(uploads.Uploads), err)
	}
	if got := contents(t, b.Blobs, time.Time{}); len(got) != 0 {
		t.Errorf("stored: %v", got)
	}
}

// TestLostAnswer completes an upload and loses the answer: it is there, once.
func TestLostAnswer(t *testing.T) {
	b := newBucket(t)
	b.part = smallPart
	lost := upcoming(1)
	b.through = func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		server.ServeHTTP(w, r)
		if r.Method == http.MethodPost && r.URL.Query().Get("uploadId") != "" && lost.next() {
			panic(http.ErrAbortHandler)
		}
	}
	data := made(smallPart + 1)
	id := put(t, b, data)
	if got := contents(t, b.Blobs, time.Time{}); lost.left.Load() != 0 || len(got) != 1 || got[id] != int64(len(data)) {
		t.Errorf("%d answers were not lost, stored %v", lost.left.Load(), got)
	}
	out, err := b.client.HeadObject(t.Context(), &sdk.HeadObjectInput{Bucket: &b.cfg.Bucket, Key: b.key(id)})
	if err != nil || !strings.HasPrefix(out.Metadata[sumsName], "1;4194304;") || aws.ToString(out.ContentType) != contentType {
		t.Errorf("got %+v, %v", out, err)
	}
}

// TestUploadDenied has a server agree to complete an upload that it never does.
func TestUploadDenied(t *testing.T) {
	b := newBucket(t)
	b.part = smallPart
	denied := upcoming(1)
	b.through = func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		if r.Method == http.MethodPost && r.URL.Query().Get("uploadId") != "" && denied.next() {
			io.WriteString(w, "<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>")
			return
		}
		server.ServeHTTP(w, r)
	}
	data := made(smallPart + 1)
	id := put(t, b, data)
	if has, err := b.Has(t.Context(), id); !has || err != nil {
		t.Errorf("it was put: has %v, %v", has, err)
	}
	denied.left.Store(always)
	other := made(smallPart + 2)
	if _, err := b.Put(t.Context(), strings.NewReader(string(other)), int64(len(other))); workspace.KindOf(err) != workspace.Unavailable {
		t.Errorf("denied always: got %v, want one of kind unavailable", err)
	}
}
