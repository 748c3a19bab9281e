package args

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// field is one property of a struct, as its tags describe it.
type field struct {
	name     string
	index    []int
	typ      reflect.Type
	doc      string
	required bool // arguments must have it
	hidden   bool // taken, but not in the schema
	omitted  bool // left out of a result when empty
	enum     []string
	min, max *float64
}

// known has the []field of each reflect.Type that was asked about: what a type
// says never changes.
var known sync.Map

// fieldsOf lists the properties of a struct in the order of its fields, those
// of embedded structs in their place. The list is shared.
func fieldsOf(t reflect.Type) []field {
	if fields, ok := known.Load(t); ok {
		return fields.([]field)
	}
	fields := readFields(t)
	known.Store(t, fields)
	return fields
}

func readFields(t reflect.Type) []field {
	var all []field
	for i := range t.NumField() {
		sf := t.Field(i)
		name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
		switch {
		case sf.Anonymous && name == "" && sf.Type.Kind() == reflect.Struct:
			for _, f := range fieldsOf(sf.Type) {
				f.index = append([]int{i}, f.index...)
				all = append(all, f)
			}
			continue
		case !sf.IsExported() || name == "-":
			continue
		case name == "":
			mistake(t, "field %s has no json name", sf.Name)
		}
		f := field{
			name: name, index: []int{i}, typ: sf.Type, doc: sf.Tag.Get("doc"),
			required: sf.Tag.Get("req") == "true",
			hidden:   sf.Tag.Get("hidden") == "true",
			omitted:  strings.Contains(options, "omit"),
			min:      bound(t, sf, "min"), max: bound(t, sf, "max"),
		}
		if enum := sf.Tag.Get("enum"); enum != "" {
			f.enum = strings.Split(enum, ",")
		}
		f.check(t)
		all = append(all, f)
	}
	return all
}

// bound reads a numeric tag.
func bound(t reflect.Type, sf reflect.StructField, tag string) *float64 {
	text, ok := sf.Tag.Lookup(tag)
	if !ok {
		return nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		mistake(t, "field %s has %s:%q", sf.Name, tag, text)
	}
	return &n
}

// check panics if a tag does not fit the field's type.
func (f *field) check(t reflect.Type) {
	s := shapeOf(f.typ)
	if (f.min != nil || f.max != nil) && s != integer && s != number {
		mistake(t, "%s has a bound and is no number", f.name)
	}
	if f.enum != nil && s != text {
		mistake(t, "%s has an enum and is no string", f.name)
	}
}

// mistake panics about a struct that breaks the rules of the package.
func mistake(t reflect.Type, format string, args ...any) {
	panic(fmt.Sprintf("args: %s: %s", t, fmt.Sprintf(format, args...)))
}

// shape is what a type is in JSON.
type shape int

const (
	free    shape = iota // any JSON value
	text                 // a string
	base64s              // a string that carries bytes
	boolean
	integer
	number
	list
	dict // an object with any keys
	object
)

var (
	rawType        = reflect.TypeFor[json.RawMessage]()
	marshalerType  = reflect.TypeFor[encoding.TextMarshaler]()
	textReaderType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// shapeOf classifies a type, seeing through pointers and Clearable.
func shapeOf(t reflect.Type) shape {
	t = target(t)
	switch k := t.Kind(); {
	case t == rawType, k == reflect.Interface:
		return free
	case t.Implements(marshalerType), readsText(t), k == reflect.String:
		return text
	case k == reflect.Bool:
		return boolean
	case k >= reflect.Int && k <= reflect.Uint64:
		return integer
	case k == reflect.Float32, k == reflect.Float64:
		return number
	case k == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return base64s
	case k == reflect.Slice, k == reflect.Array:
		return list
	case k == reflect.Map && t.Key().Kind() == reflect.String:
		return dict
	case k == reflect.Struct:
		return object
	}
	mistake(t, "the type has no plain form in JSON")
	return free
}

// readsText reports whether values of t decode themselves from text.
func readsText(t reflect.Type) bool { return reflect.PointerTo(t).Implements(textReaderType) }

// target is the type that a value of t carries in JSON: that behind pointers
// and Clearable.
func target(t reflect.Type) reflect.Type {
	for {
		switch {
		case t.Kind() == reflect.Pointer:
			t = t.Elem()
		case isClearable(t):
			t = reflect.New(t).Interface().(clearable).value().Type()
		default:
			return t
		}
	}
}

// Clearable is an argument for which null has a meaning of its own, mostly
// "clear this", while the schema shows the plain type of T.
type Clearable[T any] struct {
	Given bool // it was sent, be it as null
	Null  bool // it was sent as null; Value is zero
	Value T
}

// clearable is what every Clearable is, whatever its T.
type clearable interface {
	set(null bool)
	state() (given, null bool)
	value() reflect.Value
}

var _ clearable = (*Clearable[int])(nil)

func (c *Clearable[T]) set(null bool)             { c.Given, c.Null = true, null }
func (c *Clearable[T]) state() (given, null bool) { return c.Given, c.Null }
func (c *Clearable[T]) value() reflect.Value      { return reflect.ValueOf(&c.Value).Elem() }

// isClearable reports whether t is a Clearable.
func isClearable(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[clearable]())
}
