package mpp

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp/tempo"
)

// ProblemType is the last part of a problem's type URI.
type ProblemType string

// The problem types of the protocol.
const (
	PaymentRequired       ProblemType = "payment-required"
	MalformedCredential   ProblemType = "malformed-credential"
	InvalidChallenge      ProblemType = "invalid-challenge"
	PaymentExpired        ProblemType = "payment-expired"
	InvalidPayload        ProblemType = "invalid-payload"
	VerificationFailed    ProblemType = "verification-failed"
	PaymentInsufficient   ProblemType = "payment-insufficient"
	PaymentActionRequired ProblemType = "payment-action-required"
	MethodUnsupported     ProblemType = "method-unsupported"
	BadRequest            ProblemType = "bad-request"
	InternalPaymentError  ProblemType = "internal-payment-error"
	InvalidSignature      ProblemType = "session/invalid-signature"
	SignerMismatch        ProblemType = "session/signer-mismatch"
	AmountExceedsDeposit  ProblemType = "session/amount-exceeds-deposit"
	DeltaTooSmall         ProblemType = "session/delta-too-small"
	ChannelNotFound       ProblemType = "session/channel-not-found"
	ChannelFinalized      ProblemType = "session/channel-finalized"
	ChallengeNotFound     ProblemType = "session/challenge-not-found"
	InsufficientBalance   ProblemType = "session/insufficient-balance"

	// TooManyRequests is no type of the protocol: as RFC 9457 has it, about:blank says
	// no more than the HTTP status.
	TooManyRequests ProblemType = "about:blank"
)

// problemBase precedes every type.
const problemBase = "https://paymentauth.org/problems/"

// ProblemMedia is the content type of a problem document (RFC 9457).
const ProblemMedia = "application/problem+json"

type problemKind struct {
	title  string
	status int
}

// problemKinds: 402 is what a client mends by signing again, and what makes the
// published client retry; 410 means the channel is gone for good.
var problemKinds = map[ProblemType]problemKind{
	PaymentRequired:       {"Payment Required", 402},
	MalformedCredential:   {"Malformed Credential", 402},
	InvalidChallenge:      {"Invalid Challenge", 402},
	PaymentExpired:        {"Payment Expired", 402},
	InvalidPayload:        {"Invalid Payload", 402},
	VerificationFailed:    {"Verification Failed", 402},
	PaymentInsufficient:   {"Payment Insufficient", 402},
	PaymentActionRequired: {"Payment Action Required", 402},
	MethodUnsupported:     {"Method Unsupported", 400},
	BadRequest:            {"Bad Request", 400},
	InternalPaymentError:  {"Internal Payment Error", 500},
	InvalidSignature:      {"Invalid Signature", 402},
	SignerMismatch:        {"Signer Mismatch", 402},
	AmountExceedsDeposit:  {"Amount Exceeds Deposit", 402},
	DeltaTooSmall:         {"Delta Too Small", 402},
	ChannelNotFound:       {"Channel Not Found", 410},
	ChannelFinalized:      {"Channel Closed", 410},
	ChallengeNotFound:     {"Challenge Not Found", 402},
	InsufficientBalance:   {"Insufficient Balance", 402},
	TooManyRequests:       {"Too Many Requests", 429},
}

// Title is the short name of the type, empty for an unknown one.
func (t ProblemType) Title() string { return problemKinds[t].title }

// Status is the HTTP status of the type; an unknown one is the server's fault.
func (t ProblemType) Status() int {
	if k, ok := problemKinds[t]; ok {
		return k.status
	}
	return 500
}

// URI is the full type.
func (t ProblemType) URI() string {
	if t == TooManyRequests {
		return string(t)
	}
	return problemBase + string(t)
}

// Problem is a refusal: an error that knows the document it is answered with.
type Problem struct {
	Type ProblemType
	// Detail and Hint are read by people, on the other side. They never hold an
	// inner error or a secret.
	Detail, Hint string

	// ChallengeID is the id of the fresh challenge that leaves with the document.
	ChallengeID string
	// ChannelID is omitted where zero.
	ChannelID common.Hash
	// RequiredTopUp is, with insufficient-balance, the price less what is left.
	RequiredTopUp tempo.Amount
	// Details are further members for programs; names are identifiers.
	Details map[string]string

	// RetryAfter is set where the chain cannot be asked, with status 503, and where a
	// rate limit was exceeded, with 429.
	RetryAfter time.Duration

	// Err is the cause, for the log alone.
	Err error
}

