package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal opens a pseudo terminal and returns what a program takes for one, and
// a function that ends it and returns what was written to it.
func terminal(t *testing.T) (tty *os.File, end func() string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine has no pseudo terminals: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	var written bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(&written, master) // ends with EIO once nobody has the terminal open
	}()
	return tty, func() string {
		tty.Close()
		<-done
		return strings.ReplaceAll(written.String(), "\r\n", "\n")
	}
}

// onTerminal runs a command line whose output is a terminal.
func (w *world) onTerminal(args ...string) string {
	w.Helper()
	tty, end := terminal(w.T)
	var stderr bytes.Buffer
	err := run(w.Context(), args, strings.NewReader(""), tty, &stderr)
	out := end()
	if err != nil {
		w.Fatalf("carrel %s: %v", strings.Join(args, " "), err)
	}
	return out
}

func TestTerminal(t *testing.T) {
	w := newWorld(t)
	w.demo()
	w.carrel("call", "writeFile", "path=/repos/app/main.go", "content=one\n")
	t.Setenv("TERM", "xterm")
	w.has(w.onTerminal("status"), "\x1b[33m  M /repos/app/main.go\x1b[m\n")

	t.Setenv("PAGER", "sed 's/^/paged: /'")
	w.has(w.onTerminal("diff"), "paged: \x1b[32m+one\x1b[m\n")
	w.has(w.onTerminal("log", "--scope", "/repos/app"), "    first\n")
	if out := w.carrel("diff"); strings.Contains(out, "paged") || strings.Contains(out, "\x1b") {
		t.Errorf("not on a terminal: got %q", out)
	}
	t.Setenv("PAGER", "cat")
	w.has(w.onTerminal("diff"), "\n\x1b[32m+one\x1b[m\n")
	t.Setenv("PAGER", "/nonexistent/pager")
	w.has(w.onTerminal("diff"), "\n\x1b[32m+one\x1b[m\n")

	for _, name := range []string{"NO_COLOR", "TERM"} {
		t.Setenv(name, "dumb")
		if out := w.onTerminal("status"); strings.Contains(out, "\x1b") {
			t.Errorf("with %s: got %q", name, out)
		}
		t.Setenv(name, "")
	}

	// A file's text ends its line on a terminal, and is exact anywhere else.
	w.carrel("call", "writeFile", "path=a", "content=no newline")
	if got, want := w.onTerminal("call", "readFile", "path=a"), "no newline\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := w.carrel("call", "readFile", "path=a"), "no newline"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestServeFromATerminal explains itself to whoever starts a server by hand.
func TestServeFromATerminal(t *testing.T) {
	w := newWorld(t)
	tty, _ := terminal(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stderr bytes.Buffer
	said := writerFunc(func(b []byte) (int, error) {
		if bytes.Contains(b, []byte("mcpServers")) {
			cancel() // as Ctrl-C does
		}
		return stderr.Write(b)
	})
	err := run(ctx, []string{"mcp", "--repo", "app", "--workspace", "/agents/a", "--create"}, tty, io.Discard, said)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"/repos/app  branch on main, from " + filepath.Join(w.dir, "app") + "\n", "data       " + filepath.Join(w.dir, "data"),
		`"--tool-names=underscore"`, `"/agents/a"`,
	} {
		w.has(stderr.String(), want)
	}
}

// TestProgress has a bar on stderr if that is a terminal, and none on a pipe.
func TestProgress(t *testing.T) {
	w := newWorld(t)
	w.demo()
	t.Setenv("TERM", "xterm")
	tty, end := terminal(t)
	var stdout bytes.Buffer
	if err := run(w.Context(), []string{"fsck"}, strings.NewReader(""), &stdout, tty); err != nil {
		t.Fatal(err)
	}
	got := end()
	w.has(got, "reading records ")
	if !strings.HasSuffix(got, eraseLine) || strings.Contains(stdout.String(), "\x1b") {
		t.Errorf("got %q, and %q on stdout", got, stdout.String())
	}
	if r := w.try("", "fsck"); r.stderr != "" {
		t.Errorf("on a pipe: got %q", r.stderr)
	}
}
