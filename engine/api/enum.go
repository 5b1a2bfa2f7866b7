package api

// Enum, on the types below, lists their values in the order of their meaning: the
// descriptions of the service are made from it.

// Enum lists the statuses of a transaction.
func (Status) Enum() []any { return []any{StatusSuccess, StatusReverted, StatusUnknown} }

// Enum lists the confidences, the highest first.
func (Confidence) Enum() []any { return []any{High, Medium, Low} }

// Enum lists the confidences, the highest first.
func (LabelConfidence) Enum() []any { return []any{LabelOfficial, LabelReviewed, LabelScraped} }

// Enum lists the twelve classes.
func (TxType) Enum() []any {
	return []any{TypeSwap, TypeTransfer, TypeExploit, TypeLiquidation, TypeBridge, TypeDeployment, TypeMEV, TypeGovernance,
		TypeRoutineInfra, TypeApproval, TypeStake, TypeOther}
}

// Enum lists the outcomes of a frame.
func (NodeStatus) Enum() []any { return []any{NodeOK, NodeFailed, NodeReverted, NodeUnknown} }

// Enum lists the statuses of a job in the order it takes them.
func (JobStatus) Enum() []any { return []any{JobPending, JobRunning, JobComplete, JobError} }

// Enum lists how a phase, or the agent, may stand.
func (State) Enum() []any {
	return []any{StateStarted, StateDone, StateFailed, StateFound, StateRetrying}
}

// Enum lists the causes of a loss.
func (Category) Enum() []any {
	return []any{PriceManipulation, Reentrancy, AccessControl, InsufficientValidation, ArbitraryCall, AccountingError, BusinessLogic,
		PrecisionLoss, ShareInflation, TokenIncompatibility, SignatureVerification, BridgeMessageForgery, GovernanceAttack, AccountAbstraction,
		StorageCollision, WeakRandomness, SlippageExposure, PhishingApproval, PrivilegedAbuse, DenialOfService, UnknownCause}
}

// Enum lists the parts of a sequence in their order.
func (SequencePart) Enum() []any { return []any{PartPreparation, PartAttack, PartLaundering} }

// Enum lists the severities, the worst first.
func (Severity) Enum() []any {
	return []any{SeverityCritical, SeverityHigh, SeverityMedium, SeverityLow, SeverityInfo}
}

// Enum lists how well a finding may be shown, the best first.
func (FindingStatus) Enum() []any {
	return []any{Confirmed, Probable, Possible, InsufficientEvidence}
}

// Enum lists what makes a loss worse.
func (Amplifier) Enum() []any {
	return []any{
		FlashLoan,
		Amplifier("fresh_contract"),
		Amplifier("constructor_attack"),
		Amplifier("self_destruct"),
		Amplifier("private_relay"),
		Amplifier("multi_tx_setup"),
		Amplifier("vanity_lookalike"),
		Amplifier("mixer_funded"),
	}
}

// Enum lists the kinds of evidence, the nearest to the data first.
func (EvidenceKind) Enum() []any { return []any{Observed, Derived, Inferred} }

// Enum lists what of an account may change.
func (StateKind) Enum() []any {
	return []any{StateBalance, StateNonce, StateCode, StateStorage}
}

// Enum lists what slots may hold.
func (SlotKind) Enum() []any {
	return []any{SlotImplementation, SlotAdmin, SlotBeacon, SlotOwner, SlotPendingOwner, SlotBalance, SlotAllowance, SlotTotalSupply,
		SlotNFTOwner, SlotInitialized, SlotReentrancy, SlotPaused, SlotHandler, SlotGuard, SlotMapping, SlotArray}
}

// Enum lists how the name of a slot may be known.
func (SlotBasis) Enum() []any { return []any{BasisPublished, BasisPreimage, BasisEvent} }

// Enum lists how keys may be hashed.
func (SlotOrder) Enum() []any { return []any{OrderSolidity, OrderVyper, OrderSolady} }

// Enum lists the parts of a sandwich in the order of the block.
func (SandwichPart) Enum() []any { return []any{SandwichFront, SandwichVictim, SandwichBack} }
