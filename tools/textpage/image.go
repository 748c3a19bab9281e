package textpage

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
)

// maxPixels bounds the images that are decoded, by the memory that this takes
// at 4 bytes a pixel: a few hundred bytes of PNG can unfold to gigabytes.
const maxPixels = 64 << 20

// Image returns the media type of content if it is a PNG, JPEG, GIF or WebP
// image. A host that is given bytes of another kind as an image may refuse the
// whole conversation, so they really decode: of an animation the first frame,
// and the others by their blocks. No decoder for WebP is at hand; its
// container and the headers of its frames are checked instead. Images of more
// than 64 megapixels are refused, undecoded; at 16 bits a channel it is half as
// many, and for a progressive JPEG a quarter.
func Image(content []byte) (mime string, ok bool) {
	switch {
	case bytes.HasPrefix(content, []byte("\x89PNG")):
		return "image/png", decodes(content, png.DecodeConfig, png.Decode)
	case bytes.HasPrefix(content, []byte("\xff\xd8\xff")):
		return "image/jpeg", decodes(content, jpeg.DecodeConfig, jpeg.Decode)
	case bytes.HasPrefix(content, []byte("GIF8")):
		return "image/gif", decodes(content, gif.DecodeConfig, gif.Decode) && wholeGIF(content)
	case isWebP(content):
		return "image/webp", wholeWebP(content)
	}
	return "", false
}

// decodes reports whether an image of bounded size decodes.
func decodes(content []byte, config func(io.Reader) (image.Config, error), decode func(io.Reader) (image.Image, error)) bool {
	c, err := config(bytes.NewReader(content))
	if err != nil || c.Width <= 0 || c.Height <= 0 || int64(c.Width)*int64(c.Height)*weight(content, c.ColorModel) > maxPixels {
		return false
	}
	_, err = decode(bytes.NewReader(content))
	return err == nil
}

// weight is the memory that decoding takes for a pixel, in units of 4 bytes.
func weight(content []byte, m color.Model) int64 {
	startOfProgressive := []byte{0xff, 0xc2} // in the image data of a JPEG, 0xff is never followed by this
	switch {
	case m == color.RGBA64Model, m == color.NRGBA64Model:
		return 2
	case (m == color.YCbCrModel || m == color.CMYKModel || m == color.GrayModel) && bytes.Contains(content, startOfProgressive):
		return 4 // all coefficients are kept until the last scan
	}
	return 1
}

// wholeGIF reports whether the blocks of a GIF, which has a header, reach its
// trailer (GIF89a specification, sections 18 to 27).
func wholeGIF(content []byte) bool {
	const header, descriptor = 13, 10
	at := header + colorTable(content[10])
	for at < len(content) {
		switch content[at] {
		case 0x21: // an extension: its label, then sub-blocks
			at = skipSubBlocks(content, at+2)
		case 0x2c: // an image: its descriptor, colors, code size, then sub-blocks
			if at+descriptor > len(content) {
				return false
			}
			at = skipSubBlocks(content, at+descriptor+colorTable(content[at+descriptor-1])+1)
		case 0x3b:
			return true
		default:
			return false
		}
	}
	return false
}

// colorTable is the length of the color table that a GIF's packed flags announce.
func colorTable(flags byte) int {
	const present, size = 0x80, 0x07
	if flags&present == 0 {
		return 0
	}
	return 3 << (flags&size + 1)
}

// skipSubBlocks returns where the sub-blocks at an offset end, or the end of the
// content if they do not.
func skipSubBlocks(content []byte, at int) int {
	for at < len(content) {
		n := int(content[at])
		at += n + 1
		if n == 0 {
			return at
		}
	}
	return len(content)
}
