package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"txlens/testkit/fixture"
	"txlens/testkit/stubnode"
)

// Names are counted; selectors, topics and calls without a selector are not.
func TestReadCast(t *testing.T) {
	a := readCast("0x1", `Traces:
  [2631935] 0x03E3D4561A8F8e975FdcD798D32857A20cF25E7e::start()
    ├─ [788] 0x304a554a310C7e546dfe434669C62820b7D83490::balanceOf(0xC0ee9dB1a9E07cA63E4fF0d5FB6F86Bf68D47b89)
    │   └─ ← [Return] 1820847120949253496306323 [1.82e24]
    ├─ [0] 0xC0ee9dB1a9E07cA63E4fF0d5FB6F86Bf68D47b89::deposit{value: 5}()
    ├─ [0] 0xC0ee9dB1a9E07cA63E4fF0d5FB6F86Bf68D47b89::fallback{value: 5}()
    ├─ [3000] PRECOMPILES::ecrecover(0x00, 27, 1, 2) [staticcall]
    │   │   ├─ emit Transfer(from: 0x00, to: 0x01, amount: 5)
    │   ├─  emit topic 0: 0x69ca02dd4edd7bf0a4abb9ed3b7af3f14778db5d61921c7dc7cd545266326de2
    ├─ [5774] 0x4FD27b205895e698fa350F7ea57CeC8a21927FCD::a8618f71(00)
`)
	if a.Frames != 3 || a.Logs != 1 {
		t.Errorf("%+v", a)
	}
}

