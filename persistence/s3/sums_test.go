package s3

import (
	"hash/crc32"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSums(t *testing.T) {
	for _, size := range []int{1, minChunk - 1, minChunk, minChunk + 1, 3*minChunk + 7} {
		data := made(size)
		s := &summer{sums: newSums(int64(size))}
		for rest := data; len(rest) > 0; {
			n := min(len(rest), 70_001)
			s.Write(rest[:n])
			rest = rest[n:]
		}
		parsed := parseSums(s.String(), int64(size))
		if parsed == nil || !cmp.Equal(parsed.each, s.each) || parsed.chunk != minChunk || len(s.each) != s.count() {
			t.Fatalf("%d bytes: %s is read as %+v", size, s, parsed)
		}
		for n := range s.count() {
			from, length := parsed.span(n)
			if part := data[from : from+length]; !parsed.match(n, part) || crc32.Checksum(part, castagnoli) != s.each[n] {
				t.Errorf("%d bytes: chunk %d does not match", size, n)
			}
		}
	}
}

// TestSumsFit sees that metadata has room for the sums of any content.
func TestSumsFit(t *testing.T) {
	for _, size := range []int64{1 << 30, 1<<30 + 1, 50 << 40} {
		s := newSums(size)
		s.each = make([]uint32, s.count())
		if len(s.each) > maxSums || len(sumsName)+len(s.String()) > 2000 {
			t.Errorf("%d bytes have %d sums, %d bytes of metadata", size, len(s.each), len(s.String()))
		}
	}
}

func TestSumsRefused(t *testing.T) {
	const size = 10
	if parseSums("1;4194304;AAAAAA==", size) == nil {
		t.Fatal("good sums are refused")
	}
	for _, text := range []string{
		"", "1", "2;4194304;AAAAAA==", "1;4194304;", "1;4194304;AAAA", "1;4194304;AAAAAAAAAAA=", "1;0;AAAAAA==", "1;-1;AAAAAA==", "1;4194305;AAAAAA==", "1;x;AAAAAA==", "1;4194304;!!!!!!==",
	} {
		if s := parseSums(text, size); s != nil {
			t.Errorf("%q is read as %+v", text, s)
		}
	}
}
