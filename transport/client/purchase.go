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

// purchase is one request of the payer's, with all that belongs to it: its vouchers,
// its polls, its recovery. It has the client's turn.
type purchase struct {
	c        *Client
	key      string       // Idempotency-Key: repeating the request begins nothing new
	channel  common.Hash  // it is paid from; zero until it is known
	signed   tempo.Amount // raised by vouchers for it
	charged  tempo.Amount // by receipts
	answered map[string]bool
	offered  *offer // the last one that was answered; a stream's vouchers answer it again
	replaced bool   // a channel that was gone has been replaced
	toppedUp bool   // because the server said that the deposit is too small
	// lastSpent is what receipts say of a channel that is gone from the book.
	lastSpent tempo.Amount
}

func (c *Client) newPurchase() *purchase {
	return &purchase{c: c, key: uuid.NewString(), answered: map[string]bool{}}
}

// row is the channel that is paid from.
func (p *purchase) row() row {
	r, _ := p.c.store.row(p.channel)
	return r
}

// matches reports whether a channel is good for an offer: all that its id binds is
// what the offer and the key say.
func (c *Client) matches(r *row, q *mpp.SessionRequest) bool {
	d := &r.Descriptor
	return r.ChainID == q.ChainID && r.Escrow == q.EscrowContract && d.Payee == q.Recipient && d.Token == q.Currency &&
		d.Operator == q.Operator && tempo.Descriptor(*d).Signer() == c.o.Key.Address()
}

// use finds the channel for an offer, or opens one with the credential's voucher. The
// payload is nil where there is a channel that a voucher can be signed for.
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

// hydrate takes over a channel that the server remembers and this disk does not. It is
// ours where our own signature and the chain say so.
func (p *purchase) hydrate(ctx context.Context, q *mpp.SessionRequest, s *mpp.Snapshot) (found bool, err error) {
	if s.Check(q, p.c.account) != nil || s.Descriptor.Signer() != p.c.o.Key.Address() || !p.c.hasSigned(s) {
		return false, nil
	}
	state, err := p.c.chain.state(ctx, s.ChannelID)
	if err != nil || state.Deposit.IsZero() || state.CloseRequestedAt != 0 {
		return false, err
	}
	p.channel = s.ChannelID
	return true, p.c.store.update(func(b *book) {
		b.Channels = append(b.Channels, row{
			ID: s.ChannelID, ChainID: s.ChainID, Escrow: s.Escrow, Descriptor: descriptor(s.Descriptor), State: Open,
			Deposit: state.Deposit, Signed: s.AcceptedCumulative, Spent: s.Spent, OpenedAt: time.Now().Unix(),
		})
	})
}

// hasSigned reports whether a snapshot proves by a signature of this key what it says
// was accepted.
func (c *Client) hasSigned(s *mpp.Snapshot) bool {
	if s.HighestVoucher == nil {
		return false
	}
	sig, err := tempo.ParseSignature(s.HighestVoucher.Signature)
	return err == nil && c.chain.domain.Verify(s.ChannelID, s.AcceptedCumulative, sig, c.o.Key.Address()) == nil
}

// catchUp takes over from a snapshot what was signed before and is not in the file,
// which may be an older copy. Nothing else that a server says was signed is believed.
func (p *purchase) catchUp(s *mpp.Snapshot) error {
	if s.AcceptedCumulative.Cmp(p.row().Signed) <= 0 {
		return nil
	}
	if !p.c.hasSigned(s) {
		return fmt.Errorf("%w: the snapshot says that more was accepted than signed", ErrProtocol)
	}
	return p.c.store.edit(s.ChannelID, func(r *row) { r.Signed = s.AcceptedCumulative })
}

// allow refuses to sign for more than the request may cost. It is asked before a
// channel is opened, too.
func (p *purchase) allow(raise tempo.Amount) error {
	total, ok := p.signed.Add(raise)
	if !ok || total.Cmp(p.c.o.Limits.MaxCharge) > 0 {
		return &LimitError{Limit: LimitRequest, Asked: total, Allowed: p.c.o.Limits.MaxCharge}
	}
	return nil
}

// room is what may still be put into channels with this server, besides what is there.
func (c *Client) room() tempo.Amount {
	left := c.o.Limits.MaxDeposit
	for i := range c.store.book.Channels {
		var ok bool
		if left, ok = left.Sub(c.store.book.Channels[i].held()); !ok {
			return tempo.Amount{}
		}
	}
	return left
}

