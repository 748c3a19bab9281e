package object

import (
	"errors"

	"carrel.dev/workspace"
)

// EmptyTree is the id of the tree without entries, which git has everywhere.
func EmptyTree() workspace.OID {
	return workspace.OID{0x4b, 0x82, 0x5d, 0xc6, 0x42, 0xcb, 0x6e, 0xb9, 0xa0, 0x60,
		0xe5, 0x4b, 0xf8, 0xd6, 0x92, 0x88, 0xfb, 0xee, 0x49, 0x04}
}

// Tree returns a tree, from memory if it can. One that is missing or of another
// type is Corrupt, since a commit of this repository names it.
func (s *Store) Tree(id workspace.OID) (*Tree, error) {
	if id == EmptyTree() {
		return &Tree{}, nil
	}
	if t, ok := s.pool.trees.get(id); ok {
		return t, nil
	}
	content, err := s.typed(id, TypeTree)
	if err != nil {
		return nil, named(err)
	}
	t, err := ParseTree(content)
	if err != nil {
		return nil, err
	}
	s.pool.addTree(id, t)
	return t, nil
}

func (p *Pool) addTree(id workspace.OID, t *Tree) {
	const overhead = 200
	p.trees.add(id, t, int64(len(t.text)+4*len(t.starts)+overhead))
}

// Blob returns a blob's content, from memory if it can. It is shared: the caller
// does not modify it. One that is missing or of another type is Corrupt.
func (s *Store) Blob(id workspace.OID) ([]byte, error) {
	content, err := s.BlobIfPresent(id)
	return content, named(err)
}

// BlobIfPresent is Blob for an id that nothing in the repository need name: one
// that is missing is NotExist.
func (s *Store) BlobIfPresent(id workspace.OID) ([]byte, error) {
	if b, ok := s.pool.blobs.get(id); ok {
		return b, nil
	}
	content, err := s.typed(id, TypeBlob)
	if err != nil {
		return nil, err
	}
	s.pool.addBlob(id, content)
	return content, nil
}

func (p *Pool) addBlob(id workspace.OID, content []byte) {
	const overhead = 150
	p.blobs.add(id, content, int64(len(content)+overhead))
}

// BlobSize returns a blob's length without reading all of it.
func (s *Store) BlobSize(id workspace.OID) (int64, error) {
	if b, ok := s.pool.blobs.get(id); ok {
		return int64(len(b)), nil
	}
	t, size, err := s.Stat(id)
	if err == nil && t != TypeBlob {
		err = corruptf("object %s is a %s, not a blob", id, t)
	}
	return size, named(err)
}

// Commit returns a commit, from memory if it can. NotExist if the repository
// does not have it.
func (s *Store) Commit(id workspace.OID) (*Commit, error) {
	key := commitKey{s, id}
	if c, ok := s.pool.commits.get(key); ok {
		return c, nil
	}
	content, err := s.typed(id, TypeCommit)
	if err != nil {
		return nil, err
	}
	c, err := ParseCommit(content)
	if err != nil {
		return nil, err
	}
	const overhead = 400
	s.pool.commits.add(key, c, int64(len(content)+overhead))
	return c, nil
}

// typed reads an object that must be of a type.
func (s *Store) typed(id workspace.OID, want Type) ([]byte, error) {
	t, content, err := s.Read(id)
	if err == nil && t != want {
		err = corruptf("object %s is a %s, not a %s", id, t, want)
	}
	return content, err
}

// named makes the absence of an object that something names damage, which
// workspace.ErrMissing tells from that of an object which is there.
func named(err error) error {
	if errors.Is(err, workspace.NotExist) {
		return corruptf("%w", &lacking{err.Error()})
	}
	return err
}

// lacking is workspace.ErrMissing with the name of what is missing.
type lacking struct{ text string }

func (l *lacking) Error() string        { return l.text }
func (l *lacking) Is(target error) bool { return target == workspace.ErrMissing }
