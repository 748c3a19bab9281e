// Package grants proves that what is not granted does not exist: it holds a project
// with repos and workspaces that a caller is not granted against a twin project in
// which they never were.
//
// The same calls are made in both, by callers of the same grants: every tool, with
// paths of all that is hidden and of what lies beside, above, below and in its
// place. The replies have to be the same, but for a few exceptions, which a test lists with their reasons; and
// afterwards nothing that was hidden is lost or changed.
//
// What MCP offers beside tools is asked of the real program, over HTTP, by tokens of
// several grants: resources, completions, prompts, what clients are greeted with and
// what errors suggest. Who watches resources is told nothing of what is hidden.
//
//	go test ./conformance/grants
package grants
