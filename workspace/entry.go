package workspace

import (
	"encoding/json"
	"time"
)

// Owner says which mount an upper entry belongs to: the one that its path
// routed to when it was written. The zero Owner is scratch.
type Owner struct {
	Mount Path
	Repo  RepoPath
}

// Base is what the lower had at a path when the upper first took it. A zero
// Node means that nothing was there. For a directory the id is its tree's.
type Base struct {
	Node
	Commit OID // where it was seen; zero for a branch without commits
}

// Entry is one path of an upper.
type Entry struct {
	Kind  NodeKind // File, Symlink, Dir or Whiteout
	OID   OID      // of the content or the link's target; zero for Dir and Whiteout
	Size  int64    // of the content in bytes
	Mode  Mode     // zero for a Whiteout
	Owner Owner
	Base  Base
	// Modified is when the event that set the entry happened.
	Modified time.Time
}

// Node is the entry as a commit would hold it: the zero Node for a whiteout and
// for a directory, which git does not store by itself.
func (e Entry) Node() Node {
	if e.Kind == File || e.Kind == Symlink {
		return Node{Mode: e.Mode, OID: e.OID}
	}
	return Node{}
}

// Hides reports whether the entry hides what the lower has below its path: a
// whiteout and a non-directory do, and a directory that replaced something.
func (e Entry) Hides() bool { return e.Kind != Dir || e.Base.Node != Node{} }

// Same reports whether two entries say the same, whenever they were set.
func (e Entry) Same(o Entry) bool {
	e.Modified, o.Modified = time.Time{}, time.Time{}
	return e == o
}

// present reports whether the node stands for something.
func (n Node) present() bool { return n.Mode != 0 }

// entryJSON is the durable form of an Entry.
type entryJSON struct {
	Kind     NodeKind   `json:"kind"`
	OID      *OID       `json:"oid,omitempty"`
	Size     int64      `json:"size,omitempty"`
	Mode     Mode       `json:"mode,omitempty"`
	Owner    *ownerJSON `json:"owner,omitempty"`
	Base     *baseJSON  `json:"base,omitempty"`
	Modified *time.Time `json:"modified,omitempty"`
}

type ownerJSON struct {
	Mount Path     `json:"mount"`
	Repo  RepoPath `json:"repo"`
}

type baseJSON struct {
	Mode   Mode `json:"mode,omitempty"`
	OID    *OID `json:"oid,omitempty"`
	Commit *OID `json:"commit,omitempty"`
}

// MarshalJSON writes the durable form. Zero fields are left out.
func (e Entry) MarshalJSON() ([]byte, error) {
	j := entryJSON{Kind: e.Kind, OID: optional(e.OID), Size: e.Size, Mode: e.Mode}
	if e.Owner != (Owner{}) {
		j.Owner = &ownerJSON{e.Owner.Mount, e.Owner.Repo}
	}
	if e.Base != (Base{}) {
		j.Base = &baseJSON{e.Base.Mode, optional(e.Base.OID), optional(e.Base.Commit)}
	}
	if !e.Modified.IsZero() {
		j.Modified = &e.Modified
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads the durable form. An entry that no writer makes is an error.
func (e *Entry) UnmarshalJSON(b []byte) error {
	var j entryJSON
	err := json.Unmarshal(b, &j)
	if err == nil {
		*e, err = j.entry()
	}
	return err
}

// entry returns what the durable form says.
func (j *entryJSON) entry() (Entry, error) {
	e := Entry{Kind: j.Kind, OID: deref(j.OID), Size: j.Size, Mode: j.Mode, Modified: deref(j.Modified)}
	if j.Owner != nil {
		e.Owner = Owner{j.Owner.Mount, j.Owner.Repo}
	}
	if j.Base != nil {
		e.Base = Base{Node{j.Base.Mode, deref(j.Base.OID)}, deref(j.Base.Commit)}
	}
	switch e.Kind {
	case File, Symlink:
		if e.OID.IsZero() || e.Mode.Kind() != e.Kind {
			return Entry{}, Errorf(Invalid, "a %s entry without an id or with mode %o", e.Kind, e.Mode)
		}
	case Dir, Whiteout:
	default:
		return Entry{}, Errorf(Invalid, "unknown kind of entry %q", e.Kind)
	}
	return e, nil
}

func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
