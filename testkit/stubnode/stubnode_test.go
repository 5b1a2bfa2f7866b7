package stubnode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"txlens/testkit/fixture"
)

const (
	txA = "0x00000000000000000000000000000000000000000000000000000000000000aa"
	txB = "0x00000000000000000000000000000000000000000000000000000000000000bb"
)

// small is a block whose transactions are recorded in the wrong order.
func small() []fixture.Block {
	tx := func(hash, index string) fixture.Tx {
		return fixture.Tx{Hash: hash,
			Tx:        json.RawMessage(`{"hash":"` + hash + `","transactionIndex":"` + index + `","blockNumber":"0x10"}`),
			Receipt:   json.RawMessage(`{"transactionHash":"` + hash + `"}`),
			Trace:     json.RawMessage(`{"type":"CALL","logs":[{}],"calls":[{"type":"CALL","logs":[{}]}]}`),
			StateDiff: json.RawMessage(`{"pre":{},"post":{}}`)}
	}
	return []fixture.Block{{ChainID: 10, Number: 16, Header: json.RawMessage(`{"number":"0x10","hash":"0xC0FFEE"}`), Txs: []fixture.Tx{tx(txB, "0x1"), tx(txA, "0x0")}},
		{ChainID: 1, Number: 99, Header: json.RawMessage(`{"hash":"0x1"}`)}}
}

