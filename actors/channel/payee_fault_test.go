package channel

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"txlens/engine/mpp"
	"txlens/engine/mpp/sandbox"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/settle"
	"txlens/engine/mpp/tempo"
)

// alteredReserve is a chain some of whose answers a test alters; what is nil is as it is.
type alteredReserve struct {
	Escrow
	health    func(settle.Health, error) (settle.Health, error)
	send      func(*tempo.Receipt, error) (*tempo.Receipt, error)
	signClose func() error
}

func (r *alteredReserve) Health(ctx context.Context) (settle.Health, error) {
	h, err := r.Escrow.Health(ctx)
	if r.health != nil {
		h, err = r.health(h, err)
	}
	return h, err
}

func (r *alteredReserve) Send(ctx context.Context, tx *tempo.Transaction) (*tempo.Receipt, error) {
	rc, err := r.Escrow.Send(ctx, tx)
	if r.send != nil {
		rc, err = r.send(rc, err)
	}
	return rc, err
}

func (r *alteredReserve) SignClose(ctx context.Context, c session.Channel) (settle.Signed, error) {
	if r.signClose != nil {
		if err := r.signClose(); err != nil {
			return settle.Signed{}, err
		}
	}
	return r.Escrow.SignClose(ctx, c)
}

// altered has the market's Channels see such a chain.
func (m *market) altered() *alteredReserve {
	m.t.Helper()
	r := &alteredReserve{Escrow: EscrowOf(m.client)}
	m.reserve = EscrowOf(r)
	m.restart()
	return r
}

// fault is what is known of one kind.
func (m *market) fault(kind PayeeFault) FaultState {
	m.t.Helper()
	for _, f := range m.c.Faults() {
		if f.Kind == kind {
			return f
		}
	}
	m.t.Fatalf("no fault %s", kind)
	return FaultState{}
}

// hasFault holds a fault to whether it is there, how often it was met, and that the log
// says what to do.
func (m *market) hasFault(kind PayeeFault, active bool, count uint64) {
	m.t.Helper()
	f := m.fault(kind)
	if f.Active != active || f.Count != count || f.Meaning == "" || f.Action == "" {
		m.t.Errorf("%+v; want %t, %d", f, active, count)
	}
	if count > 0 && (!m.log.has("level=ERROR") || !m.log.has("fault="+string(kind)) || !m.log.has(f.Action)) {
		m.t.Errorf("%s is not in the log", kind)
	}
}

// spendAllBut has the payee give its tokens away, but for so many and what that costs.
func (m *market) spendAllBut(left uint64) {
	m.t.Helper()
	token, have := sandbox.PathUSD, m.chain.Balance(sandbox.PathUSD, m.payee.Address()).Uint64()
	tx := tempo.NewTransaction(m.chain.ChainID(), uint64(m.now().Unix()), tempo.Call{To: &token, Data: tempo.TransferCalldata(common.Address{7}, uint256.NewInt(have-left))})
	tx.FeeToken, tx.Gas = sandbox.PathUSD, 100_000
	tx.MaxPriorityFeePerGas, tx.MaxFeePerGas = *uint256.NewInt(1e9), *uint256.NewInt(50e9)
	if err := tx.Sign(m.payee.Address(), m.payee); err != nil {
		m.t.Fatal(err)
	}
	if _, err := m.client.Broadcast(context.Background(), settle.Signed{Raw: tx.Encode(), Hash: tx.Hash(), ValidBefore: tx.ValidBefore}); err != nil {
		m.t.Fatal(err)
	}
}

// TestNoGas: where the payee cannot pay for its transactions the payer is told to come
// again, the operator what to do, and the channel is as it was.
func TestNoGas(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p := m.served(1, 5*dollar, 30_000, 20_000)
	f := func(low bool) {
		t.Helper()
		if err := m.c.checkHealth(context.Background()); err != nil || m.fault(FaultGas).Active != low {
			t.Errorf("%+v, %v", m.fault(FaultGas), err)
		}
	}
	m.spendAllBut(100_000)
	f(false)
	m.spendAllBut(20_000)
	f(true) // before anything has failed
	m.hasFault(FaultGas, true, 1)
	m.spendAllBut(2_600)
	m.expect(p.close(20_000), management, 503, mpp.InternalPaymentError)
	m.hasFault(FaultGas, true, 2)
	p.is(session.Active, 0, 0)
	m.expect(p.voucher(40_000), content, 200, "")
	if err := m.c.Settle(context.Background(), p.ref.ChannelID); err != nil {
		t.Errorf("nothing is to be settled: %v", err)
	}
	if err := m.chain.Mint(sandbox.PathUSD, m.payee.Address(), uint256.NewInt(dollar)); err != nil {
		t.Fatal(err)
	}
	m.expect(p.close(20_000), management, 200, "")
	f(false)
	m.hasFault(FaultGas, false, 2)
}

