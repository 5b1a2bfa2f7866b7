package main

import (
	"bytes"
	"context"
	"io"
	"math/big"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"txlens/engine/meter"
	"txlens/engine/mpp"
	"txlens/engine/mpp/sandbox"
	"txlens/engine/mpp/tempo"
)

// TestHole has a case for each hole that was found in the published implementations
// (11.3), on a whole server. What needs no server is tested again where it is decided.
func TestHole(t *testing.T) { runProtocol(t, holes) }

var holes = []protocolCase{
	{name: "H1 high s", run: highS},
	{name: "H2 query makes content of management", run: queryIsManagement},
	{name: "H3 line ends forge payment events", run: forgedPaymentEvents},
	{name: "H4 two top-ups in one block", run: func(t *testing.T, _ *shop) { twoTopUps(t) }},
	{name: "H5 repeated open", alone: lostAnswers},
	{name: "H6 sender claimed by a hand-off", run: func(t *testing.T, s *shop) {
		for _, claimed := range []bool{false, true} {
			tx := s.tx(s.openCall(4*dollar), func(tx *tempo.Transaction) { tx.Sponsorship = tempo.HandOff })
			payload := s.openBy(tx, meter.Cent)
			if claimed {
				tx.ClaimedSender = s.another(t).key.Address()
				payload.Transaction = tx.Encode()
			}
			s.refused(s.order(0, payload), mpp.BadRequest)
			s.unsent(payload)
		}
	}},
	{name: "H7 settled beyond what was consumed", alone: settlesWhatWasConsumed},
	{name: "H8 lost books", alone: lostBooks},
	{name: "H9 close requested on chain", alone: func(t *testing.T, s *shop) {
		s.order(0, s.open(4*dollar, 3*meter.Cent)).taken(t)
		s.stop()
		s.onChain(tempo.RequestCloseCall{Descriptor: s.ref.Descriptor})
		s.restart()
		s.eventually("the channel is closed", func() bool { return !s.row().Open })
		s.booked(meter.Cent)
		s.refused(s.order(1, s.voucher(4*meter.Cent)), mpp.ChannelFinalized)
	}},
	{name: "H10 parallel streams", run: parallelStreams},
	{name: "H11 one voucher spent twice at once", alone: spentTwice},
	{name: "H12 revived by a top-up", run: func(t *testing.T, s *shop) {
		s.order(0, s.open(4*dollar, meter.Cent)).taken(t)
		s.onChain(tempo.RequestCloseCall{Descriptor: s.ref.Descriptor})
		s.refused(s.order(1, s.voucher(4*dollar+1)), mpp.ChannelFinalized)
		if got := s.manage(s.topUp(dollar)); got.status != 204 {
			t.Fatalf("%d %s", got.status, got.body)
		}
		s.paid += meter.Cent
		s.order(1, s.voucher(s.paid)).taken(t)
	}},
	{name: "H13 a mistake of the client answered 500", alone: clientMistakes},
	{name: "H14 amount pinned where there is no body", run: func(t *testing.T, s *shop) {
		s.order(0, s.open(4*dollar, meter.Cent)).taken(t)
		ch, _ := s.terms("POST", pathJobs, "", s.body(1))
		dear := s.reissued(ch, func(_ *mpp.Challenge, q *mpp.SessionRequest) { q.Amount = tempo.AmountFrom(7 * meter.Cent) })
		s.paid = 3 * meter.Cent
		if got := s.ask("POST", pathJobs, "", "", s.credential(dear, s.voucher(s.paid))); got.status != 204 {
			t.Errorf("%d %s", got.status, got.body)
		}
		s.refused(s.ask("POST", pathJobs, "", s.body(1), s.credential(dear, s.voucher(s.paid))), mpp.InvalidChallenge)
	}},
	{name: "H15 snapshot for whoever names a channel", run: func(t *testing.T, s *shop) {
		job := s.order(0, s.open(4*dollar, meter.Cent)).taken(t).header.Get("Location")
		stranger := s.another(t)
		for _, path := range []string{pathJobs, pathStream, "/session/deposit", job} {
			for _, method := range []string{"POST", "HEAD"} {
				got := stranger.ask(method, path, events, "", "", "Payment-Session: "+s.ref.ChannelID.Hex(), "Accept-Payment: tempo/session")
				for name := range got.header {
					if strings.HasPrefix(name, "Payment-") {
						t.Errorf("%s %s tells %s", method, path, name)
					}
				}
				if got.status != 402 {
					continue // a job that owes nothing is read
				}
				ch, _ := stranger.challenge(got.header)
				if text := decoded(t, ch.Request); strings.Contains(text, "Snapshot") || strings.Contains(text, s.ref.ChannelID.Hex()[2:]) {
					t.Errorf("%s %s: %s", method, path, text)
				}
			}
		}
	}},
	{name: "H16 sent before the voucher is checked", alone: func(t *testing.T, s *shop) {
		for _, first := range []uint64{meter.Cent, 5 * dollar} { // forged; above the deposit
			payload := s.open(4*dollar, first)
			want := mpp.AmountExceedsDeposit
			if first == meter.Cent {
				payload.Signature[5] ^= 1
				want = mpp.InvalidSignature
			}
			s.refused(s.order(0, payload), want)
			s.refused(s.manage(payload), want)
			s.unsent(payload)
		}
		for _, method := range []string{"eth_sendRawTransactionSync", "eth_sendRawTransaction"} {
			if n := s.chain.Calls(method); n != 0 {
				t.Errorf("%s was called %d times", method, n)
			}
		}
	}},
}

