package app_test

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
	"txlens/testkit/service"
)

// Rules of channels: opening, vouchers, top-ups, closing.

// seesForcedClose: a channel whose payer wants out on chain is not served longer than
// the chain's word is good.
func seesForcedClose(t *testing.T, s *service.Seller) {
	s.Order(0, s.Open(4*service.Dollar, meter.Cent)).Taken(t)
	s.OnChain(tempo.RequestCloseCall{Descriptor: s.Ref.Descriptor})
	end := time.Now().Add(2 * time.Minute)
	for n := 1; ; n++ {
		s.Paid += meter.Cent
		got := s.Order(n, s.Voucher(s.Paid))
		if got.Status == 410 {
			s.Refused(got, mpp.ChannelFinalized)
			return
		}
		got.Taken(t)
		if time.Now().After(end) {
			t.Fatal("it is served on")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// smuggledTopUps: a top-up does nothing beside.
func smuggledTopUps(t *testing.T, s *service.Seller) {
	s.Order(0, s.Open(4*service.Dollar, meter.Cent)).Taken(t)
	call := tempo.TopUpCall{Descriptor: s.Ref.Descriptor, Additional: tempo.AmountFrom(service.Dollar)}
	f := func(want mpp.ProblemType, change func(*tempo.Transaction)) {
		t.Helper()
		tx := s.Transaction(call, change)
		s.Refused(s.Manage(&mpp.TopUp{ChannelRef: s.Ref, Transaction: tx.Encode(), AdditionalDeposit: call.Additional}), want)
	}
	for _, at := range []int{0, 1} {
		f(mpp.VerificationFailed, func(tx *tempo.Transaction) { tx.Calls = smuggled(tx.Calls, at) })
	}
	f(mpp.VerificationFailed, func(tx *tempo.Transaction) { tx.Calls = smuggled(smuggled(tx.Calls, 0), 0) })
	f(mpp.VerificationFailed, func(tx *tempo.Transaction) { tx.Calls[0].To = new(sandbox.PathUSD) })
	f(mpp.VerificationFailed, func(tx *tempo.Transaction) { tx.Calls[0].Value.SetUint64(1) })
	f(mpp.BadRequest, func(tx *tempo.Transaction) { tx.Sponsorship = tempo.HandOff })
	if row := s.Row(); row.Deposit.Uint64() != 4*service.Dollar {
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
func smuggledOpens(t *testing.T, s *service.Seller) {
	for n := 1; n <= 3; n++ {
		for _, last := range []bool{false, true} {
			tx := s.Transaction(s.OpenCall(4*service.Dollar), func(tx *tempo.Transaction) {
				for range n {
					at := 0
					if last {
						at = len(tx.Calls)
					}
					tx.Calls = smuggled(tx.Calls, at)
				}
			})
			plain := s.Transaction(s.OpenCall(4 * service.Dollar))
			payload := s.OpenBy(plain, meter.Cent)
			payload.Transaction = tx.Encode()
			s.Refused(s.Order(0, payload), mpp.VerificationFailed)
			s.Unsent(payload)
		}
	}
}

// topUpsAreSeen: what a top-up adds is there at once and stays, through whatever is
// booked after it.
func topUpsAreSeen(t *testing.T, s *service.Seller) {
	s.Order(0, s.Open(4*service.Dollar, meter.Cent)).Taken(t)
	s.Refused(s.Order(1, s.Voucher(5*service.Dollar)), mpp.AmountExceedsDeposit)
	for n := 1; n <= 3; n++ {
		got := s.Manage(s.TopUp(service.Dollar))
		rc := s.Receipt(got.Header)
		if got.Status != 204 || rc.TxHash == (common.Hash{}) || rc.Spent != tempo.AmountFrom(uint64(n)*meter.Cent) {
			t.Fatalf("%d %s, receipt %+v", got.Status, got.Body, rc)
		}
		s.Paid = uint64(4+n) * service.Dollar
		s.Order(n, s.Voucher(s.Paid)).Taken(t)
	}
	if row := s.Row(); row.Deposit.Uint64() != 7*service.Dollar || !row.Settled.IsZero() {
		t.Errorf("deposit %s, settled %s", row.Deposit, row.Settled)
	}
	s.Close(4 * meter.Cent)
}

// oddTopUps: of nothing, of another sum than was said, by somebody else; and the same
// one twice, which adds once.
func oddTopUps(t *testing.T, s *service.Seller) {
	s.Order(0, s.Open(4*service.Dollar, meter.Cent)).Taken(t)
	s.Refused(s.Manage(s.TopUp(0)), mpp.VerificationFailed)
	lied := s.TopUp(service.Dollar)
	lied.AdditionalDeposit = tempo.AmountFrom(2 * service.Dollar)
	s.Refused(s.Manage(lied), mpp.VerificationFailed)
	stranger := s.Another(t)
	stranger.Ref = s.Ref
	foreign := stranger.TopUp(service.Dollar)
	s.Refused(s.Manage(foreign), mpp.VerificationFailed)
	up := s.TopUp(service.Dollar)
	first, again := s.Manage(up), s.Manage(up)
	if a, b := s.Receipt(first.Header), s.Receipt(again.Header); first.Status != 204 || again.Status != 204 || a.TxHash != b.TxHash {
		t.Errorf("%d %s, then %d %s", first.Status, first.Body, again.Status, again.Body)
	}
	if row := s.Row(); row.Deposit.Uint64() != 5*service.Dollar {
		t.Errorf("deposit %s", row.Deposit)
	}
}

// capturesSpent: whatever the payer signs to close with, what was spent is taken.
func capturesSpent(t *testing.T, s *service.Seller) {
	for n, f := range []struct{ signed, closed uint64 }{{1, 1}, {5, 1}, {5, 3}, {5, 5}, {5, 9}, {1, 400}} {
		s.Order(n, s.Open(4*service.Dollar, f.signed*meter.Cent)).Taken(t)
		s.Paid = f.closed * meter.Cent
		s.Close(meter.Cent)
	}
}

// upperCaseID: a channel has one account, however its id is written.
func upperCaseID(t *testing.T, s *service.Seller) {
	s.Order(0, s.Open(4*service.Dollar, meter.Cent)).Taken(t)
	id := s.Ref.ChannelID.Hex()
	shout := func(n int) service.Answer {
		ch, _ := s.Terms("POST", service.PathJobs, "", s.Body(n))
		return s.Ask("POST", service.PathJobs, "", s.Body(n), s.Forge(s.Credential(ch, s.Voucher(s.Paid)), func(doc map[string]any) {
			doc["payload"].(map[string]any)["channelId"] = "0x" + strings.ToUpper(id[2:])
		}))
	}
	s.Refused(shout(1), mpp.InsufficientBalance)
	s.Paid += meter.Cent
	got := shout(1).Taken(t)
	if rc := s.Receipt(got.Header); rc.Spent != tempo.AmountFrom(2*meter.Cent) || rc.ChannelID != s.Ref.ChannelID {
		t.Errorf("receipt %+v", rc)
	}
	s.Refused(s.Order(2, s.Voucher(s.Paid)), mpp.InsufficientBalance)
}

// channelsApart: what one payer signed pays for no other channel.
func channelsApart(t *testing.T, s *service.Seller) {
	other := s.Another(t)
	s.Order(0, s.Open(4*service.Dollar, meter.Cent)).Taken(t)
	other.Order(0, other.Open(4*service.Dollar, meter.Cent)).Taken(t)
	mine := s.Voucher(3 * meter.Cent)
	theirs := &mpp.Voucher{ChannelRef: other.Ref, CumulativeAmount: mine.CumulativeAmount, Signature: mine.Signature}
	ch, _ := other.Terms("POST", service.PathJobs, "", other.Body(1))
	other.Refused(other.Ask("POST", service.PathJobs, "", other.Body(1), other.Credential(ch, theirs)), mpp.InvalidSignature)
	swapped := &mpp.Voucher{ChannelRef: mpp.ChannelRef{ChannelID: other.Ref.ChannelID, Descriptor: s.Ref.Descriptor}, CumulativeAmount: mine.CumulativeAmount, Signature: mine.Signature}
	s.Refused(s.Order(1, swapped), mpp.VerificationFailed)
	if s.Spent() != meter.Cent || other.Spent() != meter.Cent {
		t.Error("somebody was charged")
	}
}

// forgedChangesNothing: who proves nothing moves nothing, on any path.
func forgedChangesNothing(t *testing.T, s *service.Seller) {
	s.Order(0, s.Open(4*service.Dollar, meter.Cent)).Taken(t)
	stranger := s.Another(t)
	for _, path := range []string{service.PathJobs, service.PathStream, "/session/deposit"} {
		v, c := s.Voucher(3*service.Dollar), s.Closing(3*service.Dollar)
		v.Signature[7] ^= 1
		c.Signature[7] ^= 1
		for _, payload := range []mpp.Payload{v, c} {
			for _, body := range []string{"", s.Body(1)} {
				if path == "/session/deposit" {
					body = ""
				}
				ch, _ := stranger.Terms("POST", path, service.EventStream, body)
				got := stranger.Ask("POST", path, service.EventStream, body, stranger.CredentialOf(ch, payload, mpp.Source{}))
				stranger.Refused(got, mpp.InvalidSignature)
			}
		}
	}
	if rc := s.Receipt(s.Manage(s.Voucher(s.Paid)).Header); rc.AcceptedCumulative != tempo.AmountFrom(meter.Cent) || rc.Spent != rc.AcceptedCumulative || !s.Row().Open {
		t.Errorf("receipt %+v", rc)
	}
}

// closesAfterSettling: a voucher for what is settled already closes the channel, and
// is verified though the chain would not look at it.
func closesAfterSettling(t *testing.T, s *service.Seller) {
	s.Order(0, s.Open(4*service.Dollar, meter.Cent)).Taken(t)
	s.Restart("--settle-at", "0.01")
	s.Eventually("it is settled", func() bool { return s.Row().Settled.Uint64() == meter.Cent })
	if n := s.Spent(); n != meter.Cent {
		t.Errorf("spent %d: the voucher that was settled is refused", n)
	}
	forged := s.Closing(meter.Cent)
	forged.Signature[9] ^= 1
	s.Refused(s.Manage(forged), mpp.InvalidSignature)
	s.Refused(s.Manage(s.Closing(meter.Cent-1)), mpp.VerificationFailed)
	s.Refused(s.Order(1, s.Voucher(meter.Cent)), mpp.InsufficientBalance)
	s.Paid += meter.Cent
	s.Order(2, s.Voucher(s.Paid)).Taken(t)
	s.Close(2 * meter.Cent)
}

// withdrawn: a channel that its payer has withdrawn is gone, and what was served on
// it is lost and told to be.
func withdrawn(t *testing.T, s *service.Seller) {
	s.Order(0, s.Open(4*service.Dollar, meter.Cent)).Taken(t)
	s.Stop()
	s.OnChain(tempo.RequestCloseCall{Descriptor: s.Ref.Descriptor})
	s.Chain.IncreaseTime(901 * time.Second)
	s.OnChain(tempo.WithdrawCall{Descriptor: s.Ref.Descriptor}, func(tx *tempo.Transaction) { tx.ValidBefore += 901 })
	s.Restart()
	// The first is above the deposit: the chain is asked at once. From then on no older
	// word of it counts.
	for i, payload := range []mpp.Payload{s.Voucher(4*service.Dollar + 1), s.Voucher(2 * meter.Cent), s.Voucher(meter.Cent), s.Closing(2 * meter.Cent), s.TopUp(service.Dollar), s.Voucher(3 * meter.Cent)} {
		got := s.Order(1, payload)
		if got.Status != 410 {
			t.Errorf("%d: %d %s", i, got.Status, got.Body)
		}
	}
	s.Booked(0)
}

// operatorSettles: the key settles for a payee that it is not, and the payee is paid.
func operatorSettles(t *testing.T, s *service.Seller) {
	operator, _ := service.SecretKey(service.PayeeKey)
	call := s.OpenCall(4 * service.Dollar)
	call.Payee = common.HexToAddress(otherPayee)
	for _, foreign := range []common.Address{{}, {7}} {
		call.Operator = foreign
		s.Refused(s.Order(0, s.OpenBy(s.Transaction(call), meter.Cent)), mpp.VerificationFailed)
	}
	call.Operator = operator.Address()
	s.Order(0, s.OpenBy(s.Transaction(call), meter.Cent)).Taken(t)
	s.Close(meter.Cent)
	if got := s.Chain.Balance(sandbox.PathUSD, call.Payee).Uint64(); got != meter.Cent {
		t.Errorf("the payee has %d", got)
	}
}

// closeRace: of orders and a close at once each order is served and paid, or refused.
func closeRace(t *testing.T, s *service.Seller) {
	s.Order(0, s.Open(4*service.Dollar, meter.Cent)).Taken(t)
	ch, _ := s.Terms("POST", service.PathJobs, "", s.Body(0))
	var all sync.WaitGroup
	var mu sync.Mutex
	served, closed := uint64(1), 0
	for i := range 24 {
		payload := mpp.Payload(s.Voucher(uint64(i+2) * meter.Cent))
		body := s.Body(i + 1)
		if i%8 == 7 {
			payload, body = s.Closing(3*service.Dollar), ""
		}
		credential := s.Credential(ch, payload)
		all.Go(func() {
			got := s.Ask("POST", service.PathJobs, "", body, credential)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case got.Status == 202:
				served++
			case got.Status == 204:
				closed++
			case got.Status != 402 && got.Status != 410:
				t.Errorf("%d %s", got.Status, got.Body)
			}
		})
	}
	all.Wait()
	if closed == 0 {
		t.Error("no close came through")
	}
	s.Booked(served * meter.Cent)
}

// managementRunsNothing: no analysis is begun, nor any job kept, for it.
func managementRunsNothing(t *testing.T, s *service.Seller) {
	h := newMeteredServer(t)
	p := h.payer
	if got := p.Manage(p.Open(4*service.Dollar, meter.Cent)); got.Status != 204 {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	for _, path := range []string{service.PathStream, service.PathJobs} {
		ch, _ := p.Terms("POST", path, service.EventStream, "")
		for _, payload := range []mpp.Payload{p.Voucher(meter.Cent), p.TopUp(service.Dollar)} {
			if got := p.Ask("POST", path, service.EventStream, "", p.Credential(ch, payload)); got.Status != 204 {
				t.Errorf("%s: %d %s", path, got.Status, got.Body)
			}
		}
		if got := p.Ask("POST", path, service.EventStream, explainBody("broken"), p.Credential(ch, p.TopUp(service.Dollar))); got.Status != 204 {
			t.Errorf("%s: %d %s", path, got.Status, got.Body)
		}
	}
	if n := h.ran.Load(); n != 0 || p.Spent() != 0 {
		t.Errorf("%d analyses ran, spent %d", n, p.Spent())
	}
}

// laggingReplica: the state that the receipt promises is waited for.
func laggingReplica(t *testing.T, s *service.Seller) {
	s.Chain.Mine() // so that the block before has all that the simulation needs
	if err := s.Chain.Inject(sandbox.Fault{Method: "eth_call", Lag: 1, Times: 4}); err != nil {
		t.Fatal(err)
	}
	s.Order(0, s.Open(4*service.Dollar, meter.Cent)).Taken(t)
	s.Chain.Mine()
	if err := s.Chain.Inject(sandbox.Fault{Method: "eth_call", Lag: 1, Times: 3}); err != nil {
		t.Fatal(err)
	}
	if got := s.Manage(s.TopUp(service.Dollar)); got.Status != 204 {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	s.Paid = 5 * service.Dollar
	s.Order(1, s.Voucher(s.Paid)).Taken(t)
}

// failedOpens: an open that the chain refuses or fails opens nothing, and can be done
// again.
func failedOpens(t *testing.T, s *service.Seller) {
	f := func(status int, want mpp.ProblemType, fault sandbox.Fault) {
		t.Helper()
		if err := s.Chain.Inject(fault); err != nil {
			t.Fatal(err)
		}
		open := s.Open(4*service.Dollar, meter.Cent)
		got := s.Order(0, open)
		if p, err := mpp.ParseProblem([]byte(got.Body)); err != nil || got.Status != status || p.Type != want || got.Header.Get("Payment-Receipt") != "" {
			t.Errorf("%+v: %d %s", fault, got.Status, got.Body)
		}
		s.Chain.ClearFaults()
		s.Unsent(open)
		s.Order(0, s.Open(4*service.Dollar, meter.Cent)).Taken(t)
	}
	f(402, mpp.VerificationFailed, sandbox.Fault{Method: "eth_call", Call: "open", Revert: true})
	f(402, mpp.VerificationFailed, sandbox.Fault{Method: "eth_sendRawTransactionSync", Revert: true, Times: 1})
	f(402, mpp.VerificationFailed, sandbox.Fault{Method: "eth_sendRawTransactionSync", Refuse: &sandbox.Error{Code: -32000, Message: "fee too low"}, Times: 1})
	f(503, mpp.InternalPaymentError, sandbox.Fault{Method: "eth_call", Refuse: &sandbox.Error{Code: -32005, Message: "busy"}})
}

// closeRollsBack: a close that fails leaves the channel as it was; several closes at
// once do not take each other's place.
func closeRollsBack(t *testing.T, s *service.Seller) {
	s.Order(0, s.Open(4*service.Dollar, meter.Cent)).Taken(t)
	if err := s.Chain.Inject(sandbox.Fault{Method: "eth_sendRawTransactionSync", Call: "close", Revert: true, Times: 1}); err != nil {
		t.Fatal(err)
	}
	if got := s.Manage(s.Closing(s.Paid)); got.Status == 204 || got.Status == 410 || got.Header.Get("Payment-Receipt") != "" {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	s.Paid += meter.Cent
	s.Order(1, s.Voucher(s.Paid)).Taken(t)
	list := []*service.Payer{s.Payer}
	for range 4 {
		p := s.Another(t)
		p.Order(0, p.Open(4*service.Dollar, meter.Cent)).Taken(t)
		list = append(list, p)
	}
	var all sync.WaitGroup
	for _, p := range list {
		payload := p.Closing(p.Paid)
		all.Go(func() {
			if got := p.Manage(payload); got.Status != 204 {
				t.Errorf("%d %s", got.Status, got.Body)
			}
		})
	}
	all.Wait()
	s.Booked(2 * meter.Cent)
	for _, p := range list[1:] {
		p.Booked(meter.Cent)
	}
}

// recoveryIDs: a transaction whose recovery id is written in the other way is the
// same; a close that is asked again is answered as before, by the sum that it signed.
func recoveryIDs(t *testing.T, s *service.Seller) {
	tx := s.Transaction(s.OpenCall(4 * service.Dollar))
	open := s.OpenBy(tx, meter.Cent)
	open.Transaction[len(open.Transaction)-1] -= 27
	if rc := s.Receipt(s.Order(0, open).Taken(t).Header); rc.TxHash != tx.Hash() {
		t.Errorf("hash %s, want %s", rc.TxHash, tx.Hash())
	}
	s.Paid = 2 * meter.Cent
	closing := s.Closing(s.Paid)
	first, again := s.Manage(closing), s.Manage(closing)
	a, b := s.Receipt(first.Header), s.Receipt(again.Header)
	if first.Status != 204 || again.Status != 204 || a.TxHash != b.TxHash || a.AcceptedCumulative != b.AcceptedCumulative || b.AcceptedCumulative != tempo.AmountFrom(s.Paid) || b.Spent != tempo.AmountFrom(meter.Cent) {
		t.Errorf("%d %+v, %d %+v", first.Status, a, again.Status, b)
	}
	s.Refused(s.Manage(s.Closing(3*meter.Cent)), mpp.ChannelFinalized)
}

// openedOnce: the same open many times at once is one transaction.
func openedOnce(t *testing.T, s *service.Seller) {
	open := s.Open(4*service.Dollar, meter.Cent)
	ch, _ := s.Terms("POST", service.PathJobs, "", s.Body(0))
	c := s.Credential(ch, open)
	shout := s.Forge(c, func(doc map[string]any) {
		p := doc["payload"].(map[string]any)
		p["transaction"] = "0x" + strings.ToUpper(p["transaction"].(string)[2:])
	})
	var all sync.WaitGroup
	bodies := make([]string, 8)
	for i := range bodies {
		credential := []string{c, shout}[i%2]
		all.Go(func() { bodies[i] = s.Ask("POST", service.PathJobs, "", s.Body(0), credential).Taken(t).Body })
	}
	all.Wait()
	for _, body := range bodies {
		if body != bodies[0] {
			t.Errorf("jobs %s and %s", body, bodies[0])
		}
	}
	if n := s.Spent(); n != meter.Cent {
		t.Errorf("spent %d", n)
	}
	s.Close(meter.Cent)
}

// depositBelowAmount: a channel that cannot pay for one unit is not opened for it.
func depositBelowAmount(t *testing.T, s *service.Seller) {
	open := s.Open(meter.Cent-1, 0)
	s.Refused(s.Order(0, open), mpp.VerificationFailed)
	s.Unsent(open)
	nothing := s.Open(1, 0)
	nothing.Transaction = s.Transaction(s.OpenCall(0)).Encode()
	s.Refused(s.Manage(nothing), mpp.VerificationFailed)
	s.Unsent(nothing)
}

// firstVouchers: from nothing to the whole deposit, and not one more.
func firstVouchers(t *testing.T, s *service.Seller) {
	for i, first := range []uint64{meter.Cent, 4 * service.Dollar} {
		s.Order(i, s.Open(4*service.Dollar, first)).Taken(t)
	}
	if got := s.Manage(s.Open(4*service.Dollar, 0)); got.Status != 204 {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	over := s.Open(4*service.Dollar, 4*service.Dollar+1)
	s.Refused(s.Order(9, over), mpp.AmountExceedsDeposit)
	s.Unsent(over)
}

// expiringOpen: what ends before it can land is not sent.
func expiringOpen(t *testing.T, s *service.Seller) {
	for _, end := range []int64{-10, 1} {
		tx := s.Transaction(s.OpenCall(4*service.Dollar), func(tx *tempo.Transaction) { tx.ValidBefore = uint64(time.Now().Unix() + end) })
		open := s.OpenBy(tx, meter.Cent)
		s.Refused(s.Order(0, open), mpp.VerificationFailed)
		s.Unsent(open)
	}
}

// manyVouchers: of a hundred different ones at once each that is served is paid for.
func manyVouchers(t *testing.T, s *service.Seller) {
	s.Order(0, s.Open(4*service.Dollar, meter.Cent)).Taken(t)
	ch, _ := s.Terms("POST", service.PathJobs, "", s.Body(0))
	var all sync.WaitGroup
	var mu sync.Mutex
	served := uint64(1)
	for i := range 100 {
		credential := s.Credential(ch, s.Voucher(uint64(i+2)*meter.Cent))
		all.Go(func() {
			got := s.Ask("POST", service.PathJobs, "", s.Body(i+1), credential)
			mu.Lock()
			defer mu.Unlock()
			if got.Status == 202 {
				served++
			} else if got.Status != 402 && got.Status != 503 { // a stranger has a share of the jobs
				t.Errorf("%d %s", got.Status, got.Body)
			}
		})
	}
	all.Wait()
	s.Paid = 101 * meter.Cent
	if n := s.Spent(); n != served*meter.Cent || served < 2 {
		t.Errorf("spent %d for %d", n, served)
	}
}

// replayAfterRestart: what was charged before is known after.
func replayAfterRestart(t *testing.T, s *service.Seller) {
	first := s.Order(0, s.Open(4*service.Dollar, 3*meter.Cent)).Taken(t)
	s.Restart()
	if again := s.Order(0, s.Voucher(s.Paid)).Taken(t); again.Body != first.Body {
		t.Errorf("%s, then %s", first.Body, again.Body)
	}
	if n := s.Spent(); n != meter.Cent {
		t.Errorf("spent %d", n)
	}
	s.Refused(s.Order(1, s.Voucher(2*meter.Cent)), mpp.VerificationFailed)
}

// p256Account: an account of another curve opens, pays and closes.
func p256Account(t *testing.T, s *service.Seller) {
	key, err := tempo.NewP256Key([]byte(strings.Repeat("\x42", 31) + string(rune('a'))))
	if err != nil {
		t.Fatal(err)
	}
	s.UseKey(key)
	s.Order(0, s.Open(4*service.Dollar, meter.Cent)).Taken(t)
	s.Paid += meter.Cent
	s.Order(1, s.Voucher(s.Paid)).Taken(t)
	s.Close(2 * meter.Cent)
}

// zeroSigner: no authorized signer is the payer itself.
func zeroSigner(t *testing.T, s *service.Seller) {
	call := s.OpenCall(4 * service.Dollar)
	call.AuthorizedSigner = common.Address{}
	s.Order(0, s.OpenBy(s.Transaction(call), meter.Cent)).Taken(t)
	s.Paid += meter.Cent
	s.Order(1, s.Voucher(s.Paid)).Taken(t)
	s.Close(2 * meter.Cent)
}

// floods: strangers cost the chain little, and nothing is kept of them.
func floods(t *testing.T, s *service.Seller) {
	before := s.Chain.Calls(sandbox.All)
	for range 60 {
		s.Open(4*service.Dollar, meter.Cent)
		bad := s.Voucher(meter.Cent)
		bad.Signature[3] ^= 1
		s.Refused(s.Manage(bad), mpp.InvalidSignature)
	}
	if n := s.Chain.Calls(sandbox.All) - before; n > 10 { // those of the watcher's round
		t.Errorf("bad signatures cost %d calls", n)
	}
	before = s.Chain.Calls(sandbox.All)
	for range 60 {
		s.Open(4*service.Dollar, meter.Cent)
		s.Refused(s.Manage(s.Voucher(meter.Cent)), mpp.ChannelNotFound)
	}
	if n := s.Chain.Calls(sandbox.All) - before; n > 10 {
		t.Errorf("channels of nobody here cost %d calls", n)
	}
	s.Restart("--adopt-channels")
	before = s.Chain.Calls(sandbox.All)
	began, looked, turned := time.Now(), 0, 0
	for range 120 {
		s.Open(4*service.Dollar, meter.Cent)
		switch got := s.Manage(s.Voucher(meter.Cent)); got.Status {
		case 410:
			looked++
		case 429, 503:
			turned++
		default:
			t.Fatalf("%d %s", got.Status, got.Body)
		}
	}
	bound := 20 + int(time.Since(began).Seconds()*20) + 10
	if n := s.Chain.Calls(sandbox.All) - before; n > bound || looked > bound {
		t.Errorf("unknown channels cost %d calls for %d that were looked up and %d that were not; the bound is %d", n, looked, turned, bound)
	}
}
