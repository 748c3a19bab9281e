package workspace

// Limits bound what a workspace takes. A zero field means the default.
type Limits struct {
	FileBytes    int64 // of one file's content; default 64 MiB
	BatchItems   int   // changes in one batch; default 1,000
	TreeEntries  int   // files that one copy or move may touch; default 100,000
	UpperEntries int   // entries of one workspace's upper; default 1,000,000
	UpperBytes   int64 // contents of one workspace's upper; default 10 GiB
	ReadPaths    int   // paths of one readFiles; default 10,000
	ResultBytes  int   // text of one result; default 48 KiB, since known hosts refuse more
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
	if l.FileBytes > 0 {
		d.FileBytes = l.FileBytes
	}
	if l.BatchItems > 0 {
		d.BatchItems = l.BatchItems
	}
	if l.TreeEntries > 0 {
		d.TreeEntries = l.TreeEntries
	}
	if l.UpperEntries > 0 {
		d.UpperEntries = l.UpperEntries
	}
	if l.UpperBytes > 0 {
		d.UpperBytes = l.UpperBytes
	}
	if l.ReadPaths > 0 {
		d.ReadPaths = l.ReadPaths
	}
	if l.ResultBytes > 0 {
		d.ResultBytes = l.ResultBytes
	}
	return d
}
