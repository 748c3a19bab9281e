package seeded

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// full plants every fault; CARREL_FULL=1 does the same. Without it some are
// planted that are quick to build.
var full = flag.Bool("full", os.Getenv("CARREL_FULL") != "", "plant every fault")

// quick are the faults that are always planted.
var quick = []string{"foreign-lock-removed", "large-content-not-found", "overlaps-counted-once", "unknown-argument-ignored"}

// least is how many faults there must be.
const least = 30

// TestAnchors finds faults whose place in the source is no longer there.
func TestAnchors(t *testing.T) {
	faults := load(t)
	if len(faults) < least {
		t.Errorf("there are %d faults, fewer than %d", len(faults), least)
	}
	for _, f := range faults {
		if _, err := f.seed(); err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
	}
}

// TestFaults demands of every catcher that it passes on the program as it is, and
// fails on the program with its fault.
func TestFaults(t *testing.T) {
	faults := load(t)
	if !*full {
		faults = slices.DeleteFunc(faults, func(f fault) bool { return !slices.Contains(quick, f.name) })
		if len(faults) != len(quick) {
			t.Fatalf("%d of the faults %v are there", len(faults), quick)
		}
	}
	t.Run("none", func(t *testing.T) {
		for pkg, catchers := range byPackage(faults) {
			t.Run(pkg, func(t *testing.T) {
				t.Parallel()
				passes(t, pkg, catchers)
			})
		}
	})
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			found(t, f)
		})
	}
}

// passes runs the catchers of a package on the program as it is.
func passes(t *testing.T, pkg string, catchers []catcher) {
	var patterns []string
	for _, c := range catchers {
		patterns = append(patterns, c.pattern())
	}
	binary := build(t, pkg)
	out, err := run(t, binary, pkg, strings.Join(patterns, "|"), "")
	if err != nil {
		t.Fatalf("fails without a fault: %v\n%s", err, out)
	}
	for _, c := range catchers {
		if verdict(out, c.test) != "PASS" {
			t.Errorf("%s did not pass, but %q", c.test, verdict(out, c.test))
		}
	}
}

// found runs the catcher of a fault on the program with the fault in it.
func found(t *testing.T, f fault) {
	source, err := f.seed()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	planted := filepath.Join(dir, filepath.Base(f.file))
	if err := os.WriteFile(planted, source, 0o644); err != nil {
		t.Fatal(err)
	}
	at, err := filepath.Abs(filepath.Join(module, f.file))
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{at: planted}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	flag := "-overlay=" + filepath.Join(dir, "overlay.json")
	binary := build(t, f.catcher.pkg, flag)
	out, err := run(t, binary, f.catcher.pkg, f.catcher.pattern(), flag)
	var exit *exec.ExitError
	switch {
	case err == nil:
		t.Errorf("SURVIVED: %s does not find it: %s", f.catcher.test, f.breaks)
	case !errors.As(err, &exit):
		t.Error(err)
	case broke.Match(out) || verdict(out, f.catcher.test) != "FAIL":
		t.Errorf("%s ended without a verdict: %v\n%s", f.catcher.test, err, tail(out))
	}
}

// broke is what the Go runtime says of a test that ended in another way than by
// failing: by a panic, or after the time that it has.
var broke = regexp.MustCompile(`(?m)^(panic|fatal error): `)

// build compiles the tests of a package. Our own packages are not optimised,
// nothing is linked that a debugger wants, and vet does not look again: that takes
// half the time.
func build(t *testing.T, pkg string, flags ...string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "test")
	args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-gcflags=carrel.dev/...=-N -l", "-o", binary}
	cmd := exec.CommandContext(t.Context(), "go", append(append(args, flags...), "./"+pkg)...)
	cmd.Dir = module
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s does not build: %v\n%s", pkg, err, out)
	}
	return binary
}

// run runs some tests of a package, in its folder as go test does. What they build
// themselves is built with a flag, if it is not "".
func run(t *testing.T, binary, pkg, pattern, flag string) ([]byte, error) {
	t.Helper()
	args := []string{"-test.v", "-test.run", pattern, "-test.timeout", "5m"}
	if pkg == "conformance" {
		args = append(args, "-targets", "memory") // the real program is built for what needs it only
	}
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = append(os.Environ(), strings.TrimSpace("GOFLAGS="+os.Getenv("GOFLAGS")+" "+flag))
	cmd.Dir = filepath.Join(module, pkg)
	return cmd.CombinedOutput()
}

// verdict returns what became of a test: PASS, FAIL or SKIP, or "" if it did not
// run to its end.
func verdict(out []byte, test string) string {
	m := regexp.MustCompile(fmt.Sprintf(`(?m)^ *--- (PASS|FAIL|SKIP): %s \(`, regexp.QuoteMeta(test))).FindSubmatch(out)
	if m == nil {
		return ""
	}
	return string(m[1])
}

// tail is the end of what a test printed.
func tail(out []byte) []byte { return out[max(0, len(out)-4<<10):] }
