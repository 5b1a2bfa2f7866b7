// Package mpp is the wire of the Machine Payments Protocol: the challenge of a
// 402, the credential that answers it, the receipt, the problem document, and
// what travels beside them, for payment sessions of the Tempo chain
// (draft-httpauth-payment-00, draft-tempo-session-00; protocol v2, TIP-1034).
// It serves both sides: whatever one builds, the other reads.
//
// It is pure: no server, no clock, no state. The chain's own part (channel ids,
// vouchers, signatures, transactions) is package tempo below it.
//
// A server reads ParseHeaders, then Issuer.Admit, and has then everything that
// can be known without a curve operation, a store or a chain. Whatever it refuses
// is a *Problem, which names its type, its HTTP status and its document, so the
// transport answers without deciding. A client reads ParseChallenges,
// Challenge.SessionRequest, NewCredential and ParseReceipt.
//
// All input is foreign: every parser bounds size, depth and count before it
// works, and JSON is read strictly. No duplicate names, no invalid UTF-8, no
// number where a string is due; a null reads as absent. Amounts are decimal
// strings of base units (a millionth of a dollar); addresses and hashes are
// written in lower case and read in any.
//
// All functions are safe for concurrent use unless their type says otherwise.
package mpp

// Method and Intent are the pair this package speaks.
const (
	Method = "tempo"
	Intent = "session"
)

// SessionProtocol is the only revision spoken: the channel reserve of TIP-1034,
// with the descriptor in every payload.
const SessionProtocol = "v2"

// Headers of the protocol.
const (
	HeaderChallenge            = "WWW-Authenticate"
	HeaderAuthorization        = "Authorization"
	HeaderPaymentAuthorization = "Payment-Authorization"
	HeaderReceipt              = "Payment-Receipt"
	HeaderAccept               = "Accept-Payment"
	HeaderSession              = "Payment-Session"
	HeaderSnapshot             = "Payment-Session-Snapshot"
)

// scheme is the authentication scheme of the headers.
const scheme = "Payment"

// Bounds on what is read, in bytes.
const (
	// maxHeader bounds all values of one header together.
	maxHeader = 64 << 10
	// maxRequest is the most encoded text of a challenge's request that clients read.
	maxRequest = 16 << 10
	// maxCredential bounds the encoded credential.
	maxCredential = 32 << 10
	// maxDocument bounds every other JSON value.
	maxDocument = 64 << 10
)

// maxDepth bounds the nesting of any JSON read.
const maxDepth = 8
