package service

import (
	"bufio"
	stdjson "encoding/json"
	"io"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"txlens/engine/meter"
	"txlens/engine/mpp"
	"txlens/engine/mpp/sandbox"
	"txlens/engine/mpp/tempo"
	"txlens/testkit/contract"
	"txlens/transport/discovery"
)

// Payer is a client that pays, with one channel at a time. What it signs is only
// what it is told to.
type Payer struct {
	T      *testing.T
	Base   string
	hash   string // of the transaction that it asks about
	Chain  *sandbox.Chain
	made   *atomic.Uint32 // payers of this server so far
	Domain *tempo.Domain
	Key    tempo.Signer
	Web    *http.Client

	mu   sync.Mutex // parallel streams of one payer sign
	Ref  mpp.ChannelRef
	Paid uint64 // signed in all
	salt byte
	sent uint64 // transactions that were made
}

// Dollar is one dollar in base units of the token.
const Dollar = 100 * meter.Cent

// SecretKey is the n-th key of the tests, and its secret in hex.
func SecretKey(n byte) (*tempo.Secp256k1Key, string) {
	secret := make([]byte, 32)
	secret[31] = n
	k, err := tempo.NewSecp256k1Key(secret)
	if err != nil {
		panic(err)
	}
	return k, common.BytesToHash(secret).Hex()
}

// PayeeKey is the one that the shops are paid to.
const PayeeKey = 9

