// Package check asks of one transaction whether somebody lost by a rule that broke,
// without a language model. It goes through a fixed list of checks, each of which comes
// out clean, not applicable or not checked with its reason, and through the invariants
// that code can compute again: conservation, constant product, share price, solvency,
// authorisation, write after re-entry, bounded output, bad debt.
//
// A finding says that an invariant broke, for one cause, at places that can be looked
// up. Its check is written in the language that the claims of a model are written in
// (engine/agent/claim), so that one evaluator serves both. What the evidence leaves
// open lowers the status of a finding; a cause is never guessed.
//
// Some questions only the state answers: what a rate is at rest, whether a stranger may
// make a call. They come out as [Question] and go in again as [View]; without answers
// the rules say less. The package is pure: same facts, same report.
package check
