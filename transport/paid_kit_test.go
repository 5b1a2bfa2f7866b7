package transport

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/actors/channel"
	"txlens/actors/sale"
	"txlens/actors/slots"
	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
	"txlens/internal/testkit/contract"
	"txlens/transport/discovery"
	"txlens/transport/wire"
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

	mu              sync.Mutex
	accepted, spent uint64
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
		Available: units(r.accepted - r.spent), Deposit: units(r.deposit), Units: r.spent / meter.Cent, Open: true}
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
	r.mu.Unlock()
	if err != nil {
		return channel.Bill{}, channel.Standing{}, err
	}
	return r.Collect(ctx, p.Channel, id, price, p.Request.Amount)
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

func (r *register) Delivered(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.bills[id]
	b.Delivered = true
	r.bills[id] = b
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
	return out, nil
}

func (r *register) Collect(_ context.Context, channelID common.Hash, id string, price, atMost tempo.Amount) (channel.Bill, channel.Standing, error) {
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
	if n > r.accepted-r.spent {
		return channel.Bill{}, channel.Standing{}, mpp.Insufficient(channelID, due, units(r.accepted-r.spent))
	}
	r.spent += n
	b.Collected, _ = b.Collected.Add(due)
	r.bills[id] = b
	return b, r.standing(), nil
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

func (r *register) Final(_ context.Context, id string, price tempo.Amount) (channel.Bill, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.bills[id]
	b.ID, b.Price, b.Final = id, price, true
	if over, more := b.Collected.Sub(price); more {
		n, _ := over.Uint64()
		r.spent -= n
		b.Collected = price
	}
	r.bills[id] = b
	return b, r.fails["Final"]
}

func (r *register) Occupy(common.Hash) func() {
	r.change(func() { r.occupied++ })
	return func() { r.change(func() { r.occupied-- }) }
}

// shop is a server that sells, and what it sells with.
type shop struct {
	t    *testing.T
	s    *Server
	url  string
	c    *http.Client
	till *register
	jobs *fakeJobs
	runs *fakeRuns
	log  *lockedLog
}

// paidJobs notes the ids of jobs.
type paidJobs struct {
	*fakeJobs
	mu  sync.Mutex
	ids []string
}

func (p *paidJobs) SubmitAs(id string, req api.Request) error {
	p.mu.Lock()
	p.ids = append(p.ids, id)
	p.mu.Unlock()
	return p.fakeJobs.SubmitAs(id, req)
}

// sellWith starts a server that sells; change may be nil.
func sellWith(t *testing.T, run script, change func(*Config, *sale.Options)) *shop {
	t.Helper()
	till := newRegister(t)
	sh := &shop{t: t, till: till, jobs: &fakeJobs{refuse: byRequestContext, jobs: map[string]*api.Job{}},
		runs: &fakeRuns{frames: map[string][]jsontext.Value{}}, log: new(lockedLog)}
	options := sale.Options{Bills: till, Collector: till}
	cfg := Config{
		Explainer: run, Jobs: sh.jobs, Runs: sh.runs, Log: slog.New(slog.NewTextHandler(sh.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Payments: Payments{Payer: till, Admissions: till, Snapshots: till, Issuer: till.issuer, Realm: "txlens.example", Request: terms, QueueTime: -1},
	}
	if change != nil {
		change(&cfg, &options)
	}
	cfg.Payments.Seller = sale.New(options)
	sh.s, sh.url = start(t, cfg, nil)
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	sh.c = &http.Client{Timeout: 30 * time.Second, Transport: &contract.RoundTripper{Base: tr, Document: described402(), Report: func(err error) { t.Helper(); t.Error(err) }}}
	return sh
}

// described402 is what a service that sells says of itself.
var described402 = sync.OnceValue(func() *contract.Document {
	set, err := discovery.New(Config{Metered: true}.withDefaults().described())
	if err != nil {
		panic(err)
	}
	base, _ := discovery.ParseBaseURL("http://127.0.0.1")
	file, _ := set.At("/openapi.json", base)
	doc, err := contract.Load(file.Body)
	if err != nil {
		panic(err)
	}
	return doc
})

// answerTo is a credential that answers a fresh challenge of a path, for an amount.
func (sh *shop) answerTo(path string, amount uint64, p mpp.Payload) string {
	sh.t.Helper()
	ch, err := sh.till.issuer.Issue(sh.s.newOffer(path, units(amount)), time.Now().Add(time.Minute))
	if err != nil {
		sh.t.Fatal(err)
	}
	value, err := mpp.NewCredential(ch, p, mpp.Source{}).HeaderValue()
	if err != nil {
		sh.t.Fatal(err)
	}
	return value
}

// demandVoucher sends a request; headers are names and values by turns.
func (sh *shop) ask(method, path, body string, headers ...string) answer {
	sh.t.Helper()
	resp := sh.open(method, path, body, headers...)
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		sh.t.Error(err)
	}
	return answer{resp.StatusCode, resp.Header, string(out), resp.Close}
}

// open sends a request and leaves its answer to be read.
func (sh *shop) open(method, path, body string, headers ...string) *http.Response {
	sh.t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(sh.t.Context(), method, sh.url+path, in)
	if err != nil {
		sh.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := sh.c.Do(req)
	if err != nil {
		sh.t.Fatal(err)
	}
	return resp
}

// buy posts a request with a payload that answers a challenge of its path, and asks for
// a stream.
func (sh *shop) buy(path, body string, p mpp.Payload, headers ...string) answer {
	sh.t.Helper()
	return sh.ask("POST", path, body, append([]string{"Authorization", sh.answerTo(path, meter.Cent, p), "Accept", eventStream}, headers...)...)
}

// wantProblem checks a refusal by a problem document, and returns its members. Each 402
// and 410 has a challenge, which the document names.
func (sh *shop) wantProblem(a answer, status int, kind mpp.ProblemType) map[string]any {
	sh.t.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(a.body), &doc); err != nil {
		sh.t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
	if a.status != status || doc["type"] != kind.URI() || a.header.Get("Content-Type") != mpp.ProblemMedia {
		sh.t.Errorf("%d %v %s, want %d %s", a.status, a.header, a.body, status, kind)
	}
	if a.header.Get(mpp.HeaderReceipt) != "" || a.header.Get("Cache-Control") != "no-store" {
		sh.t.Errorf("a refusal with the headers %v", a.header)
	}
	if status == 402 || status == 410 {
		if ch := sh.challengeOf(a); ch != nil && doc["challengeId"] != ch.ID {
			sh.t.Errorf("%s does not name the challenge %s", a.body, ch.ID)
		}
	} else if a.header.Get(mpp.HeaderChallenge) != "" {
		sh.t.Errorf("a challenge with %d", status)
	}
	return doc
}

// wantFault checks a refusal by an error body.
func (sh *shop) wantFault(a answer, status int, code, says string) {
	sh.t.Helper()
	var doc struct{ Error, Code string }
	if err := json.Unmarshal([]byte(a.body), &doc); err != nil || a.status != status || doc.Code != code || !strings.Contains(doc.Error, says) {
		sh.t.Errorf("%d %s, want %d %s %q", a.status, a.body, status, code, says)
	}
	if a.header.Get(mpp.HeaderReceipt) != "" {
		sh.t.Errorf("a refusal with a receipt: %v", a.header)
	}
	if (a.header.Get(mpp.HeaderChallenge) != "") != (status == 402) && code != api.CodeUseSSE {
		sh.t.Errorf("%d with the challenge %q", status, a.header.Get(mpp.HeaderChallenge))
	}
}

// challengeOf is the one challenge of an answer, which must be good.
func (sh *shop) challengeOf(a answer) *mpp.Challenge {
	sh.t.Helper()
	list, err := mpp.ParseChallenges(a.header.Values(mpp.HeaderChallenge)...)
	if err != nil || len(list) != 1 {
		sh.t.Errorf("%d challenges in %v, %v", len(list), a.header, err)
		return nil
	}
	if err := sh.till.issuer.Verify(&list[0]); err != nil {
		sh.t.Error(err)
	}
	return &list[0]
}

// wantReceipt checks the receipt of an answer, which is the payer's alone.
func (sh *shop) wantReceipt(a answer, status int, accepted, spent uint64) *mpp.Receipt {
	sh.t.Helper()
	r, err := mpp.ParseReceipt(a.header.Get(mpp.HeaderReceipt))
	if err != nil || a.status != status {
		sh.t.Fatalf("%d %v %s: %v, want %d", a.status, a.header, a.body, err, status)
	}
	if r.AcceptedCumulative != units(accepted) || r.Spent != units(spent) || r.ChannelID != ref.ChannelID || r.ChallengeID == "" {
		sh.t.Errorf("receipt %+v, want %d accepted, %d spent", r, accepted, spent)
	}
	if keep := a.header.Get("Cache-Control"); !strings.Contains(keep, "private") {
		sh.t.Errorf("Cache-Control %q", keep)
	}
	return r
}

// wantCalls checks what was called on the till since it was asked last.
func (sh *shop) wantCalls(want string) {
	sh.t.Helper()
	if got := sh.till.took(); got != want {
		sh.t.Errorf("called %q, want %q", got, want)
	}
}

// kindsOf are the types of the events in a stream; those of the payment protocol in
// brackets.
func kindsOf(body string) string {
	var list []string
	for event := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		if name, ok := strings.CutPrefix(event, "event: "); ok {
			name, _, _ = strings.Cut(name, "\n")
			list = append(list, "["+name+"]")
			continue
		}
		var f frame
		if err := json.Unmarshal([]byte(strings.TrimPrefix(event, "data: ")), &f); err != nil {
			list = append(list, fmt.Sprintf("%q", event))
			continue
		}
		list = append(list, f.kind())
	}
	return strings.Join(list, " ")
}

// spends plays an analysis that costs so many nano-dollars.
func spends(nano int64) script {
	return func(ctx context.Context, job RunSpec) (*api.Result, error) {
		job.Sink(api.Event{Type: api.EventPreflightStart, TxHash: job.Request.TxHash})
		if job.OnCost != nil {
			job.OnCost(nano)
		}
		return byContext(ctx, job.Request)
	}
}

// withContext is a request with a context, which byContext and byRequestContext go by.
func withContext(word string) string { return `{"txHash":"` + hash + `","context":"` + word + `"}` }

// snapshot is one that the till may tell.
func snapshotFor(required uint64) *mpp.Snapshot {
	return &mpp.Snapshot{
		ChannelID: ref.ChannelID, Descriptor: descriptor, ChainID: terms.ChainID, Escrow: terms.EscrowContract,
		AcceptedCumulative: units(20_000), Deposit: units(9_000_000), Spent: units(10_000), RequiredCumulative: units(required),
		HighestVoucher: &mpp.SignedVoucher{ChannelID: ref.ChannelID, CumulativeAmount: units(20_000), Signature: make([]byte, 65)},
	}
}

// proof is a credential that answers a challenge to prove the account of a key.
func proof(t *testing.T, ch *mpp.Challenge, key *tempo.Secp256k1Key) string {
	t.Helper()
	sig, err := key.SignDigest(tempo.ProofDigest(terms.ChainID, key.Address(), ch.ID, ch.Realm))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := json.Marshal(map[string]any{
		"challenge": map[string]any{"id": ch.ID, "realm": ch.Realm, "method": ch.Method, "intent": ch.Intent, "request": ch.Request,
			"expires": ch.Expires, "description": ch.Description, "opaque": ch.Opaque},
		"payload": map[string]any{"type": "proof", "signature": hexutil.Encode(sig.Bytes())},
		"source":  mpp.Source{ChainID: terms.ChainID, Address: key.Address()}.String(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return "Payment " + base64.RawURLEncoding.EncodeToString(doc)
}

// oneJob lets each payer have one job.
func oneJob(_ *Config, o *sale.Options) { o.Jobs = slots.Limits{PerPayer: 1} }

// encoded are the frames that a run leaves.
func encoded(t *testing.T, id string) []jsontext.Value {
	t.Helper()
	out, err := encodeAll(api.Event{Type: api.EventComplete, RequestID: id}, wire.ResultFrame{Type: api.EventResult, RequestID: id, Result: result(api.Request{TxHash: hash})})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
