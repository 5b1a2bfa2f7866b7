package channel_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"

	actors "txlens/actors/channel"
	"txlens/actors/recordid"
	"txlens/engine/mpp"
	"txlens/engine/mpp/sandbox"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/settle"
	"txlens/engine/mpp/tempo"

	"github.com/ethereum/go-ethereum/common"
)

// purse is the payer's side of one channel.
type purse struct {
	ref     mpp.ChannelRef
	opening mpp.Payload // to be sent again
	topUp   mpp.Payload // the last, to be sent again; nil: none
	forged  bool        // the voucher of the opening
	held    []*actors.Payment
	deposit uint64 // the most that the chain has shown
	shaken  bool   // the chain has shown it otherwise than before
	// withdrawn: its payer took what was left before the payee was paid.
	withdrawn bool
	lost      bool // the payee has lost its row
}

// household is one payer: its purses, and what the books must say.
type household struct {
	w     *world
	n     int
	key   *tempo.Secp256k1Key
	purse [channelsEach]*purse
	books books
	// retired bills must stay as they were.
	retired []debt
	// murky: an outcome is open until the next Reconcile.
	murky  bool
	serial uint64
	// fixed: requests keep their places, because others of this group name them.
	fixed bool
}

// Kinds of errors beside the problem types.
const (
	unclear mpp.ProblemType = "unclear" // it may have been done
	absent  mpp.ProblemType = "absent"  // there is no such ticket, bill or channel
	kept    mpp.ProblemType = "kept"    // it cannot be taken back, or paid out
)

func kindOf(err error) mpp.ProblemType {
	var p *mpp.Problem
	var reverted *settle.Reverted
	switch {
	case errors.Is(err, errDead), errors.Is(err, context.Canceled):
		return unclear
	case errors.As(err, &p) && p.Status() >= 500:
		return unclear
	case errors.As(err, &p):
		return p.Type
	case errors.Is(err, actors.ErrNoTicket), errors.Is(err, actors.ErrNoBill), errors.Is(err, actors.ErrNoChannel):
		return absent
	case errors.Is(err, settle.ErrUnreachable), errors.Is(err, settle.ErrUnknownOutcome):
		return unclear
	case errors.As(err, &reverted), err.Error() == "the charge can no longer be taken back":
		return kept
	}
	return unclear
}

func amount(n uint64) tempo.Amount { return tempo.AmountFrom(n) }

func number(a tempo.Amount) uint64 {
	n, ok := a.Uint64()
	if !ok {
		panic("an amount of the model is above 2^64")
	}
	return n
}

// shutFairly reports whether a refusal because the channel takes nothing any more is right.
// The row may have heard of a wish to close, or of its end, or not yet.
func shutFairly(a *account, chain *session.State, kind mpp.ProblemType) bool {
	switch kind {
	case mpp.ChannelFinalized:
		// Where the chain has it no more, a close that is tried holds it for a moment.
		return a.closed || a.heard || chain.CloseRequestedAt != 0 || chain.Deposit.IsZero()
	case mpp.ChannelNotFound:
		return !a.known || chain.Deposit.IsZero()
	}
	return false
}

func (h *household) sign(k tempo.Signer, id common.Hash, n uint64) []byte {
	sig, err := h.w.domain.Sign(k, id, amount(n))
	if err != nil {
		panic(err)
	}
	return sig.Bytes()
}

// forge makes bytes that must not pass as the payer's signature of n.
func (h *household) forge(id common.Hash, n, how uint64) []byte {
	switch how % 4 {
	case 0:
		return h.sign(walletKey(50_000), id, n) // somebody else's
	case 1:
		return h.sign(h.key, id, n+1) // of another sum
	case 2:
		return h.sign(h.key, common.Hash{1}, n) // of another channel
	}
	return highS(h.sign(h.key, id, n))
}

