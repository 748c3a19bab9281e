package object

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"carrel.dev/mounts/internal/gittest"
	"carrel.dev/workspace"

	"github.com/klauspost/compress/zlib"
)

// largest is the largest object of the pools here, in bytes: what damaged data
// promises beyond it must not be taken memory for.
const largest = 1 << 20

func deflated(t testing.TB, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	if _, err := z.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// patched is a file with a few bytes changed, and cut at the end.
func patched(whole, patches []byte, cut uint16) []byte {
	b := bytes.Clone(whole)
	for len(patches) >= 3 {
		at := int(binary.BigEndian.Uint16(patches)) % len(b)
		b[at] ^= patches[2]
		patches = patches[3:]
	}
	return b[:len(b)-int(cut)%len(b)]
}

// FuzzDamagedStore damages a repository's pack, index and a loose object, and
// reads everything. What is read is what the id names, or an error that says
// which kind of damage it is.
func FuzzDamagedStore(f *testing.F) {
	git := gittest.Init(f)
	lines := strings.Split(strings.Repeat("one line like others\n", 30), "\n")
	for i := range 4 {
		lines[7*i] = strings.Repeat("changed", i+1)
		git.Write("d/file", strings.Join(lines, "\n"))
		git.Commit("a commit")
	}
	git.Git("tag", "-a", "-m", "a tag", "v1")
	for _, args := range [][]string{{"repack", "-adfq", "--depth=50"}, {"-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq"}} {
		git.Git(args...)
	}
	want := oracle(f, git)
	packName, idxName := glob(f, git, "*.pack")[0], glob(f, git, "*.idx")[0]
	read := func(name string) []byte {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		return b
	}
	packed, idx := read(packName), read(idxName)
	loose := deflated(f, "blob 5\x00hello")
	looseID, err := workspace.BlobID([]byte("hello"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{}, []byte{}, []byte{}, uint16(0))
	f.Add([]byte{0, 12, 0x10, 0, 13, 0x80}, []byte{}, []byte{0, 3, 1}, uint16(0))
	f.Add([]byte{}, []byte{4, 7, 0xff, 4, 12, 1}, []byte{0, 0, 0xff}, uint16(0))
	f.Add([]byte{}, []byte{}, []byte{}, uint16(200))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, inPack, inIndex, inLoose []byte, cut uint16) {
		root := filepath.Join(dir, "objects")
		defer os.RemoveAll(root)
		for name, b := range map[string][]byte{
			filepath.Join(root, "pack", filepath.Base(packName)): patched(packed, inPack, cut),
			filepath.Join(root, "pack", filepath.Base(idxName)):  patched(idx, inIndex, 0),
			loosePath(root, looseID):                             patched(loose, inLoose, cut>>8),
		} {
			if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		s := Open(root, NewPool(largest, largest))
		check := func(id workspace.OID, typ Type, content []byte) {
			got, b, err := s.Read(id)
			switch workspace.KindOf(err) {
			case "":
				if got != typ || !bytes.Equal(b, content) {
					t.Errorf("%s is read as a %s of %d bytes", id, got, len(b))
				}
			case workspace.Corrupt, workspace.NotExist, workspace.Limit:
			default:
				t.Errorf("%s: %v", id, err)
			}
			if _, n, err := s.Stat(id); err == nil && (n < 0 || n > largest) {
				t.Errorf("%s has %d bytes", id, n)
			}
			s.Has(id)
		}
		for id, o := range want {
			check(id, o.typ, o.content)
		}
		check(looseID, TypeBlob, []byte("hello"))
		if _, _, err := s.Read(workspace.OID{1, 2, 3}); err == nil {
			t.Error("an object that is nowhere is read")
		}
	})
}

// FuzzLoose reads any bytes as the file of an object. What it holds is no larger
// than it may be, Stat says the same, and another id than its own is Corrupt.
func FuzzLoose(f *testing.F) {
	f.Add(deflated(f, "blob 5\x00hello"))
	f.Add(deflated(f, "commit 5\x00hell"))
	f.Add(deflated(f, "tree 99999999999\x00"))
	f.Add(deflated(f, "blob 0\x00")[:4])
	f.Add(deflated(f, "blob 3\x00"+strings.Repeat("x", 3000)))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, file []byte) {
		s := Open(dir, NewPool(largest, largest))
		id := workspace.OID{1}
		name := loosePath(dir, id)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, file, 0o666); err != nil {
			t.Fatal(err)
		}
		typ, content, err := readLoose(s.pool, name)
		if cap(content) > 2*largest {
			t.Errorf("%d bytes of memory for a file of %d", cap(content), len(file))
		}
		if err == nil {
			again, size, err := statLoose(s.pool, name)
			if err != nil || again != typ || size != uint64(len(content)) {
				t.Errorf("a %s of %d bytes is said to be a %s of %d, %v", typ, len(content), again, size, err)
			}
		}
		if _, _, err := s.Read(id); err == nil {
			t.Errorf("%q is read as the object %s", file, id)
		}
	})
}

