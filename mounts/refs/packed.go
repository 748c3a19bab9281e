package refs

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"carrel.dev/workspace"
	"golang.org/x/sys/unix"
)

// packed is the content of packed-refs when the file looked like stamp.
type packed struct {
	stamp   stamp
	settled bool
	text    []byte
}

func (s *Store) packedPath() string { return filepath.Join(s.dir, "packed-refs") }

// readPacked finds a ref that has no file of its own.
func (s *Store) readPacked(ref string, now time.Time) (Value, error) {
	p, err := s.packedRefs()
	if err != nil {
		return Value{}, err
	}
	id, ok := p.find(ref)
	if !ok {
		return Value{}, absent(ref)
	}
	if p.settled {
		s.remember(ref, seen{packed: p.stamp, id: id})
	}
	return Value{ID: id}, nil
}

// packedRefs returns the content of packed-refs, from memory if the file cannot
// have changed.
func (s *Store) packedRefs() (packed, error) {
	now := time.Now()
	at, err := stat(s.packedPath())
	if err != nil {
		return packed{}, unavailable(err)
	}
	s.mu.Lock()
	p := s.packed
	s.mu.Unlock()
	if p.settled && p.stamp == at {
		return p, nil
	}
	f, err := os.Open(s.packedPath())
	if errors.Is(err, fs.ErrNotExist) {
		return packed{}, nil
	}
	if err != nil {
		return packed{}, unavailable(err)
	}
	defer f.Close()
	// The stamp is that of the file which is read, whatever replaced it since.
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return packed{}, unavailable(err)
	}
	var b bytes.Buffer
	if _, err := b.ReadFrom(f); err != nil {
		return packed{}, unavailable(err)
	}
	p = packed{stamp: stampOf(&st), text: b.Bytes()}
	p.settled = p.stamp.settledAt(now)
	s.mu.Lock()
	s.packed = p
	s.mu.Unlock()
	return p, nil
}

// find returns the id of a ref.
func (p packed) find(ref string) (id workspace.OID, ok bool) {
	const digits = 2 * len(workspace.OID{})
	text := p.text
	for {
		i := bytes.Index(text, []byte(" "+ref+"\n"))
		if i < 0 {
			return id, false
		}
		if i == digits || i > digits && text[i-digits-1] == '\n' {
			if id, err := workspace.ParseOID(string(text[i-digits : i])); err == nil {
				return id, true
			}
		}
		text = text[i+1:]
	}
}

// clash finds a ref that cannot stand beside ref, since one name would be a
// directory of the other.
func (p packed) clash(ref string) (string, bool) {
	if i := bytes.Index(p.text, []byte(" "+ref+"/")); i >= 0 {
		below, _, _ := bytes.Cut(p.text[i+1:], []byte("\n"))
		return string(below), true
	}
	for i := strings.LastIndexByte(ref, '/'); i > len("refs"); i = strings.LastIndexByte(ref[:i], '/') {
		if _, ok := p.find(ref[:i]); ok {
			return ref[:i], true
		}
	}
	return "", false
}
