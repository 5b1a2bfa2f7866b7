// Package facts reads what the rules, the checks and the text need to know of one
// transaction out of the evidence: which logs and calls package protocol knows, on whose
// behalf the transaction acted, what that account gave and got, loans, sales, seizures,
// pools and the trades around it in the block.
//
// Read goes over the evidence once. A Case is not changed afterwards and holds no
// judgement and no English text; package classify judges it, package narrate describes
// it.
//
// Case.Layout lays out the same transaction for the search for attacks: who acts for
// the sender, what passed between them and everybody else, who ended with less, and
// what was lent for the length of the transaction. All of it follows from call frames and
// movements in one pass over them. Frames without effect give none. The definitions:
//
//   - Party: the sender, the contract that was called where it is the sender's own, and
//     every contract that a member of the party created. A contract that a public factory
//     made on the party's call is no member.
//   - Attacker cluster: the party and its profit receivers. A profit receiver is an account that ran no code, paid
//     nothing and was paid by the party.
//   - External call: an outermost call by the party to an account outside of it. Calls that the
//     party makes inside a callback are external calls of their own.
//   - The native coin and its wrapped token are one asset.
package facts
