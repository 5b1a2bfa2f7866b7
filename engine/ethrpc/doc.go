// Package ethrpc holds what the world answered about one transaction, typed:
// the transaction, its receipt with logs, its block, the state diff. It parses
// JSON-RPC answers and judges nothing. Quantities are wei and gas; a nil pointer
// means the node did not say.
package ethrpc
