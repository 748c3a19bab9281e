package workspace

import (
	"regexp"
	"slices"
	"strings"
)

// checkAuthor returns who a commit is by.
func checkAuthor(given, caller Signature) (Signature, error) {
	a := given
	if a == (Signature{}) {
		a = caller
	}
	if a == (Signature{}) {
		a = Signature{Name: "Carrel agent", Email: "agent@localhost"}
	}
	if strings.TrimSpace(a.Name) == "" || strings.TrimSpace(a.Email) == "" {
		return a, Errorf(Invalid, "the author needs a name and an email")
	}
	if strings.ContainsAny(a.Name+a.Email, "<>\n\r\x00") {
		return a, Errorf(Invalid, "the author's name and email may not hold angle brackets or line ends")
	}
	return a, nil
}

var trailerLine = regexp.MustCompile(`^[A-Za-z0-9-]+: `)

// withTrailer ends a message with the workspace's trailer, in the paragraph of
// trailers if it has one already.
func withTrailer(message string, id ID) string {
	message = strings.TrimRight(message, " \t\r\n")
	last := message[strings.LastIndex(message, "\n\n")+1:]
	gap := "\n\n"
	if last != message && !slices.ContainsFunc(strings.Split(strings.TrimSpace(last), "\n"), func(l string) bool { return !trailerLine.MatchString(l) }) {
		gap = "\n"
	}
	return message + gap + "Carrel-Workspace: " + string(id) + "\n"
}
