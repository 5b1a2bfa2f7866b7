package client

import (
	"context"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"txlens/engine/mpp"
	"txlens/engine/mpp/sandbox"
	"txlens/engine/mpp/tempo"
)

// TestTokenOfSeveral: of the tokens that a server takes the payer uses that of its channel, else
// the first that it holds; a token that its settings name is the only one.
func TestTokenOfSeveral(t *testing.T) {
	holder := func(t *testing.T, r *rogue, n byte, tokens ...common.Address) {
		secret := make([]byte, 32)
		secret[31] = n
		key, err := tempo.NewSecp256k1Key(secret)
		if err != nil {
			t.Fatal(err)
		}
		r.key = key
		for _, token := range tokens {
			if err := r.chain.Mint(token, key.Address(), uint256.NewInt(1e9)); err != nil {
				t.Fatal(err)
			}
		}
	}
	third := common.HexToAddress("0x20c0000000000000000000000000000000000003")
	f := func(n byte, holds []common.Address, named, channel, want common.Address, offered ...common.Address) {
		t.Helper()
		r := newRogue(t)
		holder(t, r, n, holds...)
		c := r.client(func(o *Options) { o.Chain.Token, o.Key = named, r.key })
		p := &purchase{c: c}
		if channel != (common.Address{}) {
			d := tempo.Descriptor{Payer: c.account, Payee: r.offer.Recipient, Token: channel, AuthorizedSigner: c.account}
			rw := row{ID: d.ID(r.offer.ChainID, tempo.Escrow), ChainID: r.offer.ChainID, Escrow: tempo.Escrow, Descriptor: descriptor(d), State: Open, Deposit: usd(200), Signed: usd(1)}
			if err := c.store.update(func(b *channelFile) { b.Channels = append(b.Channels, rw) }); err != nil {
				t.Fatal(err)
			}
		}
		var values []string
		for _, token := range offered {
			q := r.offer
			q.Currency = token
			ch, err := r.issue.Issue(&mpp.Route{Realm: "shop", Request: q}, time.Now().Add(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			value, err := ch.HeaderValue()
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
		of, err := p.terms(context.Background(), values)
		if (err == nil) != (want != common.Address{}) || err == nil && of.q.Currency != want {
			t.Errorf("offered %v: %+v, %v; want %s", offered, of, err, want)
		}
	}
	none, usdp, ou := common.Address{}, sandbox.PathUSD, sandbox.OUSD
	f(21, []common.Address{usdp, ou}, none, none, usdp, usdp, ou)
	f(22, []common.Address{usdp, ou}, none, none, ou, ou, usdp)
	f(23, []common.Address{ou}, none, none, ou, usdp, ou)
	f(24, nil, none, none, usdp, usdp, ou)
	f(25, []common.Address{usdp, ou}, none, ou, ou, usdp, ou)
	f(26, []common.Address{usdp}, none, none, usdp, third, usdp)
	f(27, []common.Address{ou}, usdp, none, usdp, usdp, ou)
	f(28, []common.Address{ou}, usdp, none, none, ou)
	f(29, []common.Address{usdp}, none, none, none, third)
}
