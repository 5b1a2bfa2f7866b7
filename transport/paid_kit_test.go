package transport

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"txlens/actors/channel"
	"txlens/actors/job"
	"txlens/actors/sale"
	"txlens/engine/meter"
	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"

	"github.com/ethereum/go-ethereum/common"
)

// terms is what the challenges of the tests ask for, but for the amount.
var terms = mpp.SessionRequest{
	Currency: common.Address{0xc0}, Recipient: common.Address{0xee}, UnitType: "request", SuggestedDeposit: units(5_000_000),
	ChainID: 42431, EscrowContract: common.Address{0xe5}, SessionProtocol: mpp.SessionProtocol,
}

var (
	descriptor = tempo.Descriptor{Payer: common.Address{0xaa}, Payee: terms.Recipient, Token: terms.Currency}
	ref        = mpp.ChannelRef{ChannelID: descriptor.ID(terms.ChainID, terms.EscrowContract), Descriptor: descriptor}
)

func units(n uint64) tempo.Amount { return tempo.AmountFrom(n) }

func voucher(sum uint64) mpp.Payload {
	return &mpp.Voucher{ChannelRef: ref, CumulativeAmount: units(sum), Signature: make([]byte, 65)}
}

func opening(sum uint64) mpp.Payload {
	return &mpp.Open{ChannelRef: ref, Transaction: []byte{1}, CumulativeAmount: units(sum), Signature: make([]byte, 65)}
}

func topUp() mpp.Payload {
	return &mpp.TopUp{ChannelRef: ref, Transaction: []byte{1}, AdditionalDeposit: units(1)}
}

func closing(sum uint64) mpp.Payload {
	return &mpp.Close{ChannelRef: ref, CumulativeAmount: units(sum), Signature: make([]byte, 65)}
}

var (
	_ Payer          = (*register)(nil)
	_ Admissions     = (*register)(nil)
	_ Snapshots      = (*register)(nil)
	_ sale.Bills     = (*register)(nil)
	_ sale.Collector = (*register)(nil)
)

// register implements the interfaces of Payments and of its Seller in memory. It has one channel, and
// takes each voucher without looking at its signature.
type register struct {
	issuer *mpp.Issuer
	signal chan struct{}
	runs   Runs // where Final writes records

	mu              sync.Mutex
	accepted, spent uint64
	held            uint64 // for purchases of runs
	deposit         uint64
	txHash          common.Hash // that Pay tells
	bills           map[string]channel.Bill
	tickets         map[channel.TicketKey]string // bill by key
	fails           map[string]error             // by method
	block           chan struct{}                // Pay waits until it is closed, or for its context
	snapshot        *mpp.Snapshot

	calls    []string // of the interfaces of Payments, in their order
	paid     []channel.PayRequest
	begun    []channel.TicketKey // that Begun was asked for
	again    bool                // what the last payment was told of that
	orders   []channel.Order     // of Admit
	voided   []channel.Order
	occupied int
	bounded  []bool // whether the context of a call has a deadline, for each of calls
}

func newRegister(t *testing.T) *register {
	t.Helper()
	issuer, err := mpp.NewIssuer(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	return &register{issuer: issuer, signal: make(chan struct{}, 1), deposit: 9_000_000,
		bills: map[string]channel.Bill{}, tickets: map[channel.TicketKey]string{}, fails: map[string]error{}}
}

// called notes a call of the interfaces of Payments. r.mu is held.
func (r *register) called(ctx context.Context, format string, args ...any) {
	r.calls = append(r.calls, fmt.Sprintf(format, args...))
	_, has := ctx.Deadline()
	r.bounded = append(r.bounded, has)
}

// took returns the calls since it was called last.
func (r *register) took() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := strings.Join(r.calls, ", ")
	r.calls = nil
	return list
}

func (r *register) fail(method string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fails[method] = err
}

// change changes what is not in use elsewhere at the time.
func (r *register) change(f func()) { r.mu.Lock(); defer r.mu.Unlock(); f() }

func (r *register) standing() channel.Standing {
	return channel.Standing{Channel: ref.ChannelID, Payer: descriptor.Payer, Accepted: units(r.accepted), Spent: units(r.spent),
		Available: units(r.accepted - r.spent - r.held), Deposit: units(r.deposit), Open: true}
}

func (r *register) Pay(ctx context.Context, q channel.PayRequest) (*channel.Payment, error) {
	r.mu.Lock()
	block, fail := r.block, r.fails["Pay"]
	r.called(ctx, "Pay")
	r.paid = append(r.paid, q)
	r.mu.Unlock()
	if block != nil {
		select {
		case <-block:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if fail != nil {
		return nil, fail
	}
	a, err := r.issuer.Admit(q.Credential, q.Route, q.Shape, time.Now())
	if err != nil {
		return nil, err
	}
	sum, _ := cumulative(a.Payload).Uint64()
	if q.Begun != nil {
		again := q.Begun(ref.ChannelID, cumulative(a.Payload))
		r.change(func() { r.again = again })
	}
	r.mu.Lock()
	r.accepted = max(r.accepted, sum)
	p := &channel.Payment{Admission: a, Standing: r.standing(), Origin: q.Origin}
	p.TxHash = r.txHash
	r.mu.Unlock()
	select {
	case r.signal <- struct{}{}:
	default:
	}
	return p, nil
}

func (r *register) Begun(key channel.TicketKey) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun = append(r.begun, key)
	return r.tickets[key] != ""
}

func (r *register) Void(ctx context.Context, channelID common.Hash, o channel.Order) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.called(ctx, "Void")
	if channelID == ref.ChannelID {
		r.voided = append(r.voided, o)
		r.spent -= meter.Cent
		delete(r.tickets, o.Key)
		delete(r.bills, o.Bill)
	}
	return r.fails["Void"]
}

