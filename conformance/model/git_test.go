package model

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"carrel.dev/workspace"
)

// repository is a bare repository on disk. It is written to as git's plumbing
// does, with objects in files of their own, and read by git itself.
type repository struct {
	dir    string
	reader *exec.Cmd // git cat-file --batch
	in     io.WriteCloser
	out    *bufio.Reader
	trees  map[string]files // those that git has read, by id

	deflate *zlib.Writer
}

func newRepository(dir string) (*repository, error) {
	z, err := zlib.NewWriterLevel(nil, zlib.NoCompression)
	if err != nil {
		return nil, err
	}
	r := &repository{dir: dir, trees: map[string]files{}, deflate: z}
	if _, err := r.git("init", "--quiet", "--bare", "--template=", "--initial-branch=main", dir); err != nil {
		return nil, err
	}
	r.reader = exec.Command("git", "-C", dir, "cat-file", "--batch")
	r.reader.Env = hermetic()
	if r.in, err = r.reader.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := r.reader.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.out = bufio.NewReader(out)
	return r, r.reader.Start()
}

func (r *repository) close() error {
	return errors.Join(r.in.Close(), r.reader.Wait())
}

func hermetic() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.fsync", "GIT_CONFIG_VALUE_0=none",
	}
}

// git runs git in the repository, or where it will be.
func (r *repository) git(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Env = hermetic()
	if _, err := os.Stat(r.dir); err == nil {
		cmd.Dir = r.dir
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), err
}

// object writes an object.
func (r *repository) object(kind string, body []byte) (workspace.OID, error) {
	raw := append(fmt.Appendf(nil, "%s %d\x00", kind, len(body)), body...)
	id := workspace.OID(sha1.Sum(raw))
	digits := id.String()
	name := filepath.Join(r.dir, "objects", digits[:2], digits[2:])
	if _, err := os.Stat(name); err == nil {
		return id, nil
	}
	var b bytes.Buffer
	r.deflate.Reset(&b)
	r.deflate.Write(raw)
	r.deflate.Close()
	return id, replace(name, b.Bytes())
}

// replace writes a file under another name first.
func replace(name string, content []byte) error {
	err := os.MkdirAll(filepath.Dir(name), 0o777)
	if err == nil {
		err = os.WriteFile(name+".tmp", content, 0o666)
	}
	if err == nil {
		err = os.Rename(name+".tmp", name)
	}
	return err
}

// tree writes a tree with all below it.
func (r *repository) tree(f files) (workspace.OID, error) {
	type item struct {
		key, name string
		mode      workspace.Mode
		id        workspace.OID
	}
	var items []item
	done := map[string]bool{}
	for p, n := range f {
		name, _, deep := strings.Cut(p, "/")
		if done[name] {
			continue
		}
		done[name] = true
		it := item{name, name, n.mode, n.id()}
		var err error
		if deep {
			it.key, it.mode = name+"/", workspace.ModeDir
			it.id, err = r.tree(f.under(name))
		} else {
			_, err = r.object("blob", []byte(n.text))
		}
		if err != nil {
			return workspace.OID{}, err
		}
		items = append(items, it)
	}
	slices.SortFunc(items, func(a, b item) int { return strings.Compare(a.key, b.key) })
	var b bytes.Buffer
	for _, it := range items {
		fmt.Fprintf(&b, "%o %s\x00%s", uint32(it.mode), it.name, it.id[:])
	}
	return r.object("tree", b.Bytes())
}

// commit writes a commit; its id is set.
func (r *repository) commit(c *commit, when int64) error {
	tree, err := r.tree(c.files)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "tree %s\n", tree)
	for _, p := range c.parents {
		fmt.Fprintf(&b, "parent %s\n", p.id)
	}
	for _, role := range []string{"author", "committer"} {
		fmt.Fprintf(&b, "%s Ann Other <ann@example.com> %d +0000\n", role, when)
	}
	fmt.Fprintf(&b, "\noutside\n")
	c.id, err = r.object("commit", b.Bytes())
	return err
}

// point makes a branch point at a commit, or removes it.
func (r *repository) point(branch string, c *commit) error {
	if c == nil {
		_, err := r.git("update-ref", "-d", "refs/heads/"+branch)
		return err
	}
	return replace(filepath.Join(r.dir, "refs", "heads", branch), []byte(c.id.String()+"\n"))
}

// read asks git for an object; ok is false if there is none.
func (r *repository) read(name string) (id, kind string, body []byte, ok bool, err error) {
	if _, err := fmt.Fprintln(r.in, name); err != nil {
		return "", "", nil, false, err
	}
	head, err := r.out.ReadString('\n')
	if err != nil {
		return "", "", nil, false, err
	}
	var size int
	if _, err := fmt.Sscanf(head, "%s %s %d", &id, &kind, &size); err != nil {
		return "", "", nil, false, nil // missing
	}
	body = make([]byte, size+1)
	_, err = io.ReadFull(r.out, body)
	return id, kind, body[:size], true, err
}

// branch is where a branch is, as git reads it, with its whole tree.
func (r *repository) branch(name string) (id string, f files, parents []string, err error) {
	id, _, body, ok, err := r.read("refs/heads/" + name)
	if err != nil || !ok {
		return "", nil, nil, err
	}
	var tree string
	for line := range strings.Lines(string(body)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch key {
		case "tree":
			tree = value
		case "parent":
			parents = append(parents, value)
		case "":
			f, err = r.files(tree)
			return id, f, parents, err
		}
	}
	return id, nil, nil, fmt.Errorf("commit %s has no end", id)
}

func (r *repository) files(tree string) (files, error) {
	if f, ok := r.trees[tree]; ok {
		return f, nil
	}
	_, _, body, ok, err := r.read(tree)
	if err != nil || !ok {
		return nil, fmt.Errorf("git has no tree %s: %v", tree, err)
	}
	f := files{}
	for len(body) > 0 {
		entry, rest, _ := bytes.Cut(body, []byte{0})
		id := hex.EncodeToString(rest[:20])
		body = rest[20:]
		var mode workspace.Mode
		var name string
		if _, err := fmt.Sscanf(string(entry), "%o %s", &mode, &name); err != nil {
			return nil, err
		}
		if mode == workspace.ModeDir {
			sub, err := r.files(id)
			if err != nil {
				return nil, err
			}
			for p, n := range sub {
				f[name+"/"+p] = n
			}
			continue
		}
		_, _, text, ok, err := r.read(id)
		if err != nil || !ok {
			return nil, fmt.Errorf("git has no blob %s: %v", id, err)
		}
		f[name] = node{mode, string(text)}
	}
	r.trees[tree] = f
	return f, nil
}
