package main

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"txlens/engine/chain"
	"txlens/engine/upstream"
	"txlens/testkit/fixture"
	"txlens/testkit/stubnode"
)

// doctorNode is a node of one block with one transaction.
func doctorNode(t *testing.T, opt stubnode.Options) string {
	hash := "0xaa00000000000000000000000000000000000000000000000000000000000001"
	opt.ChainID = 1
	n := stubnode.New([]fixture.Block{{
		ChainID: 1, Number: 16, Header: json.RawMessage(`{"number":"0x10","hash":"` + hash + `","timestamp":"0x64"}`),
		Txs: []fixture.Tx{{Hash: hash, Tx: json.RawMessage(`{"hash":"` + hash + `","transactionIndex":"0x0"}`), Trace: json.RawMessage(`{"type":"CALL"}`)}},
	}}, opt)
	srv := httptest.NewServer(n)
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestDoctor: each check has a line with its state and what to do, and a fault ends in 1.
func TestDoctor(t *testing.T) {
	f := func(wantCode int, lines []string, args ...string) {
		t.Helper()
		code, out, errOut := command(t, "", append([]string{"doctor", "--data", t.TempDir()}, args...)...)
		text := strings.Join(strings.Fields(out), " ")
		if code != wantCode || (errOut == "") != (code == exitComplete) {
			t.Errorf("%q: exit %d, %q", args, code, errOut)
		}
		for _, want := range lines {
			if !strings.Contains(text, want) {
				t.Errorf("%q: no %q in\n%s", args, want, out)
			}
		}
	}
	good, untraced := doctorNode(t, stubnode.Options{}), doctorNode(t, stubnode.Options{NoTrace: true})
	f(exitComplete, []string{
		"WARNING endpoint ethereum-mainnet 127.0.0.1 answers in", "latest block is 16", "old; the node lags behind",
		"OK traces ethereum-mainnet debug_traceTransaction of 127.0.0.1", "OK clock ", "from that of 127.0.0.1", "OK database /", "OK language model none",
	}, "--rpc-only", "--rpc", "1="+good)
	f(exitComplete, []string{"WARNING traces ethereum-mainnet no endpoint gives call traces", "add --rpc ethereum-mainnet=URL"}, "--rpc-only", "--rpc", "1="+untraced)
	f(exitFault, []string{"FAULT endpoint ethereum-mainnet 127.0.0.1: ask eth_chainId", "connection refused", "check the URL"}, "--rpc-only", "--rpc", "1=http://127.0.0.1:1")
	f(exitFault, []string{"FAULT endpoint ethereum-mainnet 127.0.0.1: ask eth_chainId", "OK traces"}, "--rpc-only", "--rpc", "1="+good, "--rpc", "1=http://127.0.0.1:1")
	f(exitFault, []string{"FAULT endpoint base-mainnet no endpoint is known; add --rpc base-mainnet=URL"}, "--rpc-only", "--rpc", "1="+good, "--chain", "base")
	f(exitFault, []string{"FAULT endpoint base-mainnet", "it serves another chain"}, "--rpc-only", "--rpc", "8453="+good)
	f(exitFault, []string{"FAULT payer's key", "txlens wallet new"}, "--rpc-only", "--rpc", "1="+good, "--key-file", filepath.Join(t.TempDir(), "none"))
	f(exitFault, []string{"FAULT language model", "--provider-key-file"}, "--rpc-only", "--rpc", "1="+good, "--provider", "anthropic")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f(exitFault, []string{"FAULT database", "--data"}, "--rpc-only", "--rpc", "1="+good, "--data", file)

	code, out, _ := command(t, "", "doctor", "--json", "--data", t.TempDir(), "--rpc-only", "--rpc", "1="+good)
	var list []check
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != exitComplete || len(list) != 5 {
		t.Errorf("exit %d, %v: %s", code, err, out)
	}
	if code, _, errOut := command(t, "", "doctor", "--chain", "nowhere"); code != exitBadInput || !strings.Contains(errOut, "--chain") {
		t.Errorf("exit %d, %q", code, errOut)
	}
}

// TestDoctorTraces: the source is named that an analysis would use, the first of any endpoint.
func TestDoctorTraces(t *testing.T) {
	f := func(slug, explorer, state, want string, offers ...[]upstream.Support) {
		t.Helper()
		ch, ok := chain.BySlug(slug)
		if !ok {
			t.Fatalf("no chain %s", slug)
		}
		var found []upstream.Inspection
		for i, o := range offers {
			x := upstream.Inspection{Host: fmt.Sprint("node", i)}
			for n, method := range []string{"debug_traceTransaction", "trace_transaction", "trace_replayTransaction", "ots_traceTransaction"} {
				x.Traces = append(x.Traces, upstream.TraceMethod{Name: method, Support: o[n]})
			}
			found = append(found, x)
		}
		if got := traceCheck(ch, found, explorer); got.State != state || got.Detail != want || (got.Advice == "") != (state == stateGood) {
			t.Errorf("%s: %+v", slug, got)
		}
	}
	yes, no, open := upstream.Supported, upstream.NotSupported, upstream.NotKnown
	none := []upstream.Support{no, no, open, no}
	f("ethereum-mainnet", "x.example", stateGood, "trace_replayTransaction of node0", []upstream.Support{no, no, yes, yes})
	f("ethereum-mainnet", "", stateGood, "ots_traceTransaction of node1", none, []upstream.Support{no, open, no, yes})
	f("ethereum-mainnet", "", stateGood, "trace_transaction of node1", []upstream.Support{no, no, yes, yes}, []upstream.Support{no, yes, no, no})
	f("ethereum-mainnet", "", stateGood, "debug_traceTransaction of node0", []upstream.Support{yes, yes, no, no}, []upstream.Support{yes, no, no, no})
	f("ethereum-mainnet", "", stateWarning, "no endpoint gives call traces; transactions are executed again on this machine", none)
	f("ethereum-mainnet", "x.example", stateWarning, "no endpoint gives call traces; raw traces of x.example are used, which this check does not ask; "+
		"where it has none, transactions are executed again on this machine", none)
	f("base-mainnet", "x.example", stateWarning, "no endpoint gives call traces; raw traces of x.example are used, which this check does not ask", none)
	f("base-mainnet", "", stateWarning, "no endpoint gives call traces; results rest on receipts alone, "+
		"since transactions of this chain cannot be executed again on this machine", none)
}

// TestDoctorClock: the nearest clock counts, in both directions.
func TestDoctorClock(t *testing.T) {
	f := func(want string, ahead ...time.Duration) {
		t.Helper()
		list := []upstream.Inspection{{Host: "undated", Ahead: time.Nanosecond}}
		for _, d := range ahead {
			list = append(list, upstream.Inspection{Host: "dated", Dated: true, Ahead: d})
		}
		if got := clockCheck(list); got.State != want {
			t.Errorf("%v: %+v", ahead, got)
		}
	}
	f(stateWarning)
	f(stateGood, time.Second)
	f(stateGood, maxDrift)
	f(stateFault, maxDrift+time.Second)
	f(stateFault, -time.Hour)
	f(stateGood, -time.Hour, 2*time.Second)
}
