// Package traced makes OpenTelemetry spans of what Carrel does: one for each MCP
// request, in it one for each call of a tool, and in that those of the store, of
// contents and of git. It is wired only where traces are asked for, and costs nothing
// elsewhere.
//
// Spans say which tool, project, workspace, session and principal they are about, how
// it ended, as the code of the error, and how much there was. Contents, arguments,
// texts of errors, and paths of files are in none.
//
// What stands on a store finds its further abilities by type assertion. Each
// decorator here therefore embeds the very type that it decorates, so that it has all
// of them, also those that come later. The one thing that is only known by its
// interfaces, a tree, is decorated if it has all that there are.
//
// # Decisions
//
// Only what belongs to a request is traced: where a context has no span none is made,
// so that work in the background leaves no traces of a single span.
//
// A search reads thousands of blobs of a repository. They are no spans: the call's
// span has their number, size and time.
//
// The exporter is that of OTLP over HTTP. It depends on grpc for the types of its
// messages and makes the binary about 10 MB larger; one of our own would have to follow
// the OTEL_ variables, retries and limits that operators know.
package traced
