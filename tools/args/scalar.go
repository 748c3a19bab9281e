package args

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"carrel.dev/workspace"
)

// decodeFree keeps a value as it is, in the types of encoding/json.
func decodeFree(raw []byte, v reflect.Value, at spot) error {
	if v.Type() == rawType {
		v.SetBytes(slices.Clone(raw))
		return nil
	}
	if err := json.Unmarshal(raw, v.Addr().Interface()); err != nil {
		return workspace.Errorf(workspace.Invalid, "%s: %w", at, err)
	}
	return nil
}

func decodeString(raw []byte, v reflect.Value, at spot) error {
	s, err := unquote(raw)
	if err != nil {
		return workspace.Errorf(workspace.Invalid, "%s %w", at, err)
	}
	if at.field.enum != nil && !slices.Contains(at.field.enum, s) {
		return workspace.Errorf(workspace.Invalid, "%s must be one of %s, got %q%s", at,
			strings.Join(at.field.enum, ", "), clip(s), didYouMean(s, at.field.enum))
	}
	switch {
	case shapeOf(v.Type()) == base64s:
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return workspace.Errorf(workspace.Invalid, "%s is not base64: %w", at, err)
		}
		v.SetBytes(b)
	case readsText(v.Type()):
		if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(s)); err != nil {
			return workspace.Errorf(workspace.Invalid, "%s: %w", at, err)
		}
	default:
		v.SetString(s)
	}
	return nil
}

func decodeNumber(raw []byte, v reflect.Value, at spot) error {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return workspace.Errorf(workspace.Invalid, "%s is out of range: %s", at, clip(string(raw)))
	}
	if err := at.inBounds(f, raw); err != nil {
		return err
	}
	if v.CanFloat() {
		v.SetFloat(f)
		return nil
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil { // not digits alone, or too many of them
		if f != math.Trunc(f) {
			return at.wrong(v.Type(), raw)
		}
		n = int64(f)
	}
	switch {
	case math.Abs(f) >= math.MaxInt64,
		v.CanInt() && v.OverflowInt(n),
		v.CanUint() && (n < 0 || v.OverflowUint(uint64(n))):
		return workspace.Errorf(workspace.Invalid, "%s is out of range: %s", at, clip(string(raw)))
	case v.CanInt():
		v.SetInt(n)
	default:
		v.SetUint(uint64(n))
	}
	return nil
}

// inBounds holds a number against the tags min and max.
func (s spot) inBounds(n float64, raw []byte) error {
	low, high := s.field.min, s.field.max
	if (low == nil || n >= *low) && (high == nil || n <= *high) {
		return nil
	}
	var want string
	switch {
	case high == nil:
		want = fmt.Sprintf("at least %v", *low)
	case low == nil:
		want = fmt.Sprintf("at most %v", *high)
	default:
		want = fmt.Sprintf("from %v to %v", *low, *high)
	}
	return workspace.Errorf(workspace.Invalid, "%s must be %s, got %s", s, want, clip(string(raw)))
}
