// Package classify says what a transaction was for, by rules alone: its type, the
// protocol, on whose behalf it acted, a line of summary, the steps, the risks, and
// how sure all that is.
//
// The rules are a pipeline of pure functions over Facts. Logs are matched against a
// table of signatures (from package protocol; hashes are computed when the table is
// made); each match is an act of a protocol. Rules vote on the acts together with
// the net movements of the actor, and the order of the rules is the precedence of
// the types. What a rule claims must show in what the actor gained and lost, or the
// confidence falls.
//
// To teach it a protocol, add a file to package protocol. A rule that needs an argument reads it by its role. To teach it
// a new kind of act, add the act to acts.go and, when the act alone does not decide, a
// rule to rules.go. TestEveryRowIsExercised tries every row.
//
// Equal facts give equal verdicts: no map is iterated where its order would show.
package classify