// highS is the malleable twin of a signature, which the chain refuses.
func highS(sig []byte) []byte {
	order := common.FromHex("0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141")
	borrow := 0
	for i := 31; i >= 0; i-- {
		d := int(order[i]) - int(sig[32+i]) - borrow
		borrow = 0
		if d < 0 {
			d, borrow = d+256, 1
		}
		sig[32+i] = byte(d)
	}
	sig[64] ^= 7 // 27 and 28
	return sig
}

// freshRow makes a purse whose channel was not opened yet.
func (h *household) fresh(deposit, signed uint64, forged bool, how uint64) *purse {
	w := h.w
	h.serial++
	var salt common.Hash
	binary.BigEndian.PutUint64(salt[8:], uint64(h.n))
	binary.BigEndian.PutUint64(salt[24:], h.serial)
	call := tempo.OpenCall{Payee: w.payee.Address(), Token: sandbox.PathUSD, Deposit: amount(deposit), Salt: salt, AuthorizedSigner: h.key.Address()}
	tx, err := w.transaction(h.key, call)
	if err != nil {
		panic(err)
	}
	d, _, err := tempo.OpenedBy(tx, h.key.Address())
	if err != nil {
		panic(err)
	}
	p := &purse{ref: mpp.ChannelRef{ChannelID: w.domain.ChannelID(d), Descriptor: d}, deposit: deposit}
	sig := h.sign(h.key, p.ref.ChannelID, signed)
	if p.forged = forged; forged {
		sig = h.forge(p.ref.ChannelID, signed, how)
	}
	p.opening = &mpp.Open{ChannelRef: p.ref, Transaction: tx.Encode(), CumulativeAmount: amount(signed), Signature: sig}
	return p
}

// open opens a channel, or sends the open of one that stands again.
func (h *household) open(at int, r [3]uint64) *step {
	a := h.books.accounts[at]
	again := h.purse[at] != nil && !a.closed
	if again && !a.known && !a.lost && r[1]%2 == 0 && h.w.truth(h.channel(at))[0].Deposit.IsZero() {
		again = false // it has not come to be
	}
	forged := r[2]%16 == 0
	if again {
		forged = h.purse[at].forged
	} else {
		deposit := unit * (2 + r[0]%40)
		for i, d := range h.books.debts {
			if d.channel == at {
				h.retire(i) // its ticket is the old channel's
			}
		}
		h.purse[at] = h.fresh(deposit, r[1]%(deposit+1), forged, r[2]>>8)
		h.books.accounts[at] = account{}
	}
	p := h.purse[at]
	n := number(p.opening.(*mpp.Open).CumulativeAmount)
	s := &step{name: fmt.Sprintf("open %d/%d signed %d deposit %d again %v", h.n, at, n, p.deposit, again), at: at}
	s.do = func() error {
		got, err := h.w.pay(context.Background(), p.opening, false)
		if err == nil {
			s.told = &got.Standing
		}
		return err
	}
	s.success = func(b *books) bool {
		a := &b.accounts[at]
		if forged || a.closed {
			return false
		}
		a.known = true
		a.highest = max(a.highest, n)
		return true
	}
	s.fair = func(b *books, chain *session.State, kind mpp.ProblemType) bool {
		a := &b.accounts[at]
		return shutFairly(a, chain, kind) || kind == mpp.InvalidSignature && forged ||
			again && kind == mpp.VerificationFailed && (chain.Deposit.IsZero() || a.adopted && amount(n).Cmp(chain.Settled) <= 0) // too late
	}
	return s
}

