// Package server is how Carrel is asked, apart from any protocol: which tools a
// client has, which workspace a call acts on, and what an answer says. The
// protocols, in packages of their own below this one, and the command line put
// it on a wire.
//
// # Nouns
//
//   - desk: serves the tools of one project.
//   - session: one client at the desk, with the tools and the workspace that it
//     may use.
//   - binding: the workspace that a session's calls act on.
//   - request, reply: one call of a tool and its answer.
//   - resource, offer: what stands at an address, and one that is listed.
//   - watch, view: what notices changes, and one thing that a session watches.
//   - labels: which request, session, workspace and principal a context belongs
//     to, for the log.
//   - voice: Carrel's words as one client is told them: its spelling of tool
//     names, and nothing about tools that it does not have.
//
// # Decisions
//
// A binding never comes from anything but a choice of the client or of whoever
// started the server. A fixed one is a limit: a session that has it cannot tell
// another workspace from one that was never created. A session that remembers
// is bound by its last workspace.create or workspace.open; but sub-agents share
// the connection of their parent, and a second, different workspace may be that
// of a sub-agent. It binds nothing, and from then on a call has to name its
// workspace: a refusal costs one more call, a write into somebody else's working
// copy costs the work.
//
// A watch compares what a session sees now with what it saw at the last look, through
// the session's own eyes, so that nobody is told of what is not granted to them; what
// it looked at is looked at again when a record of any process, which the host takes
// in, may have changed it. A record that touches the path itself is told even if all
// looks as before: the client may have read it in between. Branches have no records
// when others move them, and are looked at once a second, so that one which is moved
// and moved back within that goes unnoticed; for as long as nobody watches, nothing
// is looked at. A directory counts as touched by whatever happens below it.
//
// A tool panics into an answer, not into the end of the process, which serves
// other sessions.
package server
