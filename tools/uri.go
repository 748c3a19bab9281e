package tools

import (
	"net/url"
	"strings"

	"carrel.dev/workspace"
)

// Scheme is that of every URI of Carrel's, and URITemplate what they are made
// from, by RFC 6570. Nothing stands in the authority, which some programs fold to
// lower case.
const (
	Scheme      = "carrel"
	URITemplate = "carrel:///{+path}{?ws,at}"
)

// The documents that are made when they are read. Nothing is ever mounted there.
const (
	StatusPath workspace.Path = "/.carrel/status" // what git.status says
	DiffPath   workspace.Path = "/.carrel/diff"   // what git.diff says
)

// generated is where those documents lie.
const generated workspace.Path = "/.carrel"

// URI is the address of a file or directory of a workspace, or of a document that
// is generated.
type URI struct {
	Path      workspace.Path
	Workspace workspace.ID // "" for whichever whoever asks is bound to
	At        string       // "" for now; "base" as committed
}

// ParseURI reads an address, in any percent-encoding. What is none is Invalid.
func ParseURI(spelling string) (URI, error) {
	refuse := func(why string) (URI, error) {
		return URI{}, workspace.Errorf(workspace.Invalid, "the URI %s", why).
			Hinted("Write it as %s, for example carrel:///repos/app/main.go?ws=/agents/demo, with %%23 for # and %%3F for ? in names.", URITemplate)
	}
	u, err := url.Parse(spelling)
	switch {
	case err != nil:
		return refuse("is malformed")
	case u.Scheme != Scheme:
		return refuse("does not begin with " + Scheme + ":")
	case u.Opaque != "" || u.Host != "" || u.User != nil:
		return refuse("has an authority, or no path")
	case u.Fragment != "" || strings.Contains(spelling, "#"):
		return refuse("has a fragment")
	}
	var uri URI
	if uri.Path, err = workspace.ParsePath("/" + u.Path); err != nil {
		return URI{}, err
	}
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		name, value, _ := strings.Cut(part, "=")
		value, err := url.PathUnescape(value) // a plus is a plus: no identity has spaces
		switch {
		case err != nil:
			return refuse("is malformed")
		case part == "":
		case name == "ws" && uri.Workspace == "":
			if uri.Workspace, err = workspace.ParseID(value); err != nil {
				return URI{}, err
			}
		case name == "at" && uri.At == "":
			uri.At = value
		default:
			return refuse("has a parameter that is not known, or is there twice")
		}
	}
	return uri, nil
}

// String spells the address in the one way in which Carrel does.
func (u URI) String() string {
	var query []string
	if u.Workspace != "" {
		query = append(query, "ws="+escaped(string(u.Workspace)))
	}
	if u.At != "" {
		query = append(query, "at="+escaped(u.At))
	}
	s := Scheme + "://" + escaped(string(u.Path))
	if query != nil {
		s += "?" + strings.Join(query, "&")
	}
	return s
}

// escaped is a path as it stands in an address: with a slash between segments, and
// what has a meaning in any part of an address, or is not ASCII, encoded.
func escaped(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		segments[i] = strings.NewReplacer("&", "%26", "+", "%2B", "=", "%3D").Replace(url.PathEscape(s))
	}
	return strings.Join(segments, "/")
}

// isGenerated reports whether the address is that of a generated document, or of
// none that there is.
func (u URI) isGenerated() bool { return generated.Contains(u.Path) }

// Check refuses an address at which nothing can ever be read: NotExist for a
// generated document that there is not, Invalid for an at that is not known.
func (u URI) Check() error {
	switch {
	case !u.isGenerated() && (u.At == "" || u.At == "base"):
		return nil
	case !u.isGenerated():
		return workspace.Errorf(workspace.Invalid, "at %q is not known", u.At).At(u.Path.String()).
			Hinted("Pass \"base\" for what is committed, or leave it out for what is here now.")
	case u.Path != StatusPath && u.Path != DiffPath:
		return workspace.Errorf(workspace.NotExist, "there is no such document").At(u.Path.String()).
			Hinted("There are %s and %s.", StatusPath, DiffPath)
	case u.At != "":
		return workspace.Errorf(workspace.Invalid, "is made from what is here now, and has no at").At(u.Path.String())
	}
	return nil
}
