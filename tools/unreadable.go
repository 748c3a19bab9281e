package tools

import (
	"context"
	"errors"
	"slices"
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

// upTo returns the mounts that are left out of a page which ends at a path, where
// a list may have looked further ahead; "" is the end of the list.
func (r *readable) upTo(last workspace.Path) []string {
	if last == "" {
		return r.out
	}
	return slices.DeleteFunc(r.out, func(point string) bool { return point+"/" > last.String() })
}

// leftOutMounts names the mounts that a list leaves out.
func leftOutMounts(points []string) string {
	if len(points) == 0 {
		return ""
	}
	return "[left out because the repository cannot be read now: " + strings.Join(shownAll(points), ", ") + "]"
}
