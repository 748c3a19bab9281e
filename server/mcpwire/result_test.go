package mcpwire_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"carrel.dev/server/mcpwire"
	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// E7: a text travels once, and not much longer than JSON has to make it.
func TestTextTravelsOnce(t *testing.T) {
	r := connect(t, &mcpwire.Config{Project: newProject(t, map[string]string{"a": "a\n"})})
	r.initialize("example")
	r.ok("workspace.create", `{"path":"/agents/a"}`)
	text := strings.Repeat(`<a href="x">&amp;</a> \u003c`+"\n", 500)
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	r.ok("writeFile", fmt.Sprintf(`{"path":"f","content":%s}`, quoted))
	m := r.ask("tools/call", `{"name":"readFile","arguments":{"path":"f"}}`)
	if got := m.decode(t).Content[0].Text; got != text {
		t.Errorf("read another text of %d bytes: %.100q", len(got), got)
	}
	plain := len(text) + strings.Count(text, `"`) + strings.Count(text, "\n") + strings.Count(text, `\`)
	if len(m.line)*10 > plain*11 {
		t.Errorf("%d bytes on the wire for %d of JSON text", len(m.line), plain)
	}
}

func TestData(t *testing.T) {
	give := func(d tools.Data) toolResult {
		r := connect(t, &mcpwire.Config{
			Project: newProject(t, map[string]string{"a": "a\n"}), Workspace: "/agents/a",
			Run: func(context.Context, *tools.Tool, tools.Call, json.RawMessage) (tools.Output, error) {
				return shown{tools.Rendering{Data: &d}}, nil
			},
		})
		return r.ok("readFile", `{"path":"f"}`)
	}
	image := give(tools.Data{MIME: "image/png", Bytes: []byte("png"), Image: true})
	if c := image.Content; len(c) != 1 || c[0].Type != "image" || c[0].Data != "cG5n" || c[0].MIMEType != "image/png" {
		t.Errorf("an image is %+v", c)
	}
	other := give(tools.Data{URI: "carrel:///f", MIME: "application/zip", Bytes: []byte("zip")})
	if c := other.Content; len(c) != 1 || c[0].Type != "resource" || c[0].Resource.Blob != "emlw" || c[0].Resource.URI != "carrel:///f" {
		t.Errorf("other bytes are %+v", c)
	}
}

// shown is a tool's result with nothing but a rendering.
type shown struct{ r tools.Rendering }

func (s shown) Render() tools.Rendering { return s.r }

// Every kind of error is a result that a model can act on, with its code; only
// what nobody classified is withheld.
func TestEveryKindOfError(t *testing.T) {
	var fail error
	r := connect(t, &mcpwire.Config{
		Project: newProject(t, map[string]string{"a": "a\n"}), Workspace: "/agents/a",
		Run: func(context.Context, *tools.Tool, tools.Call, json.RawMessage) (tools.Output, error) {
			return nil, fail
		},
	})
	for _, kind := range workspace.Kinds {
		fail = workspace.InOp("edit", workspace.Errorf(kind, "the reason").At("/p").Hinted("What to do."))
		want := "edit /p: the reason\nWhat to do."
		m := r.ask("tools/call", `{"name":"edit","arguments":{}}`)
		res := m.decode(t)
		if !res.IsError || len(res.Content) != 1 || res.StructuredContent != nil || string(res.Meta["code"]) != `"`+string(kind)+`"` {
			t.Errorf("%s answers %s", kind, m.line)
			continue
		}
		got := res.Content[0].Text
		if kind == workspace.Internal {
			if strings.Contains(got, "reason") || !strings.Contains(got, "logged under the id") {
				t.Errorf("internal tells %q", got)
			}
			continue
		}
		if got != want {
			t.Errorf("%s says %q, want %q", kind, got, want)
		}
	}
}

func TestKeyOfCall(t *testing.T) {
	r := connect(t, &mcpwire.Config{Project: newProject(t, map[string]string{"a": "a\n"})})
	r.initialize("example")
	r.ok("workspace.create", `{"path":"/agents/a"}`)
	write := func(content string) toolResult {
		return r.ask("tools/call", fmt.Sprintf(`{"name":"writeFile","arguments":{"path":"f","content":%q},"_meta":{"carrel.dev/key":"k"}}`, content)).decode(t)
	}
	first, again, other := write("x"), write("x"), write("y")
	if first.IsError || !bytes.Equal(first.StructuredContent, again.StructuredContent) {
		t.Errorf("repeated: %s, then %s", first.StructuredContent, again.StructuredContent)
	}
	if string(other.Meta["code"]) != `"conflict"` {
		t.Errorf("the key of another request answers %+v", other)
	}
}
