package tempo

import "fmt"

// Problem is the type of a problem document, without its base URI
// (draft-tempo-session-00).
type Problem string

// The problems that this package finds.
const (
	VerificationFailed Problem = "verification-failed"
	BadRequest         Problem = "bad-request"
	InvalidVoucher     Problem = "session/invalid-signature"
	ExceedsDeposit     Problem = "session/amount-exceeds-deposit"
)

// Rule names the check that a transaction did not pass.
type Rule string

// Rules of any open or top-up.
const (
	RuleTransaction Rule = "transaction"   // it decodes, strictly
	RuleType        Rule = "type"          // 0x78 only where sponsorship was offered
	RuleUnsendable  Rule = "unsendable"    // no 0x76 that still waits for a sponsor
	RuleChain       Rule = "chain"         // the challenge's chain
	RuleCalls       Rule = "calls"         // one call, or three with a swap
	RuleSwap        Rule = "swap"          // the two calls of a swap, exactly
	RuleTarget      Rule = "target"        // the escrow is called last
	RuleValue       Rule = "value"         // no native value
	RuleLegacy      Rule = "legacy"        // not the protocol of version 1
	RuleCalldata    Rule = "calldata"      // the one encoding of the right function
	RuleDescriptor  Rule = "descriptor"    // calldata and descriptor agree
	RuleChannelID   Rule = "channel-id"    // the descriptor has this id
	RulePayee       Rule = "payee"         // the challenge's recipient
	RuleOperator    Rule = "operator"      // the challenge's operator, or none
	RuleToken       Rule = "token"         // the challenge's currency
	RuleSigner      Rule = "signer"        // the payload's signer is the descriptor's
	RuleSender      Rule = "sender"        // the payer signed the transaction
	RuleNonceHash   Rule = "nonce-hash"    // the descriptor names this transaction
	RuleAmount      Rule = "amount"        // what is paid in is what was said, and not zero
	RuleDeposit     Rule = "deposit"       // at least the price of a unit
	RuleMinDeposit  Rule = "min-deposit"   // at least the server's own minimum
	RuleCumulative  Rule = "cumulative"    // the voucher is within the deposit
	RuleVoucher     Rule = "voucher"       // the voucher's signature
	RuleNonce       Rule = "nonce"         // an expiring transaction has an end
	RuleValidBefore Rule = "valid-before"  // it is valid long enough to be sent
	RuleValidAfter  Rule = "valid-after"   // it is valid already
	RuleFeePayer    Rule = "fee-payer"     // a foreign sponsor's signature is one
	RuleAccessList  Rule = "access-list"   // sponsored: none
	RuleAuthorized  Rule = "authorization" // sponsored: no authorization list; key authorization by policy
	RuleGas         Rule = "gas"           // sponsored: within 0 and the limit
	RuleFee         Rule = "fee"           // sponsored: fee per gas within 0 and the limit
	RulePriority    Rule = "priority-fee"  // sponsored: at most the fee and the limit
	RuleCost        Rule = "cost"          // sponsored: gas times fee is within the limit
	RuleExpiring    Rule = "expiring"      // sponsored: the expiring nonce
	RuleFeeToken    Rule = "fee-token"     // sponsored: one that was offered
)

// problems lists the rules whose breach is not verification-failed. Breaches of
// the sponsor's policy must not make a client sign again, so they are no 402.
var problems = map[Rule]Problem{
	RuleType:       BadRequest,
	RuleCumulative: ExceedsDeposit,
	RuleVoucher:    InvalidVoucher,
	RuleAccessList: BadRequest,
	RuleAuthorized: BadRequest,
	RuleGas:        BadRequest,
	RuleFee:        BadRequest,
	RulePriority:   BadRequest,
	RuleCost:       BadRequest,
	RuleExpiring:   BadRequest,
	RuleFeeToken:   BadRequest,
}

// Rejection says why a transaction or a voucher is not accepted. Its text is
// safe to show: it quotes no signature and no bytes of the request.
type Rejection struct {
	Rule    Rule
	Problem Problem
	Detail  string
	// Cause is what a decoder or verifier said, or nil.
	Cause error
}

// Error implements error.
func (r *Rejection) Error() string {
	if r.Cause != nil {
		return fmt.Sprintf("%s: %v", r.Detail, r.Cause)
	}
	return r.Detail
}

// Unwrap gives the cause.
func (r *Rejection) Unwrap() error { return r.Cause }

func reject(rule Rule, detail string, cause error) *Rejection {
	problem, ok := problems[rule]
	if !ok {
		problem = VerificationFailed
	}
	return &Rejection{Rule: rule, Problem: problem, Detail: detail, Cause: cause}
}
