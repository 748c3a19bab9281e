package object

import (
	"bytes"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"carrel.dev/workspace"
)

// Commit is a parsed commit object. It is immutable.
type Commit struct {
	Tree              workspace.OID
	Parents           []workspace.OID
	Author, Committer workspace.Signature
	AuthorTime        time.Time
	CommitTime        time.Time
	// Message is valid UTF-8, whatever the encoding that the commit declares.
	Message string
}

// ParseCommit reads the content of a commit object. Signatures are read as
// leniently as git log reads them; a commit without a tree is Corrupt.
func ParseCommit(content []byte) (*Commit, error) {
	head, message, _ := bytes.Cut(content, []byte("\n\n"))
	c := &Commit{}
	var encoding string
	for i, line := range strings.Split(string(head), "\n") {
		key, value, _ := strings.Cut(line, " ")
		var err error
		switch {
		case i == 0 && key == "tree":
			c.Tree, err = workspace.ParseOID(value)
		case i == 0:
			err = workspace.Corrupt
		case key == "parent":
			var parent workspace.OID
			parent, err = workspace.ParseOID(value)
			c.Parents = append(c.Parents, parent)
		case key == "author":
			c.Author, c.AuthorTime = parseSignature(value)
		case key == "committer":
			c.Committer, c.CommitTime = parseSignature(value)
		case key == "encoding":
			encoding = value
		}
		if err != nil {
			return nil, corruptf("a commit object is malformed")
		}
	}
	c.Message = decode(encoding, message)
	for _, s := range []*workspace.Signature{&c.Author, &c.Committer} {
		s.Name, s.Email = decode(encoding, []byte(s.Name)), decode(encoding, []byte(s.Email))
	}
	return c, nil
}

// parseSignature reads "Name <email> seconds zone". Damaged parts are zero.
func parseSignature(s string) (workspace.Signature, time.Time) {
	name, rest, _ := strings.Cut(s, "<")
	end := strings.LastIndexByte(rest, '>')
	if end < 0 {
		return workspace.Signature{Name: strings.TrimSpace(name)}, time.Unix(0, 0).UTC()
	}
	sig := workspace.Signature{Name: strings.TrimSpace(name), Email: rest[:end]}
	seconds, _, _ := strings.Cut(strings.TrimSpace(rest[end+1:]), " ")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		n = 0
	}
	return sig, time.Unix(n, 0).UTC()
}

// decode makes valid UTF-8 of text in a declared encoding. Latin-1 is the only
// other one that it knows; what it cannot read becomes U+FFFD.
func decode(encoding string, text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	switch strings.ToLower(encoding) {
	case "iso-8859-1", "iso8859-1", "latin1", "latin-1":
		runes := make([]rune, len(text))
		for i, b := range text {
			runes[i] = rune(b)
		}
		return string(runes)
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

// EncodeCommit returns the content of a commit object. Fields are not checked.
// Times are written as UTC.
func EncodeCommit(c *Commit) []byte {
	var b bytes.Buffer
	b.WriteString("tree " + c.Tree.String() + "\n")
	for _, p := range c.Parents {
		b.WriteString("parent " + p.String() + "\n")
	}
	b.WriteString("author " + FormatSignature(c.Author, c.AuthorTime) + "\n")
	b.WriteString("committer " + FormatSignature(c.Committer, c.CommitTime) + "\n\n")
	b.WriteString(c.Message)
	return b.Bytes()
}

// FormatSignature is how commits and reflogs name who did something, and when.
func FormatSignature(s workspace.Signature, at time.Time) string {
	return s.Name + " <" + s.Email + "> " + strconv.FormatInt(at.Unix(), 10) + " +0000"
}