// problemf is a Problem whose detail is made with fmt.Sprintf.
func problemf(t ProblemType, format string, args ...any) *Problem {
	return &Problem{Type: t, Detail: fmt.Sprintf(format, args...)}
}

// Unreachable is the refusal while the chain cannot be asked. Nothing is stored
// and nothing is charged then.
func Unreachable(after time.Duration, err error) *Problem {
	return &Problem{Type: InternalPaymentError, RetryAfter: max(after, time.Second), Err: err,
		Detail: "The settlement chain cannot be reached. Nothing was charged."}
}

// RateLimited is the refusal of a request beyond a rate limit. Nothing is stored and
// nothing is charged then.
func RateLimited(after time.Duration, detail string) *Problem {
	return &Problem{Type: TooManyRequests, RetryAfter: max(after, time.Second), Detail: detail}
}

// Insufficient is the refusal of a charge of price where only available is left.
func Insufficient(channel common.Hash, price, available tempo.Amount) *Problem {
	lack, _ := price.Sub(available)
	return &Problem{Type: InsufficientBalance, ChannelID: channel, RequiredTopUp: lack,
		Detail: fmt.Sprintf("The voucher leaves %v base units and the price is %v.", available, price)}
}

// AsProblem is the problem in err's chain. Any other error becomes an
// internal-payment-error whose document says nothing of it.
func AsProblem(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	return &Problem{Type: InternalPaymentError, Detail: "The payment could not be processed.", Err: err}
}

func (p *Problem) Error() string {
	s := string(p.Type)
	if p.Detail != "" {
		s += ": " + p.Detail
	}
	if p.Err != nil {
		s += ": " + p.Err.Error()
	}
	return s
}

func (p *Problem) Unwrap() error { return p.Err }

// Status is the HTTP status of the answer.
func (p *Problem) Status() int {
	if p.RetryAfter > 0 && p.Type != TooManyRequests {
		return 503
	}
	return p.Type.Status()
}

// WithChallenge is p for an answer that carries the challenge with this id; p
// itself stays as it is, since several answers may share it.
func (p *Problem) WithChallenge(id string) *Problem {
	q := *p
	q.ChallengeID = id
	return &q
}

// Document is the body of the answer (RFC 9457), of type ProblemMedia. A detail that
// quotes foreign bytes does not cost the answer.
func (p *Problem) Document() []byte {
	var w writer
	w.begin(512)
	w.text("type", p.Type.URI())
	w.text("title", p.Type.Title())
	w.integer("status", uint64(p.Status()))
	w.text("detail", p.Detail)
	w.optional("hint", p.Hint)
	w.optional("challengeId", p.ChallengeID)
	if p.ChannelID != (common.Hash{}) {
		w.hex("channelId", p.ChannelID[:])
	}
	if p.Type == InsufficientBalance {
		w.amount("requiredTopUp", p.RequiredTopUp)
	}
	if len(p.Details) > 0 {
		w.object("details")
		for _, n := range slices.Sorted(maps.Keys(p.Details)) {
			w.text(n, p.Details[n])
		}
		w.end()
	}
	w.end()
	return w.b
}

// ParseProblem reads a problem document of status 402 and its kin. A type outside
// the protocol's base keeps its whole URI; unknown members are ignored.
func ParseProblem(doc []byte) (*Problem, error) {
	if len(doc) > maxDocument {
		return nil, fmt.Errorf("read problem: longer than %d bytes", maxDocument)
	}
	p := new(Problem)
	if err := readObject(doc, []string{"type"}, p.member); err != nil {
		return nil, fmt.Errorf("read problem: %w", err)
	}
	return p, nil
}

func (p *Problem) member(r *reader, name []byte) bool {
	switch string(name) {
	case "type":
		p.Type = ProblemType(strings.TrimPrefix(r.text(), problemBase))
	case "detail":
		p.Detail = r.text()
	case "hint":
		p.Hint = r.text()
	case "challengeId":
		p.ChallengeID = r.text()
	case "channelId":
		p.ChannelID = r.hash()
	case "requiredTopUp":
		p.RequiredTopUp = r.amount()
	default:
		return false
	}
	return true
}
