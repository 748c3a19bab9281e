// Package mcpwire serves the tools of a [server.Desk] over the Model Context
// Protocol, on stdio and HTTP: the revisions that begin with initialize, up to
// 2025-11-25, and the stateless one of 2026-07-28, on one endpoint.
//
// # Decisions
//
// The messages are handled by mcp-go; the lines of stdio are not. Its own stdio
// server runs five calls at a time and, when more wait, one in the loop that
// reads; it ends a running call with the input, answers 64-bit ids rounded, and
// writes notifications behind the response they belong to. Here each call runs
// by itself, ids are returned as they came, and what a call notifies goes out
// before its response.
//
// Nor are its HTTP servers used. They send what a call notifies through one
// channel a session, which all open responses read, so that progress is lost or
// comes on the response of another call; GET and DELETE do not ask whose session
// it is, and any well-formed id is one; a stateless notification cancels the call
// of another client, and a client that is cut off its own. A guard in front, a
// session manager and a response writer that undoes their framing would mend that,
// and be as long as the framing itself. With that here, a call on any transport is
// the same conn, the same call, and a sink for its messages.
//
// A client is told an error that a model can act on as a result with isError,
// the sentence and what to do; JSON-RPC errors are for messages that are no
// valid call. An error never has structuredContent, which validating clients
// would hold against the schema of the result and so hide the reason.
//
// Resources are read through a session as tools are called. mcp-go knows of one, as
// which every address is read, since its matching of templates does not take all
// that are valid, and all errors of its handlers become -32603: here one that is not
// there is -32002, and since 2026-07-28 -32602, as their revisions have it. A text is
// bounded as bytes are, by 1 MiB, and refused beyond: a resource has no pages, and
// half a file must not pass for one.
//
// mcp-go delivers no notifications/resources/updated. What it subscribes to is
// watched by the session, and put into an outbox of the session, or of the request
// subscriptions/listen, which holds each change once until its stream takes it. So a
// client that reads slowly delays nobody, what happens between two streams is told
// on the next, and what a broken stream may have lost is told again: one notification
// too many costs a read, one too few leaves a client with what is no longer so.
// Sessions are told of changes of the list of resources once they have asked for it;
// to watch for those who never do would cost, and be of no use.
//
// A completion of a path is percent-encoded, since {+path} leaves it as it is: so
// expanding the template by RFC 6570 gives the address of that file whatever its name.
//
// What answers may be replaced, by a Handler: the suites that judge implementations
// of the protocol want tools of their own, and would otherwise judge another chain
// than the one that is served. They also have a server ask its client, which is one
// function here, ask.go, and which nothing of Carrel's does: it needs no client to be
// able to.
//
// A client over HTTP that is cut off goes on behind the last event that it got. What it
// has not got is known to nobody, so what was sent is remembered: of a response to a POST
// until it ends, and then by the Keeper; of the stream of HTTP+SSE for two minutes, since
// it has no end. That stream belongs to the session and not to a response: a call tells
// it something, and whichever response carries it now sends that; while there is none
// the call waits once 256 KiB do, rather than that a client finds a gap. A session that
// nobody has asked for a while costs nothing by that, and all together 32 MiB: beyond
// that they remember less.
//
// What is kept is written when something is over, not as it is said: a response to a
// POST after its answer was sent and before its end, a session of HTTP+SSE when it is
// over, and also when what later calls act on has changed, before they are answered. To
// write each event would cost every answer a sync of the disk, for processes that die,
// which clients survive anyhow by calling again with the same key. It is kept under a
// hash of all that a client has to know and to be, which needs no comparison, stores no
// secret, and cannot be asked for by anybody else. A session of Streamable HTTP is not
// kept: its client is told that it is gone, and knows how to begin another. One of
// HTTP+SSE is, because EventSource comes back without its program's knowledge; the
// session in its place has other ids, so that no event has two meanings.
//
// Hosts show a model either the text or the structured content of a result, and
// never reliably both, so the text says it all. Known hosts of language models
// are spared the second copy and its schemas. They are known by the name that
// the client gives itself, which is a matter of taste and never of permission.
package mcpwire
