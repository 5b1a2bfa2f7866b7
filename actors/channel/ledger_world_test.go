package channel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/holiman/uint256"

	"txlens/actors/analysis"
	actors "txlens/actors/channel"
	"txlens/engine/mpp"
	"txlens/engine/mpp/sandbox"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/settle"
	"txlens/engine/mpp/tempo"
	"txlens/storage"
)

// world is the product on the real storage and the settlement sandbox. The sandbox
// rather than a faster stand-in is the chain because its verdicts are its own: it
// recovers signers by another way than the product and knows nothing of its rows.
// It is asked in this process; its clock stands still until the check moves it.
type world struct {
	dir   string
	begin time.Time
	ahead atomic.Int64 // nanoseconds

	chain  *sandbox.Chain
	client *settle.Client // the product's
	own    *settle.Client // the check's, which survives crashes
	domain *tempo.Domain
	issuer *mpp.Issuer
	payee  tempo.Signer
	salt   uint64

	late   chan settle.Signed // transactions that land some time
	life   *life
	store  *storage.Store
	x      *analysis.Explainer
	c      *actors.Channels
	rounds actors.Rounds
}

// errDead is what a process hears that has crashed.
var errDead = errors.New("the process has crashed")

// life is one process between two crashes. Armed, it ends at its n-th act, which is a
// commit or a transaction that is sent: just before it, or just after.
type life struct {
	left  atomic.Int64 // acts until the crash; 0: not armed
	after bool
	dead  atomic.Bool

	mu        sync.Mutex
	impatient func() // called at the next act

	// vague says what becomes of the next transaction, of which nobody hears: it landed,
	// it never did, or it lands late.
	vague atomic.Int64
	late  chan settle.Signed
}

const (
	landed = 1 + iota
	vanished
	delayed
)

// vanish reports whether nobody is to hear of a transaction.
func (l *life) vanish(s settle.Signed, send func() error) bool {
	switch l.vague.Swap(0) {
	case landed:
		send()
	case vanished:
	case delayed:
		select {
		case l.late <- s:
		default:
		}
	default:
		return false
	}
	return true
}

func (l *life) act(do func() error) error {
	if l.dead.Load() {
		return errDead
	}
	l.mu.Lock()
	hurry := l.impatient
	l.impatient = nil
	l.mu.Unlock()
	if hurry != nil {
		hurry()
	}
	if l.left.Load() > 0 && l.left.Add(-1) == 0 {
		l.dead.Store(true)
		if l.after {
			do()
		}
		return errDead
	}
	if err := do(); err != nil {
		return err
	}
	if l.dead.Load() {
		return errDead // done, and nobody was told
	}
	return nil
}

// mortalLedger is a ledger of a process that can crash.
type mortalLedger struct {
	actors.PaymentStore
	life *life
}

func (m mortalLedger) Commit(entries ...actors.Entry) error {
	return m.life.act(func() error { return m.PaymentStore.Commit(entries...) })
}

// CommitThen is an act like any other: a process that has crashed writes nothing.
func (m mortalLedger) CommitThen(then func(error), entries ...actors.Entry) {
	go func() { then(m.Commit(entries...)) }()
}

func (m mortalLedger) Channel(id common.Hash) (session.Channel, error) {
	if m.life.dead.Load() {
		return session.Channel{}, errDead
	}
	return m.PaymentStore.Channel(id)
}

// mortalReserve is the way to the chain of a process that can crash.
type mortalReserve struct {
	actors.Escrow
	life *life
}

func (m mortalReserve) States(ctx context.Context, ids ...common.Hash) ([]session.State, error) {
	if m.life.dead.Load() {
		return nil, errDead
	}
	return m.Escrow.States(ctx, ids...)
}

func (m mortalReserve) Send(ctx context.Context, tx *tempo.Transaction) (rc *tempo.Receipt, err error) {
	err = m.life.act(func() (err error) {
		if m.life.vanish(settle.Signed{Raw: tx.Encode(), Hash: tx.Hash(), ValidBefore: tx.ValidBefore}, func() error { _, err := m.Escrow.Send(ctx, tx); return err }) {
			return settle.ErrUnknownOutcome
		}
		rc, err = m.Escrow.Send(ctx, tx)
		return err
	})
	return rc, err
}

