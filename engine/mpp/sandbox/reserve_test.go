package sandbox

import (
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/holiman/uint256"
)

// The interface of the precompile, by the hashes that TIP-1034 publishes.
func TestReserveInterface(t *testing.T) {
	f := func(signature, want string) {
		t.Helper()
		s := selectorOf(signature)
		if got := hex.EncodeToString(s[:]); got != want {
			t.Errorf("%s: %s, want %s", signature, got, want)
		}
		if _, known := reserveFunctions[s]; !known && !strings.HasSuffix(signature, "()") {
			t.Errorf("%s is not there", signature)
		}
	}
	f(openSignature, "edc53b00")
	f(settleSignature, "97fb5104")
	f(topUpSignature, "dc48471e")
	f(closeSignature, "73b57f74")
	f(requestCloseSignature, "675402e5")
	f(withdrawSignature, "41e2c664")
	f("getChannel("+descriptorTuple+")", "eef95313")
	f("getChannelState(bytes32)", "d18da8b1")
	f("getChannelStatesBatch(bytes32[])", "d1f4cda2")
	f("computeChannelId(address,address,address,address,bytes32,address,bytes32)", "185eeeac")
	f("getVoucherDigest(bytes32,uint96)", "f3b349e8")
	f("domainSeparator()", "f698da25")
	f("CLOSE_GRACE_PERIOD()", "956c8327")
	f("VOUCHER_TYPEHASH()", "94739e87")
	f("storageCredits(address)", "4d65338b")
	for name, want := range map[string]string{
		"ChannelAlreadyExists": "0ec0f149", "ChannelNotFound": "1e07dd94", "NotPayer": "1435e357", "NotPayeeOrOperator": "626a2a3d",
		"InvalidPayee": "b387a238", "ZeroDeposit": "56316e87", "ExpiringNonceHashNotSet": "102f04a9", "InvalidSignature": "8baa579f",
		"AmountExceedsDeposit": "bd0d7138", "AmountNotIncreasing": "32d2c1a3", "CaptureAmountInvalid": "c91833a1",
		"CloseNotReady": "02b81e29", "DepositOverflow": "1132981b",
	} {
		f(name+"()", want)
	}
	for topic, want := range map[common.Hash]string{
		openedEvent:         "0xdebaba36f0e9c7978f536fed432d9360b1f9646d7ca88531c34c3eae43f154a7",
		settledEvent:        "0x11c4e4c79ad8802431b44c15047ed1ddb82fbfc1abd452c765f7ee3990df1399",
		topUpEvent:          "0x2a96f534665f3150977dd4c35d91373c74030288edbb3cf83c527dd25012364f",
		closeRequestedEvent: "0xf5a36fc00a96cbb9cf1f8f59299165e1d8ffffe94396d82904b4da524d16bbce",
		closedEvent:         "0x5613aed96d5bf39f928408dbe1d4143490b9bb5957eac2dd8e69b5dc4b2206e6",
		closeCancelledEvent: "0x6bbcbc59913c43e567847487b95410b0b65cf253531b1c6505b21f8359c838fe",
	} {
		if topic.Hex() != want {
			t.Errorf("topic %s, want %s", topic, want)
		}
	}
}

