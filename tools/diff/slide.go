package diff

import "slices"

// maxSlide bounds how far a region moves, in lines.
const maxSlide = 200

// slide makes the difference easier to read without making it another one. A
// region that only removes or only inserts can move down a line if its first
// line equals the one after it, and up likewise; which of these places the
// search finds is an accident. Regions that meet when they move become one, and
// then each is moved to where it looks most like something whole.
func (c *comparison) slide() {
	var joined []region
	rest := c.regions
	for len(rest) > 0 {
		r := rest[0]
		rest = rest[1:]
		for again := true; again; {
			last := len(joined) - 1
			switch {
			case last >= 0 && c.slides(r, joined[last].b1-r.b0):
				up := joined[last].b1 - r.b0
				r = region{joined[last].a0, r.a1 + up, joined[last].b0, r.b1 + up}
				joined = joined[:last]
			case len(rest) > 0 && c.slides(r, rest[0].b0-r.b1):
				down := rest[0].b0 - r.b1
				r = region{r.a0 + down, rest[0].a1, r.b0 + down, rest[0].b1}
				rest = rest[1:]
			default:
				again = false
			}
		}
		joined = append(joined, r)
	}
	c.regions = joined
	c.settle()
}

// slides reports whether a region can move by some lines, not too many.
func (c *comparison) slides(r region, by int) bool {
	list, from, to := c.new.list, r.b0, r.b1
	if r.b0 == r.b1 {
		list, from, to = c.old.list, r.a0, r.a1
	} else if r.a0 != r.a1 {
		return false
	}
	if by < 0 {
		from, to, by = from+by, to+by, -by
	}
	return by <= maxSlide && slices.Equal(list[from:from+by], list[to:to+by])
}

// settle moves each region to its best place, where it still meets no other.
func (c *comparison) settle() {
	for i, r := range c.regions {
		above, below := region{a1: -1, b1: -1}, region{a0: len(c.old.list) + 1, b0: len(c.new.list) + 1}
		if i > 0 {
			above = c.regions[i-1]
		}
		if i+1 < len(c.regions) {
			below = c.regions[i+1]
		}
		switch {
		case r.a0 == r.a1:
			c.regions[i].move(bestMove(c.new.list[:below.b0-1], r.b0, r.b1, above.b1+1))
		case r.b0 == r.b1:
			c.regions[i].move(bestMove(c.old.list[:below.a0-1], r.a0, r.a1, above.a1+1))
		}
	}
}

// bestMove returns by how many lines the block of lines from one position to
// before another moves down best, or up if that is negative, but not above top.
// Of equally good places it is the lowest.
func bestMove(list []string, from, to, top int) int {
	lo, hi := 0, 0
	for lo > -maxSlide && from+lo > top && list[from+lo-1] == list[to+lo-1] {
		lo--
	}
	for hi < maxSlide && to+hi < len(list) && list[from+hi] == list[to+hi] {
		hi++
	}
	best, least := 0, 0
	for by := lo; by <= hi && lo < hi; by++ {
		if bad := badness(list, from+by) + badness(list, to+by); by == lo || bad <= least {
			best, least = by, bad
		}
	}
	return best
}

// badness says how little the place before a line looks like the start of
// something: how far the next text is indented, whether it closes what the lines
// above opened, and whether there is no blank line between.
func badness(list []string, i int) int {
	switch i {
	case 0:
		return 0
	case len(list):
		return -3
	}
	above, blankAbove := indentation(list[i-1])
	here, blank := indentation(list[i])
	for j := i + 1; j < min(i+5, len(list)) && blank; j++ {
		here, blank = indentation(list[j])
	}
	_, blank = indentation(list[i])
	switch {
	case blank:
		return 10*here + 2
	case blankAbove:
		return 10 * here
	case above > here:
		return 10*here + 12
	}
	return 10*here + 5
}

// indentation returns the width of the white space before a line's text, and
// whether there is no text.
func indentation(line string) (width int, blank bool) {
	for _, c := range []byte(line[:min(len(line), 256)]) {
		switch c {
		case ' ':
			width++
		case '\t':
			width += 8 - width%8
		case '\r', '\n':
		default:
			return width, false
		}
	}
	return 0, true
}