// highS: the other signature that the curve has for a voucher is one that the chain
// refuses. What the chain takes in two forms is kept in the one that it takes.
func highS(t *testing.T, s *shop) {
	open := s.open(4*dollar, meter.Cent)
	twin := *open
	twin.Signature = otherS(open.Signature)
	s.refused(s.order(0, &twin), mpp.InvalidSignature)
	s.unsent(&twin)
	s.order(0, open).taken(t)
	v := s.voucher(2 * meter.Cent)
	f := func(signature []byte) {
		t.Helper()
		s.refused(s.order(1, &mpp.Voucher{ChannelRef: s.ref, CumulativeAmount: v.CumulativeAmount, Signature: signature}), mpp.InvalidSignature)
		s.refused(s.manage(&mpp.Close{ChannelRef: s.ref, CumulativeAmount: v.CumulativeAmount, Signature: signature}), mpp.InvalidSignature)
	}
	f(otherS(v.Signature))
	compact := bytes.Clone(v.Signature[:64]) // EIP-2098
	compact[32] |= (v.Signature[64] - 27) << 7
	f(compact)
	s.paid = 2 * meter.Cent
	v.Signature[64] -= 27
	s.order(1, v).taken(t)
	s.close(2 * meter.Cent) // which the chain has checked
}

// otherS is the twin of a secp256k1 signature: n-s, and the other recovery id.
func otherS(signature []byte) []byte {
	out := bytes.Clone(signature)
	n := crypto.S256().Params().N
	new(big.Int).Sub(n, new(big.Int).SetBytes(signature[32:64])).FillBytes(out[32:64])
	out[64] = 27 + 28 - signature[64]
	return out
}

// twoTopUps: one through the server and one past it land in one block; the first
// must not be refused for showing the sum of both.
func twoTopUps(t *testing.T) {
	s := newShopOn(t, sandbox.Options{BlockTime: time.Second})
	s.order(0, s.open(4*dollar, meter.Cent)).taken(t)
	ch, _ := s.terms("POST", pathJobs, "", "")
	credential := s.credential(ch, s.topUp(dollar))
	const send = "eth_sendRawTransactionSync"
	sent := s.chain.Calls(send)
	var got said
	var through sync.WaitGroup
	through.Go(func() { got = s.ask("POST", pathJobs, "", "", credential) })
	s.eventually("it is sent", func() bool { return s.chain.Calls(send) > sent })
	s.onChain(tempo.TopUpCall{Descriptor: s.ref.Descriptor, Additional: tempo.AmountFrom(2 * dollar)})
	through.Wait()
	if rc := s.receipt(got.header); got.status != 204 || rc.TxHash == (common.Hash{}) {
		t.Fatalf("%d %s", got.status, got.body)
	}
	s.paid = 7 * dollar
	s.order(1, s.voucher(s.paid)).taken(t)
}

