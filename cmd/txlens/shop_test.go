package main

import (
	"bufio"
	stdjson "encoding/json"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
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
	"txlens/internal/testkit/contract"
	"txlens/transport/discovery"
)

// shop is the server of the command where it sells, on a settlement sandbox, with
// its first payer.
type shop struct {
	*payer
	w     *stubWorld
	rpc   string   // of the sandbox
	data  string   // folder of the server
	sells []string // flags that make a server sell here
	flags []string // further ones of this server
	stop  func()
}

// payer is a client that pays, with one channel at a time. What it signs is only
// what it is told to.
type payer struct {
	t      *testing.T
	base   string
	hash   string // of the transaction that it asks about
	chain  *sandbox.Chain
	made   *atomic.Uint32 // payers of this server so far
	domain *tempo.Domain
	key    tempo.Signer
	web    *http.Client

	mu   sync.Mutex // parallel streams of one payer sign
	ref  mpp.ChannelRef
	paid uint64 // signed in all
	salt byte
	sent uint64 // transactions that were made
}

const dollar = 100 * meter.Cent

func secretKey(n byte) (*tempo.Secp256k1Key, string) {
	secret := make([]byte, 32)
	secret[31] = n
	k, err := tempo.NewSecp256k1Key(secret)
	if err != nil {
		panic(err)
	}
	return k, common.BytesToHash(secret).Hex()
}

// payeeKey is the one that the shops are paid to.
const payeeKey = 9

func newShop(t *testing.T, more ...string) *shop {
	t.Helper()
	return newShopOn(t, sandbox.Options{}, more...)
}

