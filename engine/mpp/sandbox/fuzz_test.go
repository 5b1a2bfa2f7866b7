package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// FuzzReadTransaction: no bytes make the decoder fail in any other way than with
// ErrTransaction, and what it takes it takes again, to the same end.
func FuzzReadTransaction(f *testing.F) {
	for _, seed := range []string{t1SelfPaidOpen, t2HandOff, t3CoSigned, t4TopUp, t5Close, "0x76", "0x76c0", "0x78f8ff"} {
		f.Add(common.FromHex(seed))
	}
	access := newSecpKey("0x7777777777777777777777777777777777777777777777777777777777777777")
	limit := listOf(enc(PathUSD), enc(uint64(50_000)))
	f.Add(draftTx{key: access, account: payer.address(), keyAuth: keyAuth(payer, access, 0, epoch, limit), calls: []Call{pay(1)}}.raw())
	for _, k := range []key{p256TestKey{d: common.Big3, prehash: 1}, p256TestKey{d: common.Big2, webAuthn: true}} {
		f.Add(draftTx{key: k, calls: []Call{pay(1), pay(2)}, feePayer: payee}.raw())
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		tx, err := ReadTransaction(raw)
		if err != nil {
			if !errors.Is(err, ErrTransaction) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		again, err := ReadTransaction(append([]byte(nil), raw...))
		if err != nil || again.Hash != tx.Hash || again.Sender != tx.Sender || again.FeePayer != tx.FeePayer {
			t.Fatalf("read twice: %+v and %+v, %v", tx, again, err)
		}
	})
}

// FuzzServeRPC: whatever comes, the answer is JSON or nothing, and the tokens balance.
func FuzzServeRPC(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["` + t1SelfPaidOpen + `"]}`,
		`{"id":1,"method":"eth_sendRawTransactionSync","params":["` + t4TopUp + `"]}`,
		`[{"id":1,"method":"eth_chainId"},{"id":2,"method":"eth_getBlockByNumber","params":["latest",true]}]`,
		`{"id":1,"method":"eth_call","params":[{"to":"0x4d50500000000000000000000000000000000000","data":"0xd1f4cda200000000000000000000000000000000000000000000000000000000000000200000000000000000000000000000000000000000000000000000000000000001"},"0x0"]}`,
		`{"id":1,"method":"eth_call","params":[{"from":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","type":"0x76","calls":[{"to":"0x4d50500000000000000000000000000000000000","data":"0x73b57f74"}]}]}`,
		`{"id":1,"method":"eth_estimateGas","params":[{"calls":[{}],"keyType":"p256","keyAuthorization":{"limits":[1]}}]}`,
		`{"id":1,"method":"eth_getLogs","params":[{"fromBlock":"0x0","topics":[null,["0x0000000000000000000000000000000000000000000000000000000000000000"]],"address":[]}]}`,
		`{"id":1,"method":"sandbox_inject","params":[{"method":"*","lose":true,"times":1}]}`,
		`{"id":1,"method":"sandbox_reorg","params":[1,false]}`, `{"id":1,"method":"evm_increaseTime","params":["0x1e"]}`,
		`{"id":1,"method":"sandbox_mint","params":["0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","1000000"]}`,
		`{"id":1,"method":"sandbox_inspect","params":["` + t2HandOff + `"]}`, `{"id":1,"method":"sandbox_books"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		at := &clock{at: time.Unix(epoch, 0)}
		c, err := New(Options{Clock: at.now, Sleep: at.sleep, Fund: []Funding{{Account: payer.address(), Amount: *amount(million)}}})
		if err != nil {
			t.Fatal(err)
		}
		if answer := c.ServeRPC(context.Background(), body); answer != nil && !json.Valid(answer) {
			t.Fatalf("answer is no JSON: %s", answer)
		}
		(&world{T: t, Chain: c, clock: at}).wantBalanced()
	})
}
