package fuzz

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

var (
	full  = flag.Bool("full", os.Getenv("CARREL_FULL") != "", "run all targets")
	total = flag.Duration("for", time.Hour, "with -full: the time that all targets have together")
)

// short are the targets that run without -full, which build quickly, and how long:
// a number of executions takes whatever time the machine needs.
var short = map[string]bool{"carrel.dev/mounts/gitconfig FuzzParse": true, "carrel.dev/tools/textedit FuzzApplyMany": true}

const shortly = "1000x"

// building is what compiling the targets may take, on top of -for.
const building = 10 * time.Minute

func TestTargets(t *testing.T) {
	all := targets(t)
	for _, x := range all {
		if !x.seeded {
			t.Errorf("%s has no seeds: nothing runs it but a fuzzer", x)
		}
	}
	share, run := shortly, chosen(t, all)
	if *full {
		share = (*total / time.Duration(len(run))).String()
	}
	if end, ok := t.Deadline(); ok && *full && time.Until(end) < *total+building {
		t.Fatalf("%v for fuzzing do not fit before the deadline: give -timeout %v or more", *total, *total+2*building)
	}
	var table []string
	for _, x := range run {
		r := x.fuzz(t.Context(), share)
		table = append(table, fmt.Sprintf("%s\t%d\t%d\t%s", x, r.execs, r.interesting, r.verdict()))
		if *full {
			fmt.Fprintf(os.Stderr, "fuzz: %d of %d: %s: %d executions, %s\n", len(table), len(run), x, r.execs, r.verdict())
		}
		if r.err != nil {
			t.Errorf("%s: %v\n%s", x, r.err, r.output)
		} else if !r.ran {
			t.Errorf("%s was not executed:\n%s", x, r.output)
		}
	}
	t.Logf("%s for each of %d targets, of %d in all\n%s", share, len(run), len(all), aligned(table))
}

// chosen are the targets to run.
func chosen(t *testing.T, all []target) []target {
	if *full {
		return all
	}
	var some []target
	for _, x := range all {
		if short[x.String()] {
			some = append(some, x)
		}
	}
	if len(some) != len(short) {
		t.Errorf("of %d targets for the short run %d are there", len(short), len(some))
	}
	return some
}

// minimizing is how long one input may be made shorter, in executions. By default
// that takes a minute each, and a target has hardly more.
const minimizing = "100x"

// result is what a run of a target came to.
type result struct {
	execs, interesting int
	ran                bool // at least the inputs that were known
	err                error
	output             string // the end of it
}

func (r result) verdict() string {
	if r.err != nil {
		return "FAILED"
	}
	return "ok"
}

// What go test -fuzz prints as it goes on: first of the inputs that it knows, then
// of new ones.
var (
	baseline = regexp.MustCompile(`^fuzz: elapsed: .* gathering baseline coverage: [1-9]`)
	progress = regexp.MustCompile(`^fuzz: elapsed: .*, execs: (\d+) .*, new interesting: (\d+) `)
)

// fuzz runs the target for a time, or so many executions, with two workers.
func (x target) fuzz(ctx context.Context, share string) (r result) {
	cmd := exec.CommandContext(ctx, "go", "test", "-run=^$", "-fuzz=^"+x.name+"$", "-fuzztime="+share, "-fuzzminimizetime="+minimizing, "-parallel=2", "-timeout=0", ".")
	cmd.Dir = x.dir
	out, err := cmd.StdoutPipe()
	if err == nil {
		cmd.Stderr = cmd.Stdout
		err = cmd.Start()
	}
	if err != nil {
		return result{err: err}
	}
	r.read(out)
	if r.err = cmd.Wait(); r.err != nil && outOfTime.MatchString(r.output) && !strings.Contains(r.output, "Failing input") {
		r.err = nil
	}
	return r
}

// outOfTime is how go test -fuzz now and then ends when the time is over, though
// nothing was found.
var outOfTime = regexp.MustCompile(`(?m)^--- FAIL: .*\n\s+context deadline exceeded\nFAIL$`)

// read takes in what go test prints, and keeps the end.
func (r *result) read(out io.Reader) {
	const most = 60
	var last []string
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		if m := progress.FindStringSubmatch(line); m != nil {
			r.execs, _ = strconv.Atoi(m[1])
			r.interesting, _ = strconv.Atoi(m[2])
		}
		r.ran = r.ran || r.execs > 0 || baseline.MatchString(line)
		if last = append(last, line); len(last) > most {
			last = last[1:]
		}
		if err != nil {
			r.output = strings.Join(last, "")
			return
		}
	}
}

func aligned(rows []string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "target\texecutions\tnew interesting\t")
	for _, row := range rows {
		fmt.Fprintln(w, row)
	}
	w.Flush()
	return b.String()
}
