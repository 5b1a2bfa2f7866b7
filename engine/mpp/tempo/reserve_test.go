package tempo

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

func TestSelectors(t *testing.T) {
	f := func(s selector, want string) {
		t.Helper()
		if got := hex.EncodeToString(s[:]); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	f(selectorOpen, "edc53b00")
	f(selectorSettle, "97fb5104")
	f(selectorTopUp, "dc48471e")
	f(selectorClose, "73b57f74")
	f(selectorRequestClose, "675402e5")
	f(selectorWithdraw, "41e2c664")
	f(selectorGetChannel, "eef95313")
	f(selectorGetChannelState, "d18da8b1")
	f(selectorGetChannelStates, "d1f4cda2")
	f(selectorComputeChannelID, "185eeeac")
	f(selectorGetVoucherDigest, "f3b349e8")
	f(selectorDomainSeparator, "f698da25")
	f(selectorCloseGracePeriod, "956c8327")
	f(selectorVoucherTypeHash, "94739e87")
	f(selectorGetStorageCredits, "4d65338b")
	f(selectorLegacyOpen, "c79ea485")
	f(selectorLegacyTopUp, "b67644b9")
	f(selectorTransfer, "a9059cbb")
	f(selectorApprove, "095ea7b3")
	f(selectorBalanceOf, "70a08231")
}

func TestEventTopics(t *testing.T) {
	f := func(got common.Hash, want string) {
		t.Helper()
		if got != common.HexToHash(want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	f(topicOpened, "0xdebaba36f0e9c7978f536fed432d9360b1f9646d7ca88531c34c3eae43f154a7")
	f(topicSettled, "0x11c4e4c79ad8802431b44c15047ed1ddb82fbfc1abd452c765f7ee3990df1399")
	f(topicTopUp, "0x2a96f534665f3150977dd4c35d91373c74030288edbb3cf83c527dd25012364f")
	f(topicRequested, "0xf5a36fc00a96cbb9cf1f8f59299165e1d8ffffe94396d82904b4da524d16bbce")
	f(topicClosed, "0x5613aed96d5bf39f928408dbe1d4143490b9bb5957eac2dd8e69b5dc4b2206e6")
	f(topicCancelled, "0x6bbcbc59913c43e567847487b95410b0b65cf253531b1c6505b21f8359c838fe")
	f(topicTransfer, "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")
}

func TestReserveErrors(t *testing.T) {
	f := func(e ReserveError, name, data string) {
		t.Helper()
		got, ok := DecodeRevert(unhex(t, data))
		if !ok || got.ReserveError != e || e.Name() != name || got.String() != name {
			t.Errorf("%s: %s %t", name, got.Name(), ok)
		}
	}
	f(ChannelAlreadyExists, "ChannelAlreadyExists", "0ec0f149")
	f(ChannelNotFound, "ChannelNotFound", "1e07dd94")
	f(NotPayer, "NotPayer", "1435e357")
	f(NotPayeeOrOperator, "NotPayeeOrOperator", "626a2a3d")
	f(InvalidPayee, "InvalidPayee", "b387a238")
	f(ZeroDeposit, "ZeroDeposit", "56316e87")
	f(ExpiringNonceHashNotSet, "ExpiringNonceHashNotSet", "102f04a9")
	f(InvalidSignature, "InvalidSignature", "8baa579f")
	f(AmountExceedsDeposit, "AmountExceedsDeposit", "bd0d7138")
	f(AmountNotIncreasing, "AmountNotIncreasing", "32d2c1a3")
	f(CaptureAmountInvalid, "CaptureAmountInvalid", "c91833a1")
	f(CloseNotReady, "CloseNotReady", "02b81e29")
	f(DepositOverflow, "DepositOverflow", "1132981b")
	f(PolicyForbids, "PolicyForbids", "54cfe659")
	const retired = "5eb7b977000000000000000000000000f39fd6e51aad88f6f4ce6ab8827279cfffb92266"
	if got, ok := DecodeRevert(unhex(t, retired)); !ok || got != (Revert{RootKeyRetired, payer}) || got.String() != "RootKeyRetired("+payer.Hex()+")" {
		t.Errorf("%v %t", got, ok)
	}
	for _, data := range []string{
		"", "0ec0f1", "0ec0f14900", "00000000", "54cfe659" + strings.Repeat("0", 64),
		"5eb7b977", retired[:70], retired + "00", "5eb7b977010000000000000000000000f39fd6e51aad88f6f4ce6ab8827279cfffb92266",
	} {
		if e, ok := DecodeRevert(unhex(t, data)); ok {
			t.Errorf("%q is %s", data, e.Name())
		}
	}
}

// everyCall is one call of each function.
func everyCall() []ReserveCall {
	d := testChannel()
	return []ReserveCall{
		OpenCall{Payee: payee, Operator: fill20(7), Token: pathUSD, Deposit: MaxAmount, Salt: d.Salt, AuthorizedSigner: payer},
		SettleCall{d, AmountFrom(5), bytes.Repeat([]byte{1}, 65)},
		SettleCall{d, AmountFrom(5), bytes.Repeat([]byte{1}, MaxSignatureLength)},
		TopUpCall{d, AmountFrom(1)},
		CloseCall{d, AmountFrom(6), AmountFrom(5), bytes.Repeat([]byte{1}, 64)},
		CloseCall{Descriptor: d},
		RequestCloseCall{d}, WithdrawCall{d}, GetChannelCall{d}, ComputeChannelIDCall{d},
		GetChannelStateCall{d.Salt}, GetChannelStatesCall{[]common.Hash{{1}, {2}, {3}}}, GetChannelStatesCall{},
		VoucherDigestCall{d.Salt, AmountFrom(9)},
		DomainSeparatorCall, CloseGracePeriodCall, VoucherTypeHashCall, StorageCreditsCall{payer},
	}
}

func TestReserveCallsRoundTrip(t *testing.T) {
	for _, call := range everyCall() {
		data := call.Calldata()
		got, err := DecodeReserveCall(data)
		if err != nil || !reflect.DeepEqual(got, call) {
			t.Errorf("%T: %+v, %v", call, got, err)
		}
		if _, err := DecodeReserveCall(append(bytes.Clone(data), 0)); !errors.Is(err, ErrABI) {
			t.Errorf("%T with a trailing byte: %v", call, err)
		}
		if _, err := DecodeReserveCall(append(bytes.Clone(data), make([]byte, 32)...)); !errors.Is(err, ErrABI) {
			t.Errorf("%T with a trailing word: %v", call, err)
		}
		if len(data) == 4 {
			continue
		}
		if _, err := DecodeReserveCall(data[:len(data)-1]); !errors.Is(err, ErrABI) {
			t.Errorf("%T cut: %v", call, err)
		}
	}
}

// TestCallsOfTransactionVectors reads the calls that the recorded transactions make.
func TestCallsOfTransactionVectors(t *testing.T) {
	f := func(name string, want ReserveCall) {
		t.Helper()
		tx := decoded(t, name)
		got, err := DecodeReserveCall(tx.Calls[0].Data)
		if err != nil || !reflect.DeepEqual(got, want) || !bytes.Equal(want.Calldata(), tx.Calls[0].Data) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	open := OpenCall{Payee: payee, Token: pathUSD, Deposit: AmountFrom(500000), Salt: testChannel().Salt, AuthorizedSigner: payer}
	f("T1", open)
	open.Salt = common.HexToHash("0x4eadc4896f4b25b47e2a29637bd0ff8e6fae268b8fb50b44f4189f18158deae8")
	f("T2", open)
	f("T3", open)
	f("T4", TopUpCall{testChannel(), AmountFrom(500000)})
	voucher, err := moderato.Sign(anvil[0], moderato.ChannelID(testChannel()), AmountFrom(600000))
	if err != nil {
		t.Fatal(err)
	}
	f("T5", CloseCall{testChannel(), AmountFrom(600000), AmountFrom(600000), voucher.Bytes()})
}

func TestCalldataIsCanonical(t *testing.T) {
	f := func(name string, call ReserveCall, at int, value byte) {
		t.Helper()
		data := call.Calldata()
		data[at] = value
		if _, err := DecodeReserveCall(data); !errors.Is(err, ErrABI) {
			t.Errorf("%s: %v", name, err)
		}
	}
	open, settle := everyCall()[0], everyCall()[1]
	f("dirty address", open, 4, 1)
	f("dirty address, low", open, 4+11, 1)
	f("deposit above 96 bits", open, 4+3*32+19, 1)
	f("another offset", settle, 4+8*32+31, 0x40)
	f("dirty tail", settle, len(settle.Calldata())-1, 1)
	f("longer length", settle, 4+9*32+31, 66+32)
	f("huge length", settle, 4+9*32, 0xff)
	f("length of another padding", settle, 4+9*32+31, 64)
	f("too many channels", GetChannelStatesCall{}, 4+32+30, 0xff)
	for _, data := range [][]byte{nil, {1, 2, 3}, {1, 2, 3, 4}, unhex(t, "c79ea485"+strings.Repeat("00", 160))} {
		if _, err := DecodeReserveCall(data); !errors.Is(err, ErrUnknownFunction) {
			t.Errorf("%x: %v", data, err)
		}
	}
}

// TestChannelStateOrder pins settled before deposit: read the other way round,
// a used-up channel looks fresh.
func TestChannelStateOrder(t *testing.T) {
	ret := unhex(t, strings.Repeat("00", 31)+"05"+strings.Repeat("00", 31)+"09"+strings.Repeat("00", 28)+"6b0145d4")
	want := ChannelState{Settled: AmountFrom(5), Deposit: AmountFrom(9), CloseRequestedAt: 0x6b0145d4}
	if got, err := DecodeChannelState(ret); err != nil || got != want || !bytes.Equal(want.Encode(), ret) || !got.Exists() {
		t.Errorf("%+v, %v", got, err)
	}
	states := []ChannelState{want, {}, {Deposit: MaxAmount}}
	if got, err := DecodeChannelStates(EncodeChannelStates(states), 3); err != nil || !reflect.DeepEqual(got, states) {
		t.Errorf("%+v, %v", got, err)
	}
	bad := func(name string, err error) {
		t.Helper()
		if !errors.Is(err, ErrABI) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := DecodeChannelState(ret[:95])
	bad("cut", err)
	_, err = DecodeChannelState(append(bytes.Clone(ret), 0))
	bad("longer", err)
	_, err = DecodeChannelState(ChannelState{Settled: AmountFrom(2), Deposit: AmountFrom(1)}.Encode())
	bad("settled above deposit", err)
	_, err = DecodeChannelStates(EncodeChannelStates(states), 2)
	bad("another count", err)
	_, err = DecodeChannelStates(EncodeChannelStates(states)[:64+96], 3)
	bad("cut batch", err)
}

// TestT1Log is the event in the receipt of the transaction that opened the channel.
func TestT1Log(t *testing.T) {
	d := testChannel()
	want := ChannelOpened{
		ChannelRef: ChannelRef{moderato.ChannelID(d), payer, payee}, Token: pathUSD, AuthorizedSigner: payer,
		Salt: d.Salt, ExpiringNonceHash: d.ExpiringNonceHash, Deposit: AmountFrom(0x7a120),
	}
	data := unhex(t, strings.Repeat("00", 32)+strings.Repeat("00", 12)+"20c0000000000000000000000000000000000000"+
		strings.Repeat("00", 12)+"f39fd6e51aad88f6f4ce6ab8827279cfffb92266"+hex.EncodeToString(d.Salt[:])+
		hex.EncodeToString(d.ExpiringNonceHash[:])+strings.Repeat("00", 29)+"07a120")
	topics, got := want.Log()
	if !bytes.Equal(got, data) || topics[1] != common.HexToHash("0xbd2762058dca912c03284b99b97a4c14f9a93e99f0968747e13691421104d518") {
		t.Errorf("log %v %x", topics, got)
	}
	if e, err := DecodeEvent(topics, data); err != nil || e != want {
		t.Errorf("%+v, %v", e, err)
	}
}

// everyEvent is one event of each type.
func everyEvent() []Event {
	ref := ChannelRef{common.Hash{9}, payer, payee}
	return []Event{
		ChannelOpened{ref, fill20(1), fill20(2), fill20(3), common.Hash{4}, common.Hash{5}, AmountFrom(6)},
		Settled{ref, AmountFrom(3), AmountFrom(1), AmountFrom(3)}, TopUp{ref, AmountFrom(1), MaxAmount},
		CloseRequested{ref, 1_800_000_900}, ChannelClosed{ref, AmountFrom(2), AmountFrom(8)}, CloseRequestCancelled{ref},
	}
}

func TestEventsRoundTrip(t *testing.T) {
	for _, event := range everyEvent() {
		topics, data := event.Log()
		got, err := DecodeEvent(topics, data)
		if err != nil || got != event || got.Of() != event.Of() {
			t.Errorf("%T: %+v, %v", event, got, err)
		}
		if _, err := DecodeEvent(topics, append(data, 0)); !errors.Is(err, ErrABI) {
			t.Errorf("%T with a trailing byte: %v", event, err)
		}
		if _, err := DecodeEvent(topics[:3], data); !errors.Is(err, ErrUnknownEvent) {
			t.Errorf("%T without a topic: %v", event, err)
		}
		topics[2][0] = 1
		if _, err := DecodeEvent(topics, data); !errors.Is(err, ErrABI) {
			t.Errorf("%T with a dirty topic: %v", event, err)
		}
	}
	if _, err := DecodeEvent(make([]common.Hash, 4), nil); !errors.Is(err, ErrUnknownEvent) {
		t.Errorf("unknown event: %v", err)
	}
}

func TestTokenCalls(t *testing.T) {
	amount := uint256.NewInt(1234567)
	word := strings.Repeat("00", 29) + "12d687"
	to, from := strings.Repeat("00", 12)+hex.EncodeToString(payee[:]), strings.Repeat("00", 12)+hex.EncodeToString(payer[:])
	f := func(got []byte, want string) {
		t.Helper()
		if hex.EncodeToString(got) != want {
			t.Errorf("%x, want %s", got, want)
		}
	}
	f(TransferCalldata(payee, amount), "a9059cbb"+to+word)
	f(ApproveCalldata(payee, amount), "095ea7b3"+to+word)
	f(BalanceOfCalldata(payer), "70a08231"+from)
	if v, err := DecodeUint256(unhex(t, word)); err != nil || v != *amount {
		t.Errorf("number: %s, %v", &v, err)
	}
	if _, err := DecodeUint256(unhex(t, word+"00")); !errors.Is(err, ErrABI) {
		t.Errorf("trailing byte: %v", err)
	}
	if !IsToken(pathUSD) || !IsToken(common.HexToAddress("0x20C000000000000000000000b9537d11c60E8b50")) || IsToken(payee) {
		t.Error("tokens are not told by their prefix")
	}
}
