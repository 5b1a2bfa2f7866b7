package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"

	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
)

// purchase is one request of the payer with everything that belongs to it: vouchers, polls,
// recovery. It holds the semaphore of the client.
type purchase struct {
	c        *Client
	key      string       // Idempotency-Key: a repeated request does not begin a new run
	channel  common.Hash  // channel that pays; zero until it is known
	signed   tempo.Amount // amount that its vouchers added
	charged  tempo.Amount // charged by receipts
	answered map[string]bool
	offered  *offer // challenge that was answered last; the vouchers of a stream answer it again
	replaced bool   // a channel that no longer existed was replaced
	toppedUp bool   // topped up because the server called the deposit too small
	// lastSpent is the spent amount in receipts of a channel that is no longer in the file.
	lastSpent tempo.Amount
}

func (c *Client) newPurchase() *purchase {
	return &purchase{c: c, key: uuid.NewString(), answered: map[string]bool{}}
}

// row returns the channel that pays.
func (p *purchase) row() row {
	r, _ := p.c.store.row(p.channel)
	return r
}

// matches reports whether a channel fits an offer: everything that its id commits to equals
// the offer and the key.
func (c *Client) matches(r *row, q *mpp.SessionRequest) bool {
	d := &r.Descriptor
	return r.ChainID == q.ChainID && r.Escrow == q.EscrowContract && d.Payee == q.Recipient && d.Token == q.Currency &&
		d.Operator == q.Operator && tempo.Descriptor(*d).Signer() == c.o.Key.Address()
}

// use finds the channel for an offer, or opens one together with the credential's voucher. The
// payload is nil if there is a channel for which a voucher can be signed.
func (p *purchase) use(ctx context.Context, of *offer) (mpp.Payload, error) {
	for _, r := range p.c.store.book.Channels {
		if !p.c.matches(&r, of.q) {
			continue
		}
		r, there, err := p.c.settled(ctx, r.ID)
		switch {
		case err != nil:
			return nil, err
		case !there:
			continue
		case r.State == Closing:
			return nil, fmt.Errorf("the channel %s is being closed; withdraw from it first", r.ID)
		case r.State == Opening:
			p.channel = r.ID
			return p.reopen(r, of)
		}
		p.channel = r.ID
		return nil, nil
	}
	if snap := of.q.SessionSnapshot; snap != nil {
		if found, err := p.hydrate(ctx, of.q, snap); found || err != nil {
			return nil, err
		}
	}
	return p.open(ctx, of)
}

// hydrate adopts a channel that the server knows and the local file does not. It requires the
// payer's own signature and the state on chain.
func (p *purchase) hydrate(ctx context.Context, q *mpp.SessionRequest, s *mpp.Snapshot) (found bool, err error) {
	if s.Check(q, p.c.account) != nil || s.Descriptor.Signer() != p.c.o.Key.Address() || !p.c.hasSigned(s) {
		return false, nil
	}
	state, err := p.c.chain.state(ctx, s.ChannelID)
	if err != nil || state.Deposit.IsZero() || state.CloseRequestedAt != 0 {
		return false, err
	}
	p.channel = s.ChannelID
	return true, p.c.store.update(func(b *channelFile) {
		b.Channels = append(b.Channels, row{
			ID: s.ChannelID, ChainID: s.ChainID, Escrow: s.Escrow, Descriptor: descriptor(s.Descriptor), State: Open,
			Deposit: state.Deposit, Signed: s.AcceptedCumulative, Spent: s.Spent, OpenedAt: time.Now().Unix(),
		})
	})
}

// hasSigned reports whether a snapshot has a signature of this key for the accepted amount.
func (c *Client) hasSigned(s *mpp.Snapshot) bool {
	if s.HighestVoucher == nil {
		return false
	}
	sig, err := tempo.ParseSignature(s.HighestVoucher.Signature)
	return err == nil && c.chain.domain.Verify(s.ChannelID, s.AcceptedCumulative, sig, c.o.Key.Address()) == nil
}

// catchUp accepts from a snapshot what was signed before and is missing in the file, which may
// be an older copy. It believes nothing else about signed amounts.
func (p *purchase) catchUp(s *mpp.Snapshot) error {
	if s.AcceptedCumulative.Cmp(p.row().Signed) <= 0 {
		return nil
	}
	if !p.c.hasSigned(s) {
		return fmt.Errorf("%w: the snapshot says that more was accepted than signed", ErrProtocol)
	}
	return p.c.store.edit(s.ChannelID, func(r *row) { r.Signed = s.AcceptedCumulative })
}

