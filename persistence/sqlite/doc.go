// Package sqlite keeps events, small bodies and checkpoints in one SQLite
// database that several processes share without a daemon.
//
// # How processes share it
//
// The database is in WAL mode with synchronous=FULL. Each process has one
// connection that writes: appends that wait for it go into one transaction with
// a savepoint each, so that one fsync serves them all and one that fails takes no
// other with it. Transactions begin IMMEDIATE, which waits for other processes
// instead of failing half-way. Readers have connections of their own and never
// wait. One more connection asks only PRAGMA data_version, to learn for the
// price of a look at shared memory that somebody, this process or another, has
// written.
//
// # Schema
//
// PRAGMA user_version is the version of the schema; the migrations in this
// package lead from each to the next, each in one transaction, under the lock of
// a file beside the database. Version 1:
//
//	stream      id, project, name, last        last: seq of its newest event
//	event       pos, stream, seq, id, type, version, at, actor, session, client,
//	            key, request, result, payload, body, bodies, sum
//	body        oid, size, content, used       used: second of the last Put
//	checkpoint  stream, seq, version, state
//
// event.pos orders the events of all streams; at is in nanoseconds since 1970,
// NULL for none; bodies are the 20-byte ids that the event names, one after the
// other; sum is the CRC-32C of the rest of the row, so that a damaged one is
// found and not believed. Events are only ever added.
package sqlite