// voucher signs more, the same, less, too much, or not properly. With content it is
// for a request, for which its price is held.
func (h *household) voucher(at int, r [3]uint64) *step {
	p, a := h.purse[at], &h.books.accounts[at]
	if p == nil || !a.known && !a.lost {
		return h.open(at, r)
	}
	n, forged, content := a.highest, false, r[2]%3 == 0
	switch r[0] % 16 {
	case 0, 1:
	case 2:
		n -= r[1] % (n + 1)
	case 3:
		n = p.deposit + 1 + r[1]%unit
	case 4:
		forged = true
		n += r[1] % (2 * unit)
	case 5:
		n = p.deposit
	default:
		n = min(n+r[1]%(3*unit), p.deposit)
	}
	sig := h.sign(h.key, p.ref.ChannelID, n)
	if forged {
		sig = h.forge(p.ref.ChannelID, n, r[1]>>16)
	}
	was := a.highest
	payload := &mpp.Voucher{ChannelRef: p.ref, CumulativeAmount: amount(n), Signature: sig}
	s := &step{name: fmt.Sprintf("voucher %d/%d of %d forged %v content %v", h.n, at, n, forged, content), at: at, loose: content}
	var held uint64
	s.do = func() error {
		got, err := h.w.pay(context.Background(), payload, content)
		if err != nil {
			return err
		}
		s.told = &got.Standing
		if held = number(got.Held); held > 0 {
			s.after = func() { p.held = append(p.held, got) }
		}
		return nil
	}
	s.success = func(b *books) bool {
		a := &b.accounts[at]
		if forged || a.closed || n > p.deposit || !a.lost && n < a.highest && n < was {
			return false
		}
		a.known = true
		a.highest = max(a.highest, n)
		if a.lost {
			a.reserved += held
			return true
		}
		if held > a.free() {
			return false // more is held than there is
		}
		a.reserved += held
		return true
	}
	s.fair = func(b *books, chain *session.State, kind mpp.ProblemType) bool {
		a := &b.accounts[at]
		switch kind {
		case mpp.AmountExceedsDeposit:
			return amount(n).Cmp(chain.Deposit) > 0
		case mpp.InvalidSignature:
			return forged
		case mpp.VerificationFailed:
			return n < a.highest || amount(n).Cmp(chain.Settled) <= 0 && (n == 0 || forged || a.lost || a.adopted)
		}
		now := *a
		now.heard = false // it asks the chain itself
		return shutFairly(&now, chain, kind)
	}
	return s
}

// use spends what is held for a payment, or gives it up.
func (h *household) use(at int, r [3]uint64) *step {
	p := h.purse[at]
	if p == nil || len(p.held) == 0 {
		return h.admit(at, r)
	}
	pay := p.held[0]
	p.held = p.held[1:]
	held := number(pay.Held)
	release := func(b *books) { a := &b.accounts[at]; a.reserved -= min(held, a.reserved) }
	if r[0]%4 == 0 {
		s := &step{name: fmt.Sprintf("let go %d/%d of %d", h.n, at, held), at: at}
		s.do = func() error { h.w.c.ReleaseHeld(context.Background(), pay); return nil }
		s.success = func(b *books) bool { release(b); return true }
		return s
	}
	s := h.admit(at, r)
	s.name += fmt.Sprintf(" with %d held", held)
	s.loose = true
	h.admission(s, at, int(r[1]%billsEach), unit/2+r[2]%unit, func(o actors.Order) (actors.Admitted, error) { return h.w.c.Admit(context.Background(), pay, o) })
	success := s.success
	s.success = func(b *books) bool { release(b); return success(b) }
	s.refused = release
	return s
}

// admit charges for a request, or sends one that was charged again.
func (h *household) admit(at int, r [3]uint64) *step {
	i := int(r[1] % billsEach)
	d := &h.books.debts[i]
	if d.key == (actors.TicketKey{}) || r[0]%3 == 0 && !h.fixed { // a new request takes the place of an old one
		h.retire(i)
		h.serial++
		binary.BigEndian.PutUint64(d.key[:], uint64(h.n))
		binary.BigEndian.PutUint64(d.key[8:], h.serial)
	}
	s := &step{at: at}
	n := 1 + r[2]%(2*unit)
	if all := h.books.accounts[at].free(); r[2]>>32%4 == 0 && all > 0 {
		n = all // then the voucher can be settled
	}
	h.admission(s, at, i, n, func(o actors.Order) (actors.Admitted, error) {
		nothingHeld := &actors.Payment{Standing: actors.Standing{Channel: h.channel(at)}}
		return h.w.c.Admit(h.impatient(r[0]>>8), nothingHeld, o)
	})
	return s
}

