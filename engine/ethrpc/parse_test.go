package ethrpc_test

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/ethrpc"
	"txlens/testkit/fixture"
)

const (
	word = "0x00000000000000000000000000000000000000000000000000000000000000"
	hash = word + "07"
	from = "0x0000000000000000000000000000000000000001"
	head = `{"hash":"` + hash + `","from":"` + from + `"`
)

// Every recorded answer is understood, and says what encoding/json finds in it.
func TestRecordedAnswers(t *testing.T) {
	for _, b := range fixture.Blocks(t) {
		blk, err := ethrpc.ParseBlock(b.Header)
		if err != nil || blk.Number != b.Number || blk.Withdrawals >= 0 != bytes.Contains(b.Header, []byte(`"withdrawals"`)) {
			t.Errorf("%d/%d: %v", b.ChainID, b.Number, err)
		}
		for _, x := range b.Txs {
			checkTransaction(t, x.Tx)
			checkReceipt(t, x.Receipt)
			checkStateDiff(t, x.StateDiff)
		}
	}
	for _, c := range fixture.LabelledChains() {
		for _, l := range fixture.LabelledOf(t, c) {
			checkTransaction(t, l.Tx)
			checkReceipt(t, l.Receipt)
			if _, err := ethrpc.ParseBlock(l.Block); err != nil {
				t.Errorf("%s: %v", l.Hash, err)
			}
		}
	}
}

