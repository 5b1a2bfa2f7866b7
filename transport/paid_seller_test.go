package transport

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"txlens/actors/sale"
	"txlens/actors/slots"
	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
	"txlens/testkit/contract"
	"txlens/transport/discovery"
	"txlens/transport/wire"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/go-json-experiment/json/jsontext"
)

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
	mu     sync.Mutex
	ids    []string
	panics bool
}

func (p *paidJobs) SubmitAs(id string, req api.Request) error {
	p.mu.Lock()
	p.ids = append(p.ids, id)
	panics := p.panics
	p.mu.Unlock()
	if panics {
		panic("the disk is gone")
	}
	return p.fakeJobs.SubmitAs(id, req)
}

// sellWith starts a server that sells; change may be nil.
func sellWith(t *testing.T, run script, change func(*Config, *sale.Options)) *shop {
	t.Helper()
	till := newRegister(t)
	sh := &shop{t: t, till: till, jobs: &fakeJobs{refuse: byRequestContext, jobs: map[string]*api.Job{}},
		runs: &fakeRuns{frames: map[string][]jsontext.Value{}}, log: new(lockedLog)}
	options := sale.Options{Bills: till, Collector: till, Holder: till}
	cfg := Config{
		Explainer: run, Jobs: sh.jobs, Runs: sh.runs, Log: slog.New(slog.NewTextHandler(sh.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Payments: Payments{Payer: till, Admissions: till, Snapshots: till, Issuer: till.issuer, Realm: "txlens.example", Request: terms, QueueTime: -1},
	}
	if change != nil {
		change(&cfg, &options)
	}
	till.runs = cfg.Runs
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
