package main

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"carrel.dev/persistence/s3"
	"carrel.dev/workspace"
)

// secretKey must not be shown anywhere.
const secretKey = "a-secret-that-nobody-may-see"

// s3Server starts a server with the buckets bodies and other, to which the
// environment leads. It returns the URL.
func (w *world) s3Server() string {
	w.Helper()
	backend := s3mem.New()
	for _, name := range []string{"bodies", "other"} {
		if err := backend.CreateBucket(name); err != nil {
			w.Fatal(err)
		}
	}
	server := httptest.NewServer(gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server())
	w.Cleanup(server.Close)
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": secretKey, "AWS_REGION": "", "AWS_PROFILE": "", "AWS_ENDPOINT_URL": server.URL,
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true", "CARREL_BLOBS": "",
	} {
		w.Setenv(name, value)
	}
	return server.URL
}

// writeLarge writes a file of a size in the workspace, and returns its content.
func (w *world) writeLarge(name string, size int) string {
	w.Helper()
	line := name + " is a large content\n"
	text := strings.Repeat(line, size/len(line))
	w.write(name+".txt", text)
	w.carrel("call", "writeFile", "path="+name, "content=@"+name+".txt")
	return text
}

func (w *world) files() int {
	w.Helper()
	found, err := filepath.Glob(filepath.Join(w.dir, "data", "blobs", "??", "*"))
	if err != nil {
		w.Fatal(err)
	}
	return len(found)
}

// inBucket lists the contents of the data directory in a bucket.
func (w *world) inBucket(location string) (ids []workspace.OID) {
	w.Helper()
	for c, err := range w.bucket(location).Contents(w.Context(), time.Time{}) {
		if err != nil {
			w.Fatal(err)
		}
		ids = append(ids, c.ID)
	}
	return ids
}

// bucket is the data directory's part of one.
func (w *world) bucket(location string) *s3.Blobs {
	w.Helper()
	at, err := s3.ParseLocation(location)
	if err != nil {
		w.Fatal(err)
	}
	b, err := s3.New(w.Context(), &s3.Config{Location: at})
	if err != nil {
		w.Fatal(err)
	}
	return b.Below(strings.Fields(w.read("data/id"))[2])
}

func TestBlobsCommand(t *testing.T) {
	w := newWorld(t)
	location := "s3://bodies/team?region=eu-central-1&endpoint=" + w.s3Server()
	w.demo()
	before := w.writeLarge("before", 2_000_000)
	t.Setenv("CARREL_BLOBS", location)
	large, middle := w.writeLarge("large", 2_000_000), w.writeLarge("middle", 1_000_000)
	if n, in := w.files(), w.inBucket(location); n != 2 || len(in) != 1 {
		t.Errorf("%d contents are in the directory and %v in the bucket, want 2 and 1", n, in)
	}
	intact := func() {
		t.Helper()
		for name, want := range map[string]string{"before": before, "large": large, "middle": middle} {
			if got := w.carrel("export", "--force", "out"); got == "" {
				t.Error("export says nothing")
			}
			if got := w.read(filepath.Join("out", "workspace", name)); got != want {
				t.Errorf("%s has %d bytes, which are not those that were written", name, len(got))
			}
		}
		w.has(w.carrel("fsck"), "nothing is wrong\n")
	}
	intact()

	w.has(w.carrel("blobs", "move", "--to", location), "moved: 1 content (1.9 MiB)\n")
	if n, in := w.files(), w.inBucket(location); n != 1 || len(in) != 2 {
		t.Errorf("%d contents are in the directory and %v in the bucket, want 1 and 2", n, in)
	}
	intact()
	for text, named := range map[string]string{
		"are in the blob store s3://bodies/team?endpoint=": "",
		"and another one is named":                         strings.Replace(location, "bodies", "other", 1),
	} {
		t.Setenv("CARREL_BLOBS", named)
		w.fails(workspace.Unavailable, text, "call", "readFile", "path=large")
	}
	t.Setenv("CARREL_BLOBS", location)
	if r := decode[blobsReport](w, "blobs", "move", "--to", "dir"); r.Contents != 2 || r.Bucket || r.Damaged == nil {
		t.Errorf("got %+v", r)
	}
	if n, in := w.files(), w.inBucket(location); n != 3 || len(in) != 0 {
		t.Errorf("%d contents are in the directory and %v in the bucket, want 3 and none", n, in)
	}
	t.Setenv("CARREL_BLOBS", "")
	intact()
	w.has(w.carrel("blobs", "move", "--to", "dir"), "moved: 0 contents (0 B)\n")
}

// TestBlobsCare has gc and fsck look after a bucket.
func TestBlobsCare(t *testing.T) {
	w := newWorld(t)
	location := "s3://bodies?endpoint=" + w.s3Server()
	t.Setenv("CARREL_BLOBS", location)
	w.demo()
	w.writeLarge("large", 2_000_000)
	b := w.bucket(location)
	if _, err := b.Put(t.Context(), strings.NewReader("nobody names this"), 17); err != nil {
		t.Fatal(err)
	}
	if r := decode[gcReport](w, "gc"); r.Contents != 0 {
		t.Errorf("what is young: got %+v", r)
	}
	h, err := (&cli{dir: w.dir, getenv: os.Getenv, stderr: os.Stderr, logLevel: "error", logFormat: "text"}).open(t.Context(), homeOptions{asIs: true})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	time.Sleep(2 * time.Second) // ages are in whole seconds, by the server's clock
	if r, err := h.host.GC(t.Context(), workspace.GC{Age: time.Nanosecond}); r.Contents != 1 || r.Bytes != 17 || err != nil {
		t.Errorf("gc: got %+v, %v", r, err)
	}
	in := w.inBucket(location)
	if len(in) != 1 {
		t.Fatalf("in the bucket: %v", in)
	}
	if _, err := b.Discard(t.Context(), time.Time{}, in); err != nil {
		t.Fatal(err)
	}
	w.has(w.try("", "fsck").stdout, "loss     content-missing")
}

// TestBlobsRefused looks at what is said, and that it has no secret in it.
func TestBlobsRefused(t *testing.T) {
	w := newWorld(t)
	url := w.s3Server()
	w.demo()
	for location, text := range map[string]string{
		"bodies":                                       "no URL of the scheme s3",
		"s3://key:" + secretKey + "@bodies":            "credentials in it",
		"s3://none-such?endpoint=" + url:               "NoSuchBucket (404)",
		"s3://bodies?endpoint=http://127.0.0.1:1&x=y":  "not known",
		"s3://bodies?endpoint=http://localhost:1/?a=b": "no URL of the scheme http",
	} {
		r := w.try("", "workspace", "list", "--blobs", location)
		if r.status != statusRefused || strings.Contains(r.stderr, secretKey) || !strings.Contains(r.stderr, "\n") {
			t.Errorf("%s: status %d, %s", location, r.status, r.stderr)
		}
		w.has(r.stderr, text)
	}
	if _, err := os.Stat("data/elsewhere"); err == nil {
		t.Error("a bucket that is not there was recorded")
	}
	cmd := exec.Command(os.Args[0], "mcp", "--project", defaultProject)
	cmd.Env = append(os.Environ(), asCarrel+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if files, _ := os.ReadDir("data/processes"); len(files) > 0 {
			break
		}
		if time.Now().After(limit) {
			t.Fatal("the process does not register")
		}
	}
	w.fails(workspace.Unavailable, "a process is alive", "blobs", "move", "--to", "s3://bodies?endpoint="+url)
	in.Close()
	cmd.Wait()
	w.misused("required flag", "blobs", "move")
}
