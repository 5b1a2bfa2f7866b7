package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"txlens/engine/mpp"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/settle"
	"txlens/engine/mpp/tempo"
)

// Settlement chains of the protocol.
const (
	mainnet  = 4217
	moderato = 42431
)

// ousd is a dollar stablecoin with the same address on both chains.
var ousd = common.HexToAddress("0x20c0000000000000000000006a37DA5C996874BE")

// knownChains has the dollar stablecoin and the public endpoint of each chain.
var knownChains = map[uint64]struct {
	token common.Address
	rpc   string
}{
	mainnet:  {common.HexToAddress("0x20C000000000000000000000b9537d11c60E8b50"), "https://rpc.tempo.xyz"},
	moderato: {common.HexToAddress("0x20c0000000000000000000000000000000000000"), "https://rpc.moderato.tempo.xyz"},
}

func (ch Chain) withDefaults() Chain {
	if ch.ID == 0 {
		ch.ID = mainnet
	}
	usual := knownChains[ch.ID]
	if ch.Token == (common.Address{}) && usual.token != (common.Address{}) {
		ch.Token, ch.others = usual.token, []common.Address{ousd}
	}
	if len(ch.RPC) == 0 && usual.rpc != "" {
		ch.RPC = []string{usual.rpc}
	}
	return ch
}

// settlementChain reads the settlement chain for the payer.
type settlementChain struct {
	Chain
	domain *tempo.Domain
	rpc    *settle.Client
	asked  bool // the endpoint was checked to serve the chain
}

func newLedger(ch Chain) (*settlementChain, error) {
	ch = ch.withDefaults()
	switch {
	case ch.Token == (common.Address{}):
		return nil, fmt.Errorf("chain %d: name the token that is paid in", ch.ID)
	case len(ch.RPC) == 0:
		return nil, fmt.Errorf("chain %d: name an endpoint of the settlement chain", ch.ID)
	}
	l := &settlementChain{Chain: ch, domain: tempo.NewDomain(ch.ID, tempo.Escrow)}
	var err error
	l.rpc, err = settle.New(settle.Options{URLs: ch.RPC, Domain: l.domain})
	return l, err
}

// ready checks once that the endpoint serves the chain. A transaction that is signed for one
// chain is invalid on another, but the fees of another chain would be wrong.
func (l *settlementChain) ready(ctx context.Context) error {
	if l.asked {
		return nil
	}
	if err := l.rpc.CheckChain(ctx); err != nil {
		return fmt.Errorf("ask the settlement chain: %w", err)
	}
	l.asked = true
	return nil
}

// state returns the state of a channel on chain.
func (l *settlementChain) state(ctx context.Context, id common.Hash) (session.State, error) {
	if err := l.ready(ctx); err != nil {
		return session.State{}, err
	}
	states, err := l.rpc.States(ctx, id)
	if err != nil {
		return session.State{}, fmt.Errorf("ask the chain about the channel: %w", err)
	}
	return states[0], nil
}

// timeAndState returns the time on chain and the state of a channel at that time or later: a
// transaction that cannot be included after that time would be visible in the state.
func (l *settlementChain) timeAndState(ctx context.Context, id common.Hash) (now time.Time, s session.State, err error) {
	if err := l.ready(ctx); err != nil {
		return now, s, err
	}
	if now, err = l.rpc.Now(ctx); err != nil {
		return now, s, fmt.Errorf("ask for the time on chain: %w", err)
	}
	s, err = l.state(ctx, id)
	return now, s, err
}

// Balance returns the token balance of the account outside of channels.
func (ch Chain) Balance(ctx context.Context, account common.Address) (tempo.Amount, error) {
	l, err := newLedger(ch)
	if err != nil {
		return tempo.Amount{}, err
	}
	defer l.rpc.Close()
	return l.balance(ctx, l.Token, account)
}

func (l *settlementChain) balance(ctx context.Context, token, account common.Address) (tempo.Amount, error) {
	if err := l.ready(ctx); err != nil {
		return tempo.Amount{}, err
	}
	a, err := l.rpc.Balance(ctx, token, account)
	if err != nil {
		return a, fmt.Errorf("ask for the balance: %w", err)
	}
	return a, nil
}

