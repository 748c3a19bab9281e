// Package inflate decompresses a zlib stream (RFC 1950, RFC 1951) of a known size
// from memory to memory, which is how a mapped pack is read.
//
// A [Decoder] takes a whole stream at once. A stream is blocks, and a block is
// symbols: a literal, which is a byte; a length and a distance, which together are a
// match, so many bytes again from so far before; and the end. A symbol is written as
// a code of 1 to 15 bits, and a block may begin with its own codes. A table says for
// the next bits of the stream which code they begin with.
//
// What it accepts is what zlib accepts, to the bit. Whatever the input, it reads
// nothing outside of it, writes nothing outside of what it is given, and does not
// panic.
//
// # Decisions
//
// Decompressing is most of the work of reading an object, and objects are small:
// with a reader that streams, much of that is window, buffers and reset. With source
// and destination whole in memory none of these are needed, a match is copied within
// the destination, and bits are taken in eight bytes at a time. Go source, as many
// different objects of one size, is decompressed so many times as fast:
//
//	object             100 B   1 KiB   4 KiB   20 KiB   200 KiB
//	klauspost/compress   3.0     2.5     2.3      2.4       2.7
//	compress/zlib        3.2     2.8     2.7      2.9       3.3
//
// Nothing is allocated, and there is neither unsafe code nor assembly.
//
// Codes longer than 11 bits, or 8 of a distance, are in nested tables. Making tables
// is a third of the time for 1 KiB, so that they are never cleared, symbols without a
// code are not looked at, and a table is filled by doubling. What was tried and left:
// entries of two literals decompress hardly faster, and to make them takes as long as
// all else together for 1 KiB; narrower tables gain nothing for small objects and lose
// for large ones.
//
// The checksum takes eight bytes at once, 2.4 times as fast as hash/adler32.
package inflate