func TestReadTxlens(t *testing.T) {
	a, err := readTxlens([]byte(`{"txHash":"0x1","txType":"swap","protocol":null,"prettyTrace":[
		{"type":"CALL","selector":"0x5f575529","functionName":"swap","functionSignature":"swap()","eventSignature":null},
		{"type":"CALL","selector":"0x5f575530","functionName":"","functionSignature":"","eventSignature":null},
		{"type":"LOG","selector":"","functionName":"Transfer","functionSignature":"","eventSignature":"Transfer(address,address,uint256)"},
		{"type":"LOG","selector":"","functionName":"","functionSignature":"","eventSignature":"0xbeee1e6e7fe307ddcf84b0a16137a4430ad5e2480fc4f4a8e250ab56ccd7630d"}]}`))
	if err != nil || a != (answer{Hash: "0x1", Type: "swap", Frames: 1, Logs: 1}) {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestItem(t *testing.T) {
	f := func(kind, signature string, indexed int, want string) {
		t.Helper()
		var got, wanted any
		if err := json.Unmarshal([]byte(item(kind, "f", signature, nil, indexed)), &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(want), &wanted); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, wanted) {
			t.Errorf("%s: %v", signature, got)
		}
	}
	f("function", "f()", 0, `{"type":"function","name":"f","inputs":[],"outputs":[],"stateMutability":"payable"}`)
	f("function", "f((uint8,(bool,bytes)[2])[],address)", 0, `{"type":"function","name":"f","outputs":[],"stateMutability":"payable","inputs":[
		{"type":"tuple[]","name":"arg0","components":[{"type":"uint8","name":"field0"},
			{"type":"tuple[2]","name":"field1","components":[{"type":"bool","name":"field0"},{"type":"bytes","name":"field1"}]}]},
		{"type":"address","name":"arg1"}]}`)
	f("event", "f(address,uint256)", 1, `{"type":"event","name":"f","inputs":[{"type":"address","name":"arg0","indexed":true},{"type":"uint256","name":"arg1","indexed":false}]}`)
}

// A word of 3loop that maps onto several types is right if one of them is expected.
// A transaction without an expectation does not count.
func TestJudge(t *testing.T) {
	c := &corpus{txs: []*one{
		{hash: "0xA", expect: expectation{[]string{"other", "stake"}, []string{"uniswap-v3"}}},
		{hash: "0xb", expect: expectation{[]string{"swap"}, []string{"curve"}}},
		{hash: "0xc", expect: expectation{[]string{"swap"}, []string{"curve"}}},
		{hash: "0xd"},
	}}
	r := &result{answers: map[string]answer{"0xa": {Type: "mint", Protocol: "uniswap_v3"}, "0xb": {Type: "transfer-token", Protocol: "convex"},
		"0xc": {Type: "unknown"}, "0xd": {Type: "swap", Protocol: "curve"}}}
	if got := judge(c, r, loopTypes, false); got != (score{3, 1, 1, 3, 1, 1}) {
		t.Errorf("%+v", got)
	}
}

func TestFlatTrace(t *testing.T) {
	raw, err := flatTrace(fixture.Labelled{
		Tx:       json.RawMessage(`{"from":"0x1","to":"0x2","gas":"0x5208","input":"0xd0e30db0","value":"0x5"}`),
		Receipt:  json.RawMessage(`{"gasUsed":"0x5000","status":"0x0"}`),
		Internal: json.RawMessage(`[{"from":"0x2","to":"0x3","value":"16","isError":"0"},{"from":"0x2","to":"0x4","value":"1","isError":"1"}]`),
	})
	var root frame
	if err := json.Unmarshal(raw, &root); err != nil {
		t.Fatal(err)
	}
	if err != nil || root.Type != "CALL" || root.Error == "" || root.Input != "0xd0e30db0" || len(root.Calls) != 1 || root.Calls[0].Value != "0x10" || root.Calls[0].To != "0x3" {
		t.Errorf("%s, %v", raw, err)
	}
}

// The node tells what was recorded of the state before a transaction and refuses the rest.
func TestSetState(t *testing.T) {
	n := stubnode.New(nil, stubnode.Options{ChainID: 1})
	err := setState(n, json.RawMessage(`{"pre":{"0xAB00000000000000000000000000000000000000":{"balance":"0x7","nonce":2,"code":"0x60","storage":{
		"0x0000000000000000000000000000000000000000000000000000000000000001":"0x0000000000000000000000000000000000000000000000000000000000000009"}}},"post":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	f := func(method, params, want string) {
		t.Helper()
		w := httptest.NewRecorder()
		completed{n}.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", bytes.NewReader([]byte(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":[`+params+`]}`))))
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %s", method, w.Body)
		}
	}
	known, unknown := `"0xab00000000000000000000000000000000000000"`, `"0xac00000000000000000000000000000000000000"`
	f("eth_getBalance", known+`,"latest"`, `"result":"0x7"`)
	f("eth_getTransactionCount", known+`,"latest"`, `"result":"0x2"`)
	f("eth_getCode", known+`,"latest"`, `"result":"0x60"`)
	f("eth_getStorageAt", known+`,"0x1","latest"`, `"result":"0x0000000000000000000000000000000000000000000000000000000000000009"`)
	f("eth_getStorageAt", known+`,"0x2","latest"`, stubnode.ErrNoState.Message)
	f("eth_getBalance", unknown+`,"latest"`, stubnode.ErrNoState.Message)
}

// A block that lacks fields gets them, and the parent of a known block is made up.
func TestCompletedBlock(t *testing.T) {
	n := stubnode.New([]fixture.Block{{ChainID: 1, Number: 16, Header: json.RawMessage(`{"number":"0x10","hash":"0xaa","parentHash":"0xbb","miner":"0xcc"}`)}}, stubnode.Options{})
	f := func(number string, want ...string) {
		t.Helper()
		r := completed{n}.answer(call{ID: json.RawMessage("1"), Method: "eth_getBlockByNumber", Params: []json.RawMessage{json.RawMessage(number), json.RawMessage("false")}})
		for _, w := range append(slices.Clip(want), `"sha3Uncles":"0x00`, `"miner":"0xcc"`) {
			if !strings.Contains(string(r.Result), w) {
				t.Errorf("%s lacks %s: %s", number, w, r.Result)
			}
		}
	}
	f(`"0x10"`, `"hash":"0xaa"`, `"parentHash":"0xbb"`)
	f(`"0xf"`, `"hash":"0xbb"`, `"number":"0xf"`)
	if r := (completed{n}).answer(call{Method: "eth_getBlockByNumber", Params: []json.RawMessage{json.RawMessage(`"0x5"`), json.RawMessage("false")}}); string(r.Result) != "null" {
		t.Errorf("unknown block: %s", r.Result)
	}
}