// checkLimit refuses to sign for more than the limit of the request. It is called before a channel
// is opened, too.
func (p *purchase) checkLimit(raise tempo.Amount) error {
	total, ok := p.signed.Add(raise)
	if !ok || total.Cmp(p.c.o.Limits.MaxCharge) > 0 {
		return &LimitError{Limit: LimitRequest, Asked: total, Allowed: p.c.o.Limits.MaxCharge}
	}
	return nil
}

// depositRoom returns the amount that may still be deposited with this server.
func (c *Client) depositRoom() tempo.Amount {
	left := c.o.Limits.MaxDeposit
	for i := range c.store.book.Channels {
		var ok bool
		if left, ok = left.Sub(c.store.book.Channels[i].held()); !ok {
			return tempo.Amount{}
		}
	}
	return left
}

// open signs the opening of a channel and its first voucher, and stores both before they are
// sent.
func (p *purchase) open(ctx context.Context, of *offer) (mpp.Payload, error) {
	c, q := p.c, of.q
	if err := p.checkLimit(q.Amount); err != nil {
		return nil, err
	}
	deposit, room := higher(q.SuggestedDeposit, q.Amount), c.depositRoom()
	if deposit.Cmp(room) >= 0 {
		deposit = room
	}
	if q.Amount.Cmp(deposit) > 0 {
		return nil, &LimitError{Limit: LimitDeposit, Asked: q.Amount, Allowed: room}
	}
	if err := p.checkBalance(ctx, q.Currency, deposit); err != nil {
		return nil, err
	}
	var salt common.Hash
	rand.Read(salt[:]) // never fails (Go 1.24)
	call := tempo.OpenCall{
		Payee:            q.Recipient,
		Operator:         q.Operator,
		Token:            q.Currency,
		Deposit:          deposit,
		Salt:             salt,
		AuthorizedSigner: c.o.Key.Address(),
	}
	tx, err := c.chain.sign(ctx, call, c.account, c.o.Key, q.FeePayer)
	if err != nil {
		return nil, fmt.Errorf("open a channel: %w", err)
	}
	d, _, err := tempo.OpenedBy(tx, c.account)
	if err != nil {
		return nil, fmt.Errorf("open a channel: %w", err)
	}
	r := row{
		ID: c.chain.domain.ChannelID(d), ChainID: c.chain.ID, Escrow: tempo.Escrow, Descriptor: descriptor(d), State: Opening,
		Deposit: deposit, Signed: q.Amount, OpenedAt: time.Now().Unix(), OpenTx: tx.Encode(), ValidBefore: int64(tx.ValidBefore),
	}
	if err := c.store.update(func(b *channelFile) { b.Channels = append(b.Channels, r) }); err != nil {
		return nil, err
	}
	p.channel = r.ID
	p.signed, _ = p.signed.Add(q.Amount)
	c.money(Money{Kind: MoneySigned, Amount: q.Amount, Channel: c.store.book.public(&r)})
	return p.opening(r)
}

// checkBalance checks the balance, so that the user gets a clear error instead of that of the
// chain.
func (p *purchase) checkBalance(ctx context.Context, token common.Address, deposit tempo.Amount) error {
	has, err := p.c.chain.balance(ctx, token, p.c.account)
	if err != nil {
		return err
	}
	if has.Cmp(deposit) < 0 {
		return fmt.Errorf("%w: account %s has $%s of token %s, and $%s go into the channel", ErrFunds,
			p.c.account, mpp.FormatTokens(has), token, mpp.FormatTokens(deposit))
	}
	return nil
}

// reopen repeats an opening whose answer was lost, with the same bytes, so that server and
// chain recognise it.
func (p *purchase) reopen(r row, of *offer) (mpp.Payload, error) {
	if of.q.Amount.Cmp(r.Signed) > 0 {
		if err := p.storeVoucher(of.q.Amount); err != nil {
			return nil, err
		}
		r = p.row()
	}
	return p.opening(r)
}

func (p *purchase) opening(r row) (mpp.Payload, error) {
	sig, err := p.c.chain.domain.Sign(p.c.o.Key, r.ID, r.Signed)
	if err != nil {
		return nil, err
	}
	return &mpp.Open{ChannelRef: r.ref(), Transaction: r.OpenTx, CumulativeAmount: r.Signed, Signature: sig.Bytes()}, nil
}

// storeVoucher stores that vouchers up to an amount may be sent, if the deposit and the limit of the
// request allow it. It is on disk when raise returns.
func (p *purchase) storeVoucher(to tempo.Amount) error {
	r := p.row()
	more, up := to.Sub(r.Signed)
	if !up || more.IsZero() {
		return nil
	}
	if to.Cmp(r.Deposit) > 0 {
		return fmt.Errorf("%w: the voucher would be above the deposit", ErrProtocol)
	}
	if err := p.checkLimit(more); err != nil {
		return err
	}
	if err := p.c.store.edit(r.ID, func(r *row) { r.Signed = to }); err != nil {
		return err
	}
	p.signed, _ = p.signed.Add(more)
	p.c.money(Money{Kind: MoneySigned, Amount: more, Channel: p.publicState()})
	return nil
}