// maxFee limits the fee of one transaction to a dollar, in attodollars. A wrong or hostile
// endpoint must not be able to spend the account's money on fees.
var maxFee = uint256.NewInt(1e18)

// sign signs a transaction of the account that calls the escrow contract. A sponsored
// transaction is completed by the server.
func (l *settlementChain) sign(
	ctx context.Context,
	call tempo.ReserveCall,
	account common.Address,
	key tempo.Signer,
	sponsored bool,
) (*tempo.Transaction, error) {
	if err := l.ready(ctx); err != nil {
		return nil, err
	}
	u := settle.Unsigned{Calls: []tempo.Call{tempo.CallReserve(tempo.Escrow, call)}, FeeToken: l.tokenOf(call)}
	if sponsored {
		u.Sponsorship = tempo.Unsponsored
	}
	tx, err := l.rpc.NewTransaction(ctx, account, u)
	if err != nil {
		return nil, fmt.Errorf("price the transaction: %w", err)
	}
	fee, over := new(uint256.Int).MulOverflow(&tx.MaxFeePerGas, uint256.NewInt(tx.Gas))
	if over || fee.Gt(maxFee) {
		return nil, errors.New("price the transaction: the chain's fee is above a dollar")
	}
	if err := tx.Sign(account, key); err != nil {
		return nil, err
	}
	return tx, nil
}

// tokenOf returns the token of the channel that is called. Fees are paid in it.
func (l *settlementChain) tokenOf(call tempo.ReserveCall) common.Address {
	switch call := call.(type) {
	case tempo.OpenCall:
		return call.Token
	case tempo.TopUpCall:
		return call.Descriptor.Token
	case tempo.RequestCloseCall:
		return call.Descriptor.Token
	case tempo.WithdrawCall:
		return call.Descriptor.Token
	}
	return l.Token
}

// lag is how long after ValidBefore the chain may not show an included transaction yet.
const lag = 4 * time.Second

// settled reads from the chain what the channel file does not know: whether a channel was
// opened, topped up or closed. It waits until the transaction is included or can no longer be.
// ok is false if the channel does not exist on chain; its row is then deleted.
func (c *Client) settled(ctx context.Context, id common.Hash) (r row, ok bool, err error) {
	for {
		r, ok = c.store.row(id)
		if !ok || !r.uncertain() {
			return r, ok, nil
		}
		now, s, err := c.chain.timeAndState(ctx, id)
		if err != nil {
			return r, false, err
		}
		pending := !r.Pending.IsZero() && s.Deposit.Cmp(r.Deposit) <= 0
		waits := (r.State == Opening || pending) && now.Before(time.Unix(r.ValidBefore, 0).Add(lag))
		switch {
		case s.Deposit.IsZero() && (r.State == Opening || r.State == Closing) && !waits:
			return r, false, c.store.drop(id)
		case s.Deposit.IsZero() && r.State == Opening && now.Before(time.Unix(r.ValidBefore, 0).Add(-usable)):
			return r, true, nil // not sent or not included: the server sends it again
		case !s.Deposit.IsZero() && !pending:
			return c.adopt(r, s)
		case s.Deposit.IsZero() && r.State == Open:
			return r, false, fmt.Errorf("%w: the chain has no channel %s", ErrNoChannel, id)
		case !waits:
			return c.adopt(r, s) // the top-up was not included
		}
		if err := sleep(ctx, time.Second); err != nil {
			return r, false, err
		}
	}
}

// usable is the minimum remaining validity of a transaction that the server must send.
const usable = 8 * time.Second

// adopt sets a row to the state on chain.
func (c *Client) adopt(r row, s session.State) (row, bool, error) {
	err := c.store.edit(r.ID, func(r *row) {
		r.State, r.Deposit, r.Pending, r.OpenTx, r.ValidBefore = Open, s.Deposit, tempo.Amount{}, nil, 0
		if r.WithdrawableAt = 0; s.CloseRequestedAt != 0 {
			r.State, r.WithdrawableAt = Closing, s.CloseRequestedAt+tempo.CloseGracePeriod
		}
	})
	r, ok := c.store.row(r.ID)
	return r, ok, err
}

