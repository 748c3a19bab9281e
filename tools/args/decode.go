package args

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"carrel.dev/workspace"
)

// Decode reads the arguments of a call into the struct that in points to. Nil,
// empty and null arguments are those of a call without any; properties that are
// absent or null leave their fields as they are, except that null sets a
// [Clearable]. Whatever the schema would refuse is Invalid, in a message that
// names the argument, what it must be and what came; in may then be filled in
// part.
func Decode(raw json.RawMessage, in any) error {
	v := reflect.ValueOf(in)
	if v.Kind() != reflect.Pointer || shapeOf(v.Type()) != object {
		mistake(reflect.TypeOf(in), "it is no pointer to a struct")
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		raw = []byte("null")
	}
	if !json.Valid(raw) {
		var discard json.RawMessage
		return workspace.Errorf(workspace.Invalid, "arguments are not JSON: %w", json.Unmarshal(raw, &discard))
	}
	if isNull(raw) {
		raw = []byte("{}")
	}
	return decode(raw, v.Elem(), spot{})
}

// spot is where in the arguments a value stands, and what its tags demand.
type spot struct {
	name  string // "edits[0].oldString"; "" for all the arguments
	field field
}

// String names the spot in a message.
func (s spot) String() string {
	if s.name == "" {
		return "arguments"
	}
	return "argument `" + s.name + "`"
}

// member is the spot of a property of the object at s.
func (s spot) member(key string) string {
	if s.name == "" {
		return clip(key)
	}
	return s.name + "." + clip(key)
}

// wrong is the error of a value of the wrong type.
func (s spot) wrong(t reflect.Type, raw []byte) error {
	return workspace.Errorf(workspace.Invalid, "%s must be %s, got %s", s, wanted(t), got(raw))
}

// decode reads one value that is not null, unless its type takes null.
func decode(raw []byte, v reflect.Value, at spot) error {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		return decode(raw, v.Elem(), at)
	}
	if isClearable(v.Type()) {
		c := v.Addr().Interface().(clearable)
		c.set(false)
		return decode(raw, c.value(), at)
	}
	s := shapeOf(v.Type())
	plain := unwrap(raw, s)
	if plain == nil || !fits(s, kind(plain)) {
		return at.wrong(v.Type(), raw)
	}
	switch s {
	case free:
		return decodeFree(plain, v, at)
	case boolean:
		v.SetBool(kind(plain) == 't')
		return nil
	case integer, number:
		return decodeNumber(plain, v, at)
	case list:
		return decodeList(plain, v, at)
	case dict:
		return decodeDict(plain, v, at)
	case object:
		return decodeObject(plain, v, at)
	}
	return decodeString(plain, v, at)
}

// unwrap returns a value, or what its text says if it is a string where
// something else is wanted; nil if the text is no JSON.
func unwrap(raw []byte, want shape) []byte {
	if kind(raw) != '"' || want == free || want == text || want == base64s {
		return raw
	}
	inner, err := unquote(raw)
	plain := bytes.TrimSpace([]byte(inner))
	if err != nil || !json.Valid(plain) {
		return nil
	}
	return plain
}

// fits reports whether a kind of JSON value can be of a shape.
func fits(s shape, kind byte) bool {
	switch s {
	case free:
		return true
	case text, base64s:
		return kind == '"'
	case boolean:
		return kind == 't' || kind == 'f'
	case integer, number:
		return kind == '0'
	case list:
		return kind == '['
	}
	return kind == '{'
}

func decodeList(raw []byte, v reflect.Value, at spot) error {
	if v.Kind() == reflect.Array {
		mistake(v.Type(), "arguments take slices only")
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	i := 0
	for value := range elements(raw) {
		elem := reflect.New(v.Type().Elem()).Elem()
		where := spot{name: fmt.Sprintf("%s[%d]", at.name, i)}
		if isNull(value) {
			return where.wrong(elem.Type(), value)
		}
		if err := decode(value, elem, where); err != nil {
			return err
		}
		v.Set(reflect.Append(v, elem))
		i++
	}
	return nil
}

// decodeDict reads a map. A key that is null is there, without a value, if the
// values are pointers, and absent otherwise.
func decodeDict(raw []byte, v reflect.Value, at spot) error {
	v.Set(reflect.MakeMap(v.Type()))
	seen := map[string]bool{}
	for quoted, value := range members(raw) {
		key, err := at.key(quoted, seen)
		if err != nil {
			return err
		}
		elem := reflect.New(v.Type().Elem()).Elem()
		switch {
		case !isNull(value):
			if err := decode(value, elem, spot{name: at.member(key)}); err != nil {
				return err
			}
		case elem.Kind() != reflect.Pointer:
			continue
		}
		v.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), elem)
	}
	return nil
}

// key decodes a key of the object at s and refuses one that was seen before.
func (s spot) key(quoted []byte, seen map[string]bool) (string, error) {
	key, err := unquote(quoted)
	if err != nil {
		return "", workspace.Errorf(workspace.Invalid, "a name in %s %w", s, err)
	}
	if seen[key] {
		return "", workspace.Errorf(workspace.Invalid, "argument `%s` is given twice", s.member(key))
	}
	seen[key] = true
	return key, nil
}

func decodeObject(raw []byte, v reflect.Value, at spot) error {
	fields := fieldsOf(v.Type())
	seen, present := map[string]bool{}, map[string]bool{}
	for quoted, value := range members(raw) {
		key, err := at.key(quoted, seen)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == key })
		if i < 0 {
			return unknown(fields, key, at)
		}
		f := fields[i]
		target := v.FieldByIndex(f.index)
		if isNull(value) {
			if isClearable(target.Type()) {
				target.Addr().Interface().(clearable).set(true)
			}
			continue
		}
		present[key] = true
		if err := decode(value, target, spot{name: at.member(key), field: f}); err != nil {
			return err
		}
	}
	for _, f := range fields {
		if f.required && !present[f.name] {
			return workspace.Errorf(workspace.Invalid, "missing argument `%s`; takes %s", at.member(f.name), taken(fields))
		}
	}
	return nil
}

// unknown is the error of a property that the object at a spot does not have.
func unknown(fields []field, key string, at spot) error {
	return workspace.Errorf(workspace.Invalid, "unknown argument `%s`%s; takes %s",
		at.member(key), didYouMean(key, shown(fields)), taken(fields))
}
