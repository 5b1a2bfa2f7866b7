package main

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/meter"
	"txlens/engine/mpp"
	"txlens/engine/mpp/sandbox"
	"txlens/engine/mpp/tempo"
)

// Rules of channels: opening, vouchers, top-ups, closing.

// seesForcedClose: a channel whose payer wants out on chain is not served longer than
// the chain's word is good, five seconds.
func seesForcedClose(t *testing.T, s *shop) {
	s.order(0, s.open(4*dollar, meter.Cent)).taken(t)
	s.onChain(tempo.RequestCloseCall{Descriptor: s.ref.Descriptor})
	end := time.Now().Add(2 * time.Minute)
	for n := 1; ; n++ {
		s.paid += meter.Cent
		got := s.order(n, s.voucher(s.paid))
		if got.status == 410 {
			s.refused(got, mpp.ChannelFinalized)
			return
		}
		got.taken(t)
		if time.Now().After(end) {
			t.Fatal("it is served on")
		}
		time.Sleep(250 * time.Millisecond)
	}
}

// smuggledTopUps: a top-up does nothing beside.
func smuggledTopUps(t *testing.T, s *shop) {
	s.order(0, s.open(4*dollar, meter.Cent)).taken(t)
	call := tempo.TopUpCall{Descriptor: s.ref.Descriptor, Additional: tempo.AmountFrom(dollar)}
	f := func(want mpp.ProblemType, change func(*tempo.Transaction)) {
		t.Helper()
		tx := s.tx(call, change)
		s.refused(s.manage(&mpp.TopUp{ChannelRef: s.ref, Transaction: tx.Encode(), AdditionalDeposit: call.Additional}), want)
	}
	for _, at := range []int{0, 1} {
		f(mpp.VerificationFailed, func(tx *tempo.Transaction) { tx.Calls = smuggled(tx.Calls, at) })
	}
	f(mpp.VerificationFailed, func(tx *tempo.Transaction) { tx.Calls = smuggled(smuggled(tx.Calls, 0), 0) })
	f(mpp.VerificationFailed, func(tx *tempo.Transaction) { tx.Calls[0].To = new(sandbox.PathUSD) })
	f(mpp.VerificationFailed, func(tx *tempo.Transaction) { tx.Calls[0].Value.SetUint64(1) })
	f(mpp.BadRequest, func(tx *tempo.Transaction) { tx.Sponsorship = tempo.HandOff })
	if row := s.row(); row.Deposit.Uint64() != 4*dollar {
		t.Errorf("deposit %s", row.Deposit)
	}
}

// smuggled adds a call that approves somebody else.
func smuggled(calls []tempo.Call, at int) []tempo.Call {
	token := sandbox.PathUSD
	data := append(common.FromHex("095ea7b3"), make([]byte, 64)...)
	extra := tempo.Call{To: &token, Data: data}
	return append(calls[:at:at], append([]tempo.Call{extra}, calls[at:]...)...)
}

// smuggledOpens: nor does an open, be it with two, three or four calls.
func smuggledOpens(t *testing.T, s *shop) {
	for n := 1; n <= 3; n++ {
		for _, last := range []bool{false, true} {
			tx := s.tx(s.openCall(4*dollar), func(tx *tempo.Transaction) {
				for range n {
					at := 0
					if last {
						at = len(tx.Calls)
					}
					tx.Calls = smuggled(tx.Calls, at)
				}
			})
			plain := s.tx(s.openCall(4 * dollar))
			payload := s.openBy(plain, meter.Cent)
			payload.Transaction = tx.Encode()
			s.refused(s.order(0, payload), mpp.VerificationFailed)
			s.unsent(payload)
		}
	}
}

// topUpsAreSeen: what a top-up adds is there at once and stays, through whatever is
// booked after it.
func topUpsAreSeen(t *testing.T, s *shop) {
	s.order(0, s.open(4*dollar, meter.Cent)).taken(t)
	s.refused(s.order(1, s.voucher(5*dollar)), mpp.AmountExceedsDeposit)
	for n := 1; n <= 3; n++ {
		got := s.manage(s.topUp(dollar))
		rc := s.receipt(got.header)
		if got.status != 204 || rc.TxHash == (common.Hash{}) || rc.Spent != tempo.AmountFrom(uint64(n)*meter.Cent) {
			t.Fatalf("%d %s, receipt %+v", got.status, got.body, rc)
		}
		s.paid = uint64(4+n) * dollar
		s.order(n, s.voucher(s.paid)).taken(t)
	}
	if row := s.row(); row.Deposit.Uint64() != 7*dollar || !row.Settled.IsZero() {
		t.Errorf("deposit %s, settled %s", row.Deposit, row.Settled)
	}
	s.close(4 * meter.Cent)
}

