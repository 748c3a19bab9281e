package tools

import (
	"context"
	"encoding/base64"
	"encoding/json"

	"carrel.dev/tools/args"
	"carrel.dev/workspace"
)

// cursor is where the next page of a list begins: after a path, in the snapshot
// that the first page was read from.
type cursor struct {
	Snapshot string         `json:"s"`
	Query    string         `json:"q"` // the digest of what the list is of
	After    workspace.Path `json:"a"`
	Line     int            `json:"l,omitempty"` // of After, for lists of lines
}

// queryOf is the digest of the arguments that say what a list is of.
func queryOf(tool string, in any) string { return tool + " " + args.Digest(in, "cursor", "limit")[:12] }

func (c cursor) encode() string {
	b, err := json.Marshal(c)
	if err != nil {
		panic("tools: a cursor always encodes: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// from returns the snapshot that a list is read from and where it goes on: the
// workspace as it is now, or what a cursor of the same query continues.
func from(ctx context.Context, w *workspace.Workspace, spelling, at, query string) (*workspace.Snapshot, cursor, error) {
	if spelling == "" {
		s, err := w.Snapshot(ctx)
		if err == nil {
			s, err = past(s, at)
		}
		return s, cursor{Query: query}, err
	}
	var c cursor
	b, err := base64.RawURLEncoding.DecodeString(spelling)
	if err != nil || json.Unmarshal(b, &c) != nil || c.Snapshot == "" || c.Line > 0 && c.After == "" {
		return nil, c, workspace.Errorf(workspace.Invalid, "the cursor is not one that a list returned").
			Hinted("Pass nextCursor exactly as it was returned, or leave it out to start again.")
	}
	if c.Query != query {
		return nil, c, workspace.Errorf(workspace.Invalid, "the cursor belongs to another list").
			Hinted("Pass it with the arguments of the page that it came with.")
	}
	if _, err := w.Snapshot(ctx); err != nil { // the workspace may be closed by now
		return nil, c, err
	}
	s, err := w.Held(c.Snapshot)
	return s, c, err
}

// next returns the cursor that goes on after a path.
func (c cursor) next(w *workspace.Workspace, s *workspace.Snapshot, after workspace.Path, line int) string {
	return cursor{w.Hold(s), c.Query, after, line}.encode()
}

// passed reports whether all of a directory comes before the cursor, in the
// order of a walk.
func (c cursor) passed(dir workspace.Path) bool {
	return c.After != "" && dir != workspace.Root && !dir.Contains(c.After) && string(dir)+"/" < string(c.After)
}

// room counts down the bytes and items that a page may still have.
type room struct{ bytes, items, taken int }

// take reports whether another item of a size fits, and takes its room. The
// first one fits whatever its size, so that every page goes on. After one that
// does not fit none does, however small: a page has no gaps.
func (r *room) take(size int) bool {
	if r.items <= 0 || r.bytes < size && r.taken > 0 {
		r.items = 0
		return false
	}
	r.items--
	r.taken++
	r.bytes -= size
	return true
}

// pageItems is how many paths a page has at most, and by default.
const pageItems = 300

// pageRoom is the room for a page of a list. A list travels twice in one result,
// as text and as fields, so it has half of what a result may have.
func pageRoom(w *workspace.Workspace, limit int) *room {
	if limit == 0 {
		limit = pageItems
	}
	return &room{bytes: resultRoom(w) / 2, items: limit}
}

// resultRoom is what a result may have, in bytes, but for what goes with it.
func resultRoom(w *workspace.Workspace) int { return w.Project().Host().Limits().ResultBytes - reserve }
