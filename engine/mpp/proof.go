package mpp

import (
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp/tempo"
)

// IntentCharge is the intent of a challenge for one payment. Its only use here is the
// bootstrap of a session: a charge of nothing, which a client answers with a proof of
// its account, to learn of the channel that it has.
const IntentCharge = "charge"

// proofPayload is the type of the payload that answers a charge of nothing.
const proofPayload = "proof"

// IssueProof is a challenge to prove an account to a route, good until expires.
func (i *Issuer) IssueProof(route *Route, expires time.Time) (*Challenge, error) {
	q := &route.Request
	var w writer
	w.begin(256)
	w.amount("amount", tempo.Amount{})
	w.hex("currency", q.Currency[:])
	w.object("methodDetails")
	w.integer("chainId", q.ChainID)
	w.end()
	w.hex("recipient", q.Recipient[:])
	w.end()
	c := &Challenge{
		Realm: route.Realm, Method: Method, Intent: IntentCharge, Request: encode64(w.b), Expires: FormatTime(expires),
		Opaque: route.Opaque, Description: "Proof of the account that pays",
	}
	if ambiguous(c) {
		return nil, fmt.Errorf("issue challenge: %q has no place in a bound field", '|')
	}
	i.SetID(c)
	return c, nil
}

// IsProof reports whether a credential answers a charge.
func (c *Credential) IsProof() bool { return c.Challenge.Intent == IntentCharge }

// VerifyProof returns the account that a credential proves. The error is a *Problem.
func (i *Issuer) VerifyProof(cr *Credential, route *Route, now time.Time) (account common.Address, err error) {
	c := &cr.Challenge
	if err := i.Verify(c); err != nil {
		return account, err
	}
	if c.Intent != IntentCharge || c.Realm != route.Realm || c.Opaque != route.Opaque {
		return account, otherRoute("intent, realm or opaque")
	}
	if err := c.CheckExpires(now); err != nil {
		return account, err
	}
	var kind string
	var signature []byte
	err = readObject(cr.payload, []string{"type", "signature"}, func(r *reader, name []byte) bool {
		switch string(name) {
		case "type":
			kind = r.text()
		case "signature":
			signature = r.bytes(maxSignature)
		default:
			return false
		}
		return true
	})
	if err == nil && kind != proofPayload {
		err = errors.New("its type is not proof")
	}
	if err != nil {
		return account, &Problem{Type: InvalidPayload, Detail: "A charge of nothing is answered with a proof.", Err: err}
	}
	source, err := ParseSource(cr.Source)
	if err != nil || source.ChainID != route.Request.ChainID {
		return account, problemf(VerificationFailed, "The source is not an account on the challenge's chain.")
	}
	sig, err := tempo.ParseSignature(signature)
	if err == nil {
		var signer common.Address
		signer, err = sig.Signer(tempo.ProofDigest(source.ChainID, source.Address, c.ID, c.Realm))
		if err == nil && signer != source.Address {
			err = tempo.ErrSigner
		}
	}
	if err != nil {
		return account, &Problem{Type: InvalidSignature, Detail: "The signature is not the account's for this proof.", Err: err}
	}
	return source.Address, nil
}
