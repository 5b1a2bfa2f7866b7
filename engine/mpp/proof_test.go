package mpp

import (
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"txlens/engine/mpp/tempo"
)

// TestVerifyProof changes one thing at a time of a good proof.
func TestVerifyProof(t *testing.T) {
	issuer, _ := sessionChallenge(t)
	key := func(n byte) *tempo.Secp256k1Key {
		secret := common.BytesToHash([]byte{n})
		k, err := tempo.NewSecp256k1Key(secret[:])
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	payerKey, stranger := key(1), key(2)
	// parts are what a proof is made of.
	type parts struct {
		challenge *Challenge
		source    Source
		signer    *tempo.Secp256k1Key
		chainID   uint64
		account   common.Address
		id, realm string
		kind      string
		extra     string
		at        time.Time
	}
	f := func(what string, want ProblemType, change func(*parts)) {
		t.Helper()
		route := testRoute()
		c, err := issuer.IssueProof(route, now.Add(ChallengeLifetime))
		if err != nil {
			t.Fatal(err)
		}
		p := parts{challenge: c, source: Source{42431, payerKey.Address()}, signer: payerKey, chainID: 42431, account: payerKey.Address(),
			id: c.ID, realm: c.Realm, kind: proofPayload, at: now}
		change(&p)
		sig, err := p.signer.SignDigest(tempo.ProofDigest(p.chainID, p.account, p.id, p.realm))
		if err != nil {
			t.Fatal(err)
		}
		cr := &Credential{Challenge: *p.challenge, Source: p.source.String(),
			payload: []byte(`{"type":"` + p.kind + `","signature":"` + hexutil.Encode(sig.Bytes()) + `"` + p.extra + `}`)}
		account, err := issuer.VerifyProof(cr, route, p.at)
		if want != "" {
			wantProblem(t, err, want)
		}
		if (want == "") != (err == nil) || (account == payerKey.Address()) != (want == "") {
			t.Errorf("%s: %s, %v", what, account, err)
		}
	}
	reseal := func(change func(*Challenge)) func(*parts) {
		return func(p *parts) {
			change(p.challenge)
			issuer.SetID(p.challenge)
			p.id = p.challenge.ID
		}
	}
	f("a good proof", "", func(*parts) {})
	f("signed by a stranger", InvalidSignature, func(p *parts) { p.signer = stranger })
	f("of another account", InvalidSignature, func(p *parts) { p.account = stranger.Address() })
	f("of another challenge", InvalidSignature, func(p *parts) { p.id = "x" })
	f("of another realm", InvalidSignature, func(p *parts) { p.realm = "elsewhere" })
	f("signed for another chain", InvalidSignature, func(p *parts) { p.chainID = 1 })
	f("for an account of another chain", VerificationFailed, func(p *parts) { p.source.ChainID, p.chainID = 1, 1 })
	f("of another kind", InvalidPayload, func(p *parts) { p.kind = "hash" })
	f("with a member of later versions", "", func(p *parts) { p.extra = `,"x":1` })
	f("too late", PaymentExpired, func(p *parts) { p.at = now.Add(ChallengeLifetime + time.Minute) })
	f("of a challenge that was changed", InvalidChallenge, func(p *parts) { p.challenge.Realm = "elsewhere" })
	f("of a session's challenge", InvalidChallenge, reseal(func(c *Challenge) { c.Intent = Intent }))
	f("of another server's realm", InvalidChallenge, reseal(func(c *Challenge) { c.Realm = "elsewhere" }))
	f("of another route", InvalidChallenge, reseal(func(c *Challenge) { c.Opaque = "e30" }))
}
