// Package clients plays sessions with the MCP clients that others wrote: what
// they negotiate, what they accept and what they make of a result is theirs to
// say. It is a module of its own, so that nothing else depends on them.
// README.md says how to run it.
package clients
