package workspace

import "cmp"

// Limits bound what a workspace takes. A zero field means the default.
type Limits struct {
	FileBytes    int64 // of one file's content; default 64 MiB
	BatchItems   int   // changes in one batch; default 1,000
	TreeEntries  int   // files that one copy or move may touch; default 100,000
	UpperEntries int   // entries of one workspace's upper; default 1,000,000
	UpperBytes   int64 // contents of one workspace's upper; default 10 GiB
	ReadPaths    int   // paths of one readFiles; default 10,000
	ResultBytes  int   // text of one result; default 48 KiB, since known hosts refuse more

	// The quotas of a project; 0 means none. What the workspaces hold together may be
	// above its quota by a part of what each has written last, see Usage.
	ProjectWorkspaces int
	ProjectEntries    int
	ProjectBytes      int64
}

// defaultLimits are the limits that the contract names.
var defaultLimits = Limits{
	FileBytes:    64 << 20,
	BatchItems:   1_000,
	TreeEntries:  100_000,
	UpperEntries: 1_000_000,
	UpperBytes:   10 << 30,
	ReadPaths:    10_000,
	ResultBytes:  48 << 10,
}

func (l Limits) withDefaults() Limits {
	d := defaultLimits
	return Limits{
		FileBytes:    cmp.Or(max(l.FileBytes, 0), d.FileBytes),
		BatchItems:   cmp.Or(max(l.BatchItems, 0), d.BatchItems),
		TreeEntries:  cmp.Or(max(l.TreeEntries, 0), d.TreeEntries),
		UpperEntries: cmp.Or(max(l.UpperEntries, 0), d.UpperEntries),
		UpperBytes:   cmp.Or(max(l.UpperBytes, 0), d.UpperBytes),
		ReadPaths:    cmp.Or(max(l.ReadPaths, 0), d.ReadPaths),
		ResultBytes:  cmp.Or(max(l.ResultBytes, 0), d.ResultBytes),

		ProjectWorkspaces: max(l.ProjectWorkspaces, 0),
		ProjectEntries:    max(l.ProjectEntries, 0),
		ProjectBytes:      max(l.ProjectBytes, 0),
	}
}
