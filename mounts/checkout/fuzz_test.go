package checkout

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"carrel.dev/mounts/internal/gittest"
	"carrel.dev/workspace"
)

// encoded is an index as git writes it, in a version from 2 to 4.
func encoded(entries []entry, version uint32) []byte {
	b := binary.BigEndian.AppendUint32([]byte("DIRC"), version)
	b = binary.BigEndian.AppendUint32(b, uint32(len(entries)))
	last := ""
	for _, e := range entries {
		start := len(b)
		for _, word := range []uint32{e.ctime, e.ctimeNano, e.mtime, e.mtimeNano, 0, e.ino, uint32(e.mode), e.uid, e.gid, e.size} {
			b = binary.BigEndian.AppendUint32(b, word)
		}
		b = append(b, e.id[:]...)
		flags, more := uint16(e.stage)<<12|uint16(min(len(e.path), 0xfff)), uint16(0)
		if e.assumed {
			flags |= 1 << 15
		}
		if e.skipped {
			more |= 1 << 14
		}
		if e.intention {
			more |= 1 << 13
		}
		if more != 0 {
			b = binary.BigEndian.AppendUint16(b, flags|1<<14)
			flags = more
		}
		b = binary.BigEndian.AppendUint16(b, flags)
		if version < 4 {
			b = append(b, e.path...)
			for b = append(b, 0); (len(b)-start)%8 != 0; {
				b = append(b, 0)
			}
			continue
		}
		common := 0
		for common < min(len(last), len(e.path)) && last[common] == e.path[common] {
			common++
		}
		b = append(appendOffset(b, len(last)-common), e.path[common:]...)
		b, last = append(b, 0), e.path
	}
	sum := sha1.Sum(b)
	return append(b, sum[:]...)
}

// appendOffset writes a number in the encoding that packs use for distances.
func appendOffset(b []byte, n int) []byte {
	digits := []byte{byte(n & 0x7f)}
	for n >>= 7; n > 0; n >>= 7 {
		n--
		digits = append(digits, byte(n&0x7f)|0x80)
	}
	slices.Reverse(digits)
	return append(b, digits...)
}

// entriesOf makes entries of any text: one for each of its lines.
func entriesOf(text string, bits []byte) []entry {
	byPath := map[string]entry{}
	for i, path := range strings.Split(text, "\n") {
		path, _, _ = strings.Cut(path, "\x00")
		if path == "" {
			continue
		}
		e := entry{path: path, mode: workspace.ModeFile, id: workspace.OID{byte(i), 1}, size: uint32(len(path)), mtime: 1, mtimeNano: uint32(i)}
		if i < len(bits) {
			e.assumed, e.skipped, e.intention = bits[i]&1 > 0, bits[i]&2 > 0, bits[i]&4 > 0
			e.ctime, e.ino, e.uid, e.gid = uint32(bits[i])<<24, uint32(bits[i]), 7, 8
		}
		byPath[path] = e
	}
	var entries []entry
	for _, path := range slices.Sorted(maps.Keys(byPath)) {
		entries = append(entries, byPath[path])
	}
	return entries
}

// FuzzIndex writes any entries in every version and reads them.
func FuzzIndex(f *testing.F) {
	long := strings.Repeat("d/", 200)
	f.Add("a/b\na/c\na\n"+long+"x\n"+long+"y\n"+strings.Repeat("e", 300), []byte{0, 1, 2, 4, 7})
	f.Add("é\n\xff\nA b\n"+strings.Repeat("f", 5000), []byte{6})
	f.Fuzz(func(t *testing.T, text string, bits []byte) {
		entries := entriesOf(text, bits)
		for version := uint32(2); version <= 4; version++ {
			if version == 2 && slices.ContainsFunc(entries, func(e entry) bool { return e.skipped || e.intention }) {
				continue // these came with version 3
			}
			b := encoded(entries, version)
			got, rest, err := parseEntries(b)
			if err != nil || len(rest) != 0 || len(got) != len(entries) || len(got) > 0 && !reflect.DeepEqual(got, entries) {
				t.Fatalf("version %d of %+v: got %+v, %d bytes left, %v", version, entries, got, len(rest), err)
			}
			if err := checkSum(b); err != nil {
				t.Error(err)
			}
		}
	})
}

// FuzzParseIndex reads any bytes as an index: what is taken is in order, and fits
// into the bytes.
func FuzzParseIndex(f *testing.F) {
	git := gittest.Init(f)
	git.Write("a/b", "a")
	git.Write("a/c", "a")
	for _, version := range []string{"2", "4"} {
		git.Git("add", "-A")
		git.Git("update-index", "--index-version", version)
		b, err := os.ReadFile(filepath.Join(git.Dir, ".git", "index"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(append(bytes.Clone(b[:len(b)-trailer]), "link\x00\x00\x00\x14aaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbb"...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, rest, err := parseEntries(b)
		if err != nil {
			return
		}
		checkExtensions(rest)
		if cap(entries)*fixed > 2*len(b)+1000 || len(rest) > len(b) {
			t.Errorf("%d bytes have room for %d entries", len(b), cap(entries))
		}
		for i := 1; i < len(entries); i++ {
			if entries[i].stage == 0 && entries[i].path <= entries[i-1].path {
				t.Errorf("%q stands behind %q", entries[i].path, entries[i-1].path)
			}
		}
	})
}
