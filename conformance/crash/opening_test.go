package crash

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel.dev/conformance"
)

// crowdSize is how many processes use one data directory at once.
const crowdSize = 10

// together runs something n times at the same moment.
func together(n int, run func(i int)) {
	var group sync.WaitGroup
	gate := make(chan struct{})
	for i := range n {
		group.Go(func() {
			<-gate
			run(i)
		})
	}
	close(gate)
	group.Wait()
}

// TestOpenedTogether has processes open a data directory at the same moment, one
// that is not there, and one whose database has the first schema that was
// released. One of them makes or upgrades it, and all work in it.
//
// Cases: SH-10 E12
func TestOpenedTogether(t *testing.T) {
	t.Parallel()
	old, err := os.ReadFile("../../persistence/sqlite/testdata/schema1.db")
	must(t, err)
	for name, database := range map[string][]byte{"fresh": nil, "first schema": old} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range sized(1, 20) {
				openTogether(t, database)
			}
		})
	}
}

func openTogether(t *testing.T, database []byte) {
	t.Helper()
	p := newPlace(t)
	if database != nil {
		must(t, os.Mkdir(p.data, 0o700))
		must(t, os.WriteFile(p.database(), database, 0o600))
		must(t, os.WriteFile(filepath.Join(p.data, "id"), []byte("carrel-data 1 0123456789abcdef0123456789abcdef\n"), 0o600))
	}
	must(t, p.git.Create(t.Context(), "app", false, []conformance.Edit{{Path: "a", Mode: "100644", Content: []byte("a\n")}}))
	together(crowdSize, func(int) {
		if _, err := p.run("repo", "add", p.git.Path("app"), "app"); err != nil {
			t.Error(err)
		}
	})
	together(crowdSize, func(i int) {
		ws, message := fmt.Sprintf("/agents/p%d", i), fmt.Sprintf("commit %d", i)
		s, err := conformance.Dial(t.Context(), p.command("mcp", "--project", "default", "--tools", "all"), "crash")
		if err != nil {
			t.Error(err)
			return
		}
		for _, c := range []call{create(ws), write(ws, "/repos/app/"+ws, message), commit(ws, "/repos/app", message)} {
			if err := try(t.Context(), s, c, nil); err != nil {
				t.Error(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	commits, err := p.lines("app", "log", "--format=%s", "main")
	must(t, err)
	if len(commits) != 1+crowdSize {
		t.Errorf("commits on main: %q", commits)
	}
	if database == nil {
		return
	}
	if was, is := schema(t, database), schema(t, p.read()); is < was {
		t.Errorf("the database has schema %d, and had %d", is, was)
	}
	out, err := p.run("events", "--project", "p")
	if err != nil || !strings.Contains(string(out), "project/created") {
		t.Errorf("of what the database held: %q, %v", out, err)
	}
}

// database is where the data directory has its database.
func (p *place) database() string { return filepath.Join(p.data, "carrel.db") }

// read is the database's file.
func (p *place) read() []byte {
	p.t.Helper()
	b, err := os.ReadFile(p.database())
	must(p.t, err)
	return b
}

// schema is the version that a database's header holds: its user_version, see
// https://www.sqlite.org/fileformat2.html, section 1.3.
func schema(t *testing.T, database []byte) uint32 {
	t.Helper()
	if !bytes.HasPrefix(database, []byte("SQLite format 3\x00")) {
		t.Fatal("this is no database")
	}
	return binary.BigEndian.Uint32(database[60:])
}

// TestKilledOpening ends processes while they make or open a data directory. The
// next one opens it, and the repo is registered once.
func TestKilledOpening(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	must(t, p.git.Create(t.Context(), "app", false, []conformance.Edit{{Path: "a", Mode: "100644", Content: []byte("a\n")}}))
	add := []string{"repo", "add", p.git.Path("app"), "app"}
	began := time.Now()
	must(t, p.command(add...).Run())
	takes := time.Since(began)
	killed := 0
	for i := range sized(15, 300) {
		p.data = filepath.Join(filepath.Dir(p.data), fmt.Sprintf("data%d", i))
		for range 3 { // the second and third find what the first has made
			cmd := p.command(add...)
			must(t, cmd.Start())
			time.Sleep(rand.N(takes))
			must(t, cmd.Process.Kill())
			if cmd.Wait() != nil {
				killed++
			}
		}
		_, err := p.run(add...)
		must(t, err)
		out, err := p.run("events")
		must(t, err)
		if created := strings.Count(string(out), "repo/created"); created != 1 {
			t.Errorf("the repo was created %d times: %s", created, out)
		}
		must(t, os.RemoveAll(p.data))
	}
	if killed == 0 {
		t.Error("every process came to its end before it was killed")
	}
}
