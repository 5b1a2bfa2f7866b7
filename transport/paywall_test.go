package transport

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"

	"txlens/actors/channel"
	"txlens/actors/sale"
	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/mpp"
)

func TestPaymentDefaults(t *testing.T) {
	if p := (Payments{}).withDefaults(); p.MinDeposit != units(2_000_000) || p.QueueTime != 10*time.Second {
		t.Errorf("%+v", p)
	}
	if p := (Payments{MinDeposit: units(1), QueueTime: -1}).withDefaults(); p.MinDeposit != units(1) || p.QueueTime != -1 {
		t.Errorf("%+v", p)
	}
	if c := (Config{Payments: Payments{Payer: newRegister(t)}}).withDefaults(); !c.Metered {
		t.Error("a service that sells is not metered")
	}
	if (Config{}).withDefaults().Metered {
		t.Error("a service that sells nothing is metered")
	}
}

// TestOffersAreMadeOnce: that of a path with a fixed price is made at the start, any
// other one when it is asked for.
func TestOffersAreMadeOnce(t *testing.T) {
	s := sellWith(t, spends(0), nil).s
	f := func(path string, amount uint64, once bool) {
		t.Helper()
		first := s.offer(path, units(amount))
		if (first == s.offer(path, units(amount))) != once || first.Request.Amount != units(amount) || first.AnyPrice {
			t.Errorf("%s for %d: %+v", path, amount, first)
		}
		if scope, err := mpp.DecodeOpaque(first.Opaque); err != nil || scope["scope"] != path || len(scope) != 1 {
			t.Errorf("%s: opaque %v, %v", path, scope, err)
		}
		if want := first.Request; want.Currency != terms.Currency || want.Recipient != terms.Recipient || first.Realm != "txlens.example" || first.Description == "" {
			t.Errorf("%+v", first)
		}
	}
	f("/explain", meter.Cent, true)
	f("/explain/async", meter.Cent, true)
	f("/session/deposit", meter.Cent, true)
	f("/explain", 2*meter.Cent, false)
	f("/result/"+jobID, meter.Cent, false)
}

// TestBrokenTerms: a service whose terms cannot be written says 402, and the log why
// without a challenge.
func TestBrokenTerms(t *testing.T) {
	sh := sellWith(t, spends(0), func(c *Config, _ *sale.Options) { c.Payments.Request.SessionProtocol = "" })
	if len(sh.s.offers) != 0 {
		t.Errorf("offers %v", sh.s.offers)
	}
	a := do(t, client(t), "HEAD", sh.url+"/health", "", nil)
	if a.status != 200 {
		t.Errorf("%d", a.status)
	}
	sh.c.Transport = nil // an answer without a challenge is not described
	a = sh.ask("POST", "/explain", goodBody, "Accept", eventStream)
	sh.c.CloseIdleConnections()
	if a.status != 402 || a.header.Get(mpp.HeaderChallenge) != "" || strings.Contains(a.body, "challengeId") || !strings.Contains(sh.log.String(), "issue challenge") {
		t.Errorf("%d %v %s\n%s", a.status, a.header, a.body, sh.log)
	}
}

