package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var full = flag.Bool("full", os.Getenv("CARREL_FULL") != "", "play every suite five times in a row")

// suite is one that judges a server.
type suite struct {
	name string
	pkg  string
	args []string
	// least is how many checks the fixture must pass: a suite that asks less than it
	// did proves less.
	least int
}

var suites = []suite{
	{"active", "conformance-0.1", []string{"--suite", "active"}, 39},
	{"2025-11-25", "conformance-0.2", []string{"--requirements", "2025-11-25"}, 80},
	{"2026-07-28", "conformance-0.2", []string{"--requirements", "2026-07-28"}, 161},
}

// targets are what the suites judge. In the short size it is the first one only.
var targets = []struct {
	name  string
	serve func(t *testing.T) (url string)
}{
	{"fixture", serveFixture},
	{"carrel", serveCarrel},
	{"tokens", serveTokens},
}

// TestSuites holds what the suites find against the baseline.
func TestSuites(t *testing.T) {
	dir := installed(t)
	known := readBaseline(t)
	times, judged := 1, targets
	switch {
	case *full:
		times = 5
	case !everything():
		judged = targets[:1]
	}
	for _, target := range judged {
		t.Run(target.name, func(t *testing.T) {
			t.Parallel()
			url, seen := target.serve(t), map[string]bool{}
			for range times {
				for _, s := range suites {
					t.Run(s.name, func(t *testing.T) {
						found, failed := s.judge(t, dir, url)
						for _, wrong := range known.compare(target.name, found) {
							t.Error(wrong)
						}
						for scenario := range found {
							seen[scenario] = true
						}
						if n := found.passed(); target.name == "fixture" && (failed || n < s.least) {
							t.Errorf("%d checks are passed, want %d; the suite's own judgement is a failure: %v", n, s.least, failed)
						}
					})
				}
			}
			for scenario := range known[target.name] {
				if !seen[scenario] {
					t.Errorf("baseline.txt has %s, which no suite has", scenario)
				}
			}
		})
	}
}

// check is one thing that a scenario of a suite looks at.
type check struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Message string `json:"errorMessage"`
}

// good reports whether a check found nothing: neither a failure nor a warning, and
// was not left out.
func (c check) good() bool { return c.Status == "SUCCESS" || c.Status == "INFO" }

// findings are the checks of each scenario.
type findings map[string][]check

// passed is how many checks were passed.
func (f findings) passed() (n int) {
	for _, checks := range f {
		for _, c := range checks {
			if c.Status == "SUCCESS" {
				n++
			}
		}
	}
	return n
}

// judge has the suite judge the server at a URL; failed is the suite's own judgement.
func (s suite) judge(t *testing.T, dir, url string) (_ findings, failed bool) {
	t.Helper()
	out := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	modules := filepath.Join(dir, "node_modules")
	args := append([]string{filepath.Join(modules, s.pkg, "dist", "index.js"), "server", "--url", url, "-o", out}, s.args...)
	cmd := exec.CommandContext(ctx, filepath.Join(modules, ".bin", "node"), args...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	found := readFindings(t, out)
	if len(found) == 0 {
		t.Fatalf("the suite found nothing:\n%s", &said)
	}
	t.Logf("%s of %s", regexp.MustCompile(`Total: .*`).FindString(said.String()), s.name)
	return found, err != nil
}

// stamp ends the name of a scenario's directory.
var stamp = regexp.MustCompile(`-\d{4}-\d\d-\d\dT[\d-]+Z$`)

// readFindings reads what a suite wrote into a directory.
func readFindings(t *testing.T, dir string) findings {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "server-*", "checks.json"))
	if err != nil {
		t.Fatal(err)
	}
	found := findings{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		var checks []check
		if err == nil {
			err = json.Unmarshal(b, &checks)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		scenario := strings.TrimPrefix(stamp.ReplaceAllString(filepath.Base(filepath.Dir(file)), ""), "server-")
		found[scenario] = checks
	}
	return found
}
