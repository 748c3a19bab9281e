package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// TestProgress: whatever goes through many files says how far it is, upwards, up to
// all of them, and nothing once it is over.
func TestProgress(t *testing.T) {
	b := newBench(t, "app")
	const n = 60
	for i := range n {
		b.call("writeFile", "", args{"path": fmt.Sprintf("/repos/app/d/f%d", i), "content": fmt.Sprintf("needle %d\n", i)})
	}
	var steps []args
	for i := range n {
		steps = append(steps, args{"op": "writeFile", "path": fmt.Sprintf("b%d", i), "content": "x"})
	}
	paths := make([]string, n)
	for i := range paths {
		paths[i] = fmt.Sprintf("/repos/app/d/f%d", i)
	}
	for _, tt := range []struct {
		tool  string
		in    args
		done  float64
		total float64
	}{
		{"grep", args{"pattern": "absent", "path": "/repos/app/d"}, n, 0},
		{"git.diff", args{}, n, 0},
		{"readFiles", args{"paths": paths}, n, n},
		{"cp", args{"from": "/repos/app/d", "to": "/repos/app/e"}, n, n},
		{"deleteFile", args{"path": "/repos/app/e", "recursive": true}, n, 0},
		{"batch", args{"changes": steps}, n, n},
		{"git.commit", args{"message": "m"}, n, n},
		{"git.status", args{}, 0, 0},
	} {
		var done, totals []float64
		over := false
		out, err := b.run(tt.tool, tt.in, func(d, total float64, _ string) {
			if over {
				t.Errorf("%s: a report after the answer", tt.tool)
			}
			done, totals = append(done, d), append(totals, total)
		})
		over = true
		if err != nil {
			t.Errorf("%s: %v", tt.tool, err)
			continue
		}
		if tt.done == 0 {
			if len(done) > 0 {
				t.Errorf("%s reports %v", tt.tool, done)
			}
			continue
		}
		if len(done) == 0 || !slices.IsSorted(done) || len(slices.Compact(slices.Clone(done))) != len(done) {
			t.Errorf("%s of %T: reports %v, want some that rise", tt.tool, out, done)
			continue
		}
		if d, total := done[len(done)-1], totals[len(totals)-1]; d != tt.done || total != tt.total {
			t.Errorf("%s: the last report is %v of %v, want %v of %v", tt.tool, d, total, tt.done, tt.total)
		}
	}
}

// run calls a tool that reports its progress.
func (b *bench) run(name string, in args, report func(done, total float64, message string)) (tools.Output, error) {
	b.t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		b.t.Fatal(err)
	}
	i := slices.IndexFunc(tools.All(), func(t *tools.Tool) bool { return t.Name == name })
	return tools.All()[i].Run(context.Background(), tools.Call{
		Project: b.project, Workspace: id, Caller: workspace.Caller{Session: "s"}, Progress: report,
	}, raw)
}
