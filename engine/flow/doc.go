// Package flow is the ledger of one transaction: which native coin and which
// tokens moved, what the fee was and who got it, and what each address has more
// or less of at the end.
//
// Native coin comes from the call frames, the fee from receipt, block and the
// chain's chain.FeeRule, tokens from the logs. No state diff is needed; where the
// node gives one it is compared (Flow.Mismatches), and balances of native coin
// follow it unless only the fee is in question. The rules:
//
//   - A frame moves its value when it and all its ancestors succeeded and it is a
//     CALL or a creation. CALLCODE, DELEGATECALL and STATICCALL move nothing.
//   - SELFDESTRUCT moves the whole balance. An account that is deleted takes along
//     what it still holds when the transaction ends: any account that executed it
//     before EIP-6780, since then only one created in the same transaction.
//   - The base fee is burnt (EIP-1559) or goes to a vault (OP-stack), the rest goes
//     to the block producer; blob gas is burnt (EIP-4844). Rollups add L1 and
//     operator fees. What no rule gives to anybody is Fee.Unassigned, never "burnt".
//   - Deposits of rollups mint coin, which stays when the call fails, and pay no fee.
//   - Block rewards and withdrawals belong to the block, not to a transaction.
//
// Every amount is an integer of wei or base units.
package flow
