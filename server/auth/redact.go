package auth

import (
	"regexp"
	"strings"
)

// looksSecret is what looks like a capability token or a JWT, wherever it stands.
var looksSecret = regexp.MustCompile(TokenPrefix + `[0-9A-Za-z]{8,}|eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]+\.[0-9A-Za-z_-]*`)

// LogPath is the path of a URL as logs have it: cut after 300 bytes, and without what
// looks like a bearer, which somebody may have pasted there.
func LogPath(path string) string {
	return cut(looksSecret.ReplaceAllString(strings.ToValidUTF8(path, "?"), "[secret]"), 300)
}
