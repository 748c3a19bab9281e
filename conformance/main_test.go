package conformance

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"
)

// full makes the long tests as long as they are meant to be before a release;
// CARREL_FULL=1 does the same.
var full = flag.Bool("full", os.Getenv("CARREL_FULL") != "", "run the load tests at full size")

// chosen are the targets that the scripts are played on.
var chosen = flag.String("targets", os.Getenv("CARREL_TARGETS"), "comma-separated targets, all by default")

// world is what all tests share: made once, never changed.
type world struct {
	dir  string // of everything below
	home string // of the host's person, hostile
	once sync.Once
	bin  string
	err  error
}

var shared world

// TestMain gives all processes, this one too, a home whose git configuration
// would spoil everything if it applied.
//
// The tests wait for disks and processes more than for processors, so that more
// of them than there are processors run at a time.
func TestMain(m *testing.M) {
	flag.Parse()
	if n := flag.Lookup("test.parallel"); n.Value.String() == n.DefValue {
		n.Value.Set(strconv.Itoa(4 * runtime.GOMAXPROCS(0)))
	}
	os.Exit(func() int {
		var err error
		if shared.dir, err = os.MkdirTemp("", "conformance"); err == nil {
			err = shared.makeHome()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(shared.dir)
		return m.Run()
	}())
}

const hostileConfig = `[user]
	name = Host Person
	email = host@example.com
[core]
	autocrlf = true
	excludesFile = ~/ignore
	hooksPath = ~/hooks
[commit]
	gpgSign = true
[filter "evil"]
	clean = false
	smudge = false
`

func (w *world) makeHome() error {
	w.home = filepath.Join(w.dir, "home")
	if err := keepGo(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(w.home, "hooks"), 0o755); err != nil {
		return err
	}
	for name, content := range map[string]string{".gitconfig": hostileConfig, "ignore": "*.global\n*.md\n"} {
		if err := os.WriteFile(filepath.Join(w.home, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	for _, hook := range []string{"reference-transaction", "pre-commit", "post-commit"} {
		if err := os.WriteFile(filepath.Join(w.home, "hooks", hook), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
			return err
		}
	}
	return os.Setenv("HOME", w.home)
}

// keepGo fixes where the go command finds its caches, which is below the home.
func keepGo() error {
	out, err := exec.Command("go", "env", "-json", "GOCACHE", "GOENV", "GOMODCACHE", "GOPATH").Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	var vars map[string]string
	if err := json.Unmarshal(out, &vars); err != nil {
		return err
	}
	for name, value := range vars {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}

// carrel is the real program, built when it is first needed.
func carrel(t testing.TB) stdio {
	t.Helper()
	s, err := shared.program()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (w *world) program() (stdio, error) {
	w.once.Do(func() { w.bin, w.err = Build(w.dir) })
	return stdio{binary: w.bin, home: w.home}, w.err
}

// programTarget is a target that the real program is built for, when the first
// script is played on it.
type programTarget struct {
	name string
	over func(stdio) Target
}

func (p programTarget) Name() string { return p.name }

func (p programTarget) Start(ctx context.Context, data string) (Server, error) {
	s, err := shared.program()
	if err != nil {
		return nil, err
	}
	return p.over(s).Start(ctx, data)
}

// TestScripts plays every script on every target in this process, and on the program
// by one of its transports in turn. All transports play all scripts at full size,
// with CARREL_CI, or if they are chosen.
func TestScripts(t *testing.T) {
	scripts, err := Load(os.DirFS("scripts"))
	if err != nil {
		t.Fatal(err)
	}
	targets, err := Select(allTargets(), *chosen)
	if err != nil {
		t.Fatal(err)
	}
	all := *full || *chosen != "" || os.Getenv("CARREL_CI") != ""
	transports := 0
	for _, target := range targets {
		_, program := target.(programTarget)
		if program {
			transports++
		}
		for i, s := range scripts {
			if program && !all && i%3 != transports%3 {
				continue
			}
			t.Run(target.Name()+"/"+s.Name, func(t *testing.T) {
				t.Parallel()
				playOn(t, target, s)
			})
		}
	}
}

// scriptTime bounds one script, so that one which hangs is told by its name.
const scriptTime = 15 * time.Minute

func playOn(t *testing.T, target Target, s *Script) {
	ctx, cancel := context.WithTimeout(t.Context(), scriptTime)
	defer cancel()
	if err := Run(ctx, Env{Target: target, Dir: t.TempDir(), Fixtures: os.DirFS("fixtures")}, s); err != nil {
		t.Error(err)
	}
}

// allTargets are the ways of reaching Carrel that the scripts are played on.
func allTargets() []Target {
	return []Target{
		inprocess{name: "memory", open: new(inMemory).open},
		inprocess{name: "sqlite", open: onDisk},
		programTarget{"stdio", func(s stdio) Target { return s }},
		programTarget{"http", func(s stdio) Target { return web{s, "http"} }},
		programTarget{"sse", func(s stdio) Target { return web{s, "sse"} }},
	}
}
