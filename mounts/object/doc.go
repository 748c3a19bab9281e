// Package object reads and writes the objects of a git repository: packs and
// loose files, in the repository itself and in its alternates.
//
// A [Store] is one repository's objects, a [Pool] what all stores of a process
// share: caches by object id, and scratch memory. Nothing is handed out whose
// id was not computed from its content and compared, so that a damaged file is
// an error of kind Corrupt and never wrong bytes, and a cache may serve every
// repository by id alone. Of an object in a pack that is done at the first read
// of a process: packs do not change, and a second read still checks the checksum
// that the compressed data have. An object of which several copies exist is read from
// the first one that is whole, as git does.
//
// # Decisions
//
// Packs and their indexes are mapped, and looked up in place: opening one costs
// microseconds whatever its size, and a mapped file survives its removal by
// git gc. A mapping is undone when nothing refers to its pack any more, which
// the garbage collector knows and a reference count would have to repeat. A
// fault on mapped memory, which a truncated file or a failing disk causes, is
// caught and becomes Unavailable.
//
// The set of packs is read again when an object is missing or damaged, once: a
// repack or fetch by somebody else is noticed by what it took away or added.
//
// Only what git has written for years is understood: pack versions 2 and 3,
// index versions 1 and 2, SHA-1. The multi-pack index, bitmaps and the commit
// graph are shortcuts to the same objects and are not read.
package object
