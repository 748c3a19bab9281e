package clients

import (
	"context"
	"encoding/json"
	"testing"
)

// client is one that is connected.
type client interface {
	// revision is the protocol revision that was negotiated.
	revision() string
	// tools lists what is offered.
	tools(ctx context.Context) ([]tool, error)
	// call calls a tool, and asks for progress; with reports there has to be some.
	// An error is one of the protocol, or a result that the client refuses.
	call(ctx context.Context, name string, args any, reports bool) (called, error)
	// resources lists the addresses of what there is to read, and templates those
	// of which addresses are made.
	resources(ctx context.Context) ([]string, error)
	templates(ctx context.Context) ([]string, error)
	// read reads a resource that is text.
	read(ctx context.Context, uri string) (string, error)
	// subscribe subscribes to a resource, and updated waits until it has changed.
	subscribe(ctx context.Context, uri string) error
	updated(ctx context.Context, uri string) error
	// complete completes the path of the template of files in a workspace.
	complete(ctx context.Context, path, ws string) ([]string, error)
	// prompts lists the names of prompts, and prompt returns the text of one.
	prompts(ctx context.Context) ([]string, error)
	prompt(ctx context.Context, name string, args map[string]string) (string, error)
	close() error
}

// tool is an offered one, as the client passes it on.
type tool struct {
	Name, Title, Description  string
	InputSchema, OutputSchema json.RawMessage
	Annotations               map[string]any
}

// called is the outcome of a call, as the client passes it on.
type called struct {
	result
	Progress []float64
}

type result struct {
	Content           []content
	StructuredContent json.RawMessage
	IsError           bool
	Meta              map[string]json.RawMessage `json:"_meta"`
}

type content struct{ Type, Text string }

// text is all that a model is told.
func (r result) text() (all string) {
	for _, c := range r.Content {
		all += c.Text
	}
	return all
}

// kind is how a client reaches the program.
type kind string

const (
	overStdio kind = "stdio"
	overHTTP  kind = "http"
	overSSE   kind = "sse"
)

// address is where the program is: what to run, or a URL.
type address struct {
	Kind    kind              `json:"kind"`
	URL     string            `json:"url,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Token   string            `json:"token,omitempty"` // that each request has to have
}

// maker connects a client.
type maker func(t *testing.T, at address) client

// TestSessions plays one session with each client over each transport that it
// has. The revisions are what the client chooses by itself.
func TestSessions(t *testing.T) {
	const newest, legacy = "2026-07-28", "2025-11-25"
	for _, run := range []struct {
		client   string
		connect  maker
		kind     kind
		revision string
		token    bool // is needed
	}{
		{"go", goClient, overStdio, newest, false},
		{"go", goClient, overHTTP, newest, false},
		{"go", goClient, overHTTP, newest, true},
		{"go", goClient, overSSE, newest, false},
		{"go", goClient, overSSE, newest, true},
		{"mcp-go", mcpgoClient, overStdio, newest, false},
		{"mcp-go", mcpgoClient, overHTTP, newest, false},
		{"mcp-go", mcpgoClient, overHTTP, newest, true},
		{"mcp-go", mcpgoClient, overSSE, newest, true},
		{"ts-sdk", nodeClient("sdk"), overStdio, legacy, false},
		{"ts-sdk", nodeClient("sdk"), overHTTP, legacy, false},
		{"ts-sdk", nodeClient("sdk"), overHTTP, legacy, true},
		{"ts-sdk", nodeClient("sdk"), overSSE, legacy, false},
		{"ts-sdk", nodeClient("sdk"), overSSE, legacy, true},
		{"ts-client", nodeClient("client"), overStdio, legacy, false},
		{"ts-client", nodeClient("client"), overHTTP, legacy, false},
		{"ts-client", nodeClient("client"), overHTTP, legacy, true},
		{"ts-client", nodeClient("client"), overSSE, legacy, true},
		{"ts-client-auto", nodeClient("client-auto"), overStdio, newest, false},
		{"ts-client-auto", nodeClient("client-auto"), overHTTP, newest, true},
	} {
		name, serve := run.client+"/"+string(run.kind), (*world).serve
		if run.token {
			name, serve = name+"-token", (*world).serveTokens
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			names := dotted
			if run.kind == overHTTP {
				names = underscored
			}
			c := run.connect(t, serve(w, run.kind, names))
			t.Logf("%s over %s speaks %s", run.client, run.kind, c.revision())
			if c.revision() != run.revision {
				t.Errorf("the revision is %s, want %s", c.revision(), run.revision)
			}
			newSession(t, w, c, names, run.kind != overStdio).play()
			if err := c.close(); err != nil {
				t.Errorf("close: %v", err)
			}
			played.Add(1)
		})
	}
}
