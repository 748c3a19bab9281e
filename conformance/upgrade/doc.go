// Package upgrade holds what an earlier version wrote against this one: each sample
// in testdata is a data directory that a released or landed version of the program
// left, with what that version said of it. The test opens a copy with the program of
// today, which must say the same, with the checkpoints that it finds and without
// them, and must go on working on it.
//
// A version that changes what is durable adds a sample, written by its own program:
//
//	go test ./conformance/upgrade -run TestWriteSample -write NAME -binary PATH/TO/carrel
//
// A sample is never written again. NAME.tar.gz is the directory, NAME.json what was
// said: for each question its facts. A later version may say more, never something
// else.
package upgrade
