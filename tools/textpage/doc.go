// Package textpage shows the content of a file to somebody who cannot take all
// of it at once: it cuts text into pages, says what kind of content bytes are,
// and tells images that really decode from bytes that only claim to be one.
//
// A line is what ends in a line feed, together with that, or the rest of the
// content after the last one; a carriage return alone ends nothing. So a final
// line feed begins no further line, empty content has no lines, and pages that
// follow each other, put together, are the content byte for byte.
package textpage