// oddTopUps: of nothing, of another sum than was said, by somebody else; and the same
// one twice, which adds once.
func oddTopUps(t *testing.T, s *shop) {
	s.order(0, s.open(4*dollar, meter.Cent)).taken(t)
	s.refused(s.manage(s.topUp(0)), mpp.VerificationFailed)
	lied := s.topUp(dollar)
	lied.AdditionalDeposit = tempo.AmountFrom(2 * dollar)
	s.refused(s.manage(lied), mpp.VerificationFailed)
	stranger := s.another(t)
	stranger.ref = s.ref
	foreign := stranger.topUp(dollar)
	s.refused(s.manage(foreign), mpp.VerificationFailed)
	up := s.topUp(dollar)
	first, again := s.manage(up), s.manage(up)
	if a, b := s.receipt(first.header), s.receipt(again.header); first.status != 204 || again.status != 204 || a.TxHash != b.TxHash {
		t.Errorf("%d %s, then %d %s", first.status, first.body, again.status, again.body)
	}
	if row := s.row(); row.Deposit.Uint64() != 5*dollar {
		t.Errorf("deposit %s", row.Deposit)
	}
}

// capturesSpent: whatever the payer signs to close with, what was spent is taken.
func capturesSpent(t *testing.T, s *shop) {
	for _, f := range []struct{ signed, closed uint64 }{{1, 1}, {5, 1}, {5, 3}, {5, 5}, {5, 9}, {1, 400}} {
		s.order(0, s.open(4*dollar, f.signed*meter.Cent)).taken(t)
		s.paid = f.closed * meter.Cent
		s.close(meter.Cent)
	}
}

// upperCaseID: a channel has one account, however its id is written.
func upperCaseID(t *testing.T, s *shop) {
	s.order(0, s.open(4*dollar, meter.Cent)).taken(t)
	id := s.ref.ChannelID.Hex()
	shout := func(n int) said {
		ch, _ := s.terms("POST", pathJobs, "", s.body(n))
		return s.ask("POST", pathJobs, "", s.body(n), s.forge(s.credential(ch, s.voucher(s.paid)), func(doc map[string]any) {
			doc["payload"].(map[string]any)["channelId"] = "0x" + strings.ToUpper(id[2:])
		}))
	}
	s.refused(shout(1), mpp.InsufficientBalance)
	s.paid += meter.Cent
	got := shout(1).taken(t)
	if rc := s.receipt(got.header); rc.Spent != tempo.AmountFrom(2*meter.Cent) || rc.ChannelID != s.ref.ChannelID {
		t.Errorf("receipt %+v", rc)
	}
	s.refused(s.order(2, s.voucher(s.paid)), mpp.InsufficientBalance)
}

// channelsApart: what one payer signed pays for no other channel.
func channelsApart(t *testing.T, s *shop) {
	other := s.another(t)
	s.order(0, s.open(4*dollar, meter.Cent)).taken(t)
	other.order(0, other.open(4*dollar, meter.Cent)).taken(t)
	mine := s.voucher(3 * meter.Cent)
	theirs := &mpp.Voucher{ChannelRef: other.ref, CumulativeAmount: mine.CumulativeAmount, Signature: mine.Signature}
	ch, _ := other.terms("POST", pathJobs, "", other.body(1))
	other.refused(other.ask("POST", pathJobs, "", other.body(1), other.credential(ch, theirs)), mpp.InvalidSignature)
	swapped := &mpp.Voucher{ChannelRef: mpp.ChannelRef{ChannelID: other.ref.ChannelID, Descriptor: s.ref.Descriptor}, CumulativeAmount: mine.CumulativeAmount, Signature: mine.Signature}
	s.refused(s.order(1, swapped), mpp.VerificationFailed)
	if s.spent() != meter.Cent || other.spent() != meter.Cent {
		t.Error("somebody was charged")
	}
}

