package tools

import (
	"context"
	"time"

	"carrel.dev/workspace"
)

// progressEvery is the shortest time between two reports on one call.
const progressEvery = 250 * time.Millisecond

// watched returns a context under which a call counts what it does, and has that
// reported: the first step at once, then now and then, and where it ended. The
// function that it returns ends the reports; after it there are none.
func watched(ctx context.Context, report func(done, total float64, message string)) (context.Context, func()) {
	if report == nil {
		return ctx, func() {}
	}
	w := watcher{meter: workspace.NewMeter(), report: report}
	over, idle := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(idle)
		w.watch(over)
	}()
	return workspace.WithMeter(ctx, w.meter), func() {
		close(over)
		<-idle
	}
}

// watcher reports on one call.
type watcher struct {
	meter  *workspace.Meter
	report func(done, total float64, message string)
	told   int64
}

func (w *watcher) watch(over <-chan struct{}) {
	defer w.tell()
	for {
		select {
		case <-over:
			return
		case <-w.meter.Changed():
			w.tell()
		}
		select {
		case <-over:
			return
		case <-time.After(progressEvery):
		}
	}
}

// tell reports what was not reported yet.
func (w *watcher) tell() {
	done, total := w.meter.Count()
	if done == w.told {
		return
	}
	w.told = done
	if total > 0 && total < done {
		total = 0 // it turned out to be more than was known
	}
	w.report(float64(done), float64(total), "")
}