// TestDemands has a row for each request without a credential.
func TestDemands(t *testing.T) {
	sh := sellWith(t, spends(0), nil)
	f := func(method, path, body string) {
		t.Helper()
		before := time.Now()
		a := sh.ask(method, path, body, "Accept", eventStream)
		ch := sh.challengeOf(a)
		if a.status != 402 || ch == nil {
			t.Fatalf("%d %v %s", a.status, a.header, a.body)
		}
		if method != "HEAD" {
			sh.wantProblem(a, 402, mpp.PaymentRequired)
			if !strings.Contains(a.body, "answer the challenge in WWW-Authenticate") {
				t.Errorf("%s", a.body)
			}
		}
		q, err := ch.SessionRequest()
		if err != nil {
			t.Fatal(err)
		}
		want := terms
		want.Amount = unitPrice
		if *q != want || ch.Realm != "txlens.example" || ch.Description != "Analysis of one EVM transaction" {
			t.Errorf("challenge %+v, request %+v", ch, q)
		}
		if scope, err := mpp.DecodeOpaque(ch.Opaque); err != nil || scope["scope"] != path {
			t.Errorf("scope %v, %v", scope, err)
		}
		// Its lifetime, but for the fraction of a second that is not written.
		if ch.CheckExpires(before.Add(mpp.ChallengeLifetime-2*time.Second)) != nil || ch.CheckExpires(time.Now().Add(mpp.ChallengeLifetime+2*time.Second)) == nil {
			t.Errorf("it expires %s", ch.Expires)
		}
		sh.wantCalls("")
	}
	f("POST", "/explain", goodBody)
	f("POST", "/explain", "")
	f("HEAD", "/explain", "")
	f("POST", "/explain/async", goodBody)
	f("POST", "/explain/async", "")
	f("HEAD", "/explain/async", "")
	f("POST", "/session/deposit", "")
	f("POST", "/session/deposit", "{}")
	f("HEAD", "/session/deposit", "")
	f("POST", "/result/"+jobID, "")
	f("POST", "/explain/run/"+jobID, "")
}

// TestFreeFaults: what is wrong with a request is told before anything is asked of its
// payer, and with a credential before it is looked at.
func TestFreeFaults(t *testing.T) {
	sh := sellWith(t, spends(0), func(c *Config, _ *sale.Options) { c.Explainer = &fake{well} })
	f := func(path, body string, status int, code, says string) {
		t.Helper()
		sh.wantFault(sh.ask("POST", path, body, "Accept", eventStream), status, code, says)
		sh.wantFault(sh.buy(path, body, voucher(20_000)), status, code, says)
		sh.wantCalls("")
	}
	for _, path := range []string{"/explain", "/explain/async"} {
		f(path, `{}`, 400, "", "txHash: is missing")
		f(path, `{"txHash":"`+hash+`","chainId":987654321}`, 400, "", "chainId: chain is not supported")
	}
	f("/session/deposit", `{"a":1}`, 400, "", "the body must be empty or {}")
	f("/result/"+jobID, goodBody, 400, "", "this path takes no body")
	f("/explain/run/"+jobID, goodBody, 400, "", "this path takes no body")
	if a := sh.ask("PUT", "/explain", ""); a.status != 405 {
		t.Errorf("PUT: %d", a.status)
	}
	if a := sh.ask("POST", "/health", ""); a.status != 405 {
		t.Errorf("POST /health: %d", a.status)
	}
}

// TestNoJobsSold: where no jobs are taken, none is paid for.
func TestNoJobsSold(t *testing.T) {
	sh := sellWith(t, spends(0), func(c *Config, _ *sale.Options) { c.Jobs = nil })
	sh.wantFault(sh.ask("POST", "/explain/async", goodBody), 503, api.CodeJobsOff, "use POST /explain")
	sh.wantFault(sh.buy("/explain/async", goodBody, voucher(20_000)), 503, api.CodeJobsOff, "use POST /explain")
	sh.wantCalls("")
}

