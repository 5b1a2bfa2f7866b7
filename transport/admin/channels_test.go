package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp/tempo"
)

// books notes what it was asked.
type books struct {
	asked string
	err   error
	held  chan struct{} // Settle waits for it; nil: it does not
	began chan struct{}
}

func (b *books) Channels(q ChannelQuery) (ChannelPage, error) {
	b.asked = fmt.Sprintf("%s %d %t", q.From.TerminalString(), q.Limit, q.Ended)
	return ChannelPage{Channels: []Channel{{ID: common.Hash{7}, State: "active", Spent: tempo.AmountFrom(5)}}, Next: &common.Hash{8}}, b.err
}

func (b *books) Settle(_ context.Context, q SettleRequest) (SettleReport, error) {
	b.asked = fmt.Sprintf("%d %s %t", len(q.Channels), q.From.TerminalString(), q.Close)
	if b.held != nil {
		close(b.began)
		<-b.held
	}
	return SettleReport{Payouts: []Payout{{ID: common.Hash{7}, Paid: tempo.AmountFrom(5), Tx: &common.Hash{9}}}}, b.err
}

var asJSON = http.Header{"Content-Type": {"application/json; charset=utf-8"}}

func (b *books) expect(t *testing.T, url, method, path, body string, header http.Header, status int, says, asked string) {
	t.Helper()
	b.asked = ""
	got, text, err := ask(t, method, url+path, func(r *http.Request) {
		maps.Copy(r.Header, header)
		if body != "" {
			r.Body = io.NopCloser(strings.NewReader(body))
		}
	})
	if got != status || !strings.Contains(text, says) || err != nil || b.asked != asked {
		t.Errorf("%s %s %.60s: %d %.300q, %v, asked %q", method, path, body, got, text, err, b.asked)
	}
}

func TestChannelsEndpoint(t *testing.T) {
	b := &books{}
	_, url := start(t, Config{Channels: b})
	f := func(path string, status int, says, asked string) {
		t.Helper()
		b.expect(t, url, "GET", path, "", nil, status, says, asked)
	}
	id := common.Hash{7}.Hex()
	f("/channels", 200, `{"channels":[{"channelId":"`+id+`","state":"active",`, "000000..000000 100 false")
	f("/channels", 200, `"spent":"5"`, "000000..000000 100 false")
	f("/channels", 200, `"next":"`+common.Hash{8}.Hex()+`"`, "000000..000000 100 false")
	f("/channels?limit=1000&ended=1&from="+id, 200, id, "070000..000000 1000 true")
	f("/channels?limit=1001", 400, "from 1 to 1000", "")
	f("/channels?limit=0", 400, "limit", "")
	f("/channels?limit=x", 400, "limit", "")
	f("/channels?from=0x07", 400, "64 hex digits", "")
	b.err = errors.New("SECRET page")
	if status, text, _ := ask(t, "GET", url+"/channels", nil); status != 503 || strings.Contains(text, "SECRET") {
		t.Errorf("%d %s", status, text)
	}
	_, url = start(t, Config{})
	f("/channels", 404, "sells nothing", "")
}

func TestSettleEndpoint(t *testing.T) {
	b := &books{}
	_, url := start(t, Config{Channels: b, Loopback: true})
	f := func(body string, header http.Header, status int, says, asked string) {
		t.Helper()
		b.expect(t, url, "POST", "/settle", body, header, status, says, asked)
	}
	id := common.Hash{7}.Hex()
	f(`{"from":"`+id+`"}`, asJSON, 200, `"paid":"5","tx":"`+common.Hash{9}.Hex()+`","left":"0"}`, "0 070000..000000 false")
	f(`{"channels":["`+id+`"],"close":true}`, asJSON, 200, `{"payouts":[{"channelId":"`+id+`"`, "1 000000..000000 true")
	f(`{}`, asJSON, 200, `"paid":"5"`, "0 000000..000000 false")
	f(`{"close":true}`, asJSON, 400, "name the channels", "")
	f(`{"chanels":[]}`, asJSON, 400, "want", "")
	f(`{"channels":["0x12"]}`, asJSON, 400, "want", "")
	f(`{"channels":["`+strings.Repeat(id+`","`, MaxSettle)+id+`"]}`, asJSON, 400, "at most 64", "")
	f(strings.Repeat(" ", 70<<10)+`{}`, asJSON, 400, "want", "")
	f(``, asJSON, 400, "want", "")
	// What a form or a script of a page can send without asking first.
	f(`{}`, http.Header{"Content-Type": {"text/plain"}}, 415, "application/json", "")
	f(`{}`, nil, 415, "application/json", "")
	f(`{}`, http.Header{"Content-Type": {"application/json"}, "Sec-Fetch-Site": {"cross-site"}}, 403, "", "")
	b.expect(t, url, "GET", "/settle", "", nil, 405, "", "")
	b.err = errors.New("no settlement key is configured")
	f(`{}`, asJSON, 503, "nothing was settled: no settlement key", "0 000000..000000 false")
	_, url = start(t, Config{})
	f(`{}`, asJSON, 404, "sells nothing", "")
}

// TestOneSettlement: a second request is refused while the first is at work.
func TestOneSettlement(t *testing.T) {
	b := &books{held: make(chan struct{}), began: make(chan struct{})}
	_, url := start(t, Config{Channels: b})
	post := func() int {
		status, _, _ := ask(t, "POST", url+"/settle", func(r *http.Request) {
			maps.Copy(r.Header, asJSON)
			r.Body = io.NopCloser(strings.NewReader("{}"))
		})
		return status
	}
	first := make(chan int)
	go func() { first <- post() }()
	<-b.began
	if status := post(); status != 409 {
		t.Errorf("a second one: %d", status)
	}
	close(b.held)
	if status := <-first; status != 200 {
		t.Errorf("the first: %d", status)
	}
}
