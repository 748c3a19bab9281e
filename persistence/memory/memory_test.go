package memory

import (
	"bytes"
	"testing"

	"carrel.dev/workspace"
	"carrel.dev/workspace/workspacetest"
)

func TestStore(t *testing.T) {
	workspacetest.TestStore(t, func(t *testing.T) workspacetest.StoreTarget {
		s := New(nil)
		return workspacetest.StoreTarget{Store: s, Blobs: s}
	})
}

func TestBlobs(t *testing.T) {
	workspacetest.TestBlobs(t, func(t *testing.T) workspacetest.BlobsTarget {
		s := New(nil)
		return workspacetest.BlobsTarget{Blobs: s, Damage: s.damage}
	})
}

func (s *Store) damage(_ *testing.T, id workspace.OID, change func([]byte) []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bodies[id] = change(bytes.Clone(s.bodies[id])); s.bodies[id] == nil {
		delete(s.bodies, id)
	}
}

func TestTokens(t *testing.T) {
	workspacetest.TestTokens(t, func(t *testing.T) workspacetest.TokensTarget {
		return workspacetest.TokensTarget{Tokens: New(nil)}
	})
}