func (m mortalReserve) Broadcast(ctx context.Context, s settle.Signed) (rc *tempo.Receipt, err error) {
	err = m.life.act(func() (err error) {
		if m.life.vanish(s, func() error { _, err := m.Escrow.Broadcast(ctx, s); return err }) {
			return settle.ErrUnknownOutcome
		}
		rc, err = m.Escrow.Broadcast(ctx, s)
		return err
	})
	return rc, err
}

// wire carries JSON-RPC to the sandbox without a network.
type wire struct{ chain *sandbox.Chain }

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	answer := w.chain.ServeRPC(r.Context(), body)
	if answer == nil {
		return nil, errors.New("the answer is lost")
	}
	return &http.Response{StatusCode: 200, Body: io.NopCloser(bytes.NewReader(answer)), Header: http.Header{}, Request: r}, nil
}

func walletKey(n int) *tempo.Secp256k1Key {
	secret := make([]byte, 32)
	secret[30], secret[31] = byte(n>>8)+1, byte(n)
	k, err := tempo.NewSecp256k1Key(secret)
	if err != nil {
		panic(err)
	}
	return k
}

// funds is what every account has at the start.
const funds = 1_000_000_000_000

// fastDir is a folder for the database. A file system in memory is as good here: what
// a crash of the process leaves is decided by what was written, not by what was synced.
func fastDir(t testing.TB) string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		if dir, err := os.MkdirTemp("/dev/shm", "txlens-model"); err == nil {
			t.Cleanup(func() { os.RemoveAll(dir) })
			return dir
		}
	}
	return t.TempDir()
}

// newWorld makes a chain with so many payers, and a first process in dir.
func newWorld(dir string, payers int) (*world, error) {
	w := &world{dir: dir, begin: time.Unix(1_900_000_000, 0), payee: walletKey(60_000), late: make(chan settle.Signed, 64)}
	opt := sandbox.Options{FreeGas: true, Clock: func() time.Time { return w.begin }}
	opt.Fund = append(opt.Fund, sandbox.Funding{Account: w.payee.Address(), Amount: *uint256.NewInt(funds)}) // for fees
	for i := range payers {
		opt.Fund = append(opt.Fund, sandbox.Funding{Account: walletKey(i).Address(), Amount: *uint256.NewInt(funds)})
	}
	var err error
	if w.chain, err = sandbox.New(opt); err != nil {
		return nil, err
	}
	w.domain = tempo.NewDomain(w.chain.ChainID(), sandbox.Reserve)
	for _, c := range []**settle.Client{&w.client, &w.own} {
		if *c, err = settle.New(settle.Options{
			URLs: []string{"http://sandbox"}, Domain: w.domain, Key: w.payee, FeeToken: sandbox.PathUSD, Now: w.now, Transport: wire{w.chain},
		}); err != nil {
			return nil, err
		}
	}
	if w.issuer, err = mpp.NewIssuer([]byte("0123456789abcdef0123456789abcdef")); err != nil {
		return nil, err
	}
	return w, w.start()
}

func (w *world) now() time.Time { return w.begin.Add(time.Duration(w.ahead.Load())) }

// pass moves all clocks.
func (w *world) pass(d time.Duration) {
	w.chain.IncreaseTime(d)
	w.ahead.Add(int64(d))
}

// policy settles early, so that there is something to see.
var policy = actors.SettlePolicy{Threshold: tempo.AmountFrom(40_000), MaxAge: time.Hour, IdleClose: 24 * time.Hour}

// start begins a process with what is on disk.
func (w *world) start() (err error) {
	if w.store, err = storage.Open(w.dir, storage.Options{ExpireEvery: -1, Now: w.now}); err != nil {
		return err
	}
	w.life = &life{late: w.late}
	w.x = analysis.New(analysis.Options{})
	w.c = actors.New(w.x.System(), actors.Options{
		Store: actors.StoreOf(mortalLedger{actors.StoreOf(w.store), w.life}), Escrow: actors.EscrowOf(mortalReserve{actors.EscrowOf(w.client), w.life}), Issuer: w.issuer,
		Terms: tempo.Terms{Domain: w.domain, Token: sandbox.PathUSD, Payee: w.payee.Address()}, StateTTL: time.Nanosecond, Adopt: true,
	}.Steered(w.now))
	w.c.Unbounded()
	w.rounds = w.c.Rounds(policy)
	return nil
}

