// Package statediff reads what a transaction changed in the state: the changes of a state diff
// in a fixed order, the storage slots that standards publish, and the mapping keys behind
// slots that are hashes.
package statediff
