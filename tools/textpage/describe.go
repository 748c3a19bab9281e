package textpage

import (
	"bytes"
	"net/http"
	"strings"
	"unicode/utf8"
)

// The line endings that a Description names.
const (
	LF    = "lf"
	CRLF  = "crlf"
	Mixed = "mixed"
	None  = "none" // no line feed at all
)

// Description is what bytes are.
type Description struct {
	EOL string // LF, CRLF, Mixed or None
	// Encoding is utf-8, utf-8-bom, utf-16le or utf-16be (with a byte order mark
	// that says so), unknown-8bit (no UTF-8, but without control characters, as
	// Latin-1 is) or binary.
	Encoding string
	// IsText is whether the content is UTF-8, with or without a byte order mark.
	// NUL is a character like any other, since files written as text may have it.
	IsText bool
	// Kind says what it is to a person, for example "PNG image"; "" for text of
	// no special kind.
	Kind string
}

// Describe returns what content is.
func Describe(content []byte) Description {
	d := Description{EOL: eol(content), IsText: utf8.Valid(content)}
	switch {
	case !d.IsText:
		d.Encoding = encoding(content)
		d.Kind = binaryKind(content, d.Encoding)
		return d
	case bytes.HasPrefix(content, []byte("\ufeff")):
		d.Encoding = "utf-8-bom"
	default:
		d.Encoding = "utf-8"
	}
	if isLFSPointer(content) {
		d.Kind = "Git LFS pointer"
	}
	return d
}

func eol(content []byte) string {
	lf := bytes.Count(content, []byte("\n"))
	if lf == 0 {
		return None
	}
	crlf := 0
	if bytes.IndexByte(content, '\r') >= 0 {
		crlf = bytes.Count(content, []byte("\r\n"))
	}
	switch crlf {
	case 0:
		return LF
	case lf:
		return CRLF
	}
	return Mixed
}

// encoding guesses that of content that is not UTF-8, from its beginning.
func encoding(content []byte) string {
	switch {
	case bytes.HasPrefix(content, []byte{0xff, 0xfe}):
		return "utf-16le"
	case bytes.HasPrefix(content, []byte{0xfe, 0xff}):
		return "utf-16be"
	}
	const look = 8000 // git looks as far for a NUL
	for _, b := range content[:min(look, len(content))] {
		if b < ' ' && !strings.ContainsRune("\t\n\v\f\r\x1b", rune(b)) {
			return "binary"
		}
	}
	return "unknown-8bit"
}

// magics are the beginnings of common kinds of file that net/http does not know
// or names for a browser.
var magics = [...]struct{ start, kind string }{
	{"\x7fELF", "ELF executable"},
	{"MZ", "Windows executable"},
	{"\xcf\xfa\xed\xfe", "Mach-O executable"},
	{"\xce\xfa\xed\xfe", "Mach-O executable"},
	{"\xca\xfe\xba\xbe", "Java class or Mach-O executable"},
	{"\x00asm", "WebAssembly module"},
	{"!<arch>\n", "ar archive"},
	{"\x89PNG\r\n\x1a\n", "PNG image"},
	{"\xff\xd8\xff", "JPEG image"},
	{"GIF8", "GIF image"},
	{"BM", "BMP image"},
	{"\x00\x00\x01\x00", "icon"},
	{"%PDF-", "PDF document"},
	{"\x1f\x8b", "gzip data"},
	{"PK\x03\x04", "zip archive"},
	{"PK\x05\x06", "zip archive"},
	{"BZh", "bzip2 data"},
	{"\xfd7zXZ\x00", "xz data"},
	{"\x28\xb5\x2f\xfd", "zstd data"},
	{"7z\xbc\xaf\x27\x1c", "7z archive"},
	{"Rar!\x1a\x07", "RAR archive"},
	{"SQLite format 3\x00", "SQLite database"},
	{"PACK\x00\x00\x00", "git pack"},
	{"\xfftOc\x00\x00\x00\x02", "git pack index"},
	{"DIRC\x00\x00\x00", "git index"},
	{"\x00\x01\x00\x00", "TrueType font"},
}

// magicKind names content by how it begins, or is "".
func magicKind(content []byte) string {
	for _, m := range magics {
		if bytes.HasPrefix(content, []byte(m.start)) {
			return m.kind
		}
	}
	const tarMagic = 257 // offset of "ustar" in a tar header
	switch {
	case len(content) > tarMagic && bytes.HasPrefix(content[tarMagic:], []byte("ustar")):
		return "tar archive"
	case isWebP(content):
		return "WebP image"
	}
	return ""
}

// binaryKind names content that is not UTF-8.
func binaryKind(content []byte, encoding string) string {
	switch encoding {
	case "utf-16le", "utf-16be":
		return "UTF-16 text"
	case "unknown-8bit":
		return "text in an 8-bit encoding, not UTF-8"
	}
	if kind := magicKind(content); kind != "" {
		return kind
	}
	family, name, _ := strings.Cut(http.DetectContentType(content), "/")
	switch family {
	case "audio", "video", "font", "image":
		return strings.TrimPrefix(name, "x-") + " " + family
	}
	return "binary data"
}

// isLFSPointer reports whether content is what Git LFS commits in place of a
// large file: https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md.
func isLFSPointer(content []byte) bool {
	const most = 1024
	return len(content) < most && bytes.HasPrefix(content, []byte("version https://git-lfs.github.com/spec/v")) &&
		bytes.Contains(content, []byte("\noid sha256:"))
}
