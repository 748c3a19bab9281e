package textpage

import "unicode/utf8"

// mostEscaped is how many bytes one byte takes at most.
const mostEscaped = len(`\u0000`)

// fit returns how much of a line fits in room, as encoding/json escapes it with
// its default settings, in whole characters and without splitting a CRLF, and
// what that takes. At least one character fits, if room is that of a page.
func fit(line []byte, room int) (n, used int) {
	for n < len(line) {
		size, cost := 1, 0
		if b := line[n]; b < utf8.RuneSelf {
			cost = asciiCost(b)
		} else {
			size, cost = runeCost(line[n:])
		}
		if used+cost > room {
			break
		}
		n, used = n+size, used+cost
	}
	if n > 1 && n < len(line) && line[n-1] == '\r' && line[n] == '\n' {
		n--
	}
	return n, used
}

// asciiCost is the length of a byte in a JSON string.
func asciiCost(b byte) int {
	switch {
	case b == '"', b == '\\', b == '\n', b == '\r', b == '\t', b == '\b', b == '\f':
		return len(`\n`)
	case b < ' ', b == '<', b == '>', b == '&':
		return len(`\u0000`)
	}
	return 1
}

// runeCost is the length of the first character of text, which is not ASCII, and
// its length in a JSON string. A byte that is not UTF-8 is escaped as U+FFFD.
func runeCost(text []byte) (size, cost int) {
	r, size := utf8.DecodeRune(text)
	if r == utf8.RuneError && size == 1 || r == '\u2028' || r == '\u2029' {
		return size, len(`\u0000`)
	}
	return size, size
}

// runeStart returns i, or where the character begins that i is within.
func runeStart(text []byte, i int) int {
	for at := i - 1; at >= 0 && at > i-utf8.UTFMax; at-- {
		if !utf8.RuneStart(text[at]) {
			continue
		}
		if _, size := utf8.DecodeRune(text[at:]); at+size > i {
			return at
		}
		break
	}
	return i
}
