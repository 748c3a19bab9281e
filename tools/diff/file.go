package diff

import (
	"bytes"
	"context"

	"carrel.dev/workspace"
)

// file prints one pair and sums it up.
func (d *differ) file(ctx context.Context, p pair) (File, error) {
	f := File{Path: p.path(), Change: p.kind()}
	if err := ctx.Err(); err != nil {
		return f, err
	}
	sections := []pair{p}
	switch f.Change {
	case Renamed:
		f.From = p.Old.Path
	case TypeChange: // as git shows it
		sections = []pair{{Change: Change{Old: p.Old}}, {Change: Change{New: p.New}}}
	}
	shown := true
	for _, s := range sections {
		ok, err := d.section(ctx, s, &f)
		if err != nil {
			return f, err
		}
		shown = shown && ok
	}
	if !shown {
		d.out.left++
	}
	if f.Uncounted {
		d.work.uncounted++
	}
	if f.Uncounted || f.Binary {
		f.Insertions, f.Deletions = 0, 0
	}
	return f, nil
}

// section prints a pair that is no change of type, if there is room, and adds
// its numbers to f.
func (d *differ) section(ctx context.Context, p pair, f *File) (shown bool, err error) {
	if p.Old != nil && p.New != nil && p.Old.OID == p.New.OID {
		return d.out.section(p.header()), nil
	}
	if d.work.bytes <= 0 {
		d.out.full, f.Uncounted = true, true
		return false, nil
	}
	a, err := d.read(ctx, p.Old)
	if err != nil {
		return false, err
	}
	b, err := d.read(ctx, p.New)
	if err != nil {
		return false, err
	}
	if isBinary(a) || isBinary(b) {
		f.Binary = true
		old, new := p.sides()
		return d.out.section(p.header() + "Binary files " + old + " and " + new + " differ\n"), nil
	}
	c := compare(a, b, d.context, d.work)
	f.Insertions += c.insertions
	f.Deletions += c.deletions
	return d.print(p, c), nil
}

// print writes a section with as many hunks as there is room for, if there is
// room for any.
func (d *differ) print(p pair, c *comparison) (shown bool) {
	if !d.out.section(p.header()) {
		return false
	}
	if changed := c.insertions + c.deletions; changed > maxChangedLines {
		d.out.lack("[%d changed lines are more than %d: hunks left out]\n", changed, maxChangedLines)
		return true
	}
	old, new := p.sides()
	names := "--- " + tabbed(old) + "\n+++ " + tabbed(new) + "\n"
	hunks := c.hunks(d.context)
	for i, h := range hunks {
		if !d.out.fits(len(names) + c.size(h)) {
			d.out.lack("[%d of %d hunks left out: the text is bounded to %d bytes]\n", len(hunks)-i, len(hunks), d.out.max)
			break
		}
		d.out.text.WriteString(names)
		names = ""
		c.write(&d.out.text, h)
	}
	if c.coarse {
		d.out.note("[not the smallest difference: the two versions differ in too many places]\n")
	}
	return true
}

// read returns the content of a side, none of an absent one.
func (d *differ) read(ctx context.Context, s *Side) ([]byte, error) {
	if s == nil {
		return nil, nil
	}
	content, err := s.content(ctx)
	d.work.bytes -= max(len(content), smallRead)
	return content, err
}

// content returns what git compares of a file.
func (s *Side) content(ctx context.Context) ([]byte, error) {
	if s.Mode.Kind() == workspace.Submodule {
		return []byte("Subproject commit " + s.OID.String() + "\n"), nil
	}
	return s.Read(ctx)
}

// isBinary reports whether git takes content for binary: it has a NUL early.
func isBinary(content []byte) bool {
	const looked = 8000
	return bytes.IndexByte(content[:min(len(content), looked)], 0) >= 0
}
