package main

import (
	stdjson "encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"txlens/app"
	"txlens/engine/mpp"
	"txlens/engine/mpp/sandbox"
	"txlens/engine/mpp/tempo"
	"txlens/transport/admin"
)

// till runs an operator's command on the shop's server; it must end with code and say
// all of the words.
func (s *shop) till(code int, says []string, args ...string) (stdout string) {
	s.t.Helper()
	got, out, errOut := command(s.t, "", append(args, "--data", s.data)...)
	for _, word := range says {
		if !strings.Contains(out+errOut, word) {
			s.t.Errorf("%q: lacks %q in\n%s%s", args, word, out, errOut)
		}
	}
	if got != code || code != exitComplete && strings.Count(errOut, "\n") != 1 {
		s.t.Errorf("%q: exit %d\n%s%s", args, got, out, errOut)
	}
	return out
}

// listed is what channels --json says of the one channel.
func (s *shop) listed(args ...string) (ch admin.Channel) {
	s.t.Helper()
	out := s.till(exitComplete, nil, append([]string{"channels", "--json"}, args...)...)
	if err := stdjson.Unmarshal([]byte(out), &ch); err != nil || strings.Count(out, "\n") != 1 {
		s.t.Fatalf("%v: %s", err, out)
	}
	return ch
}

// served buys one analysis and returns what it cost.
func (s *shop) served() uint64 {
	s.t.Helper()
	resp, ch, _ := s.buy("POST", "/explain", "text/event-stream", `{"txHash":"`+s.w.tx.Hash+`","chainId":1}`)
	last, rc, _ := s.stream(resp, ch, "/explain")
	if rc == nil || last["type"] != "result" {
		s.t.Fatalf("%v, %+v", last["type"], rc)
	}
	return price(s.t, last)
}

// TestOperatorSettles: the list says what the channels are, and settling says what
// the chain did and what it could not be asked for.
func TestOperatorSettles(t *testing.T) {
	s := newShop(t, "--admin-listen", "127.0.0.1:0")
	s.till(exitComplete, []string{"No channel is open."}, "channels")
	s.till(exitComplete, []string{"Nothing was sent.\n"}, "settle")
	want := s.served()
	paid := mpp.FormatTokens(tempo.AmountFrom(want))
	short, full := s.ref.ChannelID.Hex()[:10], s.ref.ChannelID.Hex()

	s.till(exitComplete, []string{short + "  0x7e5f…5bdf  active    16.00", paid, "1 channel: " + paid + " spent, 0.00 settled, " + paid + " unsettled."}, "channels")
	ch := s.listed()
	if ch.ID != s.ref.ChannelID || ch.Payer != s.key.Address() || ch.Spent != tempo.AmountFrom(want) || ch.Accepted != ch.Spent || ch.Payable != ch.Spent ||
		ch.Unsettled != ch.Spent || ch.Charges == 0 || ch.Obstacle != "" || ch.OpenTx == nil || ch.ActiveAt.Before(ch.CreatedAt) {
		t.Errorf("%+v", ch)
	}
	s.till(exitComplete, []string{full, "settling pays it out", s.key.Address().Hex(), ch.OpenTx.Hex()}, "channels", short)

	if err := s.chain.Inject(sandbox.Fault{Method: "eth_getBlockByNumber", Refuse: &sandbox.Error{Code: -32000, Message: "away"}, Times: 1}); err != nil {
		t.Fatal(err)
	}
	s.till(exitFault, []string{short + "  not paid out, " + paid + " left: the settlement chain does not answer", "1 channel could not be paid out"}, "settle")
	out := s.till(exitComplete, []string{short + "  " + paid + " paid out\n", paid + " paid out on 1 channel in 1 transaction.\n"}, "settle")
	tx := regexp.MustCompile(`0x[0-9a-f]{64}`).FindString(out)
	if row := s.chain.Books().Channels[0]; !row.Open || row.Captured.Uint64() != want || tx == "" {
		t.Errorf("%+v, transaction %q", row, tx)
	}
	s.till(exitComplete, []string{"nothing to do: all that was served is paid out"}, "settle", full)

	// A voucher for more than the one unit that a job costs at its submit.
	_, ch2, q := s.asked("POST", "/explain/async", `{"txHash":"`+s.w.tx.Hash+`","chainId":1}`)
	resp := s.send("POST", "/explain/async", "", `{"txHash":"`+s.w.tx.Hash+`","chainId":1}`, s.credential(ch2, s.next(q, 500_000)))
	if status, text := read(t, resp); status != 202 {
		t.Fatalf("%d %s", status, text)
	}
	s.till(exitComplete, []string{"for 0.01 there is only a voucher above what was served", "txlens settle --close " + short, "Nothing was sent. 0.01 left on 1 channel."}, "settle")
	s.till(exitFault, []string{"1 channel could not be paid out"}, "settle", short)
	s.till(exitComplete, []string{"0.01 of that only closing can take"}, "channels")
	if ch := s.listed(short); ch.Obstacle != "voucher_above_served" || !ch.Payable.IsZero() || ch.Unsettled != tempo.AmountFrom(10_000) {
		t.Errorf("%+v", ch)
	}
	s.till(exitComplete, []string{short + "  closed, 0.01 paid out and the rest refunded"}, "settle", "--close", short)
	if row := s.chain.Books().Channels[0]; row.Open || row.Captured.Uint64() != want+10_000 || row.Refunded.Uint64() != 16_000_000-want-10_000 {
		t.Errorf("%+v", row)
	}
	s.till(exitComplete, []string{"nothing to do: it is closed"}, "settle", short)
	s.till(exitComplete, []string{"No channel is open."}, "channels")
	if ch := s.listed("--ended"); ch.State != "closed" || ch.CloseTx == nil {
		t.Errorf("%+v", ch)
	}
	_, scrape := operator(t, s.adminURL()+"/metrics")
	for sample, want := range map[string]float64{
		"txlens_settled_base_units_total": float64(want + 10_000), "txlens_payouts_total": 2, "txlens_lost_base_units_total": 0, "txlens_channels_lost_total": 0,
	} {
		if got := metric(t, scrape, sample); got != want {
			t.Errorf("%s is %v, want %v", sample, got, want)
		}
	}
	if !strings.Contains(scrape, "\ntxlens_channels_open ") || !strings.Contains(scrape, "\ntxlens_unsettled_base_units ") {
		t.Error("the metrics do not tell the books")
	}
}

