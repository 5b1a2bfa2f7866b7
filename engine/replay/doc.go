// Package replay re-executes one transaction on go-ethereum's EVM when a node
// gives no trace. State is read lazily, account by account and slot by slot, over
// plain queries at the parent block; the earlier transactions of the block run
// first, or are skipped in the quick mode, which is then only as good as their
// independence.
//
// A replay is a claim, not a recording: [Verify] holds it against the receipt, and
// what does not reproduce gas, status and logs must not be shown as a trace.
//
// Exact rules are known for Ethereum mainnet. On chains that run the same
// transactions under their own schedule the published times of their forks decide
// (forks.tsv, each with its source), or the header where no time is known; either
// result is marked approximate. Stacks whose transactions plain go-ethereum cannot
// express (rollups with deposits and L1 fees, zkSync, Bor ...) are refused with
// [ErrUnsupported].
package replay
