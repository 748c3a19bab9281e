package textedit

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of messages, in bytes. With a hint a message is below 4 KiB.
const (
	mostMessage = 3600
	mostLine    = 120 // of one line shown
	mostQuoted  = 200 // of one line quoted
)

// lineNumber is the line, from 1, that an offset is on.
func lineNumber(flat []byte, at int) int { return 1 + bytes.Count(flat[:at], []byte("\n")) }

// column is the column of an offset, in bytes from 1, not counting the byte
// order mark of the file.
func column(flat []byte, at int) int {
	start := lineStart(flat, at)
	if start == 0 && bytes.HasPrefix(flat, []byte(bom)) && at >= len(bom) {
		start = len(bom)
	}
	return at - start + 1
}

// lineStart is where the line begins that an offset is on.
func lineStart(flat []byte, at int) int { return bytes.LastIndexByte(flat[:at], '\n') + 1 }

// lineEnd is where that line ends, before its line feed.
func lineEnd(flat []byte, at int) int {
	if n := bytes.IndexByte(flat[at:], '\n'); n >= 0 {
		return at + n
	}
	return len(flat)
}

// listing shows lines of a file, numbered, some of them marked.
type listing struct {
	flat   []byte
	at     int // an offset on one of the lines, around which a long line is cut
	number int // of that line
	marks  []int
}

// listAt returns the listing of the lines around an offset, its line marked.
func listAt(flat []byte, at int) listing {
	number := lineNumber(flat, at)
	return listing{flat: flat, at: at, number: number, marks: []int{number}}
}

// write writes the lines from to to.
func (l listing) write(b *strings.Builder, from, to int) {
	number, start := l.number, lineStart(l.flat, l.at)
	for ; number > from && start > 0; number-- {
		start = lineStart(l.flat, start-1)
	}
	for ; number <= to && start < len(l.flat); number++ {
		end := lineEnd(l.flat, start)
		mark, focus := ' ', 0
		if slices.Contains(l.marks, number) {
			mark = '>'
		}
		if number == l.number {
			focus = l.at - start
		}
		if number >= from {
			fmt.Fprintf(b, "\n%c%d\t%s", mark, number, printable(window(l.flat[start:end], focus, mostLine)))
		}
		start = end + 1
	}
}

// printable replaces what would spoil a listing.
func printable(line []byte) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\ufeff':
			return -1
		case r < ' ' && r != '\t', r == '\u007f':
			return utf8.RuneError
		}
		return r
	}, string(line))
}

// window cuts up to most bytes out of a line, around an offset.
func window(line []byte, at, most int) []byte {
	if len(line) <= most {
		return line
	}
	start := min(max(0, at-most/3), len(line)-most)
	end := start + most
	for start > 0 && !utf8.RuneStart(line[start]) {
		start--
	}
	for end < len(line) && end > start && !utf8.RuneStart(line[end]) {
		end--
	}
	return line[start:end]
}

// quote makes every character of a part of a line visible.
func quote(line []byte) string {
	var b strings.Builder
	b.WriteByte('"')
	for len(line) > 0 && b.Len() < mostQuoted {
		r, size := utf8.DecodeRune(line)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, line[0])
		case r == '"' || r >= ' ' && r < utf8.RuneSelf && r != '\\':
			b.WriteRune(r)
		default:
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
		}
		line = line[size:]
	}
	b.WriteByte('"')
	if len(line) > 0 {
		b.WriteString("…")
	}
	return b.String()
}

// clip shortens a text to most bytes, at a character.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}