// TestRefusedTransaction: what the chain has against a transaction of ours is nothing
// that the payer could mend.
func TestRefusedTransaction(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p := m.served(1, 5*dollar, 20_000, 20_000)
	ctx := context.Background()
	for i, f := range []sandbox.Fault{
		{Method: "eth_sendRawTransactionSync", Call: "close", Revert: true, Times: 1},
		{Method: "eth_estimateGas", Call: "close", Revert: true, Times: 1},
		{Method: "eth_sendRawTransactionSync", Call: "close", Refuse: &sandbox.Error{Code: -32000, Message: "blocked"}, Times: 1},
	} {
		if err := m.chain.Inject(f); err != nil {
			t.Fatal(err)
		}
		m.expect(p.close(20_000), management, 503, mpp.InternalPaymentError)
		m.hasFault(FaultRefused, true, uint64(i+1))
		p.is(session.Active, 0, 0)
	}
	if err := m.chain.Inject(sandbox.Fault{Method: "eth_sendRawTransactionSync", Call: "settle", Revert: true, Times: 1}); err != nil {
		t.Fatal(err)
	}
	if err := m.c.Settle(ctx, p.ref.ChannelID); !isPayeeError(err) {
		t.Errorf("%v", err)
	}
	m.hasFault(FaultRefused, true, 4)
	// Closed again within the same second, with the same sum: it is another transaction.
	m.expect(p.close(20_000), management, 200, "")
	m.hasFault(FaultRefused, false, 4)
	// What is refused of a payer stays the payer's.
	poor, tx := m.openTx(key(2), 2_000_000*dollar)
	m.expect(poor.open(tx, 10_000), content, 402, mpp.VerificationFailed)
	m.hasFault(FaultRefused, false, 4)
}

func isPayeeError(err error) bool {
	_, ok := errors.AsType[*payeeError](err)
	return ok
}

// TestRefusedTogether: that one channel of several has ended is no fault of ours.
func TestRefusedTogether(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	good, gone := m.served(1, 5*dollar, 30_000, 30_000), m.served(2, 6*dollar, 20_000, 20_000)
	m.withdrawn(gone)
	for _, p := range m.c.Rounds(SettlePolicy{}).PayOut(context.Background(), good.ref.ChannelID, gone.ref.ChannelID) {
		if isPayeeError(p.Err) {
			t.Errorf("%+v", p)
		}
	}
	m.hasFault(FaultRefused, false, 0)
	good.is(session.Active, 30_000, 0)
}

// TestNoKey: a server without a key cannot close; that is no fault of the payer.
func TestNoKey(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	r := m.altered()
	p := m.served(1, 5*dollar, 20_000, 20_000)
	r.signClose = func() error { return settle.ErrNoKey }
	m.expect(p.close(20_000), management, 503, mpp.InternalPaymentError)
	m.hasFault(FaultKey, true, 1)
	p.is(session.Active, 0, 0)
	r.signClose = nil
	m.expect(p.close(20_000), management, 200, "")
	m.hasFault(FaultKey, false, 1)
}