// TestCredentialsInHeaders: a credential counts only in the header that its challenge selected;
// what cannot be read is refused before the body is.
func TestCredentialsInHeaders(t *testing.T) {
	sh := sellWith(t, spends(0), nil)
	value := sh.answerTo("/explain", meter.Cent, voucher(20_000))
	route := sh.s.newOffer("/explain", units(meter.Cent))
	route.Header = mpp.HeaderPaymentAuthorization
	ch, err := sh.till.issuer.Issue(route, time.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	selecting, err := mpp.NewCredential(ch, voucher(20_000), mpp.Source{}).HeaderValue()
	if err != nil {
		t.Fatal(err)
	}
	sh.wantReceipt(sh.ask("POST", "/explain", "", "Authorization", value), 204, 20_000, 0)
	sh.wantCalls("Pay")
	sh.wantReceipt(sh.ask("POST", "/explain", "", "Payment-Authorization", selecting), 204, 20_000, 0)
	sh.wantCalls("Pay")
	sh.wantReceipt(sh.ask("POST", "/explain", "", "Authorization", "Bearer x", "Payment-Authorization", selecting), 204, 20_000, 0)
	sh.wantCalls("Pay")
	for _, path := range []string{"/explain", "/explain/async", "/session/deposit", "/result/" + jobID} {
		sh.wantProblem(sh.ask("POST", path, "", "Payment-Authorization", value), 402, mpp.MalformedCredential)
		sh.wantProblem(sh.ask("POST", path, "", "Authorization", selecting), 402, mpp.MalformedCredential)
	}
	sh.wantCalls("")
	for _, path := range []string{"/explain", "/explain/async", "/session/deposit", "/result/" + jobID} {
		sh.wantProblem(sh.ask("POST", path, "", "Authorization", "Payment nonsense"), 402, mpp.MalformedCredential)
	}
	two := sh.answerTo("/explain", meter.Cent, voucher(20_000))
	sh.wantProblem(sh.ask("POST", "/explain", goodBody, "Authorization", two, "Payment-Authorization", two), 400, mpp.BadRequest)
	sh.wantProblem(sh.ask("POST", "/explain", goodBody, "Authorization", "Bearer x", "Accept", eventStream), 402, mpp.PaymentRequired)
	sh.wantCalls("")
}

// TestRefusals has a row for each error of the till: status, headers, and whether there
// is a challenge, on each path that takes a credential.
func TestRefusals(t *testing.T) {
	sh := sellWith(t, spends(0), nil)
	final := func(id string, price uint64) {
		sh.till.change(func() { sh.till.bills[id] = channel.Bill{ID: id, Price: units(price), Final: true} })
	}
	id := "0199d5f0-0000-7000-8000-000000000042"
	sh.jobs.jobs[id] = &api.Job{JobID: id, Status: api.JobComplete}
	final(id, 20_000)
	asks := map[string]func() answer{
		"stream":  func() answer { return sh.buy("/explain", goodBody, voucher(20_000)) },
		"job":     func() answer { return sh.buy("/explain/async", goodBody, voucher(20_000)) },
		"deposit": func() answer { return sh.buy("/session/deposit", "", opening(0)) },
		"voucher": func() answer { return sh.buy("/explain", "", voucher(20_000)) },
		"poll": func() answer {
			return sh.ask("GET", "/result/"+id, "", "Authorization", sh.answerTo("/result/"+id, 20_000, voucher(20_000)))
		},
	}
	f := func(err error, status int, kind mpp.ProblemType, retry string) {
		t.Helper()
		sh.till.fail("Pay", err)
		for what, ask := range asks {
			a := ask()
			sh.wantProblem(a, status, kind)
			if a.header.Get("Retry-After") != retry {
				t.Errorf("%s: Retry-After %q, want %q", what, a.header.Get("Retry-After"), retry)
			}
			if want := "Pay"; status == 402 || status == 410 {
				amount := map[bool]string{true: "20000", false: "10000"}[what == "poll"]
				sh.wantCalls(want + ", Snapshot " + amount)
			} else {
				sh.wantCalls(want)
			}
		}
	}
	f(&mpp.Problem{Type: mpp.InvalidSignature}, 402, mpp.InvalidSignature, "")
	f(fmt.Errorf("pay: %w", &mpp.Problem{Type: mpp.InsufficientBalance}), 402, mpp.InsufficientBalance, "")
	f(&mpp.Problem{Type: mpp.ChannelFinalized}, 410, mpp.ChannelFinalized, "")
	f(&mpp.Problem{Type: mpp.MethodUnsupported}, 400, mpp.MethodUnsupported, "")
	f(mpp.RateLimited(1500*time.Millisecond, "too many"), 429, mpp.TooManyRequests, "2")
	f(mpp.RateLimited(2*time.Second, "too many"), 429, mpp.TooManyRequests, "2")
	f(mpp.Unreachable(5*time.Second, errors.New("secret: node.example")), 503, mpp.InternalPaymentError, "5")
	if !strings.Contains(sh.log.String(), "node.example") {
		t.Error("the log does not say why the chain cannot be reached")
	}
	f(errors.New("secret: the disk is gone"), 500, mpp.InternalPaymentError, "")
	if !strings.Contains(sh.log.String(), "the disk is gone") || !strings.Contains(sh.log.String(), "code=session/invalid-signature") {
		t.Errorf("log %s", sh.log)
	}
	sh.till.fail("Pay", &channel.DepositError{Deposit: units(7), Min: units(2_000_000)})
	for _, ask := range asks {
		sh.wantFault(ask(), 402, api.CodeDeposit, "deposit of 7 base units is below the minimum of 2000000")
		sh.wantCalls("Pay")
	}
}

// TestSnapshotInChallenge: a client that fell behind is told where its channel stands.
func TestSnapshotInChallenge(t *testing.T) {
	sh := sellWith(t, spends(0), nil)
	sh.till.fail("Pay", &mpp.Problem{Type: mpp.VerificationFailed})
	told := func(a answer) *mpp.Snapshot {
		t.Helper()
		sh.wantProblem(a, 402, mpp.VerificationFailed)
		q, err := sh.challengeOf(a).SessionRequest()
		if err != nil || q.Amount != unitPrice {
			t.Fatalf("%+v, %v", q, err)
		}
		return q.SessionSnapshot
	}
	if snap := told(sh.buy("/explain", goodBody, voucher(10_000))); snap != nil {
		t.Errorf("%+v", snap)
	}
	sh.till.change(func() { sh.till.snapshot = snapshotFor(30_000) })
	if snap := told(sh.buy("/explain", goodBody, voucher(10_000))); snap == nil || snap.RequiredCumulative != units(30_000) || snap.ChannelID != ref.ChannelID {
		t.Errorf("%+v", snap)
	}
	if sh.s.offers["/explain"].Request.SessionSnapshot != nil {
		t.Error("the snapshot is in the offer to everybody")
	}
	sh.till.change(func() {
		for i, bounded := range sh.till.bounded {
			if !bounded {
				t.Errorf("call %d has no deadline", i)
			}
		}
	})
}

// TestPayRequests: what the till is told of a request.
func TestPayRequests(t *testing.T) {
	sh := sellWith(t, spends(0), nil)
	f := func(method, path, body string, p mpp.Payload, headers []string, want mpp.Shape, content bool) {
		t.Helper()
		sh.till.change(func() { sh.till.paid, sh.till.begun = nil, nil })
		sh.ask(method, path, body, append(headers, "Authorization", sh.answerTo(path, meter.Cent, p), "Accept", eventStream)...)
		sh.till.change(func() {
			if len(sh.till.paid) != 1 {
				t.Fatalf("%d payments", len(sh.till.paid))
			}
			q := sh.till.paid[0]
			if q.Shape != want || q.Origin != netip.MustParsePrefix("127.0.0.1/32") || (q.Begun != nil) != content {
				t.Errorf("%+v, want %+v", q, want)
			}
			if content && (len(sh.till.begun) != 1 || sh.till.begun[0] != sh.till.orders[len(sh.till.orders)-1].Key) {
				t.Errorf("asked for %v", sh.till.begun)
			}
		})
	}
	f("POST", "/explain", goodBody, voucher(50_000), nil, mpp.Shape{Method: "POST", HasBody: true}, true)
	f("POST", "/explain/async", goodBody, opening(50_000), []string{"Idempotency-Key", "x"}, mpp.Shape{Method: "POST", HasBody: true}, true)
	f("POST", "/explain", "", voucher(50_000), []string{"Accept-Payment", "tempo/session"}, mpp.Shape{Method: "POST", HasAccept: true}, false)
	f("HEAD", "/explain/async", "", voucher(50_000), []string{"Payment-Session", "0x00"}, mpp.Shape{Method: "HEAD", HasSession: true}, false)
	f("POST", "/explain", goodBody, topUp(), nil, mpp.Shape{Method: "POST", HasBody: true}, false)
	f("POST", "/explain/async", goodBody, closing(50_000), nil, mpp.Shape{Method: "POST", HasBody: true}, false)
	f("POST", "/session/deposit", "", opening(50_000), nil, mpp.Shape{Method: "POST"}, false)
}

// TestPayTakesTooLong: a payment that is cut off is no refusal.
func TestPayTakesTooLong(t *testing.T) {
	for path, p := range map[string]mpp.Payload{"/explain": voucher(20_000), "/session/deposit": topUp()} {
		payTakesTooLong(t, path, p)
	}
}

func payTakesTooLong(t *testing.T, path string, p mpp.Payload) {
	t.Helper()
	sh := sellWith(t, spends(0), nil)
	sh.till.change(func() { sh.till.block = make(chan struct{}) })
	got := make(chan answer)
	body := goodBody
	if path != "/explain" {
		body = ""
	}
	go func() { got <- sh.buy(path, body, p) }()
	until(t, "it pays", func() bool { return sh.till.took() == "Pay" })
	sh.s.cancel(api.ErrStopping)
	a := <-got
	sh.wantFault(a, 503, api.CodeStopping, "stopping")
	if a.header.Get("Retry-After") != "5" {
		t.Errorf("%v", a.header)
	}
	sh.wantCalls("")
}

// TestPayTime: a payment has a minute.
func TestPayTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		till := newRegister(t)
		till.block = make(chan struct{})
		s := New(Config{Payments: Payments{Payer: till, Admissions: till, Snapshots: till, Seller: sale.New(sale.Options{Bills: till, Collector: till, Holder: till}), Issuer: till.issuer, Request: terms}})
		defer s.cancel(nil)
		sh := &shop{t: t, s: s, till: till}
		ctx, cr := requestWith(t, "/explain", "", sh.answerTo("/explain", meter.Cent, voucher(1)))
		before := time.Now()
		if p, done := s.pay(ctx, cr, s.offer("/explain", unitPrice), ""); p != nil || !done || ctx.Response.StatusCode() != 503 {
			t.Errorf("%v, %v, %d", p, done, ctx.Response.StatusCode())
		}
		if took := time.Since(before); took != time.Minute {
			t.Errorf("after %v", took)
		}
	})
}