// meteredDocument is what a server that sells says of itself. Every answer that a
// payer receives is held to it.
var meteredDocument = sync.OnceValue(func() *contract.Document {
	set, err := discovery.New(discovery.Config{Metered: true})
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

// NewPayer makes one with plenty of tokens and a key of its own, the next of made.
func NewPayer(t *testing.T, base, hash string, chain *sandbox.Chain, made *atomic.Uint32) *Payer {
	t.Helper()
	n := made.Add(1)
	if n >= PayeeKey {
		n += 100
	}
	key, _ := SecretKey(byte(n))
	p := &Payer{
		T:      t,
		Base:   base,
		hash:   hash,
		Chain:  chain,
		made:   made,
		Domain: tempo.NewDomain(chain.ChainID(), sandbox.Reserve),
		Key:    key,
	}
	if err := chain.Mint(sandbox.PathUSD, key.Address(), uint256.NewInt(1e12)); err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{}
	p.Web = &http.Client{
		Transport: &contract.RoundTripper{
			Base:     tr,
			Document: meteredDocument(),
			Report:   func(err error) { t.Errorf("not as described: %v", err) },
		},
	}
	t.Cleanup(tr.CloseIdleConnections)
	return p
}

// UseKey has the payer be another account.
func (p *Payer) UseKey(key tempo.Signer) {
	p.T.Helper()
	p.Key = key
	if err := p.Chain.Mint(sandbox.PathUSD, key.Address(), uint256.NewInt(1e12)); err != nil {
		p.T.Fatal(err)
	}
}

// Another is a payer at the same server.
func (p *Payer) Another(t *testing.T) *Payer {
	t.Helper()
	return NewPayer(t, p.Base, p.hash, p.Chain, p.made)
}

// Body asks for an analysis; n makes it another request.
func (p *Payer) Body(n int) string {
	return `{"txHash":"` + p.hash + `","chainId":1,"context":"` + strings.Repeat("i", n) + `"}`
}

// sign signs for n in all on the payer's channel.
func (p *Payer) sign(n uint64) []byte {
	p.T.Helper()
	sig, err := p.Domain.Sign(p.Key, p.Ref.ChannelID, tempo.AmountFrom(n))
	if err != nil {
		p.T.Fatal(err)
	}
	return sig.Bytes()
}

// Voucher signs for n in all.
func (p *Payer) Voucher(n uint64) *mpp.Voucher {
	p.T.Helper()
	return &mpp.Voucher{ChannelRef: p.Ref, CumulativeAmount: tempo.AmountFrom(n), Signature: p.sign(n)}
}

// Closing asks to close the channel, with n signed in all.
func (p *Payer) Closing(n uint64) *mpp.Close {
	p.T.Helper()
	return &mpp.Close{ChannelRef: p.Ref, CumulativeAmount: tempo.AmountFrom(n), Signature: p.sign(n)}
}

// TopUp adds n to the deposit.
func (p *Payer) TopUp(n uint64) *mpp.TopUp {
	p.T.Helper()
	tx := p.Transaction(tempo.TopUpCall{Descriptor: p.Ref.Descriptor, Additional: tempo.AmountFrom(n)})
	return &mpp.TopUp{ChannelRef: p.Ref, Transaction: tx.Encode(), AdditionalDeposit: tempo.AmountFrom(n)}
}

// OpenCall is what a payer calls to open a channel of this deposit, with a salt of
// its own.
func (p *Payer) OpenCall(deposit uint64) tempo.OpenCall {
	payee, _ := SecretKey(PayeeKey)
	p.salt++
	return tempo.OpenCall{
		Payee:            payee.Address(),
		Token:            sandbox.PathUSD,
		Deposit:          tempo.AmountFrom(deposit),
		Salt:             common.Hash{31: p.salt},
		AuthorizedSigner: p.Key.Address(),
	}
}

// Open makes the payload that opens a channel and signs for first. From then on it
// is the payer's channel.
func (p *Payer) Open(deposit, first uint64) *mpp.Open {
	p.T.Helper()
	return p.OpenBy(p.Transaction(p.OpenCall(deposit)), first)
}

// OpenBy is open with a transaction that is there.
func (p *Payer) OpenBy(tx *tempo.Transaction, first uint64) *mpp.Open {
	p.T.Helper()
	d, _, err := tempo.OpenedBy(tx, p.Key.Address())
	if err != nil {
		p.T.Fatal(err)
	}
	p.Ref, p.Paid = mpp.ChannelRef{ChannelID: p.Domain.ChannelID(d), Descriptor: d}, first
	return &mpp.Open{ChannelRef: p.Ref, Transaction: tx.Encode(), CumulativeAmount: tempo.AmountFrom(first), Signature: p.sign(first)}
}

// Transaction is a signed transaction of the payer.
func (p *Payer) Transaction(call tempo.ReserveCall, change ...func(*tempo.Transaction)) *tempo.Transaction {
	p.T.Helper()
	tx := tempo.NewTransaction(p.Chain.ChainID(), uint64(time.Now().Unix()), tempo.CallReserve(sandbox.Reserve, call))
	tx.FeeToken, tx.Gas = sandbox.PathUSD, 300_000
	p.sent++
	tx.ValidAfter = uint64(time.Now().Unix()) - 1000 - p.sent // no two are the same
	tx.MaxPriorityFeePerGas, tx.MaxFeePerGas = *uint256.NewInt(1e9), *uint256.NewInt(50e9)
	for _, c := range change {
		c(tx)
	}
	if err := tx.Sign(p.Key.Address(), p.Key); err != nil {
		p.T.Fatal(err)
	}
	return tx
}

// OnChain has the payer act on the chain by itself, past the server.
func (p *Payer) OnChain(call tempo.ReserveCall, change ...func(*tempo.Transaction)) {
	p.T.Helper()
	p.SendRaw(p.Transaction(call, change...))
}

// SendRaw sends a transaction to the chain, which must succeed.
func (p *Payer) SendRaw(tx *tempo.Transaction) {
	p.T.Helper()
	raw := []byte(`{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransactionSync","params":["0x` + common.Bytes2Hex(tx.Encode()) + `"]}`)
	if answer := p.Chain.ServeRPC(p.T.Context(), raw); !strings.Contains(string(answer), `"status":"0x1"`) {
		p.T.Fatalf("%s", answer)
	}
}

// Next is the payload that pays amount more: it opens the channel where there is
// none.
func (p *Payer) Next(q *mpp.SessionRequest, amount uint64) mpp.Payload {
	p.T.Helper()
	if p.Ref.ChannelID == (common.Hash{}) {
		deposit, _ := q.SuggestedDeposit.Uint64()
		return p.Open(deposit, amount)
	}
	p.Paid += amount
	return p.Voucher(p.Paid)
}

// Send makes one request; accept, body and credential may be empty. more are
// further header lines.
func (p *Payer) Send(method, path, accept, body, credential string, more ...string) *http.Response {
	p.T.Helper()
	req, err := http.NewRequestWithContext(p.T.Context(), method, p.Base+path, strings.NewReader(body))
	if err != nil {
		p.T.Fatal(err)
	}
	lines := more
	if body != "" {
		lines = append(lines, "Content-Type: application/json")
	}
	if accept != "" {
		lines = append(lines, "Accept: "+accept)
	}
	if credential != "" {
		lines = append(lines, "Authorization: "+credential)
	}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Add(name, value)
	}
	resp, err := p.Web.Do(req)
	if err != nil {
		p.T.Fatal(err)
	}
	return resp
}

// Ask is send, read to its end.
func (p *Payer) Ask(method, path, accept, body, credential string, more ...string) Answer {
	p.T.Helper()
	resp := p.Send(method, path, accept, body, credential, more...)
	status, text := ReadAnswer(p.T, resp)
	return Answer{status, resp.Header, text}
}

// ReadAnswer reads an answer to its end.
func ReadAnswer(t *testing.T, resp *http.Response) (status int, body string) {
	t.Helper()
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

// Challenge reads the one of an answer.
func (p *Payer) Challenge(header http.Header) (*mpp.Challenge, *mpp.SessionRequest) {
	p.T.Helper()
	list, err := mpp.ParseChallenges(header.Values("WWW-Authenticate")...)
	if err != nil || len(list) != 1 {
		p.T.Fatalf("challenges %v, %v", list, err)
	}
	q, err := list[0].SessionRequest()
	if err != nil {
		p.T.Fatal(err)
	}
	return &list[0], q
}

// Terms asks a path what it costs.
func (p *Payer) Terms(method, path, accept, body string) (*mpp.Challenge, *mpp.SessionRequest) {
	p.T.Helper()
	s := p.Ask(method, path, accept, body, "")
	if s.Status != http.StatusPaymentRequired {
		p.T.Fatalf("%s %s: %d %.300s", method, path, s.Status, s.Body)
	}
	return p.Challenge(s.Header)
}

// Credential answers a challenge, and says who does.
func (p *Payer) Credential(ch *mpp.Challenge, payload mpp.Payload) string {
	p.T.Helper()
	return p.CredentialOf(ch, payload, mpp.Source{ChainID: p.Chain.ChainID(), Address: p.Key.Address()})
}

// CredentialOf is Credential for another source.
func (p *Payer) CredentialOf(ch *mpp.Challenge, payload mpp.Payload, source mpp.Source) string {
	p.T.Helper()
	value, err := mpp.NewCredential(ch, payload, source).HeaderValue()
	if err != nil {
		p.T.Fatal(err)
	}
	return value
}

// Paths of a seller. A job is the content that costs one unit at once.
const (
	PathJobs    = "/explain/async"
	PathStream  = "/explain"
	EventStream = "text/event-stream"
)

// Order has a job done for a payload; n makes it another request.
func (p *Payer) Order(n int, payload mpp.Payload) Answer {
	p.T.Helper()
	ch, _ := p.Terms("POST", PathJobs, "", p.Body(n))
	return p.Ask("POST", PathJobs, "", p.Body(n), p.Credential(ch, payload))
}

// Manage sends a payload that asks for nothing else.
func (p *Payer) Manage(payload mpp.Payload) Answer {
	p.T.Helper()
	ch, _ := p.Terms("POST", PathJobs, "", "")
	return p.Ask("POST", PathJobs, "", "", p.Credential(ch, payload))
}

// Buy asks, pays what the challenge names, and asks again.
func (p *Payer) Buy(method, path, accept, body string) (*http.Response, *mpp.Challenge, mpp.Payload) {
	p.T.Helper()
	resp := p.Send(method, path, accept, body, "")
	if resp.StatusCode != http.StatusPaymentRequired {
		return resp, nil, nil
	}
	ch, q := p.Challenge(resp.Header)
	ReadAnswer(p.T, resp)
	amount, _ := q.Amount.Uint64()
	payload := p.Next(q, amount)
	return p.Send(method, path, accept, body, p.Credential(ch, payload)), ch, payload
}

// Receipt reads the header of an answer as a strict client does.
func (p *Payer) Receipt(header http.Header) *mpp.Receipt {
	p.T.Helper()
	rc, err := mpp.ParseReceipt(header.Get("Payment-Receipt"))
	if err == nil {
		err = rc.Check(p.Ref.ChannelID, tempo.AmountFrom(p.Paid))
	}
	if err != nil {
		p.T.Fatalf("receipt: %v", err)
	}
	if !strings.Contains(header.Get("Cache-Control"), "private") {
		p.T.Errorf("a receipt under Cache-Control %q", header.Get("Cache-Control"))
	}
	return rc
}

// Spent is what was charged so far, as a repeated voucher is told.
func (p *Payer) Spent() uint64 {
	p.T.Helper()
	s := p.Manage(p.Voucher(p.Paid))
	if s.Status != http.StatusNoContent {
		p.T.Fatalf("ask for the standing: %d %s", s.Status, s.Body)
	}
	n, _ := p.Receipt(s.Header).Spent.Uint64()
	return n
}

// Stream reads a paid stream and signs what it asks for; it returns the last frame,
// the final receipt, and how often a voucher was needed.
func (p *Payer) Stream(resp *http.Response, ch *mpp.Challenge, path string) (last map[string]any, rc *mpp.Receipt, needed int) {
	p.T.Helper()
	p.Each(resp, func(event, data string) {
		switch event {
		case mpp.EventNeedVoucher:
			needed++
			need, err := mpp.DecodeNeedVoucher([]byte(data))
			if err != nil {
				p.T.Fatal(err)
			}
			p.AnswerNeed(need, ch, path)
		case mpp.EventReceipt:
			var err error
			if rc, err = mpp.DecodeReceipt([]byte(data)); err != nil {
				p.T.Fatal(err)
			}
		default:
			last = map[string]any{}
			if err := stdjson.Unmarshal([]byte(data), &last); err != nil {
				p.T.Fatal(err)
			}
		}
	})
	return last, rc, needed
}

// TeeBody keeps what is read of a body.
type TeeBody struct {
	io.ReadCloser
	Seen io.Writer
}

// Read implements io.Reader.
func (b TeeBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.Seen.Write(p[:n])
	return n, err
}

// Each gives every event of a stream to do.
func (p *Payer) Each(resp *http.Response, do func(event, data string)) {
	p.T.Helper()
	defer resp.Body.Close()
	event := ""
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		line := lines.Text()
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			event = name
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			do(event, data)
		}
		if line == "" {
			event = ""
		}
	}
	if err := lines.Err(); err != nil {
		p.T.Fatal(err)
	}
}

