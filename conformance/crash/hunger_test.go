package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"carrel.dev/conformance"
)

// hunger takes something away from a process, lets a client go on until it is
// refused, and gives it back.
type hunger struct {
	t       *testing.T
	place   *place
	session conformance.Session
	desk    *desk
	// take takes it away, give gives it back. says is in every refusal meanwhile.
	take, give func()
	says       string
	code       string // that a refusal may have beside unavailable

	refused map[string]int // by tool
}

// newHunger starts a process on a place with the repositories of a desk.
func newHunger(t *testing.T, p *place) *hunger {
	t.Helper()
	h := furnish(t, p)
	h.sit(p.process())
	return h
}

// sit gives the client a session and a workspace.
func (h *hunger) sit(s conformance.Session) {
	h.t.Helper()
	h.session = s
	must(h.t, h.desk.openDesk(h.t.Context(), s, "/agents/hungry"))
}

// furnish makes the repositories and a desk.
func furnish(t *testing.T, p *place) *hunger {
	t.Helper()
	for _, name := range killedRepos {
		p.repo(name, name == "lib", map[string]string{"README": "read me\n"})
	}
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", s)
	return &hunger{t: t, place: p, desk: newDesk("w0", rand.New(rand.NewPCG(s, 0))), refused: map[string]int{}}
}

// rounds lets the process go hungry a number of times, each until a call is
// refused, and holds what is left against what was acknowledged.
func (h *hunger) rounds(n int) {
	h.t.Helper()
	for i := range n {
		if err := h.round(h.t.Context()); err != nil {
			h.t.Fatalf("round %d: %v", i, err)
		}
	}
	if len(h.refused) == 0 {
		h.t.Error("nothing was ever refused")
	}
	h.t.Logf("%d calls acknowledged, refused %v", len(h.desk.used), h.refused)
	err := errors.Join(
		h.desk.checkRecords(h.place), h.desk.checkLanded(h.place, true),
		checkCommits(h.place, killedRepos, h.desk.commits), h.session.Close(),
	)
	must(h.t, err)
	fresh := h.place.process()
	must(h.t, errors.Join(h.desk.check(h.t.Context(), fresh), fresh.Close()))
	h.place.sound()
}

// patience is how many calls are made at most until one is refused.
const patience = 30

func (h *hunger) round(ctx context.Context) error {
	d := h.desk
	h.take()
	for range patience {
		if err := h.ask(ctx, d.next()); err != nil {
			h.give()
			return err
		}
		if d.open != nil {
			break
		}
	}
	err := d.check(ctx, h.session) // what was acknowledged can be read
	h.give()
	if err != nil {
		return fmt.Errorf("meanwhile: %w", err)
	}
	if d.open != nil {
		if err := d.ask(ctx, h.session, d.open); err != nil {
			return fmt.Errorf("afterwards: %w", err)
		}
	}
	if err := d.check(ctx, h.session); err != nil {
		return fmt.Errorf("afterwards: %w", err)
	}
	return d.checkLanded(h.place, false)
}

// ask makes a call that may be refused, as something that another time may do.
func (h *hunger) ask(ctx context.Context, c *change) error {
	err := h.desk.ask(ctx, h.session, c)
	var r *refusal
	if !errors.As(err, &r) {
		return err
	}
	h.refused[c.call.Tool]++
	if r.code != "unavailable" && r.code != h.code || !strings.Contains(r.text, h.says) {
		return fmt.Errorf("want unavailable and %q: %w", h.says, err)
	}
	return nil
}
