package crash

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"carrel.dev/workspace"
)

// TestFailingParts fails random steps of the stores, before, in the midst and
// after, so that what was asked for has not happened, or has and the answer is
// lost. A commit that fails once its intent is recorded is internal: nobody knows
// then whether it has landed, and whoever changes the workspace next finds out.
func TestFailingParts(t *testing.T) {
	t.Parallel()
	h := furnish(t, newPlace(t))
	var hungry atomic.Bool
	random := rand.New(rand.NewPCG(h.desk.random.Uint64(), 0))
	s, err := wire(t.Context(), h.place.data, func(point string) error {
		if !hungry.Load() || strings.HasPrefix(point, "lane: ") || random.IntN(8) > 0 {
			return nil
		}
		if strings.HasPrefix(point, "workspace: ") {
			return syscall.EIO
		}
		return workspace.Errorf(workspace.Unavailable, "injected: %w", syscall.EIO).Hinted("Repeat the call.")
	})
	must(t, err)
	h.sit(s)
	h.code = "internal"
	h.take = func() { hungry.Store(true) }
	h.give = func() { hungry.Store(false) }
	h.rounds(sized(20, 2000))
}
