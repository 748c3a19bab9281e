package args

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// The functions here take JSON text that json.Valid has accepted, so they split
// it without looking for errors and without copying. Nesting costs no stack.

// kind is what a JSON value is, told by its first byte.
func kind(raw []byte) byte {
	switch c := raw[0]; c {
	case '"', '{', '[', 't', 'f', 'n':
		return c
	}
	return '0'
}

// isNull reports whether a value is null.
func isNull(raw []byte) bool { return kind(raw) == 'n' }

// members yields the keys, still quoted, and the values of an object.
func members(raw []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		rest := raw[1:]
		for {
			var key, value []byte
			if key, rest = next(rest); key == nil {
				return
			}
			if value, rest = next(rest); !yield(key, value) {
				return
			}
		}
	}
}

// elements yields the values of an array.
func elements(raw []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		rest := raw[1:]
		for {
			var value []byte
			if value, rest = next(rest); value == nil || !yield(value) {
				return
			}
		}
	}
}

// next splits the inside of an array or object after its first value, which is
// nil at the end.
func next(raw []byte) (value, rest []byte) {
	raw = bytes.TrimLeft(raw, " \t\r\n,:")
	if len(raw) == 0 || raw[0] == ']' || raw[0] == '}' {
		return nil, nil
	}
	n := valueLen(raw)
	return raw[:n], raw[n:]
}

// valueLen is the length of the value that raw begins with.
func valueLen(raw []byte) int {
	switch kind(raw) {
	case '"':
		return stringLen(raw)
	case '{', '[':
		return nestedLen(raw)
	}
	if n := bytes.IndexAny(raw, " \t\r\n,]}"); n >= 0 {
		return n
	}
	return len(raw)
}

// nestedLen is the length of the array or object that raw begins with.
func nestedLen(raw []byte) int {
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i += stringLen(raw[i:]) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(raw)
}

// stringLen is the length of the string, quotes included, that raw begins with.
func stringLen(raw []byte) int {
	end := 1
	for {
		end += bytes.IndexByte(raw[end:], '"') + 1
		escapes := 0
		for raw[end-2-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return end
		}
	}
}

// unquote decodes a string, refusing what UTF-8 cannot hold. The error reads on
// from the string's name.
func unquote(raw []byte) (string, error) {
	if !utf8.Valid(raw) {
		return "", errors.New("has bytes that are not UTF-8")
	}
	if half := loneSurrogate(raw); half != 0 {
		return "", fmt.Errorf(`has the lone surrogate \u%04x, which UTF-8 cannot hold`, half)
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", errors.New("is not a JSON string")
	}
	return s, nil
}

// loneSurrogate returns the first escaped half of a surrogate pair that stands
// without its other half, or 0.
func loneSurrogate(raw []byte) rune {
	var high rune // the half before i
	for i := 0; i < len(raw); {
		r, n := escape(raw[i:])
		switch {
		case high != 0 && !isLow(r):
			return high
		case high == 0 && isLow(r):
			return r
		case high != 0:
			high = 0
		case utf16.IsSurrogate(r):
			high = r
		}
		i += n
	}
	return high
}

// isLow reports whether r is the second half of a surrogate pair.
func isLow(r rune) bool { return r >= 0xdc00 && r <= 0xdfff }

// escape reads the \u escape that raw begins with. If it begins with something
// else, r is 0 and n is the way to the next escape.
func escape(raw []byte) (r rune, n int) {
	if raw[0] != '\\' {
		if n = bytes.IndexByte(raw, '\\'); n < 0 {
			n = len(raw)
		}
		return 0, n
	}
	if raw[1] != 'u' {
		return 0, 2
	}
	code, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	if err != nil {
		return 0, 6
	}
	return rune(code), 6
}
