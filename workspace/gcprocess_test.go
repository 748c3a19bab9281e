package workspace_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	. "carrel.dev/workspace"
)

// childEnv makes this test binary a process on a data directory: "gc PATH" or
// "write PATH NAME".
const childEnv = "CARREL_TEST_CHILD"

func TestMain(m *testing.M) {
	if spec := os.Getenv(childEnv); spec != "" {
		if err := child(strings.Fields(spec)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child does its work over and over until it is killed or its input ends, and
// prints a line each time.
func child(spec []string) error {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	cfg, closed, err := openDesk(ctx, spec[1])
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	defer closed()
	work := collecting
	if spec[0] == "write" {
		work = writing
	}
	if err := work(ctx, cfg, spec); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// collecting runs gc as if a day had passed since everything, so that all that
// nothing refers to at the moment goes.
func collecting(ctx context.Context, cfg *Config, _ []string) error {
	cfg.Now = func() time.Time { return time.Now().Add(2 * day) }
	cfg.Fault = func(string) error { // so that others come between its looks at the references
		time.Sleep(time.Duration(rand.IntN(5)) * time.Millisecond)
		return nil
	}
	host, err := NewHost(ctx, cfg)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		c, err := host.GC(ctx, GC{})
		if err != nil {
			return fmt.Errorf("gc: %w", err)
		}
		fmt.Println(c.Contents)
	}
	return nil
}

// writing makes workspaces, writes and deletes them, all with the same few
// contents: each is stored again just when it was collected, or is about to be.
// What was acknowledged is read back.
func writing(ctx context.Context, cfg *Config, spec []string) error {
	host, err := NewHost(ctx, cfg)
	if err != nil {
		return err
	}
	p, err := host.Project(ctx, "p")
	if err != nil {
		return err
	}
	for life := 0; ctx.Err() == nil; life++ {
		id := ID(fmt.Sprintf("/agents/%s/%d", spec[2], life))
		if _, err := p.Create(ctx, Caller{}, CreateRequest{ID: id}); err != nil {
			return fmt.Errorf("create: %w", err)
		}
		held := map[Path]string{}
		for range 6 {
			path := Path(fmt.Sprintf("/workspace/f%d", rand.IntN(4)))
			content := strings.Repeat(fmt.Sprint("content ", rand.IntN(3), " "), 1+rand.IntN(2)*20)
			if err := putAgain(ctx, p, id, path, content); err != nil {
				return fmt.Errorf("write: %w", err)
			}
			held[path] = content
			fmt.Println(1)
			if err := readBack(ctx, p, id, held); err != nil {
				return err
			}
		}
		if life%3 == 2 {
			continue // it stays
		}
		if _, err := p.Delete(ctx, Caller{}, id, true); err != nil {
			return fmt.Errorf("delete: %w", err)
		}
	}
	return nil
}

// putAgain writes a file. A content that was collected between its storing and
// its naming is Unavailable, which cannot be while gc waits a day.
func putAgain(ctx context.Context, p *Project, id ID, path Path, content string) error {
	for {
		err := put(ctx, p, id, path, content)
		var missing *MissingBodiesError
		if !errors.As(err, &missing) {
			return err
		}
	}
}

func readBack(ctx context.Context, p *Project, id ID, held map[Path]string) error {
	w, err := p.Workspace(ctx, id, Caller{})
	if err != nil {
		return err
	}
	s, err := w.Snapshot(ctx)
	if err != nil {
		return err
	}
	for path, want := range held {
		f, err := s.Lookup(ctx, path)
		if err != nil {
			return fmt.Errorf("look up %s: %w", path, err)
		}
		if got, err := s.Content(ctx, f); err != nil || string(got) != want {
			return fmt.Errorf("read %s: %d bytes, %w", path, len(got), err)
		}
	}
	return nil
}

// worker is a child that is running.
type worker struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr *strings.Builder
	lines  chan int // what it prints; closed at its end
}

func startWorker(t *testing.T, spec string) *worker {
	t.Helper()
	w := &worker{cmd: exec.Command(os.Args[0]), stderr: &strings.Builder{}, lines: make(chan int, 1<<16)}
	w.cmd.Env = append(os.Environ(), childEnv+"="+spec)
	w.cmd.Stderr = w.stderr
	in, err := w.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.stdin = in
	t.Cleanup(func() { // if the test gives up
		w.cmd.Process.Kill()
		w.cmd.Wait()
	})
	go func() {
		defer close(w.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			n, _ := strconv.Atoi(lines.Text())
			w.lines <- n
		}
	}()
	return w
}

// sum is all that a worker has printed, once it has ended.
func (w *worker) sum() (sum int) {
	for n := range w.lines {
		sum += n
	}
	return sum
}

// some waits until a worker has printed a few lines, and returns their sum.
func (w *worker) some(t *testing.T, lines int) (sum int) {
	t.Helper()
	limit := time.After(2 * time.Minute)
	for range lines {
		select {
		case n, running := <-w.lines:
			if !running {
				err := w.cmd.Wait()
				t.Fatalf("a process has ended: %v\n%s", err, w.stderr)
			}
			sum += n
		case <-limit:
			t.Fatal("a process does not come forward")
		}
	}
	return sum
}

// TestGCProcesses has two processes collect garbage while others write, and
// kills one after the other: nothing that was acknowledged is ever lost.
func TestGCProcesses(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	writers := []*worker{startWorker(t, "write "+data+" one"), startWorker(t, "write "+data+" two")}
	collectors := []*worker{startWorker(t, "gc "+data), startWorker(t, "gc "+data)}
	swept, written := 0, 0
	for round := range 10 {
		at := round % len(collectors)
		swept += collectors[at].some(t, 3)
		written += writers[at].some(t, 12)
		time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond) // to die anywhere
		if err := collectors[at].cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		collectors[at].cmd.Wait()
		collectors[at] = startWorker(t, "gc "+data)
		if round == 3 { // a writer dies as well
			if err := writers[0].cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			writers[0].cmd.Wait()
			writers[0] = startWorker(t, "write "+data+" three")
		}
	}
	for _, w := range append(writers, collectors...) {
		w.stdin.Close()
		n := w.sum()
		if err := w.cmd.Wait(); err != nil {
			t.Errorf("a process failed: %v\n%s", err, w.stderr)
		}
		swept += n
	}
	if swept == 0 || written == 0 {
		t.Errorf("%d contents were swept, %d writes were made: too little happened", swept, written)
	}
	cfg, closed, err := openDesk(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	defer closed()
	host, err := NewHost(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	c, err := host.Fsck(t.Context(), Fsck{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range c.Findings {
		t.Errorf("fsck: %+v", f)
	}
	t.Logf("%d contents swept, %d records", swept, c.Records)
}
