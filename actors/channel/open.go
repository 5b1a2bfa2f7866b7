package channel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/settle"
	"txlens/engine/mpp/tempo"
)

// open verifies and sends a payer's opening transaction and accepts its voucher. It may be
// called again with the same transaction, at once or after a crash, so that a payer never
// loses a funded channel.
func (c *Channels) open(ctx context.Context, q PayRequest, adm *mpp.Admission, p *mpp.Open) (s Standing, held tempo.Amount, err error) {
	terms := c.options.Terms
	terms.Amount = priceOf(adm)
	open, err := terms.VerifyOpen(tempo.OpenRequest{
		ChannelID: p.ChannelID, Descriptor: p.Descriptor, Transaction: p.Transaction,
		Cumulative: p.CumulativeAmount, Signature: p.Signature,
	})
	if err != nil {
		return s, held, err
	}
	v := session.Voucher{Cumulative: open.Cumulative, Signature: open.Voucher}
	row, err := c.storedRow(ctx, p.ChannelID)
	if err == nil && row.Status != session.Opening {
		return c.reopen(ctx, row, v, priceOf(adm))
	}
	if err != nil && !errors.Is(err, ErrNoChannel) {
		return s, held, err
	}
	// One sender for each channel: a repeated call waits here and then finds the channel open.
	defer c.operationLocks.Lock("open " + string(p.ChannelID[:]))()
	if row, err = c.storedRow(ctx, p.ChannelID); err == nil && row.Status != session.Opening {
		return c.reopen(ctx, row, v, priceOf(adm))
	}
	row, s, err = c.openOnChain(ctx, q, open, v, err == nil)
	if err == nil && row.Highest.Cumulative.Cmp(v.Cumulative) < 0 {
		// The Watcher saw the channel on chain first, and does not know the voucher.
		return c.reopen(ctx, row, v, priceOf(adm))
	}
	return s, held, err
}

// reopen handles the opening of a channel that is open already: a voucher of the same amount.
func (c *Channels) reopen(
	ctx context.Context,
	row session.Channel,
	v session.Voucher,
	price tempo.Amount,
) (s Standing, held tempo.Amount, err error) {
	row, err = c.freshRow(ctx, row, c.options.StateTTL)
	if err != nil {
		return s, held, err
	}
	repeat, f := row.CheckVoucher(v, tempo.Amount{})
	switch {
	case f != nil && f.Type == mpp.VerificationFailed && v.Cumulative.Cmp(row.Highest.Cumulative) < 0:
		// The answer to the opening was lost, and later vouchers arrived since.
	case f != nil:
		return s, held, f
	case !repeat:
		s, held, err = c.accept(ctx, row.ID, v, price)
		s.TxHash = row.OpenTx
		return s, held, err
	}
	s = standing(&row)
	s.TxHash = row.OpenTx
	return s, held, nil
}

// openOnChain sends the transaction unless the channel exists on chain. announced means that the
// ledger has the channel as Opening. A channel that is on chain without being announced was
// opened with another server, which serves it.
func (c *Channels) openOnChain(
	ctx context.Context,
	q PayRequest,
	open *tempo.VerifiedOpen,
	v session.Voucher,
	announced bool,
) (session.Channel, Standing, error) {
	id := open.ChannelID
	s, err := c.state(ctx, id)
	if err != nil {
		return session.Channel{}, Standing{}, err
	}
	hash := open.Tx.Hash()
	if !s.Deposit.IsZero() && !announced && !c.options.Adopt {
		return session.Channel{}, Standing{}, notServedProblem(id)
	}
	if s.Deposit.IsZero() {
		if err := c.mayBroadcast(ctx, q, open); err != nil {
			return session.Channel{}, Standing{}, err
		}
		if err := c.storeOpening(ctx, open, hash); err != nil {
			return session.Channel{}, Standing{}, err
		}
		if hash, s, err = c.sendOpen(ctx, open); err != nil {
			return session.Channel{}, Standing{}, err
		}
	}
	if s.CloseRequestedAt != 0 {
		return session.Channel{}, Standing{}, &mpp.Problem{
			Type: mpp.ChannelFinalized, Detail: "The payer has asked the chain to close the channel.",
		}
	}
	row, err := c.begin(ctx, id, s, session.Opened(c.options.Terms.Domain, open.Descriptor, s, v, hash, c.options.now()))
	if err != nil {
		return session.Channel{}, Standing{}, err
	}
	out := standing(&row)
	out.TxHash = hash
	return row, out, nil
}

