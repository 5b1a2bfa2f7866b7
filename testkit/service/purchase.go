package service

import (
	"bufio"
	"encoding/base64"
	stdjson "encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"txlens/engine/meter"
	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"

	"github.com/ethereum/go-ethereum/common"
)

// StreamUnpaid buys a stream, pays its first unit and signs nothing more. It returns the id
// of the run once the stream has ended.
func (p *Payer) StreamUnpaid(n int) (id string) {
	p.T.Helper()
	resp, _, _ := p.Buy("POST", PathStream, EventStream, p.Body(n))
	if resp.StatusCode != http.StatusOK {
		_, text := ReadAnswer(p.T, resp)
		p.T.Fatalf("%d %s", resp.StatusCode, text)
	}
	id = resp.Header.Get("X-Request-Id")
	last := ""
	p.Each(resp, func(_, data string) { last = data })
	if strings.Contains(last, `"type":"result"`) {
		p.T.Fatalf("the result of a run that is not paid: %.200s", last)
	}
	return id
}

// StreamOnce buys a stream and pays for it to its end.
func (p *Payer) StreamOnce(n int) (last map[string]any, rc *mpp.Receipt, needed int) {
	p.T.Helper()
	resp, ch, _ := p.Buy("POST", PathStream, EventStream, p.Body(n))
	if resp.StatusCode != http.StatusOK {
		_, text := ReadAnswer(p.T, resp)
		p.T.Fatalf("%d %s", resp.StatusCode, text)
	}
	return p.Stream(resp, ch, PathStream)
}

// OrderOnce asks a path for content with one more unit signed.
func (p *Payer) OrderOnce(path string, n int) Answer {
	p.T.Helper()
	ch, _ := p.Terms("POST", path, EventStream, p.Body(n))
	p.Paid += meter.Cent
	return p.Ask("POST", path, EventStream, p.Body(n), p.Credential(ch, p.Voucher(p.Paid)))
}

// UntilPaid signs what a stream asks for until so much is signed, and leaves it open.
func (p *Payer) UntilPaid(resp *http.Response, ch *mpp.Challenge, sum uint64) {
	p.T.Helper()
	event, lines := "", bufio.NewScanner(resp.Body)
	for p.Paid < sum && lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			event = name
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || event != mpp.EventNeedVoucher {
			continue
		}
		event = ""
		need, err := mpp.DecodeNeedVoucher([]byte(data))
		if err != nil {
			p.T.Fatal(err)
		}
		p.AnswerNeed(need, ch, PathStream)
	}
	if p.Paid < sum {
		p.T.Fatalf("the stream ended with %d of %d signed: %v", p.Paid, sum, lines.Err())
	}
}

// Eventually waits until something holds.
func (p *Payer) Eventually(what string, holds func() bool) {
	p.T.Helper()
	for end := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			p.T.Fatalf("it never came to be that %s", what)
		}
	}
}

// Refused holds an answer to a problem: its document, the fresh challenge that goes
// with what can be mended, and no receipt.
func (p *Payer) Refused(s Answer, want mpp.ProblemType) *mpp.Problem {
	p.T.Helper()
	got, err := mpp.ParseProblem([]byte(s.Body))
	if err != nil || got.Type != want || s.Status != want.Status() || s.Header.Get("Content-Type") != mpp.ProblemMedia {
		p.T.Errorf("%d %s %.300s (%v), want %s", s.Status, s.Header.Get("Content-Type"), s.Body, err, want)
		return &mpp.Problem{}
	}
	if s.Status == http.StatusPaymentRequired || s.Status == http.StatusGone {
		if ch, _ := p.Challenge(s.Header); ch.ID != got.ChallengeID {
			p.T.Errorf("the document names challenge %s, the header has %s", got.ChallengeID, ch.ID)
		}
	}
	if s.Header.Get("Payment-Receipt") != "" || s.Header.Get("Cache-Control") != "no-store" {
		p.T.Errorf("a refusal with %v", s.Header)
	}
	return got
}

// Unsent: the chain has not seen the channel of a payload.
func (p *Payer) Unsent(payload mpp.Payload) {
	p.T.Helper()
	for _, row := range p.Chain.Books().Channels {
		if row.ID == payload.Ref().ChannelID {
			p.T.Error("the transaction was sent")
		}
	}
}

// Forge changes the document of a credential.
func (p *Payer) Forge(credential string, change func(doc map[string]any)) string {
	p.T.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(credential, "Payment "))
	if err != nil {
		p.T.Fatal(err)
	}
	var doc map[string]any
	if err := stdjson.Unmarshal(raw, &doc); err != nil {
		p.T.Fatal(err)
	}
	change(doc)
	if raw, err = stdjson.Marshal(doc); err != nil {
		p.T.Fatal(err)
	}
	return "Payment " + base64.RawURLEncoding.EncodeToString(raw)
}

