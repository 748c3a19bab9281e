package object

import (
	"strconv"

	"carrel.dev/workspace"
)

// Type is what an object is, with the numbers that packs use.
type Type uint8

// The types of object, and the two deltas that occur in packs only.
const (
	TypeCommit Type = 1
	TypeTree   Type = 2
	TypeBlob   Type = 3
	TypeTag    Type = 4
	ofsDelta   Type = 6
	refDelta   Type = 7
)

// String is the name that git writes into the object's header.
func (t Type) String() string {
	switch t {
	case TypeCommit:
		return "commit"
	case TypeTree:
		return "tree"
	case TypeBlob:
		return "blob"
	case TypeTag:
		return "tag"
	}
	return "type " + strconv.Itoa(int(t))
}

// parseType is the inverse of String for the four types of object.
func parseType(name string) (Type, bool) {
	for t := TypeCommit; t <= TypeTag; t++ {
		if t.String() == name {
			return t, true
		}
	}
	return 0, false
}

// header is what git hashes and stores in front of an object's content.
func header(t Type, size int) []byte {
	b := append(make([]byte, 0, 32), t.String()...)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(size), 10)
	return append(b, 0)
}

// corruptf makes the error of an object that is not what its id promises.
func corruptf(format string, args ...any) *workspace.Error {
	return workspace.Errorf(workspace.Corrupt, format, args...).
		Hinted("The repository is damaged: run git fsck in it, and fetch or restore what it reports.")
}

// missing is the error of an object that no file of the repository has.
func missing(id workspace.OID) *workspace.Error {
	return workspace.Errorf(workspace.NotExist, "object %s is not in the repository", id)
}
