package crash

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"carrel.dev/conformance"
)

// desk is a workspace that one client alone changes, one call after the other, so
// that what it holds is known: what was acknowledged, and at most one call more.
type desk struct {
	ws, dir string // its directory in each mount, which nobody else touches
	random  *rand.Rand
	n       int // calls so far

	files   map[string]string            // contents by path
	landed  map[string]map[string]string // contents by path, by mount, as last committed
	branch  map[string]string            // that a mount's commits go to, by mount
	moved   map[string]bool              // the mounts whose branch was not looked at since
	commits map[string]string            // ids by message, of acknowledged commits
	open    *change                      // asked for and not answered
	used    map[string]bool              // the keys of acknowledged calls
}

// change is a call and what it does to the model.
type change struct {
	call  call
	files map[string]string // contents by path, "" for a file that goes
	mount string            // of a commit
}

// The mounts of a desk, one inside another, and where a workspace keeps what it
// never commits.
const (
	appMount    = "/repos/app"
	nestedMount = "/repos/app/vendor/nested"
	libMount    = "/repos/lib" // commits go to a work branch
	scratch     = "/workspace"
)

var mountPoints = []string{appMount, nestedMount, libMount}

// repoOf is the repository of a mount.
func repoOf(mount string) string { return mount[strings.LastIndex(mount, "/")+1:] }

// openDesk makes the workspace. What earlier ones of the same client committed
// to shared branches is there.
func (d *desk) openDesk(ctx context.Context, s conformance.Session, ws string) error {
	d.ws, d.files = ws, map[string]string{}
	d.landed[libMount] = map[string]string{} // on a new work branch
	for _, m := range mountPoints {
		maps.Copy(d.files, d.landed[m])
	}
	d.branch = map[string]string{appMount: "main", nestedMount: "main"}
	d.used = map[string]bool{}
	return try(ctx, s, call{Tool: "workspace.create", Args: args{"path": ws, "mounts": args{
		nestedMount: args{"repoPath": "/repos/nested", "policy": "commit-to-main"},
	}}}, nil)
}

func newDesk(dir string, random *rand.Rand) *desk {
	d := &desk{dir: dir, random: random, landed: map[string]map[string]string{}, moved: map[string]bool{}, commits: map[string]string{}}
	for _, m := range mountPoints {
		d.landed[m] = map[string]string{}
	}
	return d
}

// paths are all that the desk ever writes.
func (d *desk) paths() []string {
	var list []string
	for _, at := range []string{appMount, nestedMount, libMount, scratch} {
		for _, name := range []string{"a", "b", "sub/c", "sub/d"} {
			list = append(list, at+"/"+d.dir+"/"+name)
		}
	}
	return list
}

func (d *desk) pick(from []string) string { return from[d.random.IntN(len(from))] }

// next chooses a call. Each has an effect that a second time would show.
func (d *desk) next() *change {
	d.n++
	c := d.choose()
	if c == nil {
		c = d.write("writeFile", 40)
	}
	c.call.Key = fmt.Sprintf("%s.%d", d.dir, d.n)
	c.call.Args["workspace"] = d.ws
	return c
}

func (d *desk) choose() *change {
	there := slices.Sorted(maps.Keys(d.files))
	switch n := d.random.IntN(100); {
	case n < 30:
		return d.write("writeFile", 40)
	case n < 34:
		return d.write("writeFile", 300<<10) // a file of its own
	case n < 60 && len(there) > 0:
		return d.changeOne(n, d.pick(there))
	case n < 72:
		return d.batch(there)
	case n < 76:
		return d.removeDir(there)
	case n < 100:
		return d.commit()
	}
	return nil
}

// content is one that nobody else writes.
func (d *desk) content(size int) string {
	line := fmt.Sprintf("%s.%d\n", d.dir, d.n)
	return strings.Repeat(line, 1+size/len(line)) + "end\n"
}

func (d *desk) write(op string, size int) *change {
	path, content := d.pick(d.paths()), d.content(size)
	return &change{call{Tool: op, Args: args{"path": path, "content": content}}, map[string]string{path: content}, ""}
}

// changeOne edits, deletes or moves a file.
func (d *desk) changeOne(n int, path string) *change {
	switch n % 3 {
	case 0:
		content := strings.Replace(d.files[path], "end\n", fmt.Sprintf("%d\nend\n", d.n), 1)
		return &change{
			call{Tool: "edit", Args: args{"path": path, "oldString": "end\n", "newString": fmt.Sprintf("%d\nend\n", d.n)}},
			map[string]string{path: content}, "",
		}
	case 1:
		return &change{call{Tool: "deleteFile", Args: args{"path": path}}, map[string]string{path: ""}, ""}
	}
	to := d.pick(d.paths())
	if to == path {
		return nil
	}
	return &change{
		call{Tool: "mv", Args: args{"from": path, "to": to, "overwrite": true}},
		map[string]string{path: "", to: d.files[path]}, "",
	}
}

