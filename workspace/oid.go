package workspace

import (
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/pjbgf/sha1cd"
)

// OID is a git object id. The id of a body is its git blob id, in the upper and
// below alike, so that "changed?" is one comparison.
type OID [20]byte

// IsZero reports whether id is the all-zero id, which names no object.
func (id OID) IsZero() bool { return id == OID{} }

// String is the id in 40 hexadecimal digits.
func (id OID) String() string { return hex.EncodeToString(id[:]) }

// Short is the first 10 digits, for people.
func (id OID) Short() string { return id.String()[:10] }

// MarshalText encodes the id in hexadecimal.
func (id OID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText decodes 40 hexadecimal digits.
func (id *OID) UnmarshalText(text []byte) error {
	parsed, err := ParseOID(string(text))
	if err == nil {
		*id = parsed
	}
	return err
}

// ParseOID reads 40 hexadecimal digits. Anything else is Invalid.
func ParseOID(s string) (OID, error) {
	var id OID
	if len(s) != hex.EncodedLen(len(id)) {
		return id, Errorf(Invalid, "%q is not an object id of 40 hexadecimal digits", s)
	}
	if _, err := hex.Decode(id[:], []byte(s)); err != nil {
		return OID{}, Errorf(Invalid, "%q is not an object id of 40 hexadecimal digits", s)
	}
	return id, nil
}

// BlobID returns the git blob id of content. The hash detects the known SHA-1
// collision attacks, since one store serves all projects; colliding content is
// refused as Invalid.
func BlobID(content []byte) (OID, error) {
	h := NewBlobHash(int64(len(content)))
	h.Write(content)
	return h.ID()
}

// BlobHash computes the git blob id of content of a known size as it is written.
type BlobHash struct{ h sha1cd.CollisionResistantHash }

// NewBlobHash starts the id of a blob of size bytes.
func NewBlobHash(size int64) *BlobHash {
	h := sha1cd.New().(sha1cd.CollisionResistantHash)
	h.Write([]byte("blob " + strconv.FormatInt(size, 10) + "\x00"))
	return &BlobHash{h}
}

// Write adds content; it never fails.
func (b *BlobHash) Write(p []byte) (int, error) { return b.h.Write(p) }

// ID returns the id of what was written, or Invalid if it carries a collision attack.
func (b *BlobHash) ID() (OID, error) {
	var id OID
	sum, collision := b.h.CollisionResistantSum(nil)
	if collision {
		return id, &Error{Kind: Invalid, Err: fmt.Errorf("content carries a SHA-1 collision attack")}
	}
	copy(id[:], sum)
	return id, nil
}