func generic(t *testing.T, raw []byte) (m map[string]any) {
	t.Helper()
	if err := stdjson.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// quantity compares a number with what JSON says; absent and null are nil.
func quantity(t *testing.T, name string, have *big.Int, want any) {
	t.Helper()
	s, _ := want.(string)
	if s == "" {
		if have != nil {
			t.Errorf("%s: %v where nothing is said", name, have)
		}
		return
	}
	n, ok := new(big.Int).SetString(s, 0)
	if !ok || have == nil || have.Cmp(n) != 0 {
		t.Errorf("%s: %v, want %s", name, have, s)
	}
}

func number(n uint64) *big.Int { return new(big.Int).SetUint64(n) }

func pointer(n *uint64) *big.Int {
	if n == nil {
		return nil
	}
	return number(*n)
}

func checkTransaction(t *testing.T, raw []byte) {
	t.Helper()
	tx, err := ethrpc.ParseTransaction(raw)
	if err != nil {
		t.Error(err)
		return
	}
	m := generic(t, raw)
	if tx.Hash != common.HexToHash(m["hash"].(string)) || tx.From != common.HexToAddress(m["from"].(string)) {
		t.Errorf("%v: hash %s, from %s", m["hash"], tx.Hash, tx.From)
	}
	if to, _ := m["to"].(string); (tx.To == nil) != (to == "") || tx.To != nil && *tx.To != common.HexToAddress(to) {
		t.Errorf("%s: to %v, want %q", tx.Hash, tx.To, to)
	}
	if !bytes.Equal(tx.Input, common.FromHex(m["input"].(string))) {
		t.Errorf("%s: input", tx.Hash)
	}
	quantity(t, "nonce", number(tx.Nonce), m["nonce"])
	quantity(t, "gas", number(tx.Gas), m["gas"])
	quantity(t, "value", tx.Value, m["value"])
	quantity(t, "gasPrice", tx.GasPrice, m["gasPrice"])
	quantity(t, "maxFeePerGas", tx.MaxFee, m["maxFeePerGas"])
	quantity(t, "maxPriorityFeePerGas", tx.MaxTip, m["maxPriorityFeePerGas"])
	quantity(t, "mint", tx.Mint, m["mint"])
	quantity(t, "blockNumber", pointer(tx.BlockNumber), m["blockNumber"])
	quantity(t, "transactionIndex", pointer(tx.Index), m["transactionIndex"])
	list, _ := m["accessList"].([]any)
	if len(list) != len(tx.AccessList) || tx.Pending() {
		t.Errorf("%s: %d access tuples, want %d", tx.Hash, len(tx.AccessList), len(list))
	}
}

func checkReceipt(t *testing.T, raw []byte) {
	t.Helper()
	rc, err := ethrpc.ParseReceipt(raw)
	if err != nil {
		t.Error(err)
		return
	}
	m := generic(t, raw)
	quantity(t, "gasUsed", number(rc.GasUsed), m["gasUsed"])
	quantity(t, "effectiveGasPrice", rc.EffectiveGasPrice, m["effectiveGasPrice"])
	quantity(t, "l1Fee", rc.L1Fee, m["l1Fee"])
	quantity(t, "status", pointer(rc.Status), m["status"])
	logs := m["logs"].([]any)
	if len(logs) != len(rc.Logs) {
		t.Fatalf("%d logs, want %d", len(rc.Logs), len(logs))
	}
	for i, l := range rc.Logs {
		w := logs[i].(map[string]any)
		topics := w["topics"].([]any)
		same := l.Address == common.HexToAddress(w["address"].(string)) && len(topics) == len(l.Topics) &&
			bytes.Equal(l.Data, common.FromHex(w["data"].(string)))
		for k := range l.Topics {
			same = same && l.Topics[k] == common.HexToHash(topics[k].(string))
		}
		if !same {
			t.Errorf("log %d: %v, want %v", i, l, w)
		}
	}
}

func checkStateDiff(t *testing.T, raw []byte) {
	t.Helper()
	d, err := ethrpc.ParseStateDiff(raw)
	if err != nil {
		t.Error(err)
		return
	}
	m := generic(t, raw)
	for name, side := range map[string]map[common.Address]*ethrpc.Account{"pre": d.Pre, "post": d.Post} {
		want := m[name].(map[string]any)
		if len(want) != len(side) {
			t.Errorf("%d accounts %s, want %d", len(side), name, len(want))
		}
		for at, v := range want {
			a, w := side[common.HexToAddress(at)], v.(map[string]any)
			quantity(t, "balance", a.Balance, w["balance"])
			storage, _ := w["storage"].(map[string]any)
			nonce, said := w["nonce"].(float64)
			if len(storage) != len(a.Storage) || said != (a.Nonce != nil) || said && *a.Nonce != uint64(nonce) {
				t.Errorf("%s %s: %+v, want %v", name, at, a, w)
			}
			for slot, value := range storage {
				if a.Storage[common.HexToHash(slot)] != common.HexToHash(value.(string)) {
					t.Errorf("%s %s: slot %s", name, at, slot)
				}
			}
		}
	}
}

func TestNull(t *testing.T) {
	f := func(err error) {
		t.Helper()
		if !errors.Is(err, ethrpc.ErrNull) {
			t.Errorf("%v", err)
		}
	}
	_, err := ethrpc.ParseTransaction([]byte(`null`))
	f(err)
	_, err = ethrpc.ParseReceipt([]byte(` null `))
	f(err)
	_, err = ethrpc.ParseBlock([]byte(`null`))
	f(err)
	_, err = ethrpc.ParseStateDiff([]byte(`null`))
	f(err)
	_, err = ethrpc.DecodeReceipt(jsontext.NewDecoder(strings.NewReader(`null`)))
	f(err)
}

func TestRefuses(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		var err error
		switch in[:1] {
		case "t":
			_, err = ethrpc.ParseTransaction([]byte(in[1:]))
		case "r":
			_, err = ethrpc.ParseReceipt([]byte(in[1:]))
		case "b":
			_, err = ethrpc.ParseBlock([]byte(in[1:]))
		case "s":
			_, err = ethrpc.ParseStateDiff([]byte(in[1:]))
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %s", in, err, want)
		}
	}
	f(`t`, "read transaction: ")
	f(`t{}`, "hash: missing")
	f(`t`+head, "EOF")
	f(`t`+head+`} 1`, "more than one JSON value")
	f(`t{"hash":"`+hash+`","from":null}`, "from: missing")
	f(`t`+head+`,"hash":"`+hash+`"}`, "duplicate")
	f(`t`+head+`,"to":"0x00"}`, "/to: want 40 hex digits (address), have 2")
	f(`t`+head+`,"value":"`+hash+`00"}`, "/value: quantity above 32 bytes")
	f(`t`+head+`,"value":1e3}`, "/value: want a quantity")
	f(`t`+head+`,"gas":true}`, "/gas: want a quantity")
	f(`t`+head+`,"isSystemTx":1}`, "/isSystemTx: want a boolean")
	f(`t`+head+`,"accessList":[{}]}`, "/accessList/0: address: missing")
	f(`t`+head+`,"accessList":[{"address":"`+from+`","storageKeys":[null]}]}`, "/accessList/0/storageKeys/0: hash: missing")
	f(`t`+head+`,"authorizationList":[{"address":"`+from+`","v":256}]}`, "y parity 256")
	f(`t`+head+`,"blobVersionedHashes":[`+strings.Repeat(`"`+hash+`",`, 1024)+`"`+hash+`"]}`, "more than 1024 blobs")
	f(`r{"logs":[]}`, "gasUsed: missing")
	f(`r{"gasUsed":"0x1"}`, "logs: missing")
	f(`r{"gasUsed":"0x1","logs":[{"data":"0x"}]}`, "/logs/0: address: missing")
	f(`r{"gasUsed":"0x1","logs":[null]}`, "/logs/0: object: missing")
	f(`r{"gasUsed":"0x1","logs":[{"address":"`+from+`","topics":["`+strings.Repeat(hash+`","`, 4)+hash+`"]}]}`, "more than 4 topics")
	f(`b{"hash":"`+hash+`","timestamp":"0x1"}`, "number: missing")
	f(`b{"number":"0x1","hash":"`+hash+`","timestamp":"0x1","transactions":["`+hash+`",`+head+`}]}`, "hashes and objects mixed")
	f(`b{"number":"0x1","hash":"`+hash+`","timestamp":"0x1","transactions":[`+head+`,"to":"0x1"}]}`, "/transactions/0/to")
	// prestateTracer without diff mode lists accounts only.
	f(`s{"`+from+`":{"balance":"0x1"}}`, "pre: missing")
	f(`s{"pre":{},"post":{"0x01":{}}}`, "/post/0x01: want a name of 40 hex digits")
	f(`s{"pre":{"0x`+strings.Repeat("a", 40)+`":{},"0x`+strings.Repeat("A", 40)+`":{}},"post":{}}`, "twice")
	f(`s{"pre":{"`+from+`":{"storage":{"`+hash+`":"0x1"}}},"post":{}}`, "/storage/"+hash+": want 64 hex digits")
}