// crash ends the process without a chance to write anything, and starts another.
// between may change what is on disk.
func (w *world) crash(between func(*storage.Store) error) error {
	w.life.dead.Store(true)
	w.stop()
	if between != nil {
		store, err := storage.Open(w.dir, storage.Options{ExpireEvery: -1, Now: w.now})
		if err != nil {
			return err
		}
		if err := errors.Join(between(store), store.Close()); err != nil {
			return err
		}
	}
	return w.start()
}

func (w *world) stop() {
	w.c.Close()
	w.x.Close()
	w.store.Close()
}

// truth is what the chain says of channels, whatever the product believes.
func (w *world) truth(ids ...common.Hash) []session.State {
	states, err := w.own.States(context.Background(), ids...)
	if err != nil {
		panic(fmt.Sprintf("ask the sandbox: %v", err))
	}
	return states
}

// route asks for one unit.
func (w *world) route() *mpp.Route {
	return &mpp.Route{Realm: "model", Request: mpp.SessionRequest{
		Amount: tempo.AmountFrom(unit), Currency: sandbox.PathUSD, Recipient: w.payee.Address(), UnitType: "request",
		SuggestedDeposit: tempo.AmountFrom(50 * unit), ChainID: w.chain.ChainID(), EscrowContract: sandbox.Reserve, SessionProtocol: mpp.SessionProtocol,
	}}
}

// unit is the price of one request.
const unit = 10_000

// pay sends a payload as the answer to a fresh challenge, through its header.
func (w *world) pay(ctx context.Context, p mpp.Payload, content bool) (*actors.Payment, error) {
	route := w.route()
	ch, err := w.issuer.Issue(route, w.now().Add(time.Minute))
	if err != nil {
		return nil, err
	}
	value, err := mpp.NewCredential(ch, p, mpp.Source{}).HeaderValue()
	if err != nil {
		return nil, err
	}
	cr, err := mpp.ParseCredential(value)
	if err != nil {
		return nil, err
	}
	return w.c.Pay(ctx, actors.PayRequest{Credential: cr, Route: route, Shape: mpp.Shape{Method: "POST", HasBody: content}})
}

// transaction signs a payer's call of the reserve.
func (w *world) transaction(k tempo.Signer, call tempo.ReserveCall) (*tempo.Transaction, error) {
	tx := tempo.NewTransaction(w.chain.ChainID(), uint64(w.now().Unix()), tempo.CallReserve(sandbox.Reserve, call))
	w.salt++
	tx.ValidAfter = 1_000_000_000 + w.salt // tells equal calls apart
	tx.FeeToken, tx.Gas = sandbox.PathUSD, 300_000
	return tx, tx.Sign(k.Address(), k)
}

// land sends what was late.
func (w *world) land() (n int) {
	for ; ; n++ {
		select {
		case s := <-w.late:
			w.own.Broadcast(context.Background(), s) // the chain may have something against it by now
		default:
			return n
		}
	}
}

// reorganise replaces the head of the chain by another block, without its
// transactions or with them, unless it is too old for that.
func (w *world) reorganise(drop bool) bool {
	age := w.now().Sub(time.Unix(w.headTime(), 0))
	if age > 10*time.Second || w.chain.Reorg(1, drop) != nil {
		return false
	}
	w.chain.Mine()
	return true
}

func (w *world) headTime() int64 {
	var answer struct {
		Result struct{ Timestamp hexutil.Uint64 }
	}
	raw := w.chain.ServeRPC(context.Background(), []byte(`{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["latest",false]}`))
	if err := json.Unmarshal(raw, &answer); err != nil {
		panic(err)
	}
	return int64(answer.Result.Timestamp)
}

// direct sends a payer's call past the product. An error is the chain's refusal.
func (w *world) direct(k tempo.Signer, call tempo.ReserveCall) error {
	tx, err := w.transaction(k, call)
	if err == nil {
		_, err = w.own.Send(context.Background(), tx)
	}
	return err
}
