package tempo

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

func logOf(address common.Address, e Event) Log {
	topics, data := e.Log()
	return Log{Address: address, Topics: topics, Data: data}
}

func verifiedT1(t *testing.T) *VerifiedOpen {
	t.Helper()
	v, err := testTerms().VerifyOpen(open(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func openedOf(v *VerifiedOpen) ChannelOpened {
	d := v.Descriptor
	return ChannelOpened{
		ChannelRef: ChannelRef{v.ChannelID, d.Payer, d.Payee}, Operator: d.Operator, Token: d.Token,
		AuthorizedSigner: d.AuthorizedSigner, Salt: d.Salt, ExpiringNonceHash: d.ExpiringNonceHash, Deposit: v.Paid,
	}
}

func TestReceiptOfOpen(t *testing.T) {
	v := verifiedT1(t)
	f := func(name string, want error, change func(r *Receipt, e *ChannelOpened)) {
		t.Helper()
		e := openedOf(v)
		r := &Receipt{Success: true}
		if change != nil {
			change(r, &e)
		}
		r.Logs = append(r.Logs, logOf(testEscrow, e))
		got, err := r.Opened(v)
		if !errors.Is(err, want) || err == nil && got != e {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	f("sound", nil, nil)
	f("reverted", ErrReverted, func(r *Receipt, _ *ChannelOpened) { r.Success = false })
	f("two events", ErrReceiptEvent, func(r *Receipt, e *ChannelOpened) { r.Logs = append(r.Logs, logOf(testEscrow, *e)) })
	f("another contract's too", nil, func(r *Receipt, e *ChannelOpened) { r.Logs = append(r.Logs, logOf(payer, *e)) })
	f("another channel's too", nil, func(r *Receipt, e *ChannelOpened) {
		other := *e
		other.ChannelID = common.Hash{1}
		r.Logs = append(r.Logs, logOf(testEscrow, other))
	})
	f("a foreign event", nil, func(r *Receipt, e *ChannelOpened) { r.Logs = append(r.Logs, Log{Address: testEscrow}) })
	f("another deposit", ErrReceiptEvent, func(_ *Receipt, e *ChannelOpened) { e.Deposit = AmountFrom(1) })
	f("another nonce hash", ErrReceiptEvent, func(_ *Receipt, e *ChannelOpened) { e.ExpiringNonceHash = common.Hash{} })
	f("another payer", ErrReceiptEvent, func(_ *Receipt, e *ChannelOpened) { e.Payer = payee })
	if _, err := (&Receipt{Success: true}).Opened(v); !errors.Is(err, ErrReceiptEvent) {
		t.Errorf("no event: %v", err)
	}
	r := &Receipt{Success: true, Logs: []Log{logOf(payer, openedOf(v))}}
	if _, err := r.Opened(v); !errors.Is(err, ErrReceiptEvent) {
		t.Errorf("event of another contract: %v", err)
	}
}

// TestH4TopUpAfterAnotherIsNotRefused: two in one block leave the first with a
// deposit above what it expected.
func TestH4TopUpAfterAnotherIsNotRefused(t *testing.T) {
	v := &verifiedT1(t).Verified
	ref := ChannelRef{v.ChannelID, payer, payee}
	f := func(e TopUp, want error) {
		t.Helper()
		r := &Receipt{Success: true, Logs: []Log{logOf(testEscrow, CloseRequestCancelled{ref}), logOf(testEscrow, e)}}
		if _, err := r.ToppedUp(v); !errors.Is(err, want) {
			t.Errorf("%+v: %v", e, err)
		}
	}
	f(TopUp{ref, AmountFrom(500_000), AmountFrom(1_000_000)}, nil)
	f(TopUp{ref, AmountFrom(500_000), AmountFrom(1_500_000)}, nil)
	f(TopUp{ref, AmountFrom(499_999), AmountFrom(1_000_000)}, ErrReceiptEvent)
	f(TopUp{ref, AmountFrom(500_000), AmountFrom(499_999)}, ErrReceiptEvent)
}

func TestReceiptOfSettlement(t *testing.T) {
	ref := ChannelRef{common.Hash{3}, payer, payee}
	settled := &Receipt{Success: true, Logs: []Log{logOf(testEscrow, Settled{ref, AmountFrom(7), AmountFrom(2), AmountFrom(7)})}}
	if e, err := settled.Settled(testEscrow, ref.ChannelID, AmountFrom(7)); err != nil || e.DeltaPaid != AmountFrom(2) {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := settled.Settled(testEscrow, ref.ChannelID, AmountFrom(8)); !errors.Is(err, ErrReceiptEvent) {
		t.Errorf("settled less: %v", err)
	}
	f := func(captured, refunded, capture, deposit uint64, want error) {
		t.Helper()
		r := &Receipt{Success: true, Logs: []Log{logOf(testEscrow, ChannelClosed{ref, AmountFrom(captured), AmountFrom(refunded)})}}
		if _, err := r.Closed(testEscrow, ref.ChannelID, AmountFrom(capture), AmountFrom(deposit)); !errors.Is(err, want) {
			t.Errorf("captured %d, refunded %d: %v", captured, refunded, err)
		}
	}
	f(3, 7, 3, 10, nil)
	f(0, 10, 0, 10, nil)
	f(3, 9, 3, 10, nil) // topped up meanwhile
	f(4, 6, 3, 10, ErrReceiptEvent)
	f(2, 8, 3, 10, ErrReceiptEvent)
	f(3, 6, 3, 10, ErrReceiptEvent)
}

const receiptJSON = `{"status":"0x1","transactionHash":"0x58e056c96d6f2b17cbaa84574976c9337fbcdb563736d371db20dcb0da8f0d89",
"blockNumber":"0x10","blockHash":"0x00000000000000000000000000000000000000000000000000000000000000aa","type":"0x76","gasUsed":"0x5208",
"contractAddress":null,"logs":[{"address":"0x4d50500000000000000000000000000000000000","topics":
["0x6bbcbc59913c43e567847487b95410b0b65cf253531b1c6505b21f8359c838fe"],"data":"0x01","logIndex":"0x0"}]}`

func TestParseReceipt(t *testing.T) {
	r, err := ParseReceipt([]byte(receiptJSON))
	if err != nil || !r.Success || r.BlockNumber != 16 || r.BlockHash[31] != 0xaa || len(r.Logs) != 1 ||
		r.Logs[0].Address != testEscrow || r.Logs[0].Topics[0] != topicCancelled || r.Logs[0].Data[0] != 1 ||
		r.TxHash != decoded(t, "T1").Hash() {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := ParseReceipt([]byte(strings.Replace(receiptJSON, `"0x1"`, `"0x0"`, 1))); err != nil || r.Success {
		t.Errorf("failed transaction: %+v, %v", r, err)
	}
	f := func(text string, want error) {
		t.Helper()
		if _, err := ParseReceipt([]byte(text)); !errors.Is(err, want) {
			t.Errorf("%.40s: %v", text, err)
		}
	}
	f("null", ErrNoReceipt)
	f("", ErrReceipt)
	f("{}", ErrReceipt)
	f("[]", ErrReceipt)
	f(strings.Replace(receiptJSON, `"0x1"`, `"0x2"`, 1), ErrReceipt)
	f(strings.Replace(receiptJSON, `"0x1"`, `1`, 1), ErrReceipt)
	f(strings.Replace(receiptJSON, `"0x10"`, `null`, 1), ErrReceipt)
	f(strings.Replace(receiptJSON, `"data":"0x01"`, `"data":"0x1"`, 1), ErrReceipt)
	f(strings.Replace(receiptJSON, `"status"`, `"status":"0x1","status"`, 1), ErrReceipt)
	f(strings.Repeat(" ", maxReceiptSize)+receiptJSON, ErrReceipt)
	f(strings.Replace(receiptJSON, `"topics":`, `"topics":["`+strings.Repeat("0x"+strings.Repeat("00", 32)+`","`, 4)+"0x"+strings.Repeat("00", 32)+`"],"x":`, 1), ErrReceipt)
}

// TestTransactionRequests are the bodies that clients were seen to send.
func TestTransactionRequests(t *testing.T) {
	tx := NewTransaction(42431, testNow, CallReserve(testEscrow, RequestCloseCall{testChannel()}))
	tx.FeeToken, tx.ValidAfter = pathUSD, 0x2a47130f
	data := hexutil.Encode(tx.Calls[0].Data)
	f := func(got []byte, err error, want string) {
		t.Helper()
		var a, b any
		if err != nil || json.Unmarshal(got, &a) != nil || json.Unmarshal([]byte(want), &b) != nil {
			t.Fatalf("%s, %v", got, err)
		}
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		if string(x) != string(y) {
			t.Errorf("request\n%s, want\n%s", x, y)
		}
	}
	const nonceKey = `"nonceKey":"0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"`
	calls := `"calls":[{"to":"0x4d50500000000000000000000000000000000000","value":"0x","data":"` + data + `"}]`
	from := `"from":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"`
	window := `"validBefore":"0x6b49d219","validAfter":"0x2a47130f"`
	got, err := tx.FillRequest(payer)
	f(got, err, `{`+from+`,"type":"0x76","nonce":"0x0",`+nonceKey+`,`+calls+`,"feeToken":"0x20c0000000000000000000000000000000000000",`+window+`}`)
	got, err = tx.EstimateRequest(payer)
	f(got, err, `{`+from+`,"chainId":"0xa5bf","type":"0x76","nonce":"0x0",`+nonceKey+`,`+calls+`,"feeToken":"0x20c0000000000000000000000000000000000000",`+window+`}`)
	tx.Sponsorship = Unsponsored
	got, err = tx.FillRequest(payer)
	f(got, err, `{`+from+`,"type":"0x76","nonce":"0x0",`+nonceKey+`,`+calls+`,"feePayer":true,`+window+`}`)
}

func TestFeeCap(t *testing.T) {
	got := FeeCap(AmountFrom(20_000_000_000).Uint256(), AmountFrom(1_000_000_000).Uint256())
	if got != decoded(t, "T1").MaxFeePerGas {
		t.Errorf("fee cap %s", &got)
	}
}

func TestOpenedByRefusesOthers(t *testing.T) {
	f := func(tx *Transaction, want error) {
		t.Helper()
		if _, _, err := OpenedBy(tx, payer); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	f(&Transaction{}, ErrNoOpen)
	f(decoded(t, "T4"), ErrNoOpen)
	f(&Transaction{Calls: []Call{{}}}, ErrUnknownFunction)
}
