package channel

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"txlens/actors/runtime"
	"txlens/engine/mpp"
	"txlens/engine/mpp/sandbox"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/settle"
	"txlens/engine/mpp/tempo"
)

// market is a payee with real channels on a settlement sandbox.
type market struct {
	t      testing.TB
	chain  *sandbox.Chain
	client *settle.Client
	book   PaymentStore
	c      *Channels
	terms  tempo.Terms
	issuer *mpp.Issuer
	route  *mpp.Route
	payee  tempo.Signer
	ahead  atomic.Int64 // nanoseconds of the chain's clock before the true one
	skew   atomic.Int64 // of our own clock before the chain's
	adopt  bool
	// reserve is the chain as the Channels see it; nil: client.
	reserve Escrow
	log     lockedLog
}

// now is our clock.
func (m *market) now() time.Time {
	return time.Now().Add(time.Duration(m.ahead.Load() + m.skew.Load()))
}

// lockedLog keeps what is logged. It is safe for concurrent use.
type lockedLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *lockedLog) has(text string) bool { return strings.Contains(l.String(), text) }

// clockAhead moves our idea of the chain's time, as IncreaseTime has moved it.
func (m *market) clockAhead(d time.Duration) { m.ahead.Store(int64(d)) }

func key(n byte) *tempo.Secp256k1Key {
	secret := make([]byte, 32)
	secret[31] = n
	k, err := tempo.NewSecp256k1Key(secret)
	if err != nil {
		panic(err)
	}
	return k
}

const dollar = 1_000_000

