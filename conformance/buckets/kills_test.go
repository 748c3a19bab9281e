package buckets

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// desk is a data directory with the workspace /agents/demo, used by processes.
type desk struct {
	t     *testing.T
	dir   string
	rng   *rand.Rand
	blobs string            // what --blobs says
	files map[string][]byte // whose writing was acknowledged
}

func newDesk(t *testing.T, rng *rand.Rand) *desk {
	t.Helper()
	d := &desk{t: t, dir: t.TempDir(), rng: rng, files: map[string][]byte{}}
	d.must("repo", "create", "notes")
	d.must("workspace", "create", "/agents/demo")
	return d
}

func (d *desk) command(args ...string) *exec.Cmd {
	cmd := exec.Command(built.carrel, args...)
	cmd.Dir = d.dir
	cmd.Env = append(os.Environ(), "CARREL_DATA="+filepath.Join(d.dir, "data"), "CARREL_WORKSPACE=/agents/demo", "CARREL_BLOBS="+d.blobs, "HOME="+d.dir)
	return cmd
}

// must runs a command that has to succeed.
func (d *desk) must(args ...string) string {
	d.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := d.command(args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		d.t.Fatalf("carrel %s: %v\n%s%s", strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	checkNoSecret(d.t, stdout.String()+stderr.String())
	return stdout.String()
}

// killed runs a command and kills it after a time at most, unless it is quicker.
// It reports whether the command succeeded.
func (d *desk) killed(within time.Duration, args ...string) bool {
	d.t.Helper()
	cmd := d.command(args...)
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	timer := time.AfterFunc(time.Duration(d.rng.Int64N(int64(within))), func() { cmd.Process.Kill() })
	defer timer.Stop()
	return cmd.Wait() == nil
}

// write writes a file of a megabyte and more, and may be killed.
func (d *desk) write(n int, within time.Duration) {
	d.t.Helper()
	name := fmt.Sprintf("file-%d", n)
	text := []byte(fmt.Sprintf("%x", made(d.rng.Uint64(), 600_000+d.rng.IntN(1_000_000))))
	if n%10 == 0 {
		text = bytes.Repeat(text, 12)
	}
	if err := os.WriteFile(filepath.Join(d.dir, name), text, 0o600); err != nil {
		d.t.Fatal(err)
	}
	args := []string{"call", "writeFile", "path=" + name, "content=@" + name}
	if within == 0 {
		d.must(args...)
	} else if !d.killed(within, args...) {
		return
	}
	d.files[name] = text
}

// intact checks that nothing that was acknowledged is lost.
func (d *desk) intact() {
	d.t.Helper()
	var report struct {
		OK       bool
		Findings []struct{ Kind, Text string }
	}
	if err := json.Unmarshal([]byte(d.must("fsck", "--json")), &report); err != nil || !report.OK {
		d.t.Errorf("fsck: %v, %+v", err, report.Findings)
	}
	out := filepath.Join(d.dir, "out")
	d.must("export", "--force", out)
	for name, want := range d.files {
		if got, err := os.ReadFile(filepath.Join(out, "workspace", name)); err != nil || !bytes.Equal(got, want) {
			d.t.Errorf("%s was written: got %d bytes, %v, want %d", name, len(got), err, len(want))
		}
	}
}

// TestPutsKilled kills processes while they write files whose contents go to the
// bucket over a bad line.
func TestPutsKilled(t *testing.T) {
	g := newGateway(t)
	rng := chance(t)
	l := newLine(t, g.addr, rand.New(rand.NewPCG(rng.Uint64(), 0)))
	l.rate.Store(30)
	d := newDesk(t, rng)
	d.blobs = location(l.addr, "puts")
	for n := range size(12, 200) {
		d.write(n, 1500*time.Millisecond)
	}
	l.rate.Store(0)
	d.write(1000, 0)
	d.intact()
	d.must("gc")
	d.intact()
	t.Logf("%d files were acknowledged, %d faults", len(d.files), l.total())
}

// TestMovesKilled moves contents to the bucket and back, and kills who moves, and
// the server, and looks after each kill.
func TestMovesKilled(t *testing.T) {
	g := newGateway(t)
	rng := chance(t)
	d := newDesk(t, rng)
	for n := range size(10, 60) {
		d.write(n, 0)
	}
	at := location(g.addr, "moves")
	kills := 0
	for round := range size(2, 10) {
		to := at
		if round%2 == 1 {
			to = "dir"
		}
		for done := false; !done; kills++ {
			if rng.IntN(4) == 0 {
				timer := time.AfterFunc(time.Duration(rng.IntN(300))*time.Millisecond, func() { g.cmd.Process.Kill() })
				done = d.killed(30*time.Second, "blobs", "move", "--to", to)
				timer.Stop()
				g.kill()
				g.start()
			} else {
				done = d.killed(time.Duration(100+100*kills)*time.Millisecond, "blobs", "move", "--to", to)
			}
			// Whoever reads meanwhile has to name the bucket, once it is recorded.
			d.blobs = at
			if _, err := os.Stat(filepath.Join(d.dir, "data", "elsewhere")); err != nil {
				d.blobs = ""
			}
			d.intact()
		}
		kills--
	}
	if d.blobs != "" {
		t.Errorf("after the last move back, contents are in %s", d.blobs)
	}
	if left, _ := filepath.Glob(filepath.Join(g.dir, "root", "bodies", "moves", "*", strings.Repeat("[0-9a-f]", 40))); len(left) > 0 {
		t.Errorf("the bucket still has %d contents", len(left))
	}
	t.Logf("%d files, %d moves, %d kills in them", len(d.files), size(2, 10), kills)
}
