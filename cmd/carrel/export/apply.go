package export

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"

	"carrel.dev/workspace"
)

// tempPrefix begins the names of files that are being written.
const tempPrefix = ".carrel-export-"

// apply carries the plan out.
func (p *plan) apply(ctx context.Context, v View) (Report, error) {
	if err := p.announce(); err != nil {
		return Report{}, err
	}
	if err := p.clear(); err != nil {
		return Report{}, err
	}
	for _, name := range p.mkdirs {
		if err := p.root.Mkdir(name, 0o777); err != nil {
			return Report{}, err
		}
	}
	done := &manifest{What: p.what, Entries: p.kept}
	report := Report{Written: len(p.writes), Removed: len(p.removes), Unchanged: len(p.kept)}
	for _, name := range p.writes {
		e, err := p.write(ctx, v, name)
		if err != nil {
			return Report{}, err
		}
		done.Entries[name] = e
	}
	for name, f := range p.want {
		if n := nodeOf(f); n.isDir() {
			done.Entries[name] = entry{node: n}
		}
	}
	return report, done.save(p.root)
}

// announce notes in the manifest what is about to change, so that after a crash
// the traces of this run are known as such.
func (p *plan) announce() error {
	if len(p.writes)+len(p.mkdirs)+len(p.removes)+len(p.rmdirs) == 0 {
		return nil
	}
	m := &manifest{What: p.what, Entries: maps.Clone(p.old.Entries)}
	for name, e := range p.kept {
		m.Entries[name] = e
	}
	for _, name := range slices.Concat(p.mkdirs, p.writes) {
		e := m.Entries[name]
		if n := nodeOf(p.want[name]); !e.ours(n) {
			e.Next = append(e.Next[:len(e.Next):len(e.Next)], n)
		}
		m.Entries[name] = e
	}
	return m.save(p.root)
}

// clear takes away what the view does not have, or has as something else.
func (p *plan) clear() error {
	for _, name := range p.removes {
		if err := p.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	deepestFirst(p.rmdirs)
	for _, name := range p.rmdirs {
		err := p.root.Remove(name)
		if err != nil && p.inTheWay(name) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// write puts a file or link of the view in its place.
func (p *plan) write(ctx context.Context, v View, name string) (entry, error) {
	if err := ctx.Err(); err != nil {
		return entry{}, err
	}
	f := p.want[name]
	content, err := v.Content(ctx, f)
	if err != nil {
		return entry{}, err
	}
	n := nodeOf(f)
	info, err := replace(p.root, name, n, content)
	if err != nil {
		return entry{}, err
	}
	return p.entry(n, info), nil
}

// replace makes a file or link under another name and renames it over what is
// there.
func replace(root *os.Root, name string, n node, content []byte) (fs.FileInfo, error) {
	temp := path.Join(path.Dir(name), tempPrefix+rand.Text())
	err := create(root, temp, n, content)
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		root.Remove(temp)
		return nil, err
	}
	return root.Lstat(name)
}

// create makes a new file or link.
func create(root *os.Root, name string, n node, content []byte) error {
	switch n.Mode {
	case workspace.ModeSymlink:
		return root.Symlink(string(content), name)
	case workspace.ModeFile:
		return root.WriteFile(name, content, 0o666)
	case workspace.ModeExecutable:
		return root.WriteFile(name, content, 0o777)
	}
	return fmt.Errorf("%s: a node of mode %o is not a file", name, n.Mode)
}