// batch writes several files in several mounts and deletes one.
func (d *desk) batch(there []string) *change {
	c := &change{call{Tool: "batch"}, map[string]string{}, ""}
	var items []args
	for _, size := range []int{40, 40, 270 << 10} {
		w := d.write("writeFile", size)
		w.call.Args["op"] = "writeFile"
		items = append(items, w.call.Args)
		maps.Copy(c.files, w.files)
	}
	if len(there) > 0 {
		path := d.pick(there)
		items = append(items, args{"op": "deleteFile", "path": path})
		c.files[path] = ""
	}
	c.call.Args = args{"changes": items}
	return c
}

// removeDir deletes a directory with what is in it.
func (d *desk) removeDir(there []string) *change {
	for _, path := range there {
		dir, _, ok := strings.Cut(path, "/sub/")
		if !ok {
			continue
		}
		c := &change{call{Tool: "deleteFile", Args: args{"path": dir + "/sub", "recursive": true}}, map[string]string{}, ""}
		for _, p := range there {
			if strings.HasPrefix(p, dir+"/sub/") {
				c.files[p] = ""
			}
		}
		return c
	}
	return nil
}

// commit commits a mount that has changes.
func (d *desk) commit() *change {
	for _, i := range d.random.Perm(len(mountPoints)) {
		m := mountPoints[i]
		if !maps.Equal(d.within(m), d.landed[m]) {
			message := fmt.Sprintf("%s %d", d.dir, d.n)
			return &change{call{Tool: "git.commit", Args: args{"scope": m, "message": message}}, nil, m}
		}
	}
	return nil
}

// within are the files of a mount.
func (d *desk) within(mount string) map[string]string {
	in := map[string]string{}
	for p, content := range d.files {
		if strings.HasPrefix(p, mount+"/"+d.dir+"/") {
			in[p] = content
		}
	}
	return in
}

// ask makes a call. While it is not answered it stays open.
func (d *desk) ask(ctx context.Context, s conformance.Session, c *change) error {
	d.open = c
	var facts struct{ Branch, Commit string }
	if err := try(ctx, s, c.call, &facts); err != nil {
		return err
	}
	d.open = nil
	d.used[c.call.Key] = true
	for p, content := range c.files {
		if d.files[p] = content; content == "" {
			delete(d.files, p)
		}
	}
	if c.mount != "" {
		d.landed[c.mount] = d.within(c.mount)
		d.branch[c.mount], d.moved[c.mount] = facts.Branch, true
		d.commits[c.call.Args["message"].(string)] = facts.Commit
	}
	return nil
}

// blob is the git id of a content, "" for that of none.
func blob(content string) string {
	if content == "" {
		return ""
	}
	sum := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(content), content))
	return hex.EncodeToString(sum[:])
}

// check holds what a process sees against the model. The open call has happened
// whole or not at all.
func (d *desk) check(ctx context.Context, s conformance.Session) error {
	happened, not := 0, 0
	for _, p := range d.paths() {
		got, err := version(ctx, s, d.ws, p)
		if err != nil {
			return err
		}
		want := blob(d.files[p])
		also := want
		if d.open != nil {
			if content, ok := d.open.files[p]; ok {
				also = blob(content)
			}
		}
		switch {
		case got != want && got != also:
			return fmt.Errorf("%s in %s is %q, want %q, open %v", p, d.ws, got, want, d.open)
		case got != want:
			happened++
		case got != also:
			not++
		}
	}
	if happened > 0 && not > 0 {
		return fmt.Errorf("in %s a call was done by half: %v", d.ws, d.open.call)
	}
	return nil
}

// checkLanded holds what branches have against the model: all, or those that were
// committed to since the last time. No call is open.
func (d *desk) checkLanded(p *place, all bool) error {
	for _, m := range mountPoints {
		if d.branch[m] == "" || !all && !d.moved[m] {
			continue // nothing is committed
		}
		d.moved[m] = false
		lines, err := p.lines(repoOf(m), "ls-tree", "-r", d.branch[m], "--", d.dir+"/")
		if err != nil {
			return err
		}
		got := map[string]string{}
		for _, line := range lines {
			entry, path, _ := strings.Cut(line, "\t")
			got[m+"/"+path] = strings.Fields(entry)[2]
		}
		want := map[string]string{}
		for path, content := range d.landed[m] {
			want[path] = blob(content)
		}
		if !maps.Equal(got, want) {
			return fmt.Errorf("%s has %v below %s, want %v", d.branch[m], got, m, want)
		}
	}
	return nil
}

// checkRecords finds each acknowledged call once in the workspace's stream.
func (d *desk) checkRecords(p *place) error {
	seen := map[string]int{}
	records, err := p.records(d.ws)
	if err != nil {
		return err
	}
	for _, r := range records {
		if r.Key != "" {
			seen[r.Key]++
		}
	}
	for key := range d.used {
		if seen[key] != 1 {
			return fmt.Errorf("key %s stands %d times in the stream of %s", key, seen[key], d.ws)
		}
	}
	if len(seen) != len(d.used) {
		return fmt.Errorf("%s has %d keys in its stream, and %d were acknowledged", d.ws, len(seen), len(d.used))
	}
	return nil
}
