package mounts

import "carrel.dev/mounts/ignore"

// Ignored implements workspace.Ignorer.
func (r *Repos) Ignored(path string, rules func(dir string) ([]byte, error)) (bool, error) {
	return ignore.Path(path, rules)
}
