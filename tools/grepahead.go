package tools

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	greps "carrel.dev/tools/grep"
	"carrel.dev/workspace"
)

// How many files are looked at before the page takes them: few at first, since
// they may fill it.
const (
	firstAhead = 16
	mostAhead  = 512
	// mostLookers bounds how many of a machine's processors one search takes.
	mostLookers = 4
	// keptContent is the largest content, in bytes, that is kept until the page
	// takes its file, if it matches; a larger one is read again.
	keptContent = 16 << 10
)

// looked is a file that was looked at ahead of the page.
type looked struct {
	found   workspace.Found
	named   bool // by the caller
	ignored bool // by git
	skipped bool // not searched: no text, or too large
	matches bool
	content []byte // nil if it is not kept
	err     error
	// panicked is what a fault of ours raised, with where it did.
	panicked any
}

type crowdedKey struct{}

// Crowded returns a context for a call beside which others may wait, as crowded
// tells at any time: it takes one processor then, however many there are.
func Crowded(ctx context.Context, crowded func() bool) context.Context {
	return context.WithValue(ctx, crowdedKey{}, crowded)
}

// lookers is how many processors a search may take, and crowded whether others wait.
func lookers(ctx context.Context) (n int, crowded func() bool) {
	crowded, ok := ctx.Value(crowdedKey{}).(func() bool)
	if !ok {
		crowded = func() bool { return false }
	}
	return min(runtime.GOMAXPROCS(0), mostLookers), crowded
}

// lookAhead looks at files, several at once.
func (g *grepper) lookAhead(ctx context.Context, batch []looked) {
	var next atomic.Int64
	look := func(goOn func() bool) {
		for goOn() {
			i := int(next.Add(1)) - 1
			if i >= len(batch) {
				return
			}
			g.lookSafely(ctx, &batch[i])
		}
	}
	var others sync.WaitGroup
	n, crowded := lookers(ctx)
	for range min(n, len(batch)) - 1 {
		others.Go(func() { look(func() bool { return ctx.Err() == nil && !crowded() }) })
	}
	look(func() bool { return ctx.Err() == nil })
	others.Wait()
	for i := range batch {
		if p := batch[i].panicked; p != nil {
			panic(p) // where whoever asked recovers
		}
	}
	if err := ctx.Err(); err != nil && len(batch) > 0 {
		batch[0].err = err // some were not looked at
	}
}

// lookSafely is look, whose panic it keeps for the goroutine that asked.
func (g *grepper) lookSafely(ctx context.Context, l *looked) {
	defer func() {
		if p := recover(); p != nil {
			l.panicked = fmt.Sprintf("%v\n%s", p, debug.Stack())
		}
	}()
	l.err = g.look(ctx, l)
}

// look says of one file whether it matches.
func (g *grepper) look(ctx context.Context, l *looked) (err error) {
	if !l.named {
		if l.ignored, err = g.snap.Ignored(ctx, l.found); l.ignored || err != nil {
			return err
		}
	}
	if l.skipped = l.found.Kind != workspace.File; l.skipped {
		return nil
	}
	size, err := g.snap.Size(ctx, l.found)
	if err != nil {
		return err
	}
	if l.skipped = size > g.ws.Project().Host().Limits().FileBytes; l.skipped {
		return nil
	}
	content, err := g.snap.Content(ctx, l.found)
	if err != nil {
		return err
	}
	if l.skipped = !greps.IsText(content); l.skipped {
		return nil
	}
	l.matches, err = g.matcher.Any(ctx, content)
	if l.matches && len(content) <= keptContent {
		l.content = content
	}
	return err
}

// contentOf returns the content of a file that was looked at.
func (g *grepper) contentOf(ctx context.Context, l *looked) ([]byte, error) {
	if l.content != nil {
		return l.content, nil
	}
	return g.snap.Content(ctx, l.found)
}