// AnswerNeed posts the voucher that a stream asks for, as the published client does.
func (p *Payer) AnswerNeed(need *mpp.NeedVoucher, ch *mpp.Challenge, path string) {
	p.T.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	want, _ := need.RequiredCumulative.Uint64()
	p.Paid = max(p.Paid, want)
	answer := p.Ask("POST", path, "", "", p.Credential(ch, p.Voucher(p.Paid)))
	if answer.Status != http.StatusNoContent || answer.Body != "" {
		p.T.Errorf("voucher: %d %s", answer.Status, answer.Body)
	}
	p.Receipt(answer.Header)
}

// Price is what a result must cost, by its own costs.
func Price(t *testing.T, result any) uint64 {
	t.Helper()
	raw, _ := stdjson.Marshal(result)
	var r struct {
		Costs struct {
			TotalUSD stdjson.Number `json:"totalUsd"`
		} `json:"costs"`
	}
	if err := stdjson.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	nano, ok := new(big.Rat).SetString(r.Costs.TotalUSD.String())
	if !ok {
		t.Fatalf("costs %s", r.Costs.TotalUSD)
	}
	nano.Mul(nano, big.NewRat(1_000_000_000, 1))
	return meter.Owed(nano.Num().Int64())
}

// Close ends the channel and holds the chain's books to what was charged.
func (p *Payer) Close(spent uint64) {
	p.T.Helper()
	s := p.Manage(p.Closing(p.Paid))
	if rc := p.Receipt(s.Header); rc.TxHash == (common.Hash{}) || s.Status != http.StatusNoContent {
		p.T.Errorf("close: %d, %+v", s.Status, rc)
	}
	p.Booked(spent)
}

// Booked holds the chain's books: the channel has ended, the payee got this much
// and the payer the rest.
func (p *Payer) Booked(captured uint64) {
	p.T.Helper()
	row := p.Row()
	if row.Open || row.Captured.Uint64() != captured || row.Refunded.Uint64() != row.Deposited.Uint64()-captured {
		p.T.Errorf("books %+v, want %d captured", row, captured)
	}
}

// Row is the payer's channel as the chain has it.
func (p *Payer) Row() sandbox.ChannelRow {
	p.T.Helper()
	for _, row := range p.Chain.Books().Channels {
		if row.ID == p.Ref.ChannelID {
			return row
		}
	}
	p.T.Fatal("the chain has no such channel")
	return sandbox.ChannelRow{}
}
