package settle

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"
)

const (
	sendSync = "eth_sendRawTransactionSync"
	plain    = "eth_sendRawTransaction"
	receipt  = "eth_getTransactionReceipt"
	head     = "eth_getBlockByNumber"
)

// sent is a transaction that is valid until second 1000 of the chain.
var sent = Signed{Raw: []byte{0x76, 1}, Hash: common.Hash{0x76}, ValidBefore: 1000}

// outcome is what Broadcast comes to.
type outcome string

const (
	landed    outcome = "landed"
	reverted  outcome = "reverted"
	open      outcome = "unknown outcome"
	notSent   outcome = "not sent"
	something outcome = "another error"
)

func outcomeOf(rc *tempo.Receipt, err error) outcome {
	switch {
	case err == nil && rc != nil && rc.TxHash == sent.Hash && rc.Success:
		return landed
	case isReverted(err):
		return reverted
	case errors.Is(err, ErrUnknownOutcome):
		return open
	case errors.Is(err, ErrUnreachable):
		return notSent
	}
	return something
}

// TestBroadcast: a transaction has failed only where that is certain.
func TestBroadcast(t *testing.T) {
	ok, failed, none := give(receiptOf(sent.Hash, 1)), give(receiptOf(sent.Hash, 0)), give(nil)
	before, after := give(blockOf(1, 999)), give(blockOf(2, 1006))
	f := func(want outcome, nodes ...*node) {
		t.Helper()
		patience := time.Minute
		if want == open {
			patience = 100 * time.Millisecond // it ends in no other way
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		rc, err := clientOf(t, nodes...).Broadcast(ctx, sent)
		if got := outcomeOf(rc, err); got != want {
			t.Errorf("%s: %v; want %s", got, err, want)
		}
	}
	n := newNode
	f(landed, n().on(sendSync, ok))
	f(reverted, n().on(sendSync, failed))
	// The answer is of no use, and the transaction was taken.
	f(landed, n().on(sendSync, give(receiptOf(common.Hash{1}, 1))).on(receipt, none, ok).on(head, before))
	f(landed, n().on(sendSync, give(receiptOf(common.Hash{1}, 0))).on(receipt, none, ok).on(head, before))
	f(landed, n().on(sendSync, give("0x")).on(receipt, none, ok).on(head, before))
	// The answer is lost.
	f(landed, n().on(sendSync, reply{lost: true}).on(receipt, none, none, ok).on(head, before))
	f(reverted, n().on(sendSync, reply{lost: true}).on(receipt, none, failed).on(head, before))
	f(open, n().on(sendSync, reply{lost: true}).on(receipt, none).on(head, before))
	f(open, n().on(sendSync, reply{lost: true}).on(receipt, refuse(-32000, "busy")).on(head, before))
	f(reverted, n().on(sendSync, reply{lost: true}).on(receipt, none).on(head, after)) // it can land no more
	f(open, n().on(sendSync, reply{lost: true}).on(receipt, none).on(head, give(blockOf(2, 1004))))
	f(open, n().on(sendSync, reply{lost: true}).on(receipt, none).on(head, refuse(-32000, "busy")))
	f(landed, n().on(sendSync, reply{lost: true}).on(receipt, none, none, ok).on(head, after))
	f(open, n().on(sendSync, reply{lost: true}).on(receipt, none, none, refuse(-32000, "busy")).on(head, after)) // the last look fails
	// The first endpoint may have taken it, and the second refuses it.
	f(open, n().on(sendSync, reply{lost: true}), n().on(sendSync, refuse(-32000, "fee too low")).on(receipt, none).on(head, before))
	f(open, n().on(sendSync, refuse(-32603, "internal error")).on(receipt, none).on(head, before))
	f(landed, n().on(sendSync, reply{lost: true}), n().on(sendSync, refuse(-32000, "fee too low")).on(receipt, none, ok).on(head, before))
	// A node has it, and says so in words of its own.
	f(landed, n().on(sendSync, refuse(-32000, "already known")).on(receipt, none, none, ok).on(head, before))
	f(landed, n().on(sendSync, refuse(-32000, "Nonce too low")).on(receipt, none, none, ok).on(head, before))
	f(open, n().on(sendSync, refuse(-32000, "transaction already imported")).on(receipt, none).on(head, before))
	f(landed, n().on(sendSync, refuse(-32000, "expiring nonce: already used")).on(receipt, none, none, ok).on(head, before))
	f(landed, n().on(sendSync, refuse(-32000, "ExpiringNonceReplay")).on(receipt, none, none, ok).on(head, before))
	// It is refused, and nobody has it.
	f(reverted, n().on(sendSync, refuse(-32000, "expiring nonce: validBefore must lie within 300 seconds")).on(receipt, none))
	f(reverted, n().on(sendSync, refuse(-32000, "fee too low")).on(receipt, none))
	f(landed, n().on(sendSync, refuse(-32000, "fee too low")).on(receipt, ok))
	f(open, n().on(sendSync, refuse(-32000, "fee too low")).on(receipt, refuse(-32000, "busy")))
	f(landed, n().on(sendSync, refuse(-32000, "fee too low")), n().on(sendSync, ok))
	f(landed, n().on(sendSync, refuse(-32005, "limit exceeded")), n().on(sendSync, ok))
	// Nobody has heard of it.
	f(notSent, n().on(sendSync, reply{dial: true}), n().on(sendSync, refuse(-32005, "limit exceeded")))
	f(notSent, n().on(sendSync, reply{status: 429, err: &rpcError{Code: 429, Message: "slow down"}}))
	f(notSent, n().on("eth_chainId", give("0x1")))
	f(notSent, n())
	// There is no method that waits.
	f(landed, n().on(plain, give(sent.Hash)).on(receipt, none, ok).on(head, before))
	f(reverted, n().on(plain, refuse(-32000, "fee too low")).on(receipt, none))
	f(landed, n(), n().on(sendSync, ok))
	// A gateway answers in place of the node.
	page := reply{status: 502, body: "<html>"}
	f(landed, n().on(sendSync, page), n().on(sendSync, ok))
	f(open, n().on(sendSync, refuse(-32000, "fee too low")).on(receipt, page))
}

// TestBroadcastRefusal says why the chain refuses.
func TestBroadcastRefusal(t *testing.T) {
	n := newNode().on(sendSync, refuse(-32000, "insufficient funds for gas")).on(receipt, give(nil))
	_, err := clientOf(t, n).Broadcast(soon(t), sent)
	if r, _ := errors.AsType[*Reverted](err); r == nil || r.Reason != "insufficient funds for gas" || r.Hash != sent.Hash {
		t.Errorf("%v", err)
	}
}

// TestSentAgain: a transaction that no endpoint has confirmed to have is sent again.
func TestSentAgain(t *testing.T) {
	n := newNode().on(sendSync, reply{lost: true}, reply{lost: true}, give(receiptOf(sent.Hash, 1))).on(receipt, give(nil)).on(head, give(blockOf(1, 999)))
	if rc, err := clientOf(t, n).Broadcast(soon(t), sent); outcomeOf(rc, err) != landed || n.calls(sendSync) != 3 {
		t.Errorf("%v after %d calls", err, n.calls(sendSync))
	}
}

// TestNoEnd: a transaction without an end may land at any time.
func TestNoEnd(t *testing.T) {
	n := newNode().on(sendSync, reply{lost: true}).on(receipt, give(nil)).on(head, give(blockOf(2, 1<<40)))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if rc, err := clientOf(t, n).Broadcast(ctx, Signed{Raw: sent.Raw, Hash: sent.Hash}); outcomeOf(rc, err) != open {
		t.Errorf("%v", err)
	}
}

// priced is a node of which a transaction can be made at a second of the chain.
func priced(at uint64) *node {
	return newNode().on(head, give(blockOf(7, at))).on("eth_maxPriorityFeePerGas", give("0x3b9aca00")).on("eth_estimateGas", give("0x186a0"))
}

// TestSign: the end of a transaction is reckoned from the newest block, whatever the
// clock of this machine says, and no two transactions are the same.
func TestSign(t *testing.T) {
	n := priced(5_000_000)
	c := clientOf(t, n)
	seen := map[common.Hash]bool{}
	for range 4 {
		s, err := c.SignClose(soon(t), closable())
		if err != nil {
			t.Fatal(err)
		}
		tx, err := tempo.DecodeTransaction(s.Raw)
		if err != nil {
			t.Fatal(err)
		}
		sender, err := tx.Sender()
		if err != nil || sender != payee().Address() || tx.Hash() != s.Hash || s.ValidBefore != 5_000_025 || tx.ValidBefore != s.ValidBefore || tx.ValidAfter == 0 || tx.ValidAfter >= 5_000_000 || tx.Gas != 120_000 {
			t.Errorf("%v: %+v", err, tx)
		}
		if seen[s.Hash] {
			t.Error("two closes of one second are the same transaction")
		}
		seen[s.Hash] = true
	}
}

// TestSignRefused: the node's refusal to run it is the chain's.
func TestSignRefused(t *testing.T) {
	n := priced(1).on("eth_estimateGas", refuse(3, "execution reverted"))
	if _, err := clientOf(t, n).SignClose(soon(t), closable()); !isReverted(err) {
		t.Errorf("%v", err)
	}
	for _, r := range []reply{refuse(-32000, "busy"), give("0xffffffffffffffff"), give("x")} {
		if _, err := clientOf(t, priced(1).on("eth_estimateGas", r)).SignClose(soon(t), closable()); !errors.Is(err, ErrUnreachable) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	for _, block := range []map[string]any{{}, {"number": "0x1", "timestamp": "0x1"}, {"number": "0x1", "timestamp": "0xffffffffffffffff", "baseFeePerGas": "0x1"}, {"number": "0x1", "timestamp": "0x1", "baseFeePerGas": "0x" + strings.Repeat("f", 60)}} {
		if _, err := clientOf(t, priced(1).on(head, give(block))).SignClose(soon(t), closable()); !errors.Is(err, ErrUnreachable) {
			t.Errorf("%v: %v", block, err)
		}
	}
}

// TestMaySettle: nothing is signed, and nobody asked, for a channel that the key must
// not settle.
func TestMaySettle(t *testing.T) {
	f := func(d func(*tempo.Descriptor), may bool) {
		t.Helper()
		row, n := closable(), priced(1)
		d(&row.Descriptor)
		c := clientOf(t, n)
		_, closing := c.SignClose(soon(t), row)
		_, settling := c.SignSettle(soon(t), closable(), row)
		for _, err := range []error{closing, settling} {
			if may != (err == nil) || !may && !errors.Is(err, ErrNoKey) {
				t.Errorf("%+v: %v", row.Descriptor, err)
			}
		}
		if !may && n.calls("*") != 0 {
			t.Errorf("%d calls", n.calls("*"))
		}
	}
	own := payee().Address()
	f(func(d *tempo.Descriptor) {}, true)
	f(func(d *tempo.Descriptor) { d.Payee = common.Address{8} }, false)
	f(func(d *tempo.Descriptor) { d.Payee, d.Operator = common.Address{8}, common.Address{9} }, false)
	f(func(d *tempo.Descriptor) { d.Payee, d.Operator = common.Address{8}, own }, true)
	c := clientOf(t, priced(1))
	c.o.Key = nil
	if _, err := c.SignClose(soon(t), closable()); !errors.Is(err, ErrNoKey) {
		t.Errorf("without a key: %v", err)
	}
}

// TestSignSettle: one transaction pays out what may be settled of each channel.
func TestSignSettle(t *testing.T) {
	one, two := closable(), closable()
	two.Settleable = session.Voucher{Cumulative: tempo.AmountFrom(40), Signature: someSignature()}
	s, err := clientOf(t, priced(1)).SignSettle(soon(t), one, two)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := tempo.DecodeTransaction(s.Raw)
	if err != nil || len(tx.Calls) != 2 {
		t.Fatalf("%+v, %v", tx, err)
	}
	for i, want := range []uint64{50, 40} {
		call, err := tempo.DecodeReserveCall(tx.Calls[i].Data)
		if settle, ok := call.(tempo.SettleCall); err != nil || !ok || settle.Cumulative != tempo.AmountFrom(want) {
			t.Errorf("call %d: %+v, %v", i, call, err)
		}
	}
}

// TestSendSimulatesFirst: what reverts is not sent.
func TestSendSimulatesFirst(t *testing.T) {
	k := payee()
	tx := tempo.NewTransaction(42431, 1000, tempo.CallReserve(domain.Escrow(), tempo.RequestCloseCall{}))
	if err := tx.Sign(k.Address(), k); err != nil {
		t.Fatal(err)
	}
	n := newNode().on("eth_call", reply{err: &rpcError{Code: 3, Message: "reverted", Data: jsontext.Value(`"0x1e07dd94"`)}})
	if _, err := clientOf(t, n).Send(soon(t), tx); !isReverted(err) || !strings.Contains(err.Error(), "ChannelNotFound") || n.calls("*") != 1 {
		t.Errorf("%v after %d calls", err, n.calls("*"))
	}
}
