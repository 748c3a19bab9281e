// Package args goes from a tool's argument struct to the JSON Schema that
// clients see, and from what clients send back to the struct.
//
// A property is an exported field with a json name. Its tags say the rest:
//
//	type In struct {
//		Path  string `json:"path" doc:"file to read" req:"true"`
//		Limit *int   `json:"limit,omitempty" doc:"lines" min:"1" max:"2000"`
//		Mode  string `json:"mode,omitempty" enum:"content,files,count"`
//		Trace bool   `json:"trace,omitempty" hidden:"true"` // taken, not in the schema
//	}
//
// The fields of an embedded struct count as the outer one's. A pointer tells
// absent from zero, a [Clearable] tells absent from null. min and max belong to
// numbers, enum to strings. Other types are strings, booleans, integers,
// floats, slices, maps with string keys, structs, []byte (base64 text) and
// whatever marshals itself as text; json.RawMessage and any take anything, but
// not as a property of arguments. A struct that breaks these rules is a mistake
// in the program: every function here panics on it.
//
// # Decisions
//
// Models and hosts are met where their meaning is certain, and told otherwise
// where it is not. JSON null is an argument left out. Hosts that cannot send an
// array or a number send its JSON text, so a string is read once more where the
// schema has anything but a string. 10.0 is the integer 10. On the other hand
// names are exact, since a near miss that is dropped in silence turns a dry run
// into a write; an argument given twice is refused, since parsers disagree
// about which of the two counts; and a string that UTF-8 cannot hold (a lone
// surrogate, a stray byte) is refused, since encoding/json would replace it by
// U+FFFD and a file would be written other than as sent.
package args