func (r *register) CollectHeld(ctx context.Context, p *channel.Payment, id string, price tempo.Amount) (channel.Bill, channel.Standing, error) {
	r.mu.Lock()
	r.called(ctx, "CollectHeld %s", price)
	err := r.fails["CollectHeld"]
	if err == nil {
		defer r.failAfter()
	}
	r.mu.Unlock()
	if err != nil {
		return channel.Bill{}, channel.Standing{}, err
	}
	return r.Collect(ctx, p.Channel, id, price, p.Request.Amount, tempo.Amount{})
}

// failAfter lets Bill fail once something was collected, if a test wants that.
func (r *register) failAfter() {
	if err := r.fails["Bill after CollectHeld"]; err != nil {
		r.fail("Bill", err)
	}
}

func (r *register) ReleaseHeld(ctx context.Context, p *channel.Payment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, "LetGo") // which waits for nobody
}

func (r *register) Standing(ctx context.Context, channelID common.Hash) (channel.Standing, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if channelID != ref.ChannelID {
		return channel.Standing{}, errors.New("no such channel")
	}
	return r.standing(), r.fails["Standing"]
}

func (r *register) Snapshot(ctx context.Context, cr *mpp.Credential, price tempo.Amount) *mpp.Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.called(ctx, "Snapshot %s", price)
	return r.snapshot
}

func (r *register) SnapshotOf(ctx context.Context, payer common.Address) *mpp.Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.called(ctx, "SnapshotOf %s", payer)
	return r.snapshot
}

func (r *register) Admit(_ context.Context, p *channel.Payment, o channel.Order) (channel.Admitted, error) {
	r.mu.Lock()
	r.orders = append(r.orders, o)
	id, known := r.tickets[o.Key]
	fail := r.fails["Admit"]
	r.mu.Unlock()
	if fail != nil {
		return channel.Admitted{}, fail
	}
	if !known {
		if err := o.MayBegin(); err != nil {
			return channel.Admitted{}, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	out := channel.Admitted{Ticket: channel.Ticket{Key: o.Key, Bill: id, Charged: o.Price}}
	if !known {
		n, _ := o.Price.Uint64()
		if err := r.fails["Charge"]; err != nil {
			return channel.Admitted{}, err
		}
		if n > r.accepted-r.spent {
			return channel.Admitted{}, mpp.Insufficient(p.Channel, o.Price, units(r.accepted-r.spent))
		}
		r.spent += n
		r.tickets[o.Key], out.Bill, out.Fresh = o.Bill, o.Bill, true
		r.bills[o.Bill] = channel.Bill{ID: o.Bill, Payer: p.Payer, Channel: p.Channel, Collected: o.Price}
	}
	out.Standing = r.standing()
	if out.Fresh {
		out.Standing.Consumed = o.Price
	}
	return out, nil
}

func (r *register) Collect(_ context.Context, channelID common.Hash, id string, price, atMost, used tempo.Amount) (channel.Bill, channel.Standing, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if channelID != ref.ChannelID {
		return channel.Bill{}, channel.Standing{}, errors.New("no such channel")
	}
	if err := r.fails["Collect"]; err != nil {
		return channel.Bill{}, channel.Standing{}, err
	}
	b := r.bills[id]
	if !b.Final {
		b.Price = price
	}
	due := b.Outstanding()
	if due.Cmp(atMost) > 0 {
		due = atMost
	}
	n, _ := due.Uint64()
	release, _ := used.Uint64()
	if there := r.accepted - r.spent - r.held + release; n > there {
		return channel.Bill{}, channel.Standing{}, mpp.Insufficient(channelID, due, units(there))
	}
	r.spent += n
	r.held -= release
	b.Collected, _ = b.Collected.Add(due)
	r.bills[id] = b
	s := r.standing()
	s.Consumed = due
	return b, s, nil
}

func (r *register) Hold(_ context.Context, _ common.Hash, amount tempo.Amount) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, _ := amount.Uint64()
	if there := r.accepted - r.spent - r.held; n > there {
		return mpp.Insufficient(ref.ChannelID, amount, units(there))
	}
	r.held += n
	return nil
}

func (r *register) Release(_ context.Context, _ common.Hash, amount tempo.Amount) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, _ := amount.Uint64()
	r.held -= n
	return nil
}

func (r *register) Watch(common.Hash) (<-chan struct{}, func(), error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.signal, func() {}, r.fails["Watch"]
}

func (r *register) Bill(id string) (channel.Bill, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, there := r.bills[id]
	if err := r.fails["Bill"]; err != nil || !there {
		return channel.Bill{}, errors.Join(err, map[bool]error{true: channel.ErrNoBill}[err == nil])
	}
	return b, nil
}

func (r *register) bill(id string) channel.Bill {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bills[id]
}

func (r *register) Debts(common.Address) (list []channel.Bill, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.bills {
		if b.Debt() {
			list = append(list, b)
		}
	}
	return list, nil
}

// Final writes the price and the record, or nothing.
func (r *register) Final(_ context.Context, id string, price tempo.Amount, record *job.RunRow) (channel.Bill, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.bills[id]
	if err := r.fails["Final"]; err != nil {
		return b, err
	}
	if record != nil {
		if err := r.runs.Put(*record); err != nil {
			return b, err
		}
	}
	b.ID, b.Price, b.Final = id, price, true
	if over, more := b.Collected.Sub(price); more {
		n, _ := over.Uint64()
		r.spent -= n
		b.Collected = price
	}
	r.bills[id] = b
	return b, nil
}

func (r *register) Occupy(common.Hash) func() {
	r.change(func() { r.occupied++ })
	return func() { r.change(func() { r.occupied-- }) }
}
