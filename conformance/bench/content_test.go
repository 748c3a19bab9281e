package bench

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
)

// spec says what a repository is made of. Everything follows from the seed.
type spec struct {
	name        string
	seed        uint64
	files, dirs int
	least, most int // bytes of a file
	commits     int // after the first one, each of which changes a few files
	// noise, if not 0, makes a repository of one commit with so many bytes of
	// packed content that hardly compresses.
	noise int
}

// dice are random numbers that are the same in every version of Go.
type dice struct{ *rand.PCG }

func roll(seed, nth uint64) dice { return dice{rand.NewPCG(seed, nth)} }

// n is a number below k.
func (d dice) n(k int) int { return int(d.Uint64() % uint64(k)) }

// low is a number below k, more often a low one.
func (d dice) low(k int) int { return d.n(k) * d.n(1<<10) >> 10 }

// word is one of some thousand.
func (d dice) word() string {
	const syllables = "arbecodifeguhajikelumanopeqirasotuvawexyzo"
	word := make([]byte, 0, 12)
	for x := d.low(20_000) + 30; x > 0; x /= 21 {
		at := x % 21 * 2
		word = append(word, syllables[at:at+2]...)
	}
	return string(word)
}

// directories are those that have files, at depths from 2 to 5.
func (s *spec) directories() []string {
	d := roll(s.seed, 1<<40)
	all := []string{"harness/core", "test/annexB", "test/built-ins", "test/intl402", "test/language"}
	for i := len(all); i < s.dirs; i++ {
		parent := all[d.n(len(all))]
		for strings.Count(parent, "/") >= 4 {
			parent = all[d.n(len(all))]
		}
		all = append(all, fmt.Sprintf("%s/%s%d", parent, d.word(), i))
	}
	return all
}

// endings are those of file names, the frequent ones more than once.
var endings = [16]string{
	"js", "js", "js", "js", "js", "js", "js", "js", "js", "js", "mjs", "mjs", "json", "md", "yml", "html",
}

// file is one of the repository.
type file struct {
	path string
	nth  int
	dir  int // the number of its directory
}

// list is all files. Every directory that has files has an index.js. The names in
// one end alike, by which git finds what is alike.
func (s *spec) list() []file {
	d, dirs := roll(s.seed, 1<<41), s.directories()
	indexed := make([]bool, len(dirs))
	all := make([]file, s.files)
	for i := range all {
		dir := d.low(len(dirs))
		topic := roll(s.seed, 1<<52|uint64(dir))
		name := fmt.Sprintf("%s-%d-%s-%s.%s", d.word(), i, topic.word(), topic.word(), endings[d.n(len(endings))])
		if !indexed[dir] {
			indexed[dir], name = true, "index.js"
		}
		all[i] = file{dirs[dir] + "/" + name, i, dir}
	}
	return all
}

// lines are the content of a file after it was changed so many times. Most of
// them are those of its neighbours, in the same order: git keeps the greater part
// of the files as a difference from another one, as it does with a real test suite.
func (s *spec) lines(f file, changes int) []string {
	d := roll(s.seed, uint64(f.nth))
	size := s.least + d.low(s.most-s.least)
	lines := []string{
		fmt.Sprintf("// Copyright (C) %d the authors of %s. All rights reserved.", 2012+d.n(14), d.word()),
		"// This code is governed by the license found in the LICENSE file.",
		fmt.Sprintf("// description: %s %s %s the %s", d.word(), d.word(), d.word(), d.word()),
	}
	for n := len(lines[0]) + len(lines[1]) + len(lines[2]) + 3; n < size; {
		line := d.line()
		if d.n(20) < 17 {
			line = roll(s.seed, 1<<50|uint64(f.dir)<<16|uint64(len(lines))).line()
		}
		lines = append(lines, line)
		n += len(line) + 1
	}
	for c := range changes {
		d := roll(s.seed, 1<<51|uint64(c)<<32|uint64(f.nth))
		lines[d.n(len(lines))] = d.line()
	}
	return lines
}

// line is one of code.
func (d dice) line() string {
	indent := strings.Repeat("  ", d.n(3))
	switch d.n(5) {
	case 0:
		return fmt.Sprintf("%svar %s = %s.%s(%d);", indent, d.word(), d.word(), d.word(), d.n(1_000))
	case 1:
		return fmt.Sprintf("%sassert.sameValue(%s.%s, %d, '%s %s');", indent, d.word(), d.word(), d.n(100), d.word(), d.word())
	case 2:
		return fmt.Sprintf("%sif (%s !== %s) { throw new Test262Error('%s'); }", indent, d.word(), d.word(), d.word())
	case 3:
		return fmt.Sprintf("%sfunction %s(%s, %s) { return %s; }", indent, d.word(), d.word(), d.word(), d.word())
	}
	return indent + "// " + d.word() + " " + d.word() + " " + d.word()
}

// changedTogether is how many files a commit after the first one changes.
const changedTogether = 20

// write writes the repository as git fast-import reads it.
func (s *spec) write(to io.Writer) error {
	w := bufio.NewWriterSize(to, 1<<20)
	files := s.list()
	put := func(i, changes int) {
		content := strings.Join(s.lines(files[i], changes), "\n") + "\n"
		fmt.Fprintf(w, "M 100644 inline %s\ndata %d\n%s\n", files[i].path, len(content), content)
	}
	commit(w, 0)
	for i := range files {
		put(i, 0)
	}
	d, changes := roll(s.seed, 1<<42), map[int]int{}
	for c := range s.commits {
		commit(w, c+1)
		var chosen []int
		for range changedTogether {
			chosen = append(chosen, d.n(len(files)))
		}
		slices.Sort(chosen)
		for _, i := range slices.Compact(chosen) {
			changes[i]++
			put(i, changes[i])
		}
	}
	return w.Flush()
}

// commit begins the commit of a number.
func commit(w io.Writer, n int) {
	message := fmt.Sprintf("change %d\n", n)
	fmt.Fprintf(w, "commit refs/heads/main\ncommitter Bench <bench@example.org> %d +0000\ndata %d\n%s",
		1_700_000_000+600*n, len(message), message)
}

// noiseSizes are the sizes of files that hardly compress, in bytes: many small
// ones, and some that no cache should keep.
var noiseSizes = [8]int{3 << 10, 9 << 10, 20 << 10, 40 << 10, 60 << 10, 200 << 10, 700 << 10, 2 << 20}

// writeNoise is write for text of 64 different bytes, which is packed to three
// quarters of its size.
func (s *spec) writeNoise(to io.Writer) error {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-\n"
	w := bufio.NewWriterSize(to, 1<<20)
	commit(w, 0)
	d := roll(s.seed, 1<<43)
	content := make([]byte, 0, noiseSizes[len(noiseSizes)-1]+8)
	for i, packed := 0, 0; packed < s.noise; i++ {
		content = content[:0]
		for size := noiseSizes[i%len(noiseSizes)] + d.n(1<<10); len(content) < size; {
			x := d.Uint64()
			for range 8 {
				content = append(content, letters[x&63])
				x >>= 8
			}
		}
		packed += len(content) * 3 / 4
		fmt.Fprintf(w, "M 100644 inline data/%d/%d.txt\ndata %d\n", i%50, i, len(content))
		w.Write(content) // the Flush below reports what fails
		w.WriteByte('\n')
	}
	return w.Flush()
}
