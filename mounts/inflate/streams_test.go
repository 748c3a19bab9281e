package inflate

import (
	"encoding/binary"
	stdadler "hash/adler32"
	"math/bits"
	"strings"
)

// bitWriter writes a deflate stream.
type bitWriter struct {
	b    []byte
	n    int  // bits in all
	amid bool // the next block is not the last one
}

// begin begins a block of a type.
func (w *bitWriter) begin(typ int) {
	w.number(1, 1)
	if w.amid {
		w.b[len(w.b)-1] ^= 1 << ((w.n - 1) % 8)
	}
	w.number(typ, 2)
}

// number writes n bits, the lowest first.
func (w *bitWriter) number(v, n int) {
	for i := range n {
		if w.n%8 == 0 {
			w.b = append(w.b, 0)
		}
		w.b[w.n/8] |= byte(v>>i&1) << (w.n % 8)
		w.n++
	}
}

// symbol writes the code of a symbol in a set of codes that have so many bits.
func (w *bitWriter) symbol(lens []int, symbol int) {
	n, code := lens[symbol], 0
	for i, l := range lens {
		if l != 0 && (l < n || l == n && i < symbol) {
			code += 1 << (15 - l)
		}
	}
	w.number(int(bits.Reverse16(uint16(code<<1))), n)
}

// stored writes a block that is not compressed.
func (w *bitWriter) stored(content string) {
	w.begin(0)
	w.number(0, (8-w.n%8)%8)
	w.number(len(content), 16)
	w.number(^len(content), 16)
	for _, c := range []byte(content) {
		w.number(int(c), 8)
	}
}

// Codes of fixed blocks.
var (
	fixedLits  = append(append(append(repeated(144, 8), repeated(112, 9)...), repeated(24, 7)...), repeated(8, 8)...)
	fixedDists = repeated(32, 5)
)

func repeated(n, v int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = v
	}
	return s
}

// lens are the lengths of n codes, of which those of the symbols are given.
func lens(n int, of map[int]int) []int {
	s := make([]int, n)
	for symbol, l := range of {
		s[symbol] = l
	}
	return s
}

// plainPre are codes for each length and no repetition.
var plainPre = append(repeated(16, 4), 0, 0, 0)

// dynamic begins a block with its own codes.
func (w *bitWriter) dynamic(lits, dists []int) {
	w.counts(len(lits), len(dists), plainPre)
	for _, l := range append(append([]int(nil), lits...), dists...) {
		w.symbol(plainPre, l)
	}
}

// counts begins such a block, up to its codes.
func (w *bitWriter) counts(lits, dists int, pre []int) {
	w.begin(2)
	w.number(lits-257, 5)
	w.number(dists-1, 5)
	w.number(19-4, 4)
	for _, symbol := range preOrder {
		w.number(pre[symbol], 3)
	}
}

func putChecksum(stream, content []byte) {
	binary.BigEndian.PutUint32(stream[len(stream)-4:], stdadler.Checksum(content))
}

// wrapped is a zlib stream of what w has, with the checksum of content.
func (w *bitWriter) wrapped(content string) []byte {
	b := append([]byte{0x78, 0x9c}, w.b...)
	b = append(b, 0, 0, 0, 0)
	putChecksum(b, []byte(content))
	return b
}

// streamCase is a stream made by hand: what it holds, or that it is malformed.
type streamCase struct {
	name string
	src  []byte
	want string
	ok   bool
	amid []byte // the same amid much else, if that makes sense: another verdict may be right
}

// made is a case whose stream is written by write.
func made(name string, ok bool, want string, write func(w *bitWriter)) streamCase {
	var w bitWriter
	write(&w)
	return streamCase{name, w.wrapped(want), want, ok, amid(want, write)}
}

// much is a block of more than the window of the same byte.
var (
	muchContent = strings.Repeat("m", 1+130*258)
	much        = fixedBlock("m", func(w *bitWriter) {
		for range 130 {
			w.symbol(fixedLits, 285)
			w.symbol(fixedDists, 0)
		}
	})
)

// amid is a stream of much, what write writes, and much again.
func amid(want string, write func(w *bitWriter)) []byte {
	w := bitWriter{amid: true}
	much(&w)
	write(&w)
	w.amid = false
	much(&w)
	return w.wrapped(muchContent + want + muchContent)
}

