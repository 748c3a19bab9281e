package tools

import (
	"context"
	"errors"
	"strings"

	"carrel.dev/workspace"
)

// CompletePath returns up to most paths that begin as a prefix does, sorted,
// directories with a trailing slash, and whether there are more. The prefix is
// absolute; what is below another directory than its own is not looked for. Where
// nothing is, nothing is found.
func CompletePath(ctx context.Context, w *workspace.Workspace, prefix string, most int) (paths []string, more bool, err error) {
	i := strings.LastIndexByte(prefix, '/')
	if i < 0 {
		return nil, false, nil
	}
	dir, err := workspace.ParsePath(prefix[:i+1])
	if err != nil {
		return nil, false, nil
	}
	s, err := w.Snapshot(ctx)
	if err != nil {
		return nil, false, err
	}
	found, err := s.ReadDir(ctx, dir)
	if errors.Is(err, workspace.NotExist) || errors.Is(err, workspace.NotDir) {
		return nil, false, nil
	}
	for _, f := range found {
		if !strings.HasPrefix(f.Path.Base(), prefix[i+1:]) {
			continue
		}
		if len(paths) == most {
			return paths, true, nil
		}
		p := f.Path.String()
		if f.Kind == workspace.Dir {
			p += "/"
		}
		paths = append(paths, p)
	}
	return paths, false, err
}

// CompleteMount returns up to most mount points that begin as a prefix does,
// sorted, and whether there are more.
func CompleteMount(ctx context.Context, w *workspace.Workspace, prefix string, most int) (points []string, more bool, err error) {
	s, err := w.Snapshot(ctx)
	if err != nil {
		return nil, false, err
	}
	for _, m := range s.Table.Mounts {
		if !strings.HasPrefix(m.Point.String(), prefix) {
			continue
		}
		if len(points) == most {
			return points, true, nil
		}
		points = append(points, m.Point.String())
	}
	return points, false, nil
}
