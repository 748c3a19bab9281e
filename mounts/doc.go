// Package mounts is the lower layer of Carrel: it reads trees out of git
// repositories and hands commits to them, without the git program, a checkout or
// the host's configuration.
//
// [Repos] implements the interfaces of package workspace on repositories as they
// lie on disk: bare or with a checkout, packed or loose, with alternates, linked
// worktrees or a shallow history. Its parts are packages of their own:
//
//   - gitdir: what a path is to git, and where its parts are
//   - object: objects, read and written
//   - refs: refs, read and moved as git moves them
//   - fsck: what may enter a repository
//   - ignore: .gitignore rules
//   - checkout: the files on disk around a repository
//   - gitconfig: the format of git's configuration, and of .gitmodules
//   - durable: files and directories that survive a crash
//
// README.md beside this file says what is understood and what is refused.
//
// # Decisions
//
// Objects are read by a reader of our own and not by a git library: mapped packs
// make a warm read as fast as one from a checkout, every object is verified, and
// a repack by somebody else is survived. The libraries do none of the three.
//
// A commit that is one file deep in the tree makes five small objects. They are
// written as one pack, since three syncs cost less than ten; git's own
// maintenance, or ours, folds packs together.
package mounts
