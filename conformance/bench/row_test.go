package bench

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
)

// row is a job that Carrel and others do.
type row struct {
	name, title string
	prepare     func(*stage)
}

// stage is where a row is prepared and played.
type stage struct {
	*testing.T
	about       string // what the job is, for the report
	contestants []*contestant
	lines       []line
	steps       int    // turns of a contestant in a round; default 1
	throughput  bool   // the lines are about what is done in a time, not about how long one takes
	finish      func() // once all rounds are over
	facts       []fact
}

// contestant does the job in its own way.
type contestant struct {
	name string
	// warm is done once, before the first round.
	warm func(context.Context) error
	turn func(*turn) error
	// missing is why it does not take part, "" if it does.
	missing string

	taken []*turn
}

// turn is one go of one contestant: what it took, and what it found. A contestant
// finds the same as the others in the same round and step.
type turn struct {
	context.Context
	round, step int
	took        map[string][]time.Duration // by question
	busy        map[string]time.Duration   // what all of a question took
	found       []item
}

func newTurn(ctx context.Context, round, step int) *turn {
	return &turn{Context: ctx, round: round, step: step, took: map[string][]time.Duration{}, busy: map[string]time.Duration{}}
}

// item is something that was found: its name and a hash of its content.
type item struct {
	name string
	sum  uint64
}

// line is what a row says of two contestants.
type line struct {
	subject, peer string
	want          target
}

// target is what a line should come to. The zero one is none: the line is only
// reported.
type target struct {
	ratio float64 // of the subject's time to the peer's, at most
	words string
}

// atMost has the subject take at most so many times as long as the peer.
func atMost(times float64) target {
	return target{times, fmt.Sprintf("at most %.4g× the time", times)}
}

// faster has the subject be at least so many times as fast as the peer.
func faster(times float64) target {
	return target{1 / times, fmt.Sprintf("%.5g× as fast", times)}
}

// throughputOf has the subject do at least a share of what the peer does.
func throughputOf(share float64) target {
	return target{1 / share, fmt.Sprintf("at least %.3g × the throughput", share)}
}

var seed = maphash.MakeSeed()

// saw notes what was found. It is not part of what is measured.
func (t *turn) saw(name string, content []byte) {
	t.found = append(t.found, item{name, maphash.Bytes(seed, content)})
}

// time measures one sample of a question.
func (t *turn) time(question string, f func() error) error {
	began := time.Now()
	err := f()
	t.sample(question, time.Since(began))
	return err
}

// sample notes a sample of a question.
func (t *turn) sample(question string, d time.Duration) {
	t.took[question] = append(t.took[question], d)
	t.busy[question] += d
}

// crowd has clients do something at the same time, n times each, and measures
// each of them and the whole.
func (t *turn) crowd(clients, n int, f func(client, i int) error) error {
	took := make([][]time.Duration, clients)
	errs := make([]error, clients)
	begin := make(chan struct{})
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			<-begin
			for i := range n {
				began := time.Now()
				if errs[c] = f(c, i); errs[c] != nil {
					return
				}
				took[c] = append(took[c], time.Since(began))
			}
		})
	}
	began := time.Now()
	close(begin)
	all.Wait()
	t.busy[""] += time.Since(began)
	for _, some := range took {
		t.took[""] = append(t.took[""], some...)
	}
	return errors.Join(errs...)
}

// add has a contestant take part.
func (s *stage) add(name string, turn func(*turn) error) *contestant {
	c := &contestant{name: name, turn: turn}
	s.contestants = append(s.contestants, c)
	return c
}

// lack has a contestant not take part, for a reason. Where everything has to run
// that is a failure.
func (s *stage) lack(name string, why error) {
	s.Helper()
	if os.Getenv("CARREL_CI") != "" {
		s.Fatalf("%s: %v", name, why)
	}
	s.contestants = append(s.contestants, &contestant{name: name, missing: why.Error()})
}

// hold has the report hold two contestants against each other.
func (s *stage) hold(subject, peer string, want target) {
	s.lines = append(s.lines, line{subject, peer, want})
}

// play prepares a row and has its contestants take their turns.
func play(t *testing.T, r row, o *outcome) {
	s := &stage{T: t, steps: 1}
	r.prepare(s)
	o.About = s.about
	settle()
	for _, c := range s.contestants {
		if c.missing == "" && c.warm != nil {
			if err := c.warm(t.Context()); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
		}
	}
	for round := range sized(1, *rounds) {
		s.round(round)
	}
	if s.finish != nil {
		s.finish()
	}
	o.fill(s)
}

// round gives every contestant its turns. Who begins changes from turn to turn.
func (s *stage) round(round int) {
	runtime.GC()
	for step := range s.steps {
		var first *contestant
		var want []item
		n := len(s.contestants)
		for i := range n {
			c := s.contestants[(i+round+step)%n]
			if c.missing != "" {
				continue
			}
			if s.steps == 1 {
				runtime.GC() // nobody clears up after another
			}
			t := newTurn(s.Context(), round, step)
			if err := c.turn(t); err != nil {
				s.Fatalf("%s, round %d: %v", c.name, round, err)
			}
			c.taken = append(c.taken, t)
			if first == nil {
				first, want = c, t.found
			}
			if err := difference(want, t.found); err != nil {
				s.Fatalf("round %d: %s found other things than %s: %v", round, c.name, first.name, err)
			}
			t.found = nil
		}
	}
}

// difference is the first one between what two contestants found.
func difference(want, got []item) error {
	for i := range min(len(want), len(got)) {
		switch {
		case want[i].name != got[i].name:
			return fmt.Errorf("%q, not %q", got[i].name, want[i].name)
		case want[i].sum != got[i].sum:
			return fmt.Errorf("another content of %q", got[i].name)
		}
	}
	if len(want) != len(got) {
		return fmt.Errorf("%d, not %d", len(got), len(want))
	}
	return nil
}
