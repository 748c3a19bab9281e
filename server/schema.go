package server

import (
	"encoding/json"
	"reflect"
	"strings"

	"carrel.dev/tools"
	"carrel.dev/tools/args"
)

// Listing is a tool as a client is shown it.
type Listing struct {
	Tool        *tools.Tool
	Name        string // in the client's spelling
	Description string
	Input       json.RawMessage // JSON Schema of the arguments
	Output      json.RawMessage // JSON Schema of the fields; nil if they go beside the text
}

// Tools lists the tools that the session may call, in the order in which they
// are to be shown.
func (s *Session) Tools(spelling Spelling) []Listing {
	var all []Listing
	v := voice{s, spelling}
	for _, t := range s.desk.tools {
		if !s.has(t) {
			continue
		}
		l := Listing{Tool: t, Name: spelling.Of(t.Name), Description: v.say(t.Description), Input: s.input(t)}
		if !t.TextOnly {
			l.Output = output(t)
		}
		all = append(all, l)
	}
	return all
}

// input is the schema of a tool's arguments on this session: with `workspace`,
// unless the binding is fixed or the tool names its workspace by itself.
func (s *Session) input(t *tools.Tool) json.RawMessage {
	fixed := s.binding.limits()
	fields := properties(t.In)
	switch {
	case namesNone(t):
	case namesOwn(t) && fixed:
		for i, f := range fields {
			if strings.HasPrefix(f.Tag.Get("json"), "path") {
				fields[i].Tag = `json:"path,omitempty" doc:"may be left out: this session has one workspace"`
			}
		}
	case !namesOwn(t) && !fixed:
		fields = append(fields, workspaceProperty(`json:"workspace,omitempty" doc:"default: this session's"`))
	}
	return args.Schema(reflect.StructOf(fields))
}

// output is the schema of a tool's fields, which always may name the workspace.
func output(t *tools.Tool) json.RawMessage {
	fields := properties(t.Out)
	if !hasWorkspace(t.Out) {
		fields = append(fields, workspaceProperty(`json:"workspace,omitempty"`))
	}
	return args.OutputSchema(reflect.StructOf(fields))
}

func workspaceProperty(tag reflect.StructTag) reflect.StructField {
	return reflect.StructField{Name: "Workspace", Type: reflect.TypeFor[string](), Tag: tag}
}

// properties are the fields of a struct that JSON shows, those of embedded
// structs among them.
func properties(t reflect.Type) []reflect.StructField {
	var fields []reflect.StructField
	for _, f := range reflect.VisibleFields(t) {
		if f.IsExported() && !f.Anonymous {
			fields = append(fields, f)
		}
	}
	return fields
}
