package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"carrel.dev/workspace"
)

// summary says in a few words what a record came to. One that cannot be read,
// such as that of a newer version, has none.
func summary(r workspace.Record) string {
	switch r.Type {
	case workspace.WorkspaceConfigured:
		return told(r.Payload, func(p workspace.Configured) string { return names(slices.Sorted(maps.Keys(p.Mounts))) })
	case workspace.WorkspaceChanged:
		return told(r.Payload, changed)
	case workspace.WorkspaceCommitting:
		return told(r.Payload, func(p workspace.Committing) string {
			return fmt.Sprintf("%s to %s of %s: %s", p.Commit.Short(), p.Branch, p.Repo, names(pathsOf(p.Changes)))
		})
	case workspace.WorkspaceCommitted:
		return told(r.Payload, func(p workspace.Committed) string { return p.Commit.Short() })
	case workspace.RepoCommitted:
		return told(r.Payload, func(p workspace.RepoCommit) string { return fmt.Sprintf("%s on %s", p.After.Short(), p.Branch) })
	}
	if r.Stream.Name == workspace.ProjectStream {
		return told(r.Payload, func(p workspace.Copied) string { return p.Stream })
	}
	return ""
}

// told decodes a payload and tells about it, or nothing if it cannot be decoded.
func told[P any](payload []byte, tell func(P) string) string {
	var p P
	if json.Unmarshal(payload, &p) != nil {
		return ""
	}
	return tell(p)
}

// changed names the operation and its paths.
func changed(p workspace.Changed) string {
	var paths []string
	for _, d := range p.Drop {
		paths = append(paths, string(d))
	}
	return strings.TrimSpace(p.Op + " " + names(append(paths, pathsOf(p.Changes)...)))
}

func pathsOf(changes []workspace.PathChange) []string {
	var paths []string
	for _, ch := range changes {
		paths = append(paths, string(ch.Path))
	}
	return paths
}

// names lists up to three names.
func names(all []string) string {
	const most = 3
	if len(all) <= most {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
}