// requestWith is a request outside of any connection.
func requestWith(t *testing.T, path, body, credential string, headers ...string) (*fasthttp.RequestCtx, *mpp.Credential) {
	t.Helper()
	var req fasthttp.Request
	req.Header.SetMethod("POST")
	req.SetRequestURI(path)
	req.SetBodyString(body)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	ctx := new(fasthttp.RequestCtx)
	ctx.Init(&req, nil, nil)
	newVisit(ctx)
	if credential == "" {
		return ctx, nil
	}
	cr, err := mpp.ParseCredential(credential)
	if err != nil {
		t.Fatal(err)
	}
	return ctx, cr
}

func ctxOf(t *testing.T, path, body string) *fasthttp.RequestCtx {
	ctx, _ := requestWith(t, path, body, "")
	return ctx
}

func TestCumulative(t *testing.T) {
	f := func(p mpp.Payload, want uint64) {
		t.Helper()
		if got := cumulative(p); got != units(want) {
			t.Errorf("%s", got)
		}
	}
	f(voucher(7), 7)
	f(opening(8), 8)
	f(closing(9), 0)
	f(topUp(), 0)
}

// TestRefusedAdmissions has a row for each reason not to begin an analysis that was
// paid for: status, code, what stays charged.
func TestRefusedAdmissions(t *testing.T) {
	sh := sellWith(t, spends(0), func(c *Config, o *sale.Options) { c.MaxAnalyses = 1; oneJob(c, o) })
	both := func(f func(path string)) { f("/explain"); f("/explain/async") }
	both(func(path string) {
		sh.till.fail("Admit", errors.New("secret: the disk is gone"))
		a := sh.buy(path, goodBody, voucher(20_000))
		sh.wantProblem(a, 503, mpp.InternalPaymentError)
		if a.header.Get("Retry-After") != "5" || strings.Contains(a.body, "secret") || !strings.Contains(sh.log.String(), "the disk is gone") {
			t.Errorf("%v %s", a.header, a.body)
		}
		sh.till.fail("Admit", fmt.Errorf("admit: %w", &mpp.Problem{Type: mpp.ChannelNotFound}))
		sh.wantProblem(sh.buy(path, goodBody, voucher(20_000)), 410, mpp.ChannelNotFound)
		sh.till.fail("Admit", nil)
		sh.till.change(func() { sh.till.accepted = 0 })
		sh.wantProblem(sh.buy(path, goodBody, voucher(9_999)), 402, mpp.InsufficientBalance)
	})
	sh.till.took()
	if n := len(sh.till.bills); n != 0 || sh.till.spent != 0 {
		t.Errorf("%d bills, %d charged", n, sh.till.spent)
	}
}

