package transport

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"txlens/actors/channel"
	"txlens/actors/sale"
	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"

	"github.com/ethereum/go-ethereum/common"
)

// TestSmallDeposits: the least deposit is served, one below it is not, and what was held
// is let go.
func TestSmallDeposits(t *testing.T) {
	sh := sellWith(t, spends(0), nil)
	f := func(path, body string, p mpp.Payload, wantCalls string) {
		t.Helper()
		sh.till.change(func() { sh.till.deposit = 1_999_999 })
		sh.wantFault(sh.buy(path, body, p), 402, api.CodeDeposit, "the channel's deposit of 1999999 base units is below the minimum of 2000000; open a channel with more, or top it up")
		sh.wantCalls(wantCalls)
		sh.till.change(func() { sh.till.deposit = 2_000_000 })
		if a := sh.buy(path, body, p); a.status >= 300 || a.header.Get(mpp.HeaderReceipt) == "" {
			t.Errorf("%d %s", a.status, a.body)
		}
		sh.till.took()
	}
	f("/explain", goodBody, voucher(20_000), "Pay, LetGo")
	f("/explain/async", goodBody, opening(40_000), "Pay, LetGo")
	f("/session/deposit", "", opening(0), "Pay, LetGo")
	// Who tops up may have less until then, and who closes wants it back.
	sh.till.change(func() { sh.till.deposit = 5 })
	sh.wantReceipt(sh.buy("/explain", goodBody, topUp()), 204, 40_000, 30_000)
	sh.wantReceipt(sh.buy("/explain", "", voucher(40_000)), 204, 40_000, 30_000)
	sh.wantReceipt(sh.buy("/session/deposit", "", closing(40_000)), 204, 40_000, 30_000)
}

// TestManagement has a row for each request that moves a channel and buys nothing: it
// is answered 204 with a receipt, and nothing is charged.
func TestManagement(t *testing.T) {
	count := new(tally)
	sh := sellWith(t, spends(0), func(c *Config, _ *sale.Options) { c.Observer = count })
	f := func(method, path, body string, p mpp.Payload, wantRoute, wantLevel string) {
		t.Helper()
		before := len(count.answered)
		sh.till.change(func() { sh.till.txHash = common.Hash{7} })
		a := sh.ask(method, path, body, "Authorization", sh.answerTo(path, meter.Cent, p))
		if r := sh.wantReceipt(a, 204, 30_000, 0); r.TxHash != (common.Hash{7}) || a.body != "" || a.header.Get("Cache-Control") != "no-store, private" {
			t.Errorf("%+v, %v %q", r, a.header, a.body)
		}
		calls := "Pay"
		if path == "/session/deposit" && method == "POST" {
			calls = "Pay, LetGo"
		}
		sh.wantCalls(calls)
		until(t, "a count", func() bool { return count.has(before + 1) })
		if got := count.answered[before]; got != wantRoute+" 204" {
			t.Errorf("counted %q", got)
		}
		line := sh.log.String()
		line = line[strings.LastIndex(line, "time="):]
		served, _, known := strings.Cut(wantRoute, " ") // HEAD is served by GET
		if !known {
			served = method
		}
		if !strings.Contains(line, "level="+wantLevel) || !strings.Contains(line, "method="+served+" ") {
			t.Errorf("%s", line)
		}
	}
	f("POST", "/explain", "", voucher(30_000), "POST /explain", "DEBUG")
	f("POST", "/explain", "", opening(30_000), "POST /explain", "INFO")
	f("POST", "/explain", "", topUp(), "POST /explain", "INFO")
	f("POST", "/explain", goodBody, topUp(), "POST /explain", "INFO")
	f("POST", "/explain", goodBody, closing(30_000), "POST /explain", "INFO")
	f("POST", "/explain/async", goodBody, closing(30_000), "POST /explain/async", "INFO")
	f("POST", "/explain/async", "", voucher(30_000), "POST /explain/async", "DEBUG")
	f("POST", "/session/deposit", "", topUp(), "POST /session/deposit", "INFO")
	f("POST", "/session/deposit", "", closing(30_000), "POST /session/deposit", "INFO")
	f("HEAD", "/explain", "", voucher(30_000), Other, "DEBUG")
	f("HEAD", "/explain/async", "", topUp(), Other, "INFO")
	f("HEAD", "/session/deposit", "", voucher(30_000), Other, "DEBUG")
	f("POST", "/result/"+unknownID, "", voucher(30_000), Other, "DEBUG")
	f("POST", "/explain/run/"+unknownID, "", closing(30_000), Other, "INFO")
	f("HEAD", "/result/"+unknownID, "", voucher(30_000), "GET /result/{jobId}", "DEBUG")
	f("GET", "/result/"+unknownID, "", topUp(), "GET /result/{jobId}", "INFO")
	f("HEAD", "/explain/run/"+unknownID, "", voucher(30_000), "GET /explain/run/{requestId}", "DEBUG")
	f("GET", "/explain/run/"+unknownID, "", closing(30_000), "GET /explain/run/{requestId}", "INFO")
}

