// Package sqlite keeps events, checkpoints, small contents and tokens in one SQLite
// database, which many processes of one machine share. It also keeps values for a
// while, for whoever goes on after a restart with what was begun before.
//
// # Writing
//
// A process has one connection that writes, and one goroutine that owns it.
// What waits to be written is taken as a group into one immediate transaction:
// one fsync makes all of them durable. If a job fails, the transaction begins
// again with each job in a savepoint of its own, so that it leaves the others
// alone. If the transaction itself fails, each job is tried once more on its own. Every transaction reads the schema version
// first, since a newer program may have upgraded the database in the meantime.
//
// # Reading
//
// Reads use a small pool of read-only connections and take records in pages. No
// statement is open while a caller looks at a record, so that a slow caller
// neither keeps a connection nor holds up the database's checkpoints.
//
// # Waiting
//
// SQLite answers "busy" when another process has the lock. The answer is
// retried for as long as the caller's context lives. The writer looks every half
// millisecond, instead of with SQLite's own waiting, which backs off to 100 ms and
// gives way for ever to a process that writes all the time. One that has looked
// for 20 ms takes the lock file beside the database, and nobody begins a
// transaction while another process has that.
//
// # Decisions
//
//   - References from events to bodies are a column of the event, ids one after
//     the other, and not a table: a row for each reference costs every append a
//     page and every read a second query. A collector of garbage reads the events
//     in the order of positions, and under the lock only what came after. It reads
//     them whole: the checksum covers all columns, and a bit that flipped in the
//     ids would have it remove a content.
//   - Each row of events has a checksum of its own. SQLite does not notice a bit
//     that flipped inside a value.
//   - A body is held against its id whenever it is opened. Bodies here are small
//     (see package spill), and the hash costs less than the query.
//   - Tokens are read from the database whenever they are asked for. A lookup costs
//     less than parsing the request that it is for, and a cache would have to learn
//     of what another process revokes before it answers.
//   - What is kept for a while is bounded without counting it: each row stands behind
//     the one before by as many places as it has bytes, so that the oldest rows are
//     those beyond a distance. What has expired or was replaced in between counts until
//     then, which is at the cost of the oldest.
//   - There is one checkpoint a stream, whatever version of the reducer made it.
//     Two versions that share a directory during an upgrade replace each
//     other's, which costs a replay; keeping all would cost space for ever.
package sqlite
