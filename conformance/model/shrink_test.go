package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// shrinkTime is how long a history is made shorter.
const shrinkTime = 2 * time.Minute

// report says what differs, with the shortest history that shows it.
func report(ctx context.Context, seed uint64, history []op, err error) string {
	var d *difference
	if !errors.As(err, &d) {
		return fmt.Sprintf("seed %d, step %d: %v", seed, len(history), err)
	}
	short, last := shrink(ctx, seed, history)
	if last == nil {
		last, short = err, history[max(0, len(history)-10):]
	}
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, step %d: %v\n\nThe shortest history that was found:\n", seed, len(history), err)
	for i, o := range short {
		fmt.Fprintf(&b, "  %3d  %v\n", i+1, o)
	}
	fmt.Fprintf(&b, "\nIt ends with: %v", last)
	return b.String()
}

// shrink drops steps as long as the history ends with a difference of the same
// kind: half of them at a time, then fewer, down to one.
func shrink(ctx context.Context, seed uint64, history []op) (short []op, last error) {
	until := time.Now().Add(shrinkTime)
	kind := ""
	fails := func(h []op) (n int, err error) {
		n, err = again(ctx, seed, h)
		var d *difference
		if !errors.As(err, &d) || kind != "" && d.kind != kind {
			return 0, nil
		}
		kind = d.kind
		return n, err
	}
	n, last := fails(history)
	short = slices.Clone(history[:n])
	for size := n / 2; size > 0; size /= 2 {
		for from := 0; from < len(short) && time.Now().Before(until); {
			less := slices.Delete(slices.Clone(short), from, min(from+size, len(short)))
			if n, err := fails(less); n > 0 {
				short, last = less[:n], err
			} else {
				from += size
			}
		}
	}
	return short, last
}
