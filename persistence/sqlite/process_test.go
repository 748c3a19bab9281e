package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"carrel.dev/workspace"
)

// These make this test binary a process that appends, see child, or one that
// revokes, see revoker.
const (
	childEnv   = "CARREL_TEST_APPENDER"
	revokerEnv = "CARREL_TEST_REVOKER"
)

func TestMain(m *testing.M) {
	for env, run := range map[string]func(context.Context, string) error{childEnv: child, revokerEnv: revoker} {
		spec := os.Getenv(env)
		if spec == "" {
			continue
		}
		if err := run(context.Background(), spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// The streams that the processes share: on one they append at the end that they
// see, on the other wherever it ends.
var (
	contended = workspace.StreamID{Project: "p", Name: "/agents/contended"}
	commuting = workspace.StreamID{Project: "p", Name: "/"}
)

// child opens a database and appends numbered events to the shared streams, each
// with a body. It prints each id after the append returned. spec is
// "PATH NAME COUNT"; it begins when its standard input ends.
func child(ctx context.Context, spec string) error {
	f := strings.Fields(spec)
	path, name := f[0], f[1]
	count, err := strconv.Atoi(f[2])
	if err != nil {
		return err
	}
	io.Copy(io.Discard, os.Stdin)
	s, err := Open(ctx, path, nil)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	end := workspace.Seq(0)
	for i := range count {
		id := fmt.Sprint(name, "-", i)
		for {
			recs, err := s.Append(ctx, childBatches(id, end)...)
			var conflict *workspace.ConflictError
			if errors.As(err, &conflict) {
				end = conflict.Got
				continue
			}
			if err != nil {
				return fmt.Errorf("append: %w", err)
			}
			end = recs[0].Seq
			break
		}
		fmt.Println(id)
	}
	return s.Close()
}

func childBatches(id string, end workspace.Seq) []workspace.Batch {
	content := []byte("the content of " + id)
	body, _ := workspace.BlobID(content)
	e := workspace.Event{ID: id, Type: "test/appended", Version: 1, Payload: []byte(`{}`), Bodies: []workspace.OID{body}}
	return []workspace.Batch{
		{Stream: contended, Last: end, Events: []workspace.Event{e}, Bodies: []workspace.Body{{ID: body, Content: content}}},
		{Stream: commuting, Last: workspace.Any, Events: []workspace.Event{e}},
	}
}

// start starts a child that waits until the returned pipe is closed.
func start(t *testing.T, path, name string, count int) (cmd *exec.Cmd, goahead io.Closer, printed io.Reader) {
	t.Helper()
	return startChild(t, fmt.Sprintf("%s=%s %s %d", childEnv, path, name, count))
}

// startChild starts this test binary as another process.
func startChild(t *testing.T, env string) (cmd *exec.Cmd, stdin io.WriteCloser, stdout io.Reader) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), env)
	cmd.Stderr = new(strings.Builder)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, in, out
}

// TestProcesses has processes open a fresh directory at the same moment and
// append to the same streams.
func TestProcesses(t *testing.T) {
	const processes, each = 5, 40
	path := filepath.Join(t.TempDir(), "carrel.db")
	var begin []io.Closer
	var wg sync.WaitGroup
	for i := range processes {
		cmd, in, out := start(t, path, fmt.Sprint("p", i), each)
		begin = append(begin, in)
		wg.Go(func() {
			io.Copy(io.Discard, out)
			if err := cmd.Wait(); err != nil {
				t.Errorf("process %d: %v\n%s", i, err, cmd.Stderr)
			}
		})
	}
	for _, in := range begin {
		in.Close()
	}
	wg.Wait()

	s := openAt(t, path, nil)
	for _, stream := range []workspace.StreamID{contended, commuting} {
		seen := map[string]bool{}
		for rec, err := range s.Records(t.Context(), stream, 0) {
			if err != nil {
				t.Fatal(err)
			}
			seen[rec.ID] = true
		}
		for i := range processes {
			for n := range each {
				if id := fmt.Sprintf("p%d-%d", i, n); !seen[id] {
					t.Errorf("%s: event %s is not there", stream.Name, id)
				}
			}
		}
		if len(seen) != processes*each {
			t.Errorf("%s: got %d events, want %d", stream.Name, len(seen), processes*each)
		}
	}
}

// TestKill kills a process in the middle of its appends, several times over,
// while another one goes on.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "carrel.db")
	s := openAt(t, path, nil)
	var acknowledged []string
	for round := range 4 {
		cmd, in, out := start(t, path, fmt.Sprint("k", round), 1<<30)
		in.Close()
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			acknowledged = append(acknowledged, lines.Text())
			if n == 20+7*round {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
			t.Fatalf("round %d: the process was not killed: %v\n%s", round, err, cmd.Stderr)
		}
		id := fmt.Sprint("mine-", round)
		batches := childBatches(id, workspace.Any)
		if _, err := s.Append(t.Context(), batches...); err != nil {
			t.Fatal(err)
		}
		acknowledged = append(acknowledged, id)
	}
	for _, id := range acknowledged {
		for _, stream := range []workspace.StreamID{contended, commuting} {
			rec, err := s.Find(t.Context(), stream, id)
			if err != nil {
				t.Errorf("%s: acknowledged event %s: %v", stream.Name, id, err)
				continue
			}
			if _, err := s.Open(t.Context(), rec.Bodies[0]); err != nil {
				t.Errorf("body of %s: %v", id, err)
			}
		}
	}
	for _, stream := range []workspace.StreamID{contended, commuting} { // numbered without gaps, each whole
		for _, err := range s.Records(t.Context(), stream, 0) {
			if err != nil {
				t.Error(err)
			}
		}
	}
}
