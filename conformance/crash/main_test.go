package crash

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"carrel.dev/conformance"
)

// full makes the tests as long as they are meant to be before a release;
// CARREL_FULL=1 does the same.
var full = flag.Bool("full", os.Getenv("CARREL_FULL") != "", "run at full size")

// seed repeats the choices of a run, though not the moments of its kills.
var seed = flag.Uint64("seed", 0, "the seed of the random choices; 0 is a new one")

// program is the real program, built when it is first needed.
var program struct {
	dir    string
	once   sync.Once
	binary string
	err    error
}

// TestMain makes this binary, with planEnv set, a process that follows a plan. The tests wait for disks and processes more than for processors,
// so that more of them than there are processors run at a time.
func TestMain(m *testing.M) {
	if os.Getenv(planEnv) != "" {
		if err := follow(context.Background(), os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	if n := flag.Lookup("test.parallel"); n.Value.String() == n.DefValue {
		n.Value.Set(strconv.Itoa(4 * runtime.GOMAXPROCS(0)))
	}
	os.Exit(func() int {
		var err error
		if program.dir, err = os.MkdirTemp("", "crash"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(program.dir)
		return m.Run()
	}())
}

// built is the path of the real program.
func built(t testing.TB) string {
	t.Helper()
	program.once.Do(func() { program.binary, program.err = conformance.Build(program.dir) })
	if program.err != nil {
		t.Fatal(program.err)
	}
	return program.binary
}

// sized is a number that depends on how long the tests may take.
func sized(short, long int) int {
	if *full {
		return long
	}
	return short
}