// lostAnswers: an open whose answer was lost between the chain and the server, and
// between the server and the client, is found again and not sent twice.
func lostAnswers(t *testing.T, s *shop) {
	for _, method := range []string{"eth_sendRawTransactionSync", "eth_getTransactionReceipt"} {
		if err := s.chain.Inject(sandbox.Fault{Method: "eth_sendRawTransactionSync", Lose: true, Times: 1}); err != nil {
			t.Fatal(err)
		}
		if method != "eth_sendRawTransactionSync" {
			if err := s.chain.Inject(sandbox.Fault{Method: method, Lose: true, Times: 1}); err != nil {
				t.Fatal(err)
			}
		}
		open := s.open(4*dollar, meter.Cent)
		first := s.order(0, open).taken(t)
		s.chain.ClearFaults()
		sends := s.chain.Calls("eth_sendRawTransactionSync") + s.chain.Calls("eth_sendRawTransaction")
		if again := s.order(0, open).taken(t); again.body != first.body {
			t.Errorf("%s, %s", first.body, again.body)
		}
		s.restart()
		if rc := s.receipt(s.order(0, open).taken(t).header); rc.Spent != tempo.AmountFrom(meter.Cent) {
			t.Errorf("spent %s", rc.Spent)
		}
		if n := s.chain.Calls("eth_sendRawTransactionSync") + s.chain.Calls("eth_sendRawTransaction"); n != sends {
			t.Errorf("sent %d times more", n-sends)
		}
	}
	// The payer has sent it past the server, or by a server whose books are lost.
	tx := s.tx(s.openCall(4 * dollar))
	open := s.openBy(tx, meter.Cent)
	s.sendRaw(tx)
	s.refused(s.order(0, open), mpp.ChannelNotFound) // it may be another server that serves it
	s.restart("--adopt-channels")
	s.order(0, open).taken(t)
	s.close(meter.Cent)
	if n := len(s.chain.Books().Channels); n != 3 {
		t.Errorf("%d channels", n)
	}
}

// settlesWhatWasConsumed: of two channels, one has a voucher for just what was
// consumed, and is settled with it; the other has only one for more, and is closed.
func settlesWhatWasConsumed(t *testing.T, s *shop) {
	s.order(0, s.open(4*dollar, meter.Cent)).taken(t)
	s.paid = 5 * meter.Cent
	if got := s.manage(s.voucher(s.paid)); got.status != 204 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	over := s.another(t)
	over.order(0, over.open(4*dollar, 5*meter.Cent)).taken(t)
	s.restart("--settle-at", "0.01", "--settle-age", "1ms")
	over.base = s.base
	s.eventually("the one is settled and the other closed", func() bool { return !s.row().Settled.IsZero() && !over.row().Open })
	if row := s.row(); !row.Open || row.Settled.Uint64() != meter.Cent {
		t.Errorf("settled %s, open %t", row.Settled, row.Open)
	}
	over.booked(meter.Cent)
}

// lostBooks: a channel goes on where the server has forgotten it and its operator says
// that no other one serves it, and what its payer signed before counts as consumed.
func lostBooks(t *testing.T, s *shop) {
	s.order(0, s.open(4*dollar, 3*meter.Cent)).taken(t)
	stolen := s.voucher(3 * meter.Cent)
	s.data = t.TempDir()
	s.restart()
	for _, payload := range []mpp.Payload{s.voucher(4 * meter.Cent), s.topUp(dollar), s.closing(4 * meter.Cent)} {
		if p := s.refused(s.manage(payload), mpp.ChannelNotFound); !strings.Contains(p.Detail, "not served here") || p.Hint == "" {
			t.Errorf("%+v", p)
		}
	}
	s.flags = append(s.flags, "--adopt-channels")
	s.restart()
	forged := s.voucher(4 * meter.Cent)
	forged.Signature[4] ^= 1
	s.refused(s.order(0, forged), mpp.InvalidSignature)
	s.paid = 4 * meter.Cent
	if rc := s.receipt(s.order(0, s.voucher(s.paid)).taken(t).header); rc.Spent != tempo.AmountFrom(s.paid) {
		t.Errorf("spent %s", rc.Spent)
	}
	s.refused(s.order(1, stolen), mpp.VerificationFailed)
	s.data = t.TempDir()
	s.restart()
	if got := s.manage(s.topUp(dollar)); got.status != 204 {
		t.Errorf("top-up: %d %s", got.status, got.body)
	}
	s.data = t.TempDir()
	s.restart()
	if got := s.manage(s.closing(s.paid)); got.status != 204 {
		t.Errorf("close: %d %s", got.status, got.body)
	}
}

// parallelStreams: two on one channel share what is signed, and both end.
func parallelStreams(t *testing.T, s *shop) {
	type run struct {
		last map[string]any
		rc   *mpp.Receipt
		ch   *mpp.Challenge
	}
	var runs [2]run
	var all sync.WaitGroup
	var starts [2]func()
	for i := range runs {
		resp, ch, _ := s.buy("POST", pathStream, events, s.body(i))
		starts[i] = func() {
			runs[i].ch = ch
			runs[i].last, runs[i].rc, _ = s.stream(resp, ch, pathStream)
		}
	}
	for _, start := range starts {
		all.Go(start)
	}
	all.Wait()
	want := uint64(0)
	for i, r := range runs {
		if r.last["type"] != "result" || r.rc == nil || r.rc.ChallengeID != r.ch.ID {
			t.Fatalf("stream %d: %v, receipt %+v, challenge %s", i, r.last["type"], r.rc, r.ch.ID)
		}
		want += price(t, r.last)
	}
	if got := s.spent(); got != want {
		t.Errorf("spent %d, want %d", got, want)
	}
	s.close(want)
}

