package workspace

import (
	"encoding/json"
)

// The types of events. Those of a workspace and a repo are on their own
// streams; those that make or end something are copied to the project's.
const (
	ProjectCreated = "project/created"

	WorkspaceCreated      = "workspace/created"
	WorkspaceConfigured   = "workspace/configured"
	WorkspaceChanged      = "workspace/changed"
	WorkspaceCommitting   = "workspace/committing"
	WorkspaceCommitted    = "workspace/committed"
	WorkspaceCommitDrop   = "workspace/commit-dropped"
	WorkspaceCheckpointed = "workspace/checkpointed"
	WorkspaceExpired      = "workspace/expired"
	WorkspaceDeleted      = "workspace/deleted"

	RepoCreated    = "repo/created"
	RepoConfigured = "repo/configured"
	RepoRemoved    = "repo/removed"
	RepoCommitted  = "repo/committed"
)

// payloadVersion is the version of every payload below. A payload that gains a
// field which older readers may ignore keeps it.
const payloadVersion = 1

// The payloads are the durable format of events, one struct a type. Readers
// ignore fields that they do not know.
type (
	// Created is the payload of workspace/created.
	Created struct {
		Digest string    `json:"digest"` // of the request, to tell a repeat
		From   *ForkedAt `json:"from,omitempty"`
	}
	// ForkedAt is the parent of a fork: its state at Seq is where the fork starts.
	ForkedAt struct {
		Workspace ID           `json:"workspace"`
		Seq       Seq          `json:"seq"`
		Starts    map[Path]OID `json:"starts,omitempty"` // the commit of each mount
	}
	// Configured is the payload of workspace/configured.
	Configured struct {
		Mounts map[string]MountPatch `json:"mounts"`
	}
	// Changed is the payload of workspace/changed: one call's whole effect.
	Changed struct {
		Op      string       `json:"op"`
		Drop    []Path       `json:"drop,omitempty"` // the upper is cleared at and below each, first
		Changes []PathChange `json:"changes,omitempty"`
		Undoes  Seq          `json:"undoes,omitempty"`
	}
	// PathChange is what happened to one path of an upper. After is the entry
	// from now on, nil for none. Before is for readers of the history only.
	PathChange struct {
		Path   Path   `json:"path"`
		Before *Entry `json:"before,omitempty"`
		After  *Entry `json:"after,omitempty"`
	}
	// Committing is the payload of workspace/committing: the intent. Each change
	// says how the entry was collected (Before) and what is left of it once the
	// commit has landed (After).
	Committing struct {
		Key      string   `json:"key"`
		Mount    Path     `json:"mount"`
		Repo     RepoPath `json:"repoPath"`
		Branch   string   `json:"branch"`
		Upstream string   `json:"upstream,omitempty"` // set if Branch is a work branch
		Parent   OID      `json:"parent"`
		Commit   OID      `json:"commit"`
		By       string   `json:"by"` // the process that lands it
		// Asked and Request are the idempotency key that the commit was asked for
		// with, and the digest of what was asked.
		Asked   string       `json:"asked,omitempty"`
		Request string       `json:"request,omitempty"`
		Changes []PathChange `json:"changes"`
	}
	// Committed is the payload of workspace/committed: what left the upper.
	Committed struct {
		Key     string       `json:"key"`
		Commit  OID          `json:"commit"`
		Changes []PathChange `json:"changes"`
	}
	// CommitDropped is the payload of workspace/commit-dropped.
	CommitDropped struct {
		Key string `json:"key"`
	}
	// RepoSettings is the payload of repo/created and repo/configured.
	RepoSettings struct {
		Location string `json:"source"`
		Managed  bool   `json:"managed"`
		Branch   string `json:"branch"`
		Policy   Policy `json:"policy"`
	}
	// RepoCommit is the payload of repo/committed.
	RepoCommit struct {
		Branch    string `json:"branch"`
		Before    OID    `json:"before"`
		After     OID    `json:"after"`
		Workspace ID     `json:"workspace"`
		Key       string `json:"key"`
	}
	// Copied is the payload of an event that was copied to the project's stream.
	Copied struct {
		Stream  string          `json:"stream"`
		Seq     Seq             `json:"seq"`
		Payload json.RawMessage `json:"payload,omitempty"`
	}
)

// workspaceTypes are the events that a workspace's reducer knows.
var workspaceTypes = map[string]bool{
	WorkspaceCreated: true, WorkspaceConfigured: true, WorkspaceChanged: true, WorkspaceCommitting: true,
	WorkspaceCommitted: true, WorkspaceCommitDrop: true, WorkspaceCheckpointed: true, WorkspaceExpired: true,
	WorkspaceDeleted: true,
}

// encode returns an event of a type with its payload. The bodies that the
// payload's entries name are listed.
func encode(typ string, payload any) Event {
	b, err := json.Marshal(payload)
	if err != nil {
		// Every payload is one of the structs above, which always encode.
		panic("workspace: encode " + typ + ": " + err.Error())
	}
	return Event{Type: typ, Version: payloadVersion, Payload: b, Bodies: bodiesOf(payload)}
}

// bodiesOf lists the contents of a payload's entries, each once. Those of what
// they replaced below are added where they are stored.
func bodiesOf(payload any) []OID {
	var changes []PathChange
	switch p := payload.(type) {
	case Changed:
		changes = p.Changes
	case Committing:
		changes = p.Changes
	case Committed:
		changes = p.Changes
	}
	seen := map[OID]bool{}
	var ids []OID
	for _, c := range changes {
		if c.After == nil || c.After.OID.IsZero() || seen[c.After.OID] {
			continue
		}
		seen[c.After.OID] = true
		ids = append(ids, c.After.OID)
	}
	return ids
}
