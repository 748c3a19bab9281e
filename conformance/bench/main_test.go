package bench

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"
	"testing"
	"time"

	"carrel.dev/conformance"
)

var (
	full   = flag.Bool("full", os.Getenv("CARREL_FULL") != "", "measure at full size, and write the report")
	rounds = flag.Int("rounds", 5, "with -full: how often each contestant takes its turn")
	only   = flag.String("rows", "", "the rows to play, as a regular expression; default all")
	outDir = flag.String("out", "", "with -full: where the report goes; default carrel-bench below the temporary directory")
	cached = flag.String("cache", "", "where repositories and packages are kept; default carrel/bench below the user's cache directory")
)

// childEnv makes this test binary a process that does what its value names.
const childEnv = "CARREL_BENCH_CHILD"

// children are what this test binary can be instead.
var children = map[string]func(context.Context) error{
	"minimal":  serveMinimal,
	"contents": readContents,
	"crowd":    openCrowd,
}

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		if err := children[name](context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	os.Exit(func() int {
		defer shared.close()
		return m.Run()
	}())
}

// place is where everything lies that the rows share.
type place struct {
	cache string // outlives the run
	work  string // does not; on the same file system

	once   sync.Once
	binary string
	err    error
}

var shared place

// open finds the cache and makes the directory of this run.
func (p *place) open() error {
	if p.work != "" {
		return nil
	}
	if p.cache = *cached; p.cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			dir = os.TempDir()
		}
		p.cache = filepath.Join(dir, "carrel", "bench")
	}
	var err error
	if p.cache, err = filepath.Abs(p.cache); err != nil {
		return err
	}
	if err := os.MkdirAll(p.cache, 0o755); err != nil {
		return fmt.Errorf("the cache: %w; name another with -cache", err)
	}
	p.sweep()
	p.work, err = os.MkdirTemp(p.cache, "run-*")
	return err
}

// sweep removes what runs that were killed have left: no run takes a day.
func (p *place) sweep() {
	for _, pattern := range []string{"run-*", "making-*", "*/making-*"} {
		left, err := filepath.Glob(filepath.Join(p.cache, pattern))
		if err != nil {
			panic("bench: a pattern that is always valid: " + err.Error())
		}
		for _, dir := range left {
			if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
				os.RemoveAll(dir)
			}
		}
	}
}

func (p *place) close() {
	if p.work != "" {
		os.RemoveAll(p.work)
	}
}

// program is the real program, built when it is first needed.
func (p *place) program() (string, error) {
	p.once.Do(func() { p.binary, p.err = conformance.Build(p.work) })
	return p.binary, p.err
}

// sized is a number that depends on how much is to be measured.
func sized(short, long int) int {
	if *full {
		return long
	}
	return short
}

// TestBench plays the rows.
func TestBench(t *testing.T) {
	if err := shared.open(); err != nil {
		t.Fatal(err)
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		t.Fatalf("-rows: %v", err)
	}
	if *rounds < 1 {
		t.Fatalf("-rounds is %d", *rounds)
	}
	report := newReport(t)
	for _, r := range rows() {
		if !wanted.MatchString(r.name) {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			o := &outcome{Row: r.name, Title: r.title}
			report.Rows = append(report.Rows, o)
			defer func() { // also after a Fatal
				if t.Failed() {
					o.Failed = true
				}
				if *full {
					report.write(t)
				}
			}()
			play(t, r, o)
		})
		runtime.GC()
	}
	if len(report.Rows) == 0 {
		t.Fatalf("no row matches %q", *only)
	}
	report.log(t)
}

// reportDir is where the report goes.
func reportDir() string { return cmp.Or(*outDir, filepath.Join(os.TempDir(), "carrel-bench")) }

// rows are all rows, in the order of the report.
func rows() []row {
	var all []row
	for _, some := range [][]row{
		readRows(), processRows(), stdioRows(), workspaceRows(), statusRows(), commitRows(),
		searchRows(), writeRows(), fairRows(), memoryRows(), largeRows(),
	} {
		all = append(all, some...)
	}
	return all
}
