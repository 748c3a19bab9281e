package conformance

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var variable = regexp.MustCompile(`\$\{([A-Za-z][A-Za-z0-9]*)\}`)

// expand puts the values of variables into a line, escaped so that they are safe
// inside a JSON or Go string. A variable that is not set is an error.
func expand(line string, vars map[string]string) (string, error) {
	var missing string
	line = variable.ReplaceAllStringFunc(line, func(ref string) string {
		v, ok := vars[ref[2:len(ref)-1]]
		if !ok {
			missing = ref
		}
		return escaped(v)
	})
	if missing != "" {
		return "", fmt.Errorf("%s is not set", missing)
	}
	return line, nil
}

func escaped(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return s // strings always encode
	}
	quoted := strings.TrimSuffix(b.String(), "\n")
	return quoted[1 : len(quoted)-1]
}

// fields splits a line at spaces. A part may end in a Go string, whose value it
// then has in place of the literal.
func fields(line string) ([]string, error) {
	var parts []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		end := strings.IndexAny(line, " \"`")
		if end < 0 || line[end] == ' ' {
			part, rest, _ := strings.Cut(line, " ")
			parts, line = append(parts, part), rest
			continue
		}
		quoted, err := strconv.QuotedPrefix(line[end:])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", line[end:], err)
		}
		s, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", quoted, err)
		}
		parts, line = append(parts, line[:end]+s), line[end+len(quoted):]
	}
	return parts, nil
}

// textValue reads the text that a line names: a Go string, "@FILE" for a file of
// the script, or "blob" and either of them for the git id of that content.
func (s *Script) textValue(spelled string) (string, error) {
	if content, ok := strings.CutPrefix(spelled, "blob "); ok {
		v, err := s.textValue(content)
		return BlobID([]byte(v)), err
	}
	if name, ok := strings.CutPrefix(spelled, "@"); ok {
		b, ok := s.Files[name]
		if !ok {
			return "", fmt.Errorf("the script has no file %s", name)
		}
		return string(b), nil
	}
	v, err := strconv.Unquote(spelled)
	if err != nil {
		return "", fmt.Errorf("%s is neither a Go string nor @FILE", spelled)
	}
	return v, nil
}

// jsonValue reads the value that a line names: JSON, or a text as "blob …" or
// "@FILE".
func (s *Script) jsonValue(spelled string) (any, error) {
	if strings.HasPrefix(spelled, "@") || strings.HasPrefix(spelled, "blob ") {
		return s.textValue(spelled)
	}
	return decodeJSON([]byte(spelled))
}

// BlobID is the id that git gives to a content.
func BlobID(content []byte) string {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

func decodeJSON(b []byte) (any, error) {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, fmt.Errorf("%.80s is not JSON: %w", b, err)
	}
	return v, nil
}
