// Package verdict holds the results of judgement as typed values: risk flags, findings,
// outcomes of checks, and sentences as a form with its arguments. It holds no English.
// Code that decides compares these values; package narrate renders them as the last step.
//
// A [Flag], a [Form] and a [Ruled] are integers, so that the compiler rejects their
// comparison with text.
package verdict