// newShopOn is newShop on a chain of these options.
func newShopOn(t *testing.T, opt sandbox.Options, more ...string) *shop {
	t.Helper()
	s := &shop{w: newStubWorld(t), data: t.TempDir()}
	chain, rpc := newReserve(t, opt)
	s.rpc = rpc
	s.sells = append(sellsBy(t, rpc), "--call-price", "rpc=3000000")
	s.flags = append([]string{"--admin-listen", "off"}, more...)
	if err := os.WriteFile(filepath.Join(s.data, "challenge.key"), []byte(shopSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	base, stop := startServeUntil(t, s.w, s.args()...)
	s.stop = stop
	s.payer = newPayer(t, base, s.w.tx.Hash, chain, new(atomic.Uint32))
	return s
}

// restart stops the server and starts it again on the same books, with further
// flags.
func (s *shop) restart(more ...string) {
	s.t.Helper()
	s.stop()
	s.base, s.stop = startServeUntil(s.t, s.w, append(s.args(), more...)...)
}

func (s *shop) args() []string {
	return slices.Concat([]string{"--data", s.data}, s.sells, s.flags)
}

// shopSecret is what the shop seals its challenges with.
const shopSecret = "0123456789abcdef0123456789abcdef"

// issuer makes challenges that the server takes for its own.
func (s *shop) issuer() *mpp.Issuer {
	s.t.Helper()
	issuer, err := mpp.NewIssuer([]byte(shopSecret))
	if err != nil {
		s.t.Fatal(err)
	}
	return issuer
}

// reissued is a challenge of the server after a change that the server itself might
// have made.
func (s *shop) reissued(ch *mpp.Challenge, change func(*mpp.Challenge, *mpp.SessionRequest)) *mpp.Challenge {
	s.t.Helper()
	out := *ch
	q, err := out.SessionRequest()
	if err != nil {
		s.t.Fatal(err)
	}
	change(&out, q)
	if out.Request, err = q.Encode(); err != nil {
		s.t.Fatal(err)
	}
	s.issuer().SetID(&out)
	return &out
}

// newReserve starts a sandbox on which the payee can pay fees.
func newReserve(t *testing.T, opt sandbox.Options) (chain *sandbox.Chain, rpc string) {
	t.Helper()
	payee, _ := secretKey(payeeKey)
	opt.Fund = append(opt.Fund, sandbox.Funding{Account: payee.Address(), Amount: *uint256.NewInt(1e12)})
	chain, err := sandbox.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(chain)
	t.Cleanup(server.Close)
	return chain, server.URL
}

// sellsBy are the flags of a server that sells.
func sellsBy(t *testing.T, rpc string) []string {
	t.Helper()
	return []string{"--settle-rpc", rpc, "--settle-chain", "42431", "--settle-token", sandbox.PathUSD.Hex(), "--settle-key-file", payeeKeyFile(t), "--realm", "shop.test",
		"--open-rate", "0", "--open-rate-per-ip", "0", "--voucher-rate", "0", // all payers of a test come from one address
		"--max-jobs-per-payer", "256", "--stranger-share", "100"}
}

func payeeKeyFile(t *testing.T) string {
	t.Helper()
	_, secret := secretKey(payeeKey)
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

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

// newPayer makes one with plenty of tokens and a key of its own, the next of made.
func newPayer(t *testing.T, base, hash string, chain *sandbox.Chain, made *atomic.Uint32) *payer {
	t.Helper()
	n := made.Add(1)
	if n >= payeeKey {
		n += 100
	}
	key, _ := secretKey(byte(n))
	p := &payer{t: t, base: base, hash: hash, chain: chain, made: made, domain: tempo.NewDomain(chain.ChainID(), sandbox.Reserve), key: key}
	if err := chain.Mint(sandbox.PathUSD, key.Address(), uint256.NewInt(1e12)); err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{}
	p.web = &http.Client{Transport: &contract.RoundTripper{Base: tr, Document: meteredDocument(), Report: func(err error) { t.Errorf("not as described: %v", err) }}}
	t.Cleanup(tr.CloseIdleConnections)
	return p
}

// useKey has the payer be another account.
func (p *payer) useKey(key tempo.Signer) {
	p.t.Helper()
	p.key = key
	if err := p.chain.Mint(sandbox.PathUSD, key.Address(), uint256.NewInt(1e12)); err != nil {
		p.t.Fatal(err)
	}
}

// another is a payer at the same server.
func (p *payer) another(t *testing.T) *payer {
	t.Helper()
	return newPayer(t, p.base, p.hash, p.chain, p.made)
}

// body asks for an analysis; n makes it another request.
func (p *payer) body(n int) string {
	return `{"txHash":"` + p.hash + `","chainId":1,"context":"` + strings.Repeat("i", n) + `"}`
}

// sign signs for n in all on the payer's channel.
func (p *payer) sign(n uint64) []byte {
	p.t.Helper()
	sig, err := p.domain.Sign(p.key, p.ref.ChannelID, tempo.AmountFrom(n))
	if err != nil {
		p.t.Fatal(err)
	}
	return sig.Bytes()
}

func (p *payer) voucher(n uint64) *mpp.Voucher {
	p.t.Helper()
	return &mpp.Voucher{ChannelRef: p.ref, CumulativeAmount: tempo.AmountFrom(n), Signature: p.sign(n)}
}

func (p *payer) closing(n uint64) *mpp.Close {
	p.t.Helper()
	return &mpp.Close{ChannelRef: p.ref, CumulativeAmount: tempo.AmountFrom(n), Signature: p.sign(n)}
}

func (p *payer) topUp(n uint64) *mpp.TopUp {
	p.t.Helper()
	tx := p.tx(tempo.TopUpCall{Descriptor: p.ref.Descriptor, Additional: tempo.AmountFrom(n)})
	return &mpp.TopUp{ChannelRef: p.ref, Transaction: tx.Encode(), AdditionalDeposit: tempo.AmountFrom(n)}
}

// openCall is what a payer calls to open a channel of this deposit, with a salt of
// its own.
func (p *payer) openCall(deposit uint64) tempo.OpenCall {
	payee, _ := secretKey(payeeKey)
	p.salt++
	return tempo.OpenCall{Payee: payee.Address(), Token: sandbox.PathUSD, Deposit: tempo.AmountFrom(deposit), Salt: common.Hash{31: p.salt}, AuthorizedSigner: p.key.Address()}
}

// open makes the payload that opens a channel and signs for first. From then on it
// is the payer's channel.
func (p *payer) open(deposit, first uint64) *mpp.Open {
	p.t.Helper()
	return p.openBy(p.tx(p.openCall(deposit)), first)
}

// openBy is open with a transaction that is there.
func (p *payer) openBy(tx *tempo.Transaction, first uint64) *mpp.Open {
	p.t.Helper()
	d, _, err := tempo.OpenedBy(tx, p.key.Address())
	if err != nil {
		p.t.Fatal(err)
	}
	p.ref, p.paid = mpp.ChannelRef{ChannelID: p.domain.ChannelID(d), Descriptor: d}, first
	return &mpp.Open{ChannelRef: p.ref, Transaction: tx.Encode(), CumulativeAmount: tempo.AmountFrom(first), Signature: p.sign(first)}
}

// tx is a signed transaction of the payer.
func (p *payer) tx(call tempo.ReserveCall, change ...func(*tempo.Transaction)) *tempo.Transaction {
	p.t.Helper()
	tx := tempo.NewTransaction(p.chain.ChainID(), uint64(time.Now().Unix()), tempo.CallReserve(sandbox.Reserve, call))
	tx.FeeToken, tx.Gas = sandbox.PathUSD, 300_000
	p.sent++
	tx.ValidAfter = uint64(time.Now().Unix()) - 1000 - p.sent // no two are the same
	tx.MaxPriorityFeePerGas, tx.MaxFeePerGas = *uint256.NewInt(1e9), *uint256.NewInt(50e9)
	for _, c := range change {
		c(tx)
	}
	if err := tx.Sign(p.key.Address(), p.key); err != nil {
		p.t.Fatal(err)
	}
	return tx
}

// onChain has the payer act on the chain by itself, past the server.
func (p *payer) onChain(call tempo.ReserveCall, change ...func(*tempo.Transaction)) {
	p.t.Helper()
	p.sendRaw(p.tx(call, change...))
}

func (p *payer) sendRaw(tx *tempo.Transaction) {
	p.t.Helper()
	raw := []byte(`{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransactionSync","params":["0x` + common.Bytes2Hex(tx.Encode()) + `"]}`)
	if answer := p.chain.ServeRPC(p.t.Context(), raw); !strings.Contains(string(answer), `"status":"0x1"`) {
		p.t.Fatalf("%s", answer)
	}
}

// next is the payload that pays amount more: it opens the channel where there is
// none.
func (p *payer) next(q *mpp.SessionRequest, amount uint64) mpp.Payload {
	p.t.Helper()
	if p.ref.ChannelID == (common.Hash{}) {
		deposit, _ := q.SuggestedDeposit.Uint64()
		return p.open(deposit, amount)
	}
	p.paid += amount
	return p.voucher(p.paid)
}

// send makes one request; accept, body and credential may be empty. more are
// further header lines.
func (p *payer) send(method, path, accept, body, credential string, more ...string) *http.Response {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.base+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
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
	resp, err := p.web.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp
}

// ask is send, read to its end.
func (p *payer) ask(method, path, accept, body, credential string, more ...string) said {
	p.t.Helper()
	resp := p.send(method, path, accept, body, credential, more...)
	status, text := read(p.t, resp)
	return said{status, resp.Header, text}
}

// read reads an answer to its end.
func read(t *testing.T, resp *http.Response) (status int, body string) {
	t.Helper()
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

// challenge reads the one of an answer.
func (p *payer) challenge(header http.Header) (*mpp.Challenge, *mpp.SessionRequest) {
	p.t.Helper()
	list, err := mpp.ParseChallenges(header.Values("WWW-Authenticate")...)
	if err != nil || len(list) != 1 {
		p.t.Fatalf("challenges %v, %v", list, err)
	}
	q, err := list[0].SessionRequest()
	if err != nil {
		p.t.Fatal(err)
	}
	return &list[0], q
}

// terms asks a path what it costs.
func (p *payer) terms(method, path, accept, body string) (*mpp.Challenge, *mpp.SessionRequest) {
	p.t.Helper()
	s := p.ask(method, path, accept, body, "")
	if s.status != http.StatusPaymentRequired {
		p.t.Fatalf("%s %s: %d %.300s", method, path, s.status, s.body)
	}
	return p.challenge(s.header)
}

// credential answers a challenge, and says who does.
func (p *payer) credential(ch *mpp.Challenge, payload mpp.Payload) string {
	p.t.Helper()
	return p.credentialOf(ch, payload, mpp.Source{ChainID: p.chain.ChainID(), Address: p.key.Address()})
}

func (p *payer) credentialOf(ch *mpp.Challenge, payload mpp.Payload, source mpp.Source) string {
	p.t.Helper()
	value, err := mpp.NewCredential(ch, payload, source).HeaderValue()
	if err != nil {
		p.t.Fatal(err)
	}
	return value
}

// Paths of the shop. A job is the content that costs one unit at once.
const (
	pathJobs   = "/explain/async"
	pathStream = "/explain"
	events     = "text/event-stream"
)

// order has a job done for a payload; n makes it another request.
func (p *payer) order(n int, payload mpp.Payload) said {
	p.t.Helper()
	ch, _ := p.terms("POST", pathJobs, "", p.body(n))
	return p.ask("POST", pathJobs, "", p.body(n), p.credential(ch, payload))
}

// manage sends a payload that asks for nothing else.
func (p *payer) manage(payload mpp.Payload) said {
	p.t.Helper()
	ch, _ := p.terms("POST", pathJobs, "", "")
	return p.ask("POST", pathJobs, "", "", p.credential(ch, payload))
}

// buy asks, pays what the challenge names, and asks again.
func (p *payer) buy(method, path, accept, body string) (*http.Response, *mpp.Challenge, mpp.Payload) {
	p.t.Helper()
	resp := p.send(method, path, accept, body, "")
	if resp.StatusCode != http.StatusPaymentRequired {
		return resp, nil, nil
	}
	ch, q := p.challenge(resp.Header)
	read(p.t, resp)
	amount, _ := q.Amount.Uint64()
	payload := p.next(q, amount)
	return p.send(method, path, accept, body, p.credential(ch, payload)), ch, payload
}

// receipt reads the header of an answer as a strict client does.
func (p *payer) receipt(header http.Header) *mpp.Receipt {
	p.t.Helper()
	rc, err := mpp.ParseReceipt(header.Get("Payment-Receipt"))
	if err == nil {
		err = rc.Check(p.ref.ChannelID, tempo.AmountFrom(p.paid))
	}
	if err != nil {
		p.t.Fatalf("receipt: %v", err)
	}
	if !strings.Contains(header.Get("Cache-Control"), "private") {
		p.t.Errorf("a receipt under Cache-Control %q", header.Get("Cache-Control"))
	}
	return rc
}

// spent is what was charged so far, as a repeated voucher is told.
func (p *payer) spent() uint64 {
	p.t.Helper()
	s := p.manage(p.voucher(p.paid))
	if s.status != http.StatusNoContent {
		p.t.Fatalf("ask for the standing: %d %s", s.status, s.body)
	}
	n, _ := p.receipt(s.header).Spent.Uint64()
	return n
}

// stream reads a paid stream and signs what it asks for; it returns the last frame,
// the final receipt, and how often a voucher was needed.
func (p *payer) stream(resp *http.Response, ch *mpp.Challenge, path string) (last map[string]any, rc *mpp.Receipt, needed int) {
	p.t.Helper()
	p.each(resp, func(event, data string) {
		switch event {
		case mpp.EventNeedVoucher:
			needed++
			need, err := mpp.DecodeNeedVoucher([]byte(data))
			if err != nil {
				p.t.Fatal(err)
			}
			p.answerNeed(need, ch, path)
		case mpp.EventReceipt:
			var err error
			if rc, err = mpp.DecodeReceipt([]byte(data)); err != nil {
				p.t.Fatal(err)
			}
		default:
			last = map[string]any{}
			if err := stdjson.Unmarshal([]byte(data), &last); err != nil {
				p.t.Fatal(err)
			}
		}
	})
	return last, rc, needed
}

// teeBody keeps what is read of a body.
type teeBody struct {
	io.ReadCloser
	seen io.Writer
}

func (b teeBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.seen.Write(p[:n])
	return n, err
}

// each gives every event of a stream to do.
func (p *payer) each(resp *http.Response, do func(event, data string)) {
	p.t.Helper()
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
		p.t.Fatal(err)
	}
}

// answerNeed posts the voucher that a stream asks for, as the published client does.
func (p *payer) answerNeed(need *mpp.NeedVoucher, ch *mpp.Challenge, path string) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	want, _ := need.RequiredCumulative.Uint64()
	p.paid = max(p.paid, want)
	answer := p.ask("POST", path, "", "", p.credential(ch, p.voucher(p.paid)))
	if answer.status != http.StatusNoContent || answer.body != "" {
		p.t.Errorf("voucher: %d %s", answer.status, answer.body)
	}
	p.receipt(answer.header)
}

// price is what a result must cost, by its own costs.
func price(t *testing.T, result any) uint64 {
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

// close ends the channel and holds the chain's books to what was charged.
func (p *payer) close(spent uint64) {
	p.t.Helper()
	s := p.manage(p.closing(p.paid))
	if rc := p.receipt(s.header); rc.TxHash == (common.Hash{}) || s.status != http.StatusNoContent {
		p.t.Errorf("close: %d, %+v", s.status, rc)
	}
	p.booked(spent)
}

// booked holds the chain's books: the channel has ended, the payee got this much
// and the payer the rest.
func (p *payer) booked(captured uint64) {
	p.t.Helper()
	row := p.row()
	if row.Open || row.Captured.Uint64() != captured || row.Refunded.Uint64() != row.Deposited.Uint64()-captured {
		p.t.Errorf("books %+v, want %d captured", row, captured)
	}
}

// row is the payer's channel as the chain has it.
func (p *payer) row() sandbox.ChannelRow {
	p.t.Helper()
	for _, row := range p.chain.Books().Channels {
		if row.ID == p.ref.ChannelID {
			return row
		}
	}
	p.t.Fatal("the chain has no such channel")
	return sandbox.ChannelRow{}
}
