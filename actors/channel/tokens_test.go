package channel

import (
	"context"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"txlens/engine/mpp"
	"txlens/engine/mpp/sandbox"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"
)

// openIn builds an open of a channel in a token.
func (m *market) openIn(k tempo.Signer, token common.Address, deposit uint64) (*purse, *tempo.Transaction) {
	m.t.Helper()
	salt++
	call := tempo.OpenCall{Payee: m.payee.Address(), Token: token, Deposit: units(deposit), Salt: common.Hash{31: salt}, AuthorizedSigner: k.Address()}
	tx := m.tx(k, call)
	d, _, err := tempo.OpenedBy(tx, k.Address())
	if err != nil {
		m.t.Fatal(err)
	}
	return &purse{m: m, key: k, ref: mpp.ChannelRef{ChannelID: m.terms.Domain.ChannelID(d), Descriptor: d}}, tx
}

// payIn is pay as an answer to the challenge in a token.
func (m *market) payIn(token common.Address, p mpp.Payload) (*Payment, error) {
	m.t.Helper()
	for _, offer := range m.route.Offers() {
		if offer.Request.Currency != token {
			continue
		}
		ch, err := m.issuer.Issue(offer, m.c.options.now().Add(time.Minute))
		if err != nil {
			m.t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		return m.c.Pay(ctx, PayRequest{Credential: m.credential(ch, p), Route: m.route, Shape: content})
	}
	m.t.Fatalf("no challenge in %s", token)
	return nil, nil
}

// TestChannelsOfTwoTokens: a payer has a channel in each token; they are served, settled together
// and closed, and each is paid out in its own.
func TestChannelsOfTwoTokens(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	m.route.Currencies, m.terms.OtherTokens = []common.Address{sandbox.OUSD}, []common.Address{sandbox.OUSD}
	m.restart()
	ctx := context.Background()
	if err := m.chain.Mint(sandbox.OUSD, key(1).Address(), uint256.NewInt(100*dollar)); err != nil {
		t.Fatal(err)
	}
	third := common.HexToAddress("0x20c0000000000000000000000000000000000003")
	var purses []*purse
	for i, token := range []common.Address{sandbox.PathUSD, sandbox.OUSD} {
		p, tx := m.openIn(key(1), token, 5*dollar)
		if _, err := m.payIn(token, p.open(tx, 30_000)); err != nil {
			t.Fatal(err)
		}
		if _, err := admitOn(ctx, m.c, p.ref.ChannelID, TicketKey{byte(i)}, "", 30_000); err != nil {
			t.Fatal(err)
		}
		if row := p.row(); row.Descriptor.Token != token {
			t.Errorf("the channel is in %s, want %s", row.Descriptor.Token, token)
		}
		purses = append(purses, p)
	}
	if _, err := m.payIn(sandbox.OUSD, purses[0].voucher(40_000)); problemOf(err) != mpp.VerificationFailed {
		t.Errorf("a channel of another token than the challenge: %v", err)
	}
	foreign, tx := m.openIn(key(1), third, 5*dollar)
	if _, err := m.payIn(sandbox.OUSD, foreign.open(tx, 30_000)); problemOf(err) != mpp.VerificationFailed {
		t.Errorf("a channel in a token that is not taken: %v", err)
	}
	if err := m.c.Settle(ctx, purses[0].ref.ChannelID, purses[1].ref.ChannelID); err != nil {
		t.Fatal(err)
	}
	for _, p := range purses {
		p.is(session.Active, 30_000, 0)
		if _, err := m.c.CloseChannel(ctx, p.ref.ChannelID); err != nil {
			t.Fatal(err)
		}
		p.is(session.Closed, 30_000, 0)
	}
	balanced(t, m, 60_000)
	for _, b := range m.chain.Books().Balances {
		if b.Token == sandbox.OUSD && b.Holder == m.payee.Address() && b.Amount.Uint64() != 30_000 {
			t.Errorf("the payee has %s of the second token", b.Amount)
		}
	}
}
