package workspace

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// contents is all that a catalog says.
type contents struct {
	Seq, ReposAt, Unread Seq
	Event                string
	Born                 bool
	Repos                map[RepoPath]Repo
	Workspaces           []Listed
}

func contentsOf(c *Catalog) contents {
	all := contents{c.Seq, c.reposAt, c.Unread, c.event, c.Born, c.Repos, nil}
	c.workspaces.Scan(func(id ID, w Listed) bool {
		if w.ID != id {
			panic(fmt.Sprintf("%s is listed as %s", w.ID, id))
		}
		all.Workspaces = append(all.Workspaces, w)
		return true
	})
	return all
}

// replayed reduces the records after a catalog.
func (c *Catalog) replayed(records []Record) *Catalog {
	next := c.clone()
	for _, r := range records {
		next.reduce(r)
	}
	return next
}

// homeRecords makes the records of a project's stream: of every type, also of
// other domains and such that nobody can read, and with some luck one that only
// a newer version understands.
func homeRecords(rnd *rand.Rand, n int) []Record {
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	var records []Record
	for i := range n {
		r := Record{Stream: StreamID{"p", ProjectStream}, Seq: Seq(i + 1)}
		stream := fmt.Sprintf(pick("/agents/%d", "/workspaces/a/%d", "/agents/\"ü\"-%d", "/repos/%d", "%d", "/agents/a b%d"), rnd.IntN(20))
		settings := fmt.Sprintf(`{"source":"/r/%d","managed":%v,"branch":"main","policy":%q}`, rnd.IntN(3), rnd.IntN(2) == 0, pick(string(WorkBranch), string(ReadOnly), "nonsense"))
		typ := pick(ProjectCreated, WorkspaceCreated, WorkspaceCreated, WorkspaceDeleted, RepoCreated, RepoConfigured, RepoRemoved, "agent/thought")
		payload := pick(fmt.Sprintf(`{"stream":%q,"seq":1,"payload":%s}`, stream, settings), fmt.Sprintf(`{"stream":%q,"seq":1}`, stream), `{`, `[]`, `{"payload":3}`)
		r.Event = Event{ID: fmt.Sprint("e", i), Type: typ, Version: 1, Payload: []byte(payload)}
		if rnd.IntN(8) > 0 {
			r.At = time.Unix(rnd.Int64N(1<<33)-1<<32, rnd.Int64N(1e9)).UTC()
		}
		switch rnd.IntN(n * 3) {
		case 0:
			r.Version = payloadVersion + 1
		case 1:
			r.Type = "repo/newer"
		}
		records = append(records, r)
	}
	return records
}

// TestCatalogFromACheckpoint takes a checkpoint at every record. It is the catalog
// of that moment, and leads where the catalog led.
func TestCatalogFromACheckpoint(t *testing.T) {
	read, unread := 0, 0
	for seed := range uint64(40) {
		records := homeRecords(rand.New(rand.NewPCG(seed, 0)), 80)
		end := contentsOf((&Catalog{}).replayed(records))
		for at := range len(records) + 1 {
			c := (&Catalog{}).replayed(records[:at])
			b, err := c.checkpoint()
			if c.Unread != 0 {
				if unread++; err == nil {
					t.Fatalf("seed %d: unread at %d, and has a checkpoint", seed, c.Unread)
				}
				continue
			}
			read++
			if err != nil {
				t.Fatalf("seed %d at %d: %v", seed, at, err)
			}
			again, err := readCatalog(b)
			if err != nil {
				t.Fatalf("seed %d at %d: %v", seed, at, err)
			}
			if diff := cmp.Diff(contentsOf(c), contentsOf(again)); diff != "" {
				t.Fatalf("seed %d at %d (-replayed +checkpoint):\n%s", seed, at, diff)
			}
			if diff := cmp.Diff(end, contentsOf(again.replayed(records[at:]))); diff != "" {
				t.Fatalf("seed %d: the checkpoint at %d leads elsewhere (-replayed +checkpoint):\n%s", seed, at, diff)
			}
		}
	}
	if read < 1000 || unread < 100 {
		t.Errorf("%d catalogs were read and %d unread: too few to tell", read, unread)
	}
}

