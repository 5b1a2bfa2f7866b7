// Package claim is the last call of the model and what becomes of it: the schema it
// answers in, the reading of the answer, and the test of everything that it says
// against the evidence. What a model claims and the evidence does not bear out never
// reaches a Result; it is dropped and counted.
//
// # What is held against what
//
// References (frame paths, indices of logs, addresses, slots, selectors) must exist
// in the call tree, the receipt, the state diff, or in what a tool has answered.
//
// Numbers in texts must be those of the evidence, exactly or rounded; see numbers.go.
//
// Names, links and markup in texts are the business of prose.go. No word is forbidden.
//
// Findings must come with a check, an expression that is computed again here; see
// check.go for the language and findings.go for what a finding must show.
//
// The type, the protocol and the confidence are reconciled with those of the rules;
// see verdict.go.
package claim
