package gethdata

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"txlens/engine/ethrpc"
)

func anyOf(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v in %.200s", err, raw)
	}
	return v
}

// The hashes of the cases that others build on.
func TestCaseHashes(t *testing.T) {
	f := func(name, prefix string, mainnet bool) {
		t.Helper()
		c := Get(t, name)
		if got := c.Hash().Hex(); !strings.HasPrefix(got, prefix) {
			t.Errorf("%s: hash %s, want %s...", name, got, prefix)
		}
		if c.Mainnet() != mainnet {
			t.Errorf("%s: Mainnet() = %v", name, c.Mainnet())
		}
		e, err := c.BuildEvidence()
		if err != nil {
			t.Fatal(err)
		}
		tx := anyOf(t, e.Tx).(map[string]any)
		rc := anyOf(t, e.Receipt).(map[string]any)
		if tx["hash"] != c.Hash().Hex() || rc["transactionHash"] != tx["hash"] {
			t.Errorf("%s: hashes of transaction %v and receipt %v", name, tx["hash"], rc["transactionHash"])
		}
	}
	f(TokenTransfer, "0x5e3c77aeb341", true)
	f(MultiContracts, "0xa91c15883f9e", true)
	f(FailedTx, "0x1df81f86e2f3", true)
	f(Delegated7702, "0x1ed57ddd9595", true)
	f("call_tracer_withLog/delegatecall.json", "0xb04ce776ebd9", true)
	f("call_tracer_withLog/tx_partial_failed.json", "0xb8709b8e44c0", true)
	f("prestate_tracer_with_diff_mode/create_failed.json", "0x876a0668d133", true)
	f("prestate_tracer_with_diff_mode/suicide.json", "0x0de8b6a364b7", true)
	f("call_tracer/create.json", "0xab0717ee5cee", false)
	f("prestate_tracer_with_diff_mode/suicide_cancun.json", "0x", false)
}

// What is built equals what was recorded.
func TestEvidenceEqualsRecording(t *testing.T) {
	compared := 0
	for _, c := range Cases(t, CallTracer, CallTracerWithLog, "prestate_tracer_with_diff_mode") {
		e, err := c.BuildEvidence()
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		var config struct{ WithLog, OnlyTopCall, DiffMode, DisableCode, DisableStorage bool }
		if c.TracerConfig != nil {
			if err := json.Unmarshal(c.TracerConfig, &config); err != nil {
				t.Fatal(err)
			}
		}
		if config.OnlyTopCall || config.DisableCode || config.DisableStorage {
			continue
		}
		compared++
		if c.Tracer == "callTracer" {
			if err := SameTrace(e.Trace, c.Result, config.WithLog); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
		} else if !reflect.DeepEqual(anyOf(t, e.StateDiff), anyOf(t, c.Result)) {
			t.Errorf("%s: built %.2000s, recorded %.2000s", c.Name, e.StateDiff, c.Result)
		}
	}
	if compared < 25 {
		t.Errorf("only %d cases compared", compared)
	}
}

func TestReceipt(t *testing.T) {
	f := func(name, status string, logs int) {
		t.Helper()
		e, err := Get(t, name).BuildEvidence()
		if err != nil {
			t.Fatal(err)
		}
		rc := anyOf(t, e.Receipt).(map[string]any)
		trace := anyOf(t, e.Trace).(map[string]any)
		if rc["status"] != status || len(rc["logs"].([]any)) != logs || rc["gasUsed"] != trace["gasUsed"] {
			t.Errorf("%s: status %v, %d logs, gas %v of %v", name, rc["status"], len(rc["logs"].([]any)), rc["gasUsed"], trace["gasUsed"])
		}
	}
	f(TokenTransfer, "0x1", 1)
	f(MultiContracts, "0x1", 32)
	f(FailedTx, "0x0", 0)
	f(Delegated7702, "0x1", 3)
	f("call_tracer_withLog/multilogs.json", "0x1", 50)
}

// The typed values of a case are what its answers parse to.
func TestTypedEqualsAnswers(t *testing.T) {
	for _, c := range Cases(t, CallTracer, CallTracerWithLog, "call_tracer_flat", "prestate_tracer", "prestate_tracer_with_diff_mode") {
		e, err := c.BuildEvidence()
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		tx, err := ethrpc.ParseTransaction(e.Tx)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		if a, b := plain(t, tx), plain(t, c.Tx); a != b {
			t.Errorf("%s: transaction\n%s\n%s", c.Name, a, b)
		}
		blk, err := ethrpc.ParseBlock(e.BlockFull)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		if len(blk.Transactions) != 1 || blk.Transactions[0].Hash != c.Hash() {
			t.Errorf("%s: block has %v", c.Name, blk.Transactions)
		}
		want := *c.Block
		want.GasUsed, want.BlobGasUsed = blk.GasUsed, blk.BlobGasUsed // of the run, not of the header
		blk.Transactions, blk.TxHashes = nil, nil
		if a, b := plain(t, blk), plain(t, &want); a != b {
			t.Errorf("%s: block\n%s\n%s", c.Name, a, b)
		}
	}
}

