package postgres

// Stats are counts of a Store since it was opened, and the state of its connections.
type Stats struct {
	Connections, Busy int    // connections that are open, and those that are in use
	PoolWaits         uint64 // reads that waited for a free connection
	Commits           uint64 // transactions of the writer that were committed
	Conflicts         uint64 // transactions that the database asked to repeat
	Reconnects        uint64 // transactions that were repeated because the connection broke
	LeaseLosses       uint64 // 1 after another process has taken over
	Members           int    // servers that share the database, as of the last renewal; 1: this one alone
}
