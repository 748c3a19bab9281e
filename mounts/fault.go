package mounts

// The points at which Config.Fault is called, in the order in which a commit
// reaches them.
const (
	LaneEntered    = "1 lane entered"
	ObjectsWritten = "2 objects written" // under temporary names
	ObjectsNamed   = "3 objects named"   // the names not yet synced
	ObjectsDurable = "4 objects durable"
	BranchLocked   = "5 branch locked"
	KeepLocked     = "6 keep locked"
	KeepMoved      = "7 keep moved" // not yet synced
	BranchAllowed  = "8 branch about to move"
	BranchMoved    = "9 branch moved" // not yet synced
	// These are reached in the background, when small packs are consolidated.
	PackFolded  = "pack folded"  // under a temporary name
	PackNamed   = "pack named"   // the name not yet synced
	PacksHidden = "packs hidden" // packs that are about to go have no index any more
	// RepoWritten is reached by Create, before the repository has its name.
	RepoWritten = "repo written"
)

// FaultPoints lists every point that a commit reaches, so that a test can stop
// at each. One without Keep does not reach the sixth and seventh.
var FaultPoints = [...]string{
	LaneEntered, ObjectsWritten, ObjectsNamed, ObjectsDurable, BranchLocked,
	KeepLocked, KeepMoved, BranchAllowed, BranchMoved,
}

// ConsolidationPoints lists every point that a consolidation reaches.
var ConsolidationPoints = [...]string{PackFolded, PackNamed, PacksHidden}