// Chunked asks with a body of unknown length.
func (p *Payer) Chunked(method, path, body, credential string) Answer {
	p.T.Helper()
	req, err := http.NewRequestWithContext(p.T.Context(), method, p.Base+path, struct{ *strings.Reader }{strings.NewReader(body)})
	if err != nil {
		p.T.Fatal(err)
	}
	req.ContentLength = -1
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", credential)
	resp, err := p.Web.Do(req)
	if err != nil {
		p.T.Fatal(err)
	}
	status, text := ReadAnswer(p.T, resp)
	return Answer{status, resp.Header, text}
}

// BuysWithoutSigning submits so many jobs on the voucher that stands. It is worth so
// many cents, and nothing of it may be spent or held yet.
func (p *Payer) BuysWithoutSigning(jobs int) {
	p.T.Helper()
	if n := p.Spent(); n != 0 {
		p.T.Errorf("spent %d", n)
	}
	for n := range jobs {
		if got := p.Order(n, p.Voucher(p.Paid)); got.Status != 202 {
			p.T.Errorf("job %d of %d: %d %s", n+1, jobs, got.Status, got.Body)
		}
	}
	if n := p.Spent(); n != uint64(jobs)*meter.Cent {
		p.T.Errorf("spent %d for %d jobs", n, jobs)
	}
}

// Prove asks a path for the challenge to prove an account, and answers it.
func (p *Payer) Prove(path string) (credential string) {
	p.T.Helper()
	got := p.Ask("HEAD", path, "", "", "", "Accept-Payment: tempo/charge;q=0.5, x/y")
	list, err := mpp.ParseChallenges(got.Header.Values("WWW-Authenticate")...)
	if err != nil || len(list) != 1 || got.Status != 402 || list[0].Intent != "charge" {
		p.T.Fatalf("%s: %d %v %v", path, got.Status, list, err)
	}
	ch := &list[0]
	sig, err := p.Key.SignDigest(tempo.ProofDigest(p.Chain.ChainID(), p.Key.Address(), ch.ID, ch.Realm))
	if err != nil {
		p.T.Fatal(err)
	}
	return p.Forge(p.Credential(ch, p.Voucher(0)), func(doc map[string]any) {
		doc["payload"] = map[string]any{"type": "proof", "signature": "0x" + common.Bytes2Hex(sig.Bytes())}
	})
}

// AtNeed reads a stream until it asks for a voucher, has do answer that, and then
// reads on as a client that pays. It gives the last frame and the receipt.
func (p *Payer) AtNeed(path, body string, do func(need *mpp.NeedVoucher, ch *mpp.Challenge)) (last string, rc *mpp.Receipt) {
	p.T.Helper()
	resp, ch, _ := p.Buy("POST", path, EventStream, body)
	if resp.StatusCode != 200 {
		_, text := ReadAnswer(p.T, resp)
		p.T.Fatalf("%d %s", resp.StatusCode, text)
	}
	first := true
	p.Each(resp, func(event, data string) {
		var err error
		switch event {
		case mpp.EventNeedVoucher:
			need, err := mpp.DecodeNeedVoucher([]byte(data))
			if err != nil {
				p.T.Fatal(err)
			}
			if first {
				first = false
				do(need, ch)
				return
			}
			p.AnswerNeed(need, ch, path)
		case mpp.EventReceipt:
			if rc, err = mpp.DecodeReceipt([]byte(data)); err != nil {
				p.T.Fatal(err)
			}
		default:
			last = data
		}
	})
	if first {
		p.T.Error("no voucher was asked for")
	}
	return last, rc
}

// CheckUnavailable holds an answer to one of a fault that is not the payer's.
func (p *Payer) CheckUnavailable(s Answer) {
	p.T.Helper()
	got, err := mpp.ParseProblem([]byte(s.Body))
	if err != nil || s.Status != http.StatusServiceUnavailable || got.Type != mpp.InternalPaymentError ||
		s.Header.Get("Retry-After") == "" {
		p.T.Errorf("%d %v %.300s", s.Status, s.Header, s.Body)
	}
}

// Steal buys streams for one unit each, and signs for nothing more.
func (p *Payer) Steal(over <-chan struct{}, attempts, begun *atomic.Int64) {
	for n := 0; ; n++ {
		select {
		case <-over:
			return
		case <-time.After(100 * time.Millisecond):
		}
		attempts.Add(1)
		body := strings.Replace(p.Body(0), `"context":"`, `"context":"`+strconv.Itoa(n), 1)
		ch, q := p.Terms("POST", PathStream, EventStream, body)
		var payload mpp.Payload
		if p.Ref.ChannelID == (common.Hash{}) {
			payload = p.Open(2*Dollar, meter.Cent)
		} else if p.Paid += meter.Cent; p.Paid <= 2*Dollar {
			payload = p.Next(q, 0)
		} else {
			return
		}
		resp := p.Send("POST", PathStream, EventStream, body, p.Credential(ch, payload))
		if resp.StatusCode == http.StatusOK {
			begun.Add(1)
		}
		go func() {
			<-over
			resp.Body.Close()
		}()
		if resp.StatusCode != http.StatusOK {
			ReadAnswer(p.T, resp)
		}
	}
}

// FramePrice is what the result of a last frame must cost, in base units.
func FramePrice(t *testing.T, frame map[string]any) uint64 {
	if frame == nil {
		return 0
	}
	return Price(t, frame)
}