// plain writes a value so that nil and empty are one.
func plain(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer("null", "[]", `""`, "[]").Replace(string(raw))
}

func post(t *testing.T, url, body string) []byte {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestNode(t *testing.T) {
	c := Get(t, TokenTransfer)
	n, err := NewNode(c, Get(t, MultiContracts))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(n)
	defer srv.Close()
	f := func(method, params, want string) {
		t.Helper()
		raw := post(t, srv.URL, `{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":`+params+`}`)
		if !bytes.Contains(raw, []byte(want)) || !bytes.Contains(raw, []byte(`"id":7`)) {
			t.Errorf("%s %s: %.300s, want %s", method, params, raw, want)
		}
	}
	hash := `"` + c.Hash().Hex() + `"`
	token := `"0xf4eced2f682ce333f96f2d8966c613ded8fc95dd"`
	f("eth_chainId", `[]`, `"result":"0x1"`)
	f("eth_blockNumber", `[]`, `"result":"0x1cb4c4"`)
	f("eth_getTransactionByHash", `[`+hash+`]`, `"blockNumber":"0xbaf81"`)
	f("eth_getTransactionByHash", `["0x0000000000000000000000000000000000000000000000000000000000000001"]`, `"result":null`)
	f("eth_getTransactionReceipt", `[`+hash+`]`, `"logIndex":"0x0"`)
	f("eth_getBlockByNumber", `["0xbaf81",true]`, `"input":"0xa9059cbb`)
	f("eth_getBlockByNumber", `["0xbaf81",false]`, `"transactions":["0x5e3c77aeb341`)
	f("eth_getBlockByNumber", `["0x1",false]`, `"result":null`)
	f("eth_getBalance", `["0xd1220a0cf47c7b9be7a2e6ba89f429762e7b9adb","0xbaf80"]`, `"result":"0x14203bee2ea6fbe8c"`)
	f("eth_getBalance", `["0xd1220a0cf47c7b9be7a2e6ba89f429762e7b9adb","0xbaf81"]`, `historical state is not available`)
	f("eth_getBalance", `["0x00000000000000000000000000000000000000aa","0xbaf80"]`, `historical state is not available`)
	f("eth_getTransactionCount", `["0xd1220a0cf47c7b9be7a2e6ba89f429762e7b9adb","0xbaf80"]`, `"result":"0x22"`)
	f("eth_getCode", `[`+token+`,"0xbaf80"]`, `"result":"0x606060`)
	f("eth_getCode", `[`+token+`,"0xbaf81"]`, `"result":"0x606060`)
	f("eth_getStorageAt", `[`+token+`,"0x1f","0xbaf80"]`, `historical state is not available`)
	f("eth_getStorageAt", `[`+token+`,"0x1f"]`, `-32602`)
	f("eth_call", `[{},"0xbaf80"]`, `historical state is not available`)
	f("debug_traceTransaction", `[`+hash+`,{"tracer":"callTracer","tracerConfig":{"withLog":true}}]`, `"type":"CALL"`)
	f("debug_traceTransaction", `[`+hash+`,{"tracer":"prestateTracer","tracerConfig":{"diffMode":true}}]`, `"post":`)
	f("trace_transaction", `[`+hash+`]`, `-32601`)
	n.Debug = false
	f("debug_traceTransaction", `[`+hash+`,{"tracer":"callTracer","tracerConfig":{"withLog":true}}]`, `-32601`)
	if n.CallsTo("eth_call") != 1 || n.Calls() != 21 {
		t.Errorf("%d calls, %d to eth_call", n.Calls(), n.CallsTo("eth_call"))
	}
}

func TestNodeBatch(t *testing.T) {
	n, err := NewNode(Get(t, TokenTransfer))
	if err != nil {
		t.Fatal(err)
	}
	n.PerCall = 5 * time.Millisecond
	srv := httptest.NewServer(n)
	defer srv.Close()
	start := time.Now()
	raw := post(t, srv.URL, `[{"id":1,"method":"eth_chainId"},{"id":"b","method":"no_such"},{"id":3,"method":"eth_blockNumber"}]`)
	if took := time.Since(start); took < 15*time.Millisecond {
		t.Errorf("three calls of 5 ms took %v", took)
	}
	var got []response
	if err := json.Unmarshal(raw, &got); err != nil || len(got) != 3 {
		t.Fatalf("%v in %s", err, raw)
	}
	if string(got[0].ID) != "3" || got[1].Error == nil || string(got[2].Result) != `"0x1"` {
		t.Errorf("batch answered %s", raw)
	}
	for _, bad := range []string{`[]`, `[1]`, `{`, `[`} {
		if raw := post(t, srv.URL, bad); !bytes.Contains(raw, []byte(`"error"`)) {
			t.Errorf("%s answered %s", bad, raw)
		}
	}
}
