// Package facts reads what the rules, the checks and the text need to know of one
// transaction out of the evidence: which logs and calls package protocol knows, on whose
// behalf the transaction acted, what that account gave and got, loans, sales, seizures,
// pools and the trades around it in the block.
//
// Read goes over the evidence once. A Reading is not changed afterwards and holds no
// judgement and no English text; package classify judges it, package narrate describes
// it.
package facts