// forgedChangesNothing: who proves nothing moves nothing, on any path.
func forgedChangesNothing(t *testing.T, s *shop) {
	s.order(0, s.open(4*dollar, meter.Cent)).taken(t)
	stranger := s.another(t)
	for _, path := range []string{pathJobs, pathStream, "/session/deposit"} {
		v, c := s.voucher(3*dollar), s.closing(3*dollar)
		v.Signature[7] ^= 1
		c.Signature[7] ^= 1
		for _, payload := range []mpp.Payload{v, c} {
			for _, body := range []string{"", s.body(1)} {
				if path == "/session/deposit" {
					body = ""
				}
				ch, _ := stranger.terms("POST", path, events, body)
				got := stranger.ask("POST", path, events, body, stranger.credentialOf(ch, payload, mpp.Source{}))
				stranger.refused(got, mpp.InvalidSignature)
			}
		}
	}
	if rc := s.receipt(s.manage(s.voucher(s.paid)).header); rc.AcceptedCumulative != tempo.AmountFrom(meter.Cent) || rc.Spent != rc.AcceptedCumulative || !s.row().Open {
		t.Errorf("receipt %+v", rc)
	}
}

// closesAfterSettling: a voucher for what is settled already closes the channel, and
// is verified though the chain would not look at it.
func closesAfterSettling(t *testing.T, s *shop) {
	s.order(0, s.open(4*dollar, meter.Cent)).taken(t)
	s.restart("--settle-at", "0.01")
	s.eventually("it is settled", func() bool { return s.row().Settled.Uint64() == meter.Cent })
	if n := s.spent(); n != meter.Cent {
		t.Errorf("spent %d: the voucher that was settled is refused", n)
	}
	forged := s.closing(meter.Cent)
	forged.Signature[9] ^= 1
	s.refused(s.manage(forged), mpp.InvalidSignature)
	s.refused(s.manage(s.closing(meter.Cent-1)), mpp.VerificationFailed)
	s.refused(s.order(1, s.voucher(meter.Cent)), mpp.InsufficientBalance)
	s.paid += meter.Cent
	s.order(2, s.voucher(s.paid)).taken(t)
	s.close(2 * meter.Cent)
}

// withdrawn: a channel that its payer has withdrawn is gone, and what was served on
// it is lost and told to be.
func withdrawn(t *testing.T, s *shop) {
	s.order(0, s.open(4*dollar, meter.Cent)).taken(t)
	s.stop()
	s.onChain(tempo.RequestCloseCall{Descriptor: s.ref.Descriptor})
	s.chain.IncreaseTime(901 * time.Second)
	s.onChain(tempo.WithdrawCall{Descriptor: s.ref.Descriptor}, func(tx *tempo.Transaction) { tx.ValidBefore += 901 })
	s.restart()
	// The first is above the deposit: the chain is asked at once. From then on no older
	// word of it counts.
	for i, payload := range []mpp.Payload{s.voucher(4*dollar + 1), s.voucher(2 * meter.Cent), s.voucher(meter.Cent), s.closing(2 * meter.Cent), s.topUp(dollar), s.voucher(3 * meter.Cent)} {
		got := s.order(1, payload)
		if got.status != 410 {
			t.Errorf("%d: %d %s", i, got.status, got.body)
		}
	}
	s.booked(0)
}

// operatorSettles: the key settles for a payee that it is not, and the payee is paid.
func operatorSettles(t *testing.T, s *shop) {
	operator, _ := secretKey(payeeKey)
	call := s.openCall(4 * dollar)
	call.Payee = common.HexToAddress(otherPayee)
	for _, foreign := range []common.Address{{}, {7}} {
		call.Operator = foreign
		s.refused(s.order(0, s.openBy(s.tx(call), meter.Cent)), mpp.VerificationFailed)
	}
	call.Operator = operator.Address()
	s.order(0, s.openBy(s.tx(call), meter.Cent)).taken(t)
	s.close(meter.Cent)
	if got := s.chain.Balance(sandbox.PathUSD, call.Payee).Uint64(); got != meter.Cent {
		t.Errorf("the payee has %d", got)
	}
}

