package sandbox

import (
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
)

func (w *world) inject(f Fault) {
	w.Helper()
	if err := w.Inject(f); err != nil {
		w.Fatal(err)
	}
}

func TestFaultDelay(t *testing.T) {
	w := newWorld(t, Options{})
	w.inject(Fault{Method: "eth_blockNumber", Delay: 7 * time.Second, Times: 2})
	before := w.clock.now()
	for range 3 {
		if err := w.rpc(nil, "eth_blockNumber"); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.clock.now().Sub(before); got != 14*time.Second {
		t.Errorf("waited %s", got)
	}
}

// A lost answer is the dangerous fault: what was asked is done.
func TestFaultLose(t *testing.T) {
	for _, method := range []string{"eth_sendRawTransaction", "eth_sendRawTransactionSync"} {
		w := newWorld(t, Options{})
		w.inject(Fault{Method: method, Lose: true, Times: 1})
		raw := draftTx{key: payer, calls: []Call{pay(5)}, validBefore: epoch + 20}.raw()
		before := w.holds(payee)
		if err := w.rpc(nil, method, hexutil.Bytes(raw)); err == nil || err.Message != "no answer" {
			t.Errorf("%s: %v", method, err)
		}
		if got := w.holds(payee) - before; got != 5 {
			t.Errorf("%s: moved %d", method, got)
		}
		if err := w.rpc(nil, method, hexutil.Bytes(raw)); err == nil || err.Message != "already known" {
			t.Errorf("%s again: %v", method, err)
		}
	}
}

func TestFaultRefuse(t *testing.T) {
	w := newWorld(t, Options{})
	w.inject(Fault{Method: "eth_sendRawTransaction", Refuse: &Error{Code: -32005, Message: "limit exceeded"}, Times: 1})
	raw := draftTx{key: payer, calls: []Call{pay(5)}, validBefore: epoch + 20}.raw()
	before := w.holds(payee)
	if err := w.rpc(nil, "eth_sendRawTransaction", hexutil.Bytes(raw)); err == nil || err.Code != -32005 {
		t.Errorf("%v", err)
	}
	if w.holds(payee) != before {
		t.Error("a refused transaction was mined")
	}
	if err := w.rpc(nil, "eth_sendRawTransaction", hexutil.Bytes(raw)); err != nil {
		t.Error(err)
	}
}

func TestFaultRevert(t *testing.T) {
	w := newWorld(t, Options{})
	d, _ := w.open(payer, Descriptor{}, 500)
	w.inject(Fault{Call: "close", Revert: true, Times: 1})
	w.ok(payee, to(settleData(d, 100, w.voucher(payer, d, 100)))) // another function
	closing := to(closeData(d, 200, 200, w.voucher(payer, d, 200)))
	w.reverts("injected", payee, closing)
	w.wantState(d, 100, 500, 0)
	w.ok(payee, closing)

	w.inject(Fault{Method: "eth_call", Revert: true, Times: 1})
	call := map[string]any{"to": Reserve, "data": hexutil.Bytes(pack("CLOSE_GRACE_PERIOD()"))}
	if err := w.rpc(nil, "eth_call", call); err == nil || err.Code != codeReverted {
		t.Errorf("simulation: %v", err)
	}
	if err := w.rpc(nil, "eth_call", call); err != nil {
		t.Errorf("simulation after: %v", err)
	}
}

// A lagging replica knows neither the block nor what happened in it, but takes
// transactions.
func TestFaultLag(t *testing.T) {
	w := newWorld(t, Options{})
	d, opened := w.open(payer, Descriptor{}, 500)
	w.inject(Fault{Lag: 1})
	w.wantState(d, 0, 0, 0)
	var number hexutil.Uint64
	if w.rpc(&number, "eth_blockNumber"); number != opened.BlockNumber-1 {
		t.Errorf("block %d", number)
	}
	for _, method := range []string{"eth_getTransactionReceipt", "eth_getTransactionByHash"} {
		var found any
		if err := w.rpc(&found, method, opened.TransactionHash); err != nil || found != nil {
			t.Errorf("%s: %v, %v", method, found, err)
		}
	}
	var logs []logJSON
	if w.rpc(&logs, "eth_getLogs", map[string]any{"fromBlock": "0x0", "address": Reserve}); len(logs) != 0 {
		t.Errorf("%d logs", len(logs))
	}
	call := map[string]any{"to": Reserve, "data": hexutil.Bytes(pack("getChannelState(bytes32)", d.ID(Moderato)))}
	if err := w.rpc(nil, "eth_call", call, opened.BlockNumber); err == nil || err.Message != "header not found" {
		t.Errorf("read at a block that is not there: %v", err)
	}
	if r := w.do(payer, pay(1)); r.Status != 1 {
		t.Errorf("%+v", r)
	}
	w.ClearFaults()
	w.wantState(d, 0, 500, 0)
	w.inject(Fault{Lag: 1000})
	if w.rpc(&number, "eth_blockNumber"); number != 0 {
		t.Errorf("block %d", number)
	}
}

func TestReorg(t *testing.T) {
	w := newWorld(t, Options{})
	d, opened := w.open(payer, Descriptor{}, 500)
	before := w.Books()
	settled := w.ok(payee, to(settleData(d, 100, w.voucher(payer, d, 100))))
	after := w.Books()
	if err := w.Reorg(1, false); err != nil {
		t.Fatal(err)
	}
	w.wantState(d, 0, 500, 0)
	var b blockJSON
	w.rpc(&b, "eth_getBlockByNumber", settled.BlockNumber, false)
	if b.Hash == settled.BlockHash || b.ParentHash != opened.BlockHash || len(b.Transactions) != 0 {
		t.Errorf("block in its place: %+v", b)
	}
	var gone *receiptJSON
	if w.rpc(&gone, "eth_getTransactionReceipt", settled.TransactionHash); gone != nil {
		t.Errorf("receipt stayed: %+v", gone)
	}
	if got := w.Books(); string(encode(got.Balances)) != string(encode(before.Balances)) || string(encode(got.Channels)) != string(encode(before.Channels)) {
		t.Errorf("books after the reorganisation: %+v", got)
	}
	w.wantBalanced()
	w.Mine() // it comes back in a later block
	var back *receiptJSON
	if w.rpc(&back, "eth_getTransactionReceipt", settled.TransactionHash); back == nil || back.BlockNumber != settled.BlockNumber+1 {
		t.Fatalf("did not come back: %+v", back)
	}
	if got := w.Books(); string(encode(got.Channels)) != string(encode(after.Channels)) {
		t.Errorf("books: %+v", got)
	}
	w.wantBalanced()
}

// A dropped transaction can be sent again: its nonce is free.
func TestReorgDrops(t *testing.T) {
	w := newWorld(t, Options{})
	raw := draftTx{key: payer, calls: []Call{pay(5)}, validBefore: epoch + 20}.raw()
	for range 2 {
		if _, err := w.sendRaw(raw); err != nil {
			t.Fatal(err)
		}
		if err := w.rpc(nil, "sandbox_reorg", 1, true); err != nil {
			t.Fatal(err)
		}
		w.Mine()
		if got := w.holds(payee); got != 1000*million {
			t.Errorf("holds %d", got)
		}
		w.wantBalanced()
	}
	w.Mine()
	var empty, instead blockJSON // an empty block in the place of an empty one is another
	w.rpc(&empty, "eth_getBlockByNumber", "latest", false)
	w.Reorg(1, true)
	if w.rpc(&instead, "eth_getBlockByNumber", "latest", false); instead.Number != empty.Number || instead.Hash == empty.Hash {
		t.Errorf("block %+v in the place of %+v", instead, empty)
	}
	if err := w.Reorg(len(w.blocks), true); err == nil {
		t.Error("the genesis block was taken back")
	}
	if err := w.Reorg(0, true); err == nil {
		t.Error("a reorganisation of nothing")
	}
}

// A transaction that comes back too late is not mined.
func TestReorgExpires(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.do(payer, pay(5))
	w.Reorg(1, false)
	w.IncreaseTime(time.Minute)
	w.Mine()
	var found *receiptJSON
	if w.rpc(&found, "eth_getTransactionReceipt", r.TransactionHash); found != nil {
		t.Errorf("mined after its time: %+v", found)
	}
	w.wantBalanced()
}

// Faults by JSON-RPC, in order; controls are never hit by a fault for all.
func TestFaultsFromOutside(t *testing.T) {
	w := newWorld(t, Options{})
	for _, fault := range []map[string]any{
		{"method": "eth_chainId", "times": 1, "refuse": map[string]any{"code": -1, "message": "first"}},
		{"method": "*", "refuse": map[string]any{"code": -2, "message": "second"}},
	} {
		if err := w.rpc(nil, "sandbox_inject", fault); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"first", "second", "second"} {
		if err := w.rpc(nil, "eth_chainId"); err == nil || err.Message != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	var calls int
	if err := w.rpc(&calls, "sandbox_calls", "eth_chainId"); err != nil || calls != 3 {
		t.Errorf("%d calls, %v", calls, err)
	}
	if err := w.rpc(nil, "sandbox_clearFaults"); err != nil {
		t.Error(err)
	}
	if err := w.rpc(nil, "eth_chainId"); err != nil {
		t.Error(err)
	}
	for _, bad := range []Fault{{Call: "steal"}, {Lag: -1}, {Times: -1}, {Delay: -1}, {Delay: time.Hour}} {
		if w.Inject(bad) == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
	for range maxFaults {
		w.inject(Fault{Method: "none"})
	}
	if err := w.Inject(Fault{}); err == nil || !strings.Contains(err.Error(), "too many") {
		t.Errorf("%v", err)
	}
}