// smallCatalog has one of each.
func smallCatalog() *Catalog {
	c := (&Catalog{Seq: 7, event: "e/copy", Born: true, reposAt: 3}).clone()
	c.Repos["/repos/app"] = Repo{Path: "/repos/app", Source: Source{"/r/app.git", true}, Branch: "main", Policy: WorkBranch}
	c.Repos["/repos/old"] = Repo{Path: "/repos/old", Source: Source{"/r/old", false}, Branch: "x", Policy: ReadOnly, Removed: true}
	c.workspaces.Set("/agents/a", Listed{"/agents/a", time.Unix(1_700_000_000, 5).UTC(), false})
	c.workspaces.Set("/agents/b", Listed{"/agents/b", time.Time{}, true})
	return c
}

// TestCatalogFormat: whoever changes what is expected here changes catalogVersion
// too, since there are checkpoints of that form.
func TestCatalogFormat(t *testing.T) {
	want := `{"seq":7,"event":"e/copy","born":true,"repos":{` +
		`"/repos/app":{"source":"/r/app.git","managed":true,"branch":"main","policy":"branch"},` +
		`"/repos/old":{"source":"/r/old","managed":false,"branch":"x","policy":"read-only","removed":true}},"reposAt":3,"workspaces":2}` + "\n" +
		"\x12/agents/a\x80\xc4\x9f\xd5\x0c\x05" + "\x13/agents/b\xff\xdb\x8f\xf9\xce\x03\x00"
	got, err := smallCatalog().checkpoint()
	if err != nil || catalogVersion != 1 {
		t.Fatalf("version %d, %v", catalogVersion, err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCatalogCheckpointDamaged refuses what is no checkpoint of a catalog.
func TestCatalogCheckpointDamaged(t *testing.T) {
	b, err := smallCatalog().checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	refused := map[string][]byte{
		"more":                 append(bytes.Clone(b), 0),
		"the same twice":       bytes.Replace(b, []byte("/agents/b"), []byte("/agents/a"), 1),
		"in another order":     bytes.Replace(b, []byte("/agents/a"), []byte("/agents/c"), 1),
		"fewer workspaces":     bytes.Replace(b, []byte(`"workspaces":2`), []byte(`"workspaces":1`), 1),
		"more workspaces":      bytes.Replace(b, []byte(`"workspaces":2`), []byte(`"workspaces":3`), 1),
		"no line":              bytes.Replace(b, []byte("\n"), []byte(" "), 1),
		"an identity too long": bytes.Replace(b, []byte("\x13/"), []byte("\x7f/"), 1),
		"a length without end": bytes.Replace(b, []byte("\x13/agents"), bytes.Repeat([]byte{0xff}, 12), 1),
		"a second too long":    append(bytes.Clone(b[:len(b)-1]), 0x80, 0x94, 0xeb, 0xdc, 0x03),
	}
	for n := range b {
		refused[fmt.Sprintf("the first %d bytes", n)] = b[:n]
	}
	for name, b := range refused {
		if c, err := readCatalog(b); err == nil || KindOf(err) != Corrupt {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
}

// FuzzCatalogCheckpoint reads anything. What is taken for a catalog is saved so
// that it is read the same.
func FuzzCatalogCheckpoint(f *testing.F) {
	b, err := smallCatalog().checkpoint()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"workspaces":1}` + "\n\x02x\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := readCatalog(b)
		if err != nil {
			return
		}
		saved, err := c.checkpoint()
		if err != nil {
			t.Fatal(err)
		}
		again, err := readCatalog(saved)
		if err != nil {
			t.Fatalf("%q was read and saved as %q: %v", b, saved, err)
		}
		if diff := cmp.Diff(contentsOf(c), contentsOf(again)); diff != "" {
			t.Errorf("(-first +again):\n%s", diff)
		}
	})
}
