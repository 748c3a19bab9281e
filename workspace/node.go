package workspace

// NodeKind is what stands at a path.
type NodeKind string

// The kinds of node. Whiteout occurs in an upper only, Submodule in a lower only.
const (
	File      NodeKind = "file"
	Symlink   NodeKind = "symlink"
	Dir       NodeKind = "dir"
	Whiteout  NodeKind = "whiteout"
	Submodule NodeKind = "submodule"
)

// Mode is a git tree entry's mode.
type Mode uint32

// The modes that git writes.
const (
	ModeDir        Mode = 0o040000
	ModeFile       Mode = 0o100644
	ModeExecutable Mode = 0o100755
	ModeSymlink    Mode = 0o120000
	ModeSubmodule  Mode = 0o160000
)

// Kind returns what an entry of this mode is. Modes that old versions of git
// wrote, such as 100664, are files.
func (m Mode) Kind() NodeKind {
	switch m & 0o170000 {
	case ModeDir:
		return Dir
	case ModeSymlink:
		return Symlink
	case ModeSubmodule:
		return Submodule
	}
	return File
}

// Canonical maps the modes of old versions of git to those that it writes today,
// and zero to zero.
func (m Mode) Canonical() Mode {
	if m == 0 {
		return 0
	}
	switch m.Kind() {
	case Dir:
		return ModeDir
	case Symlink:
		return ModeSymlink
	case Submodule:
		return ModeSubmodule
	}
	if m&0o111 != 0 {
		return ModeExecutable
	}
	return ModeFile
}

// Node is one entry of a lower tree: a blob, a tree or a submodule's commit.
type Node struct {
	Mode Mode
	OID  OID
}

// Kind returns what the node is.
func (n Node) Kind() NodeKind { return n.Mode.Kind() }

// DirEntry is a Node with its name in a directory.
type DirEntry struct {
	Name string
	Node
}
