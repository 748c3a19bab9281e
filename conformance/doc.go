// Package conformance judges Carrel from outside: a small script language in
// which a case of the contract is written once, and an engine that plays it on
// every way of reaching Carrel.
//
// A [Script] is a txtar archive. Its comment names the cases that it covers and
// then holds one command a line; its files are what repositories are filled with
// and what results are held against. A [Target] starts Carrel, however it is
// reached, and [Run] plays a script on it. README.md lists the words.
//
// The engine fails closed. An unknown word, an unknown target, a folder without
// scripts, a script that checks nothing, an error that no line expects: each is
// a failure. So is a case of cases.txt that no script or test names, unless
// baseline.txt says why, and one that stands in the baseline although something
// covers it.
//
// What holds for every call is checked on every call, not only where a script
// asks for it: an error carries a known code and a text and nothing structured,
// a success carries its facts in exactly one place and names its workspace, and
// no text that a client sees shows where files lie on the host. After every
// script each repository must pass git fsck as it did before, with no lock left
// behind.
//
// The engine imports nothing else of Carrel, so that it cannot share a mistake
// with what it judges; the targets are in its tests.
package conformance