// TestManagementOfAnyPrice: a path that is read has had another price when its challenge
// was made, which matters to nobody who only moves a channel.
func TestManagementOfAnyPrice(t *testing.T) {
	sh := sellWith(t, spends(0), nil)
	f := func(method, path string, p mpp.Payload) {
		t.Helper()
		sh.wantReceipt(sh.ask(method, path, "", "Authorization", sh.answerTo(path, 70_000, p)), 204, 30_000, 0)
	}
	f("POST", "/result/"+unknownID, voucher(30_000))
	f("HEAD", "/result/"+unknownID, voucher(30_000))
	f("GET", "/explain/run/"+unknownID, topUp())
	f("HEAD", "/explain", voucher(30_000))
	f("POST", "/explain", voucher(30_000))
}

// TestReadPathsWithoutManagement: a path that is read is answered as ever where the
// credential moves nothing, or nothing is sold.
func TestReadPathsWithoutManagement(t *testing.T) {
	sh := sellWith(t, spends(0), nil)
	for _, path := range []string{"/result/", "/explain/run/"} {
		for _, credential := range []string{sh.answerTo(path+unknownID, meter.Cent, voucher(30_000)), "Payment nonsense", "Bearer x"} {
			if a := sh.ask("GET", path+unknownID, "", "Authorization", credential); a.status != 404 {
				t.Errorf("%d %s", a.status, a.body)
			}
		}
	}
	sh.wantCalls("")
	_, url := start(t, Config{Runs: sh.runs, Jobs: sh.jobs}, well)
	sh.url, sh.c = url, client(t)
	for _, path := range []string{"/result/", "/explain/run/"} {
		if a := sh.ask("GET", path+unknownID, "", "Authorization", sh.answerTo(path+unknownID, meter.Cent, topUp())); a.status != 404 {
			t.Errorf("%d %s", a.status, a.body)
		}
		if a := sh.ask("POST", path+unknownID, "", "Authorization", sh.answerTo(path+unknownID, meter.Cent, topUp())); a.status != 405 {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
}

// TestWithoutFresh: the member fresh does not make a body another one.
func TestWithoutFresh(t *testing.T) {
	f := func(body, want string) {
		t.Helper()
		if got := string(withoutFresh([]byte(body))); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	f(`{"txHash":"0x1","fresh":true}`, `{"txHash":"0x1"}`)
	f(`{"txHash":"0x1","fresh":false}`, `{"txHash":"0x1"}`)
	f(`{"fresh":true,"txHash":"0x1"}`, `{"txHash":"0x1"}`)
	f(` {"fresh":true , "txHash":"0x1"}`, ` { "txHash":"0x1"}`)
	f(`{"a":1, "fresh" : true,"b":{"fresh":1}}`, `{"a":1,"b":{"fresh":1}}`)
	f(`{"\u0066resh":true}`, `{}`)
	for _, body := range []string{"", "[]", "{", `{"fresh"`, `{"fresh":`, `{"fresher":true}`, `{"a":"fresh"}`, `"fresh"`, "\xff"} {
		f(body, body)
	}
}

// TestTickets: what makes a request one with an earlier one.
func TestTickets(t *testing.T) {
	s := sellWith(t, spends(0), nil).s
	payer := descriptor.Payer
	key := func(path, body string, channelID common.Hash, sum uint64, headers ...string) channel.Order {
		ctx, _ := requestWith(t, path, body, "", headers...)
		p := &channel.Payment{Admission: &mpp.Admission{Payload: voucher(sum)}, Standing: channel.Standing{Channel: channelID, Payer: payer}}
		return s.order(ctx, path, p, "the id", false)
	}
	one := func() channel.Order { return key("/explain", goodBody, ref.ChannelID, 10_000) }
	if o := one(); o.Bill != "the id" || o.Price != unitPrice || o.Request == (channel.TicketKey{}) || o.Request == o.Key || o.MayBegin != nil {
		t.Errorf("%+v", o)
	}
	f := func(o channel.Order, sameKey, sameRequest bool) {
		t.Helper()
		if (o.Key == one().Key) != sameKey || (o.Request == one().Request) != sameRequest {
			t.Errorf("key %v, request %v", o.Key == one().Key, o.Request == one().Request)
		}
	}
	f(one(), true, true)
	f(key("/explain", goodBody, ref.ChannelID, 10_001), false, true)
	f(key("/explain/async", goodBody, ref.ChannelID, 10_000), false, false)
	f(key("/explain", goodBody+" ", ref.ChannelID, 10_000), false, false)
	f(key("/explain", goodBody, common.Hash{1}, 10_000), false, true) // another channel of the payer
	f(key("/explain", goodBody, ref.ChannelID, 10_000, "Idempotency-Key", ""), true, true)
	f(key("/explain", goodBody, ref.ChannelID, 10_000, "Idempotency-Key", strings.Repeat("x", 257)), true, true)

	payer = common.Address{1}
	other := key("/explain", goodBody, ref.ChannelID, 10_000)
	payer = descriptor.Payer
	f(other, true, false)

	named := func(name, path, body string, channelID common.Hash, sum uint64) channel.Order {
		return key(path, body, channelID, sum, "Idempotency-Key", name)
	}
	long := strings.Repeat("x", 256)
	mine := named(long, "/explain", goodBody, ref.ChannelID, 10_000)
	if mine.Request != (channel.TicketKey{}) || mine.Key == one().Key {
		t.Errorf("with a key of 256 bytes: %+v", mine)
	}
	g := func(o channel.Order, same bool) {
		t.Helper()
		if (o.Key == mine.Key) != same || o.Request != (channel.TicketKey{}) {
			t.Errorf("%+v", o)
		}
	}
	g(named(long, "/explain", goodBody, ref.ChannelID, 99_000), true)
	g(named(long[1:], "/explain", goodBody, ref.ChannelID, 10_000), false)
	g(named(long, "/explain/async", goodBody, ref.ChannelID, 10_000), false)
	g(named(long, "/explain", goodBody+" ", ref.ChannelID, 10_000), false)
	g(named(long, "/explain", goodBody, common.Hash{1}, 10_000), false)

	// What is a key is no voucher, and where one part ends the next does not begin.
	if named("10000", "/explain", goodBody, ref.ChannelID, 1).Key == one().Key {
		t.Error("a key is taken for a voucher")
	}
	if named("a", "/explain", "b"+goodBody, ref.ChannelID, 1).Key == named("a", "/explainb", goodBody, ref.ChannelID, 1).Key {
		t.Error("path and body run together")
	}
	if named("a", "/x", "", ref.ChannelID, 1).Key == named("a/", "x", "", ref.ChannelID, 1).Key {
		t.Error("key and path run together")
	}
	if got := ticketKey(ctxOf(t, "/explain", "body"), "/explain", common.Hash{1}.Bytes(), "key", []byte("x")); fmt.Sprintf("%x", got) != goldenTicket {
		t.Errorf("%x: tickets of earlier versions are not known again", got)
	}
}

// TestBootstrap: who lost what it knew of its channel proves its account by HEAD, and is
// told of the channel.
func TestBootstrap(t *testing.T) {
	sh := sellWith(t, spends(0), nil)
	secret := common.Hash{31: 1}
	key, err := tempo.NewSecp256k1Key(secret[:])
	if err != nil {
		t.Fatal(err)
	}
	demand := func(accept ...string) *mpp.Challenge {
		t.Helper()
		var headers []string
		for _, a := range accept {
			headers = append(headers, "Accept-Payment", a)
		}
		a := sh.ask("HEAD", "/explain", "", headers...)
		ch := sh.challengeOf(a)
		if a.status != 402 || a.header.Get("Content-Type") != mpp.ProblemMedia || len(a.header.Get("Content-Length")) < 3 {
			t.Errorf("%d %v", a.status, a.header)
		}
		return ch
	}
	ch := demand("x/y", "tempo/session , tempo/charge ; q=0.5")
	if ch.Intent != mpp.IntentCharge || ch.CheckExpires(time.Now().Add(mpp.ChallengeLifetime-2*time.Second)) != nil || ch.CheckExpires(time.Now().Add(mpp.ChallengeLifetime+2*time.Second)) == nil {
		t.Errorf("%+v", ch)
	}
	for _, accept := range []string{"tempo/session", "tempo/charges", ""} {
		if ch := demand(accept); ch.Intent != mpp.Intent {
			t.Errorf("Accept-Payment %q: %s", accept, ch.Intent)
		}
	}
	// By POST nobody proves anything.
	if a := sh.ask("POST", "/explain", "", "Accept-Payment", "tempo/charge"); sh.challengeOf(a).Intent != mpp.Intent {
		t.Errorf("%v", a.header)
	}

	prove := func(ch *mpp.Challenge) answer {
		return sh.ask("HEAD", "/explain", "", "Authorization", proof(t, ch, key))
	}
	a := prove(ch)
	if a.status != 204 || a.header.Get(mpp.HeaderSession) != "" || a.header.Get(mpp.HeaderSnapshot) != "" || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("without a channel: %d %v", a.status, a.header)
	}
	sh.wantCalls("SnapshotOf " + key.Address().String())
	snap := snapshotFor(10_000)
	sh.till.change(func() { sh.till.snapshot = snap })
	a = prove(ch)
	value, _ := snap.HeaderValue()
	if a.status != 204 || a.header.Get(mpp.HeaderSession) != ref.ChannelID.Hex() || a.header.Get(mpp.HeaderSnapshot) != value || a.header.Get("Cache-Control") != "no-store, private" || a.header.Get(mpp.HeaderReceipt) != "" {
		t.Errorf("%d %v", a.status, a.header)
	}
	snap.HighestVoucher = nil // which cannot be written
	a = prove(ch)
	if a.status != 204 || a.header.Get(mpp.HeaderSession) != "" || a.header.Get("Cache-Control") != "no-store" || !strings.Contains(sh.log.String(), "write a snapshot") {
		t.Errorf("%d %v", a.status, a.header)
	}
	sh.till.change(func() { sh.till.snapshot = nil })
	sh.till.took()

	// A proof for another path, one by another account, and one in place of a payment.
	other := sh.ask("HEAD", "/explain/async", "", "Authorization", proof(t, ch, key))
	if other.status != 402 || sh.challengeOf(other).Intent != mpp.Intent || other.header.Get(mpp.HeaderSession) != "" {
		t.Errorf("%d %v", other.status, other.header)
	}
	sh.wantCalls("Snapshot 10000")
	sh.wantProblem(sh.ask("POST", "/explain", "", "Authorization", proof(t, ch, key)), 402, mpp.InvalidChallenge)
	sh.wantCalls("Pay, Snapshot 10000")
	if got := fmt.Sprint(sh.till.bounded); strings.Contains(got, "false") {
		t.Errorf("deadlines %s", got)
	}
}

// TestProofCannotBeAskedFor: the log says why, and the answer is no challenge.
func TestProofCannotBeAskedFor(t *testing.T) {
	sh := sellWith(t, spends(0), func(c *Config, _ *sale.Options) { c.Payments.Realm = "a|b" })
	sh.c.Transport = nil
	defer sh.c.CloseIdleConnections()
	a := sh.ask("HEAD", "/explain", "", "Accept-Payment", "tempo/charge")
	if a.status != 500 || a.header.Get(mpp.HeaderChallenge) != "" || !strings.Contains(sh.log.String(), "issue challenge") {
		t.Errorf("%d %v\n%s", a.status, a.header, sh.log)
	}
}

// goldenTicket is the SHA-256 of each part behind its length in eight bytes, made outside
// of this program.
const goldenTicket = "2548dd61d6b0368d41886eb01f1635261c3d83ef0706e4c0363aedb03fd96dd4"
