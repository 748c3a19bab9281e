package workspace

import "testing"

// What an event drops is dropped before its changes are set.
func TestReduceDropsFirst(t *testing.T) {
	file := &Entry{Kind: File, Mode: ModeFile, OID: OID{1}, Size: 1}
	h := born().
		add(WorkspaceChanged, Changed{Op: "writeFile", Changes: []PathChange{{Path: "/workspace/d/old", After: file}}}).
		add(WorkspaceChanged, Changed{Op: "restore", Drop: []Path{"/workspace/d"}, Changes: []PathChange{{Path: "/workspace/d/new", After: file}}})
	u := h.state().Upper
	if _, ok := u.Get("/workspace/d/new"); !ok || u.Len() != 1 {
		t.Errorf("%d entries, the new one among them: %v", u.Len(), ok)
	}
}
