package conformance

import (
	"fmt"
	"strconv"
	"strings"
)

// query returns what a path names in a JSON value, and whether it is there. "."
// is the value itself. A path is names with dots between them; after a name,
// [2] takes an element, [path=/a] the first one whose field has that text, [*]
// what the rest of the path names in each element, ["a.b"] a field whose name
// has a dot.
func query(v any, path string) (any, bool, error) {
	if path == "." || path == "" {
		return v, true, nil
	}
	path = strings.TrimPrefix(path, ".")
	if strings.HasPrefix(path, "[") {
		inner, rest, ok := strings.Cut(path[1:], "]")
		if !ok {
			return nil, false, fmt.Errorf("[ without ] in %q", path)
		}
		return element(v, inner, rest)
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, false, nil
	}
	next, ok := object[path[:end]]
	if !ok {
		return nil, false, nil
	}
	return query(next, path[end:])
}

// element applies one pair of brackets.
func element(v any, inner, rest string) (any, bool, error) {
	if strings.HasPrefix(inner, `"`) {
		return quotedField(v, inner, rest)
	}
	list, ok := v.([]any)
	if !ok {
		return nil, false, nil
	}
	if inner == "*" {
		return each(list, rest)
	}
	if field, want, ok := strings.Cut(inner, "="); ok {
		for _, e := range list {
			got, there, err := query(e, field)
			if err != nil {
				return nil, false, err
			}
			if there && fmt.Sprint(got) == want {
				return query(e, rest)
			}
		}
		return nil, false, nil
	}
	i, err := strconv.Atoi(inner)
	if err != nil {
		return nil, false, fmt.Errorf("[%s] is neither an index nor [*] nor [field=text]", inner)
	}
	if i < 0 || i >= len(list) {
		return nil, false, nil
	}
	return query(list[i], rest)
}

func quotedField(v any, inner, rest string) (any, bool, error) {
	name, err := strconv.Unquote(inner)
	if err != nil {
		return nil, false, fmt.Errorf("[%s]: %w", inner, err)
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, false, nil
	}
	next, ok := object[name]
	if !ok {
		return nil, false, nil
	}
	return query(next, rest)
}

// each is what the rest of a path names in the elements that have it.
func each(list []any, rest string) (any, bool, error) {
	all := []any{}
	for _, e := range list {
		found, ok, err := query(e, rest)
		if err != nil {
			return nil, false, err
		}
		if ok {
			all = append(all, found)
		}
	}
	return all, true, nil
}
