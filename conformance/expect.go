package conformance

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// isExpectation reports whether a word asks about the last action.
func isExpectation(word string) bool {
	return slices.Contains([]string{"ok", "error", "text", "notes", "bytes", "json", "count"}, word)
}

// expect holds the last action's outcome against a line.
func (t *thread) expect(c command) error {
	if t.last.from.word == "" {
		return fmt.Errorf("nothing was done that this could be about")
	}
	if c.word == "error" {
		return t.expectError(c.rest)
	}
	if err := t.settled(); err != nil {
		return err
	}
	switch c.word {
	case "text":
		return t.expectText(t.last.text, c.rest)
	case "bytes":
		if t.last.bytes == nil {
			return fmt.Errorf("there are no bytes; the text is %q", clipped(t.last.text))
		}
		return t.expectText(string(t.last.bytes), c.rest)
	case "notes":
		return t.expectText(t.last.notes, c.rest)
	case "json":
		return t.expectJSON(c.rest)
	case "count":
		return t.expectCount(c.rest)
	}
	if c.rest != "" {
		return fmt.Errorf("takes nothing")
	}
	return nil
}

// error KIND expects a refusal with that code; KIND|KIND takes either.
func (t *thread) expectError(kind string) error {
	if kind == "" {
		return fmt.Errorf("needs a kind")
	}
	if !t.last.failed {
		return fmt.Errorf("succeeded: %.300s %.300s", t.last.text, t.last.facts)
	}
	if !slices.Contains(strings.Split(kind, "|"), t.last.code) {
		return fmt.Errorf("got %s: %s", t.last.code, t.last.text)
	}
	t.last.granted = true
	return nil
}

// text, notes and bytes OP VALUE, where OP is ==, !=, contains, lacks or matches.
func (t *thread) expectText(got, rest string) error {
	op, spelled, _ := strings.Cut(rest, " ")
	want, err := t.play.script.textValue(strings.TrimSpace(spelled))
	if err != nil {
		return err
	}
	return compareText(got, op, want)
}

func compareText(got, op, want string) error {
	var holds bool
	switch op {
	case "==":
		holds = got == want
	case "!=":
		holds = got != want
	case "contains":
		holds = strings.Contains(got, want)
	case "lacks":
		holds = !strings.Contains(got, want)
	case "matches":
		re, err := regexp.Compile(want)
		if err != nil {
			return err
		}
		holds = re.MatchString(got)
	default:
		return fmt.Errorf("unknown comparison %q", op)
	}
	if !holds {
		return fmt.Errorf("got %q", clipped(got))
	}
	return nil
}

func clipped(s string) string {
	const most = 1000
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}

// lookup returns what a path names in the facts.
func (t *thread) lookup(path string) (any, bool, error) {
	if t.last.facts == nil {
		return nil, false, fmt.Errorf("there are no fields; the text is %q", clipped(t.last.text))
	}
	v, err := decodeJSON(t.last.facts)
	if err != nil {
		return nil, false, err
	}
	return query(v, path)
}

// json PATH OP VALUE, where OP is ==, !=, contains, lacks, matches, and absent
// and present without a value.
func (t *thread) expectJSON(rest string) error {
	path, rest, _ := strings.Cut(rest, " ")
	op, spelled, _ := strings.Cut(strings.TrimSpace(rest), " ")
	got, there, err := t.lookup(path)
	if err != nil {
		return err
	}
	switch op {
	case "absent", "present":
		if spelled != "" {
			return fmt.Errorf("%s takes no value", op)
		}
		if there != (op == "present") {
			return fmt.Errorf("got %s", shown(got))
		}
		return nil
	}
	if !there {
		return fmt.Errorf("it is absent in %.600s", t.last.facts)
	}
	want, err := t.play.script.jsonValue(strings.TrimSpace(spelled))
	if err != nil {
		return err
	}
	return compareJSON(got, op, want)
}

func compareJSON(got any, op string, want any) error {
	text, isText := got.(string)
	pattern, isPattern := want.(string)
	var holds bool
	switch op {
	case "==":
		holds = reflect.DeepEqual(got, want)
	case "!=":
		holds = !reflect.DeepEqual(got, want)
	case "contains", "lacks", "matches":
		if isText && isPattern {
			return compareText(text, op, pattern)
		}
		list, isList := got.([]any)
		if !isList || op == "matches" {
			return fmt.Errorf("%s does not apply to %s", op, shown(got))
		}
		holds = slices.ContainsFunc(list, func(e any) bool { return covers(e, want) }) == (op == "contains")
	default:
		return fmt.Errorf("unknown comparison %q", op)
	}
	if !holds {
		return fmt.Errorf("got %s", shown(got))
	}
	return nil
}

// covers reports whether got is want, or an object that has all that want has.
func covers(got, want any) bool {
	w, ok := want.(map[string]any)
	g, both := got.(map[string]any)
	if !ok || !both {
		return reflect.DeepEqual(got, want)
	}
	for key, v := range w {
		if have, there := g[key]; !there || !covers(have, v) {
			return false
		}
	}
	return true
}

func shown(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return clipped(string(b))
}

// jsonText is what a path names, as a variable holds it: a string as it is,
// anything else as JSON.
func (t *thread) jsonText(path string) (string, error) {
	v, there, err := t.lookup(path)
	if err != nil {
		return "", err
	}
	if !there {
		return "", fmt.Errorf("%s is absent in %.600s", path, t.last.facts)
	}
	if s, ok := v.(string); ok {
		return s, nil
	}
	return shown(v), nil
}

// count PATH OP N compares the length of an array.
func (t *thread) expectCount(rest string) error {
	args := strings.Fields(rest)
	if len(args) != 3 {
		return fmt.Errorf("needs a path, a comparison and a number")
	}
	got, err := t.count(args[0])
	if err != nil {
		return err
	}
	want, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	compare := map[string]bool{"==": got == want, "!=": got != want, "<=": got <= want, ">=": got >= want}
	holds, known := compare[args[1]]
	if !known {
		return fmt.Errorf("unknown comparison %q", args[1])
	}
	if !holds {
		return fmt.Errorf("got %d", got)
	}
	return nil
}

func (t *thread) count(path string) (int, error) {
	v, _, err := t.lookup(path)
	if err != nil {
		return 0, err
	}
	list, ok := v.([]any)
	if !ok {
		return 0, fmt.Errorf("%s is no array in %.600s", path, t.last.facts)
	}
	return len(list), nil
}
