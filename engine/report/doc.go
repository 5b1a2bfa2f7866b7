// Package report writes a Result for people: the source of a Mermaid sequence
// diagram, readable text for a terminal, a self-contained HTML page.
//
// Whatever comes from the chain is hostile here too, although labels were
// cleaned before: each writer strips and escapes again at its own edge, bounds
// what it prints and says how much it left out. The three are pure functions of
// the Result: no clock, no randomness, no float.
package report
