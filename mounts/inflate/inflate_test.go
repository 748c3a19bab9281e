package inflate

import (
	"bytes"
	"fmt"
	stdadler "hash/adler32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel.dev/mounts/internal/gittest"
)

func TestStreams(t *testing.T) {
	for _, c := range streams() {
		t.Run(c.name, func(t *testing.T) {
			var d Decoder
			dst := make([]byte, len(c.want))
			_, err := d.Zlib(dst, c.src)
			if (err == nil) != c.ok || c.ok && string(dst) != c.want {
				t.Errorf("got %q, %v, want %q, ok %v", dst, err, c.want, c.ok)
			}
			for size := range 10 {
				agree(t, &d, c.src, size)
			}
			agree(t, &d, c.src, len(c.want))
			agree(t, &d, c.src, len(c.want)+1)
			if c.amid != nil {
				agree(t, &d, c.amid, 2*len(muchContent)+len(c.want))
			}
		})
	}
}

func TestLongCodes(t *testing.T) {
	src := amid("", longCodes)
	content, taken, _ := oracle(src, 1<<20)
	if len(content) <= 2*len(muchContent)+200 {
		t.Fatalf("the stream is damaged after %d bytes", len(content))
	}
	putChecksum(src[:taken], content)
	dst := make([]byte, len(content))
	if n, err := new(Decoder).Zlib(dst, src); err != nil || n != len(src) || !bytes.Equal(dst, content) {
		t.Errorf("%d bytes of %d are taken, %v", n, len(src), err)
	}
	for n := len(src) - 1500; n < len(src); n++ {
		if _, err := new(Decoder).Zlib(dst, src[:n:n]); err == nil {
			t.Errorf("%d bytes of %d are accepted", n, len(src))
		}
	}
}

// random is size bytes out of so many different ones.
func random(rnd *rand.Rand, size, different int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(rnd.IntN(different))
	}
	return b
}

// contents are contents of the kinds that give different blocks and matches.
func contents(t testing.TB) map[string][]byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	noise, text := random(rnd, 1<<20, 256), source(t, 1<<20)
	c := map[string][]byte{
		"empty":  nil,
		"zeros":  make([]byte, 1<<20),
		"noise":  noise[:100_000],
		"text":   text,
		"digits": random(rnd, 100_000, 10),
		"bits":   random(rnd, 100_000, 2),
		"skewed": skewed(rnd, 100_000),
	}
	for _, size := range []int{1, 2, 3, 7, 8, 20, 100, 500, 1000, 5000, 1<<16 - 1, 1 << 16, 1<<16 + 1} {
		c[fmt.Sprintf("text of %d", size)] = text[size : 2*size]
	}
	for _, distance := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 258, 32767, 32768} {
		c[fmt.Sprintf("distance of %d", distance)] = bytes.Repeat(noise[:distance], 2+2000/distance)
	}
	return c
}

// skewed has some bytes so much more often than others that codes are of all
// lengths.
func skewed(rnd *rand.Rand, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		for b[i] < 40 && rnd.IntN(5) < 3 {
			b[i]++
		}
		b[i] *= 5
	}
	return b
}

func TestRoundTrip(t *testing.T) {
	var d Decoder
	for name, content := range contents(t) {
		for _, level := range levels {
			if len(content) > 30_000 && level%3 != 0 {
				continue // making these takes long, and levels between give little else
			}
			src := deflated(t, content, level)
			dst := make([]byte, len(content))
			n, err := d.Zlib(dst, append(src, "more of the pack"...))
			if err != nil || n != len(src) || !bytes.Equal(dst, content) {
				t.Errorf("%s at level %d: %d of %d bytes are taken, %v", name, level, n, len(src), err)
			}
			if n, err := d.Prefix(dst[:len(dst)/2], src); err != nil || n != len(dst)/2 || !bytes.Equal(dst, content) {
				t.Errorf("%s at level %d: a prefix of %d bytes, %v", name, level, n, err)
			}
		}
	}
}

// Each size of dst but the right one is an error of Zlib, and a prefix is what was
// asked for or all there is.
func TestSizes(t *testing.T) {
	content := source(t, 300)
	var d Decoder
	for _, level := range levels {
		src := deflated(t, content, level)
		for size := range 2 * len(content) {
			agree(t, &d, src, size)
		}
	}
}

