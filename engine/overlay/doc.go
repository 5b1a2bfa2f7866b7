// Package overlay holds what a user knows: names of addresses, tokens, chains, protocols, ABIs,
// incidents and lists of bad addresses, in files of a folder. docs/your-own-data.md describes the
// files. Data is read as a whole or not at all, and never changes; whoever replaces it, replaces
// the value, and an analysis keeps the one it began with.
package overlay
