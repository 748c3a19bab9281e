package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Target is one way of reaching Carrel.
type Target interface {
	// Name is how scripts and people name the target.
	Name() string
	// Start serves the project of a data directory, which may hold what an
	// earlier server left there.
	Start(ctx context.Context, data string) (Server, error)
}

// Server is a Carrel that runs. All methods are safe for concurrent use.
type Server interface {
	// AddRepo registers a repository in place. Repeating it is harmless.
	AddRepo(ctx context.Context, name, path string) error
	// Session connects a client.
	Session(ctx context.Context, o SessionOptions) (Session, error)
	// Records returns a stream's records as a JSON array of objects with at
	// least seq and type.
	Records(ctx context.Context, stream string) (json.RawMessage, error)
	// Close ends the server and what it started.
	Close() error
}

// SessionOptions say how a client connects.
type SessionOptions struct {
	Workspace string // that the session is bound to; "" for none
	Client    string // the name the client gives itself; "" for one that nobody knows
	Core      bool   // list the core tools only
}

// Session is one client's connection. Calls may run at the same time.
type Session interface {
	Tools(ctx context.Context) ([]Tool, error)
	// Call calls a tool. An error is one of the connection or the protocol; what
	// the tool refused is a Result.
	Call(ctx context.Context, c Call) (Result, error)
	Close() error
}

// Tool is a listed tool.
type Tool struct {
	Name         string
	InputSchema  json.RawMessage
	OutputSchema json.RawMessage
}

// Call is one tool call.
type Call struct {
	Tool string
	Args json.RawMessage
	Key  string // for idempotent retries; "" for none
}

// Result is what a tool answered.
type Result struct {
	Blocks     []Block
	Structured json.RawMessage // nil if the result has none
	Meta       map[string]json.RawMessage
	IsError    bool
}

// Block is one block of a result's content.
type Block struct {
	Type  string // "text", "image" or "resource"
	Text  string
	Bytes []byte // of an image or a resource
}

// The names in a result's _meta.
const (
	metaFacts = "carrel.dev/result"
	metaCode  = "code"
)

// Code is the error's code, or "".
func (r Result) Code() string {
	var code string
	if err := json.Unmarshal(r.Meta[metaCode], &code); err != nil {
		return ""
	}
	return code
}

// Text is the text of the blocks from one on, one after the other.
func (r Result) Text(from int) string {
	var b strings.Builder
	for i, block := range r.Blocks {
		if i > from {
			b.WriteString("\n")
		}
		if i >= from {
			b.WriteString(block.Text)
		}
	}
	return b.String()
}

// Facts are the fields of the result, from the one place that has them.
func (r Result) Facts() json.RawMessage {
	if r.Structured != nil {
		return r.Structured
	}
	return r.Meta[metaFacts]
}

// Select returns the targets of a comma-separated list of names, all for "". A
// name that no target has is an error.
func Select(targets []Target, names string) ([]Target, error) {
	if names == "" {
		return targets, nil
	}
	var chosen []Target
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(targets, func(t Target) bool { return t.Name() == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown target %q", name)
		}
		chosen = append(chosen, targets[i])
	}
	return chosen, nil
}
