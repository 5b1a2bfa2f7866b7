// Package sandbox is a settlement chain inside one process, for tests and
// demonstrations of payment sessions. It is not a blockchain: one process makes all
// blocks, its tokens are worth nothing, and it forgets everything when it ends. It
// refuses to pose as mainnet.
//
// It knows what sessions need and nothing else:
//
//   - TIP-20 tokens: balances, transfers, allowances, transfer policies;
//   - the TIP-20 channel reserve (TIP-1034) with all its rules, events and errors;
//   - transactions of type 0x76 with secp256k1, P-256, WebAuthn and access-key
//     signatures, ordinary and expiring nonces, validity windows, fee tokens and fee
//     payers; the hand-off form 0x78 is read, and refused as a node refuses it;
//   - blocks with time, receipts, logs, and state as of any block.
//
// There is no EVM. A call to an address without built-in code succeeds and does
// nothing; a creation is refused.
//
// Chain is driven by JSON-RPC (ServeRPC; ServeHTTP over HTTP) and by its methods.
// Given a clock it is deterministic: the same requests in the same order give the
// same blocks and the same hashes.
//
// # Independence
//
// The server decides whether a voucher or a transaction is good before it trusts it,
// and so does this chain. The two must be able to disagree, or a test of the one
// against the other shows nothing. This package therefore imports no other package
// of the project, reads RLP and ABI words by itself, and recovers secp256k1 keys
// from the curve's equation.
//
// # Faults
//
// Inject makes calls slow, lose their answers, revert, or be answered by a replica
// that lags behind; Reorg takes blocks back. IncreaseTime moves the clock.
//
// # Books
//
// Books tells every balance and every channel. Tokens come into being by Mint alone,
// fees go to the fee manager's account and stay there, so for each token the
// balances always sum to the supply.
package sandbox
