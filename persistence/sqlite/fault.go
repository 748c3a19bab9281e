package sqlite

// The points at which Config.Fault is called, in the order in which an append
// reaches them. Other jobs of the writer reach the first two and the last.
const (
	TurnTaken     = "1 turn taken" // the lock file is held, for the first time
	Begun         = "2 transaction begun"
	BodiesStored  = "3 bodies stored"  // not yet committed
	RecordsStored = "4 records stored" // not yet committed
	Committed     = "5 committed"      // and not yet answered
)

// FaultPoints lists every point that an append reaches, so that a test can stop
// at each.
var FaultPoints = [...]string{TurnTaken, Begun, BodiesStored, RecordsStored, Committed}
