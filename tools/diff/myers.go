package diff

// Bounds on the search for the smallest difference.
const (
	minCutoff = 256 // edits after which a search goes on from where it is best
)

// script marks in two sequences of line numbers what is not common to both.
type script struct {
	a, b              []int32
	removed, inserted []bool // by position in a and b
	forward, backward []int  // furthest x by diagonal, shifted by origin
	origin            int
	cutoff            int
	steps             *int // what may still be spent, shared by a whole call
	gaveUp            bool // the steps ended, and something was marked unseen
}

// mark finds the difference of a and b and marks it in removed and inserted.
func mark(a, b []int32, removed, inserted []bool, steps *int) (gaveUp bool) {
	n := len(a) + len(b) + 3
	s := &script{
		a: a, b: b, removed: removed, inserted: inserted, steps: steps,
		forward: make([]int, n), backward: make([]int, n), origin: len(b) + 1,
		cutoff: minCutoff,
	}
	for s.cutoff*s.cutoff < n {
		s.cutoff *= 2
	}
	s.box(0, len(a), 0, len(b))
	return s.gaveUp
}

// box compares a[a0:a1] with b[b0:b1].
func (s *script) box(a0, a1, b0, b1 int) {
	for {
		for a0 < a1 && b0 < b1 && s.a[a0] == s.b[b0] {
			a0, b0 = a0+1, b0+1
		}
		for a0 < a1 && b0 < b1 && s.a[a1-1] == s.b[b1-1] {
			a1, b1 = a1-1, b1-1
		}
		if a0 == a1 || b0 == b1 {
			break
		}
		x, y, ok := s.middle(a0, a1, b0, b1)
		if !ok {
			s.gaveUp = true
			break
		}
		// Recursing into the smaller half keeps the stack low.
		if x-a0+y-b0 < a1-x+b1-y {
			s.box(a0, x, b0, y)
			a0, b0 = x, y
		} else {
			s.box(x, a1, y, b1)
			a1, b1 = x, y
		}
	}
	for i := a0; i < a1; i++ {
		s.removed[i] = true
	}
	for i := b0; i < b1; i++ {
		s.inserted[i] = true
	}
}

// front is how far a search came in one direction: the diagonals lo to hi, every
// other one.
type front struct {
	reach  []int
	lo, hi int
}

// widen moves on to the diagonals of one edit more, within the box's. What has
// not been reached is at none.
func (f *front) widen(first, last, origin, none int) {
	if f.lo > first {
		f.lo--
		f.reach[f.lo-1+origin] = none
	} else {
		f.lo++
	}
	if f.hi < last {
		f.hi++
		f.reach[f.hi+1+origin] = none
	} else {
		f.hi--
	}
}

// has reports whether the front is defined on a diagonal.
func (f *front) has(k int) bool { return f.lo <= k && k <= f.hi }

// middle returns a place in the box that a smallest path leads through, neither
// its first nor its last one, by searching from both ends at once: E. Myers, An
// O(ND) Difference Algorithm and Its Variations, section 4b. The box begins and
// ends with a difference. Past the cutoff the place is the furthest one; if the
// steps are spent there is none.
func (s *script) middle(a0, a1, b0, b1 int) (x, y int, ok bool) {
	first, last := a0-b1, a1-b0
	fwd := &front{s.forward, a0 - b0, a0 - b0}
	bwd := &front{s.backward, a1 - b1, a1 - b1}
	fwd.reach[fwd.lo+s.origin], bwd.reach[bwd.lo+s.origin] = a0, a1
	odd := (fwd.lo-bwd.lo)&1 != 0
	for cost := 1; *s.steps > 0; cost++ {
		fwd.widen(first, last, s.origin, -1)
		for k := fwd.hi; k >= fwd.lo; k -= 2 {
			x = max(s.forward[k-1+s.origin]+1, s.forward[k+1+s.origin])
			from := x
			for y = x - k; x < a1 && y < b1 && s.a[x] == s.b[y]; x, y = x+1, y+1 {
			}
			s.forward[k+s.origin] = x
			*s.steps -= x - from + 1
			if odd && bwd.has(k) && s.backward[k+s.origin] <= x {
				return x, y, true
			}
		}
		bwd.widen(first, last, s.origin, len(s.a)+1)
		for k := bwd.hi; k >= bwd.lo; k -= 2 {
			x = min(s.backward[k-1+s.origin], s.backward[k+1+s.origin]-1)
			from := x
			for y = x - k; x > a0 && y > b0 && s.a[x-1] == s.b[y-1]; x, y = x-1, y-1 {
			}
			s.backward[k+s.origin] = x
			*s.steps -= from - x + 1
			if !odd && fwd.has(k) && x <= s.forward[k+s.origin] {
				return x, y, true
			}
		}
		if cost >= s.cutoff {
			x, y = s.furthest(fwd, bwd, a0, a1, b0, b1)
			return x, y, true
		}
	}
	return 0, 0, false
}

// furthest returns the place in the box that either search came furthest to.
func (s *script) furthest(fwd, bwd *front, a0, a1, b0, b1 int) (x, y int) {
	most := -1
	for k := fwd.lo; k <= fwd.hi; k += 2 {
		fx := min(s.forward[k+s.origin], a1, b1+k)
		if gone := fx - a0 + fx - k - b0; fx >= a0 && fx-k >= b0 && gone > most {
			most, x, y = gone, fx, fx-k
		}
	}
	for k := bwd.lo; k <= bwd.hi; k += 2 {
		bx := max(s.backward[k+s.origin], a0, b0+k)
		if gone := a1 - bx + b1 - (bx - k); bx <= a1 && bx-k <= b1 && gone > most {
			most, x, y = gone, bx, bx-k
		}
	}
	return x, y
}