// Refresh reads the state of all channels in the file and returns them. Channels that do not
// exist on chain are deleted from the file.
func (c *Client) Refresh(ctx context.Context) ([]Channel, error) {
	if err := c.acquire(ctx); err != nil {
		return nil, err
	}
	defer c.give()
	for _, r := range c.store.book.Channels {
		if r.uncertain() {
			if _, _, err := c.settled(ctx, r.ID); err != nil {
				return nil, err
			}
			continue
		}
		s, err := c.chain.state(ctx, r.ID)
		if err == nil && s.Deposit.IsZero() {
			err = c.vanished(ctx, r)
		} else if err == nil {
			_, _, err = c.adopt(r, s)
		}
		if err != nil {
			return nil, err
		}
	}
	return c.told(), nil
}

// vanished deletes a channel that does not exist on chain. It asks more than once, because a
// replica may lag behind.
func (c *Client) vanished(ctx context.Context, r row) error {
	for range 3 {
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
		s, err := c.chain.state(ctx, r.ID)
		if err != nil {
			return err
		}
		if !s.Deposit.IsZero() {
			_, _, err := c.adopt(r, s)
			return err
		}
	}
	return c.store.drop(r.ID)
}

// Channels lists the channels of the server and account in the file, oldest first.
func (c *Client) Channels() []Channel {
	<-c.turn
	defer c.give()
	return c.told()
}

func (c *Client) told() []Channel {
	list := make([]Channel, 0, len(c.store.book.Channels))
	for i := range c.store.book.Channels {
		list = append(list, c.store.book.public(&c.store.book.Channels[i]))
	}
	return list
}

// sleep waits, unless the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// terms finds the session offers among the challenges of an answer, compares them with what the
// payer agreed to, and returns the one to answer.
func (p *purchase) terms(ctx context.Context, values []string) (*offer, error) {
	if p.c.o.Key == nil {
		return nil, ErrNoKey
	}
	list, err := mpp.ParseChallenges(values...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	refusal := fmt.Errorf("%w: it offers no tempo session", ErrTerms)
	var offers []*offer
	for i := range list {
		q, err := list[i].SessionRequest()
		if errors.Is(err, mpp.ErrNotSession) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
		}
		if err := p.c.agrees(q); err != nil {
			refusal = err
			continue
		}
		if err := list[i].CheckExpires(time.Now()); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
		}
		offers = append(offers, &offer{challenge: list[i], q: q})
	}
	if len(offers) == 0 {
		return nil, refusal
	}
	return p.choose(ctx, offers), nil
}

// choose returns the offer in the token of the channel in use; else that of another channel at the
// server; else the first one whose token the account holds.
func (p *purchase) choose(ctx context.Context, offers []*offer) *offer {
	if len(offers) == 1 {
		return offers[0]
	}
	if r := p.row(); r.ID != (common.Hash{}) {
		for _, of := range offers {
			if p.c.matches(&r, of.q) {
				return of
			}
		}
	}
	for _, r := range p.c.store.book.Channels {
		for _, of := range offers {
			if p.c.matches(&r, of.q) {
				return of
			}
		}
	}
	for _, of := range offers {
		if has, err := p.c.chain.balance(ctx, of.q.Currency, p.c.account); err == nil && !has.IsZero() {
			return of
		}
	}
	return offers[0]
}

// offer is the price that the server asks for, and the challenge that contains it.
type offer struct {
	challenge mpp.Challenge
	q         *mpp.SessionRequest
}

// agrees compares an offer with what the payer named. It ignores FeeToken: fees are paid in
// the payer's token, whatever the server suggests.
func (c *Client) agrees(q *mpp.SessionRequest) error {
	switch {
	case q.ChainID != c.chain.ID:
		return fmt.Errorf("%w: it is paid on chain %d, not %d", ErrTerms, q.ChainID, c.chain.ID)
	case q.Currency != c.chain.Token && !slices.Contains(c.chain.others, q.Currency):
		return fmt.Errorf("%w: it is paid in token %s, not %s", ErrTerms, q.Currency, c.chain.Token)
	case q.EscrowContract != tempo.Escrow:
		return fmt.Errorf("%w: it wants the deposit in %s, which is not the channel reserve", ErrTerms, q.EscrowContract)
	case q.Recipient == (common.Address{}) || q.Recipient == c.account:
		return fmt.Errorf("%w: it names %s as the payee", ErrTerms, q.Recipient)
	}
	return nil
}
