package workspace_test

import (
	"context"
	"errors"
	"testing"

	. "carrel.dev/workspace"
)

// What a workspace takes is bounded, and a refusal changes nothing. Work that is
// over a limit that was lowered can still be taken back.
func TestLimits(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
	b.cfg.Limits = Limits{FileBytes: 10, BatchItems: 2, UpperEntries: 3, UpperBytes: 15, TreeEntries: 1}
	b.reopen()
	w := b.create("/agents/a", nil)
	put := func(p Path, content string) func() error {
		return func() error {
			_, err := w.Write(ctx, p, []byte(content), WriteOptions{})
			return err
		}
	}
	step := MkdirStep("/workspace/d")
	for _, tt := range []struct {
		name string
		call func() error
		want error
	}{
		{"a file of ten bytes", put("/workspace/1", "0123456789"), nil},
		{"a file of eleven", put("/workspace/1", "0123456789a"), Limit},
		{"fifteen bytes in all", put("/workspace/2", "01234"), nil},
		{"sixteen", put("/workspace/2", "012345"), Limit},
		{"less than before", put("/workspace/2", ""), nil},
		{"a third entry", put("/workspace/3", ""), nil},
		{"a fourth", put("/workspace/4", ""), Limit},
		{"one of the three", put("/workspace/3", "x"), nil},
		{"a batch of two", func() error { return w.Batch(ctx, []Step{DeleteStep("/workspace/3", false), step}) }, nil},
		{"a batch of three", func() error { return w.Batch(ctx, []Step{step, step, step}) }, Limit},
		{"a copy of two files", func() error { _, err := w.Copy(ctx, "/workspace", "/repos/app/d", false); return err }, Limit},
		{"a move of one", func() error { _, err := w.Move(ctx, "/workspace/2", "/workspace/d/2", false); return err }, nil},
	} {
		before := w.snap().State.Seq
		err := tt.call()
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
		if after := w.snap().State.Seq; tt.want != nil && after != before {
			t.Errorf("%s: %d records of a refusal", tt.name, after-before)
		}
	}
}
