// Package stubnode is test support: a JSON-RPC node that serves recorded blocks
// over HTTP, and the HTTP services beside it (contract sources, signatures,
// prices) with their exact wire formats. Both can be told to fail in the ways
// real ones do, so that the real client runs in tests and benchmarks.
//
// Node and Sources are safe for concurrent use, settings included.
package stubnode
