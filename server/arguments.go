package server

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"carrel.dev/tools/args"
	"carrel.dev/workspace"
)

// The arguments of a call stay the JSON text that the client sent, so that the
// tool judges every byte of it. Only single members are taken out and put in.

// unwrap returns the arguments of a host that sends them as JSON text in a
// string. What is not that stays as it is.
func unwrap(raw json.RawMessage) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	var inner string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &inner) != nil {
		return raw
	}
	if !json.Valid([]byte(inner)) || strings.ContainsRune(inner, utf8.RuneError) {
		return raw // where U+FFFD stands, decoding may have replaced something
	}
	return json.RawMessage(inner)
}

// take decodes one member of the arguments into in, a pointer to a struct with
// that property, and returns the arguments without it. A member that is absent
// or null leaves in as it is; one given twice or of another type is Invalid.
// Arguments that are no object have no members.
func take(raw json.RawMessage, name string, in any) (without json.RawMessage, err error) {
	value, without, times := cut(raw, name)
	switch times {
	case 0:
		return raw, nil
	case 1:
		return without, args.Decode(insert(nil, name, value), in)
	}
	return raw, workspace.Errorf(workspace.Invalid, "argument `%s` is given twice", name)
}

// cut returns the last value of a member, the object without it, and how often
// it was there.
func cut(raw json.RawMessage, name string) (value, without json.RawMessage, times int) {
	if bytes.IndexByte(raw, '\\') < 0 && !bytes.Contains(raw, []byte(`"`+name+`"`)) {
		return nil, raw, 0 // no key is spelled with escapes, and none without
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, raw, 0
	}
	without = raw
	for first := true; dec.More(); first = false {
		start := dec.InputOffset()
		key, err := dec.Token()
		var v json.RawMessage
		if err != nil || dec.Decode(&v) != nil {
			return nil, raw, 0 // no JSON, which the tool will say
		}
		if key != name {
			continue
		}
		times, value = times+1, v
		without = splice(raw[:start], raw[dec.InputOffset():], first)
	}
	return value, without, times
}

// splice joins what stands before and after a member, whose comma is with what
// comes before unless it is the first.
func splice(before, after json.RawMessage, first bool) json.RawMessage {
	if first {
		after = bytes.TrimPrefix(bytes.TrimLeft(after, " \t\r\n"), []byte(","))
	}
	return append(before[:len(before):len(before)], after...)
}

// insert returns an object with another member in front. Arguments that are
// absent or null become an object; what is none stays as it is.
func insert(raw json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	rest := bytes.TrimSpace(raw)
	switch {
	case len(rest) == 0 || string(rest) == "null":
		rest = []byte("}")
	case rest[0] != '{':
		return raw
	default:
		rest = bytes.TrimLeft(rest[1:], " \t\r\n")
		if len(rest) > 0 && rest[0] != '}' {
			rest = append([]byte(","), rest...)
		}
	}
	key, _ := json.Marshal(name) // a string always encodes
	out := append([]byte("{"), key...)
	out = append(append(out, ':'), value...)
	return append(out, rest...)
}
