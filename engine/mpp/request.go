package mpp

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp/tempo"
)

// SessionRequest is the decoded request of a session challenge: what one unit
// costs, in which token, to whom. Zero values of optional fields are absent.
type SessionRequest struct {
	// Amount is the price of one unit, above zero.
	Amount    tempo.Amount
	Currency  common.Address // the TIP-20 token
	Recipient common.Address // the payee: who may settle
	// UnitType names the unit; "request" makes a stream cost one unit in all.
	UnitType string
	// SuggestedDeposit is optional.
	SuggestedDeposit tempo.Amount

	ChainID         uint64
	EscrowContract  common.Address
	SessionProtocol string
	// FeePayer: the server pays the gas of open and topUp.
	FeePayer bool
	// FeeToken is the token for gas; zero means Currency.
	FeeToken common.Address
	// MinVoucherDelta is the least a voucher must rise; optional.
	MinVoucherDelta tempo.Amount
	// Operator may settle beside the payee; zero: nobody, and the descriptor's
	// operator must be zero as well.
	Operator common.Address
	// SessionSnapshot is the server's view of the client's channel; optional.
	SessionSnapshot *Snapshot
}

// Encode is the request parameter that holds q: base64url of canonical JSON. A
// request that clients would refuse is an error.
func (q *SessionRequest) Encode() (string, error) {
	if err := q.check(); err != nil {
		return "", fmt.Errorf("encode request: %w", err)
	}
	var w writer
	q.write(&w)
	if w.err != nil {
		return "", fmt.Errorf("encode request: unitType: %w", w.err)
	}
	s := encode64(w.b)
	if len(s) > maxRequest {
		return "", fmt.Errorf("encode request: longer than %d characters", maxRequest)
	}
	return s, nil
}

// write writes q in canonical order.
func (q *SessionRequest) write(w *writer) {
	w.begin(512)
	w.amount("amount", q.Amount)
	w.hex("currency", q.Currency[:])
	w.object("methodDetails")
	w.integer("chainId", q.ChainID)
	w.hex("escrowContract", q.EscrowContract[:])
	if q.FeePayer {
		w.raw("feePayer", []byte("true"))
	}
	if q.FeeToken != (common.Address{}) {
		w.hex("feeToken", q.FeeToken[:])
	}
	if !q.MinVoucherDelta.IsZero() {
		w.amount("minVoucherDelta", q.MinVoucherDelta)
	}
	if q.Operator != (common.Address{}) {
		w.hex("operator", q.Operator[:])
	}
	w.text("sessionProtocol", q.SessionProtocol)
	if q.SessionSnapshot != nil {
		w.object("sessionSnapshot")
		q.SessionSnapshot.write(w)
		w.end()
	}
	w.end()
	w.hex("recipient", q.Recipient[:])
	if !q.SuggestedDeposit.IsZero() {
		w.amount("suggestedDeposit", q.SuggestedDeposit)
	}
	w.optional("unitType", q.UnitType)
	w.end()
}

func (q *SessionRequest) check() error {
	switch {
	case q.SessionProtocol != SessionProtocol:
		return fmt.Errorf("%w: sessionProtocol is %q", ErrNotSession, clip(q.SessionProtocol))
	case q.Amount.IsZero():
		return errors.New("amount is zero")
	case q.ChainID == 0 || q.ChainID > maxSafeInteger:
		return fmt.Errorf("chainId: %w", errRange)
	case q.EscrowContract == (common.Address{}):
		return errors.New("escrowContract is missing")
	}
	return nil
}

// ErrNotSession is wrapped where a challenge asks for another method or intent, or
// for another revision of sessions. A client looks for the next challenge then.
var ErrNotSession = errors.New("challenge is not for a tempo session v2")

// SessionRequest reads the request of a session challenge. Unknown members are
// ignored. An error that is not ErrNotSession means a broken challenge.
func (c *Challenge) SessionRequest() (*SessionRequest, error) {
	if c.Method != Method || c.Intent != Intent {
		return nil, fmt.Errorf("read request: %w: %s/%s", ErrNotSession, clip(c.Method), clip(c.Intent))
	}
	return DecodeSessionRequest(c.Request)
}

var requestMembers = []string{"amount", "currency", "recipient", "methodDetails"}

// DecodeSessionRequest undoes Encode. It reads any JSON object with the members of
// a request, canonical or not.
func DecodeSessionRequest(encoded string) (*SessionRequest, error) {
	doc, err := decode64(encoded, maxRequest)
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	return readSessionRequest(doc)
}

func readSessionRequest(doc []byte) (*SessionRequest, error) {
	q := new(SessionRequest)
	if err := readObject(doc, requestMembers, q.member); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	if err := q.check(); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	return q, nil
}

func (q *SessionRequest) member(r *reader, name []byte) bool {
	switch string(name) {
	case "amount":
		q.Amount = r.amount()
	case "currency":
		q.Currency = r.address()
	case "recipient":
		q.Recipient = r.address()
	case "unitType":
		q.UnitType = r.text()
	case "suggestedDeposit":
		q.SuggestedDeposit = r.amount()
	case "methodDetails":
		// A request of v1 may lack any of them; check says then that it is v1.
		r.object(nil, q.detail)
	default:
		return false
	}
	return true
}

func (q *SessionRequest) detail(r *reader, name []byte) bool {
	switch string(name) {
	case "chainId":
		q.ChainID = r.integer()
	case "escrowContract":
		q.EscrowContract = r.address()
	case "sessionProtocol":
		q.SessionProtocol = r.text()
	case "feePayer":
		q.FeePayer = r.boolean()
	case "feeToken":
		q.FeeToken = r.address()
	case "minVoucherDelta":
		q.MinVoucherDelta = r.amount()
	case "operator":
		q.Operator = r.address()
	case "sessionSnapshot":
		q.SessionSnapshot = new(Snapshot)
		q.SessionSnapshot.read(r)
	default:
		return false
	}
	return true
}