// What nodes leave out or write differently.
func TestAccepts(t *testing.T) {
	f := func(more string, check func(*ethrpc.Transaction) bool) {
		t.Helper()
		tx, err := ethrpc.ParseTransaction([]byte(head + more + `}`))
		if err != nil || !check(tx) {
			t.Errorf("%s: %+v, %v", more, tx, err)
		}
	}
	f(``, func(tx *ethrpc.Transaction) bool {
		return tx.Pending() && tx.To == nil && tx.Type == 0 && tx.Value.Sign() == 0 && tx.GasPrice == nil && tx.Input == nil
	})
	f(`,"gasPrice":null,"blockHash":null,"accessList":null,"r":"0x","unknown":{"a":[1,{"b":null}]}`, func(tx *ethrpc.Transaction) bool {
		return tx.GasPrice == nil && tx.BlockHash == nil && tx.AccessList == nil && tx.R.Sign() == 0
	})
	f(`,"nonce":7,"gas":"21000","data":"0x01","type":"0X7E","mint":"0x0","sourceHash":"`+hash+`","isSystemTx":true`, func(tx *ethrpc.Transaction) bool {
		return tx.Nonce == 7 && tx.Gas == 21000 && len(tx.Input) == 1 && tx.Type == 0x7e && tx.Mint.Sign() == 0 && tx.SourceHash != nil && tx.IsSystemTx
	})
	f(`,"yParity":"0x1","v":"0x25"`, func(tx *ethrpc.Transaction) bool { return tx.V.Int64() == 0x25 })
	f(`,"v":"0x25","yParity":"0x1"`, func(tx *ethrpc.Transaction) bool { return tx.V.Int64() == 0x25 })
	f(`,"yParity":"0x1"`, func(tx *ethrpc.Transaction) bool { return tx.V.Int64() == 1 })
	f(`,"value":340282366920938463463374607431768211456`, func(tx *ethrpc.Transaction) bool { return tx.Value.BitLen() == 129 })
	f(`,"authorizationList":[{"chainId":"0x1","address":"`+from+`","nonce":"0x2","yParity":"0x1","r":"0x3","s":"0x4"}]`, func(tx *ethrpc.Transaction) bool {
		a := tx.Authorizations[0]
		return a.ChainID.Int64() == 1 && a.Nonce == 2 && a.V == 1 && a.R.Int64() == 3 && a.S.Int64() == 4 && a.Address[19] == 1
	})

	rc, err := ethrpc.ParseReceipt([]byte(`{"root":"` + hash + `","gasUsed":"0x1","logs":[],"operatorFeeScalar":"0x2","operatorFeeConstant":"0x3","gasUsedForL1":"0x4","depositNonce":"0x5"}`))
	if err != nil || rc.Status != nil || rc.OperatorFeeScalar.Int64() != 2 || rc.OperatorFeeConstant.Int64() != 3 || *rc.GasUsedForL1 != 4 || *rc.DepositNonce != 5 {
		t.Errorf("%+v, %v", rc, err)
	}
	b, err := ethrpc.ParseBlock([]byte(`{"number":"0x1","hash":"` + hash + `","timestamp":"0x2","withdrawals":[{},{}],"transactions":[` + head + `,"value":"0x9"}]}`))
	if err != nil || b.Withdrawals != 2 || len(b.TxHashes) != 1 || b.Transactions[0].Value.Int64() != 9 || b.TxHashes[0] != b.Transactions[0].Hash {
		t.Errorf("%+v, %v", b, err)
	}
	// Code that was deleted is empty, code that nobody mentions is nil.
	d, err := ethrpc.ParseStateDiff([]byte(`{"pre":{"` + from + `":{"code":"0x"}},"post":{"` + from + `":{"nonce":1}}}`))
	at := common.HexToAddress(from)
	if err != nil || d.Pre[at].Code == nil || d.Post[at].Code != nil || *d.Post[at].Nonce != 1 {
		t.Errorf("%v, %v", d, err)
	}
}
