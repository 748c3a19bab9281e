package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// needsTool skips a test of what is deployed where a tool for it is missing, or nobody
// wants to wait for it; with CARREL_CI it must be there.
func needsTool(t *testing.T, tool string) {
	t.Helper()
	ci := os.Getenv("CARREL_CI") != ""
	if _, err := exec.LookPath(tool); err != nil && ci {
		t.Fatal(err)
	}
	if !ci {
		t.Skipf("it builds the program anew and needs %s: CARREL_CI=1 runs it", tool)
	}
}

// deployed is where the sources were cloned to, and what the README says was done.
type deployed struct {
	*testing.T
	dir string
	env []string
}

// deploy runs the commands of a block of the README, in a fresh clone.
func deploy(t *testing.T, block string, env ...string) *deployed {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```sh " + block + "\n(.*?)```").FindSubmatch(readme)
	if m == nil {
		t.Fatalf("README.md has no block %s", block)
	}
	d := &deployed{t, filepath.Join(t.TempDir(), "carrel"), env}
	clone := exec.Command("git", "clone", "-q", "--no-local", filepath.Join("..", ".."), d.dir)
	if out, err := clone.CombinedOutput(); err != nil {
		t.Fatalf("clone: %v\n%s", err, out)
	}
	d.run("sh", "-e", "-c", string(m[1]))
	return d
}

// command is one in the clone, with the environment of the test.
func (d *deployed) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = d.dir, append(os.Environ(), d.env...)
	return cmd
}

// run runs a command that has to succeed, and returns what it prints.
func (d *deployed) run(args ...string) (stdout, stderr string) {
	d.Helper()
	cmd := d.command(d.Context(), args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		d.Fatalf("%q: %v\n%s%s", args, err, &out, &said)
	}
	return out.String(), said.String()
}

// mostExposure is how exposed the service may be, in tenths: systemd calls anything
// below 2.0 OK.
const mostExposure = 15

// TestDeployUnit installs the service below a directory and has systemd look at it.
func TestDeployUnit(t *testing.T) {
	needsTool(t, "systemd-analyze")
	root := t.TempDir()
	d := deploy(t, "install", "DESTDIR="+root)
	users, err := os.ReadFile(filepath.Join(root, "etc", "passwd"))
	if err != nil || !strings.Contains(string(users), "carrel:") {
		t.Errorf("the users are %q, %v", users, err)
	}
	d.run(filepath.Join(root, "usr/bin/carrel"), "serve", "--check-config", "--config", filepath.Join(root, "etc/carrel/carrel.yaml"))

	// Commands are looked for on this machine, and so are the units that it needs.
	unit, err := os.ReadFile(filepath.Join(root, "usr/lib/systemd/system/carrel.service"))
	if err != nil {
		t.Fatal(err)
	}
	units := t.TempDir()
	if err := os.CopyFS(units, os.DirFS("deploy")); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(units, "carrel.service")
	unit = bytes.ReplaceAll(unit, []byte("=/usr/bin/"), []byte("="+root+"/usr/bin/"))
	if err := os.WriteFile(at, unit, 0o644); err != nil {
		t.Fatal(err)
	}
	// An unknown key or value is said, and no failure.
	if out, said := d.run("systemd-analyze", "verify", at); out+said != "" {
		t.Errorf("systemd-analyze verify says\n%s%s", out, said)
	}
	d.run("systemd-analyze", "security", "--offline=yes", fmt.Sprintf("--threshold=%d", mostExposure), at)
}

// TestDeployImage builds the image, and has a server in it serve.
func TestDeployImage(t *testing.T) {
	needsTool(t, "buildah")
	storage := t.TempDir()
	conf := filepath.Join(storage, "storage.conf")
	text := fmt.Sprintf("[storage]\ndriver = \"vfs\"\ngraphroot = %q\nrunroot = %q\n", filepath.Join(storage, "graph"), filepath.Join(storage, "run"))
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d := deploy(t, "image", "CONTAINERS_STORAGE_CONF="+conf)
	config, _ := d.run("buildah", "inspect", "--type", "image", "--format", "{{.Docker.Config.User}} {{.Docker.Config.Healthcheck.Test}} {{.Docker.Config.Entrypoint}}", "carrel")
	if want := "65532:65532 [CMD /carrel health] [/carrel]"; config != want && config != want+"\n" {
		t.Errorf("the image has %q, want %q", config, want)
	}
	made, _ := d.run("buildah", "from", "carrel")
	addr := freeAddr(t)
	in := []string{"buildah", "run", "--isolation", "chroot", "--env", "CARREL_ADDR=" + addr, strings.TrimSpace(made), "--", "/carrel"}
	d.run(append(in, "repo", "create", "notes")...)
	token, _ := d.run(append(in, "token", "create", "--allow", "read")...)

	ctx, stop := context.WithCancel(t.Context())
	serve := d.command(ctx, append(in, "serve")...)
	serve.Cancel = func() error { return serve.Process.Signal(os.Interrupt) }
	said, err := serve.StderrPipe()
	if err == nil {
		err = serve.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer serve.Wait() // buildah ends with an error when it is interrupted
	defer stop()
	lines, begun := bufio.NewScanner(said), ""
	for !strings.Contains(begun, "Every request needs a token") && lines.Scan() {
		begun += lines.Text() + "\n"
	}
	go io.Copy(io.Discard, said)
	if d.becomesHealthy(append(in, "health")); t.Failed() {
		t.Fatalf("the server said %q", begun)
	}
	if got := userOf(t, "/carrel\x00serve\x00"); got != "65532" {
		t.Errorf("the server runs as the user %q", got)
	}
	a := &webAgent{T: t, url: "http://" + addr + "/mcp"}
	if body := a.ask("initialize", `{}`); !strings.Contains(body, "there is no token") {
		t.Errorf("without a token: %s", body)
	}
	a.bearer = strings.TrimSpace(token)
	a.initialize()
	if body := a.ask("tools/list", `{}`); a.session == "" || !strings.Contains(body, "readFile") {
		t.Errorf("the tools are %s", body)
	}
}

// becomesHealthy asks, by the binary itself, until the server is ready.
func (d *deployed) becomesHealthy(ask []string) {
	d.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		out, err := d.command(d.Context(), ask...).CombinedOutput()
		if err == nil && string(out) == "ok\n" {
			return
		}
		if time.Now().After(deadline) {
			d.Errorf("not ready: %v, %s", err, out)
			return
		}
	}
}

// freeAddr is an address of this machine on which nobody listened just now.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// userOf is the user of the process that was started by a command line.
func userOf(t *testing.T, cmdline string) string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		line, _ := os.ReadFile(f) // it may have ended
		status, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "status"))
		if m := regexp.MustCompile(`\nUid:\t(\d+)`).FindSubmatch(status); m != nil && string(line) == cmdline {
			return string(m[1])
		}
	}
	return ""
}
