package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holiman/uint256"

	"txlens/app"
	"txlens/engine/meter"
	"txlens/engine/mpp"
	"txlens/engine/mpp/sandbox"
)

// secondServer is another server of the same payee on the same chain, with books of its own.
func (s *shop) secondServer(more ...string) *shop {
	s.t.Helper()
	other := &shop{w: s.w, rpc: s.rpc, data: s.t.TempDir(), sells: s.sells, flags: append([]string{"--admin-listen", "127.0.0.1:0"}, more...)}
	base, stop := startServeUntil(s.t, s.w, other.args()...)
	other.stop = stop
	other.payer = newPayer(s.t, base, s.hash, s.chain, s.made)
	return other
}

// readyz asks the operator's listener of a shop.
func (s *shop) readyz() (status int, body string) {
	s.t.Helper()
	return operator(s.t, s.admin()+"/readyz")
}

func (s *shop) admin() string {
	s.t.Helper()
	base, there := app.AdminURL(s.data)
	if !there {
		s.t.Fatal("no admin listener")
	}
	return base
}

// metric reads one sample of the operator's listener.
func (s *shop) metric(sample string) float64 {
	s.t.Helper()
	_, scrape := operator(s.t, s.admin()+"/metrics")
	return metric(s.t, scrape, sample)
}

// refuses503 holds an answer to one of a fault that is not the payer's.
func (p *payer) refuses503(s said) {
	p.t.Helper()
	got, err := mpp.ParseProblem([]byte(s.body))
	if err != nil || s.status != http.StatusServiceUnavailable || got.Type != mpp.InternalPaymentError || s.header.Get("Retry-After") == "" {
		p.t.Errorf("%d %v %.300s", s.status, s.header, s.body)
	}
}

// TestTwoServers: a voucher is sold by the server whose channel it is, and by no other
// one with the same key.
func TestTwoServers(t *testing.T) {
	s := newShop(t, "--admin-listen", "127.0.0.1:0")
	b := s.secondServer()
	b.key = s.key
	open := s.open(4*dollar, meter.Cent)
	s.order(0, open).taken(t)
	b.ref = s.ref
	calls := s.chain.Calls("eth_sendRawTransactionSync")
	for i, payload := range []mpp.Payload{open, s.voucher(2 * meter.Cent), s.closing(2 * meter.Cent), s.topUp(dollar)} {
		p := b.refused(b.order(i, payload), mpp.ChannelNotFound)
		if !strings.Contains(p.Hint, "open a new channel") {
			t.Errorf("%+v", p)
		}
	}
	if n := s.chain.Calls("eth_sendRawTransactionSync"); n != calls {
		t.Errorf("%d transactions were sent", n-calls)
	}
	s.paid = 2 * meter.Cent
	s.order(1, s.voucher(s.paid)).taken(t)

	// Its operator makes the other one serve it nevertheless, and settle.
	b.stop()
	b.flags = append(b.flags, "--adopt-channels", "--settle-at", "0.01")
	b.restart()
	b.paid = 5 * meter.Cent
	if got := b.manage(b.voucher(b.paid)); got.status != 204 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	b.restart() // its settler works at once
	s.eventually("the other one has settled", func() bool { return s.row().Settled.Uint64() == 5*meter.Cent })
	if status, body := s.readyz(); status != 200 || body != "ok\n" {
		t.Errorf("before it knows: %d %s", status, body)
	}
	s.restart() // its watcher looks at once
	s.eventually("it has noticed", func() bool { return s.metric(`txlens_payee_fault{fault="foreign_settlement"}`) == 1 })
	if status, body := s.readyz(); status != 503 || !strings.Contains(body, "settlement: ") || !strings.Contains(body, "--adopt-channels") {
		t.Errorf("%d %s", status, body)
	}
	s.paid = 6 * meter.Cent
	s.refuses503(s.order(2, s.voucher(s.paid)))
	stranger := s.another(t)
	stranger.refuses503(stranger.order(0, stranger.open(4*dollar, meter.Cent)))
	if n := s.metric(`txlens_payee_faults_total{fault="foreign_settlement"}`); n < 1 {
		t.Errorf("counted %v", n)
	}
	// The other one is stopped, and this one goes on with what was paid out.
	b.stop()
	s.restart("--adopt-channels")
	s.order(3, s.voucher(s.paid)).taken(t)
	if status, body := s.readyz(); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	s.close(6 * meter.Cent)
}