// DepositError refuses an opening because its deposit is too small. Nothing was broadcast.
type DepositError struct{ Deposit, Min tempo.Amount }

func (e *DepositError) Error() string {
	return fmt.Sprintf("the deposit of %s base units is below the minimum of %s", e.Deposit, e.Min)
}

// mayBroadcast checks the conditions for sending a payer's opening transaction.
func (c *Channels) mayBroadcast(ctx context.Context, q PayRequest, open *tempo.VerifiedOpen) error {
	if open.Paid.Cmp(c.options.MinDeposit) < 0 {
		return &DepositError{Deposit: open.Paid, Min: c.options.MinDeposit}
	}
	now, err := c.chainTime(ctx)
	if err != nil {
		return err
	}
	if err := open.CheckTime(uint64(now.Unix()), challengeEnd(q.Credential)); err != nil {
		return err
	}
	return c.limits.broadcast(open.Descriptor.Payer, q.Origin, c.options.now())
}

// storeOpening stores that a transaction is about to be sent. If this process ends before the
// receipt arrives, the next process looks for the channel.
func (c *Channels) storeOpening(ctx context.Context, open *tempo.VerifiedOpen, hash common.Hash) error {
	d := c.options.Terms.Domain
	_, err := c.ask(ctx, open.ChannelID, func(row *session.Channel, now time.Time) (*session.Channel, Entry, any, error) {
		if row != nil {
			return nil, Entry{}, nil, nil
		}
		return &session.Channel{
			ID: open.ChannelID, ChainID: d.ChainID(), Escrow: d.Escrow(), Descriptor: open.Descriptor,
			Status: session.Opening, OpenTx: hash, CreatedAt: now.UnixMilli(), ActiveAt: now.UnixMilli(),
		}, Entry{}, nil, nil
	})
	return err
}

// sendOpen sends the transaction and reads the state of the channel.
func (c *Channels) sendOpen(ctx context.Context, open *tempo.VerifiedOpen) (common.Hash, session.State, error) {
	rc, err := c.send(ctx, open.Tx)
	if err != nil {
		// This server or the payer may have sent it before.
		if s, lookErr := c.state(ctx, open.ChannelID); lookErr == nil && !s.Deposit.IsZero() {
			return open.Tx.Hash(), s, nil
		}
		return common.Hash{}, session.State{}, err
	}
	if e, err := rc.Opened(open); err != nil {
		if e.ChannelID == open.ChannelID && e.Deposit != open.Paid {
			err = wrongDepositProblem(e.Deposit, open.Paid, err)
		}
		return common.Hash{}, session.State{}, unconfirmed(err)
	}
	s, err := c.readBack(ctx, open.ChannelID, func(s session.State) bool { return s.Deposit.Cmp(open.Paid) >= 0 })
	return rc.TxHash, s, err
}

// unconfirmed handles a receipt without the expected event: the outcome is unknown.
func unconfirmed(err error) error {
	if errors.Is(err, tempo.ErrReceiptEvent) && !isProblem(err) {
		return fmt.Errorf("%w: %w", settle.ErrUnknownOutcome, err)
	}
	return err
}

func isProblem(err error) bool {
	_, ok := errors.AsType[*mpp.Problem](err)
	return ok
}

// How long a replica may lag behind the receipt that it returned.
const (
	maxReadBacks  = 6
	readBackPause = 250 * time.Millisecond // tests use a shorter time
)

