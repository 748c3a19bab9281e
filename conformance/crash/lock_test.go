package crash

import (
	"strings"
	"testing"
)

// TestForeignLock leaves somebody's lock on the branch that a workspace commits
// to. Only commits there are refused, the lock is not touched, and they work once
// it is gone.
func TestForeignLock(t *testing.T) {
	t.Parallel()
	h := newHunger(t, newPlace(t))
	h.says = "lock of refs/heads/main"
	h.take = func() {
		must(t, h.place.git.Plant("app", "refs/heads/main.lock", []byte(strings.Repeat("0", 40)+"\n"), 0o644))
	}
	h.give = func() { must(t, h.place.git.Unplant("app", "refs/heads/main.lock")) }
	h.rounds(sized(1, 10))
}
