package mcpwire

import (
	"context"
	"strings"
	"unicode"

	mcpserver "github.com/mark3labs/mcp-go/server"

	"carrel.dev/server"
)

// The values of Config.Names.
const (
	NamesAuto       = "auto" // underscores for known hosts
	NamesDotted     = "dotted"
	NamesUnderscore = "underscore"
)

// hosts are programs that put tools before a language model. Among them are
// those that drop a server, or refuse every prompt, for a dot in a tool's name.
var hosts = [...]string{
	"claude", "cursor", "codex", "copilot", "chatgpt", "windsurf", "opencode", "cline", "roo", "zed", "goose", "amp",
	"jetbrains", "visual studio code", "gemini", "antigravity", "dify", "continue", "kiro", "warp",
}

// defaultClient is the name of clients that use the Python SDK and have none.
const defaultClient = "mcp"

// isHost reports whether a client's name has that of a known host, as whole
// words in any case.
func isHost(name string) bool {
	if name == defaultClient {
		return true
	}
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	spaced := " " + strings.Join(words, " ") + " "
	for _, h := range hosts {
		if strings.Contains(spaced, " "+h+" ") {
			return true
		}
	}
	return false
}

// client is who asks, as far as that decides what an answer looks like.
type client struct {
	name     string
	host     bool // a known host: its results are text alone
	spelling server.Spelling
}

// client tells who sent the request in ctx: what the request says of itself
// since 2026-07-28, else what the connection began with.
func (s *Server) client(ctx context.Context) client {
	c := client{name: callOf(ctx).conn.name()}
	if info := mcpserver.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern && info.ClientInfo != nil {
		c.name = info.ClientInfo.Name
	}
	c.host = isHost(c.name)
	if s.cfg.Names == NamesUnderscore || s.cfg.Names != NamesDotted && c.host {
		c.spelling = server.Underscore
	}
	return c
}
