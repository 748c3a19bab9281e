package checkout

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"carrel.dev/workspace"
)

// entry is a file in git's index.
type entry struct {
	path  string
	mode  workspace.Mode
	id    workspace.OID
	stage uint8 // not 0 in an unresolved merge

	// The file's state when git last looked, in the 32 bits that the index has.
	ctime, ctimeNano, mtime, mtimeNano, ino, uid, gid, size uint32

	assumed   bool // git is told not to look
	skipped   bool // not in the work tree, by a sparse checkout
	intention bool // git add --intent-to-add
}

var errIndex = errors.New("the index is malformed")

// readIndex reads git's index, versions 2 to 4; without one there are no
// entries. A split or sparse index is Invalid.
func readIndex(name string) (entries []entry, written fs.FileInfo, err error) {
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err == nil {
		written, err = os.Stat(name)
	}
	if err != nil {
		return nil, nil, workspace.Errorf(workspace.Unavailable, "the checkout's index cannot be read")
	}
	entries, rest, err := parseEntries(b)
	if err == nil {
		err = checkExtensions(rest)
	}
	if err == nil {
		err = checkSum(b)
	}
	if errors.Is(err, errIndex) {
		err = workspace.Errorf(workspace.Corrupt, "%w", err).
			Hinted("Run git status in the checkout to see what git says about it.")
	}
	return entries, written, err
}

const (
	idSize  = len(workspace.OID{})
	fixed   = 10*4 + idSize // what stands in front of the flags of an entry
	trailer = idSize        // the checksum, zeros if git was told not to compute it
)

// parseEntries reads the entries and returns the extensions.
func parseEntries(b []byte) (entries []entry, rest []byte, err error) {
	const head = 12
	if len(b) < head+trailer || string(b[:4]) != "DIRC" {
		return nil, nil, errIndex
	}
	version, n := binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	if version < 2 || version > 4 {
		return nil, nil, errIndex
	}
	rest = b[head : len(b)-trailer]
	entries = make([]entry, 0, min(int(n), len(rest)/fixed))
	last := ""
	for range n {
		e, size, err := parseEntry(rest, version, last)
		if err != nil {
			return nil, nil, err
		}
		entries, last, rest = append(entries, e), e.path, rest[size:]
	}
	return entries, rest, nil
}

// parseEntry reads one entry and says how long it is. last is the path before,
// which version 4 refers to.
func parseEntry(b []byte, version uint32, last string) (e entry, size int, err error) {
	const extended, assumed, stageShift = 1 << 14, 1 << 15, 12
	if len(b) < fixed+2 {
		return e, 0, errIndex
	}
	word := func(i int) uint32 { return binary.BigEndian.Uint32(b[4*i:]) }
	e.ctime, e.ctimeNano, e.mtime, e.mtimeNano = word(0), word(1), word(2), word(3)
	e.ino, e.mode, e.uid, e.gid, e.size = word(5), workspace.Mode(word(6)), word(7), word(8), word(9)
	copy(e.id[:], b[40:])
	flags := binary.BigEndian.Uint16(b[fixed:])
	e.assumed, e.stage = flags&assumed != 0, uint8(flags>>stageShift&3)
	at := fixed + 2
	if flags&extended != 0 {
		const skipped, intention = 1 << 14, 1 << 13
		if version < 3 || len(b) < at+2 {
			return e, 0, errIndex
		}
		more := binary.BigEndian.Uint16(b[at:])
		e.skipped, e.intention = more&skipped != 0, more&intention != 0
		at += 2
	}
	if version == 4 {
		strip, n := offset(b[at:])
		if n == 0 || strip > len(last) {
			return e, 0, errIndex
		}
		e.path, at = last[:len(last)-strip], at+n
	}
	end := bytes.IndexByte(b[at:], 0)
	if end < 0 {
		return e, 0, errIndex
	}
	e.path += string(b[at : at+end])
	size = at + end + 1
	if version < 4 { // padded with NULs to a multiple of eight
		size = (at + end + 8) &^ 7
	}
	switch {
	case e.path == "":
		return e, 0, unknown("link") // a split index has such entries
	case size > len(b), e.path <= last && e.stage == 0:
		return e, 0, errIndex
	}
	return e, size, nil
}

// offset reads a number in the encoding that packs use for distances.
func offset(b []byte) (v, n int) {
	for i, c := range b {
		if i > 4 {
			break
		}
		if i > 0 {
			v++
		}
		v = v<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			return v, i + 1
		}
	}
	return 0, 0
}

// checkExtensions refuses what changes the meaning of the entries. Git names
// those extensions in lower case.
func checkExtensions(b []byte) error {
	for len(b) > 0 {
		if len(b) < 8 {
			return errIndex
		}
		name, size := string(b[:4]), int(binary.BigEndian.Uint32(b[4:]))
		if size > len(b)-8 {
			return errIndex
		}
		if name[0] < 'A' || name[0] > 'Z' {
			return unknown(name)
		}
		b = b[8+size:]
	}
	return nil
}

func unknown(extension string) error {
	return workspace.Errorf(workspace.Invalid, "the checkout's index uses the extension %q", extension).
		Hinted("A split index ends with git update-index --no-split-index, a sparse one with git sparse-checkout init --no-sparse-index.")
}

// checkSum compares the checksum at the end, if git was told to compute it.
func checkSum(b []byte) error {
	end := len(b) - trailer
	sum := sha1.Sum(b[:end])
	if stored := [trailer]byte(b[end:]); stored != sum && stored != [trailer]byte{} {
		return errIndex
	}
	return nil
}

func indexPath(git string) string { return filepath.Join(git, "index") }
