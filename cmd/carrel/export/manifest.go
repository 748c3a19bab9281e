package export

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"carrel.dev/workspace"
)

// Manifest is the name of the file, at the top of the directory, that says what
// was exported.
const Manifest = ".carrel-export.json"

// manifestVersion is the version of the manifest's format.
const manifestVersion = 1

// What names the view that a directory holds.
type What struct {
	Project   string         `json:"project"`
	Workspace workspace.ID   `json:"workspace"`
	Top       workspace.Path `json:"top"` // what the directory shows the content of
}

// manifest is what earlier runs wrote.
type manifest struct {
	Version int `json:"version"`
	What
	Entries map[string]entry `json:"entries"` // by slash-separated relative path

	saved time.Time // of the file; zero if there is none
}

// entry is one path as the last run left it.
type entry struct {
	node
	// Next are what runs that did not end were about to put there. The zero node
	// of an entry that only has these is a path where nothing was before.
	Next []node `json:"next,omitempty"`
	// Size and Modified are those of the file on disk when it was written.
	Size     int64     `json:"size,omitempty"`
	Modified time.Time `json:"modified,omitzero"`
}

// node is what stands at a path, as in a git tree. A directory has no id, an
// absent path no mode.
type node struct {
	Mode workspace.Mode `json:"mode,omitempty"`
	OID  workspace.OID  `json:"oid,omitzero"`
}

func (n node) isDir() bool { return n.Mode == workspace.ModeDir }

// ours reports whether a run wrote n at the entry's path, or may have.
func (e entry) ours(n node) bool { return e.Mode != 0 && e.node == n || slices.Contains(e.Next, n) }

// untouched reports whether a file on disk is certainly as it was written: it
// has the size and time that were noted, and the time is not so late that a
// change may have left it as it is.
func (m *manifest) untouched(e entry, info fs.FileInfo) bool {
	return len(e.Next) == 0 && info.Mode().IsRegular() && e.Mode == fileMode(info) &&
		info.Size() == e.Size && info.ModTime().Equal(e.Modified) && e.Modified.Before(m.saved)
}

// readManifest reads the manifest of a directory: an empty one if the directory
// is empty, Exist if it is not and has none.
func readManifest(root *os.Root) (*manifest, error) {
	m := &manifest{Entries: map[string]entry{}}
	b, err := root.ReadFile(Manifest)
	if errors.Is(err, fs.ErrNotExist) {
		return m, checkEmpty(root)
	}
	if err != nil {
		return nil, err
	}
	info, err := root.Lstat(Manifest)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, m); err != nil || m.Version < 1 || m.Entries == nil {
		return nil, workspace.Errorf(workspace.Corrupt, "the manifest of an earlier export is damaged").At(root.Name()).
			Hinted("Remove the directory and export again.")
	}
	if m.Version > manifestVersion {
		return nil, workspace.Errorf(workspace.Unavailable, "the manifest has version %d, and this carrel knows %d", m.Version, manifestVersion).
			At(root.Name()).Hinted("Update carrel, or export to another directory.")
	}
	m.saved = info.ModTime()
	return m, nil
}

// checkEmpty refuses a directory that holds anything, but for the traces of a
// run that did not come to write its manifest: it is not an export's.
func checkEmpty(root *os.Root) error {
	found, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	for _, d := range found {
		if !strings.HasPrefix(d.Name(), tempPrefix) {
			return workspace.Errorf(workspace.Exist, "the directory is not empty and was not made by an export").At(root.Name()).
				Hinted("Name an empty or new directory.")
		}
	}
	return nil
}

// save writes the manifest, unless it is there exactly so.
func (m *manifest) save(root *os.Root) error {
	m.Version = manifestVersion
	b, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return err
	}
	b = append(b, '\n')
	if old, err := root.ReadFile(Manifest); err == nil && string(old) == string(b) {
		return nil
	}
	_, err = replace(root, Manifest, node{Mode: workspace.ModeFile}, b)
	return err
}
