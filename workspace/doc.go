// Package workspace is the domain of Carrel: private, durable working copies of
// many git repositories at once, without a clone and without a checkout.
//
// One sentence to read it by: reads fall through a private overlay to git
// objects; writes are events; a commit hands one mount's changes to one
// repository.
//
// # Glossary
//
//   - project: one path namespace with its repos, workspaces and streams.
//   - repo: a git repository at a path under /repos/; its history is the only
//     place for committed content.
//   - workspace: a private working copy of the project's namespace. Its
//     identity, /workspaces/** or /agents/**, is also the name of its stream.
//   - stream: an append-only, gap-free sequence of records; "/" is the
//     project's own.
//   - upper: a workspace's private layer: what it wrote, removed or made.
//   - lower: the trees of the mounted repos, at their base.
//   - merged: what a reader sees: upper over lower.
//   - whiteout: the upper's mark that a lower entry is gone.
//   - mount: a repo visible at a mount point, with a policy. The table is
//     derived from the project's repos and never stored.
//   - deviation: a stored difference from the derived table.
//   - policy: what git.commit may do with a mount.
//   - base: of a mount, the commit it is read at; of an upper entry, what the
//     lower had at that path when the upper first took it.
//   - owner: of an upper entry, the mount that its path routed to when it was
//     written; none for scratch.
//   - lane: the one queue through which commits reach a (repo, branch).
//   - scratch: /workspace, private, writable, never committed.
//   - session: one client bound to one workspace, with what it may do.
//
// # How it works
//
// A [Host] holds the stores; a [Project] keeps the catalog of repos and
// workspaces; a [Workspace] is one session's handle on one working copy. All
// state is a reduction of records: [State] for a workspace, the catalog for a
// project. Every mutation runs in one chain per workspace and does, in this
// order: decide on a snapshot, make the larger bodies durable, append, reduce,
// publish. A [Snapshot] is immutable, so that reads never wait.
//
// The package imports the standard library and pure algorithms only. Git,
// databases and protocols reach it through the interfaces [Store], [Blobs],
// [Trees] and [Committer].
package workspace
