package textpage

import (
	"bytes"
	"encoding/binary"
)

// isWebP reports whether content begins as a WebP image.
func isWebP(content []byte) bool {
	return len(content) >= 12 && bytes.HasPrefix(content, []byte("RIFF")) && string(content[8:12]) == "WEBP"
}

// wholeWebP checks a WebP image by its container and by the headers of its
// frames (RFC 9649): all chunks are complete, nothing follows, and there is a
// frame of the size announced.
func wholeWebP(content []byte) bool {
	if len(content)%2 != 0 || int64(binary.LittleEndian.Uint32(content[4:]))+8 != int64(len(content)) {
		return false
	}
	chunks := chunksOf(content[12:])
	if len(chunks) == 0 {
		return false
	}
	if chunks[0].id != "VP8X" {
		size, ok := frameOf(chunks[:1])
		return ok && size.bounded()
	}
	head := chunks[0].body
	if len(head) != 10 {
		return false
	}
	canvas := dimensions{uint24(head[4:]) + 1, uint24(head[7:]) + 1}
	const animation = 0x02
	if head[0]&animation != 0 {
		return canvas.bounded() && wholeAnimation(chunks[1:])
	}
	size, ok := frameOf(chunks[1:])
	return ok && size == canvas && size.bounded()
}

// wholeAnimation reports whether there are frames, all of them whole.
func wholeAnimation(chunks []chunk) bool {
	const frameHeader = 16
	frames := 0
	for _, c := range chunks {
		if c.id != "ANMF" {
			continue
		}
		if len(c.body) < frameHeader {
			return false
		}
		want := dimensions{uint24(c.body[6:]) + 1, uint24(c.body[9:]) + 1}
		if got, ok := frameOf(chunksOf(c.body[frameHeader:])); !ok || got != want {
			return false
		}
		frames++
	}
	return frames > 0
}

// chunk is one part of a RIFF container.
type chunk struct {
	id   string
	body []byte
}

// chunksOf splits the inside of a container; nil if a chunk is not complete.
func chunksOf(b []byte) []chunk {
	var all []chunk
	for len(b) > 0 {
		if len(b) < 8 {
			return nil
		}
		n := int64(binary.LittleEndian.Uint32(b[4:]))
		padded := n + n%2
		if padded > int64(len(b)-8) {
			return nil
		}
		all = append(all, chunk{string(b[:4]), b[8 : 8+n]})
		b = b[8+padded:]
	}
	return all
}

// dimensions are the width and height of an image.
type dimensions struct{ width, height int }

func (d dimensions) bounded() bool {
	return d.width > 0 && d.height > 0 && int64(d.width)*int64(d.height) <= maxPixels
}

// frameOf returns the size of the one bitstream among chunks.
func frameOf(chunks []chunk) (size dimensions, ok bool) {
	for _, c := range chunks {
		switch c.id {
		case "VP8 ":
			return lossySize(c.body)
		case "VP8L":
			return losslessSize(c.body)
		}
	}
	return size, false
}

// lossySize reads a VP8 frame header (RFC 6386, section 9.1).
func lossySize(b []byte) (size dimensions, ok bool) {
	const header = 10
	if len(b) <= header {
		return size, false
	}
	tag := uint24(b)
	const interFrame, shown = 1, 1 << 4
	firstPartition := tag >> 5
	if tag&interFrame != 0 || tag&shown == 0 || firstPartition == 0 || firstPartition > len(b)-header || string(b[3:6]) != "\x9d\x01\x2a" {
		return size, false
	}
	const mask = 1<<14 - 1 // two bits of scaling stand above
	width, height := binary.LittleEndian.Uint16(b[6:])&mask, binary.LittleEndian.Uint16(b[8:])&mask
	return dimensions{int(width), int(height)}, true
}

// losslessSize reads a VP8L header (RFC 9649, section 3.4).
func losslessSize(b []byte) (size dimensions, ok bool) {
	const header, signature = 5, 0x2f
	if len(b) <= header || b[0] != signature {
		return size, false
	}
	bits := binary.LittleEndian.Uint32(b[1:])
	const mask = 1<<14 - 1
	version := bits >> 29
	return dimensions{int(bits&mask) + 1, int(bits>>14&mask) + 1}, version == 0
}

// uint24 reads 3 bytes, the least first.
func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