// fixedBlock writes a block with fixed codes: letters, then more.
func fixedBlock(letters string, more func(w *bitWriter)) func(w *bitWriter) {
	return func(w *bitWriter) {
		w.begin(1)
		for _, c := range []byte(letters) {
			w.symbol(fixedLits, int(c))
		}
		more(w)
		w.symbol(fixedLits, 256)
	}
}

// dynamicBlock writes a block of these codes, whose symbols are then written.
func dynamicBlock(lits, dists []int, write func(w *bitWriter)) func(w *bitWriter) {
	return func(w *bitWriter) {
		w.dynamic(lits, dists)
		if write != nil {
			write(w)
		}
	}
}

// streams are streams of every kind of block and damage.
func streams() []streamCase {
	return append(append(plainStreams(), fixedStreams()...), append(dynamicStreams(), preStreams()...)...)
}

func plainStreams() []streamCase {
	whole := made("stored", true, "hello", func(w *bitWriter) { w.stored("hello") })
	changed := func(name string, change func(b []byte) []byte) streamCase {
		return streamCase{name: name, src: change(append([]byte(nil), whole.src...)), want: "hello"}
	}
	header := func(name string, method, flags byte) streamCase {
		flags += byte((31 - (int(method)<<8|int(flags))%31) % 31)
		return changed(name, func(b []byte) []byte { b[0], b[1] = method, flags; return b })
	}
	small := header("window of 256 bytes", 0x08, 0)
	small.ok = true
	return []streamCase{
		whole, small,
		made("stored, empty", true, "", func(w *bitWriter) { w.stored("") }),
		made("stored, long", true, strings.Repeat("x", 65535), func(w *bitWriter) { w.stored(strings.Repeat("x", 65535)) }),
		header("preset dictionary", 0x78, 0x20),
		header("method 7", 0x77, 0),
		header("window of 64 KiB", 0x88, 0),
		changed("wrong sum of the header", func(b []byte) []byte { b[1]++; return b }),
		changed("wrong complement", func(b []byte) []byte { b[5]++; return b }),
		changed("wrong checksum", func(b []byte) []byte { b[len(b)-1]++; return b }),
		changed("no checksum", func(b []byte) []byte { return b[:len(b)-4] }),
		changed("nothing", func([]byte) []byte { return nil }),
		changed("half a header", func(b []byte) []byte { return b[:1] }),
		made("block of type 3", false, "", func(w *bitWriter) { w.begin(3) }),
		made("blocks without content", true, "hello", func(w *bitWriter) {
			last := !w.amid
			w.amid = true
			w.stored("")
			w.stored("")
			fixedBlock("", func(*bitWriter) {})(w)
			w.amid = !last
			w.stored("hello")
		}),
		made("content, then blocks without any", true, "a", func(w *bitWriter) {
			last := !w.amid
			w.amid = true
			fixedBlock("a", func(*bitWriter) {})(w)
			w.amid = !last
			fixedBlock("", func(*bitWriter) {})(w)
		}),
	}
}

func fixedStreams() []streamCase {
	match := func(length, dist int) func(w *bitWriter) {
		return func(w *bitWriter) {
			w.symbol(fixedLits, length)
			w.symbol(fixedDists, dist)
			if dist >= 30 {
				w.number(0, 13) // as if it had as many extra bits as 29
			}
		}
	}
	return []streamCase{
		made("fixed, empty", true, "", fixedBlock("", func(*bitWriter) {})),
		made("fixed, literals", true, "h\xe9", fixedBlock("h\xe9", func(*bitWriter) {})),
		made("fixed, match", true, "abcabc", fixedBlock("abc", match(257, 2))),
		made("fixed, run", true, strings.Repeat("a", 259), fixedBlock("a", match(285, 0))),
		made("fixed, distance too far", false, "abcabc", fixedBlock("abc", match(257, 3))),
		made("fixed, match at the start", false, "", fixedBlock("", match(257, 0))),
		made("fixed, length 286", false, "abc", fixedBlock("abc", match(286, 0))),
		made("fixed, length 287", false, "abc", fixedBlock("abc", match(287, 0))),
		made("fixed, distance 30", false, "abcabc", fixedBlock("abc", match(257, 30))),
		made("fixed, distance 31", false, "abcabc", fixedBlock("abc", match(257, 31))),
	}
}

