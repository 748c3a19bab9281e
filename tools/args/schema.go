package args

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"time"
)

// Schema returns the JSON Schema of an argument struct: an object that takes
// the struct's properties and no others, in the order of its fields, each of
// one plain type. It has no unions, no null and no references, which hosts
// handle badly. The properties named in hide are left out, as are those tagged
// hidden; [Decode] takes both.
func Schema(t reflect.Type, hide ...string) json.RawMessage {
	return render(schema{input: true, hide: hide}, t)
}

// OutputSchema returns the JSON Schema of a result struct by the same rules,
// except that an object may have further properties, so that a later version
// can add some, and that a property is required unless it is tagged omitempty
// or omitzero. A result never has null in it: whoever makes one leaves no slice
// nil and no pointer without omitempty.
func OutputSchema(t reflect.Type) json.RawMessage {
	return render(schema{}, t)
}

func render(s schema, t reflect.Type) json.RawMessage {
	if shapeOf(t) != object {
		mistake(t, "it is no struct")
	}
	s.typ(t, field{})
	return s.buf.Bytes()
}

// schema writes one schema. It writes JSON itself to keep the order of fields.
type schema struct {
	buf   bytes.Buffer
	input bool
	hide  []string       // properties of the outermost object to leave out
	above []reflect.Type // the structs being written, to refuse recursion
}

// typ writes the schema of a type, with what a field says about it.
func (s *schema) typ(t reflect.Type, f field) {
	t = target(t)
	s.buf.WriteByte('{')
	switch shapeOf(t) {
	case text:
		s.member("type", "string")
		if t == reflect.TypeFor[time.Time]() {
			s.member("format", "date-time")
		}
	case base64s:
		s.member("type", "string")
		s.member("contentEncoding", "base64")
	case boolean:
		s.member("type", "boolean")
	case integer:
		s.member("type", "integer")
	case number:
		s.member("type", "number")
	case list:
		s.member("type", "array")
		s.key("items")
		s.typ(t.Elem(), field{})
	case dict:
		s.member("type", "object")
		if shapeOf(t.Elem()) != free {
			s.key("additionalProperties")
			s.typ(t.Elem(), field{})
		}
	case object:
		s.member("type", "object")
		s.object(t)
	}
	s.limits(f)
	s.buf.WriteByte('}')
}

// limits writes what a field's tags add to the schema of its type.
func (s *schema) limits(f field) {
	if f.doc != "" {
		s.member("description", f.doc)
	}
	if f.enum != nil {
		s.member("enum", f.enum)
	}
	if f.min != nil {
		s.member("minimum", *f.min)
	}
	if f.max != nil {
		s.member("maximum", *f.max)
	}
}

// object writes the keywords of a struct's properties.
func (s *schema) object(t reflect.Type) {
	if slices.Contains(s.above, t) {
		mistake(t, "it contains itself")
	}
	hide := s.hide
	s.above, s.hide = append(s.above, t), nil
	var required []string
	s.key("properties")
	s.buf.WriteByte('{')
	for _, f := range fieldsOf(t) {
		if s.input && (f.hidden || slices.Contains(hide, f.name)) {
			continue
		}
		s.checkPlain(t, f)
		s.key(f.name)
		s.typ(f.typ, f)
		if s.input && f.required || !s.input && !f.omitted {
			required = append(required, f.name)
		}
	}
	s.buf.WriteByte('}')
	if required != nil {
		s.member("required", required)
	}
	if s.input {
		s.member("additionalProperties", false)
	}
	s.above = s.above[:len(s.above)-1]
}

// checkPlain refuses a property without one plain type that is never null.
func (s *schema) checkPlain(t reflect.Type, f field) {
	switch {
	case s.input && shapeOf(f.typ) == free:
		mistake(t, "argument %s has no type", f.name)
	case !s.input && f.typ.Kind() == reflect.Pointer && !f.omitted:
		mistake(t, "%s may be null: tag it omitempty", f.name)
	}
}

// member writes a member of the current object.
func (s *schema) member(key string, value any) {
	s.key(key)
	s.buf.Write(compact(value))
}

// key begins a member of the current object.
func (s *schema) key(key string) {
	if b := s.buf.Bytes(); b[len(b)-1] != '{' {
		s.buf.WriteByte(',')
	}
	s.buf.Write(compact(key))
	s.buf.WriteByte(':')
}

// compact encodes v without the escapes that encoding/json adds for HTML. The
// values that reach it always encode.
func compact(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}
