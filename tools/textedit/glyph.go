package textedit

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A text's outline is what a reader sees of it: without white space and
// characters that do not show, in lower case, without accents, and with
// characters that look alike as one. Texts with one outline differ in nothing
// that somebody retyping them would notice.

// outline returns that of a text, in UTF-8.
func outline(s []byte) []byte {
	out := make([]byte, 0, len(s))
	for len(s) > 0 {
		if b := s[0]; b < utf8.RuneSelf {
			if p := plainASCII(b); p != 0 {
				out = append(out, p)
			}
			s = s[1:]
			continue
		}
		r, size := utf8.DecodeRune(s)
		if p := plain(r); p != 0 {
			out = utf8.AppendRune(out, p)
		}
		s = s[size:]
	}
	return out
}

// inOutline turns rising offsets of a text's outline into those of the text: of
// the characters that are there.
func inOutline(s []byte, offsets []int) []int {
	at, n := 0, 0
	found := make([]int, 0, len(offsets))
	for len(found) < len(offsets) && at < len(s) {
		r, size := rune(s[at]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(s[at:])
		}
		if p := plain(r); p != 0 {
			n += utf8.RuneLen(p)
		}
		for len(found) < len(offsets) && n > offsets[len(found)] {
			found = append(found, at)
		}
		at += size
	}
	return found
}

// plainASCII is plain for one byte.
func plainASCII(b byte) byte {
	switch {
	case b == ' ' || b >= '\t' && b <= '\r':
		return 0
	case b >= 'A' && b <= 'Z':
		return b + 'a' - 'A'
	}
	return b
}

// plain returns what stands for a character in an outline, or 0 for nothing.
func plain(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
		return rune(plainASCII(byte(r)))
	case unicode.IsSpace(r), invisible(r), unicode.Is(unicode.Mn, r):
		return 0
	case r >= '\u2010' && r <= '\u2015', r == '\u2212':
		return '-'
	case r >= '\u2018' && r <= '\u201b', r == '\u2032', r == '\u00b4', r == '\u02bc':
		return '\''
	case r >= '\u201c' && r <= '\u201f', r == '\u2033', r == '\u00ab', r == '\u00bb':
		return '"'
	case r >= '\uff01' && r <= '\uff5e': // forms of full width
		return rune(plainASCII(byte(r - '\uff01' + '!')))
	}
	if p := unaccented(r); p != 0 {
		return p
	}
	if i := strings.IndexRune(lookalikes, r); i >= 0 {
		return rune(latin[utf8.RuneCountInString(lookalikes[:i])])
	}
	return unicode.ToLower(r)
}

// invisible reports whether a character that is no white space shows nothing.
func invisible(r rune) bool {
	switch r {
	case '\u00ad', '\u061c', '\u180e', '\ufeff':
		return true
	}
	return r >= '\u200b' && r <= '\u200f' || r >= '\u2028' && r <= '\u202e' ||
		r >= '\u2060' && r <= '\u206f' || r >= '\ufe00' && r <= '\ufe0f'
}

// Letters of other scripts and the Latin ones that they look like.
const (
	lookalikes = "аАВеЕкКмМНоОрРсСтТуУхХіІјЈѕЅΑΒΕΖΗΙΚΜΝΟοΡΤΥΧν"
	latin      = "aabeekkmmhooppccttyyxxiijjssabezhikmnooptyxv"
)

// The letters from U+00C0 and from U+1E00 without their accents, or a dot.
const (
	fromC0   = "aaaaaa.ceeeeiiii.nooooo..uuuuy..aaaaaa.ceeeeiiii.nooooo..uuuuy.yaaaaaaccccccccdd..eeeeeeeeeegggggggghh..iiiiiiiii...jjkk.llllll....nnnnnn...oooooo..rrrrrrsssssssstttt..uuuuuuuuuuuuwwyyyzzzzzz."
	from1E00 = "aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmmmmmmnnnnnnnnoooooooopppprrrrrrrrssssssssssttttttttuuuuuuuuuuvvvvwwwwwwwwwwxxxxyyzzzzzzhtwy......aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeeeeeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuuuuyyyyyyyy......"
)

// unaccented returns the letter that r is with an accent, or 0.
func unaccented(r rune) rune {
	base := byte('.')
	switch {
	case r >= 0xc0 && int(r-0xc0) < len(fromC0):
		base = fromC0[r-0xc0]
	case r >= 0x1e00 && int(r-0x1e00) < len(from1E00):
		base = from1E00[r-0x1e00]
	}
	if base == '.' {
		return 0
	}
	return rune(base)
}

// names are what common characters that are taken for others are called.
var names = [...]struct {
	r    rune
	name string
}{
	{'\r', "carriage return"}, {'\u00a0', "no-break space"}, {'\u202f', "narrow no-break space"}, {'\u3000', "ideographic space"},
	{'\u200b', "zero width space"}, {'\u200c', "zero width non-joiner"}, {'\u200d', "zero width joiner"},
	{'\u2060', "word joiner"}, {'\ufeff', "byte order mark"}, {'\u00ad', "soft hyphen"},
	{'\u2010', "hyphen"}, {'\u2011', "non-breaking hyphen"}, {'\u2013', "en dash"}, {'\u2014', "em dash"},
	{'\u2212', "minus sign"}, {'\u2018', "left single quotation mark"}, {'\u2019', "right single quotation mark"},
	{'\u201c', "left double quotation mark"}, {'\u201d', "right double quotation mark"},
}

// nameOf names a character in a message: as it is, if it is ASCII, or else by
// its code point and what it is called.
func nameOf(r rune) string {
	switch {
	case r == ' ':
		return "a space"
	case r == '\t':
		return "a tab"
	case r > ' ' && r < '\u007f':
		return string(r)
	}
	name := "invisible"
	switch {
	case unicode.Is(unicode.Mn, r):
		name = "combining mark"
	case unicode.IsSpace(r):
		name = "white space"
	case unicode.IsPrint(r):
		name = string(r)
	}
	for _, known := range names {
		if known.r == r {
			name = known.name
		}
	}
	return fmt.Sprintf("U+%04X (%s)", r, name)
}
