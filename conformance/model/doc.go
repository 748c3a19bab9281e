// Package model holds Carrel against a model: random histories over several
// workspaces, repos and processes, and after each step the question whether the
// product shows what plain maps say.
//
// The model is the contract written down in the most obvious way: a tree is a map
// from path to content, an upper a map from path to what was written and what it
// was made from, and every answer is computed from these anew. It shares no logic
// with the product. Where it needs to be told (the ids of commits, the names of
// work branches) it takes the product's word and checks what can be checked.
//
//	go test ./conformance/model                          # a few thousand steps
//	go test -v ./conformance/model -full -timeout 2h     # a million; CARREL_FULL=1 does the same; -v shows how far it is
//	go test ./conformance/model -steps 50000 -seed 7     # another size, other histories
//
// Histories are cut into episodes, each with new repositories and a new store:
// package memory and package sqlite take turns. An episode is fixed by its seed,
// which every failure prints, with the step and a history from which everything
// was dropped that the difference does not need.
//
// # What is checked
//
// After every step the whole merged view of the workspace, its status and the
// refusal or result of the call; after a commit or a change beside Carrel the
// repository, as git reads it. Every few steps all workspaces as two hosts on the
// one store see them, every path by Lookup, ReadDir and content, snapshots that
// were kept from before, and the state that a new host makes of the records,
// with and without checkpoints.
//
// # What is not
//
// Calls run one after the other; a process dies only between a commit's intent and
// its end. Submodules, pins, limits, idempotency keys, checkouts, ignore files
// beyond one pattern, glob, grep and diff have their tests elsewhere.
package model
