// Package claim is the last call of the model and what becomes of it: the schema it
// answers in, the reading of the answer, and the test of everything that it says
// against the evidence. What a model claims and the evidence does not support never
// reaches a Result; it is dropped and counted.
//
// # Claims by reference
//
// A model writes no number, no address and no name. It writes references in braces,
// which code resolves, checks and renders as package narrate renders the sentences of
// the rules: {amount:log:41}, {address:0x…}, {figure:2.percent}. See reference.go for
// the grammar, facts.go for the kinds, text.go for what may stand between references.
//
// A sentence is dropped as a whole, with a Reason, when a reference of it does not
// resolve, or when it has a digit, a name or a link outside of references. Outside of
// findings each sentence must hold a reference to a fact: something that happened or
// was measured. Judgement is rendered from verdicts: those of the checks and flags of the
// rules, each a sentence without words of the model, and those that stand around its
// headline.
//
// # What else is held against the evidence
//
// Places (frame paths, indices of logs, addresses, slots, selectors) must exist in the
// call tree, the receipt, the state diff, or in what a tool has answered.
//
// Findings must come with a check, an expression that is computed again here; see
// check.go for the language and findings.go for what a finding must show.
//
// The type, the protocol and the confidence are reconciled with those of the rules;
// see verdict.go.
package claim
