package crash

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel.dev/conformance"
)

// rounds of one epoch use the same workspaces.
const epochRounds = 50

// TestKills ends a process at random moments while several clients use it, and
// while two other processes commit to the same repositories. Then every client's
// last call has been done whole or not at all, and is repeated with its key,
// through any of the processes; afterwards all is as acknowledged, in whichever
// process one looks, and on the branches.
//
// Cases: XT-2 ID-15
func TestKills(t *testing.T) {
	t.Parallel()
	k := newKills(t)
	rounds := sized(15, 2000)
	began := time.Now()
	for round := range rounds {
		if round%epochRounds == 0 {
			k.openEpoch(round / epochRounds)
		}
		k.round(round)
		if (round+1)%epochRounds == 0 || round == rounds-1 {
			k.closeEpoch()
			t.Logf("%d kills in %v: %d calls, %d repeated", round+1, time.Since(began).Round(time.Second), k.answered.Load(), k.repeated.Load())
		}
		if t.Failed() {
			t.Fatalf("after round %d", round)
		}
	}
	k.end()
}

// kills is the state of the test.
type kills struct {
	t      *testing.T
	place  *place
	random *rand.Rand
	victim *conformance.Pipe
	crowd  *crowd
	desks  []*desk
	births *births

	answered atomic.Int64
	repeated atomic.Int64 // calls that were open at a kill
}

var killedRepos = []string{"app", "nested", "lib"}

func newKills(t *testing.T) *kills {
	t.Helper()
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", s)
	k := &kills{t: t, place: newPlace(t), random: rand.New(rand.NewPCG(s, 0))}
	for _, name := range killedRepos {
		k.place.repo(name, name == "lib", map[string]string{"README": "read me\n"})
	}
	k.crowd = newCrowd(k.place, 2)
	k.crowd.start(t, appMount, libMount, "/repos/nested")
	for n := range 3 {
		k.desks = append(k.desks, newDesk(fmt.Sprintf("w%d", n), rand.New(rand.NewPCG(s, uint64(n+1)))))
	}
	k.births = &births{random: rand.New(rand.NewPCG(s, 100))}
	k.victim = k.place.process()
	return k
}

// openEpoch gives every client a new workspace.
func (k *kills) openEpoch(epoch int) {
	k.t.Helper()
	for n, d := range k.desks {
		must(k.t, d.openDesk(k.t.Context(), k.victim, fmt.Sprintf("/agents/e%d/w%d", epoch, n)))
	}
}

// round lets the clients loose, kills the process, and looks at what is left.
func (k *kills) round(n int) {
	k.births.begin(fmt.Sprintf("/agents/r%d", n))
	stop, wait := k.load()
	k.await(k.random.IntN(40))
	time.Sleep(time.Duration(k.random.IntN(3000)) * time.Microsecond)
	must(k.t, k.victim.Kill())
	stop()
	wait()
	k.victim = k.place.process()
	if !k.t.Failed() {
		k.verify()
	}
}

// load has every client make calls until stop, or until the process is gone.
func (k *kills) load() (stop func(), wait func()) {
	var stopped atomic.Bool
	var group sync.WaitGroup
	run := func(next func() error) {
		group.Go(func() {
			for !stopped.Load() {
				if err := next(); code(err) == "gone" {
					return
				} else if err != nil {
					k.t.Error(err)
					return
				}
				k.answered.Add(1)
			}
		})
	}
	for _, d := range k.desks {
		run(func() error { return d.ask(k.t.Context(), k.victim, d.next()) })
	}
	run(func() error {
		time.Sleep(10 * time.Millisecond) // a few of them will do
		return k.births.ask(k.t.Context(), k.victim, k.births.next())
	})
	return func() { stopped.Store(true) }, group.Wait
}

// await waits until so many more calls were answered, for a while.
func (k *kills) await(calls int) {
	until := k.answered.Load() + int64(calls)
	for limit := time.Now().Add(time.Minute); k.answered.Load() < until && time.Now().Before(limit); {
		time.Sleep(100 * time.Microsecond)
	}
}

// anyone is one of the processes that live.
func (k *kills) anyone(random *rand.Rand) conformance.Session {
	if n := random.IntN(len(k.crowd.pipes) + 1); n > 0 {
		return k.crowd.pipes[n-1]
	}
	return k.victim
}

// verify holds what is left against what was acknowledged: before anything is
// repeated, and afterwards.
func (k *kills) verify() {
	var group sync.WaitGroup
	for _, d := range k.desks {
		group.Go(func() {
			if err := k.verifyDesk(d); err != nil {
				k.t.Error(err)
			}
		})
	}
	group.Go(func() {
		if err := k.verifyBirths(k.births); err != nil {
			k.t.Error(err)
		}
	})
	group.Wait()
}

func (k *kills) verifyDesk(d *desk) error {
	ctx := k.t.Context()
	if d.open != nil {
		// Whoever writes has looked, or it writes from what it last saw and
		// conflicts with what was committed since.
		s := k.anyone(d.random)
		if err := d.check(ctx, s); err != nil {
			return err
		}
		k.repeated.Add(1)
		if err := d.ask(ctx, s, d.open); err != nil {
			return err
		}
		if err := d.check(ctx, k.anyone(d.random)); err != nil {
			return err
		}
	}
	if err := d.check(ctx, k.victim); err != nil {
		return err
	}
	return d.checkLanded(k.place, false)
}

func (k *kills) verifyBirths(b *births) error {
	ctx := k.t.Context()
	if err := b.check(ctx, k.anyone(b.random)); err != nil {
		return err
	}
	if b.open != nil {
		k.repeated.Add(1)
		if err := b.ask(ctx, k.anyone(b.random), b.open); err != nil {
			return err
		}
	}
	return b.check(ctx, k.anyone(b.random))
}

// closeEpoch repacks the repositories, as whoever owns them does now and then, and
// looks at all of the history while nobody works.
func (k *kills) closeEpoch() {
	k.t.Helper()
	for _, repo := range killedRepos {
		if _, err := k.place.lines(repo, "repack", "-a", "-d", "--quiet"); err != nil {
			k.t.Error(err)
		}
	}
	k.crowd.pause.Lock()
	defer k.crowd.pause.Unlock()
	all := maps.Clone(k.crowd.commits)
	for _, d := range k.desks {
		maps.Copy(all, d.commits)
		if err := errors.Join(d.checkRecords(k.place), d.checkLanded(k.place, true)); err != nil {
			k.t.Error(err)
		}
	}
	if err := checkCommits(k.place, killedRepos, all); err != nil {
		k.t.Error(err)
	}
	if err := k.place.git.Check(context.Background()); err != nil {
		k.t.Error(err)
	}
}

func (k *kills) end() {
	k.crowd.end(k.t)
	must(k.t, k.victim.Close())
	k.place.sound()
	n := 0
	for _, d := range k.desks {
		n += len(d.commits)
	}
	k.t.Logf("%d calls and %d commits were acknowledged, %d by the processes that lived; %d calls were repeated", k.answered.Load(), n, len(k.crowd.commits), k.repeated.Load())
	if n == 0 || len(k.crowd.commits) == 0 || k.repeated.Load() == 0 {
		k.t.Error("the load is none")
	}
}