// spentTwice: of a hundred requests at once on one voucher, one is served. No second
// server works on the same books.
func spentTwice(t *testing.T, s *shop) {
	if got := s.manage(s.open(4*dollar, meter.Cent)); got.status != 204 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	ch, _ := s.terms("POST", pathJobs, "", s.body(0))
	credential := s.credential(ch, s.voucher(s.paid))
	var mu sync.Mutex
	statuses := map[int]int{}
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			got := s.ask("POST", pathJobs, "", s.body(i), credential)
			mu.Lock()
			defer mu.Unlock()
			statuses[got.status]++
		})
	}
	all.Wait()
	if statuses[202] != 1 || statuses[402] != 99 {
		t.Errorf("%v", statuses)
	}
	if n := s.spent(); n != meter.Cent {
		t.Errorf("spent %d", n)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var log lockedBuffer
	args := slices.Concat([]string{"serve", "--listen", "127.0.0.1:0"}, rpcArgs(s.w.flags), s.args())
	if code := run(ctx, args, console{in: strings.NewReader(""), out: io.Discard, err: &log}); code == 0 || ctx.Err() != nil {
		t.Errorf("a second server on the same folder ended with %d: %s", code, log.String())
	}
}

// clientMistakes: whatever a client sends, and whatever its transaction would do, is
// its fault to mend; a chain that does not answer is not.
func clientMistakes(t *testing.T, s *shop) {
	f := func(what string, want mpp.ProblemType, change func(*tempo.Transaction)) {
		t.Helper()
		payload := s.openBy(s.tx(s.openCall(4*dollar)), meter.Cent)
		tx := s.tx(s.openCall(4*dollar), change)
		payload.Transaction = tx.Encode()
		p := s.refused(s.order(0, payload), want)
		if p.Detail == "" {
			t.Errorf("%s: no detail", what)
		}
	}
	f("calldata cut", mpp.VerificationFailed, func(tx *tempo.Transaction) { tx.Calls[0].Data = tx.Calls[0].Data[:50] })
	f("calldata longer", mpp.VerificationFailed, func(tx *tempo.Transaction) { tx.Calls[0].Data = append(tx.Calls[0].Data, 0) })
	f("amount above 96 bits", mpp.VerificationFailed, func(tx *tempo.Transaction) { tx.Calls[0].Data[4+3*32+19] = 1 })
	f("another payee", mpp.VerificationFailed, func(tx *tempo.Transaction) { tx.Calls[0].Data[4+31] ^= 1 })
	f("another token", mpp.VerificationFailed, func(tx *tempo.Transaction) { tx.Calls[0].Data[4+2*32+31] ^= 1 })
	f("a second call", mpp.VerificationFailed, func(tx *tempo.Transaction) { tx.Calls = append(tx.Calls, tx.Calls[0]) })
	f("another chain", mpp.VerificationFailed, func(tx *tempo.Transaction) { tx.ChainID = 4217 })

	poor := s.open(900_000*dollar*2, meter.Cent) // more than the payer has: the simulation reverts
	s.refused(s.order(0, poor), mpp.VerificationFailed)
	s.unsent(poor)

	open := s.open(4*dollar, meter.Cent)
	ch, _ := s.terms("POST", pathJobs, "", s.body(0))
	credential := s.credential(ch, open)
	if err := s.chain.Inject(sandbox.Fault{Method: sandbox.All, Refuse: &sandbox.Error{Code: -32005, Message: "secret-upstream busy"}}); err != nil {
		t.Fatal(err)
	}
	got := s.ask("POST", pathJobs, "", s.body(0), credential)
	if p, err := mpp.ParseProblem([]byte(got.body)); err != nil || got.status != 503 || p.Type != mpp.InternalPaymentError || got.header.Get("Retry-After") == "" {
		t.Errorf("chain away: %d %v %s", got.status, got.header, got.body)
	}
	for _, secret := range []string{"secret-upstream", s.rpc, strings.TrimPrefix(s.rpc, "http://"), "32005"} {
		if strings.Contains(got.body, secret) {
			t.Errorf("it tells %q: %s", secret, got.body)
		}
	}
	s.chain.ClearFaults()
	s.unsent(open)
	if rc := s.receipt(s.ask("POST", pathJobs, "", s.body(0), credential).taken(t).header); rc.Spent != tempo.AmountFrom(meter.Cent) {
		t.Errorf("spent %s", rc.Spent)
	}
}

// eventually waits until something holds.
func (p *payer) eventually(what string, holds func() bool) {
	p.t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("it never came to be that %s", what)
		}
	}
}