func dynamicStreams() []streamCase {
	abEnd := lens(257, map[int]int{'a': 1, 'b': 2, 256: 2})
	abLength := lens(258, map[int]int{'a': 1, 'b': 2, 256: 3, 257: 3})
	all := func(codes []int, symbols ...int) func(w *bitWriter) {
		return func(w *bitWriter) {
			for _, s := range symbols {
				w.symbol(codes, s)
			}
		}
	}
	matched := func(dists []int, dist func(w *bitWriter)) func(w *bitWriter) {
		return dynamicBlock(abLength, dists, func(w *bitWriter) {
			all(abLength, 'a', 'b', 'a', 257)(w)
			dist(w)
			all(abLength, 256)(w)
		})
	}
	long := lens(257, map[int]int{256: 15}) // one code each of 1 to 15 bits
	for i := range 15 {
		long[i] = i + 1
	}
	return []streamCase{
		made("dynamic", true, "abba", dynamicBlock(abEnd, []int{0}, all(abEnd, 'a', 'b', 'b', 'a', 256))),
		made("dynamic, all bits", true, "\x0e\x00\x0d\x0b\x0c", dynamicBlock(long, []int{0}, all(long, 14, 0, 13, 11, 12, 256))),
		made("dynamic, match", true, "abaaaa", matched([]int{1, 1}, func(w *bitWriter) { w.number(0, 1) })),
		made("one distance code", true, "abaaaa", matched([]int{1}, func(w *bitWriter) { w.number(0, 1) })),
		made("one distance code, the other bit", false, "abaaaa", matched([]int{1}, func(w *bitWriter) { w.number(1, 1) })),
		made("one distance code of two bits", false, "abaaaa", matched([]int{2}, func(w *bitWriter) { w.number(0, 2) })),
		made("no distance code, match", false, "abaaaa", matched([]int{0}, func(w *bitWriter) { w.number(0, 1) })),
		made("incomplete distances", false, "abaaaa", matched([]int{1, 2}, func(w *bitWriter) { w.number(0, 1) })),
		made("too many distances", false, "abaaaa", matched([]int{1, 1, 1}, func(w *bitWriter) { w.number(0, 1) })),
		made("unused, incomplete distances", false, "ab", dynamicBlock(abEnd, []int{1, 2}, all(abEnd, 'a', 'b', 256))),
		made("unused, too many distances", false, "ab", dynamicBlock(abEnd, []int{1, 1, 1}, all(abEnd, 'a', 'b', 256))),
		made("unused distance of two bits", false, "ab", dynamicBlock(abEnd, []int{2}, all(abEnd, 'a', 'b', 256))),
		made("only the end", true, "", dynamicBlock(lens(257, map[int]int{256: 1}), []int{0}, func(w *bitWriter) { w.number(0, 1) })),
		made("only the end, the other bit", false, "", dynamicBlock(lens(257, map[int]int{256: 1}), []int{0}, func(w *bitWriter) { w.number(1, 1) })),
		made("only the end, of two bits", false, "", dynamicBlock(lens(257, map[int]int{256: 2}), []int{0}, func(w *bitWriter) { w.number(0, 2) })),
		made("incomplete literals", false, "aa", dynamicBlock(lens(257, map[int]int{'a': 1, 256: 2}), []int{0}, func(w *bitWriter) { w.number(4, 4) })),
		made("too many literals", false, "aa", dynamicBlock(lens(257, map[int]int{'a': 1, 'b': 1, 256: 2}), []int{0}, func(w *bitWriter) { w.number(0, 4) })),
		made("no end", false, "ab", dynamicBlock(lens(257, map[int]int{'a': 1, 'b': 1}), []int{0}, func(w *bitWriter) { w.number(2, 2) })),
		made("no codes", false, "", dynamicBlock(lens(257, nil), []int{0}, nil)),
		made("287 literals", false, "a", dynamicBlock(lens(287, map[int]int{'a': 1, 256: 1}), []int{0}, func(w *bitWriter) { w.number(2, 2) })),
		made("288 literals", false, "a", dynamicBlock(lens(288, map[int]int{'a': 1, 256: 1}), []int{0}, func(w *bitWriter) { w.number(2, 2) })),
		made("31 distances", false, "a", dynamicBlock(lens(257, map[int]int{'a': 1, 256: 1}), repeated(31, 0), func(w *bitWriter) { w.number(2, 2) })),
		made("32 distances", false, "a", dynamicBlock(lens(257, map[int]int{'a': 1, 256: 1}), repeated(32, 5), func(w *bitWriter) { w.number(2, 2) })),
		made("286 literals, 30 distances", true, "a", dynamicBlock(lens(286, map[int]int{'a': 1, 256: 1}), repeated(30, 0), func(w *bitWriter) { w.number(2, 2) })),
	}
}

