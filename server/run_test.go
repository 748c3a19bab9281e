package server

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// TestWithin has calls take a time, and tells the one that is too long from those
// that fail by themselves or whose client is gone.
func TestWithin(t *testing.T) {
	for _, test := range []struct {
		name  string
		most  time.Duration
		takes time.Duration
		fails error // of a call that comes to its end
		leave time.Duration
		want  workspace.Kind
	}{
		{name: "short", most: time.Minute, takes: time.Second},
		{name: "long", most: time.Minute, takes: time.Hour, want: workspace.Limit},
		{name: "long, and nothing bounds it", takes: time.Hour},
		{name: "wrong", most: time.Minute, takes: time.Second, fails: workspace.Errorf(workspace.Invalid, "wrong"), want: workspace.Invalid},
		{name: "left", most: time.Minute, takes: time.Hour, leave: time.Second, want: workspace.Canceled},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run := Within(test.most, func(ctx context.Context, _ *tools.Tool, _ tools.Call, _ json.RawMessage) (tools.Output, error) {
					select {
					case <-time.After(test.takes):
						return nil, test.fails
					case <-ctx.Done():
						return nil, context.Cause(ctx)
					}
				})
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				if test.leave > 0 {
					time.AfterFunc(test.leave, leave)
				}
				_, err := run(ctx, &tools.Tool{Name: "grep"}, tools.Call{}, nil)
				if got := workspace.KindOf(err); got != test.want {
					t.Errorf("got %v, want one of kind %q", err, test.want)
				}
				if test.want == workspace.Limit && workspace.HintOf(err) == "" {
					t.Error("nothing says what to do")
				}
			})
		})
	}
}
