package content

import "testing"

func TestHeader(t *testing.T) {
	for _, size := range []int64{0, 1, 9, 10, 11, 99, 100, 999_999, 1_000_000, 1 << 40} {
		h := Header(size)
		length, got, ok := ParseHeader(append(h, "content"...))
		if length != int64(len(h)) || got != size || !ok {
			t.Errorf("header of %d: got %d bytes, size %d, %v", size, length, got, ok)
		}
		if got := SizeIn(int64(len(h)) + size); got != size {
			t.Errorf("%d stored bytes: got content of %d, want %d", int64(len(h))+size, got, size)
		}
	}
	if got := SizeIn(3); got != 0 {
		t.Errorf("less than a header: got %d", got)
	}
	for _, stored := range []string{
		"", "blob", "blob 12", "blob \x00", "blob +12\x00", "blob 012\x00", "blob 12 \x00", "tree 12\x00", "blob -1\x00",
		"blob 99999999999999999999\x00", "blob 12345678901234567890123456789012345\x00",
	} {
		if length, size, ok := ParseHeader([]byte(stored)); ok {
			t.Errorf("%q: got a header of %d bytes, size %d", stored, length, size)
		}
	}
}
