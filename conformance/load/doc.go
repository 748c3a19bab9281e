// Package load has tests that put carrel serve under load: thousands of sessions,
// each on a workspace of its own, that read, edit and commit over HTTP. Nothing may
// fail but by a limit that is named, no reply may be about another's workspace or
// hold another's content, and memory may not grow. In the middle of such a load the
// program is killed: what was acknowledged must be there.
//
//	go test ./conformance/load                     # seconds, 60 sessions
//	CARREL_CI=1 go test ./conformance/load         # a minute, 2,000 sessions
//	go test -timeout 30m ./conformance/load -full  # five minutes, 2,000 sessions
//
// The clients run on the same machine and take about half of it.
package load
