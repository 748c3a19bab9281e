package s3

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"carrel.dev/persistence/internal/content"
	"carrel.dev/workspace"
	"carrel.dev/workspace/workspacetest"
)

const secret = "a-secret-that-nobody-may-see"

// bucket is one on a server in this process.
type bucket struct {
	*Blobs
	url string
	// through answers requests instead of the server, if it says so.
	through func(w http.ResponseWriter, r *http.Request, server http.Handler)
}

// newBucket starts a server with a bucket, and opens a prefix of it.
func newBucket(t testing.TB) *bucket {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": secret, "AWS_SESSION_TOKEN": "", "AWS_REGION": "", "AWS_PROFILE": "", "AWS_ENDPOINT_URL": "",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	backend := s3mem.New()
	if err := backend.CreateBucket("bodies"); err != nil {
		t.Fatal(err)
	}
	real := gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	b := &bucket{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b.through != nil {
			b.through(w, r, real)
			return
		}
		real.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	b.url = server.URL
	b.Blobs = b.open(t, &Config{})
	return b
}

// open opens the bucket once more, with a configuration of which the location is
// set here.
func (b *bucket) open(t testing.TB, cfg *Config) *Blobs {
	t.Helper()
	var err error
	if cfg.Location, err = ParseLocation("s3://bodies/some/where?endpoint=" + b.url); err != nil {
		t.Fatal(err)
	}
	cfg.Spool = t.TempDir()
	if cfg.MaxBackoff == 0 {
		cfg.MaxBackoff = 10 * time.Millisecond
	}
	opened, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

// damage changes a stored content and leaves its header and metadata, as decay
// does; nil removes it.
func (b *bucket) damage(t *testing.T, id workspace.OID, change func([]byte) []byte) {
	t.Helper()
	out, err := b.client.GetObject(t.Context(), &sdk.GetObjectInput{Bucket: &b.cfg.Bucket, Key: b.key(id)})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := io.ReadAll(out.Body)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := bytes.Cut(stored, []byte{0})
	changed := change(rest)
	if changed == nil {
		_, err = b.client.DeleteObject(t.Context(), &sdk.DeleteObjectInput{Bucket: &b.cfg.Bucket, Key: b.key(id)})
	} else {
		b.plant(t, id, append(append(bytes.Clone(head), 0), changed...), out.Metadata)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// plant stores an object behind the store's back.
func (b *bucket) plant(t *testing.T, id workspace.OID, stored []byte, metadata map[string]string) {
	t.Helper()
	_, err := b.client.PutObject(t.Context(), &sdk.PutObjectInput{Bucket: &b.cfg.Bucket, Key: b.key(id), Body: bytes.NewReader(stored), Metadata: metadata})
	if err != nil {
		t.Fatal(err)
	}
}

func TestBlobs(t *testing.T) {
	workspacetest.TestBlobs(t, func(t *testing.T) workspacetest.BlobsTarget {
		b := newBucket(t)
		return workspacetest.BlobsTarget{Blobs: b, Damage: b.damage}
	})
}

// TestBlobsWithoutSums is the suite on objects whose metadata is lost.
func TestBlobsWithoutSums(t *testing.T) {
	workspacetest.TestBlobs(t, func(t *testing.T) workspacetest.BlobsTarget {
		b := newBucket(t)
		b.through = func(w http.ResponseWriter, r *http.Request, server http.Handler) {
			r.Header.Del("X-Amz-Meta-" + sumsName)
			server.ServeHTTP(w, r)
		}
		return workspacetest.BlobsTarget{Blobs: b, Damage: b.damage}
	})
}

// made is content of a size that nothing compresses or repeats.
func made(size int) []byte {
	data := make([]byte, size)
	for i, x := 0, uint32(size+1); i < size; i++ {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		data[i] = byte(x)
	}
	return data
}

func put(t testing.TB, b workspace.Blobs, data []byte) workspace.OID {
	t.Helper()
	id, err := b.Put(t.Context(), bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func read(b workspace.Blobs, ctx context.Context, id workspace.OID) ([]byte, error) {
	r, err := b.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// TestLarge stores what is uploaded in parts, from memory and from elsewhere, and
// reads it whole, and in ranges.
func TestLarge(t *testing.T) {
	b := newBucket(t)
	var uploads atomic.Int64
	b.through = func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		if r.Method == http.MethodPut && r.URL.Query().Get("uploadId") != "" {
			uploads.Add(1)
		}
		server.ServeHTTP(w, r)
	}
	data := made(partSize + 5*minChunk + 100)
	id := put(t, b, data)
	if n := uploads.Load(); n != 3 {
		t.Errorf("it was uploaded in %d parts, want 3", n)
	}
	again, err := b.Put(t.Context(), io.MultiReader(bytes.NewReader(data)), int64(len(data)))
	if again != id || err != nil {
		t.Errorf("from elsewhere: got %s, %v, want %s", again, err, id)
	}
	if got, err := read(b, t.Context(), id); err != nil || !bytes.Equal(got, data) {
		t.Errorf("read %d bytes, %v, which are not those that were put", len(got), err)
	}
	r, err := b.Open(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, from := range []int{2*partSize - 3, 0, 5, minChunk - 1, 2 * partSize, minChunk, len(data) - 7} {
		length := min(minChunk+9, len(data)-from)
		got := make([]byte, length)
		if _, err := r.Seek(int64(from), io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, data[from:from+length]) {
			t.Errorf("%d bytes from %d: %v, or not those that were put", length, from, err)
		}
	}
	stored, err := b.client.GetObject(t.Context(), &sdk.GetObjectInput{Bucket: &b.cfg.Bucket, Key: b.key(id)})
	if err != nil {
		t.Fatal(err)
	}
	if head := content.Header(int64(len(data))); aws.ToInt64(stored.ContentLength) != int64(len(head)+len(data)) {
		t.Errorf("the object has %d bytes", aws.ToInt64(stored.ContentLength))
	}
}