func post(t *testing.T, url, body string) string {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestMethods(t *testing.T) {
	n := New(small(), Options{Pending: []fixture.Tx{{Hash: "0xdd", Tx: json.RawMessage(`{"hash":"0xdd","blockNumber":"0x1"}`)}}})
	url := n.Start(t)
	f := func(method, params, want string) {
		t.Helper()
		got := post(t, url, `{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":`+params+`}`)
		if want = `{"jsonrpc":"2.0","id":7,` + want + `}`; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	f("eth_chainId", `[]`, `"result":"0xa"`)
	f("net_version", `[]`, `"result":"10"`)
	f("eth_blockNumber", `[]`, `"result":"0x10"`)
	f("eth_getTransactionByHash", `["`+txA+`"]`, `"result":{"hash":"`+txA+`","transactionIndex":"0x0","blockNumber":"0x10"}`)
	f("eth_getTransactionByHash", `["0x01"]`, `"result":null`)
	f("eth_getTransactionByHash", `["0xdd"]`, `"result":{"blockNumber":null,"hash":"0xdd"}`)
	f("eth_getTransactionReceipt", `["0xdd"]`, `"result":null`)
	f("eth_getBlockByNumber", `["0x10",false]`, `"result":{"hash":"0xC0FFEE","number":"0x10","transactions":["`+txA+`","`+txB+`"]}`)
	f("eth_getBlockByHash", `["0xc0ffee",false]`, `"result":{"hash":"0xC0FFEE","number":"0x10","transactions":["`+txA+`","`+txB+`"]}`)
	f("eth_getBlockByNumber", `["0x63",true]`, `"result":null`)
	f("eth_getBlockByNumber", `["0x10"]`, `"error":{"code":-32602,"message":"missing value for required argument 1"}`)
	f("debug_traceTransaction", `["`+txA+`",{"tracer":"callTracer","tracerConfig":{"withLog":true}}]`, `"result":{"type":"CALL","logs":[{}],"calls":[{"type":"CALL","logs":[{}]}]}`)
	f("debug_traceTransaction", `["`+txA+`",{"tracer":"callTracer"}]`, `"result":{"calls":[{"type":"CALL"}],"type":"CALL"}`)
	f("debug_traceTransaction", `["`+txA+`",{"tracer":"prestateTracer","tracerConfig":{"diffMode":true}}]`, `"result":{"pre":{},"post":{}}`)
	f("debug_traceTransaction", `["0x01",{"tracer":"callTracer"}]`, `"error":{"code":-32000,"message":"transaction not found"}`)
	f("eth_call", `[{},"0x10"]`, `"error":{"code":-32000,"message":"historical state is not available"}`)
	f("trace_transaction", `["`+txA+`"]`, `"error":{"code":-32601,"message":"the method does not exist/is not available"}`)

	n.Handle("eth_call", func([]json.RawMessage) (json.RawMessage, error) { return json.RawMessage(`"0x2a"`), nil })
	f("eth_call", `[{},"0x10"]`, `"result":"0x2a"`)
	n.Handle("eth_call", func([]json.RawMessage) (json.RawMessage, error) { return nil, errors.New("execution reverted") })
	f("eth_call", `[{},"0x10"]`, `"error":{"code":-32000,"message":"execution reverted"}`)
	if n.Calls("eth_call") != 3 || n.Requests() != 19 {
		t.Errorf("counted %v in %d requests", n.Counts(), n.Requests())
	}
}

func TestBatchComesShuffledAndWhole(t *testing.T) {
	url := New(small(), Options{}).Start(t)
	batch := `[{"id":1,"method":"eth_chainId"},{"id":2,"method":"eth_blockNumber"},{"id":3,"method":"no_such"},{"id":4,"method":"net_version"}]`
	got := post(t, url, batch)
	if got != post(t, url, batch) {
		t.Error("the order changes from call to call")
	}
	var answers []response
	if err := json.Unmarshal([]byte(got), &answers); err != nil || len(answers) != 4 {
		t.Fatalf("%d answers, %v: %s", len(answers), err, got)
	}
	order := ""
	for _, a := range answers {
		order += string(a.ID)
	}
	if order == "1234" {
		t.Error("the answers come in the order of the requests")
	}
}

func TestFaults(t *testing.T) {
	n := New(small(), Options{})
	url := n.Start(t)
	ask := func(f Fault) (*http.Response, []byte, error) {
		n.SetFault("eth_chainId", f)
		resp, err := http.Post(url, "application/json", strings.NewReader(`{"id":1,"method":"eth_chainId"}`))
		if err != nil {
			return nil, nil, err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return resp, body, err
	}
	if _, _, err := ask(Fault{Refuse: true}); err == nil {
		t.Error("a refused connection answers")
	}
	if resp, _, _ := ask(Fault{Status: 429, RetryAfter: "3"}); resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "3" {
		t.Errorf("429: %v", resp)
	}
	if _, body, err := ask(Fault{Huge: 1 << 20}); err != nil || len(body) < 1<<20 {
		t.Errorf("huge: %d bytes, %v", len(body), err)
	}
	if _, _, err := ask(Fault{Truncate: true}); err == nil {
		t.Error("a truncated body ends well")
	}
	if _, body, _ := ask(Fault{Empty: true}); len(body) != 0 {
		t.Errorf("empty: %q", body)
	}
	if _, body, _ := ask(Fault{HTML: true}); !bytes.HasPrefix(body, []byte("<!DOCTYPE")) {
		t.Errorf("page: %q", body)
	}
	if _, body, _ := ask(Fault{Garbage: true}); json.Valid(body) {
		t.Errorf("garbage: %q", body)
	}
	if _, body, _ := ask(Fault{WrongID: true}); !bytes.Contains(body, []byte(`"id":987654321`)) {
		t.Errorf("wrong id: %q", body)
	}
	if _, body, _ := ask(Fault{Error: &RPCError{Code: -32005, Message: "slow down"}}); !bytes.Contains(body, []byte(`"code":-32005`)) {
		t.Errorf("error: %q", body)
	}
	const good = `{"jsonrpc":"2.0","id":1,"result":"0xa"}`
	for _, f := range []Fault{{Gzip: true}, {Drip: time.Microsecond, DripBytes: 3}, {Delay: time.Millisecond}} {
		if _, body, err := ask(f); err != nil || string(body) != good {
			t.Errorf("%+v: %q, %v", f, body, err)
		}
	}
	ask(Fault{Status: 500, Times: 1})
	if got := post(t, url, `{"id":1,"method":"eth_chainId"}`); got != good {
		t.Errorf("after its only use the fault stays: %s", got)
	}
}

func TestDelayEndsWhenTheClientGoes(t *testing.T) {
	n := New(small(), Options{})
	n.SetFault(All, Fault{Delay: time.Hour})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "POST", n.Start(t), strings.NewReader(`{"id":1,"method":"eth_chainId"}`))
	if _, err := http.DefaultClient.Do(req); err == nil {
		t.Fatal("answered at once")
	}
}

func TestSources(t *testing.T) {
	s := NewSources()
	url := s.Start(t)
	const addr = "0x00000000000000000000000000000000000000Ab"
	c := Contract{Name: "Vault", ABI: `[{"type":"fallback"}]`, ProxyType: "EIP1967Proxy", Implementations: []Implementation{{addr, "Logic"}}}
	for _, service := range []string{Sourcify, Etherscan, Blockscout} {
		s.SetContract(service, 5, addr, c)
	}
	s.SetFunction("0xa9059cbb", Signature{Name: "transfer(address,uint256)", Verified: true})
	s.SetPrice("coingecko:ethereum", Price{USD: "1234.5", Symbol: "ETH"})
	f := func(path string, status int, parts ...string) {
		t.Helper()
		resp, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != status {
			t.Errorf("status %d, body %s", resp.StatusCode, body)
		}
		for _, p := range parts {
			if !bytes.Contains(body, []byte(p)) {
				t.Errorf("no %s in %s", p, body)
			}
		}
	}
	f("/server/v2/contract/5/"+addr+"?fields=abi", 200, `"match":"exact_match"`, `"abi":[{"type":"fallback"}]`, `"proxyType":"EIP1967Proxy"`, `"name":"Logic"`)
	f("/server/v2/contract/6/"+addr, 404, `"match":null`)
	f("/server/v2/contract/6/0x12", 400, `"customCode":"invalid_parameter"`)
	f("/signature-database/v1/lookup?function=0xa9059cbb,0x00000001&event="+txA, 200, `"0x00000001":null`, `"hasVerifiedContract":true`, `"`+txA+`":[]`)
	f("/signature-database/v1/lookup?function=0x1", 500, `"ok":false`)
	f("/v2/api?chainid=5&module=contract&action=getsourcecode&apikey=K&address="+addr, 200, `"Proxy":"1"`, `"ABI":"[{\"type\":\"fallback\"}]"`)
	f("/v2/api?chainid=5&module=contract&action=getsourcecode&apikey=K&address=0x01", 200, `"status":"1"`, `Contract source code not verified`)
	f("/v2/api?chainid=5&module=contract&action=getsourcecode&address=0x01", 200, `"status":"0"`, `Invalid API Key`)
	f("/5/api/v2/smart-contracts/"+addr, 200, `"proxy_type":"eip1967"`)
	f("/api/v2/smart-contracts/"+addr, 200, `"name":"Vault"`)
	f("/6/api/v2/smart-contracts/"+addr, 404, `Not found`)
	f("/prices/historical/1700000000/coingecko:Ethereum,base:0x1?searchWidth=4h", 200, `{"coins":{"coingecko:Ethereum":{"price":1234.5,"symbol":"ETH","timestamp":1700000000}}}`)
	s.SetFault(Llama, Fault{Status: 429})
	f("/prices/historical/1700000000/coingecko:ethereum", 429, "Too Many Requests")
	if s.Calls(Sourcify) != 3 || s.Calls(All) != 13 {
		t.Errorf("counted %v", s.Counts())
	}
}

func TestServesEveryRecordedTransaction(t *testing.T) {
	blocks := fixture.Blocks(t)
	seen := 0
	for _, chainID := range []uint64{1, 10, 534352} {
		n := New(blocks, Options{ChainID: chainID})
		for _, b := range n.numbers {
			var got struct{ Transactions []struct{ Hash string } }
			if err := json.Unmarshal(b.json(true), &got); err != nil {
				t.Fatal(err)
			}
			for i, tx := range got.Transactions {
				if uint64(i) != index(n.txs[tx.Hash]) {
					t.Errorf("%s at %d", tx.Hash, i)
				}
				seen++
			}
		}
	}
	if seen != 482 {
		t.Errorf("%d transactions", seen)
	}
}