// small are streams of which every byte and bit can be spoiled.
func small(t *testing.T) [][]byte {
	text := source(t, 700)
	skew := skewed(rand.New(rand.NewPCG(1, 2)), 300)
	return [][]byte{
		deflated(t, nil, 6),
		deflated(t, []byte("tree 0\x00"), 6),
		deflated(t, text[:300], 0),
		deflated(t, text[:40], 9),
		deflated(t, text[:700], 6),
		deflated(t, skew, 1),
		deflated(t, bytes.Repeat([]byte("abc"), 400), 9),
		deflated(t, text[:500], levels[0]),
	}
}

func TestTruncated(t *testing.T) {
	var d Decoder
	for _, src := range small(t) {
		content, _, _ := oracle(src, 1<<20)
		for n := range src {
			agree(t, &d, src[:n:n], len(content))
			dst := make([]byte, len(content))
			if _, err := d.Zlib(dst, src[:n:n]); err == nil {
				t.Errorf("%d bytes of %d are accepted", n, len(src))
			}
			if made, _ := d.Prefix(dst, src[:n:n]); !bytes.HasPrefix(content, dst[:made]) {
				t.Errorf("%d bytes of %d give other content", n, len(src))
			}
		}
	}
}

func TestFlippedBits(t *testing.T) {
	var d Decoder
	for _, src := range small(t) {
		content, _, _ := oracle(src, 1<<20)
		for i := range 8 * len(src) {
			bad := bytes.Clone(src)
			bad[i/8] ^= 1 << (i % 8)
			agree(t, &d, bad, len(content))
			// With the checksum of what then comes out, so that more is accepted.
			if out, taken, _ := oracle(bad, 1<<12); taken >= 6 && len(out) < 1<<12 {
				putChecksum(bad[:taken], out)
				agree(t, &d, bad, len(out))
			}
		}
	}
}

// git compresses with zlib itself, not with Go's library.
func TestGitObjects(t *testing.T) {
	git := gittest.Init(t)
	names, err := filepath.Glob(filepath.Join("..", "*", "*.go"))
	if err != nil || len(names) < 20 {
		t.Fatalf("%d files of source: %v", len(names), err)
	}
	var d Decoder
	for _, level := range []string{"0", "1", "6", "9"} {
		for i, name := range names {
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if i%4 == 0 { // some small ones too
				content = content[:min(len(content), 5*i)]
			}
			content = append(content, level...) // another object for each level
			id := git.In(string(content), "-c", "core.looseCompression="+level, "hash-object", "-w", "--stdin")
			src, err := os.ReadFile(filepath.Join(git.Dir, ".git", "objects", id[:2], id[2:]))
			if err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf("blob %d\x00%s", len(content), content)
			dst := make([]byte, len(want))
			if n, err := d.Zlib(dst, src); err != nil || n != len(src) || string(dst) != want {
				t.Errorf("%s at level %s: %d of %d bytes are taken, %v", name, level, n, len(src), err)
			}
			if n, err := d.Prefix(dst[:min(len(dst), 16)], src[:min(len(src), 4096)]); err != nil || !strings.HasPrefix(want, string(dst[:n])) {
				t.Errorf("%s at level %s: the prefix is %q, %v", name, level, dst[:n], err)
			}
		}
	}
}

func TestNothingIsAllocated(t *testing.T) {
	content := source(t, 5000)
	src, dst := deflated(t, content, 6), make([]byte, len(content))
	var d Decoder
	if n := testing.AllocsPerRun(10, func() { d.Zlib(dst, src) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestAdler32(t *testing.T) {
	full := bytes.Repeat([]byte{0xff}, adlerRun+adlerChunk+9)
	noise := random(rand.New(rand.NewPCG(1, 2)), 3*adlerChunk, 256)
	for _, b := range [][]byte{full, full[:adlerRun], full[:adlerChunk], noise} {
		if got, want := adler32(b), stdadler.Checksum(b); got != want {
			t.Errorf("of %d bytes %08x, want %08x", len(b), got, want)
		}
	}
	for n := range noise {
		if got, want := adler32(noise[:n]), stdadler.Checksum(noise[:n]); got != want {
			t.Errorf("of %d bytes %08x, want %08x", n, got, want)
		}
	}
}