// TestDebts: a payer that owes too much for earlier analyses is told how much and for
// which, and its next voucher is to cover them.
func TestDebts(t *testing.T) {
	sh := sellWith(t, spends(0), nil)
	sh.till.change(func() {
		sh.till.bills["run-1"] = channel.Bill{ID: "run-1", Price: units(250_000), Final: true}
		sh.till.snapshot = snapshotFor(270_000)
	})
	for _, path := range []string{"/explain", "/explain/async"} {
		doc := sh.wantProblem(sh.buy(path, goodBody, voucher(0)), 402, mpp.InsufficientBalance)
		details, _ := doc["details"].(map[string]any)
		if details["owed"] != "250000" || details["runs"] != "run-1" || doc["requiredTopUp"] != "250000" || !strings.Contains(fmt.Sprint(doc["detail"]), "250000 base units are owed") || !strings.Contains(fmt.Sprint(doc["hint"]), "GET /explain/run/{requestId}") {
			t.Errorf("%v", doc)
		}
		sh.wantCalls("Pay, Snapshot 260000")
	}
	if sh.till.spent != 0 {
		t.Errorf("%d charged", sh.till.spent)
	}
}

// TestVoid: what was charged for a request that is not served is given back, also while
// the server stops.
func TestVoid(t *testing.T) {
	sh := sellWith(t, spends(0), nil)
	sh.s.cancel(api.ErrStopping)
	sh.s.void(ref.ChannelID, channel.Order{Bill: "x"})
	sh.till.fail("Void", errors.New("the disk is gone"))
	sh.s.void(ref.ChannelID, channel.Order{Bill: "x"})
	sh.wantCalls("Void, Void")
	if !strings.Contains(sh.log.String(), "give a charge back") || strings.Count(sh.log.String(), "give a charge back") != 1 {
		t.Errorf("%s", sh.log)
	}
	if fmt.Sprint(sh.till.bounded) != "[true true]" {
		t.Errorf("deadlines %v", sh.till.bounded)
	}
}

func TestNoted(t *testing.T) {
	known := &mpp.Problem{Type: mpp.ChannelFinalized}
	if got := ledgerProblem(fmt.Errorf("collect: %w", known)); got != known {
		t.Errorf("%v", got)
	}
	cause := errors.New("the disk is gone")
	if got := mpp.AsProblem(ledgerProblem(cause)); got.Type != mpp.InternalPaymentError || got.RetryAfter != 5*time.Second || !errors.Is(got, cause) {
		t.Errorf("%+v", got)
	}
}

// TestNoSlot: only the refusals of a pool are told as such.
func TestNoSlot(t *testing.T) {
	if err := slotError(context.Canceled); err != context.Canceled {
		t.Errorf("%v", err)
	}
	if slotError(nil) != nil {
		t.Error("an error where there is a slot")
	}
}
