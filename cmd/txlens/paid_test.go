package main

import (
	"bufio"
	"bytes"
	stdjson "encoding/json"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"txlens/engine/meter"
	"txlens/engine/mpp"
	"txlens/engine/mpp/sandbox"
	"txlens/engine/mpp/tempo"
)

// shop is a server that sells, on a settlement sandbox, and a payer.
type shop struct {
	t      *testing.T
	w      *stubWorld
	chain  *sandbox.Chain
	base   string
	rpc    string // of the chain
	payer  *tempo.Secp256k1Key
	domain *tempo.Domain
	web    *http.Client
	sells  []string // flags that make a server sell here
	data   string   // folder of its database

	ref  mpp.ChannelRef
	paid uint64 // signed in all
}

func secretKey(n byte) (*tempo.Secp256k1Key, string) {
	secret := make([]byte, 32)
	secret[31] = n
	k, err := tempo.NewSecp256k1Key(secret)
	if err != nil {
		panic(err)
	}
	return k, common.BytesToHash(secret).Hex()
}

func newShop(t *testing.T, more ...string) *shop {
	t.Helper()
	payer, _ := secretKey(1)
	payee, payeeSecret := secretKey(9)
	rich := *uint256.NewInt(1e12)
	chain, err := sandbox.New(sandbox.Options{Fund: []sandbox.Funding{{Account: payer.Address(), Amount: rich}, {Account: payee.Address(), Amount: rich}}})
	if err != nil {
		t.Fatal(err)
	}
	rpc := httptest.NewServer(chain)
	t.Cleanup(rpc.Close)
	keyFile := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(keyFile, []byte(payeeSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &shop{t: t, w: newStubWorld(t), chain: chain, rpc: rpc.URL, payer: payer, domain: tempo.NewDomain(chain.ChainID(), sandbox.Reserve), web: &http.Client{Transport: &http.Transport{}}}
	s.data = t.TempDir()
	s.sells = []string{
		"--settle-rpc", rpc.URL, "--settle-chain", "42431", "--settle-token", sandbox.PathUSD.Hex(), "--settle-key-file", keyFile, "--realm", "shop.test",
		"--call-price", "rpc=3000000",
	}
	s.base = startServe(t, s.w, append(append([]string{"--data", s.data, "--admin-listen", "off"}, s.sells...), more...)...)
	t.Cleanup(s.web.CloseIdleConnections)
	return s
}

// sign is a voucher for all so far.
func (s *shop) sign(n uint64) []byte {
	s.t.Helper()
	sig, err := s.domain.Sign(s.payer, s.ref.ChannelID, tempo.AmountFrom(n))
	if err != nil {
		s.t.Fatal(err)
	}
	return sig.Bytes()
}

// payload opens the channel, or signs amount more.
func (s *shop) payload(q *mpp.SessionRequest, amount uint64) mpp.Payload {
	s.t.Helper()
	if s.ref.ChannelID != (common.Hash{}) {
		s.paid += amount
		return &mpp.Voucher{ChannelRef: s.ref, CumulativeAmount: tempo.AmountFrom(s.paid), Signature: s.sign(s.paid)}
	}
	deposit := q.SuggestedDeposit
	tx := s.tx(tempo.OpenCall{Payee: q.Recipient, Token: q.Currency, Deposit: deposit, Salt: common.Hash{1}, AuthorizedSigner: s.payer.Address()})
	d, _, err := tempo.OpenedBy(tx, s.payer.Address())
	if err != nil {
		s.t.Fatal(err)
	}
	s.ref = mpp.ChannelRef{ChannelID: s.domain.ChannelID(d), Descriptor: d}
	s.paid = amount
	return &mpp.Open{ChannelRef: s.ref, Transaction: tx.Encode(), CumulativeAmount: tempo.AmountFrom(amount), Signature: s.sign(amount)}
}

func (s *shop) tx(call tempo.ReserveCall) *tempo.Transaction {
	s.t.Helper()
	tx := tempo.NewTransaction(s.chain.ChainID(), uint64(time.Now().Unix()), tempo.CallReserve(sandbox.Reserve, call))
	tx.FeeToken, tx.Gas = sandbox.PathUSD, 300_000
	tx.MaxPriorityFeePerGas, tx.MaxFeePerGas = *uint256.NewInt(1e9), *uint256.NewInt(50e9)
	if err := tx.Sign(s.payer.Address(), s.payer); err != nil {
		s.t.Fatal(err)
	}
	return tx
}

// send makes one request; credential may be empty.
func (s *shop) send(method, path, accept, body, credential string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequest(method, s.base+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	if credential != "" {
		req.Header.Set("Authorization", credential)
	}
	resp, err := s.web.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

// said reads an answer to its end.
func read(t *testing.T, resp *http.Response) (status int, body string) {
	t.Helper()
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

// challenge reads the one of a 402.
func (s *shop) challenge(resp *http.Response) (*mpp.Challenge, *mpp.SessionRequest) {
	s.t.Helper()
	list, err := mpp.ParseChallenges(resp.Header.Values("WWW-Authenticate")...)
	if err != nil || len(list) != 1 {
		s.t.Fatalf("challenges %v, %v of status %d", list, err, resp.StatusCode)
	}
	q, err := list[0].SessionRequest()
	if err != nil {
		s.t.Fatal(err)
	}
	return &list[0], q
}

func (s *shop) credential(ch *mpp.Challenge, p mpp.Payload) string {
	s.t.Helper()
	cr := mpp.NewCredential(ch, p, mpp.Source{ChainID: s.chain.ChainID(), Address: s.payer.Address()})
	value, err := cr.HeaderValue()
	if err != nil {
		s.t.Fatal(err)
	}
	return value
}

// buy asks, pays what the challenge names, and asks again.
func (s *shop) buy(method, path, accept, body string) (*http.Response, *mpp.Challenge, mpp.Payload) {
	s.t.Helper()
	resp := s.send(method, path, accept, body, "")
	if resp.StatusCode != http.StatusPaymentRequired {
		return resp, nil, nil
	}
	ch, q := s.challenge(resp)
	read(s.t, resp)
	amount, _ := q.Amount.Uint64()
	p := s.payload(q, amount)
	return s.send(method, path, accept, body, s.credential(ch, p)), ch, p
}

// receipt reads the header of an answer.
func (s *shop) receipt(resp *http.Response) *mpp.Receipt {
	s.t.Helper()
	rc, err := mpp.ParseReceipt(resp.Header.Get("Payment-Receipt"))
	if err == nil {
		err = rc.Check(s.ref.ChannelID, tempo.AmountFrom(s.paid))
	}
	if err != nil {
		s.t.Fatalf("receipt of status %d: %v", resp.StatusCode, err)
	}
	return rc
}

// stream reads a paid stream and signs what it asks for; it returns the last frame,
// the final receipt, and how often a voucher was needed.
func (s *shop) stream(resp *http.Response, ch *mpp.Challenge, path string) (last map[string]any, rc *mpp.Receipt, needed int) {
	s.t.Helper()
	defer resp.Body.Close()
	event := ""
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		line := lines.Text()
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			event = name
		}
		data, ok := strings.CutPrefix(line, "data: ")
		switch {
		case line == "":
			event = ""
		case !ok:
		case event == mpp.EventNeedVoucher:
			needed++
			need, err := mpp.DecodeNeedVoucher([]byte(data))
			if err != nil {
				s.t.Fatal(err)
			}
			want, _ := need.RequiredCumulative.Uint64()
			p := s.payload(nil, want-s.paid)
			answer := s.send("POST", path, "", "", s.credential(ch, p))
			s.receipt(answer)
			if status, body := read(s.t, answer); status != http.StatusNoContent || body != "" {
				s.t.Fatalf("voucher: %d %s", status, body)
			}
		case event == mpp.EventReceipt:
			var err error
			if rc, err = mpp.DecodeReceipt([]byte(data)); err != nil {
				s.t.Fatal(err)
			}
		default:
			last = map[string]any{}
			if err := stdjson.Unmarshal([]byte(data), &last); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	if err := lines.Err(); err != nil {
		s.t.Fatal(err)
	}
	return last, rc, needed
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

// TestPaidStream: from the challenge to the refund, on one channel.
func TestPaidStream(t *testing.T) {
	s := newShop(t)
	body := `{"txHash":"` + s.w.tx.Hash + `","chainId":1}`
	status, text := read(t, s.send("POST", "/explain", "", body, ""))
	if status != 402 || !strings.Contains(text, `"code":"use_metered_sse"`) {
		t.Fatalf("plain JSON: %d %s", status, text)
	}
	if status, text = read(t, s.send("POST", "/explain", "text/event-stream", `{"txHash":"0x12"}`, "")); status != 400 {
		t.Fatalf("bad hash: %d %s", status, text)
	}
	resp, ch, p := s.buy("POST", "/explain", "text/event-stream", body)
	if resp.StatusCode != 200 {
		_, text := read(t, resp)
		t.Fatalf("%d %s", resp.StatusCode, text)
	}
	if rc := s.receipt(resp); rc.Spent != tempo.AmountFrom(10_000) {
		t.Errorf("spent at first %s", rc.Spent)
	}
	last, rc, needed := s.stream(resp, ch, "/explain?x=1")
	if last["type"] != "result" || last["txHash"] != s.w.tx.Hash || rc == nil || needed == 0 {
		t.Fatalf("last %v, receipt %+v, %d vouchers", last["type"], rc, needed)
	}
	want := price(t, last)
	if rc.Spent != tempo.AmountFrom(want) {
		t.Errorf("charged %s, want %d for costs of %v", rc.Spent, want, last["costs"])
	}
	// The same voucher again gets the same run, and pays nothing.
	again, receipt, needed := s.stream(s.send("POST", "/explain", "text/event-stream", body, s.credential(ch, p)), ch, "/explain")
	if again["requestId"] != last["requestId"] || needed != 0 || receipt == nil || receipt.Spent != rc.Spent {
		t.Errorf("again: %v, %d vouchers, receipt %+v; want run %v", again["type"], needed, receipt, last["requestId"])
	}
	id := last["requestId"].(string)
	if status, text := read(t, s.send("GET", "/explain/run/"+id, "", "", "")); status != 200 {
		t.Errorf("a run that is paid: %d %.200s", status, text)
	}
	s.close(want)
}

// close ends the channel and holds the chain's books to what was charged.
func (s *shop) close(spent uint64) {
	s.t.Helper()
	resp := s.send("POST", "/explain", "", "", "")
	ch, _ := s.challenge(resp)
	read(s.t, resp)
	resp = s.send("POST", "/explain", "", "", s.credential(ch, &mpp.Close{ChannelRef: s.ref, CumulativeAmount: tempo.AmountFrom(s.paid), Signature: s.sign(s.paid)}))
	if rc := s.receipt(resp); rc.TxHash == (common.Hash{}) || resp.StatusCode != http.StatusNoContent {
		s.t.Errorf("close: %d, %+v", resp.StatusCode, rc)
	}
	read(s.t, resp)
	rows := s.chain.Books().Channels
	if len(rows) != 1 || rows[0].Open || rows[0].Captured.Uint64() != spent || rows[0].Refunded.Uint64() != 16_000_000-spent {
		s.t.Errorf("books %+v, want %d captured", rows, spent)
	}
}

// TestPaidJob: a job costs in all what a stream costs, collected by its polls.
func TestPaidJob(t *testing.T) {
	s := newShop(t)
	body := `{"txHash":"` + s.w.tx.Hash + `","chainId":1}`
	resp, ch, p := s.buy("POST", "/explain/async", "", body)
	status, text := read(t, resp)
	var job struct{ JobID string }
	if err := stdjson.Unmarshal([]byte(text), &job); status != 202 || err != nil {
		t.Fatalf("%d %s", status, text)
	}
	if status, again := read(t, s.send("POST", "/explain/async", "", body, s.credential(ch, p))); status != 202 || again != text {
		t.Errorf("the same voucher again: %d %s, want %s", status, again, text)
	}
	var polled struct {
		Status string
		Result stdjson.RawMessage
	}
	for end := time.Now().Add(30 * time.Second); polled.Status != "complete"; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("job is %s", polled.Status)
		}
		resp, _, _ := s.buy("GET", "/result/"+job.JobID, "", "")
		status, text := read(t, resp)
		if status == 402 {
			continue // it ended between the challenge and its answer
		}
		if err := stdjson.NewDecoder(bytes.NewReader([]byte(text))).Decode(&polled); status != 200 || err != nil {
			t.Fatalf("%d %s", status, text)
		}
	}
	want := price(t, polled.Result)
	if status, _ := read(t, s.send("GET", "/result/"+job.JobID, "", "", "")); status != 200 {
		t.Errorf("a job that is paid: %d", status)
	}
	if s.paid != want {
		t.Errorf("paid %d, want %d", s.paid, want)
	}
	s.close(want)
}

// TestPaidDeposit: the probe opens a channel and buys nothing; a small one is not
// served.
func TestPaidDeposit(t *testing.T) {
	s := newShop(t)
	resp, _, _ := s.buy("POST", "/session/deposit", "", "")
	if status, text := read(t, resp); status != 200 || text != `{"ok":true}` {
		t.Fatalf("%d %s", status, text)
	}
	if rc := s.receipt(resp); !rc.Spent.IsZero() {
		t.Errorf("spent %s", rc.Spent)
	}
	s.close(0)
	small := newShop(t, "--suggested-deposit", "2", "--min-deposit", "1.5")
	small.t.Log("a channel of the suggested deposit is served")
	resp, _, _ = small.buy("POST", "/session/deposit", "", "{}")
	if status, text := read(t, resp); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
}

// TestPaidDropped: a client that leaves owes what it has not paid, and gets its run
// for exactly that.
func TestPaidDropped(t *testing.T) {
	s := newShop(t)
	resp, _, _ := s.buy("POST", "/explain", "text/event-stream", `{"txHash":"`+s.w.tx.Hash+`","chainId":1}`)
	id := resp.Header.Get("X-Request-Id")
	resp.Body.Close()
	s.web.CloseIdleConnections()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		resp, _, _ := s.buy("GET", "/explain/run/"+id, "", "")
		status, text := read(t, resp)
		if status == 200 {
			var run struct{ Frames []map[string]any }
			if err := stdjson.Unmarshal([]byte(text), &run); err != nil || len(run.Frames) != 2 {
				t.Fatalf("%v %.300s", err, text)
			}
			want := price(t, run.Frames[1])
			if s.paid != want {
				t.Errorf("paid %d, want %d", s.paid, want)
			}
			s.close(want)
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d %.300s", status, text)
		}
	}
}
