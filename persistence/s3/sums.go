package s3

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// sumsName is the metadata that has a content's sums, and sumsFormat how.
const (
	sumsName   = "carrel-sums"
	sumsFormat = "1;%d;%s"
)

// minChunk is how many bytes a sum is of, and maxSums how many sums there are at
// most; larger contents have larger chunks. Metadata has room for 2 KB.
const (
	minChunk = 4 << 20
	maxSums  = 256
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sums are those of a content's chunks.
type sums struct {
	size  int64 // of the content
	chunk int64 // the size of each chunk but the last one
	each  []uint32
}

// newSums are those of a content of which nothing is known yet.
func newSums(size int64) *sums {
	chunk := int64(minChunk)
	if per := (size + maxSums - 1) / maxSums; per > chunk {
		chunk = (per + minChunk - 1) / minChunk * minChunk
	}
	return &sums{size: size, chunk: chunk}
}

// count is how many chunks there are.
func (s *sums) count() int { return int((s.size + s.chunk - 1) / s.chunk) }

// span is where a chunk begins and how long it is.
func (s *sums) span(n int) (from, length int64) {
	from = int64(n) * s.chunk
	return from, min(s.chunk, s.size-from)
}

// match reports whether bytes are those of a chunk.
func (s *sums) match(n int, content []byte) bool {
	return crc32.Checksum(content, castagnoli) == s.each[n]
}

// String is what metadata has.
func (s *sums) String() string {
	raw := make([]byte, 0, 4*len(s.each))
	for _, sum := range s.each {
		raw = binary.BigEndian.AppendUint32(raw, sum)
	}
	return fmt.Sprintf(sumsFormat, s.chunk, base64.StdEncoding.EncodeToString(raw))
}

// parseSums reads the sums of a content of a size, nil if the text has none: it
// is of another version, of another content, or lost.
func parseSums(text string, size int64) *sums {
	s := &sums{size: size}
	var encoded string
	if _, err := fmt.Sscanf(text, sumsFormat, &s.chunk, &encoded); err != nil || s.chunk < 1 || s.chunk > newSums(size).chunk {
		return nil
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(raw) != 4*s.count() {
		return nil
	}
	for ; len(raw) > 0; raw = raw[4:] {
		s.each = append(s.each, binary.BigEndian.Uint32(raw))
	}
	return s
}

// summer makes the sums of what is written to it.
type summer struct {
	*sums
	written int64
}

// Write adds content; it never fails.
func (s *summer) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		in := s.written % s.chunk
		if in == 0 {
			s.each = append(s.each, 0)
		}
		n := min(int64(len(rest)), s.chunk-in)
		last := &s.each[len(s.each)-1]
		*last = crc32.Update(*last, castagnoli, rest[:n])
		rest, s.written = rest[n:], s.written+n
	}
	return len(p), nil
}
