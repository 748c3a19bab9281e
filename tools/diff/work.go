package diff

// work is what one call may still spend. The figures keep it near a second on
// contents made to be slow.
type work struct {
	steps int // comparisons of lines in search of the smallest difference
	lines int // lines that such a search is given
	bytes int // contents read to be shown or counted

	renameBytes int // contents read in search of renames
	renameSteps int // comparisons of their parts

	uncounted      int  // files whose lines are not counted
	renamesBounded bool // some files were not compared in search of renames
}

func newWork() *work {
	return &work{
		steps: 40_000_000, lines: 1_000_000, bytes: 128 << 20,
		renameBytes: 32 << 20, renameSteps: 50_000_000,
	}
}

// smallRead is what reading a content costs at least, however short it is.
const smallRead = 8 << 10

// takeLines reports whether n lines may still be searched, and takes them.
func (w *work) takeLines(n int) bool {
	if n > w.lines {
		return false
	}
	w.lines -= n
	return true
}