func TestReserveViews(t *testing.T) {
	w := newWorld(t, Options{})
	f := func(want string, data []byte) {
		t.Helper()
		if got := hexutil.Encode(w.view(Reserve, data)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	d := Descriptor{
		Payer: payer.address(), Payee: payee.address(), Token: PathUSD, AuthorizedSigner: payer.address(),
		Salt:              common.HexToHash("0x1c42329e65903c6e8a68783ea98ddf86a783899a714c2a44072484e13254097b"),
		ExpiringNonceHash: common.HexToHash("0x7bbe082457174f59de5bd121cdc182155ad0fff669200a0de58bcc855ba69b09"),
	}
	f("0xbd2762058dca912c03284b99b97a4c14f9a93e99f0968747e13691421104d518",
		pack("computeChannelId(address,address,address,address,bytes32,address,bytes32)", d.words()...))
	f("0xa3aa475070603a80823360e5a4a0d3b4fe2cd4e82a109ee3c21a4640a199688d", pack("domainSeparator()"))
	f("0x4730b4b2fe8de522475e80e010877c5b58ad10eb07fd0436615ee123f743bbe8", pack("VOUCHER_TYPEHASH()"))
	f(u(900).Hex(), pack("CLOSE_GRACE_PERIOD()"))
	f("0x513df895662485e1b58a14895b6fa72699a4a90520ffe8d5abe5854a5a53275e", pack("getVoucherDigest(bytes32,uint96)", u(1), u(1_000_000)))
	f(hexutil.Encode(wordsOf(append(d.words(), u(0), u(0), u(0))...)), withDescriptor("getChannel("+descriptorTuple+")", d))

	d, _ = w.open(payer, Descriptor{}, 500)
	f(hexutil.Encode(wordsOf(append(d.words(), u(0), u(500), u(0))...)), withDescriptor("getChannel("+descriptorTuple+")", d))
	f(hexutil.Encode(wordsOf(u(32), u(2), u(0), u(500), u(0), u(0), u(0), u(0))),
		pack("getChannelStatesBatch(bytes32[])", u(32), u(2), d.ID(Moderato), u(7)))
}

// Ids and digests of other chains.
func TestDomains(t *testing.T) {
	for chain, want := range map[uint64]string{
		4217:  "0x6465ffa0b0c1e7cfc1a894ba54d79615bc06fd7cc9cfec558f3df82189d17367",
		42431: "0xa3aa475070603a80823360e5a4a0d3b4fe2cd4e82a109ee3c21a4640a199688d",
		1337:  "0x7f014a95f48406de96efe01417f4c28673401fe97be7abd06e287f294702792d",
	} {
		if got := domainSeparator(chain).Hex(); got != want {
			t.Errorf("chain %d: %s, want %s", chain, got, want)
		}
	}
	twenty := func(b byte) common.Address {
		return common.BytesToAddress([]byte(strings.Repeat(string([]byte{b}), 20)))
	}
	d := Descriptor{twenty(0x11), twenty(0x22), twenty(0x33), twenty(0x44), u(1), twenty(0x55), common.HexToHash("0x" + strings.Repeat("aa", 32))}
	for chain, want := range map[uint64]string{
		42431: "0xba76934166855d51b0af261f57d3cd4bf48397c330f6e4b8804921b2ead973af",
		4217:  "0xb1f2ecf45e99f0ab9e1c4b8e6c1cbac8c05b1cbf281f313c818e2346978b6eb6",
	} {
		if got := d.ID(chain).Hex(); got != want {
			t.Errorf("chain %d: %s, want %s", chain, got, want)
		}
	}
}

// reverts checks that calls fail with the given error and change nothing but the fee.
func (w *world) reverts(want string, k key, calls ...Call) {
	w.Helper()
	before := w.Books()
	r := w.do(k, calls...)
	if r.Status != 0 || !strings.Contains(r.RevertReason, want) {
		w.Errorf("status %d, %q; want a revert with %s", r.Status, r.RevertReason, want)
	}
	for _, l := range r.Logs {
		if l.Address == Reserve {
			w.Errorf("%s: a reverted call left a log", want)
		}
	}
	after := w.Books()
	for i := range before.Channels {
		if b, a := before.Channels[i], after.Channels[i]; !b.Deposit.Eq(a.Deposit) || !b.Settled.Eq(a.Settled) || b.CloseRequestedAt != a.CloseRequestedAt {
			w.Errorf("%s: channel changed from %+v to %+v", want, b, a)
		}
	}
	w.wantBalanced()
}

// ok checks that calls succeed.
func (w *world) ok(k key, calls ...Call) *receiptJSON {
	w.Helper()
	r := w.do(k, calls...)
	if r.Status != 1 {
		w.Fatalf("reverted: %s", r.RevertReason)
	}
	w.wantBalanced()
	return r
}

// wantLog checks the one log of the reserve.
func (w *world) wantLog(r *receiptJSON, event common.Hash, d Descriptor, data ...common.Hash) {
	w.Helper()
	l := reserveLog(w.T, r)
	topics := []common.Hash{event, d.ID(w.ChainID()), addressKey(d.Payer), addressKey(d.Payee)}
	for i, topic := range topics {
		if l.Topics[i] != topic {
			w.Errorf("topic %d: %s, want %s", i, l.Topics[i], topic)
		}
	}
	if got, want := hexutil.Encode(l.Data), hexutil.Encode(wordsOf(data...)); got != want {
		w.Errorf("data %s, want %s", got, want)
	}
}

func (w *world) wantState(d Descriptor, settled, deposit, closing uint64) {
	w.Helper()
	if s, dep, c := w.channelState(d); s != settled || dep != deposit || c != closing {
		w.Errorf("settled %d, deposit %d, closing %d; want %d, %d, %d", s, dep, c, settled, deposit, closing)
	}
}

// moves checks what one transaction moved between accounts, fees aside.
func (w *world) moves(r *receiptJSON, k key, before uint64, want int64) {
	w.Helper()
	got := int64(w.holds(k)) - int64(before)
	if r.FeePayer == k.address() {
		fee := feeOf(uint64(r.GasUsed), uint256.Int(*r.EffectiveGasPrice))
		got += int64(fee.Uint64())
	}
	if got != want {
		w.Errorf("%s got %d, want %d", k.address(), got, want)
	}
}

func TestOpen(t *testing.T) {
	w := newWorld(t, Options{})
	before := w.holds(payer)
	d, r := w.open(payer, Descriptor{Operator: operator.address(), AuthorizedSigner: stranger.address()}, 500)
	w.wantLog(r, openedEvent, d, addressKey(d.Operator), addressKey(d.Token), addressKey(d.AuthorizedSigner), d.Salt, d.ExpiringNonceHash, u(500))
	w.wantState(d, 0, 500, 0)
	w.moves(r, payer, before, -500)
	w.wantBalanced()

	fresh := func(change func(*Descriptor)) []byte {
		d := Descriptor{Payee: payee.address(), Token: PathUSD}
		change(&d)
		return openData(d, amount(5))
	}
	virtual := common.HexToAddress("0x01020304fdfdfdfdfdfdfdfdfdfd000000000001")
	w.reverts("InvalidPayee", payer, to(fresh(func(d *Descriptor) { d.Payee = common.Address{} })))
	w.reverts("InvalidPayee", payer, to(fresh(func(d *Descriptor) { d.Payee = PathUSD })))
	w.reverts("InvalidPayee", payer, to(fresh(func(d *Descriptor) { d.Payee = virtual })))
	w.reverts("InvalidPayee", payer, to(fresh(func(d *Descriptor) { d.Payee, d.Operator = virtual, virtual })))
	w.reverts("VirtualAddressUnregistered", payer, to(fresh(func(d *Descriptor) { d.Payee, d.Operator = virtual, operator.address() })))
	w.reverts("InvalidToken", payer, to(fresh(func(d *Descriptor) { d.Token = stranger.address() })))
	w.reverts("InvalidToken", payer, to(fresh(func(d *Descriptor) { d.Token[19] = 9 })))
	w.reverts("ZeroDeposit", payer, to(openData(Descriptor{Payee: payee.address(), Token: PathUSD}, amount(0))))
	w.reverts("InsufficientBalance", payer, to(openData(Descriptor{Payee: payee.address(), Token: PathUSD}, amount(2000*million))))
	w.reverts("does not decode", payer, to(openData(Descriptor{Payee: payee.address(), Token: PathUSD}, amount(5))[:100]))
	dirty := fresh(func(*Descriptor) {})
	dirty[4] = 1 // within the padding of the payee
	w.reverts("does not decode", payer, to(dirty))
	// The same salt twice in one transaction is the same channel.
	w.reverts("ChannelAlreadyExists", payer, to(fresh(func(*Descriptor) {})), to(fresh(func(*Descriptor) {})))
	w.reverts("PolicyForbids", payer, func() Call {
		w.SetPolicy(PathUSD, payee.address(), true, false)
		return to(fresh(func(*Descriptor) {}))
	}())
	w.SetPolicy(PathUSD, payee.address(), true, true)
	w.reverts("PolicyForbids", payer, func() Call {
		w.SetPolicy(PathUSD, payer.address(), false, true)
		return to(fresh(func(*Descriptor) {}))
	}())
}

// A channel that ends in the transaction that opened it cannot be opened again there.
func TestCloseAndReopenInOneTransaction(t *testing.T) {
	w := newWorld(t, Options{})
	d := Descriptor{Payer: payee.address(), Payee: payee.address(), Token: PathUSD}
	// The descriptor contains the hash of the transaction that contains the descriptor,
	// so only a machine can be asked, not a signed transaction.
	m := w.machine(draftOver(w.latest()), epoch)
	m.openHash = u(77)
	d.ExpiringNonceHash = m.openHash
	steps := []struct {
		data []byte
		want string
	}{
		{openData(d, amount(5)), ""},
		{closeData(d, 0, 0, nil), ""},
		{openData(d, amount(5)), "ChannelAlreadyExists"},
	}
	for i, step := range steps {
		_, err := m.call(payee.address(), Reserve, step.data)
		if err == nil != (step.want == "") || err != nil && !strings.Contains(err.Error(), step.want) {
			t.Errorf("step %d: %v, want %q", i, err, step.want)
		}
	}
	// Nor can one that is open, whatever opened it.
	first := w.machine(draftOver(w.latest()), epoch)
	first.openHash = u(77)
	if _, err := first.call(payee.address(), Reserve, openData(d, amount(5))); err != nil {
		t.Fatal(err)
	}
	second := w.machine(first.draft, epoch)
	second.openHash = u(77)
	if _, err := second.call(payee.address(), Reserve, openData(d, amount(5))); err != errChannelExists {
		t.Errorf("opened twice: %v", err)
	}
}

// A simulation that is no transaction has no hash to open a channel with.
func TestOpenOutsideATransaction(t *testing.T) {
	w := newWorld(t, Options{})
	data := hexutil.Bytes(openData(Descriptor{Payee: payee.address(), Token: PathUSD}, amount(5)))
	err := w.rpc(nil, "eth_call", map[string]any{"from": payer.address(), "to": Reserve, "data": data}, "latest")
	if err == nil || err.Code != codeReverted || err.Data != "0x102f04a9" {
		t.Errorf("plain call: %+v", err)
	}
	if err := w.rpc(nil, "eth_call", map[string]any{"from": payer.address(), "type": "0x76", "calls": []any{map[string]any{"to": Reserve, "data": data}}}, "latest"); err != nil {
		t.Errorf("0x76 call: %+v", err)
	}
}

func TestSettle(t *testing.T) {
	w := newWorld(t, Options{})
	d, _ := w.open(payer, Descriptor{}, 500)
	v := func(cumulative uint64) []byte { return w.voucher(payer, d, cumulative) }

	w.reverts("NotPayeeOrOperator", payer, to(settleData(d, 100, v(100))))
	w.reverts("NotPayeeOrOperator", stranger, to(settleData(d, 100, v(100))))
	w.reverts("AmountExceedsDeposit", payee, to(settleData(d, 501, v(501))))
	w.reverts("AmountNotIncreasing", payee, to(settleData(d, 0, v(0))))
	w.reverts("InvalidSignature", payee, to(settleData(d, 100, v(101))))
	w.reverts("InvalidSignature", payee, to(settleData(d, 100, w.voucher(payee, d, 100))))
	w.reverts("InvalidSignature", payee, to(settleData(d, 100, nil)))
	w.reverts("ChannelNotFound", payee, to(settleData(Descriptor{Payer: d.Payer, Payee: d.Payee, Token: d.Token}, 100, v(100))))

	before := w.holds(payee)
	r := w.ok(payee, to(settleData(d, 200, v(200))))
	w.wantLog(r, settledEvent, d, u(200), u(200), u(200))
	w.moves(r, payee, before, 200)
	w.wantState(d, 200, 500, 0)
	w.reverts("AmountNotIncreasing", payee, to(settleData(d, 200, v(200))))
	w.reverts("AmountNotIncreasing", payee, to(settleData(d, 199, v(199))))
	before = w.holds(payee)
	r = w.ok(payee, to(settleData(d, 500, v(500))))
	w.wantLog(r, settledEvent, d, u(500), u(300), u(500))
	w.moves(r, payee, before, 300)
	w.wantState(d, 500, 500, 0) // settled whole, and still open

	w.SetPolicy(PathUSD, payer.address(), false, true)
	d, _ = w.open(stranger, Descriptor{}, 500)
	w.SetPolicy(PathUSD, stranger.address(), false, true)
	w.reverts("PolicyForbids", payee, to(settleData(d, 100, w.voucher(stranger, d, 100))))
}

// The operator acts for the payee, and the payee is paid.
func TestOperator(t *testing.T) {
	w := newWorld(t, Options{})
	d, _ := w.open(payer, Descriptor{Operator: operator.address()}, 500)
	before, operators := w.holds(payee), w.holds(operator)
	r := w.ok(operator, to(settleData(d, 200, w.voucher(payer, d, 200))))
	w.moves(r, payee, before, 200)
	w.moves(r, operator, operators, 0)
	before, operators = w.holds(payee), w.holds(operator)
	r = w.ok(operator, to(closeData(d, 300, 300, w.voucher(payer, d, 300))))
	w.moves(r, payee, before, 100)
	w.moves(r, operator, operators, 0)

	// No operator: the zero address may not act.
	d, _ = w.open(payer, Descriptor{}, 500)
	m := w.machine(draftOver(w.latest()), epoch)
	if _, err := m.call(common.Address{}, Reserve, settleData(d, 200, w.voucher(payer, d, 200))); err != errNotPayee {
		t.Errorf("the zero address settled: %v", err)
	}
}

// Who must have signed, and how.
func TestVoucherSigners(t *testing.T) {
	w := newWorld(t, Options{})
	settles := func(d Descriptor, sig []byte, want string) {
		t.Helper()
		if want != "" {
			w.reverts(want, payee, to(settleData(d, 100, sig)))
		} else {
			w.ok(payee, to(settleData(d, 100, sig)))
		}
	}
	d, _ := w.open(payer, Descriptor{AuthorizedSigner: stranger.address()}, 500)
	settles(d, w.voucher(payer, d, 100), "InvalidSignature")
	settles(d, w.voucher(stranger, d, 100), "")

	d, _ = w.open(payer, Descriptor{}, 500)
	good := w.voucher(payer, d, 100)
	other := d
	other.Salt = u(12345)
	settles(d, w.voucher(payer, other, 100), "InvalidSignature")
	settles(d, payer.sign(VoucherDigest(1337, d.ID(Moderato), amount(100))), "InvalidSignature")
	settles(d, append(append([]byte(nil), good...), 0), "InvalidSignature")
	settles(d, append(append([]byte(nil), good...), []byte(strings.Repeat("\x77", 32))...), "InvalidSignature")
	settles(d, append(append([]byte{keychainMark}, d.Payer.Bytes()...), good...), "InvalidSignature")
	settles(d, good, "")

	for _, k := range []p256TestKey{{d: uint256.NewInt(77).ToBig()}, {d: uint256.NewInt(77).ToBig(), prehash: 1}, {d: uint256.NewInt(78).ToBig(), webAuthn: true}} {
		d, _ := w.open(payer, Descriptor{AuthorizedSigner: k.address()}, 500)
		settles(d, w.voucher(k, d, 100), "")
	}
}

func TestTopUp(t *testing.T) {
	w := newWorld(t, Options{})
	d, _ := w.open(payer, Descriptor{}, 500)
	w.reverts("NotPayer", payee, to(withDescriptor(topUpSignature, d, u(100))))
	w.reverts("ChannelNotFound", payer, to(withDescriptor(topUpSignature, Descriptor{Payer: d.Payer}, u(100))))
	w.reverts("InsufficientBalance", payer, to(withDescriptor(topUpSignature, d, u(2000*million))))
	most := new(uint256.Int).SubUint64(new(uint256.Int).Lsh(amount(1), 96), 1)
	w.reverts("DepositOverflow", payer, to(withDescriptor(topUpSignature, d, most.Bytes32())))

	before := w.holds(payer)
	r := w.ok(payer, to(withDescriptor(topUpSignature, d, u(250))))
	w.wantLog(r, topUpEvent, d, u(250), u(750))
	w.moves(r, payer, before, -250)
	w.wantState(d, 0, 750, 0)
	if r := w.ok(payer, to(withDescriptor(topUpSignature, d, u(0)))); len(r.Logs) != 1 { // of the fee
		t.Errorf("an empty top-up left logs: %+v", r.Logs)
	}
	w.SetPolicy(PathUSD, payee.address(), true, false)
	w.reverts("PolicyForbids", payer, to(withDescriptor(topUpSignature, d, u(100))))
	w.ok(payer, to(withDescriptor(topUpSignature, d, u(0))))
}

// A top-up cancels a close request; an empty one does nothing else.
func TestTopUpCancelsClose(t *testing.T) {
	for _, more := range []uint64{0, 100} {
		w := newWorld(t, Options{})
		d, _ := w.open(payer, Descriptor{}, 500)
		w.ok(payer, to(withDescriptor(requestCloseSignature, d)))
		w.wantState(d, 0, 500, epoch)
		r := w.ok(payer, to(withDescriptor(topUpSignature, d, u(more))))
		var events []common.Hash
		for _, l := range r.Logs {
			if l.Address == Reserve {
				events = append(events, l.Topics[0])
			}
		}
		if len(events) != 2 || events[0] != closeCancelledEvent || events[1] != topUpEvent {
			t.Errorf("events %v", events)
		}
		w.wantState(d, 0, 500+more, 0)
		w.IncreaseTime(time.Hour)
		w.reverts("CloseNotReady", payer, to(withDescriptor(withdrawSignature, d)))
	}
}

func TestRequestCloseAndWithdraw(t *testing.T) {
	w := newWorld(t, Options{})
	d, _ := w.open(payer, Descriptor{}, 500)
	w.reverts("NotPayer", payee, to(withDescriptor(requestCloseSignature, d)))
	w.reverts("ChannelNotFound", payer, to(withDescriptor(requestCloseSignature, Descriptor{Payer: d.Payer})))
	w.reverts("CloseNotReady", payer, to(withDescriptor(withdrawSignature, d)))
	w.reverts("ChannelNotFound", payer, to(withDescriptor(withdrawSignature, Descriptor{Payer: d.Payer})))

	r := w.ok(payer, to(withDescriptor(requestCloseSignature, d)))
	w.wantLog(r, closeRequestedEvent, d, u(epoch+900))
	w.IncreaseTime(10 * time.Second)
	if r := w.ok(payer, to(withDescriptor(requestCloseSignature, d))); len(r.Logs) != 1 {
		t.Errorf("a repeated request left logs: %+v", r.Logs)
	}
	w.wantState(d, 0, 500, epoch) // the first request counts

	w.ok(payee, to(settleData(d, 100, w.voucher(payer, d, 100)))) // still possible in the grace period
	w.IncreaseTime(889 * time.Second)
	w.reverts("CloseNotReady", payer, to(withDescriptor(withdrawSignature, d)))
	w.IncreaseTime(time.Second)
	w.reverts("NotPayer", payee, to(withDescriptor(withdrawSignature, d)))
	w.ok(payee, to(settleData(d, 150, w.voucher(payer, d, 150)))) // and after it, until the withdrawal
	before := w.holds(payer)
	r = w.ok(payer, to(withDescriptor(withdrawSignature, d)))
	w.wantLog(r, closedEvent, d, u(150), u(350))
	w.moves(r, payer, before, 350)
	w.wantState(d, 0, 0, 0)
	w.reverts("ChannelNotFound", payee, to(closeData(d, 200, 200, w.voucher(payer, d, 200))))
}

func TestClose(t *testing.T) {
	w := newWorld(t, Options{})
	f := func(settled, cumulative, capture uint64, sig func(Descriptor) []byte, want string) {
		t.Helper()
		d, _ := w.open(payer, Descriptor{}, 500)
		if settled > 0 {
			w.ok(payee, to(settleData(d, settled, w.voucher(payer, d, settled))))
		}
		var voucher []byte
		if sig != nil {
			voucher = sig(d)
		}
		if want != "" {
			w.reverts(want, payee, to(closeData(d, cumulative, capture, voucher)))
			return
		}
		payees, payers := w.holds(payee), w.holds(payer)
		r := w.ok(payee, to(closeData(d, cumulative, capture, voucher)))
		w.wantLog(r, closedEvent, d, u(capture), u(500-capture)) // the cumulative capture, not the last transfer
		w.moves(r, payee, payees, int64(capture-settled))
		w.moves(r, payer, payers, int64(500-capture))
		w.wantState(d, 0, 0, 0)
	}
	signed := func(cumulative uint64) func(Descriptor) []byte {
		return func(d Descriptor) []byte { return w.voucher(payer, d, cumulative) }
	}
	f(0, 300, 300, signed(300), "")
	f(0, 300, 120, signed(300), "")   // less than signed
	f(0, 500, 500, signed(500), "")   // all of it
	f(0, 9000, 400, signed(9000), "") // the voucher may exceed the deposit
	f(0, 0, 0, nil, "")               // nothing taken, nothing signed
	f(200, 200, 200, nil, "")         // nothing new: the voucher is not looked at
	f(200, 300, 200, signed(1), "")
	f(200, 300, 250, signed(300), "")
	f(200, 300, 199, signed(300), "CaptureAmountInvalid")
	f(0, 300, 301, signed(300), "CaptureAmountInvalid")
	f(0, 9000, 501, signed(9000), "AmountExceedsDeposit")
	f(0, 300, 300, signed(299), "InvalidSignature")
	f(0, 300, 1, nil, "InvalidSignature")

	d, _ := w.open(payer, Descriptor{}, 500)
	w.reverts("NotPayeeOrOperator", payer, to(closeData(d, 0, 0, nil)))
	w.reverts("ChannelNotFound", payee, to(closeData(Descriptor{Payee: payee.address()}, 0, 0, nil)))
	w.ok(payer, to(withDescriptor(requestCloseSignature, d)))
	w.ok(payee, to(closeData(d, 100, 100, w.voucher(payer, d, 100)))) // during the grace period

	d, _ = w.open(payer, Descriptor{}, 500)
	w.SetPolicy(PathUSD, payer.address(), false, true)
	w.reverts("PolicyForbids", payee, to(closeData(d, 100, 100, w.voucher(payer, d, 100))))
	w.ok(payee, to(closeData(d, 100, 0, nil))) // the refund is no payment of the payer
}

// A virtual payee's master is paid.
func TestVirtualPayee(t *testing.T) {
	w := newWorld(t, Options{})
	w.SetVirtualMaster([4]byte{1, 2, 3, 4}, stranger.address())
	d, _ := w.open(payer, Descriptor{Payee: common.HexToAddress("0x01020304fdfdfdfdfdfdfdfdfdfd000000000001"), Operator: operator.address()}, 500)
	before := w.holds(stranger)
	r := w.ok(operator, to(settleData(d, 200, w.voucher(payer, d, 200))))
	w.moves(r, stranger, before, 200)
}

// Many channels in one transaction: one bad call undoes all.
func TestBatchIsAtomic(t *testing.T) {
	w := newWorld(t, Options{})
	one, _ := w.open(payer, Descriptor{}, 500)
	two, _ := w.open(stranger, Descriptor{}, 500)
	settleOne := to(settleData(one, 100, w.voucher(payer, one, 100)))
	w.reverts("call 1: execution reverted: InvalidSignature()", payee, settleOne, to(settleData(two, 100, nil)))
	w.wantState(one, 0, 500, 0)
	w.ok(payee, settleOne, to(closeData(two, 100, 100, w.voucher(stranger, two, 100))))
	w.wantState(one, 100, 500, 0)
	w.wantState(two, 0, 0, 0)
}

func TestUnknownCode(t *testing.T) {
	w := newWorld(t, Options{})
	w.reverts("unknown function", payer, to(pack("nothing()")))
	w.reverts("does not decode", payer, to([]byte{1, 2}))
	empty := common.HexToAddress("0x20c0000000000000000000000000000000000777")
	w.reverts("Uninitialized", payer, Call{To: empty, Data: pack("decimals()")})
	w.ok(payer, Call{To: stranger.address(), Data: []byte("anything")})
}