// applied is a second reading of a delta: an index for every byte.
func applied(from, delta []byte) ([]byte, bool) {
	at := 0
	next := func() byte {
		if at++; at > len(delta) {
			return 0
		}
		return delta[at-1]
	}
	size := func() (n uint64) {
		for shift := 0; ; shift += 7 {
			c := next()
			n |= uint64(c&0x7f) << shift
			if c < 0x80 {
				return n
			}
		}
	}
	base, to := size(), size()
	var out []byte
	for at < len(delta) {
		op := next()
		n := int(op)
		if op >= 0x80 {
			var field [7]int
			for i := range field {
				if op>>i&1 == 1 {
					field[i] = int(next())
				}
			}
			start := field[0] | field[1]<<8 | field[2]<<16 | field[3]<<24
			if n = field[4] | field[5]<<8 | field[6]<<16; n == 0 {
				n = 0x10000
			}
			if start+n > len(from) {
				return nil, false
			}
			out = append(out, from[start:start+n]...)
			continue
		}
		for range n {
			out = append(out, next())
		}
		if n == 0 {
			return nil, false
		}
	}
	return out, at == len(delta) && base == uint64(len(from)) && to == uint64(len(out))
}

// FuzzDelta holds the content that a delta makes against a second reading.
func FuzzDelta(f *testing.F) {
	from := []byte("0123456789abcdef")
	f.Add(from, []byte{16, 20, 0x90, 16, 4, 'a', 'b', 'c', 'd'})
	f.Add(from, []byte{16, 3, 0x91, 15, 1, 2, 'x', 'y'})
	f.Add(from, []byte{16, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x80})
	f.Add(bytes.Repeat(from, 5000), []byte{0x80, 0xf1, 4, 0x80, 0x80, 4, 0x80})
	f.Fuzz(func(t *testing.T, from, delta []byte) {
		got, err := applyDelta(from, delta)
		if _, _, _, sizesErr := deltaSizes(delta); sizesErr != nil {
			if err == nil {
				t.Errorf("a delta without sizes makes %d bytes", len(got))
			}
			return
		}
		want, ok := applied(from, delta)
		if ok != (err == nil) || ok && !bytes.Equal(got, want) {
			t.Errorf("got %q, %v, want %q, %v", got, err, want, ok)
		}
	})
}

