// Package classify says what a transaction was for, by rules alone: its type, the
// protocol, the risks, the roles of its accounts, and how sure all that is.
//
// Each rule is a function on the facts of a transaction (package facts) that gives an
// opinion or none; the order of the rules is the precedence of the types. What a rule
// claims must show in what the actor gained and lost, or the confidence falls. A Verdict
// holds typed values; package narrate renders them.
//
// To teach it a protocol, add a file to package protocol. To teach it a new kind of act,
// add the act to package facts, its type to kinds.go, its verb to package narrate and,
// when the act alone does not decide, a rule to rules.go. TestEveryRowIsExercised tries
// every declaration of every protocol.
//
// Equal facts give equal verdicts: no map is iterated where its order would show.
package classify
