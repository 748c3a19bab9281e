package mcpwire

import (
	"context"
	"testing"
)

// TestRoomsAreShared has one client take what it can get of the room for large messages:
// others still have some, and the rest once that is given back.
func TestRoomsAreShared(t *testing.T) {
	r := newRooms()
	takeAll := func(client string) (n int64) {
		for r.take(t.Context(), client) {
			n += httpCost
		}
		return n
	}
	first := takeAll("first")
	if first != maxClientBulk || first < 96<<20 {
		t.Errorf("one client has %d bytes, want %d", first, maxClientBulk)
	}
	if n := takeAll("second"); n != maxHTTPBulk-first {
		t.Errorf("another one has %d bytes, want %d", n, maxHTTPBulk-first)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if r.take(gone, "third") {
		t.Error("a third one has what is not there")
	}
	r.give("first", first)
	if !r.take(t.Context(), "third") {
		t.Error("nothing was given back")
	}
	r.give("third", httpCost)
	r.give("second", maxHTTPBulk-first)
	if len(r.of) != 0 {
		t.Errorf("who has nothing is remembered: %v", r.of)
	}
}