// retire puts a bill aside.
func (h *household) retire(i int) {
	if d := &h.books.debts[i]; d.id != "" {
		h.retired = append(h.retired, *d)
	}
	h.books.debts[i] = debt{}
}

// impatient is a context that sometimes ends at the next act of the process.
func (h *household) impatient(r uint64) context.Context {
	if r%8 != 0 {
		return context.Background()
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.w.life.mu.Lock()
	h.w.life.impatient = func() {
		cancel()
		for range 200 {
			runtime.Gosched() // to who waits for the answer
		}
	}
	h.w.life.mu.Unlock()
	return ctx
}

func (h *household) channel(at int) common.Hash {
	if p := h.purse[at]; p != nil {
		return p.ref.ChannelID
	}
	return common.Hash{31: byte(at + 1)}
}

func (h *household) admission(s *step, at, i int, n uint64, do func(actors.Order) (actors.Admitted, error)) {
	key, id := h.books.debts[i].key, recordid.New()
	s.name = fmt.Sprintf("admit %d/%d request %d (%x) for %d", h.n, at, i, key[8:16], n)
	var fresh bool
	var t actors.Ticket
	s.do = func() error {
		got, err := do(actors.Order{Key: key, Bill: id, Price: amount(n)})
		if err == nil {
			t, fresh, s.told = got.Ticket, got.Fresh, &got.Standing
		}
		return err
	}
	s.success = func(b *books) bool {
		a, d := &b.accounts[at], &b.debts[i]
		if d.ticket {
			return s.err != nil || !fresh && t.Bill == d.id && t.Charged == amount(d.charged)
		}
		if s.err == nil && !fresh || !a.charge(n) {
			return false
		}
		b.replace(i)
		d.id, d.ticket, d.channel, d.began, d.charged, d.paid, d.price, d.final = id, true, at, h.channel(at), n, n, 0, false
		return true
	}
	s.fair = func(b *books, chain *session.State, kind mpp.ProblemType) bool {
		a, d := &b.accounts[at], &b.debts[i]
		if kind == mpp.InsufficientBalance {
			return !d.ticket && n > a.free()
		}
		return shutFairly(a, chain, kind) && !d.ticket || kind == absent && !a.known
	}
}

// void takes a charge back.
func (h *household) void(r [3]uint64) *step {
	i := int(r[1] % billsEach)
	d := h.books.debts[i]
	at := d.channel
	s := &step{name: fmt.Sprintf("void %d/%d request %d (%x)", h.n, at, i, d.key[8:16]), at: at}
	s.do = func() error { return h.w.c.Void(h.impatient(r[0]), h.channel(at), actors.Order{Key: d.key}) }
	s.success = func(b *books) bool {
		a, d := &b.accounts[at], &b.debts[i]
		if !d.ticket || a.closed || a.served() < d.charged {
			return false
		}
		a.spent -= d.charged
		d.paid -= min(d.paid, d.charged)
		d.ticket = false
		return true
	}
	s.fair = func(b *books, chain *session.State, kind mpp.ProblemType) bool {
		a, d := &b.accounts[at], &b.debts[i]
		switch kind {
		case absent:
			return !d.ticket
		case kept:
			return a.closed || a.served() < d.charged || a.tried > a.served()-d.charged || chain.Settled.Cmp(amount(a.served()-d.charged)) > 0
		}
		return shutFairly(a, chain, kind)
	}
	return s
}

// collect pays what has accrued on a bill, from any of the household's channels.
func (h *household) collect(at int, r [3]uint64) *step {
	i := int(r[1] % billsEach)
	id := h.books.debts[i].id
	price, most := h.books.debts[i].paid+r[0]>>8%(2*unit), 1+r[2]%(2*unit)
	s := &step{name: fmt.Sprintf("collect %d/%d bill %d up to price %d, at most %d", h.n, at, i, price, most), at: at}
	var got actors.Bill
	s.do = func() (err error) {
		var standing actors.Standing
		if got, standing, err = h.w.c.Collect(h.impatient(r[0]), h.channel(at), id, amount(price), amount(most), amount(0)); err == nil {
			s.told = &standing
		}
		return err
	}
	due := func(d *debt) uint64 {
		want := price
		if d.final {
			want = d.price
		}
		if want <= d.paid {
			return 0
		}
		return min(want-d.paid, most)
	}
	s.success = func(b *books) bool {
		a, d := &b.accounts[at], b.bill(i, id)
		if d == nil {
			return false
		}
		n := due(d)
		if n > 0 && !a.charge(n) {
			return false
		}
		d.paid += n
		return s.err != nil || got.Collected == amount(d.paid)
	}
	s.fair = func(b *books, chain *session.State, kind mpp.ProblemType) bool {
		a, d := &b.accounts[at], b.bill(i, id)
		switch {
		case kind == absent:
			return d == nil || !a.known
		case kind == mpp.InsufficientBalance:
			return d != nil && due(d) > a.free()
		}
		return shutFairly(a, chain, kind)
	}
	return s
}

// final fixes the price of a bill, which may be less than was collected.
func (h *household) final(at int, r [3]uint64) *step {
	i := int(r[1] % billsEach)
	d := h.books.debts[i]
	id, price := d.id, d.paid+r[0]%unit
	if r[2]%2 == 0 {
		price = d.paid - r[0]%(d.paid+1)
	}
	s := &step{name: fmt.Sprintf("final %d bill %d price %d", h.n, i, price), at: d.channel}
	var got actors.Bill
	s.do = func() (err error) { got, err = h.w.c.Final(context.Background(), id, amount(price), nil); return err }
	s.outcomes = func(b *books) (all []books) {
		d := b.bill(i, id)
		if d == nil {
			return nil
		}
		if d.final {
			return []books{*b}
		}
		over := d.paid - min(price, d.paid)
		for _, back := range h.mayGiveBack(b, d, over) {
			after := *b
			d := after.bill(i, id)
			after.accounts[d.channel].credit += back
			d.final, d.price = true, price
			d.paid -= back
			if s.err != nil || got.Collected == amount(d.paid) {
				all = append(all, after)
			}
		}
		return all
	}
	s.fair = func(b *books, _ *session.State, kind mpp.ProblemType) bool {
		d := b.bill(i, id)
		if d == nil {
			return kind == absent
		}
		gone := d.began != h.channel(d.channel) || !b.accounts[d.channel].known
		return gone && (kind == absent && price < d.paid || kind == mpp.ChannelNotFound)
	}
	return s
}

// mayGiveBack are the sums that Final may give back of what was collected too much: all
// of it but what is paid out or may be on its way, and nothing where the channel closes.
// The disk tells which of them it was where nobody has heard the answer.
func (h *household) mayGiveBack(b *books, d *debt, over uint64) []uint64 {
	a := &b.accounts[d.channel]
	if over == 0 || d.began != h.channel(d.channel) || !a.known || a.closed {
		return []uint64{0}
	}
	served := a.served()
	least := min(over, served-min(max(a.tried, a.settled), served))
	most := min(over, served-min(a.settled, served))
	list := []uint64{least, most}
	row, err := h.w.store.Channel(h.channel(d.channel))
	if err != nil {
		return list
	}
	if h.murky || a.heard || row.Status != session.Active {
		list = append(list, 0)
	}
	if credit := number(row.Credit); credit >= a.credit && credit-a.credit >= least && credit-a.credit <= most {
		list = append(list, credit-a.credit)
	}
	if held := number(row.Settled); held >= a.settled { // by a settlement of the same group
		list = append(list, min(over, served-min(held, served)))
	}
	return list
}
