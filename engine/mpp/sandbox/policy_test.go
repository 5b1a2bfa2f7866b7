package sandbox

import (
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// TestReservePolicies: which account each call of the reserve is refused for (TIP-1095).
func TestReservePolicies(t *testing.T) {
	everyone := common.Address{}
	f := func(name string, set func(w *world, accept bool), open, topUp, settle, capture, refund bool) {
		t.Helper()
		w := newWorld(t, Options{})
		d, _ := w.open(payer, Descriptor{}, 500)
		set(w, false)
		try := func(call string, refused bool, k key, data []byte) {
			t.Helper()
			t.Log(call)
			if refused {
				w.reverts("PolicyForbids", k, to(data))
			} else {
				w.ok(k, to(data))
			}
		}
		try(name+": open", open, payer, openData(Descriptor{Payee: payee.address(), Token: PathUSD, Salt: common.Hash{9}}, amount(5)))
		try(name+": topUp", topUp, payer, withDescriptor(topUpSignature, d, u(100)))
		try(name+": settle", settle, payee, settleData(d, 100, w.voucher(payer, d, 100)))
		if capture && !refund {
			try(name+": close", true, payee, closeData(d, 200, 200, w.voucher(payer, d, 200)))
			settled, _, _ := w.channelState(d)
			try(name+": close without a capture", false, payee, closeData(d, settled, settled, nil))
			return
		}
		try(name+": close", capture || refund, payee, closeData(d, 200, 200, w.voucher(payer, d, 200)))
		if !refund {
			return
		}
		settled, deposit, _ := w.channelState(d)
		try(name+": close without a capture", true, payee, closeData(d, settled, settled, nil))
		w.ok(payer, to(withDescriptor(requestCloseSignature, d)))
		w.IncreaseTime(CloseGracePeriod * time.Second)
		try(name+": withdraw", true, payer, withDescriptor(withdrawSignature, d))
		w.wantState(d, settled, deposit, w.closing(d)) // the channel is kept
		set(w, true)
		before := w.holds(payer)
		w.moves(w.ok(payer, to(withDescriptor(withdrawSignature, d))), payer, before, int64(deposit-settled))
		w.wantBalanced()
	}
	own := func(k key, sender common.Address) func(w *world, accept bool) {
		return func(w *world, accept bool) { w.SetReceivePolicy(k.address(), sender, accept) }
	}
	token := func(account common.Address, send, receive bool) func(w *world, accept bool) {
		return func(w *world, accept bool) { w.SetPolicy(PathUSD, account, send || accept, receive || accept) }
	}
	f("payer rejects the reserve", own(payer, Reserve), false, false, false, false, true)
	f("payer rejects everyone", own(payer, everyone), false, false, false, false, true)
	f("payer rejects another", own(payer, stranger.address()), false, false, false, false, false)
	f("payee rejects the payer", own(payee, payer.address()), true, true, true, true, false)
	f("payee rejects everyone", own(payee, everyone), true, true, true, true, false)
	f("payee rejects the reserve", own(payee, Reserve), false, false, false, false, false) // which is no sender
	f("token: payer may not receive", token(payer.address(), true, false), false, false, false, false, true)
	f("token: payer may not send", token(payer.address(), false, true), true, true, true, true, false)
	f("token: payee may not receive", token(payee.address(), true, false), true, true, true, true, false)
	f("token: reserve may do nothing", token(Reserve, false, false), false, false, false, false, false)
}

// closing is when the payer asked to close.
func (w *world) closing(d Descriptor) uint64 {
	_, _, at := w.channelState(d)
	return at
}
