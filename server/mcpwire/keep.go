package mcpwire

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"carrel.dev/workspace"
)

// Keeper keeps values for a while, beyond the end of the process. All methods are safe
// for concurrent use.
type Keeper interface {
	// Keep keeps a value under a key until a time, in the place of the one that is
	// there. It may go earlier, if there is no room.
	Keep(ctx context.Context, key [sha256.Size]byte, value []byte, until time.Time) error
	// Kept returns the value of a key: workspace.NotExist if there is none, or no
	// longer.
	Kept(ctx context.Context, key [sha256.Size]byte) ([]byte, error)
}

// keepTime is how long the Keeper has for one value. The client has its answer by then,
// but not the end of the stream.
const keepTime = 5 * time.Second

// keptKey is what something is kept under for the client that knows some ids: a hash of
// all that it has to know and to be. So nobody else finds it, and what is stored is
// nobody's secret.
func (s *Server) keptKey(at endpoint, ids ...string) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q", s.cfg.Project.Name(), at.door, at.workspace, at.client, ids))
}

// keep keeps a value as long as an unused session, and reports whether it did.
func (s *Server) keep(key [sha256.Size]byte, value []byte) bool {
	if s.cfg.Keep == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), keepTime)
	defer cancel()
	err := s.cfg.Keep.Keep(ctx, key, value, s.cfg.Now().Add(s.cfg.Idle))
	if err != nil {
		s.cfg.Log.Error("what a client may go on with is not kept", "err", err)
	}
	return err == nil
}

// kept returns what is kept under a key, if anything is.
func (s *Server) kept(ctx context.Context, key [sha256.Size]byte) (value []byte, ok bool) {
	if s.cfg.Keep == nil {
		return nil, false
	}
	value, err := s.cfg.Keep.Kept(ctx, key)
	if err != nil && workspace.KindOf(err) != workspace.NotExist && ctx.Err() == nil {
		s.cfg.Log.ErrorContext(ctx, "what a client may go on with cannot be read", "err", err)
	}
	return value, err == nil
}
