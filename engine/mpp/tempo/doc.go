// Package tempo holds what the chain of a payment session defines: the channel
// and its id, vouchers, signatures, the transaction envelope, and the calls,
// events and errors of the TIP-20 channel reserve. It is pure: it encodes,
// decodes, signs and verifies, asks nobody and keeps no state.
//
// Whatever it accepts, the chain accepts too. A voucher that passes here and
// fails there is service given away, so every verification follows the rules of
// the chain's own verifier (TIP-1020), not those of other client libraries.
//
// A server holds a payload to the challenge with Terms: VerifyOpen and
// VerifyTopUp before anything costs, CheckTime and CoSign when it is sent, and
// the methods of Receipt when it is mined. Vouchers go through ParseSignature
// and Domain.Verify; what ParseSignature returns is what to store and settle.
// Every refusal of a payload is a *Rejection with its rule and problem type.
//
// A client builds with NewTransaction and CallReserve, learns its channel from
// OpenedBy, and signs with Transaction.Sign and Domain.Sign.
//
// Where this package is narrower than the chain, it is on purpose: recovery ids
// of EIP-155 (35 and above), a fee token of zeros, and client data that is not
// UTF-8 throughout are refused, for no wallet writes them.
//
// All functions are safe for concurrent use unless their type says otherwise.
package tempo