// FuzzIndex holds an index that is taken against all that it says: every id is
// found where it stands, if the ids are in order.
func FuzzIndex(f *testing.F) {
	_, idx, _ := packBytes(f)
	f.Add(idx)
	f.Add(idx[8:])
	f.Add(append([]byte("\xfftOc\x00\x00\x00\x02"), make([]byte, fanoutSize+2*idSize)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := parseIndex(b)
		if err != nil {
			return
		}
		n, ok := x.count()
		if !ok || n*idSize > len(b) {
			t.Fatalf("%d objects in %d bytes", n, len(b))
		}
		name := func(i int) workspace.OID { return workspace.OID(x.names[(i+1)*x.stride-idSize : (i+1)*x.stride]) }
		ordered, counts := true, [256]uint32{}
		for i := range n {
			id := name(i)
			if i > 0 {
				before := name(i - 1)
				ordered = ordered && bytes.Compare(before[:], id[:]) < 0
			}
			for c := int(id[0]); c < len(counts); c++ {
				counts[c]++
			}
		}
		for i, c := range counts {
			ordered = ordered && c == binary.BigEndian.Uint32(x.fanout[4*i:])
		}
		for i := range n {
			at, found := x.find(name(i))
			if want := x.offset(i); ordered && (!found || at != want) {
				t.Errorf("object %d is found at %d, %v, want %d", i, at, found, want)
			}
		}
		for _, id := range []workspace.OID{{}, {0: 0xff}, {0: 0x80, 19: 1}} {
			x.find(id)
		}
	})
}

// FuzzPackEntry reads entries at any offset of any bytes. What is read is no
// larger than it may be, and Stat says the same of it.
func FuzzPackEntry(f *testing.F) {
	packed, idx, _ := packBytes(f)
	x, err := parseIndex(idx)
	if err != nil {
		f.Fatal(err)
	}
	body := packed[:len(packed)-idSize]
	f.Add(packed, uint16(12))
	// A delta on the object at 12, by distance: header, distance, zlib stream.
	f.Add(append(append(bytes.Clone(body), 0x65, byte(len(body)-12)), deflated(f, "\x46\x02\x02xy")...), uint16(len(body)))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, uint16(0))
	f.Add(append([]byte{0x75}, idx[8+fanoutSize:8+fanoutSize+idSize]...), uint16(0))
	f.Fuzz(func(t *testing.T, data []byte, offset uint16) {
		pool := NewPool(largest, largest)
		p := &pack{number: pool.packs.Add(1), data: data, index: x}
		typ, content, err := p.read(pool, uint64(offset))
		if len(content) > largest {
			t.Errorf("an object of %d bytes", len(content))
		}
		known := errors.Is(err, errPack) || errors.Is(err, errDeflate) || errors.Is(err, errDelta) || workspace.KindOf(err) == workspace.Limit
		if err != nil && !known {
			t.Errorf("damage is %v", err)
		}
		again, size, statErr := p.stat(pool, uint64(offset))
		if err == nil && (statErr != nil || again != typ || size != uint64(len(content))) {
			t.Errorf("a %s of %d bytes is said to be a %s of %d, %v", typ, len(content), again, size, statErr)
		}
	})
}

// FuzzParseCommit reads any bytes as a commit: what is taken has a tree, texts
// that are UTF-8, and the message that stands behind the first empty line.
func FuzzParseCommit(f *testing.F) {
	f.Add([]byte("tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nparent 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n" +
		"author A <a@b> 1700000000 +0100\ncommitter C <c@d> 1700000000 -0830\ngpgsig x\n y\n\nsubject\n\nbody\n"))
	f.Add([]byte("tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor <<>> 99999999999999999999 +9999\ncommitter\nencoding ISO-8859-1\n\n\xe9"))
	f.Add([]byte("tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904"))
	f.Fuzz(func(t *testing.T, content []byte) {
		c, err := ParseCommit(content)
		if err != nil {
			if workspace.KindOf(err) != workspace.Corrupt {
				t.Errorf("%q: %v", content, err)
			}
			return
		}
		if !bytes.HasPrefix(content, []byte("tree "+c.Tree.String())) && !bytes.HasPrefix(bytes.ToLower(content), []byte("tree "+c.Tree.String())) {
			t.Errorf("%q has the tree %s", content, c.Tree)
		}
		if texts := c.Message + c.Author.Name + c.Author.Email + c.Committer.Name + c.Committer.Email; !utf8.ValidString(texts) {
			t.Errorf("%q is no UTF-8", texts)
		}
		if _, message, _ := bytes.Cut(content, []byte("\n\n")); utf8.Valid(message) && !bytes.Contains(content, []byte("encoding ")) && c.Message != string(message) {
			t.Errorf("%q has the message %q", content, c.Message)
		}
	})
}
