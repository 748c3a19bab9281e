package fsck

import (
	"bytes"
	"net/url"
	"strings"

	"carrel.dev/mounts/gitconfig"
	"carrel.dev/workspace"
)

// Bounds of git, in bytes.
const (
	maxModules        = 512 << 20 // core.bigFileThreshold
	maxAttributes     = 100 << 20
	maxAttributesLine = 2048
)

// Content checks what is to be the content of a special file.
func Content(s Special, content []byte) error {
	switch s {
	case Modules:
		return modules(content)
	case Attributes:
		return attributes(content)
	}
	return nil
}

func attributes(content []byte) error {
	if len(content) > maxAttributes {
		return complain("gitattributesLarge", ".gitattributes is larger than %d bytes", maxAttributes)
	}
	content, _, _ = bytes.Cut(content, []byte{0}) // git reads it as a C string
	n := 1
	for line := range bytes.Lines(content) {
		if len(bytes.TrimSuffix(line, []byte("\n"))) >= maxAttributesLine {
			return complain("gitattributesLineLength", "line %d of .gitattributes has more than %d bytes", n, maxAttributesLine-1)
		}
		n++
	}
	return nil
}

func modules(content []byte) error {
	if len(content) > maxModules {
		return complain("gitmodulesLarge", ".gitmodules is larger than %d bytes", maxModules)
	}
	entries, err := gitconfig.Parse(content)
	for _, e := range entries {
		section, name, key := e.Split()
		if section != "submodule" || strings.Count(e.Name, ".") < 2 {
			continue
		}
		if err := module(name, key, e); err != nil {
			return err
		}
	}
	if err != nil {
		return complain("gitmodulesParse", ".gitmodules is not a file that git can parse").
			Hinted("It has the syntax of git configuration: [submodule \"name\"], then path = … and url = ….")
	}
	return nil
}

// module checks one variable of a submodule.
func module(name, key string, e gitconfig.Entry) error {
	option := strings.HasPrefix(e.Value, "-")
	switch {
	case badModuleName(name):
		return complain("gitmodulesName", ".gitmodules has the submodule name %q", name).
			Hinted("Git makes a directory of that name: it must not be empty or have .. as a part.")
	case e.Bare:
		return nil
	case key == "url" && (option || badModuleURL(e.Value)):
		return complain("gitmodulesUrl", ".gitmodules has the url %q", e.Value)
	case key == "path" && option:
		return complain("gitmodulesPath", ".gitmodules has the path %q", e.Value)
	case key == "update" && strings.HasPrefix(e.Value, "!"):
		return complain("gitmodulesUpdate", ".gitmodules has the update command %q", e.Value)
	}
	return nil
}

func badModuleName(name string) bool {
	if name == "" {
		return true
	}
	isSlash := func(r rune) bool { return r == '/' || r == '\\' }
	for part := range strings.FieldsFuncSeq(name, isSlash) {
		if part == ".." {
			return true
		}
	}
	return false
}

// badModuleURL finds the addresses that could make git talk to another host than
// they seem to name: with newlines, or without a host.
func badModuleURL(address string) bool {
	if rest, up := stripDots(address); rest != address || up > 0 {
		if strings.Contains(decoded(address), "\n") {
			return true
		}
		return up > 0 && (strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "/"))
	}
	for _, helper := range []string{"http::", "https::", "ftp::", "ftps::"} {
		if rest, ok := strings.CutPrefix(address, helper); ok {
			return badHost(rest)
		}
	}
	for _, scheme := range []string{"http://", "https://", "ftp://", "ftps://"} {
		if strings.HasPrefix(address, scheme) {
			return badHost(address)
		}
	}
	return false
}

// stripDots removes the leading ./ and ../ of a relative address and counts the
// latter.
func stripDots(address string) (rest string, up int) {
	rest = address
	for {
		slash := strings.IndexAny(rest, `/\`)
		switch {
		case slash < 0:
			return rest, up
		case rest[:slash] == "..":
			up++
		case rest[:slash] != ".":
			return rest, up
		}
		rest = rest[slash+1:]
	}
}

// badHost reports whether an address has no host, or a newline once decoded.
func badHost(address string) bool {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok || scheme == "" || strings.Contains(decoded(address), "\n") {
		return true
	}
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	if _, host, ok := strings.Cut(authority, "@"); ok {
		authority = host
	}
	return authority == ""
}

// decoded undoes percent-encoding as far as it is well formed.
func decoded(address string) string {
	var b strings.Builder
	for i := 0; i < len(address); i++ {
		if address[i] == '%' && i+2 < len(address) {
			if c, err := url.PathUnescape(address[i : i+3]); err == nil {
				b.WriteString(c)
				i += 2
				continue
			}
		}
		b.WriteByte(address[i])
	}
	return b.String()
}

// Identity checks the name and address of an author or committer, called role.
func Identity(role string, who workspace.Signature) error {
	const hint = "A name and an address are each one line, not empty, without angle brackets."
	switch {
	case strings.TrimSpace(who.Name) == "":
		return complain("missingNameBeforeEmail", "the %s has no name", role).Hinted(hint)
	case strings.TrimSpace(who.Email) == "":
		return complain("missingEmail", "the %s has no address", role).Hinted(hint)
	case strings.ContainsAny(who.Name, "<>\n\x00"):
		return complain("badName", "the %s's name %q has an angle bracket, a newline or NUL", role, who.Name).Hinted(hint)
	case strings.ContainsAny(who.Email, "<>\n\x00"):
		return complain("badEmail", "the %s's address %q has an angle bracket, a newline or NUL", role, who.Email).Hinted(hint)
	}
	return nil
}

// Message checks a commit message.
func Message(text string) error {
	if strings.IndexByte(text, 0) >= 0 {
		return complain("nulInCommit", "the message contains NUL")
	}
	return nil
}
