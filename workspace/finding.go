package workspace

// FindingKind says what fsck found, in a form for programs. Kinds are stable and
// never reused.
type FindingKind string

// What fsck finds.
const (
	StructureDamaged  FindingKind = "structure-damaged"  // of that which records are kept in
	RecordDamaged     FindingKind = "record-damaged"     // it is not as it was appended
	RecordMissing     FindingKind = "record-missing"     // the numbers of a stream have a gap
	RecordMalformed   FindingKind = "record-malformed"   // it was appended so that nobody can read it
	RecordNewer       FindingKind = "record-newer"       // only a newer Carrel reads it
	ContentMissing    FindingKind = "content-missing"    // something names it
	ContentDamaged    FindingKind = "content-damaged"    // it has another hash, or size, than its name says
	ContentUnnamed    FindingKind = "content-unnamed"    // an upper has it and no record names it
	CheckpointDamaged FindingKind = "checkpoint-damaged" // it is not as it was saved
	CheckpointWrong   FindingKind = "checkpoint-wrong"   // it is not what the records add up to
	CopyMissing       FindingKind = "copy-missing"       // the project's stream lacks it
	CopyWrong         FindingKind = "copy-wrong"         // it differs from what it is a copy of
	RepoUnreadable    FindingKind = "repo-unreadable"    // the repository
	BranchMissing     FindingKind = "branch-missing"     // that a repo is read at
	BranchLost        FindingKind = "branch-lost"        // a work branch without the last commit made on it
	CommitMissing     FindingKind = "commit-missing"     // a ref or a record names it
	KeepMissing       FindingKind = "keep-missing"       // the ref that holds a work branch's last commit
	RefLeft           FindingKind = "ref-left"           // such a ref of a workspace that is no more
	CommitOpen        FindingKind = "commit-open"        // a dead process left it under way
	ProcessDead       FindingKind = "process-dead"       // it left its file
	FileAbandoned     FindingKind = "file-abandoned"     // a temporary one
)

// Severity says how bad a finding is.
type Severity string

// The severities.
const (
	// Loss: something is lost, or nobody can tell whether it is.
	Loss Severity = "loss"
	// Fault: something is not as it should be, and nothing is lost by it.
	Fault Severity = "fault"
	// Leftover: something is there that nobody needs.
	Leftover Severity = "leftover"
)

// Finding is something that is wrong, where, how bad, and what to do.
type Finding struct {
	Kind     FindingKind `json:"kind"`
	Severity Severity    `json:"severity"`
	Project  string      `json:"project,omitempty"`
	Stream   string      `json:"stream,omitempty"`
	Seq      Seq         `json:"seq,omitempty"`  // the record
	Path     Path        `json:"path,omitempty"` // of the upper
	Repo     RepoPath    `json:"repo,omitempty"`
	Ref      string      `json:"ref,omitempty"`
	ID       string      `json:"id,omitempty"` // of the content or commit
	Text     string      `json:"text"`
	Hint     string      `json:"hint"` // what to do
	// Mended says that a rebuild has put it right.
	Mended bool `json:"mended,omitempty"`
}

// What to do, for several findings each.
const (
	hintRestore = "Stop every process that uses the data directory, keep a copy of it, and restore it from a backup."
	hintPut     = "Write the same content again, by any workspace, or restore the data directory from a backup."
	hintUpdate  = "Update carrel and run `carrel fsck` again: until then this cannot be checked."
	hintRebuild = "Run `carrel fsck --rebuild`, then restart the processes that use the data directory."
	hintRepo    = "Put the repository back where it was and make it readable, or restore it from a backup."
	hintGC      = "`carrel gc` removes it once the workspace has been deleted for a day."
)
