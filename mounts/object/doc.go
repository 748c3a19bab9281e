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
// Each commit leaves a small pack, and git folds those together only when somebody
// runs its maintenance. From fifty on Store.Consolidate does, and a byte is copied
// as often as the whole doubles. Compressed objects are copied as they are, after
// each was hashed. Own packs are known by their names, half of which is a hash over
// the other half and the pack's checksum; no other is touched.
//
// A folded pack is never in the way, a removed one is: git gc, repack -A, prune and
// fsck list the packs, open them one by one, for minutes, and fail if one has gone,
// although its objects have not. No time of grace helps, since such a command may
// begin at any moment, and only git gc says by a file that it runs. So before a
// removal /proc is searched for such a git at work here, and inotify, which the
// kernel notes a listing with before the lister reads a name, tells of any that
// begins after that: an index is renamed, and named back at once if somebody has
// listed the directory, hundreds of microseconds before it is that one's turn to be
// opened. What git has left since the packs were looked at, such as an index of its
// own over them, is looked at once more in between. Without both, on other systems than Linux, nothing is folded. Tried and
// given up: to remove at once or after a grace, with which one removal in eight
// made a git fail that ran beside it, and locks, since git takes none.
//
// All other commands of git, and the readers here, look for objects, and list the
// packs once more when one is missing. The grace is for who copies the directory
// file by file, or walks it where neither /proc nor inotify reaches: in another
// container's processes, or on another machine. It is short, since at a hundred
// commits a second each second of it is a hundred packs more.
//
// Whoever needs an object trusts an own pack only if the same store wrote it and
// moved a ref to it: of what other processes wrote, or was folded, it is not known
// whether it landed, and a repack that began before may drop what did not. Then the
// object is written again; the next consolidation makes one of the two.
//
// Only what git has written for years is understood: pack versions 2 and 3,
// index versions 1 and 2, SHA-1. The multi-pack index, bitmaps and the commit
// graph are shortcuts to the same objects and are not read. There is no second
// reader to fall back on: go-git reads nothing that this does not, and of packs
// and indexes less.
//
// Lists of files are kept in pieces, each of a tree at a place and of at most a
// thousand files: small enough that a commit, which changes the trees along its
// paths, makes few of them anew, and large enough that walking the trees above
// them costs little. A name is looked up in the bytes of a tree, of which nothing
// is decoded but the entry that is found.
package object
