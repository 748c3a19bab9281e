package server

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"carrel.dev/workspace"
)

// TestTurns: one with many calls and one with a single one take turns.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1)
		var order []string
		release := make(chan struct{})
		call := func(ctx context.Context, who string, i int) {
			if err := turns.enter(ctx, who); err != nil {
				order = append(order, fmt.Sprint(who, i, " ", workspace.KindOf(err)))
				return
			}
			<-release
			order = append(order, fmt.Sprint(who, i))
			turns.leave()
		}
		for i := range 4 {
			go call(t.Context(), "many", i)
			synctest.Wait() // in this order
		}
		ctx, giveUp := context.WithCancel(t.Context())
		go call(ctx, "gone", 0)
		go call(t.Context(), "one", 0)
		synctest.Wait()
		if n := turns.waits.Load(); n != 5 {
			t.Errorf("%d calls wait, want 5", n)
		}
		giveUp()
		synctest.Wait()
		for range 5 {
			release <- struct{}{}
			synctest.Wait()
		}
		want := []string{"gone0 canceled", "many0", "many1", "one0", "many2", "many3"}
		if !slices.Equal(order, want) {
			t.Errorf("got %v, want %v", order, want)
		}
		if turns.free != 1 || len(turns.order)+len(turns.waiting)+int(turns.waits.Load()) != 0 {
			t.Errorf("in the end %d are free, %d wait", turns.free, len(turns.order))
		}
	})
}
