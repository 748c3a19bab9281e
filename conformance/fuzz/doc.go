// Package fuzz runs all fuzz targets of the module, one after the other, in a
// given time:
//
//	go test -v ./conformance/fuzz -full -timeout 2h            # an hour in all
//	go test -v ./conformance/fuzz -full -for 10m -timeout 30m  # ten minutes in all
//
// The targets are found in the source, so that none is forgotten, and each has
// an equal share. At the end there is a table of what was tried and found; any
// finding fails the run, and its input lies in testdata of the target's package,
// as go test -fuzz left it. Inputs that reached new code stay in the build
// cache, so that the next run goes on from there.
//
// Without -full every target is asked for seeds, and two run a little, to
// see that all this works. go test runs the seeds of every target anyhow, and
// the inputs in testdata.
//
// A target holds its subject against something that is known to be right: a
// naive implementation, git, or what went in. One that only looks for panics is
// for subjects of which nothing more is known.
package fuzz
