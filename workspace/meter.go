package workspace

import (
	"context"
	"sync/atomic"
)

// Meter counts what a long call has done, for whoever watches it. Counting
// never waits, so that who holds a lock may count. A nil Meter counts nothing.
type Meter struct {
	done, total atomic.Int64
	changed     chan struct{}
}

// NewMeter returns a Meter with nothing done.
func NewMeter() *Meter { return &Meter{changed: make(chan struct{}, 1)} }

// Changed has an item when more was done since it was last emptied.
func (m *Meter) Changed() <-chan struct{} { return m.changed }

// Count returns how many steps are done, and of how many, 0 if that is not known.
func (m *Meter) Count() (done, total int64) { return m.done.Load(), m.total.Load() }

// Expect adds steps to what there is to do.
func (m *Meter) Expect(steps int) {
	if m != nil {
		m.total.Add(int64(steps))
	}
}

// Step notes that one more step is done.
func (m *Meter) Step() {
	if m == nil {
		return
	}
	m.done.Add(1)
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

type meterKey struct{}

// WithMeter returns a context under which calls count in m.
func WithMeter(ctx context.Context, m *Meter) context.Context {
	return context.WithValue(ctx, meterKey{}, m)
}

// MeterOf returns what calls under a context count in, nil if nobody watches.
func MeterOf(ctx context.Context) *Meter {
	m, _ := ctx.Value(meterKey{}).(*Meter)
	return m
}
