// Package tempo holds what the chain of a payment session defines: the channel
// and its id, vouchers, signatures, the transaction envelope, and the calls,
// events and errors of the TIP-20 channel reserve. It is pure: it encodes,
// decodes, signs and verifies, asks nobody and keeps no state.
//
// Whatever it accepts, the chain accepts too. A voucher that passes here and
// fails there is service given away, so every verification follows the rules of
// the chain's own verifier (TIP-1020), not those of other client libraries.
//
// All functions are safe for concurrent use unless their type says otherwise.
package tempo
