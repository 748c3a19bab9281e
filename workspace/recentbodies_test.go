package workspace

import (
	"bytes"
	"testing"
)

func TestRecentBodiesAreBounded(t *testing.T) {
	r := &recentBodies{}
	body := func(i, size int) Body {
		return Body{ID: OID{byte(i), byte(i >> 8), byte(i >> 16)}, Content: bytes.Repeat([]byte{byte(i)}, size)}
	}
	const n = 1000
	for i := range n {
		r.add([]Body{body(i, 10_000), body(i, 10_000)}) // the second is the first
	}
	r.add([]Body{body(n, recentBodyBytes+1)})
	if _, ok := r.get(body(n, 0).ID); ok {
		t.Error("one that is too large is kept")
	}
	for i := range n {
		got, ok := r.get(body(i, 0).ID)
		if want := body(i, 10_000); ok && !bytes.Equal(got, want.Content) {
			t.Fatalf("content %d is another", i)
		}
		if newest := i >= n-400; newest && !ok {
			t.Errorf("content %d has gone", i)
		} else if oldest := i < n-450; oldest && ok {
			t.Errorf("content %d is still there", i)
		}
	}
	for i := range 100_000 {
		r.add([]Body{body(n+i, 0)})
	}
	if len(r.byID) != len(r.order) || len(r.byID) > recentBodiesBytes/64 {
		t.Errorf("%d empty ones are kept, %d in order", len(r.byID), len(r.order))
	}
}

func TestRecentBodyIsACopy(t *testing.T) {
	r := &recentBodies{}
	content := []byte("content of a file")
	r.add([]Body{{ID: OID{1}, Content: content[:7]}})
	got, _ := r.get(OID{1})
	_ = append(got, "!"...)
	copy(content, "altered")
	if again, _ := r.get(OID{1}); string(again) != "content" || cap(again) != len(again) {
		t.Errorf("%q of capacity %d", again, cap(again))
	}
}
