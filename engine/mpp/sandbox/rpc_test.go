package sandbox

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/holiman/uint256"
)

func TestRPCForms(t *testing.T) {
	w := newWorld(t, Options{})
	f := func(body, want string) {
		t.Helper()
		if got := string(w.ServeRPC(context.Background(), []byte(body))); got != want {
			t.Errorf("%s\n got %s\nwant %s", body, got, want)
		}
	}
	f(`{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}`, `{"jsonrpc":"2.0","id":1,"result":"0xa5bf"}`)
	f(`{"jsonrpc":"2.0","id":"a","method":"eth_chainId"}`, `{"jsonrpc":"2.0","id":"a","result":"0xa5bf"}`)
	f(`{"jsonrpc":"2.0","id":2,"method":"net_version"}`, `{"jsonrpc":"2.0","id":2,"result":"42431"}`)
	f(`{"jsonrpc":"2.0","id":2,"method":"web3_clientVersion"}`, `{"jsonrpc":"2.0","id":2,"result":"txlens-sandbox/not-a-real-chain"}`)
	f(`{"jsonrpc":"2.0","id":2,"method":"eth_syncing"}`, `{"jsonrpc":"2.0","id":2,"result":false}`)
	f(`{"jsonrpc":"2.0","id":2,"method":"eth_gasPrice"}`, `{"jsonrpc":"2.0","id":2,"result":"0x4e3b29200"}`)
	f(`{"jsonrpc":"2.0","id":2,"method":"eth_fillTransaction","params":[{}]}`, `{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"the method does not exist/is not available"}}`)
	f(`{"jsonrpc":"2.0","id":2,"method":"eth_getTransactionReceipt","params":["`+common.Hash{}.Hex()+`"]}`, `{"jsonrpc":"2.0","id":2,"result":null}`)
	f(`{"jsonrpc":"2.0","id":2,"method":"eth_getBlockByNumber","params":["0x9",false]}`, `{"jsonrpc":"2.0","id":2,"result":null}`)
	f(`{"jsonrpc":"2.0","id":2,"method":"eth_getCode","params":["`+Reserve.Hex()+`","latest"]}`, `{"jsonrpc":"2.0","id":2,"result":"0xef"}`)
	f(`{"jsonrpc":"2.0","id":2,"method":"eth_getCode","params":["`+payer.address().Hex()+`","latest"]}`, `{"jsonrpc":"2.0","id":2,"result":"0x"}`)
	f(`{"jsonrpc":"2.0","method":"eth_chainId"}`, "") // a notification
	f(`[{"jsonrpc":"2.0","id":1,"method":"eth_chainId"},{"jsonrpc":"2.0","method":"eth_chainId"},7,{"jsonrpc":"2.0","id":2,"method":"eth_blockNumber"}]`,
		`[{"jsonrpc":"2.0","id":1,"result":"0xa5bf"},{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request"}},{"jsonrpc":"2.0","id":2,"result":"0x0"}]`)
	f(` [] `, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a batch holds 1 to 100 requests"}}`)
	f(`[`+strings.Repeat(`{"id":1,"method":"a"},`, 100)+`{}]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a batch holds 1 to 100 requests"}}`)
	f(`{"id":1`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`)
	f(``, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`)
	f(`{"id":{},"method":"eth_chainId"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request"}}`)
	f(`{"id":1,"method":""}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request"}}`)
	f(`{"id":1,"method":"eth_chainId","params":[`+strings.Repeat("1,", 16)+`1]}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request"}}`)
	f(strings.Repeat("x", MaxBody+1), `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"request is too large"}}`)
	f(`{"id":1,"method":"eth_call","params":[{"to":"0x12"}]}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params: argument 0: hex string has length 2, want 40 for common.Address"}}`)
	f(`{"id":1,"method":"eth_sendRawTransaction","params":["0x02c0"]}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"transaction is not valid: type 0x02 is not supported"}}`)
	f(`{"id":1,"method":"eth_call","params":[{"to":"`+Reserve.Hex()+`"},{"blockHash":"`+common.Hash{}.Hex()+`"}]}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"header not found"}}`)
	f(`{"id":1,"method":"eth_call","params":[{"to":"`+Reserve.Hex()+`"},"0x5"]}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"header not found"}}`)
}

// State and receipts as of a block.
func TestReadsOfEarlierBlocks(t *testing.T) {
	w := newWorld(t, Options{})
	d, opened := w.open(payer, Descriptor{}, 500)
	w.ok(payee, to(settleData(d, 100, w.voucher(payer, d, 100))))
	f := func(block any, want uint64) {
		t.Helper()
		var out hexutil.Bytes
		call := map[string]any{"to": Reserve, "data": hexutil.Bytes(pack("getChannelState(bytes32)", d.ID(Moderato)))}
		if err := w.rpc(&out, "eth_call", call, block); err != nil {
			t.Fatal(err)
		}
		if settled := new(uint256.Int).SetBytes(out[:32]); settled.Uint64() != want {
			t.Errorf("block %v: settled %s, want %d", block, settled.Dec(), want)
		}
	}
	f("latest", 100)
	f("pending", 100)
	f("finalized", 100)
	f(opened.BlockNumber, 0)
	f(map[string]any{"blockHash": opened.BlockHash}, 0)
	f(map[string]any{"blockNumber": opened.BlockNumber}, 0)
	f(opened.BlockNumber+1, 100)
	var b blockJSON
	if w.rpc(&b, "eth_getBlockByHash", opened.BlockHash, false); b.Number != opened.BlockNumber || b.LogsBloom != opened.LogsBloom {
		t.Errorf("block %+v", b)
	}
}

func TestToken(t *testing.T) {
	w := newWorld(t, Options{})
	f := func(signature string, want []byte, args ...common.Hash) {
		t.Helper()
		if got := w.view(PathUSD, pack(signature, args...)); string(got) != string(want) {
			t.Errorf("%s: %x, want %x", signature, got, want)
		}
	}
	f("decimals()", wordsOf(u(6)))
	f("symbol()", returnString("pathUSD"))
	f("name()", returnString("pathUSD"))
	f("currency()", returnString("USD"))
	f("totalSupply()", wordsOf(u(4000*million)))
	f("balanceOf(address)", wordsOf(u(1000*million)), addressKey(payee.address()))
	w.ok(payer, Call{To: PathUSD, Data: pack("approve(address,uint256)", addressKey(stranger.address()), u(70))})
	f("allowance(address,address)", wordsOf(u(70)), addressKey(payer.address()), addressKey(stranger.address()))
	from := func(units uint64) Call {
		return Call{To: PathUSD, Data: pack("transferFrom(address,address,uint256)", addressKey(payer.address()), addressKey(payee.address()), u(units))}
	}
	w.reverts("InsufficientAllowance", stranger, from(71))
	w.ok(stranger, from(70))
	f("balanceOf(address)", wordsOf(u(1000*million+70)), addressKey(payee.address()))
	w.reverts("InvalidRecipient", payer, Call{To: PathUSD, Data: pack("transfer(address,uint256)", u(0), u(1))})
	w.reverts("InvalidRecipient", payer, Call{To: PathUSD, Data: pack("transfer(address,uint256)", addressKey(PathUSD), u(1))})
	w.reverts("InsufficientBalance", payer, pay(2000*million))
	before := w.holds(payer)
	self := Call{To: PathUSD, Data: pack("transfer(address,uint256)", addressKey(payer.address()), u(5))}
	w.moves(w.ok(payer, self), payer, before, 0)
	if err := w.Mint(stranger.address(), payer.address(), amount(1)); err == nil {
		t.Error("minted a token that is none")
	}
}

func TestEstimates(t *testing.T) {
	w := newWorld(t, Options{})
	call := map[string]any{"to": Reserve, "data": hexutil.Bytes(openData(Descriptor{Payee: payee.address(), Token: PathUSD}, amount(5)))}
	for _, kind := range []string{"secp256k1", "p256", "webAuthn"} {
		var gas hexutil.Uint64
		request := map[string]any{"from": payer.address(), "type": "0x76", "keyType": kind, "calls": []any{call}}
		if err := w.rpc(&gas, "eth_estimateGas", request); err != nil {
			t.Fatal(err)
		}
		k := map[string]key{"secp256k1": payer, "p256": p256TestKey{d: uint256.NewInt(3).ToBig()}, "webAuthn": p256TestKey{d: uint256.NewInt(3).ToBig(), webAuthn: true}}[kind]
		w.Mint(PathUSD, k.address(), amount(million))
		w.takes(draftTx{key: k, calls: []Call{to(call["data"].(hexutil.Bytes))}, validBefore: epoch + 20, gas: uint64(gas)})
	}
	bad := map[string]any{"from": payer.address(), "calls": []any{map[string]any{"to": Reserve, "data": hexutil.Bytes(pack(withdrawSignature))}}}
	if err := w.rpc(nil, "eth_estimateGas", bad); err == nil || err.Code != codeReverted {
		t.Errorf("estimate of a revert: %v", err)
	}
}

func TestLogs(t *testing.T) {
	w := newWorld(t, Options{})
	d, opened := w.open(payer, Descriptor{}, 500)
	settled := w.ok(payee, to(settleData(d, 100, w.voucher(payer, d, 100))))
	w.open(stranger, Descriptor{}, 500)
	f := func(filter map[string]any, want int) {
		t.Helper()
		var out []logJSON
		if err := w.rpc(&out, "eth_getLogs", filter); err != nil {
			t.Fatal(err)
		}
		if len(out) != want {
			t.Errorf("%v: %d logs, want %d", filter, len(out), want)
		}
	}
	all := map[string]any{"fromBlock": "earliest", "address": Reserve}
	f(all, 3)
	f(map[string]any{"fromBlock": "0x0", "address": []any{Reserve}, "topics": []any{openedEvent}}, 2)
	f(map[string]any{"fromBlock": "0x0", "topics": []any{[]any{openedEvent, settledEvent}, d.ID(Moderato)}}, 2)
	f(map[string]any{"fromBlock": "0x0", "topics": []any{nil, d.ID(Moderato)}}, 2)
	f(map[string]any{"fromBlock": "0x0", "topics": []any{nil, nil, nil, addressKey(payee.address())}}, 3)
	f(map[string]any{"address": Reserve}, 1) // of the last block
	f(map[string]any{"fromBlock": opened.BlockNumber, "toBlock": opened.BlockNumber, "address": Reserve}, 1)
	f(map[string]any{"fromBlock": opened.BlockNumber, "toBlock": "0xff", "address": Reserve}, 3)
	f(map[string]any{"fromBlock": "0xff", "address": Reserve}, 0)
	f(map[string]any{"blockHash": settled.BlockHash, "address": Reserve}, 1)
	if err := w.rpc(nil, "eth_getLogs", map[string]any{"topics": []any{nil, nil, nil, nil, nil}}); err == nil {
		t.Error("five topics were taken")
	}
}

func TestControls(t *testing.T) {
	w := newWorld(t, Options{})
	before := w.seconds()
	for _, param := range []any{30, "0x1e"} {
		if err := w.rpc(nil, "evm_increaseTime", param); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.seconds() - before; got != 60 {
		t.Errorf("%d seconds", got)
	}
	var first, number hexutil.Uint64
	w.rpc(&first, "eth_blockNumber")
	w.rpc(nil, "evm_mine")
	if w.rpc(&number, "eth_blockNumber"); number != first+1 {
		t.Errorf("block %d after %d", number, first)
	}
	for _, units := range []any{"5", 5, "0x5"} {
		if err := w.rpc(nil, "sandbox_mint", stranger.address(), units); err != nil {
			t.Error(err)
		}
	}
	if got := w.holds(stranger); got != 1000*million+15 {
		t.Errorf("minted: %d", got)
	}
	if err := w.rpc(nil, "sandbox_setPolicy", PathUSD, payer.address(), false, true); err != nil {
		t.Error(err)
	}
	w.reverts("PolicyForbids", payer, pay(1))
	if err := w.rpc(nil, "sandbox_setReceivePolicy", payee.address(), stranger.address(), false); err != nil {
		t.Error(err)
	}
	w.reverts("PolicyForbids", stranger, to(openData(Descriptor{Payee: payee.address(), Token: PathUSD}, amount(5))))
	var seen inspection
	if err := w.rpc(&seen, "sandbox_inspect", t2HandOff); err != nil || seen.From != payer.address() || seen.Type != TypeHandOff ||
		seen.ExpiringNonceHash.Hex() != "0x899d68607dd886c1e47e63116a5785f577a02c688da98347e873de5b3f377d16" {
		t.Errorf("%+v, %v", seen, err)
	}
	var info information
	if w.rpc(&info, "sandbox_info"); info.ChainID != Moderato || info.Escrow != Reserve || info.Warning != Warning {
		t.Errorf("%+v", info)
	}
	var books Books
	if err := w.rpc(&books, "sandbox_books"); err != nil || len(books.Balances) < 4 {
		t.Errorf("%+v, %v", books, err)
	}
	for method, params := range map[string][]any{
		"evm_increaseTime": {uint64(1) << 40}, "sandbox_mint": {payer.address(), "x"}, "sandbox_inject": {map[string]any{"unknown": 1}},
		"sandbox_reorg": {99}, "sandbox_setPolicy": {PathUSD}, "sandbox_setReceivePolicy": {payer.address()}, "sandbox_inspect": {"0x"},
	} {
		if err := w.rpc(nil, method, params...); err == nil {
			t.Errorf("%s %v was taken", method, params)
		}
	}
}

func TestHTTP(t *testing.T) {
	w := newWorld(t, Options{})
	srv := httptest.NewServer(w.Chain)
	defer srv.Close()
	post := func(body string) (int, string, error) {
		r, err := http.Post(srv.URL, "application/json", strings.NewReader(body))
		if err != nil {
			return 0, "", err
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		return r.StatusCode, string(text), err
	}
	if code, body, err := post(`{"id":1,"method":"eth_chainId"}`); code != 200 || body != `{"jsonrpc":"2.0","id":1,"result":"0xa5bf"}` || err != nil {
		t.Errorf("%d %s %v", code, body, err)
	}
	if code, _, _ := post(`{"method":"eth_chainId"}`); code != http.StatusNoContent {
		t.Errorf("notification: %d", code)
	}
	if code, _, _ := post(strings.Repeat("x", MaxBody+1)); code != http.StatusRequestEntityTooLarge {
		t.Errorf("large: %d", code)
	}
	w.Inject(Fault{Method: "eth_chainId", Lose: true, Times: 1})
	if _, _, err := post(`{"id":1,"method":"eth_chainId"}`); err == nil {
		t.Error("a lost answer arrived")
	}
	r, err := http.Get(srv.URL)
	if err != nil || r.Header.Get("X-Sandbox") != Warning {
		t.Errorf("%+v, %v", r, err)
	}
	r.Body.Close()
	req, _ := http.NewRequest(http.MethodPut, srv.URL, nil)
	if r, err := http.DefaultClient.Do(req); err != nil || r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("%+v, %v", r, err)
	}
	http.DefaultClient.CloseIdleConnections()
}

// Many callers at once, for the race detector, and the books balance.
func TestConcurrentUse(t *testing.T) {
	w := newWorld(t, Options{BlockTime: time.Millisecond})
	done := make(chan error)
	keys := []key{payer, payee, stranger, operator}
	for n, k := range keys {
		go func() {
			for i := range 10 {
				raw := draftTx{key: k, calls: []Call{pay(1)}, validBefore: epoch + 20, validAfter: uint64(1 + n*100 + i)}.raw()
				if r, err := w.sendRaw(raw); err != nil || r.Status != 1 {
					done <- fmt.Errorf("transaction %d of %s: %+v, %v", i, k.address(), r, err)
					return
				}
				w.Books()
			}
			done <- nil
		}()
	}
	for range keys {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	w.wantBalanced()
}
