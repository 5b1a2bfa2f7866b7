package mpp

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp/tempo"
)

// TestConformance_5_5_Types is the table of problem types.
func TestConformance_5_5_Types(t *testing.T) {
	rows := 0
	f := func(typ ProblemType, suffix, title string, status int) {
		t.Helper()
		rows++
		if typ.URI() != "https://paymentauth.org/problems/"+suffix || typ.Title() != title || typ.Status() != status {
			t.Errorf("%s %q %d", typ.URI(), typ.Title(), typ.Status())
		}
	}
	f(PaymentRequired, "payment-required", "Payment Required", 402)
	f(MalformedCredential, "malformed-credential", "Malformed Credential", 402)
	f(InvalidChallenge, "invalid-challenge", "Invalid Challenge", 402)
	f(PaymentExpired, "payment-expired", "Payment Expired", 402)
	f(InvalidPayload, "invalid-payload", "Invalid Payload", 402)
	f(VerificationFailed, "verification-failed", "Verification Failed", 402)
	f(PaymentInsufficient, "payment-insufficient", "Payment Insufficient", 402)
	f(PaymentActionRequired, "payment-action-required", "Payment Action Required", 402)
	f(MethodUnsupported, "method-unsupported", "Method Unsupported", 400)
	f(BadRequest, "bad-request", "Bad Request", 400)
	f(InternalPaymentError, "internal-payment-error", "Internal Payment Error", 500)
	f(InvalidSignature, "session/invalid-signature", "Invalid Signature", 402)
	f(SignerMismatch, "session/signer-mismatch", "Signer Mismatch", 402)
	f(AmountExceedsDeposit, "session/amount-exceeds-deposit", "Amount Exceeds Deposit", 402)
	f(DeltaTooSmall, "session/delta-too-small", "Delta Too Small", 402)
	f(ChannelNotFound, "session/channel-not-found", "Channel Not Found", 410)
	f(ChannelFinalized, "session/channel-finalized", "Channel Closed", 410)
	f(ChallengeNotFound, "session/challenge-not-found", "Challenge Not Found", 402)
	f(InsufficientBalance, "session/insufficient-balance", "Insufficient Balance", 402)
	if rows != len(problemKinds)-1 {
		t.Errorf("%d types, %d tested", len(problemKinds), rows)
	}
	// The one that is no type of the protocol (RFC 9457, section 4.2.1).
	if p := RateLimited(time.Second, "x"); p.Type.URI() != "about:blank" || p.Type.Title() != "Too Many Requests" || p.Status() != 429 {
		t.Errorf("%s %q %d", p.Type.URI(), p.Type.Title(), p.Status())
	}
}

func TestProblemDocument(t *testing.T) {
	channel := common.HexToHash("0x01")
	p := Insufficient(channel, tempo.AmountFrom(100000), tempo.AmountFrom(30000))
	p.Hint, p.Details = "Raise the voucher.", map[string]string{"b": "2", "a": "1"}
	q := p.WithChallenge("abc")
	want := `{"type":"https://paymentauth.org/problems/session/insufficient-balance","title":"Insufficient Balance","status":402,` +
		`"detail":"The voucher leaves 30000 base units and the price is 100000.","hint":"Raise the voucher.","challengeId":"abc",` +
		`"channelId":"0x0000000000000000000000000000000000000000000000000000000000000001","requiredTopUp":"70000","details":{"a":"1","b":"2"}}`
	if got := string(q.Document()); got != want {
		t.Errorf("%s", got)
	}
	if p.ChallengeID != "" {
		t.Error("WithChallenge changed the shared problem")
	}
	back, err := ParseProblem(q.Document())
	if err != nil || back.Type != InsufficientBalance || back.RequiredTopUp != tempo.AmountFrom(70000) || back.ChannelID != channel ||
		back.ChallengeID != "abc" || back.Hint != p.Hint || back.Detail != p.Detail {
		t.Errorf("%+v, %v", back, err)
	}
	want = `{"type":"https://paymentauth.org/problems/payment-required","title":"Payment Required","status":402,"detail":"<pay> & go"}`
	if got := string((&Problem{Type: PaymentRequired, Detail: "<pay> & go"}).Document()); got != want {
		t.Errorf("%s", got)
	}
	if got := string((&Problem{Type: BadRequest, Detail: "\xff"}).Document()); !strings.Contains(got, "Bad Request") {
		t.Errorf("%s", got)
	}
	for _, bad := range []string{``, `[]`, `{}`, `{"type":1}`, `{"type":"x","type":"y"}`, strings.Repeat(" ", maxDocument+1)} {
		if p, err := ParseProblem([]byte(bad)); err == nil {
			t.Errorf("%s: %+v", clip(bad), p)
		}
	}
	if p, err := ParseProblem([]byte(`{"type":"about:blank","title":[1,{"a":2}]}`)); err != nil || p.Type != "about:blank" {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestAdvisory_mppx_0_5_2_ErrorBodiesTellNothing: the cause is for the log alone.
func TestAdvisory_mppx_0_5_2_ErrorBodiesTellNothing(t *testing.T) {
	secret := errors.New("dial 10.0.0.7: connection refused")
	for _, err := range []error{secret, fmt.Errorf("settle: %w", secret), Unreachable(0, secret), &Problem{Type: BadRequest, Err: secret}} {
		p := AsProblem(err)
		if strings.Contains(string(p.Document()), "10.0.0.7") {
			t.Errorf("%s", p.Document())
		}
		if !errors.Is(p, secret) || !strings.Contains(p.Error(), "10.0.0.7") {
			t.Errorf("the log lacks the cause: %v", p)
		}
	}
}

// TestH13_ClientMistakesAreNo500: every refusal of a parser says what the client
// did; what the server cannot do is 503.
func TestH13_ClientMistakesAreNo500(t *testing.T) {
	if p := AsProblem(errors.New("x")); p.Status() != 500 || p.Type != InternalPaymentError {
		t.Errorf("%d %s", p.Status(), p.Type)
	}
	p := Unreachable(2*time.Second, nil)
	if p.Status() != 503 || p.RetryAfter != 2*time.Second || !strings.Contains(string(p.Document()), `"status":503`) {
		t.Errorf("%d %s", p.Status(), p.Document())
	}
	if p := AsProblem(fmt.Errorf("serve: %w", problemf(ChannelNotFound, "x"))); p.Status() != 410 {
		t.Error(p.Status())
	}
	if ProblemType("new").Status() != 500 {
		t.Error("an unknown type must not look like the client's fault")
	}
}