// open signs the opening of a channel and its first voucher, and keeps both before
// they leave.
func (p *purchase) open(ctx context.Context, of *offer) (mpp.Payload, error) {
	c, q := p.c, of.q
	if err := p.allow(q.Amount); err != nil {
		return nil, err
	}
	deposit, room := higher(q.SuggestedDeposit, q.Amount), c.room()
	if deposit.Cmp(room) >= 0 {
		deposit = room
	}
	if q.Amount.Cmp(deposit) > 0 {
		return nil, &LimitError{Limit: LimitDeposit, Asked: q.Amount, Allowed: room}
	}
	if err := p.affordable(ctx, deposit); err != nil {
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
	if err := c.store.update(func(b *book) { b.Channels = append(b.Channels, r) }); err != nil {
		return nil, err
	}
	p.channel = r.ID
	p.signed, _ = p.signed.Add(q.Amount)
	c.money(Money{Kind: MoneySigned, Amount: q.Amount, Channel: c.store.book.channel(&r)})
	return p.opening(r)
}

// affordable tells a person what is missing before the chain tells a program.
func (p *purchase) affordable(ctx context.Context, deposit tempo.Amount) error {
	has, err := p.c.chain.balance(ctx, p.c.account)
	if err != nil {
		return err
	}
	if has.Cmp(deposit) < 0 {
		return fmt.Errorf("%w: account %s has $%s of token %s, and $%s go into the channel", ErrFunds,
			p.c.account, mpp.FormatTokens(has), p.c.chain.Token, mpp.FormatTokens(deposit))
	}
	return nil
}

// reopen repeats an opening whose answer was lost, byte for byte. The server knows it
// again, and so does the chain.
func (p *purchase) reopen(r row, of *offer) (mpp.Payload, error) {
	if of.q.Amount.Cmp(r.Signed) > 0 {
		if err := p.raise(of.q.Amount); err != nil {
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

// raise books that vouchers up to a sum may leave, if they may: within the deposit and
// within what the request may cost. It is on disk when it returns.
func (p *purchase) raise(to tempo.Amount) error {
	r := p.row()
	more, up := to.Sub(r.Signed)
	if !up || more.IsZero() {
		return nil
	}
	if to.Cmp(r.Deposit) > 0 {
		return fmt.Errorf("%w: the voucher would be above the deposit", ErrProtocol)
	}
	if err := p.allow(more); err != nil {
		return err
	}
	if err := p.c.store.edit(r.ID, func(r *row) { r.Signed = to }); err != nil {
		return err
	}
	p.signed, _ = p.signed.Add(more)
	p.c.money(Money{Kind: MoneySigned, Amount: more, Channel: p.told()})
	return nil
}

// voucher signs for the sum that is booked.
func (p *purchase) voucher() (*mpp.Voucher, error) {
	r := p.row()
	sig, err := p.c.chain.domain.Sign(p.c.o.Key, r.ID, r.Signed)
	if err != nil {
		return nil, err
	}
	return &mpp.Voucher{ChannelRef: r.ref(), CumulativeAmount: r.Signed, Signature: sig.Bytes()}, nil
}

// told is the channel as it is told.
func (p *purchase) told() Channel {
	r := p.row()
	return p.c.store.book.channel(&r)
}

// next is what must be signed in all for an amount more. short is what the server says
// is missing, where it has refused a voucher.
func (p *purchase) next(q *mpp.SessionRequest, short tempo.Amount) (tempo.Amount, error) {
	r := p.row()
	to, ok := r.Spent.Add(q.Amount)
	if !short.IsZero() {
		// What the server has charged meanwhile is not known here. No more than the price
		// is believed to be missing.
		to, ok = r.Signed.Add(lower(short, q.Amount))
	} else if s := q.SessionSnapshot; s != nil && s.ChannelID == r.ID {
		if err := p.catchUp(s); err != nil {
			return to, err
		}
		r = p.row()
		if to, ok = s.NextCumulative(q.Amount); ok {
			most, fits := r.Signed.Add(q.Amount) // whatever it says is required or settled
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

// believe takes a receipt, if it claims nothing that was not signed. carried is the
// sum of the voucher that it answers.
func (p *purchase) believe(rc *mpp.Receipt, carried tempo.Amount) error {
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
	return p.spent(rc.Spent)
}

// spent books what the server says it has charged.
func (p *purchase) spent(sum tempo.Amount) error {
	r := p.row()
	if sum == r.Spent && r.State != Opening {
		return nil
	}
	if err := p.c.store.edit(r.ID, func(r *row) { r.Spent = sum }); err != nil {
		return err
	}
	if more, up := sum.Sub(r.Spent); up && !more.IsZero() {
		p.charged, _ = p.charged.Add(more)
		p.c.money(Money{Kind: MoneyCharged, Amount: more, Channel: p.told()})
	} else if less, _ := r.Spent.Sub(sum); !less.IsZero() { // a charge that was given back
		if p.charged, up = p.charged.Sub(less); !up {
			p.charged = tempo.Amount{}
		}
	}
	return nil
}

// opened notes that the server has taken an opening.
func (p *purchase) opened() error {
	if r := p.row(); r.State != Opening {
		return nil
	}
	err := p.c.store.edit(p.channel, func(r *row) { r.State, r.OpenTx, r.ValidBefore = Open, nil, 0 })
	if err != nil {
		return err
	}
	ch := p.told()
	p.c.money(Money{Kind: MoneyOpened, Amount: ch.Deposit, Channel: ch})
	if p.c.room().IsZero() {
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