// TestHealthFaults: what one look at the chain finds, and that it is over again.
func TestHealthFaults(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	r := m.altered()
	f := func(kind PayeeFault, change func(*settle.Health) error) {
		t.Helper()
		before := m.fault(kind).Count
		for _, bad := range []bool{true, true, false} {
			r.health = func(h settle.Health, err error) (settle.Health, error) {
				if bad && err == nil {
					err = change(&h)
				}
				return h, err
			}
			if err := m.c.checkHealth(context.Background()); err != nil || m.fault(kind).Active != bad {
				t.Errorf("%s: %+v, %v", kind, m.fault(kind), err)
			}
		}
		m.hasFault(kind, false, before+2)
	}
	none := func(kind PayeeFault, change func(*settle.Health)) {
		t.Helper()
		r.health = func(h settle.Health, err error) (settle.Health, error) { change(&h); return h, err }
		if err := m.c.checkHealth(context.Background()); err != nil || m.fault(kind).Active {
			t.Errorf("%s: %+v, %v", kind, m.fault(kind), err)
		}
	}
	f(FaultClock, func(h *settle.Health) error { h.Drift = maxAhead + time.Second; return nil })
	f(FaultClock, func(h *settle.Health) error { h.Drift = -maxBehind - time.Second; return nil })
	f(FaultGas, func(h *settle.Health) error { h.Gas, h.Fee = units(99), units(10); return nil })
	f(FaultGas, func(h *settle.Health) error { h.Fee = tempo.MaxAmount; return nil })
	f(FaultAway, func(*settle.Health) error { return settle.ErrUnreachable })
	f(FaultChain, func(*settle.Health) error { return errors.Join(settle.ErrUnreachable, settle.ErrWrongChain) })
	none(FaultClock, func(h *settle.Health) { h.Drift = maxAhead })
	none(FaultClock, func(h *settle.Health) { h.Drift = -maxBehind })
	none(FaultGas, func(h *settle.Health) { h.Gas, h.Fee = units(100), units(10) })
	none(FaultGas, func(h *settle.Health) { h.Key, h.Gas, h.Fee = common.Address{}, units(0), units(10) })
	if m.c.Health() == nil || !m.log.has("settlement chain") {
		t.Error("the first look is not told")
	}
}

// TestFaultsAreToldOnce: a fault that goes on is logged from time to time, and counted
// each time.
func TestFaultsAreToldOnce(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	lines := func() int { return strings.Count(m.log.String(), "fault=gas") }
	for range 5 {
		m.c.faults.report(FaultGas)
	}
	if n := lines(); n != 1 {
		t.Errorf("%d lines", n)
	}
	m.later(logAgainAfter)
	m.c.faults.report(FaultGas)
	if n := lines(); n != 2 {
		t.Errorf("%d lines", n)
	}
	m.c.faults.end(FaultGas)
	m.c.faults.end(FaultGas)
	if n := lines(); n != 3 { // that it is over
		t.Errorf("%d lines", n)
	}
	m.hasFault(FaultGas, false, 6)
}

// otherAmount alters the last word of the first event of the reserve in a receipt.
func otherAmount(n uint64) func(*tempo.Receipt, error) (*tempo.Receipt, error) {
	return func(rc *tempo.Receipt, err error) (*tempo.Receipt, error) {
		if err != nil {
			return rc, err
		}
		for i := range rc.Logs {
			if l := &rc.Logs[i]; l.Address == sandbox.Reserve {
				e, decodeErr := tempo.DecodeEvent(l.Topics, l.Data)
				if decodeErr != nil {
					return nil, decodeErr
				}
				switch e := e.(type) {
				case tempo.ChannelOpened:
					e.Deposit = tempo.AmountFrom(n)
					l.Topics, l.Data = e.Log()
				case tempo.TopUp:
					e.Additional = tempo.AmountFrom(n)
					l.Topics, l.Data = e.Log()
				}
			}
		}
		return rc, nil
	}
}

// TestOtherDeposit: an opening or a top-up of which the chain shows another amount is
// the payer's to mend, and the amount is told. A receipt that does not show it at all
// says nothing.
func TestOtherDeposit(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	r := m.altered()
	f := func(payload mpp.Payload, shown string, expected string) {
		t.Helper()
		_, err := m.pay(payload, management)
		p, _ := errors.AsType[*mpp.Problem](err)
		if p == nil || p.Status() != 402 || p.Type != mpp.VerificationFailed || p.Details["paidIn"] != shown || p.Details["expected"] != expected || !strings.Contains(p.Detail, shown) {
			t.Errorf("%T: %v", payload, err)
		}
	}
	r.send = otherAmount(4_999_999)
	p, tx := m.openTx(key(1), 5*dollar)
	f(p.open(tx, 10_000), "4999999", "5000000")
	q := m.servedBy(r, 2)
	r.send = otherAmount(1)
	f(q.topUp(dollar), "1", "1000000")
	r.send = func(rc *tempo.Receipt, err error) (*tempo.Receipt, error) {
		if rc != nil {
			rc.Logs = nil
		}
		return rc, err
	}
	other, tx := m.openTx(key(1), 6*dollar)
	m.expect(other.open(tx, 10_000), content, 503, mpp.InternalPaymentError)
	r.send = nil
	m.expect(other.open(tx, 10_000), content, 200, "")
}

// servedBy opens a channel while nothing is altered.
func (m *market) servedBy(r *alteredReserve, k byte) *purse {
	m.t.Helper()
	send := r.send
	r.send = nil
	defer func() { r.send = send }()
	return m.served(k, 6*dollar, 10_000, 10_000)
}
