package disk

import "carrel.dev/workspace"

// CheckLocal refuses a directory on a network file system as Unavailable. There
// locks and shared memory do not hold between machines, and a database that two
// of them open is lost.
//
// Decision: the refusal is a table of kinds known to be remote, not one of
// kinds known to be good. A new local file system works at once; and one that is
// remote and unknown still keeps locks among the processes of one machine, which
// is where nearly everybody runs.
func CheckLocal(dir string) error {
	kind, err := remoteKind(dir)
	if err != nil {
		return Fault("look at the file system", err)
	}
	if kind == "" {
		return nil
	}
	return workspace.Errorf(workspace.Unavailable, "the data directory is on a network file system (%s)", kind).
		Hinted("Choose a data directory on a local disk with --data or CARREL_DATA.")
}
