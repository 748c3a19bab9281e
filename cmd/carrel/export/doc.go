// Package export writes a workspace's merged view as plain files into a
// directory on disk, and keeps it up to date from one run to the next.
//
// The directory belongs to the export: it is empty at first and afterwards has a
// manifest, the file [Manifest], which says what was written. A later run writes
// only what differs from the view and removes only what an earlier run wrote.
// Files that somebody else put there are left alone; files that somebody changed
// are never overwritten or removed in silence.
//
// # Manifest
//
// The manifest is JSON: a version, what was exported, and for each path below
// the directory its git mode and blob id, as git would have them in a tree. Before
// a run changes anything it notes beside each path what it is about to put
// there, so that the next one knows its own traces if this one dies half-way.
// Size and modification time save hashing a file that nobody touched; like in
// git's index they count only if they are older than the manifest itself.
//
// # Decisions
//
// Everything goes through one os.Root, so that no link, be it in the view or
// made by somebody in the directory, leads a write outside. A file is written
// under another name and renamed, so a reader sees the old or the new one. It is
// not synced: what is exported is a copy, and after a power cut the next run
// finds and rewrites what was lost.
//
// A submodule is an empty directory, as in a clone without its submodules.
package export