// voucher signs for the stored amount.
func (p *purchase) voucher() (*mpp.Voucher, error) {
	r := p.row()
	sig, err := p.c.chain.domain.Sign(p.c.o.Key, r.ID, r.Signed)
	if err != nil {
		return nil, err
	}
	return &mpp.Voucher{ChannelRef: r.ref(), CumulativeAmount: r.Signed, Signature: sig.Bytes()}, nil
}

// publicState returns the channel in its public form.
func (p *purchase) publicState() Channel {
	r := p.row()
	return p.c.store.book.public(&r)
}

// next returns the cumulative amount to sign for an additional amount. short is what the
// server reports as missing after it refused a voucher.
func (p *purchase) next(q *mpp.SessionRequest, short tempo.Amount) (tempo.Amount, error) {
	r := p.row()
	to, ok := r.Spent.Add(q.Amount)
	if !short.IsZero() {
		// What the server has charged meanwhile is not known here. The client accepts that at
		// most the price is missing.
		to, ok = r.Signed.Add(lower(short, q.Amount))
	} else if s := q.SessionSnapshot; s != nil && s.ChannelID == r.ID {
		if err := p.catchUp(s); err != nil {
			return to, err
		}
		r = p.row()
		if to, ok = s.NextCumulative(q.Amount); ok {
			most, fits := r.Signed.Add(q.Amount) // whatever amounts the server reports as required or settled
			to, ok = lower(to, most), fits
		}
	}
	if to = higher(to, r.Signed); to.Cmp(r.Signed) > 0 && !q.MinVoucherDelta.IsZero() && ok {
		var least tempo.Amount
		least, ok = r.Signed.Add(q.MinVoucherDelta)
		to = higher(to, least)
	}
	if !ok {
		return to, fmt.Errorf("%w: the price is out of range", ErrProtocol)
	}
	return to, nil
}

// acceptReceipt accepts a receipt if it claims no more than was signed. carried is the amount of the
// voucher that it answers.
func (p *purchase) acceptReceipt(rc *mpp.Receipt, carried tempo.Amount) error {
	r := p.row()
	err := rc.Check(r.ID, r.Signed)
	switch {
	case err != nil:
	case !p.answered[rc.ChallengeID]:
		err = errors.New("check receipt: it is for a challenge that was not answered")
	case rc.AcceptedCumulative.Cmp(carried) < 0:
		err = errors.New("check receipt: less was accepted than the voucher says")
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return p.storeCharges(rc.Spent)
}

// storeCharges stores the charges that the server reports.
func (p *purchase) storeCharges(sum tempo.Amount) error {
	r := p.row()
	if sum == r.Spent && r.State != Opening {
		return nil
	}
	if err := p.c.store.edit(r.ID, func(r *row) { r.Spent = sum }); err != nil {
		return err
	}
	if more, up := sum.Sub(r.Spent); up && !more.IsZero() {
		p.charged, _ = p.charged.Add(more)
		p.c.money(Money{Kind: MoneyCharged, Amount: more, Channel: p.publicState()})
	} else if less, _ := r.Spent.Sub(sum); !less.IsZero() { // a charge that was refunded
		if p.charged, up = p.charged.Sub(less); !up {
			p.charged = tempo.Amount{}
		}
	}
	return nil
}

// opened stores that the server has accepted an opening.
func (p *purchase) opened() error {
	if r := p.row(); r.State != Opening {
		return nil
	}
	err := p.c.store.edit(p.channel, func(r *row) { r.State, r.OpenTx, r.ValidBefore = Open, nil, 0 })
	if err != nil {
		return err
	}
	ch := p.publicState()
	p.c.money(Money{Kind: MoneyOpened, Amount: ch.Deposit, Channel: ch})
	if p.c.depositRoom().IsZero() {
		p.c.money(
			Money{
				Kind:    MoneyNotice,
				Channel: ch,
				Text:    "the channel was opened at its ceiling of $" + mpp.FormatTokens(p.c.o.Limits.MaxDeposit) + " and cannot be topped up",
			},
		)
	}
	return nil
}

func higher(a, b tempo.Amount) tempo.Amount {
	if a.Cmp(b) > 0 {
		return a
	}
	return b
}

func lower(a, b tempo.Amount) tempo.Amount {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}
