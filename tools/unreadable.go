package tools

import (
	"context"
	"errors"
	"strings"

	"carrel.dev/workspace"
)

// readable keeps a list over many mounts going when the repository of one of them
// cannot be read: that mount is left out, and named.
type readable struct {
	snap *workspace.Snapshot
	out  []string // the points of the mounts that are left out
}

// enter reports whether a list may look into a mount.
func (r *readable) enter(ctx context.Context, m *workspace.Mount) bool {
	_, err := r.snap.Base(ctx, m)
	if !errors.Is(err, workspace.Unavailable) && !errors.Is(err, workspace.Corrupt) && !errors.Is(err, workspace.NotExist) {
		return true // whoever reads meets any other error
	}
	r.out = append(r.out, m.Point.String())
	return false
}

// leftOutMounts names the mounts that a list leaves out.
func leftOutMounts(points []string) string {
	if len(points) == 0 {
		return ""
	}
	return "[left out because the repository cannot be read now: " + strings.Join(shownAll(points), ", ") + "]"
}