// readBack reads a channel's state until it is good, because replicas lag.
func (c *Channels) readBack(ctx context.Context, id common.Hash, good func(session.State) bool) (s session.State, err error) {
	for i := range maxReadBacks {
		if i > 0 {
			if err := c.rest(ctx); err != nil {
				return s, err
			}
		}
		if s, err = c.state(ctx, id); err == nil && good(s) {
			return s, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("%w: it does not show what its receipt says", settle.ErrUnknownOutcome)
	}
	return s, err
}

// send sends a payer's transaction, with a limit on concurrent ones. It continues when the
// client disconnects, because the outcome of a sent transaction must be recorded.
func (c *Channels) send(ctx context.Context, tx *tempo.Transaction) (*tempo.Receipt, error) {
	select {
	case c.sends <- struct{}{}:
	default:
		return nil, errTooManyLookups
	}
	defer func() { <-c.sends }()
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTimeout)
	defer cancel()
	return c.options.Escrow.Send(own, tx)
}

// sendTimeout limits simulation, sending and waiting for the receipt. A transaction that is
// not decided by then leaves its row as Opening, and the Watcher finds out: see openingTime.
const sendTimeout = 45 * time.Second

// topUp verifies and sends a payer's top-up. A top-up is accepted for a channel whose close
// was requested, because it cancels the request.
func (c *Channels) topUp(ctx context.Context, q PayRequest, p *mpp.TopUp) (Standing, error) {
	top, err := c.options.Terms.VerifyTopUp(tempo.TopUpRequest{
		ChannelID: p.ChannelID, Descriptor: p.Descriptor, Transaction: p.Transaction, Additional: p.AdditionalDeposit,
	})
	if err != nil {
		return Standing{}, err
	}
	// The payer signed the transaction, which authenticates the request.
	row, err := c.current(ctx, q.Origin, p.ChannelRef, c.options.StateTTL, func() error { return nil }, session.Voucher{}, tempo.Amount{})
	if err != nil {
		return Standing{}, err
	}
	if row.Status != session.Active {
		return Standing{}, &mpp.Problem{Type: mpp.ChannelFinalized, Detail: "The channel is closed."}
	}
	defer c.operationLocks.Lock("topup " + string(p.ChannelID[:]))()
	hash := top.Tx.Hash()
	rc, err := c.options.Escrow.Receipt(ctx, hash) // the answer to an earlier attempt was lost
	if err == nil && rc == nil {
		var now time.Time
		if now, err = c.chainTime(ctx); err == nil {
			err = top.CheckTime(uint64(now.Unix()), challengeEnd(q.Credential))
		}
		if err == nil {
			err = c.limits.broadcast(row.Descriptor.Payer, q.Origin, c.options.now())
		}
		if err == nil {
			rc, err = c.send(ctx, top.Tx)
		}
	}
	if err != nil {
		return Standing{}, err
	}
	up, err := rc.ToppedUp(top)
	if err != nil {
		if up.ChannelID == top.ChannelID && up.Additional != top.Paid {
			err = wrongDepositProblem(up.Additional, top.Paid, err)
		}
		return Standing{}, unconfirmed(err)
	}
	// At least: another top-up may be in the same block.
	s, err := c.readBack(ctx, p.ChannelID, func(s session.State) bool { return s.Deposit.Cmp(up.NewDeposit) >= 0 })
	if err != nil {
		if row, lookErr := c.storedRow(ctx, p.ChannelID); lookErr == nil && row.Status != session.Active {
			err = &mpp.Problem{Type: mpp.ChannelFinalized, Detail: "The channel was closed meanwhile, and the deposit refunded.", Err: err}
		}
		return Standing{}, err
	}
	if row, err = c.observe(ctx, p.ChannelID, s); err != nil {
		return Standing{}, err
	}
	out := standing(&row)
	out.TxHash = rc.TxHash
	return out, nil
}
