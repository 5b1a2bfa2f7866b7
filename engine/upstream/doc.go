// Package upstream makes every call to the outside world: JSON-RPC nodes,
// databases of contract sources and signatures, price services, and the probe
// that finds the chain of a hash.
//
// # One call
//
// A logical call ("the receipt of this transaction on chain 10") has a key of
// source, chain id, method and canonical parameters. The key names no URL: which
// endpoint answered is nobody's business but the operator's, and URLs carry keys.
// A Session asks each key once, however many goroutines want it, and keeps the
// typed answer. Below a logical call lie the attempts: bounded retries with full
// jitter on one endpoint, then the next endpoint of the chain. What is retried is
// a fault (transport, 429, 5xx); a definite answer never is, though another
// endpoint may be asked for a second opinion where nodes differ in what they
// keep: traces, old state, old transactions.
//
// # Hostile answers
//
// A node is not trusted. Sizes are counted while reading and after unpacking,
// so that neither a stream of zeros nor a gzip bomb costs more than the limit; a
// single token is bounded too, since a JSON decoder must hold it whole. Every
// attempt has a deadline that covers the body. The envelope is checked (version,
// id, result or error but not both, nothing behind it), and so is the content:
// the transaction must have the hash that was asked for and the chain's id.
//
// # Evidence bundles
//
// A Recorder takes the outcome of each logical call: the bytes of the result as
// they came, or the typed error, with duration and cost. A Bundle replays them
// through the same decoding code, so the same bundle gives the same result. The
// recorder stands above the transport and never sees a URL or a header; the text
// of errors is scrubbed of everything secret in the endpoint's URL before anyone
// sees it. A call that ended because its own analysis was stopped is not an
// answer and is neither recorded nor metered.
package upstream
