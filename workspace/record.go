package workspace

import "time"

// Seq is an event's place in its stream, from 1 without gaps.
type Seq uint64

// StreamID names a stream: "/" for the project's own, a workspace's identity or
// a repo's path for theirs.
type StreamID struct {
	Project string
	Name    string
}

// ProjectStream is the name of a project's own stream.
const ProjectStream = "/"

// Event is something that happened, before it has its place in a stream.
type Event struct {
	ID      string // unique in its stream; an append repeated with it is one event
	Type    string // for example "workspace/changed"
	Version int    // of the payload's format, from 1
	At      time.Time
	Actor   string // who caused it, "" if unknown
	Session string // in which session
	Client  string // with which program

	// Key is the caller's idempotency key, Request the digest of what it asked
	// for, Result the answer that a repeat is given. All empty without a key.
	Key     string
	Request string
	Result  []byte

	// Payload is JSON. If it is larger than 64 KiB it is nil, and PayloadBody
	// names the body that holds it.
	Payload     []byte
	PayloadBody OID
	// Bodies names every content that the event refers to, PayloadBody among
	// them, so that a store can keep them without reading payloads.
	Bodies []OID
}

// Record is an event in its place.
type Record struct {
	Stream StreamID
	Seq    Seq
	Event
}
