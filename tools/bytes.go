package tools

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"carrel.dev/workspace"
)

// ReadFileBytesIn are the arguments of readFileBytes.
type ReadFileBytesIn struct {
	Path   string `json:"path" req:"true"`
	Offset int64  `json:"offset,omitempty" min:"0" doc:"first byte, from 0"`
	Length int64  `json:"length,omitempty" min:"1" max:"1048576" doc:"bytes, default and most 1 MiB"`
	At     string `json:"at,omitempty" doc:"\"base\": as committed"`
}

// ReadFileBytesOut is the result of readFileBytes.
type ReadFileBytesOut struct {
	Workspace  string `json:"workspace"`
	Path       string `json:"path"`
	Version    string `json:"version"`
	Size       int64  `json:"size"`   // bytes of the whole file
	Offset     int64  `json:"offset"` // of the first byte that is returned
	Length     int64  `json:"length"` // bytes that are returned
	NextOffset int64  `json:"nextOffset,omitempty"`

	data []byte
}

// Render gives the bytes as a resource.
func (o ReadFileBytesOut) Render() Rendering {
	text := fmt.Sprintf("%s: %d bytes", shown(o.Path), o.Length)
	if o.Length < o.Size {
		text = fmt.Sprintf("%s: bytes %d to %d of %d", shown(o.Path), o.Offset, o.Offset+o.Length, o.Size)
	}
	if o.NextOffset > 0 {
		text += fmt.Sprintf("; next offset %d", o.NextOffset)
	}
	return Rendering{Text: text, Data: &Data{
		URI: URI{Path: workspace.Path(o.Path), Workspace: workspace.ID(o.Workspace)}.String(), MIME: http.DetectContentType(o.data), Bytes: o.data,
	}}
}

// bytesPage is how many bytes one call returns at most.
const bytesPage = 1 << 20

func readFileBytes() *Tool {
	return onWorkspace(Tool{
		Name: "readFileBytes", ReadOnly: true, Idempotent: true, TextOnly: true,
		Description: "Read a file's bytes, whatever they are, up to 1 MiB a call. Returns them as a resource. For text use `readFile`.",
	}, ReadFileBytes)
}

// ReadFileBytes returns a part of a file's bytes, or a link's target.
func ReadFileBytes(ctx context.Context, w *workspace.Workspace, in ReadFileBytesIn) (ReadFileBytesOut, error) {
	t, err := aim(ctx, w, in.Path, in.At)
	if err != nil {
		return ReadFileBytesOut{}, err
	}
	f, err := t.lookup(ctx)
	if err != nil {
		return ReadFileBytesOut{}, err
	}
	content, err := t.snap.Content(ctx, f)
	if err != nil {
		return ReadFileBytesOut{}, err
	}
	if in.At == "" {
		w.Serve(t.snap, t.path, f)
	}
	size := int64(len(content))
	if in.Offset > size {
		return ReadFileBytesOut{}, workspace.Errorf(workspace.Invalid, "offset %d is past the end: the file has %d bytes", in.Offset, size).At(t.path.String())
	}
	length := in.Length
	if length == 0 {
		length = bytesPage
	}
	end := min(in.Offset+length, size)
	out := ReadFileBytesOut{
		Workspace: string(w.ID()), Path: t.path.String(), Version: f.OID.String(), Size: size,
		Offset: in.Offset, Length: end - in.Offset, data: content[in.Offset:end],
	}
	if end < size {
		out.NextOffset = end
	}
	return out, nil
}

// WriteFileBytesIn are the arguments of writeFileBytes.
type WriteFileBytesIn struct {
	Path       string  `json:"path" req:"true"`
	Base64     string  `json:"base64" req:"true" doc:"the whole new content, in base64"`
	Executable *bool   `json:"executable,omitempty" doc:"exec bit; default as it is"`
	IfVersion  *string `json:"ifVersion,omitempty" doc:"only if it has this version; \"\": if there is none"`
}

func writeFileBytes() *Tool {
	return onWorkspace(Tool{
		Name: "writeFileBytes", Idempotent: true, Destructive: true,
		Description: "Create or replace a file with any bytes, given in base64. For text use `writeFile`.",
	}, WriteFileBytes)
}

// WriteFileBytes sets a file's content from base64.
func WriteFileBytes(ctx context.Context, w *workspace.Workspace, in WriteFileBytesIn) (WrittenOut, error) {
	content, err := decodeBase64(in.Base64)
	if err != nil {
		return WrittenOut{}, err
	}
	t, err := aimBlind(w, in.Path)
	if err != nil {
		return WrittenOut{}, err
	}
	r, err := w.Write(ctx, t.path, content, workspace.WriteOptions{Executable: in.Executable, IfVersion: in.IfVersion})
	if err != nil {
		return WrittenOut{}, t.explain(ctx, err)
	}
	return t.written(ctx, r), nil
}

// decodeBase64 reads base64 with or without padding.
func decodeBase64(s string) ([]byte, error) {
	content, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
	if err != nil {
		return nil, workspace.Errorf(workspace.Invalid, "base64 is malformed: %w", err)
	}
	return content, nil
}
