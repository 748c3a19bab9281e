package args

import (
	"bytes"
	"crypto/sha256"
	"encoding"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Digest returns the SHA-256, in hexadecimal, of decoded arguments: the same
// for every spelling of one request in JSON. The properties named in except,
// such as one that only says which workspace is meant, do not count.
//
// It is stored to recognise a repeated request, so its definition is durable:
// the hash of the arguments as JSON in UTF-8, without white space, keys sorted
// by bytes. Properties are left out that are absent or hold their type's zero
// value or an empty list, so that one added later does not change the digest of
// requests without it. Strings escape the quotation mark, the backslash and, as
// \u00xx, control characters below U+0020. Whole numbers below 2^53 are in
// digits alone, others the shortest that give the same float64, as by
// strconv.FormatFloat with format g.
func Digest(in any, except ...string) string {
	v := reflect.Indirect(reflect.ValueOf(in))
	if !v.IsValid() || shapeOf(v.Type()) != object {
		mistake(reflect.TypeOf(in), "it is no struct")
	}
	tree := structTree(v)
	for _, name := range except {
		delete(tree, name)
	}
	h := sha256.New()
	writeTree(h, tree)
	return hex.EncodeToString(h.Sum(nil))
}

// treeOf turns a value into what writeTree writes.
func treeOf(v reflect.Value) any {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		return treeOf(v.Elem())
	}
	if c, ok := asClearable(v); ok {
		return treeOf(c.value())
	}
	switch shapeOf(v.Type()) {
	case free:
		return freeTree(v)
	case text:
		return textOf(v)
	case base64s:
		return base64.StdEncoding.EncodeToString(v.Bytes())
	case boolean:
		return v.Bool()
	case integer:
		if v.CanUint() {
			return json.Number(strconv.FormatUint(v.Uint(), 10))
		}
		return json.Number(strconv.FormatInt(v.Int(), 10))
	case number:
		return json.Number(strconv.FormatFloat(v.Float(), 'g', -1, 64))
	case list:
		items := make([]any, v.Len())
		for i := range items {
			items[i] = treeOf(v.Index(i))
		}
		return items
	case dict:
		items := make(map[string]any, v.Len())
		for key, value := range v.Seq2() {
			items[key.String()] = treeOf(value)
		}
		return items
	}
	return structTree(v)
}

// structTree is treeOf for a struct: without the properties that say nothing.
func structTree(v reflect.Value) map[string]any {
	tree := map[string]any{}
	for _, f := range fieldsOf(v.Type()) {
		member := v.FieldByIndex(f.index)
		empty := (member.Kind() == reflect.Slice || member.Kind() == reflect.Map) && member.Len() == 0
		if empty || member.IsZero() {
			continue
		}
		if c, ok := asClearable(member); ok {
			if _, null := c.state(); null {
				tree[f.name] = nil
				continue
			}
		}
		tree[f.name] = treeOf(member)
	}
	return tree
}

// asClearable returns v as a Clearable, if it is one.
func asClearable(v reflect.Value) (clearable, bool) {
	if !isClearable(v.Type()) {
		return nil, false
	}
	copied := reflect.New(v.Type())
	copied.Elem().Set(v)
	return copied.Interface().(clearable), true
}

// textOf is the string that a value of the shape text is in JSON.
func textOf(v reflect.Value) string {
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		text, err := m.MarshalText()
		if err != nil {
			return err.Error() // no value that was decoded from text
		}
		return string(text)
	}
	if v.Kind() != reflect.String {
		mistake(v.Type(), "it reads text and does not write it")
	}
	return v.String()
}

// freeTree reads a value of no declared type as JSON.
func freeTree(v reflect.Value) any {
	raw, err := json.Marshal(v.Interface())
	if err != nil {
		mistake(v.Type(), "%v", err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		mistake(v.Type(), "%v", err)
	}
	return tree
}

// writeTree writes null, booleans, numbers, strings, lists and objects as
// Digest defines it. A hash never fails to be written to.
func writeTree(w io.Writer, tree any) {
	switch t := tree.(type) {
	case nil:
		io.WriteString(w, "null")
	case bool:
		io.WriteString(w, strconv.FormatBool(t))
	case json.Number:
		io.WriteString(w, shortest(t.String()))
	case string:
		writeString(w, t)
	case []any:
		io.WriteString(w, "[")
		for i, item := range t {
			if i > 0 {
				io.WriteString(w, ",")
			}
			writeTree(w, item)
		}
		io.WriteString(w, "]")
	case map[string]any:
		io.WriteString(w, "{")
		for i, key := range slices.Sorted(maps.Keys(t)) {
			if i > 0 {
				io.WriteString(w, ",")
			}
			writeString(w, key)
			io.WriteString(w, ":")
			writeTree(w, t[key])
		}
		io.WriteString(w, "}")
	}
}

// writeString writes a string with the escapes that JSON demands and no others.
func writeString(w io.Writer, s string) {
	io.WriteString(w, `"`)
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		io.WriteString(w, s[from:i])
		if c < ' ' {
			fmt.Fprintf(w, `\u%04x`, c)
		} else {
			w.Write([]byte{'\\', c})
		}
		from = i + 1
	}
	io.WriteString(w, s[from:]+`"`)
}

// shortest writes a number in the one way that Digest defines: 10, 10.0 and 1e1
// are 10. Digits alone stay, also beyond what a float64 holds.
func shortest(number string) string {
	f, err := strconv.ParseFloat(number, 64)
	const exact = 1 << 53 // up to here a float64 holds every whole number
	switch {
	case err == nil && f == math.Trunc(f) && math.Abs(f) < exact:
		return strconv.FormatInt(int64(f), 10)
	case err == nil && strings.ContainsAny(number, ".eE"):
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return number
}