// asked is a challenge.
func (s *shop) asked(method, path, body string) (status int, ch *mpp.Challenge, q *mpp.SessionRequest) {
	s.t.Helper()
	resp := s.send(method, path, "", body, "")
	ch, q = s.challenge(resp.Header)
	status, _ = read(s.t, resp)
	return status, ch, q
}

// adminURL is where the operator reaches the shop's server.
func (s *shop) adminURL() string {
	s.t.Helper()
	base, there := app.AdminURL(s.data)
	if !there {
		s.t.Fatal("no admin listener")
	}
	return base
}

// TestOperatorMistakes: what is wrong is said, in one line.
func TestOperatorMistakes(t *testing.T) {
	s := newShop(t, "--admin-listen", "127.0.0.1:0")
	f := func(code int, want string, args ...string) {
		t.Helper()
		s.till(code, []string{want}, args...)
	}
	f(exitBadInput, "want 0x and 4 to 64 hex digits", "channels", "0x12")
	f(exitBadInput, "want 0x and 4 to 64 hex digits", "settle", "channel")
	f(exitBadInput, "--from: ", "channels", "--from", "0xg234")
	f(exitBadInput, "--limit: must not be negative", "channels", "--limit=-1")
	f(exitBadInput, "the server knows no channel 0xdeadbeef", "settle", "0xdeadbeef")
	f(exitBadInput, "--close: name the channels", "settle", "--close")
	f(exitBadInput, "at most 64 channels", append([]string{"settle"}, strings.Split(strings.Repeat("0x1234 ", 65), " ")[:65]...)...)
	f(exitBadInput, "want the address of an admin listener", "channels", "--admin", "127.0.0.1")
	f(exitFault, "ask the server: ", "channels", "--admin", "http://127.0.0.1:1")
	f(exitFault, "ask the server: 404", "channels", "--admin", s.base)
	empty := t.TempDir()
	for _, name := range []string{"channels", "settle"} {
		if code, _, errOut := command(t, "", name, "--data", empty); code != exitBadInput || !strings.Contains(errOut, "no server with an admin listener runs on "+empty) {
			t.Errorf("%s: exit %d, %s", name, code, errOut)
		}
	}
	free := t.TempDir()
	startServe(t, s.w, "--data", free, "--admin-listen", "127.0.0.1:0")
	if code, _, errOut := command(t, "", "settle", "--data", free); code != exitFault || !strings.Contains(errOut, "sells nothing: it runs without --settle-rpc") {
		t.Errorf("exit %d, %s", code, errOut)
	}
	_, payee := s.chain, s.key.Address().Hex()
	keyless := t.TempDir()
	var args []string
	for i := 0; i < len(s.sells); i += 2 {
		if s.sells[i] != "--settle-key-file" {
			args = append(args, s.sells[i:i+2]...)
		}
	}
	startServe(t, s.w, append(args, "--settle-payee", payee, "--data", keyless, "--admin-listen", "127.0.0.1:0")...)
	if code, _, errOut := command(t, "", "settle", "--data", keyless); code != exitFault || !strings.Contains(errOut, "nothing was settled: no settlement key is configured") {
		t.Errorf("exit %d, %s", code, errOut)
	}
}

// TestRestoredShop: a backup alone is enough to go on selling: the ledger is in it,
// and challenges that were on their way are still good.
func TestRestoredShop(t *testing.T) {
	s := newShop(t, "--admin-listen", "127.0.0.1:0")
	want := s.served()
	_, ch, q := s.asked("POST", "/explain/async", `{"txHash":"`+s.w.tx.Hash+`","chainId":1}`)
	restored := t.TempDir()
	s.till(exitComplete, []string{"txlens.db: "}, "backup", filepath.Join(restored, "txlens.db"))
	if info, err := os.Stat(filepath.Join(restored, "txlens.db")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy, which holds a secret: %v, %v", info.Mode(), err)
	}
	s.base = startServe(t, s.w, append([]string{"--data", restored, "--admin-listen", "127.0.0.1:0"}, s.sells...)...)
	s.data = restored
	if got := s.listed(); got.Spent != tempo.AmountFrom(want) || got.ID != s.ref.ChannelID {
		t.Errorf("%+v", got)
	}
	resp := s.send("POST", "/explain/async", "", `{"txHash":"`+s.w.tx.Hash+`","chainId":1}`, s.credential(ch, s.next(q, 10_000)))
	if status, text := read(t, resp); status != 202 {
		t.Errorf("a challenge from before: %d %s", status, text)
	}
	s.till(exitComplete, nil, "settle")
}
