package server

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"carrel.dev/tools"
	"carrel.dev/tools/args"
)

// Spelling is how a client is shown the names of tools. A tool is called by
// either spelling.
type Spelling int

// The spellings. Dots are valid by the specification of MCP, and some hosts
// refuse them.
const (
	Dotted     Spelling = iota // git.status
	Underscore                 // git_status
)

// Of spells the canonical name of a tool.
func (s Spelling) Of(name string) string {
	if s == Underscore {
		return strings.ReplaceAll(name, ".", "_")
	}
	return name
}

// has reports whether the session may call a tool.
func (s *Session) has(t *tools.Tool) bool {
	if s.cfg.Tools != All && !t.Core || !s.cfg.Grants.May(t.Verb()) {
		return false
	}
	return !s.binding.limits() || !t.Lifecycle || t.Name == toolCreate
}

// Tool finds a tool that the session may call by either spelling of its name.
func (s *Session) Tool(name string) (*tools.Tool, bool) {
	t := s.desk.byName[name]
	if t == nil || !s.has(t) {
		return nil, false
	}
	return t, true
}

// Suggest names a tool that the session does not have, for a message, with the
// one that may have been meant.
func (s *Session) Suggest(name string, spelling Spelling) string {
	if t := s.desk.byName[name]; t != nil {
		if v := t.Verb(); !s.cfg.Grants.May(v) {
			return name + " (this client is not allowed to " + string(v) + ")"
		}
		return name + " (not offered here)"
	}
	var known []string
	for _, t := range s.desk.tools {
		if s.has(t) {
			known = append(known, spelling.Of(t.Name))
		}
	}
	text := clip(name, maxQuoted)
	if near := args.Nearest(name, known); near != "" {
		text += " (did you mean " + near + "?)"
	}
	return text
}

// maxQuoted is how much of what a client sent a message repeats, in bytes.
const maxQuoted = 80

// clip shortens what a client sent to printable text of a size in bytes.
func clip(s string, most int) string {
	short := len(s) > most
	if short {
		s = s[:most]
	}
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	if short {
		s += "…"
	}
	return s
}

// voice puts Carrel's own words as one client is told them. Those words name
// tools by their canonical names in backquotes.
type voice struct {
	session  *Session
	spelling Spelling
}

// Say puts a text of Carrel's own as a client of the session is told it: it
// names tools, in backquotes and canonically, and the result does so in the
// client's spelling and without the sentences about tools that it does not have.
func (s *Session) Say(text string, spelling Spelling) string { return voice{s, spelling}.say(text) }

// word is a single word in backquotes, which in hints, notes and descriptions is
// the name of a tool, be it of a later version. Commands have several words.
var word = regexp.MustCompile("`[a-z][a-zA-Z]*(\\.[a-z][a-zA-Z]*)?`")

// say returns a text with the names of tools as the client knows them, without
// the sentences that name a tool which it does not have.
func (v voice) say(text string) string {
	var kept strings.Builder
	for _, sentence := range sentences(text) {
		named := word.FindAllString(sentence, -1)
		if slices.ContainsFunc(named, func(w string) bool { _, ok := v.session.Tool(strings.Trim(w, "`")); return !ok }) {
			continue
		}
		kept.WriteString(v.respell(sentence))
	}
	return strings.TrimSpace(kept.String())
}

// respell spells the tools that a text names in backquotes and leaves the rest.
func (v voice) respell(text string) string {
	return word.ReplaceAllStringFunc(text, func(w string) string {
		name := strings.Trim(w, "`")
		if v.session.desk.byName[name] == nil {
			return w
		}
		return "`" + v.spelling.Of(name) + "`"
	})
}

// sentences cuts a text behind each full stop, question or exclamation mark
// that white space follows, and behind each line.
func sentences(text string) []string {
	var all []string
	start := 0
	for i := 1; i < len(text); i++ {
		white := text[i] == ' ' || text[i] == '\n'
		if text[i-1] == '\n' || white && strings.IndexByte(".?!", text[i-1]) >= 0 {
			all = append(all, text[start:i])
			start = i
		}
	}
	return append(all, text[start:])
}
