// Package bench measures Carrel against its peers and the floors of the machine:
// the same job, on the same input, in the same run. It has tests only.
//
//   - A row is a job, for example "read a file of a repository with 57,000". Its
//     contestants are Carrel and others who do that job: git, ripgrep, another MCP
//     server, or the system call that nobody gets below.
//   - Contestants take turns, every round in another order, and whatever each of
//     them finds is held against what the others found: a difference fails the row.
//     A target that is missed fails nothing; it is reported as plainly as one that
//     is met.
//   - A line is what a row says of two contestants: the ratio of the medians of all
//     samples, with the least and the greatest ratio that a round had. A row of
//     several questions, such as patterns, has the geometric mean of theirs.
//   - A fact is a figure that has no peer: bytes, or a limit that was set.
//
// TestBench plays every row once, small, and judges only that the contestants
// agree. With -full it plays them at full size and writes bench.md, bench.json,
// which has every sample, and bench.svg.
//
// The repositories are made with git fast-import from a fixed seed, and kept in a
// cache (-cache DIR) with the packages for node: about 5 GB for the full size, and
// 2 more while a run lasts. All that is measured on lies below it too, so that the
// cache should be on the disk that counts.
package bench
