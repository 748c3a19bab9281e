package model

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	full  = flag.Bool("full", os.Getenv("CARREL_FULL") != "", "play a million steps")
	size  = flag.Int("steps", 0, "how many steps to play; 0 is a few thousand")
	first = flag.Uint64("seed", 1, "the seed of the first episode; each has the next one")
)

// episodeSteps is how long an episode is: some of its workspaces have more records
// than lie between two checkpoints.
const episodeSteps = 1200

// TestHistories plays random histories, several episodes at a time.
func TestHistories(t *testing.T) {
	total := 4 * episodeSteps
	switch {
	case *size > 0:
		total = *size
	case *full:
		total = 1_000_000
	}
	t.Logf("%d steps from seed %d", total, *first)
	began := time.Now()
	var begun, done atomic.Int64
	var players sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		players.Go(func() {
			for !t.Failed() {
				at := begun.Add(episodeSteps) - episodeSteps
				n := min(episodeSteps, total-int(at))
				if n <= 0 {
					return
				}
				seed := *first + uint64(at/episodeSteps)
				if history, err := episode(t.Context(), seed, n); err != nil {
					t.Error(report(t.Context(), seed, history, err))
					return
				}
				if now := done.Add(int64(n)); total > 20_000 {
					fmt.Fprintf(os.Stderr, "model: %d of %d steps, seed %d, %v\n", now, total, seed, time.Since(began).Round(time.Second))
				}
			}
		})
	}
	players.Wait()
}

// storesOf says which store an episode is played on.
func storesOf(seed uint64) stores {
	if seed%2 == 0 {
		return inDatabase()
	}
	return inMemory()
}

// play runs a history in a world of its own.
func play(ctx context.Context, seed uint64, run func(ctx context.Context, w *world) error) (err error) {
	dir, err := tempDir()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(ctx, time.Hour) // only a hang takes that long
	defer cancel()
	w, err := newWorld(ctx, dir, storesOf(seed))
	defer func() { err = errors.Join(err, w.close()) }()
	if err != nil {
		return err
	}
	return run(ctx, w)
}

// episode invents a history while it plays it, and returns it.
func episode(ctx context.Context, seed uint64, steps int) (history []op, err error) {
	err = play(ctx, seed, func(ctx context.Context, w *world) error {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), w: w}
		todo := g.begin()
		for range steps {
			var o op
			if len(todo) > 0 {
				o, todo = todo[0], todo[1:]
			} else {
				o = g.next()
			}
			history = append(history, o)
			if err := w.step(ctx, o); err != nil {
				return err
			}
		}
		return w.finally()
	})
	return history, err
}

// finally holds the repositories against git's own judgement.
func (w *world) finally() error {
	for _, p := range sorted(w.repos) {
		out, err := w.repos[p].git.git("fsck", "--strict", "--no-dangling", "--no-progress")
		wrong := strings.Contains(out, "error") || strings.Contains(out, "warning")
		if err != nil || wrong {
			return differ("tree", "git fsck of %s: %v %s", p, err, out)
		}
	}
	return nil
}

// again plays a history that is known and looks at everything after the last step.
// It returns how many steps it came.
func again(ctx context.Context, seed uint64, history []op) (n int, err error) {
	err = play(ctx, seed, func(ctx context.Context, w *world) error {
		w.check = none
		for _, o := range history {
			if n++; n == len(history) {
				w.check = all
			}
			if err := w.step(ctx, o); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}