// closeRace: of orders and a close at once each order is served and paid, or refused.
func closeRace(t *testing.T, s *shop) {
	s.order(0, s.open(4*dollar, meter.Cent)).taken(t)
	ch, _ := s.terms("POST", pathJobs, "", s.body(0))
	var all sync.WaitGroup
	var mu sync.Mutex
	served, closed := uint64(1), 0
	for i := range 24 {
		payload := mpp.Payload(s.voucher(uint64(i+2) * meter.Cent))
		body := s.body(i + 1)
		if i%8 == 7 {
			payload, body = s.closing(3*dollar), ""
		}
		credential := s.credential(ch, payload)
		all.Go(func() {
			got := s.ask("POST", pathJobs, "", body, credential)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case got.status == 202:
				served++
			case got.status == 204:
				closed++
			case got.status != 402 && got.status != 410:
				t.Errorf("%d %s", got.status, got.body)
			}
		})
	}
	all.Wait()
	if closed == 0 {
		t.Error("no close came through")
	}
	s.booked(served * meter.Cent)
}

// managementRunsNothing: no analysis is begun, nor any job kept, for it.
func managementRunsNothing(t *testing.T, s *shop) {
	h := newMeteredHouse(t)
	p := h.payer
	if got := p.manage(p.open(4*dollar, meter.Cent)); got.status != 204 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	for _, path := range []string{pathStream, pathJobs} {
		ch, _ := p.terms("POST", path, events, "")
		for _, payload := range []mpp.Payload{p.voucher(meter.Cent), p.topUp(dollar)} {
			if got := p.ask("POST", path, events, "", p.credential(ch, payload)); got.status != 204 {
				t.Errorf("%s: %d %s", path, got.status, got.body)
			}
		}
		if got := p.ask("POST", path, events, explainBody("broken"), p.credential(ch, p.topUp(dollar))); got.status != 204 {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	if n := h.ran.Load(); n != 0 || p.spent() != 0 {
		t.Errorf("%d analyses ran, spent %d", n, p.spent())
	}
}

// laggingReplica: the state that the receipt promises is waited for.
func laggingReplica(t *testing.T, s *shop) {
	s.chain.Mine() // so that the block before has all that the simulation needs
	if err := s.chain.Inject(sandbox.Fault{Method: "eth_call", Lag: 1, Times: 4}); err != nil {
		t.Fatal(err)
	}
	s.order(0, s.open(4*dollar, meter.Cent)).taken(t)
	s.chain.Mine()
	if err := s.chain.Inject(sandbox.Fault{Method: "eth_call", Lag: 1, Times: 3}); err != nil {
		t.Fatal(err)
	}
	if got := s.manage(s.topUp(dollar)); got.status != 204 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	s.paid = 5 * dollar
	s.order(1, s.voucher(s.paid)).taken(t)
}

// failedOpens: an open that the chain refuses or fails opens nothing, and can be done
// again.
func failedOpens(t *testing.T, s *shop) {
	f := func(status int, want mpp.ProblemType, fault sandbox.Fault) {
		t.Helper()
		if err := s.chain.Inject(fault); err != nil {
			t.Fatal(err)
		}
		open := s.open(4*dollar, meter.Cent)
		got := s.order(0, open)
		if p, err := mpp.ParseProblem([]byte(got.body)); err != nil || got.status != status || p.Type != want || got.header.Get("Payment-Receipt") != "" {
			t.Errorf("%+v: %d %s", fault, got.status, got.body)
		}
		s.chain.ClearFaults()
		s.unsent(open)
		s.order(0, s.open(4*dollar, meter.Cent)).taken(t)
	}
	f(402, mpp.VerificationFailed, sandbox.Fault{Method: "eth_call", Call: "open", Revert: true})
	f(402, mpp.VerificationFailed, sandbox.Fault{Method: "eth_sendRawTransactionSync", Revert: true, Times: 1})
	f(402, mpp.VerificationFailed, sandbox.Fault{Method: "eth_sendRawTransactionSync", Refuse: &sandbox.Error{Code: -32000, Message: "fee too low"}, Times: 1})
	f(503, mpp.InternalPaymentError, sandbox.Fault{Method: "eth_call", Refuse: &sandbox.Error{Code: -32005, Message: "busy"}})
}

// closeRollsBack: a close that fails leaves the channel as it was; several closes at
// once do not take each other's place.
func closeRollsBack(t *testing.T, s *shop) {
	s.order(0, s.open(4*dollar, meter.Cent)).taken(t)
	if err := s.chain.Inject(sandbox.Fault{Method: "eth_sendRawTransactionSync", Call: "close", Revert: true, Times: 1}); err != nil {
		t.Fatal(err)
	}
	if got := s.manage(s.closing(s.paid)); got.status == 204 || got.status == 410 || got.header.Get("Payment-Receipt") != "" {
		t.Fatalf("%d %s", got.status, got.body)
	}
	s.paid += meter.Cent
	s.order(1, s.voucher(s.paid)).taken(t)
	list := []*payer{s.payer}
	for range 4 {
		p := s.another(t)
		p.order(0, p.open(4*dollar, meter.Cent)).taken(t)
		list = append(list, p)
	}
	var all sync.WaitGroup
	for _, p := range list {
		payload := p.closing(p.paid)
		all.Go(func() {
			if got := p.manage(payload); got.status != 204 {
				t.Errorf("%d %s", got.status, got.body)
			}
		})
	}
	all.Wait()
	s.booked(2 * meter.Cent)
	for _, p := range list[1:] {
		p.booked(meter.Cent)
	}
}

// recoveryIDs: a transaction whose recovery id is written in the other way is the
// same; a close that is asked again is answered as before, by the sum that it signed.
func recoveryIDs(t *testing.T, s *shop) {
	tx := s.tx(s.openCall(4 * dollar))
	open := s.openBy(tx, meter.Cent)
	open.Transaction[len(open.Transaction)-1] -= 27
	if rc := s.receipt(s.order(0, open).taken(t).header); rc.TxHash != tx.Hash() {
		t.Errorf("hash %s, want %s", rc.TxHash, tx.Hash())
	}
	s.paid = 2 * meter.Cent
	closing := s.closing(s.paid)
	first, again := s.manage(closing), s.manage(closing)
	a, b := s.receipt(first.header), s.receipt(again.header)
	if first.status != 204 || again.status != 204 || a.TxHash != b.TxHash || a.AcceptedCumulative != b.AcceptedCumulative || b.AcceptedCumulative != tempo.AmountFrom(s.paid) || b.Spent != tempo.AmountFrom(meter.Cent) {
		t.Errorf("%d %+v, %d %+v", first.status, a, again.status, b)
	}
	s.refused(s.manage(s.closing(3*meter.Cent)), mpp.ChannelFinalized)
}

// openedOnce: the same open many times at once is one transaction.
func openedOnce(t *testing.T, s *shop) {
	open := s.open(4*dollar, meter.Cent)
	ch, _ := s.terms("POST", pathJobs, "", s.body(0))
	c := s.credential(ch, open)
	shout := s.forge(c, func(doc map[string]any) {
		p := doc["payload"].(map[string]any)
		p["transaction"] = "0x" + strings.ToUpper(p["transaction"].(string)[2:])
	})
	var all sync.WaitGroup
	bodies := make([]string, 8)
	for i := range bodies {
		credential := []string{c, shout}[i%2]
		all.Go(func() { bodies[i] = s.ask("POST", pathJobs, "", s.body(0), credential).taken(t).body })
	}
	all.Wait()
	for _, body := range bodies {
		if body != bodies[0] {
			t.Errorf("jobs %s and %s", body, bodies[0])
		}
	}
	if n := s.spent(); n != meter.Cent {
		t.Errorf("spent %d", n)
	}
	s.close(meter.Cent)
}

// depositBelowAmount: a channel that cannot pay for one unit is not opened for it.
func depositBelowAmount(t *testing.T, s *shop) {
	open := s.open(meter.Cent-1, 0)
	s.refused(s.order(0, open), mpp.VerificationFailed)
	s.unsent(open)
	nothing := s.open(1, 0)
	nothing.Transaction = s.tx(s.openCall(0)).Encode()
	s.refused(s.manage(nothing), mpp.VerificationFailed)
	s.unsent(nothing)
}

// firstVouchers: from nothing to the whole deposit, and not one more.
func firstVouchers(t *testing.T, s *shop) {
	for i, first := range []uint64{meter.Cent, 4 * dollar} {
		s.order(i, s.open(4*dollar, first)).taken(t)
	}
	if got := s.manage(s.open(4*dollar, 0)); got.status != 204 {
		t.Errorf("%d %s", got.status, got.body)
	}
	over := s.open(4*dollar, 4*dollar+1)
	s.refused(s.order(9, over), mpp.AmountExceedsDeposit)
	s.unsent(over)
}

// expiringOpen: what ends before it can land is not sent.
func expiringOpen(t *testing.T, s *shop) {
	for _, end := range []int64{-10, 1} {
		tx := s.tx(s.openCall(4*dollar), func(tx *tempo.Transaction) { tx.ValidBefore = uint64(time.Now().Unix() + end) })
		open := s.openBy(tx, meter.Cent)
		s.refused(s.order(0, open), mpp.VerificationFailed)
		s.unsent(open)
	}
}

// manyVouchers: of a hundred different ones at once each that is served is paid for.
func manyVouchers(t *testing.T, s *shop) {
	s.order(0, s.open(4*dollar, meter.Cent)).taken(t)
	ch, _ := s.terms("POST", pathJobs, "", s.body(0))
	var all sync.WaitGroup
	var mu sync.Mutex
	served := uint64(1)
	for i := range 100 {
		credential := s.credential(ch, s.voucher(uint64(i+2)*meter.Cent))
		all.Go(func() {
			got := s.ask("POST", pathJobs, "", s.body(i+1), credential)
			mu.Lock()
			defer mu.Unlock()
			if got.status == 202 {
				served++
			} else if got.status != 402 {
				t.Errorf("%d %s", got.status, got.body)
			}
		})
	}
	all.Wait()
	s.paid = 101 * meter.Cent
	if n := s.spent(); n != served*meter.Cent || served < 2 {
		t.Errorf("spent %d for %d", n, served)
	}
}

// replayAfterRestart: what was charged before is known after.
func replayAfterRestart(t *testing.T, s *shop) {
	first := s.order(0, s.open(4*dollar, 3*meter.Cent)).taken(t)
	s.restart()
	if again := s.order(0, s.voucher(s.paid)).taken(t); again.body != first.body {
		t.Errorf("%s, then %s", first.body, again.body)
	}
	if n := s.spent(); n != meter.Cent {
		t.Errorf("spent %d", n)
	}
	s.refused(s.order(1, s.voucher(2*meter.Cent)), mpp.VerificationFailed)
}

// p256Account: an account of another curve opens, pays and closes.
func p256Account(t *testing.T, s *shop) {
	key, err := tempo.NewP256Key([]byte(strings.Repeat("\x42", 31) + string(rune('a'))))
	if err != nil {
		t.Fatal(err)
	}
	s.useKey(key)
	s.order(0, s.open(4*dollar, meter.Cent)).taken(t)
	s.paid += meter.Cent
	s.order(1, s.voucher(s.paid)).taken(t)
	s.close(2 * meter.Cent)
}

// zeroSigner: no authorized signer is the payer itself.
func zeroSigner(t *testing.T, s *shop) {
	call := s.openCall(4 * dollar)
	call.AuthorizedSigner = common.Address{}
	s.order(0, s.openBy(s.tx(call), meter.Cent)).taken(t)
	s.paid += meter.Cent
	s.order(1, s.voucher(s.paid)).taken(t)
	s.close(2 * meter.Cent)
}

// floods: strangers cost the chain little, and nothing is kept of them.
func floods(t *testing.T, s *shop) {
	before := s.chain.Calls(sandbox.All)
	for range 60 {
		s.open(4*dollar, meter.Cent)
		bad := s.voucher(meter.Cent)
		bad.Signature[3] ^= 1
		s.refused(s.manage(bad), mpp.InvalidSignature)
	}
	if n := s.chain.Calls(sandbox.All) - before; n > 10 { // those of the watcher's round
		t.Errorf("bad signatures cost %d calls", n)
	}
	before = s.chain.Calls(sandbox.All)
	for range 60 {
		s.open(4*dollar, meter.Cent)
		s.refused(s.manage(s.voucher(meter.Cent)), mpp.ChannelNotFound)
	}
	if n := s.chain.Calls(sandbox.All) - before; n > 10 {
		t.Errorf("channels of nobody here cost %d calls", n)
	}
	s.restart("--adopt-channels")
	before = s.chain.Calls(sandbox.All)
	began, looked, turned := time.Now(), 0, 0
	for range 120 {
		s.open(4*dollar, meter.Cent)
		switch got := s.manage(s.voucher(meter.Cent)); got.status {
		case 410:
			looked++
		case 429, 503:
			turned++
		default:
			t.Fatalf("%d %s", got.status, got.body)
		}
	}
	bound := 20 + int(time.Since(began).Seconds()*20) + 10
	if n := s.chain.Calls(sandbox.All) - before; n > bound || looked > bound {
		t.Errorf("unknown channels cost %d calls for %d that were looked up and %d that were not; the bound is %d", n, looked, turned, bound)
	}
}
