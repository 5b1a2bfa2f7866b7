// Package decode names what the bytes of a transaction mean: functions, events,
// custom errors, constructor arguments, precompiles, and what stands behind a proxy.
//
// # Order of trust
//
// A candidate signature comes from, in this order: the verified ABI of the code
// that ran (the implementation that the trace shows, for a proxy), the curated
// table, the table harvested from published packages, a signature database asked
// at run time, and go-ethereum's 4byte table. The last two are text only and open
// to anyone, so names are planted there; they win only when nobody better knows
// the selector.
//
// # Decode, re-encode, compare
//
// A candidate counts only when the arguments read with it, encoded again, give
// the same bytes. The reader does both at once: it walks the type tree and asks
// of each word whether the encoder of the ABI specification would have written
// it (offsets in order and without gaps, padding zero, sign extended, nothing
// left over). Two exceptions, both said in Note: calldata with bytes after a
// complete encoding (referral suffixes) is accepted from the first three sources,
// and an encoding with unusual offsets from the verified ABI alone, where the
// selector itself proves the function.
package decode
