package bench

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"

	"carrel.dev/workspace"
)

func processRows() []row {
	return []row{
		{"first-read", "The first read of a repository that is new to the process", func(s *stage) { prepareFirstRead(s, usual()) }},
		{"first-read-heavy", "The first read of a repository with a pack of 400 MB", func(s *stage) { prepareFirstRead(s, heavyOne()) }},
		{"call", "A process that reads one file", prepareCall},
	}
}

func heavyOne() *spec {
	if *full {
		return heavy
	}
	return smallHeavy
}

const (
	byFirst   = "Carrel: first read"
	byCatFile = "a git cat-file process"
	byCall    = "a carrel call readFile process"
)

// prepareFirstRead is for the repository of any spec.
func prepareFirstRead(s *stage, of *spec) {
	r := of.make(s)
	names := shuffled(r.paths(s), 4)
	s.about = fmt.Sprintf("One file of one of %d in the repository, by a server that has its data directory open and has never touched the repository, "+
		"against a process that git starts for it. The page cache is warm.", len(names))
	s.steps = sized(1, 10)
	data := dataWith(s, func(c *carrel) { c.register(s, "r", r.dir) })
	var growth []float64
	s.add(byFirst, func(t *turn) error {
		grown, err := firstRead(t, data, s.nth(t, names))
		growth = append(growth, float64(grown))
		return err
	})
	s.addCatFile(r, names)
	s.hold(byFirst, byCatFile, atMost(2))
	s.finish = func() {
		s.fact("p50 of a first read", float64(s.contestants[0].scores().all.P50)/1e6, "ms", 20)
		s.fact("heap that stays after one, median", median(growth)/(1<<10), "KiB", 0)
	}
}

// nth is another name in each turn.
func (s *stage) nth(t *turn, names []string) string {
	return names[(t.round*s.steps+t.step)%len(names)]
}

// addCatFile has git read a file a turn.
func (s *stage) addCatFile(r *repo, names []string) {
	s.add(byCatFile, func(t *turn) error {
		name := s.nth(t, names)
		var content []byte
		err := t.time("", func() (err error) {
			content, err = git(t, r.dir, "cat-file", "blob", "HEAD:"+name)
			return err
		})
		t.saw(name, content)
		return err
	})
}

// firstRead reads a file with caches that hold nothing, and says by how many
// bytes the heap has grown.
func firstRead(t *turn, data, name string) (grown int64, err error) {
	c, w, err := reopened(t, data)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	before := heap()
	var content []byte
	err = t.time("", func() error {
		snap, err := w.Snapshot(t)
		if err == nil {
			content, err = contentOf(t, snap, workspace.Path(top+"/"+name))
		}
		return err
	})
	t.saw(name, content)
	grown = heap() - before - int64(len(content))
	runtime.KeepAlive(w)
	return grown, err
}

// heap is what is alive on the heap, in bytes.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what finalizers let go of
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func prepareCall(s *stage) {
	r := usual().make(s)
	names := shuffled(r.paths(s), 5)
	s.about = "The whole process, from its start to its end: carrel opens its data directory, finds the workspace and reads; git reads."
	s.steps = sized(1, 20)
	binary, err := shared.program()
	if err != nil {
		s.Fatal(err)
	}
	c := newCarrel(s, r.dir)
	c.workspace(s, "reader")
	s.add(byCall, func(t *turn) error {
		name := s.nth(t, names)
		var content []byte
		err := t.time("", func() (err error) {
			content, err = output(carrelCommand(t, binary, c.data, "call", "--workspace", "/agents/reader", "readFile", "path="+top+"/"+name))
			return err
		})
		t.saw(name, content)
		return err
	})
	s.addCatFile(r, names)
	s.hold(byCall, byCatFile, atMost(8))
}

// carrelCommand is the program on a data directory.
func carrelCommand(ctx context.Context, binary, data string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, binary, append([]string{"--data", data, "--project", "default"}, args...)...)
}