// TestPayeeWithoutGas: the payer is told to come again, the operator what to do.
func TestPayeeWithoutGas(t *testing.T) {
	chain, err := sandbox.New(sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rpc := httptest.NewServer(chain)
	defer rpc.Close()
	s := &shop{w: newStubWorld(t), data: t.TempDir(), rpc: rpc.URL}
	s.sells = append(sellsBy(t, s.rpc), "--call-price", "rpc=3000000")
	s.flags = []string{"--admin-listen", "127.0.0.1:0"}
	base, stop := startServeUntil(t, s.w, s.args()...)
	s.stop = stop
	s.payer = newPayer(t, base, s.w.tx.Hash, chain, new(atomic.Uint32))
	s.order(0, s.open(4*dollar, meter.Cent)).taken(t)
	warned := func() bool {
		status, body := s.readyz()
		return status == 200 && strings.Contains(body, "ok\nwarning: settlement: ") && strings.Contains(body, "too little for the fees")
	}
	s.eventually("it warns before anything has failed", warned)
	if code, out, errOut := command(t, "", "health", s.admin()); code != exitComplete || !strings.HasPrefix(out, "ready\nwarning: settlement: ") {
		t.Errorf("health: exit %d, %q %s", code, out, errOut)
	}
	before := s.metric(`txlens_payee_faults_total{fault="gas"}`)
	s.refuses503(s.manage(s.closing(s.paid)))
	if n := s.metric(`txlens_payee_faults_total{fault="gas"}`); n <= before {
		t.Errorf("counted %v, then %v", before, n)
	}
	s.paid += meter.Cent
	s.order(1, s.voucher(s.paid)).taken(t) // the channel is as it was
	payee, _ := secretKey(payeeKey)
	if err := chain.Mint(sandbox.PathUSD, payee.Address(), uint256.NewInt(dollar)); err != nil {
		t.Fatal(err)
	}
	s.close(2 * meter.Cent)
}

// TestChainAwayAtStart: a server whose chain is away at the start sells when it is
// there, and never on another chain.
func TestChainAwayAtStart(t *testing.T) {
	right, _ := newReserve(t, sandbox.Options{})
	wrong, _ := newReserve(t, sandbox.Options{ChainID: 1})
	var now atomic.Pointer[sandbox.Chain] // nil: away
	rpc := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c := now.Load(); c != nil {
			c.ServeHTTP(w, r)
			return
		}
		http.Error(w, "away", http.StatusBadGateway)
	}))
	defer rpc.Close()
	s := &shop{w: newStubWorld(t), data: t.TempDir(), rpc: rpc.URL}
	s.sells, s.flags = sellsBy(t, s.rpc), []string{"--admin-listen", "127.0.0.1:0"}
	base, stop := startServeUntil(t, s.w, s.args()...)
	s.stop = stop
	s.payer = newPayer(t, base, s.w.tx.Hash, right, new(atomic.Uint32))
	s.eventually("it warns", func() bool {
		status, body := s.readyz()
		return status == 200 && strings.Contains(body, "warning: settlement: no endpoint")
	})
	open := s.open(4*dollar, meter.Cent)
	s.refuses503(s.order(0, open))
	now.Store(wrong)
	s.refuses503(s.order(0, open))
	if n := wrong.Calls("eth_call") + wrong.Calls("eth_sendRawTransactionSync"); n != 0 {
		t.Errorf("the wrong chain was asked %d times for more than its id", n)
	}
	now.Store(right)
	s.order(0, s.open(4*dollar, meter.Cent)).taken(t)
	// One that is wrong from the start ends the server.
	s.stop()
	now.Store(wrong)
	if code, _, errOut := command(t, "", append([]string{"serve", "--listen", "127.0.0.1:0"}, s.args()...)...); code != exitBadInput || !strings.Contains(errOut, "chain 1, not 42431") {
		t.Errorf("exit %d, %s", code, errOut)
	}
}

// TestCheckSettlement: --check says what a server would find on the chain.
func TestCheckSettlement(t *testing.T) {
	f := func(rpc string, exit int, texts ...string) {
		t.Helper()
		code, out, errOut := command(t, "", append([]string{"serve", "--check", "--data", t.TempDir()}, sellsBy(t, rpc)...)...)
		for _, text := range texts {
			if !strings.Contains(out+errOut, text) {
				t.Errorf("it lacks %q: %s %s", text, out[max(0, len(out)-400):], errOut)
			}
		}
		if code != exit {
			t.Errorf("exit %d, want %d: %s", code, exit, errOut)
		}
	}
	_, rpc := newReserve(t, sandbox.Options{})
	payee, _ := secretKey(payeeKey)
	f(rpc, exitComplete, "settlement: chain 42431 answers", "key "+payee.Address().Hex()+" has 1000000", "The settings are good")
	poor, err := sandbox.New(sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(poor)
	defer server.Close()
	f(server.URL, exitComplete, "warning: settlement: the settling key has too little", "send some of the token", "The settings are good")
	_, other := newReserve(t, sandbox.Options{ChainID: 1})
	f(other, exitBadInput, "--settle-rpc", "chain 1, not 42431")
	away := httptest.NewServer(http.NotFoundHandler())
	defer away.Close()
	f(away.URL, exitComplete, "warning: settlement: no endpoint of the settlement chain answers", "The settings are good")
}