// longCodes writes a block in which two literals, a length and a distance take 66
// bits, as many as they can where only the distance's code is in a nested table.
func longCodes(w *bitWriter) {
	lits := lens(285, map[int]int{'a': 11, 'b': 11, 'c': 11, 'd': 11, 'e': 11, 'f': 11, 256: 11, 284: 11})
	for i := range 8 {
		lits[i] = i + 1
	}
	dists := lens(30, map[int]int{28: 15, 29: 15})
	for i := range 14 {
		dists[i] = i + 1
	}
	w.dynamic(lits, dists)
	for i := range 200 {
		w.symbol(lits, 'a')
		w.symbol(lits, 'b')
		w.symbol(lits, 284)
		w.number(i%31, 5)
		w.symbol(dists, 29)
		w.number(40*i, 13)
	}
	w.symbol(lits, 256)
}

// preStreams are those whose codes are written with repetitions.
func preStreams() []streamCase {
	pre := lens(19, map[int]int{0: 2, 1: 2, 16: 3, 17: 3, 18: 2})
	block := func(name string, ok bool, write func(w *bitWriter)) streamCase {
		return made(name, ok, "", func(w *bitWriter) {
			w.counts(257, 2, pre)
			write(w)
			w.number(0, 1) // the end of the block
		})
	}
	run := func(w *bitWriter, symbol, extra, n int) {
		w.symbol(pre, symbol)
		w.number(extra, n)
	}
	zeros := func(w *bitWriter) { // 256 of them
		run(w, 18, 127, 7)
		run(w, 18, 107, 7)
	}
	return []streamCase{
		block("repetitions", true, func(w *bitWriter) { zeros(w); w.symbol(pre, 1); w.symbol(pre, 1); w.symbol(pre, 1) }),
		made("repetition from literals to distances", true, "", func(w *bitWriter) {
			pre := lens(19, map[int]int{2: 1, 16: 2, 18: 2})
			w.counts(257, 4, pre)
			for _, zeros := range []int{138, 115} {
				w.symbol(pre, 18)
				w.number(zeros-11, 7)
			}
			w.symbol(pre, 2)
			w.symbol(pre, 16)
			w.number(3, 2)
			w.symbol(pre, 2)
			w.number(3, 2)
		}),
		made("repetition of all distances", true, "", func(w *bitWriter) {
			w.counts(257, 4, pre)
			run(w, 18, 127, 7)
			run(w, 18, 106, 7)
			w.symbol(pre, 1)
			w.symbol(pre, 1)
			run(w, 17, 1, 3)
			w.number(1, 1)
		}),
		block("repetition of nothing", false, func(w *bitWriter) {
			run(w, 16, 0, 2) // of three, and 253 zeros
			run(w, 18, 127, 7)
			run(w, 18, 104, 7)
			w.symbol(pre, 1)
			w.symbol(pre, 1)
			w.symbol(pre, 1)
		}),
		block("one repetition too many", false, func(w *bitWriter) { zeros(w); w.symbol(pre, 1); run(w, 17, 0, 3) }),
		made("zeros from literals to distances", true, "", func(w *bitWriter) {
			pre := lens(19, map[int]int{0: 2, 1: 2, 17: 2, 18: 2})
			w.counts(259, 3, pre)
			w.symbol(pre, 18)
			w.number(127, 7)
			w.symbol(pre, 18)
			w.number(107, 7)
			w.symbol(pre, 1)
			w.symbol(pre, 17)
			w.number(2, 3)
			w.number(0, 1)
		}),
		made("incomplete codes for codes", false, "", func(w *bitWriter) { w.counts(257, 1, lens(19, map[int]int{0: 1, 1: 2})); w.number(0, 300) }),
		made("too many codes for codes", false, "", func(w *bitWriter) { w.counts(257, 1, repeated(19, 4)); w.number(0, 300) }),
		made("one code for codes", false, "", func(w *bitWriter) { w.counts(257, 1, lens(19, map[int]int{8: 1})); w.number(0, 300) }),
		made("no codes for codes", false, "", func(w *bitWriter) { w.counts(257, 1, lens(19, nil)); w.number(0, 300) }),
	}
}
