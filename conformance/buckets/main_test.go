package buckets

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"carrel.dev/conformance"
)

// full makes the tests as long as they are meant to be before a release;
// CARREL_FULL=1 does the same.
var full = flag.Bool("full", os.Getenv("CARREL_FULL") != "", "run at full size")

// seed repeats the choices of a run, though not the moments of its kills.
var seed = flag.Uint64("seed", 0, "the seed of the random choices; 0 is a new one")

// built are the programs, built when they are first needed.
var built struct {
	dir     string
	once    sync.Once
	carrel  string
	gateway string
	err     error
}

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		var err error
		if built.dir, err = os.MkdirTemp("", "buckets"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(built.dir)
		return m.Run()
	}())
}

// build builds both programs. The server takes minutes the first time, so that it
// is built where it is asked for: at full size, and where everything is meant to
// be there.
func build(t *testing.T) {
	t.Helper()
	if !*full && os.Getenv("CARREL_CI") == "" {
		t.Skip("the S3 server is built, which takes minutes, with -full or CARREL_CI=1")
	}
	built.once.Do(func() {
		if built.carrel, built.err = conformance.Build(built.dir); built.err != nil {
			return
		}
		built.gateway = filepath.Join(built.dir, "versitygw")
		cmd := exec.Command("go", "build", "-o", built.gateway, "github.com/versity/versitygw/cmd/versitygw")
		cmd.Dir = filepath.Join("..", "..", "persistence", "s3", "gateway")
		if out, err := cmd.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("build the S3 server: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
}

// chance is the random source of a test, and says how to have it again.
func chance(t *testing.T) *rand.Rand {
	t.Helper()
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("-seed %d", s)
	return rand.New(rand.NewPCG(s, 0))
}

// size is a number for the short run and one for the full.
func size(short, long int) int {
	if *full {
		return long
	}
	return short
}
