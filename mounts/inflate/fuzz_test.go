package inflate

import (
	"bytes"
	"testing"
)

// FuzzZlib holds the decoder against the standard library on any stream and any
// size of what should come out.
func FuzzZlib(f *testing.F) {
	text := source(f, 3000)
	for _, content := range [][]byte{nil, {'a'}, bytes.Repeat([]byte("ab"), 700), text[:60], text} {
		for _, level := range levels {
			f.Add(deflated(f, content, level), uint16(len(content)))
		}
	}
	for _, c := range streams() {
		f.Add(c.src, uint16(len(c.want)))
	}
	var d Decoder // used again: what one stream leaves must not matter to the next
	f.Fuzz(func(t *testing.T, src []byte, size uint16) {
		agree(t, &d, src, int(size))
		// The checksum is hardly ever right by chance: put it right, so that what
		// comes before decides.
		content, taken, _ := oracle(src, int(size)+1)
		if len(content) <= int(size) && taken >= 6 {
			right := bytes.Clone(src)
			putChecksum(right[:taken], content)
			agree(t, &d, right, len(content))
		}
	})
}
