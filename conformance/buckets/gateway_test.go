package buckets

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel.dev/persistence/s3"
)

const (
	accessKey = "carrel-test"
	secretKey = "a-secret-that-nobody-may-see"
)

// gateway is a real S3 server with the bucket bodies.
type gateway struct {
	t    *testing.T
	dir  string
	addr string
	cmd  *exec.Cmd
}

func newGateway(t *testing.T) *gateway {
	t.Helper()
	build(t)
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey, "AWS_SESSION_TOKEN": "", "AWS_REGION": "us-east-1", "AWS_PROFILE": "", "AWS_ENDPOINT_URL": "",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway{t: t, dir: t.TempDir(), addr: l.Addr().String()}
	l.Close()
	if err := os.MkdirAll(filepath.Join(g.dir, "root", "bodies"), 0o700); err != nil {
		t.Fatal(err)
	}
	g.start()
	t.Cleanup(g.kill)
	return g
}

// start starts the server and returns when it answers.
func (g *gateway) start() {
	g.t.Helper()
	g.cmd = exec.Command(built.gateway, "--port", g.addr, "--access", accessKey, "--secret", secretKey, "--quiet", "--keep-alive",
		"posix", filepath.Join(g.dir, "root"))
	log, err := os.OpenFile(filepath.Join(g.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		g.t.Fatal(err)
	}
	defer log.Close()
	g.cmd.Stdout, g.cmd.Stderr = log, log
	if err := g.cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	for limit := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		r, err := http.Get("http://" + g.addr)
		if err == nil {
			r.Body.Close()
			return
		}
		if time.Now().After(limit) {
			said, _ := os.ReadFile(filepath.Join(g.dir, "log"))
			g.t.Fatalf("the S3 server does not answer: %v\n%s", err, said)
		}
	}
}

// kill ends the server as a power cut does, but for the disk's cache.
func (g *gateway) kill() {
	g.cmd.Process.Kill()
	g.cmd.Wait()
}

// location is the bucket's, as --blobs takes it, at the server or at a line to it.
func location(addr, prefix string) string {
	return "s3://bodies/" + prefix + "?endpoint=http://" + addr
}

// open opens a prefix of the bucket.
func open(t *testing.T, addr, prefix string) *s3.Blobs {
	t.Helper()
	at, err := s3.ParseLocation(location(addr, prefix))
	if err != nil {
		t.Fatal(err)
	}
	b, err := s3.New(context.Background(), &s3.Config{Location: at, Spool: t.TempDir(), Attempts: 12, MaxBackoff: time.Second, Hold: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// checkNoSecret fails if a text shows what it must not.
func checkNoSecret(t *testing.T, text string) {
	t.Helper()
	for _, hidden := range []string{secretKey, "X-Amz-", "Signature="} {
		if strings.Contains(text, hidden) {
			t.Errorf("%q shows %q", text, hidden)
		}
	}
}
