package refs

import (
	"os"
	"path/filepath"
	"strings"

	"carrel.dev/workspace"
)

// Move is one line of a reflog: who moved a ref from where to where.
type Move struct {
	Old, New workspace.OID
	Who      string // as in a commit: name, address, time
	Why      string // one line
}

// Log appends a move to the log of a ref, if it has one or create says so. The
// caller holds the ref's lock. What goes wrong is ignored: see the package's
// decisions.
func (s *Store) Log(ref string, m Move, create bool, share func(string) error) {
	name := filepath.Join(s.dir, "logs", ref)
	flags := os.O_WRONLY | os.O_APPEND
	if create {
		flags |= os.O_CREATE
		os.MkdirAll(filepath.Dir(name), 0o777)
	}
	f, err := os.OpenFile(name, flags, 0o666)
	if err != nil {
		return
	}
	defer f.Close()
	share(name)
	why := strings.Join(strings.Fields(m.Why), " ")
	f.WriteString(m.Old.String() + " " + m.New.String() + " " + m.Who + "\t" + why + "\n")
}
