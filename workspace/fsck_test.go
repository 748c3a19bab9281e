package workspace_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/mounts"
	"carrel.dev/persistence/datadir"
	"carrel.dev/persistence/dir"
	"carrel.dev/persistence/spill"
	"carrel.dev/persistence/sqlite"
	. "carrel.dev/workspace"
)

// desk is a bench on a data directory, as the program has it, but for contents
// over 64 bytes, which are files.
type desk struct {
	*bench
	data string
	id   string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{bench: &bench{t: t, root: t.TempDir()}}
	d.data = filepath.Join(d.root, "data")
	cfg, closed, err := openDesk(t.Context(), d.data)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closed)
	d.cfg, d.id = cfg, cfg.DataID
	d.reopen()
	d.repo("app", map[string]string{"a": "1\n"})
	return d
}

// openDesk opens a data directory and says how it is closed.
func openDesk(ctx context.Context, path string) (*Config, func(), error) {
	data, err := datadir.Open(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	large, err := dir.Open(data.Blobs())
	if err != nil {
		return nil, nil, err
	}
	store, err := sqlite.Open(ctx, data.Database(), &sqlite.Config{Large: large.Has, Discard: large.Discard})
	if err != nil {
		return nil, nil, err
	}
	repos := mounts.New(&mounts.Config{ManagedRoot: data.Repos(), LockWait: 100 * time.Millisecond})
	cfg := &Config{
		Store: store, Blobs: spill.New(store, large, &spill.Config{Threshold: 64}),
		Trees: repos, Committer: repos, Ignorer: repos, Processes: data, DataID: data.ID(),
	}
	return cfg, func() { store.Close(); data.Close() }, nil
}

func (d *desk) exec(query string, args ...any) {
	d.t.Helper()
	db, err := sql.Open("sqlite3", filepath.Join(d.data, "carrel.db"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer db.Close()
	res, err := db.Exec(query, args...)
	if err != nil {
		d.t.Fatalf("%s: %v", query, err)
	}
	if n, err := res.RowsAffected(); n == 0 || err != nil {
		d.t.Fatalf("%s: changed nothing, %v", query, err)
	}
}

// file is where a larger content is.
func (d *desk) file(content string) string {
	id := blobID(content).String()
	return filepath.Join(d.data, "blobs", id[:2], id[2:])
}

// change rewrites a file.
func (d *desk) change(name string, f func([]byte) []byte) {
	d.t.Helper()
	b, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, f(b), 0o600)
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// What the workspace of the damage tests has.
const (
	smallText = "a small content"
	largeBase = "a large content, which is longer than what the database takes "
)

var largeText = strings.Repeat(largeBase, 100)

// furnish makes a workspace with everything: contents of both sizes, a commit on
// a work branch, a checkpoint.
func (d *desk) furnish() Commit {
	d.t.Helper()
	w := d.create("/agents/a", map[string]MountPatch{"/repos/app": {FieldPolicy: ptr(string(WorkBranch))}})
	w.write("/repos/app/b", "committed")
	c := w.commit("/repos/app")
	w.write("/workspace/small", smallText)
	w.write("/workspace/large", largeText)
	d.checkpoint(func(b []byte) []byte { return b })
	return c
}

// checkpoint saves the state of the workspace, changed by f.
func (d *desk) checkpoint(f func([]byte) []byte) {
	d.t.Helper()
	s := d.open("/agents/a", "s").snap().State
	b, err := json.Marshal(s)
	if err == nil {
		err = d.cfg.Store.(Checkpointer).SaveCheckpoint(context.Background(), StreamID{Project: "p", Name: "/agents/a"}, s.Seq, 1, f(b))
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// found lists what fsck finds, as "severity kind" and where, sorted.
func (d *desk) found(o Fsck) []string {
	d.t.Helper()
	c, err := d.host.Fsck(context.Background(), o)
	if err != nil {
		d.t.Fatal(err)
	}
	list := []string{}
	for _, f := range c.Findings {
		text := strings.TrimSpace(fmt.Sprint(f.Severity, " ", f.Kind, " ", f.Stream))
		if f.Mended {
			text += " mended"
		}
		list = append(list, text)
		if f.Text == "" || f.Hint == "" || strings.Contains(f.Text, d.root) {
			d.t.Errorf("%s: text %q, hint %q", f.Kind, f.Text, f.Hint)
		}
	}
	slices.Sort(list)
	return list
}

const ofA = "(SELECT id FROM streams WHERE name = '/agents/a')"

func TestFsckFinds(t *testing.T) {
	tests := []struct {
		name   string
		damage func(d *desk, c Commit)
		want   []string
	}{
		{"nothing", func(*desk, Commit) {}, []string{}},
		{"a record's byte", func(d *desk, _ Commit) { d.exec("UPDATE events SET actor = 'x' WHERE seq = 3 AND stream = " + ofA) },
			[]string{"loss record-damaged /agents/a"}},
		{"a record's payload", func(d *desk, _ Commit) {
			d.exec("UPDATE events SET payload = CAST(replace(payload, 'w', 'v') AS BLOB) WHERE seq = 3 AND stream = " + ofA)
		}, []string{"loss record-damaged /agents/a"}},
		{"a record", func(d *desk, _ Commit) { d.exec("DELETE FROM events WHERE seq = 3 AND stream = " + ofA) },
			[]string{"loss record-missing /agents/a"}},
		{"two records", func(d *desk, _ Commit) {
			d.exec("DELETE FROM events WHERE seq = 3 AND stream = " + ofA)
			d.exec("UPDATE events SET type = 'x' WHERE seq = 5 AND stream = " + ofA)
		}, []string{"loss record-damaged /agents/a", "loss record-missing /agents/a"}},
		{"the birth", func(d *desk, _ Commit) { d.exec("UPDATE events SET type = 'x' WHERE seq = 1 AND stream = " + ofA) },
			[]string{"loss record-damaged /agents/a"}},
		{"a content's byte", func(d *desk, _ Commit) {
			d.exec("UPDATE bodies SET content = CAST(replace(content, 'small', 'smell') AS BLOB) WHERE content = CAST(? AS BLOB)", smallText)
		}, []string{"loss content-damaged /agents/a", "loss content-damaged /agents/a"}},
		{"the end of a content", func(d *desk, _ Commit) {
			d.exec("UPDATE bodies SET content = substr(content, 1, 3) WHERE content = CAST(? AS BLOB)", smallText)
		}, []string{"loss content-damaged /agents/a", "loss content-damaged /agents/a"}},
		{"a content", func(d *desk, _ Commit) { d.exec("DELETE FROM bodies WHERE content = CAST(? AS BLOB)", smallText) },
			[]string{"loss content-missing /agents/a", "loss content-missing /agents/a"}},
		{"a content of the past", func(d *desk, _ Commit) { d.exec("DELETE FROM bodies WHERE content = CAST('committed' AS BLOB)") },
			[]string{"loss content-missing /agents/a"}},
		{"a file's byte", func(d *desk, _ Commit) { d.change(d.file(largeText), func(b []byte) []byte { b[100] ^= 1; return b }) },
			[]string{"loss content-damaged /agents/a", "loss content-damaged /agents/a"}},
		{"the end of a file", func(d *desk, _ Commit) {
			d.change(d.file(largeText), func(b []byte) []byte { return b[:len(b)-1] })
		}, []string{"loss content-damaged /agents/a", "loss content-damaged /agents/a"}},
		{"all of a file", func(d *desk, _ Commit) { d.change(d.file(largeText), func([]byte) []byte { return nil }) },
			[]string{"loss content-damaged /agents/a", "loss content-damaged /agents/a"}},
		{"a file", func(d *desk, _ Commit) { os.Remove(d.file(largeText)) },
			[]string{"loss content-missing /agents/a", "loss content-missing /agents/a"}},
		{"a checkpoint's byte", func(d *desk, _ Commit) {
			d.exec("UPDATE checkpoints SET state = CAST(replace(state, 's', 't') AS BLOB)")
		},
			[]string{"fault checkpoint-damaged /agents/a"}},
		{"another checkpoint", func(d *desk, _ Commit) {
			d.checkpoint(func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("small"), []byte("smell")) })
		}, []string{"fault checkpoint-wrong /agents/a"}},
		{"a checkpoint that is no state", func(d *desk, _ Commit) { d.checkpoint(func([]byte) []byte { return []byte("{") }) },
			[]string{"fault checkpoint-wrong /agents/a"}},
		{"a checkpoint beyond the end", func(d *desk, _ Commit) { d.exec("UPDATE checkpoints SET seq = 1000") },
			[]string{"fault checkpoint-wrong /agents/a"}},
		{"a copy of nothing", func(d *desk, _ Commit) {
			d.append("/", Event{Type: WorkspaceDeleted, Payload: []byte(`{"stream":"/agents/a","seq":3}`)})
		}, []string{"loss copy-wrong /"}},
		{"a copy of no stream", func(d *desk, _ Commit) {
			d.append("/", Event{Type: WorkspaceCreated, Payload: []byte(`{"stream":"/agents/none","seq":1}`)})
		}, []string{"loss copy-wrong /"}},
		{"a copy that cannot be read", func(d *desk, _ Commit) { d.append("/", Event{Type: RepoCreated, Payload: []byte(`[`)}) },
			[]string{"loss record-malformed /"}},
		{"no copy", func(d *desk, _ Commit) {
			d.append("/agents/b", Event{Type: WorkspaceCreated, Payload: []byte(`{"digest":""}`)})
		}, []string{"loss copy-missing /agents/b"}},
		{"a copy that differs", func(d *desk, _ Commit) { d.differingCopy() }, []string{"loss copy-wrong /"}},
		{"a record that cannot be read", func(d *desk, _ Commit) { d.append("/agents/a", Event{Type: WorkspaceChanged, Payload: []byte(`[`)}) },
			[]string{"loss record-malformed /agents/a"}},
		{"a newer record", func(d *desk, _ Commit) {
			d.append("/agents/a", Event{Type: WorkspaceChanged, Version: 2, Payload: []byte(`[`)})
		}, []string{"fault record-newer /agents/a"}},
		{"an entry that no record names", func(d *desk, _ Commit) {
			change := fmt.Sprintf(`{"op":"x","changes":[{"path":"/workspace/u","after":{"kind":"file","oid":"%s","size":7,"mode":33188}}]}`, blobID("unnamed"))
			d.append("/agents/a", Event{Type: WorkspaceChanged, Payload: []byte(change)}, Body{blobID("unnamed"), []byte("unnamed")})
		}, []string{"loss content-unnamed /agents/a"}},
		{"an entry of another size", func(d *desk, _ Commit) {
			change := fmt.Sprintf(`{"op":"x","changes":[{"path":"/workspace/u","after":{"kind":"file","oid":"%s","size":8,"mode":33188}}]}`, blobID("seven b"))
			d.append("/agents/a", Event{Type: WorkspaceChanged, Payload: []byte(change), Bodies: []OID{blobID("seven b")}}, Body{blobID("seven b"), []byte("seven b")})
		}, []string{"loss content-damaged /agents/a"}},
		{"a repository", func(d *desk, _ Commit) {
			os.Rename(filepath.Join(d.root, "app.git"), filepath.Join(d.root, "elsewhere"))
		},
			[]string{"loss repo-unreadable"}},
		{"a branch", func(d *desk, _ Commit) {
			d.git("app", "update-ref", "-d", "refs/heads/main")
			d.git("app", "symbolic-ref", "HEAD", "refs/heads/x")
		},
			[]string{"fault branch-missing"}},
		{"a branch's commit", func(d *desk, _ Commit) { d.point("refs/heads/main") }, []string{"loss commit-missing"}},
		{"a branch's name of a commit", func(d *desk, _ Commit) {
			d.change(filepath.Join(d.root, "app.git/refs/heads/main"), func([]byte) []byte { return []byte("no id\n") })
		}, []string{"loss repo-unreadable"}},
		{"a pin's commit", func(d *desk, _ Commit) {
			d.append("/agents/a", Event{Type: WorkspaceConfigured, Payload: []byte(`{"mounts":{"/repos/app":{"pin":"` + strings.Repeat("ab", 20) + `"}}}`)})
		}, []string{"loss commit-missing /agents/a"}},
		{"the ref that holds a work branch's commit", func(d *desk, c Commit) { d.git("app", "update-ref", "-d", d.keep(c)) },
			[]string{"fault keep-missing /agents/a"}},
		{"that ref, elsewhere", func(d *desk, c Commit) { d.git("app", "update-ref", d.keep(c), "refs/heads/main") },
			[]string{"fault keep-missing /agents/a"}},
		{"a work branch", func(d *desk, c Commit) { d.git("app", "branch", "-qD", c.Branch) }, []string{"fault branch-lost /agents/a"}},
		{"a work branch that was merged", func(d *desk, c Commit) {
			d.git("app", "update-ref", "refs/heads/main", c.Branch)
			d.git("app", "branch", "-qD", c.Branch)
		}, []string{}},
		{"a work branch and its ref", func(d *desk, c Commit) {
			d.git("app", "branch", "-qD", c.Branch)
			d.git("app", "update-ref", "-d", d.keep(c))
		}, []string{"fault branch-lost /agents/a", "loss keep-missing /agents/a"}},
		{"a work branch's commit", func(d *desk, c Commit) { d.point("refs/heads/" + c.Branch) },
			[]string{"fault branch-lost /agents/a", "loss commit-missing /agents/a"}},
		{"the commit of the ref that holds it", func(d *desk, c Commit) { d.point(d.keep(c)) },
			[]string{"fault keep-missing /agents/a", "loss commit-missing /agents/a"}},
		{"a ref of a deleted workspace", func(d *desk, _ Commit) { d.delete("/agents/a") }, []string{"leftover ref-left /agents/a"}},
		{"a ref of nobody", func(d *desk, _ Commit) { d.git("app", "update-ref", "refs/carrel/"+d.id+"/x", "refs/heads/main") },
			[]string{"leftover ref-left"}},
		{"another data directory's ref", func(d *desk, _ Commit) { d.git("app", "update-ref", "refs/carrel/other/x", "refs/heads/main") }, []string{}},
		{"a commit that a dead process left", func(d *desk, c Commit) {
			d.append("/agents/a", Event{Type: WorkspaceCommitting, Payload: []byte(`{"key":"k","mount":"/repos/app","repoPath":"/repos/app","branch":"main","commit":"` +
				c.Commit.String() + `","by":"1-0123456789abcdef"}`)})
		}, []string{"leftover commit-open /agents/a"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			c := d.furnish()
			test.damage(d, c)
			d.reopen()
			before := d.dump()
			if diff := cmp.Diff(test.want, d.found(Fsck{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, d.dump()); diff != "" {
				t.Errorf("fsck has changed something (-before +after):\n%s", diff)
			}
		})
	}
}

// point has a ref point at a commit that is not there.
func (d *desk) point(ref string) {
	d.t.Helper()
	d.change(filepath.Join(d.root, "app.git", ref), func([]byte) []byte { return []byte(strings.Repeat("ab", 20) + "\n") })
}

// keep is the ref that holds a commit on a work branch.
func (d *desk) keep(c Commit) string {
	return "refs/carrel/" + d.id + "/" + strings.TrimPrefix(c.Branch, "carrel/")
}

// differingCopy appends a repo's record and a copy that says something else.
func (d *desk) differingCopy() {
	d.t.Helper()
	original := Event{ID: "o", Type: RepoConfigured, Version: 1, Payload: []byte(`{"source":"/x","managed":false,"branch":"b","policy":"branch"}`)}
	twin := Event{ID: "o/copy", Type: RepoConfigured, Version: 1,
		Payload: []byte(`{"stream":"/repos/x","seq":1,"payload":{"source":"/y","managed":false,"branch":"b","policy":"nothing"}}`)}
	_, err := d.cfg.Store.Append(context.Background(),
		Batch{Stream: StreamID{Project: "p", Name: "/repos/x"}, Events: []Event{original}},
		Batch{Stream: StreamID{Project: "p", Name: "/"}, Last: Any, Events: []Event{twin}})
	if err != nil {
		d.t.Fatal(err)
	}
}

// dump is everything in the data directory and the repository that lasts: rows,
// files and refs.
func (d *desk) dump() map[string]string {
	d.t.Helper()
	db, err := sql.Open("sqlite3", filepath.Join(d.data, "carrel.db"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer db.Close()
	all := map[string]string{}
	for _, table := range []string{"streams", "events", "bodies", "checkpoints"} {
		all[table] = rowsOf(d.t, db, table)
	}
	files := crc32.NewIEEE()
	for _, top := range []string{filepath.Join(d.data, "blobs"), filepath.Join(d.data, "processes"), filepath.Join(d.root, "app.git")} {
		filepath.WalkDir(top, func(path string, e os.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				b, _ := os.ReadFile(path)
				fmt.Fprintf(files, "%s %x\n", path, b)
			}
			return nil
		})
	}
	all["files"] = fmt.Sprint(files.Sum32())
	return all
}

func rowsOf(t *testing.T, db *sql.DB, table string) string {
	t.Helper()
	rows, err := db.Query("SELECT * FROM " + table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	sum := crc32.NewIEEE()
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			fmt.Fprintf(sum, "%v|", *v.(*any))
		}
	}
	return fmt.Sprint(sum.Sum32())
}
