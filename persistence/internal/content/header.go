package content

import (
	"bytes"
	"fmt"
)

// A stored content begins with a header, as git has it (gitformat-loose,
// uncompressed), so that its bytes are those whose SHA-1 is the id.
const header = "blob %d\x00"

// MaxHeader is the most bytes that a header has.
const MaxHeader = 32

// Header is what a stored content of a size begins with.
func Header(size int64) []byte { return fmt.Appendf(nil, header, size) }

// ParseHeader reads the header that stored bytes begin with: how long it is, and
// the size of the content after it. ok is false if they begin with none.
func ParseHeader(stored []byte) (length, size int64, ok bool) {
	end := bytes.IndexByte(stored[:min(len(stored), MaxHeader)], 0)
	if end < 0 {
		return 0, 0, false
	}
	text := stored[:end+1]
	if _, err := fmt.Sscanf(string(text), header, &size); err != nil || size < 0 || !bytes.Equal(Header(size), text) {
		return 0, 0, false
	}
	return int64(len(text)), size, true
}

// SizeIn is the size of the content in a number of stored bytes, as far as that
// number tells: a header has as many digits as its content's size.
func SizeIn(stored int64) int64 {
	for digits := int64(1); ; digits++ {
		size := stored - int64(len(header)-len("%d")) - digits
		if int64(len(fmt.Sprint(max(size, 0)))) <= digits {
			return max(size, 0)
		}
	}
}
