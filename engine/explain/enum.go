package explain

// Enum, on the types below, lists their values in the order of their meaning: the
// descriptions of the service are made from it.

// Enum lists the statuses of a transaction.
func (Status) Enum() []any { return []any{StatusSuccess, StatusReverted, StatusUnknown} }

// Enum lists the confidences, the highest first.
func (Confidence) Enum() []any { return []any{High, Medium, Low} }

// Enum lists the twelve classes.
func (TxType) Enum() []any {
	return []any{TypeSwap, TypeTransfer, TypeExploit, TypeLiquidation, TypeBridge, TypeDeployment, TypeMEV, TypeGovernance,
		TypeRoutineInfra, TypeApproval, TypeStake, TypeOther}
}

// Enum lists the outcomes of a frame.
func (NodeStatus) Enum() []any { return []any{NodeOK, NodeFailed, NodeReverted} }

// Enum lists the statuses of a job in the order it takes them.
func (JobStatus) Enum() []any { return []any{JobPending, JobRunning, JobComplete, JobError} }

// Enum lists how a phase may stand.
func (State) Enum() []any { return []any{StateStarted, StateDone, StateFailed, StateFound} }
