// Package seeded holds the tests against themselves: it plants faults into the
// program, one at a time, and demands that a named test or script finds each.
//
// A fault is a file of folder faults, a txtar archive. Its comment says in a
// sentence what breaks, in a user's words, then which file it changes and which
// test catches it; its two files are lines of the source and what stands there
// instead. The source is not touched and knows nothing of it: the tests are built
// with go test -overlay.
//
// A fault that nothing finds is a hole in the tests, and fails here.
package seeded