func newMarket(t testing.TB, book PaymentStore) *market {
	t.Helper()
	payee := key(9)
	rich := *uint256.NewInt(1_000_000 * dollar)
	chain, err := sandbox.New(sandbox.Options{Fund: []sandbox.Funding{{Account: key(1).Address(), Amount: rich}, {Account: key(2).Address(), Amount: rich}, {Account: payee.Address(), Amount: rich}}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(chain)
	t.Cleanup(server.Close)
	m := &market{t: t, chain: chain, book: book, payee: payee}
	d := tempo.NewDomain(chain.ChainID(), sandbox.Reserve)
	m.terms = tempo.Terms{Domain: d, Token: sandbox.PathUSD, Payee: payee.Address()}
	m.client, err = settle.New(settle.Options{URLs: []string{server.URL}, Domain: d, Key: payee, FeeToken: sandbox.PathUSD, Now: m.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.client.Close)
	if m.issuer, err = mpp.NewIssuer([]byte("0123456789abcdef0123456789abcdef")); err != nil {
		t.Fatal(err)
	}
	m.route = &mpp.Route{Realm: "test", Request: mpp.SessionRequest{
		Amount: units(10_000), Currency: sandbox.PathUSD, Recipient: payee.Address(), UnitType: "request", SuggestedDeposit: units(16 * dollar),
		ChainID: chain.ChainID(), EscrowContract: sandbox.Reserve, SessionProtocol: mpp.SessionProtocol,
	}}
	m.restart()
	return m
}

// restart begins with what is on disk.
func (m *market) restart() {
	m.t.Helper()
	if m.c != nil {
		m.c.Close()
	}
	sys := runtime.NewSystem(slog.New(slog.DiscardHandler))
	reserve := m.reserve
	if reserve == (Escrow{}) {
		reserve = EscrowOf(m.client)
	}
	c := New(sys, Options{
		InProgress: func(string) (bool, error) { return true, nil }, // nothing is interrupted, unless a test says so
		Store:      m.book, Escrow: reserve, Issuer: m.issuer, Terms: m.terms, StateTTL: time.Millisecond, Adopt: m.adopt,
		Log: slog.New(slog.NewTextHandler(&m.log, nil)), now: m.now, readBackRest: time.Millisecond,
	})
	m.c = c
	m.t.Cleanup(func() { c.Close(); sys.Wait() })
}

// purse is a payer's side of one channel.
type purse struct {
	m   *market
	key tempo.Signer
	ref mpp.ChannelRef
}

var salt byte

// openTx builds an open with a deposit.
func (m *market) openTx(k tempo.Signer, deposit uint64) (*purse, *tempo.Transaction) {
	m.t.Helper()
	salt++
	call := tempo.OpenCall{Payee: m.payee.Address(), Token: sandbox.PathUSD, Deposit: units(deposit), Salt: common.Hash{31: salt}, AuthorizedSigner: k.Address()}
	tx := m.tx(k, call)
	d, _, err := tempo.OpenedBy(tx, k.Address())
	if err != nil {
		m.t.Fatal(err)
	}
	return &purse{m: m, key: k, ref: mpp.ChannelRef{ChannelID: m.terms.Domain.ChannelID(d), Descriptor: d}}, tx
}

func (m *market) tx(k tempo.Signer, call tempo.ReserveCall) *tempo.Transaction {
	m.t.Helper()
	tx := tempo.NewTransaction(m.chain.ChainID(), uint64(time.Now().Add(time.Duration(m.ahead.Load())).Unix()), tempo.CallReserve(sandbox.Reserve, call))
	tx.FeeToken, tx.Gas = sandbox.PathUSD, 300_000
	tx.MaxPriorityFeePerGas, tx.MaxFeePerGas = *uint256.NewInt(1e9), *uint256.NewInt(50e9)
	if err := tx.Sign(k.Address(), k); err != nil {
		m.t.Fatal(err)
	}
	return tx
}

func (p *purse) sign(n uint64) []byte {
	p.m.t.Helper()
	sig, err := p.m.terms.Domain.Sign(p.key, p.ref.ChannelID, units(n))
	if err != nil {
		p.m.t.Fatal(err)
	}
	return sig.Bytes()
}

func (p *purse) open(tx *tempo.Transaction, n uint64) mpp.Payload {
	return &mpp.Open{ChannelRef: p.ref, Transaction: tx.Encode(), CumulativeAmount: units(n), Signature: p.sign(n)}
}

func (p *purse) voucher(n uint64) mpp.Payload {
	return &mpp.Voucher{ChannelRef: p.ref, CumulativeAmount: units(n), Signature: p.sign(n)}
}

func (p *purse) close(n uint64) mpp.Payload {
	return &mpp.Close{ChannelRef: p.ref, CumulativeAmount: units(n), Signature: p.sign(n)}
}

func (p *purse) topUp(n uint64) mpp.Payload {
	tx := p.m.tx(p.key, tempo.TopUpCall{Descriptor: p.ref.Descriptor, Additional: units(n)})
	return &mpp.TopUp{ChannelRef: p.ref, Transaction: tx.Encode(), AdditionalDeposit: units(n)}
}

var (
	content    = mpp.Shape{Method: "POST", HasBody: true}
	management = mpp.Shape{Method: "POST"}
)

// pay sends a payload as an answer to a fresh challenge.
func (m *market) pay(p mpp.Payload, shape mpp.Shape) (*Payment, error) {
	m.t.Helper()
	ch, err := m.issuer.Issue(m.route, m.c.options.now().Add(time.Minute))
	if err != nil {
		m.t.Fatal(err)
	}
	cr := mpp.NewCredential(ch, p, mpp.Source{})
	value, err := cr.HeaderValue()
	if err != nil {
		m.t.Fatal(err)
	}
	if cr, err = mpp.ParseCredential(value); err != nil {
		m.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return m.c.Pay(ctx, PayRequest{Credential: cr, Route: m.route, Shape: shape})
}

// row is the channel as the disk has it.
func (p *purse) row() session.Channel {
	p.m.t.Helper()
	row, err := p.m.book.Channel(p.ref.ChannelID)
	if err != nil {
		p.m.t.Fatal(err)
	}
	return row
}

func requestClose(p *purse) tempo.ReserveCall {
	return tempo.RequestCloseCall{Descriptor: p.ref.Descriptor}
}

func idsOf(p *purse) []common.Hash { return []common.Hash{p.ref.ChannelID} }

func amountsOf(a ...tempo.Amount) []tempo.Amount { return a }

// admitOn charges for a request on a channel, with nothing held for it.
func admitOn(ctx context.Context, c *Channels, channel common.Hash, key TicketKey, bill string, amount uint64) (Admitted, error) {
	return c.Admit(ctx, &Payment{Standing: Standing{Channel: channel}}, Order{Key: key, Bill: bill, Price: units(amount)})
}
