package sandbox

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"
)

func TestRefusesMainnet(t *testing.T) {
	if _, err := New(Options{ChainID: Mainnet}); !errors.Is(err, ErrMainnet) {
		t.Errorf("a sandbox of mainnet was made: %v", err)
	}
	for _, opt := range []Options{
		{BlockTime: -1},
		{Tokens: []Token{{Address: stranger.address()}}},
		{Fund: []Funding{{Token: stranger.address()}}},
		{Fund: []Funding{{Amount: *new(uint256.Int).Lsh(amount(1), 128)}}},
	} {
		if _, err := New(opt); err == nil {
			t.Errorf("options were taken: %+v", opt)
		}
	}
}

// pay is a transfer of some base units to the payee.
func pay(units uint64) Call {
	return Call{To: PathUSD, Data: pack("transfer(address,uint256)", addressKey(payee.address()), u(units))}
}

// refuses checks that no block takes the transaction and nothing is charged for it.
func (w *world) refuses(d draftTx, want string) {
	w.Helper()
	before := w.Books()
	r, err := w.sendTx(d)
	if err == nil || !strings.Contains(err.Message, want) {
		w.Errorf("receipt %+v, error %v; want %q", r, err, want)
	}
	if string(encode(before)) != string(encode(w.Books())) {
		w.Errorf("%s: a refused transaction changed the books", want)
	}
}

// takes checks that a transaction is mined and succeeds.
func (w *world) takes(d draftTx) *receiptJSON {
	w.Helper()
	r, err := w.sendTx(d)
	if err != nil {
		w.Fatalf("refused: %v", err)
	}
	if r.Status != 1 {
		w.Fatalf("reverted: %s", r.RevertReason)
	}
	w.wantBalanced()
	return r
}

func TestExpiringNonce(t *testing.T) {
	w := newWorld(t, Options{})
	calls := []Call{pay(1)}
	f := func(d draftTx, want string) {
		t.Helper()
		d.key, d.calls = payer, calls
		if want == "" {
			w.takes(d)
		} else {
			w.refuses(d, want)
		}
	}
	f(draftTx{validBefore: epoch}, "expired")
	f(draftTx{validBefore: epoch - 1}, "expired")
	f(draftTx{validBefore: epoch + 3}, "too soon")
	f(draftTx{validBefore: epoch + 4}, "")
	f(draftTx{validBefore: epoch + 31}, "")
	f(draftTx{validBefore: epoch + 300}, "")
	f(draftTx{validBefore: epoch + 301}, "within 300 seconds")
	f(draftTx{}, "validBefore must be set")
	f(draftTx{nonce: 1}, "validBefore must be set")
	f(draftTx{validBefore: epoch + 20, nonce: 1}, "")
	f(draftTx{validBefore: epoch + 20, nonce: 1}, "already known")
	f(draftTx{validBefore: epoch + 20}, "") // another nonce makes another transaction
	f(draftTx{validBefore: epoch + 20, nonce: math.MaxUint64}, "")
	f(draftTx{validBefore: epoch + 20, validAfter: epoch + 1}, "not valid yet")
	f(draftTx{validBefore: epoch + 20, validAfter: epoch}, "")
	f(draftTx{validBefore: epoch + 20, validAfter: epoch + 20}, "validAfter is not before")
	f(draftTx{validBefore: epoch + 300}, "already known")
}

// The same transaction with another fee payer, or another spelling of its signature,
// is the same for the replay protection.
func TestExpiringNonceReplay(t *testing.T) {
	w := newWorld(t, Options{})
	d := draftTx{key: payer, calls: []Call{pay(1)}, validBefore: epoch + 20, feePayer: stranger}
	w.takes(d)
	d.feePayer = operator
	w.refuses(d, "already used")

	raw := draftTx{key: payer, calls: []Call{pay(2)}, validBefore: epoch + 20}.raw()
	first, err := w.sendRaw(raw)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)-1] -= 27 // recovery id 0 or 1: the canonical bytes stay, and with them the hash
	if tx, err := ReadTransaction(raw); err != nil || tx.Hash != first.TransactionHash {
		t.Errorf("hash %v, %v; want %s", tx, err, first.TransactionHash)
	}
	if _, err := w.sendRaw(raw); err == nil {
		t.Error("the other spelling was mined again")
	}
}

func TestNonces(t *testing.T) {
	w := newWorld(t, Options{})
	for _, key := range []*uint256.Int{amount(0), amount(7)} {
		d := draftTx{key: payer, calls: []Call{pay(1)}, nonceKey: key}
		w.takes(d)
		d.validAfter = 5
		w.refuses(d, "nonce too low")
		d.nonce = 2
		w.refuses(d, "nonce too high")
		d.nonce = 1
		w.takes(d)
	}
	var count hexutil.Uint64
	if w.rpc(&count, "eth_getTransactionCount", payer.address(), "latest"); count != 2 {
		t.Errorf("count %d", count)
	}
	w.refuses(draftTx{key: payer, calls: []Call{pay(1)}, nonceKey: amount(0), nonce: 2, validBefore: epoch}, "expired")
}

func TestFees(t *testing.T) {
	other := common.HexToAddress("0x20c0000000000000000000000000000000000001")
	w := newWorld(t, Options{Tokens: []Token{{Address: other, Name: "Alpha", Symbol: "A"}}, Fund: []Funding{
		{Account: payer.address(), Amount: *amount(10 * million)}, {Account: stranger.address(), Token: other, Amount: *amount(million)},
		{Account: operator.address(), Amount: *amount(100)},
	}})
	d := draftTx{key: payer, calls: []Call{pay(1)}, validBefore: epoch + 20}
	r := w.takes(d)
	price := uint256.Int(*r.EffectiveGasPrice)
	if price.Uint64() != 21_000_000_000 { // base fee 20 gwei and tip 1 gwei
		t.Errorf("price %s", price.Dec())
	}
	fee := (uint64(r.GasUsed)*21_000_000_000 + 999_999_999_999) / 1_000_000_000_000
	if got := 10*million - 1 - w.holds(payer); got != fee {
		t.Errorf("fee %d, want %d", got, fee)
	}
	last := r.Logs[len(r.Logs)-1]
	if last.Topics[2] != addressKey(FeeManager) || common.BytesToHash(last.Data) != u(fee) {
		t.Errorf("log of the fee: %+v", last)
	}

	d.key = operator
	w.refuses(d, "insufficient funds")
	d.key, d.maxFee = payer, 19_000_000_000
	w.refuses(d, "below the base fee")
	d.maxFee, d.gas = 20_500_000_000, 20_000
	w.refuses(d, "intrinsic gas")
	d.gas = blockGasLimit + 1
	w.refuses(d, "exceeds block gas limit")
	d.gas = 0
	if r := w.takes(d); (*hexutil.U256)(amount(20_500_000_000)).String() != r.EffectiveGasPrice.String() {
		t.Errorf("price %s above the maximum", r.EffectiveGasPrice)
	}
	d.maxFee = 500_000_000
	w.refuses(d, "max priority fee")
	d.maxFee = 0

	// Paid in another token: named, or chosen once and for all.
	d.key, d.calls = stranger, []Call{{To: other, Data: pack("approve(address,uint256)", u(1), u(1))}}
	w.refuses(d, "insufficient funds") // it has no pathUSD
	d.feeToken = other.Bytes()
	if r := w.takes(d); r.FeeToken != other {
		t.Errorf("fee token %s", r.FeeToken)
	}
	d.calls = []Call{{To: FeeManager, Data: pack("setUserToken(address)", addressKey(other))}}
	w.takes(d)
	d.feeToken, d.calls = nil, []Call{{To: stranger.address()}}
	if r := w.takes(d); r.FeeToken != other {
		t.Errorf("fee token %s", r.FeeToken)
	}
	d.feeToken = stranger.address().Bytes()
	w.refuses(d, "not a token")
}

// A transaction that runs out of gas, or reverts, pays and changes nothing else.
func TestFailurePays(t *testing.T) {
	w := newWorld(t, Options{})
	before := w.holds(payee)
	r, err := w.sendTx(draftTx{key: payer, calls: []Call{pay(1)}, validBefore: epoch + 20, gas: 40_000})
	if err != nil || r.Status != 0 || r.GasUsed != 40_000 || r.RevertReason != "execution reverted: out of gas" {
		t.Errorf("%+v, %v", r, err)
	}
	if w.holds(payee) != before {
		t.Error("a failed transfer moved tokens")
	}
	if _, err := w.sendTx(draftTx{key: payer, calls: []Call{pay(1)}, validBefore: epoch + 20, gas: 40_000}); err == nil {
		t.Error("a failed transaction could be sent again")
	}
	w.wantBalanced()
}

func TestFeePayer(t *testing.T) {
	w := newWorld(t, Options{Fund: []Funding{{Account: payer.address(), Amount: *amount(500)}, {Account: payee.address(), Amount: *amount(million)}}})
	call := to(openData(Descriptor{Payee: payee.address(), Token: PathUSD}, amount(500)))
	d := draftTx{key: payer, calls: []Call{call}, validBefore: epoch + 20}
	w.refuses(d, "insufficient funds")
	d.feePayer, d.feeToken = payee, PathUSD.Bytes()
	r := w.takes(d)
	if r.FeePayer != payee.address() || w.holds(payer) != 0 {
		t.Errorf("fee payer %s, payer holds %d", r.FeePayer, w.holds(payer))
	}
	d.handOff, d.feePayer = true, nil
	w.refuses(d, "hand-off")
	f := func(want string, change func([][]byte) [][]byte) {
		t.Helper()
		raw := draftTx{key: payer, calls: []Call{call}, validBefore: epoch + 20, mutate: change}.raw()
		if _, err := ReadTransaction(raw); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	item := func(at int, with []byte) func([][]byte) [][]byte {
		return func(items [][]byte) [][]byte { items[at] = with; return items }
	}
	f("has not signed", item(atFeePayer, []byte{0x00}))
	f("has not signed", item(atFeePayer, enc(payee.address())))
	f("[yParity, r, s]", item(atFeePayer, listOf(enc(uint64(0)), enc(uint64(1)))))
	f("[yParity, r, s]", item(atFeePayer, listOf(enc(uint64(2)), enc(uint64(1)), enc(uint64(1)))))
	f("fee payer", item(atFeePayer, listOf(enc(uint64(0)), enc(uint64(5)), enc(uint64(1)))))
	f("authorization lists", item(atAuthorizations, listOf(enc(uint64(1)))))
	f("no calls", item(atCalls, listOf()))
	f("creation", item(atCalls, listOf(listOf([]byte{0x80}, []byte{0x80}, []byte{0x80}))))
	f("native coin", item(atCalls, listOf(listOf(enc(payee.address()), enc(uint64(1)), []byte{0x80}))))
	f("canonical", item(atGas, []byte{0x82, 0x00, 0x01}))
	f("64 bits", item(atGas, enc(new(big.Int).Lsh(big.NewInt(1), 64))))
	f("128 bits", item(atMaxFee, enc(new(big.Int).Lsh(big.NewInt(1), 128))))
	f("an address", item(atFeeToken, []byte{0x01}))
	f("a list", item(atCalls, []byte{0x01}))
	f("more than 15", func(items [][]byte) [][]byte { return append(items, []byte{0x80}, []byte{0x80}) }) // too many
}

// The hand-off's sender is who signed, whatever address is written in it.
func TestHandOffSender(t *testing.T) {
	raw := draftTx{key: payer, calls: []Call{pay(1)}, validBefore: epoch, handOff: true}.raw()
	if tx, err := ReadTransaction(raw); err != nil || tx.Sender != payer.address() {
		t.Fatalf("%+v, %v", tx, err)
	}
	forged := []byte(strings.Replace(string(raw), string(payer.address().Bytes()), string(payee.address().Bytes()), 1))
	if _, err := ReadTransaction(forged); err == nil || !strings.Contains(err.Error(), "another sender") {
		t.Errorf("a forged hand-off: %v", err)
	}
}

// keyAuth makes a key authorization signed by root.
func keyAuth(root, access key, kind, expiry uint64, limits ...[]byte) []byte {
	fields := [][]byte{enc(uint64(Moderato)), enc(kind), enc(access.address()), enc(expiry)}
	if limits != nil {
		fields = append(fields, listOf(limits...))
	}
	body := listOf(fields...)
	return listOf(body, enc(root.sign(crypto.Keccak256Hash(body))))
}

func TestAccessKeys(t *testing.T) {
	w := newWorld(t, Options{})
	access := newSecpKey("0x7777777777777777777777777777777777777777777777777777777777777777")
	account := payer.address()
	by := func(k key, auth []byte, calls ...Call) draftTx {
		w.salt++
		return draftTx{key: k, account: account, keyAuth: auth, calls: calls, validBefore: w.seconds() + 20, validAfter: w.salt}
	}
	w.refuses(by(access, nil, pay(1)), "access key is not authorized")
	w.refuses(by(access, keyAuth(stranger, access, 0, epoch+100), pay(1)), "not signed by the account")
	w.refuses(by(access, keyAuth(payer, access, 0, epoch), pay(1)), "expired or repeats")
	w.refuses(by(access, keyAuth(payer, access, 1, epoch+100), pay(1)), "access key is not authorized") // of another kind

	limit := listOf(enc(PathUSD), enc(uint64(50_000)))
	r := w.takes(by(access, keyAuth(payer, access, 0, epoch+100, limit), pay(10)))
	if r.From != account {
		t.Errorf("from %s", r.From)
	}
	fee := feeOf(uint64(r.GasUsed), uint256.Int(*r.EffectiveGasPrice))
	left := func() uint64 {
		out := w.view(keychainAddress, pack("getRemainingLimit(address,address,address)", addressKey(account), addressKey(access.address()), addressKey(PathUSD)))
		return new(uint256.Int).SetBytes(out).Uint64()
	}
	if want := 50_000 - 10 - fee.Uint64(); left() != want { // transfers and fees count
		t.Errorf("limit left %d, want %d", left(), want)
	}
	w.refuses(by(access, keyAuth(payer, access, 0, epoch+100), pay(1)), "expired or repeats")
	before := left()
	d := by(access, nil, to(openData(Descriptor{Payee: payee.address(), Token: PathUSD}, amount(before))))
	d.gas = 400_000
	if r, err := w.sendTx(d); err != nil || !strings.Contains(r.RevertReason, "SpendingLimitExceeded") {
		t.Errorf("a channel above the limit: %+v, %v", r, err)
	}
	w.refuses(by(stranger, nil, pay(1)), "access key is not authorized")

	out := w.view(keychainAddress, pack("getKey(address,address)", addressKey(account), addressKey(access.address())))
	if want := wordsOf(u(0), addressKey(access.address()), u(epoch+100), u(1), u(0)); string(out) != string(want) {
		t.Errorf("getKey %x", out)
	}
	revoke := Call{To: keychainAddress, Data: pack("revokeKey(address)", addressKey(access.address()))}
	d = by(access, nil, revoke)
	d.feePayer = payee
	if r, err := w.sendTx(d); err != nil || !strings.Contains(r.RevertReason, "UnauthorizedCaller") {
		t.Errorf("the key revoked itself: %+v, %v", r, err)
	}
	w.ok(payer, revoke)
	w.reverts("KeyAlreadyRevoked", payer, revoke)
	w.reverts("KeyNotFound", stranger, revoke)
	w.refuses(by(access, nil, pay(1)), "access key is not authorized")
	w.refuses(by(access, keyAuth(payer, access, 0, epoch+100), pay(1)), "expired or repeats") // never again

	// A key of another kind opens a channel and signs its vouchers.
	p256 := p256TestKey{d: big.NewInt(99)}
	w.takes(by(p256, keyAuth(payer, p256, 1, 0), pay(1)))
	w.IncreaseTime(time.Hour) // without an expiry it does not end
	w.takes(by(p256, nil, pay(1)))
	w.refuses(by(p256TestKey{d: p256.d, webAuthn: true}, nil, pay(1)), "access key is not authorized") // the same key in another form
	expiring := p256TestKey{d: big.NewInt(98), webAuthn: true}
	w.takes(by(expiring, keyAuth(payer, expiring, 2, w.seconds()+10), pay(1)))
	w.IncreaseTime(10 * time.Second)
	w.refuses(by(expiring, nil, pay(1)), "access key is not authorized")
}

func TestAccessKeyEnvelopes(t *testing.T) {
	access := newSecpKey("0x7777777777777777777777777777777777777777777777777777777777777777")
	f := func(want string, auth []byte) {
		t.Helper()
		raw := draftTx{key: access, account: payer.address(), keyAuth: auth, calls: []Call{pay(1)}, validBefore: epoch}.raw()
		if _, err := ReadTransaction(raw); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	signed := func(fields ...[]byte) []byte {
		body := listOf(fields...)
		return listOf(body, enc(payer.sign(crypto.Keccak256Hash(body))))
	}
	chain, kind, id := enc(uint64(Moderato)), enc(uint64(0)), enc(access.address())
	f("is no list", []byte{0x80})
	f("[authorization, signature]", listOf(chain))
	f("2 fields", signed(chain, kind))
	f("names no key", signed(chain, enc(uint64(3)), id))
	f("names no key", signed(chain, kind, []byte{0x80}))
	f("limits", signed(chain, kind, id, []byte{0x80}, listOf(listOf(enc(PathUSD), enc(uint64(1)), enc(uint64(60))))))
	f("not simulated", signed(chain, kind, id, []byte{0x80}, []byte{0x80}, listOf()))
	f("not simulated", signed(chain, kind, id, []byte{0x80}, []byte{0x80}, []byte{0x80}, []byte{0x80}, []byte{0x01}))

	raw := draftTx{key: access, account: payer.address(), calls: []Call{pay(1)}, validBefore: epoch}.raw()
	at := strings.LastIndex(string(raw), string(append([]byte{keychainMark}, payer.address().Bytes()...)))
	raw[at] = keychainLegacyMark
	if _, err := ReadTransaction(raw); err == nil || !strings.Contains(err.Error(), "0x03") {
		t.Errorf("a legacy envelope: %v", err)
	}
}

func TestAccountsOfAllKinds(t *testing.T) {
	for _, k := range []key{p256TestKey{d: big.NewInt(5)}, p256TestKey{d: big.NewInt(5), prehash: 1}, p256TestKey{d: big.NewInt(6), webAuthn: true}} {
		w := newWorld(t, Options{Fund: []Funding{{Account: k.address(), Amount: *amount(million)}, {Account: payee.address(), Amount: *amount(million)}}})
		d, _ := w.open(k, Descriptor{}, 500)
		w.ok(payee, to(closeData(d, 200, 100, w.voucher(k, d, 200))))
	}
}

// The exchange serves payers who hold another token.
func TestSwapThenOpen(t *testing.T) {
	other := common.HexToAddress("0x20c0000000000000000000000000000000000001")
	w := newWorld(t, Options{Tokens: []Token{{Address: other, Name: "Alpha", Symbol: "A"}}, Fund: []Funding{
		{Account: payer.address(), Token: other, Amount: *amount(million)}, {Account: Exchange, Amount: *amount(600)},
	}})
	swap := func(out, most uint64) []Call {
		return []Call{
			{To: other, Data: pack("approve(address,uint256)", addressKey(Exchange), u(most))},
			{To: Exchange, Data: pack("swapExactAmountOut(address,address,uint128,uint128)", addressKey(other), addressKey(PathUSD), u(out), u(most))},
			to(openData(Descriptor{Payee: payee.address(), Token: PathUSD}, amount(out))),
		}
	}
	d := draftTx{key: payer, calls: swap(500, 505), validBefore: epoch + 20, feeToken: other.Bytes()}
	w.takes(d)
	f := func(want string, calls []Call) {
		t.Helper()
		d.calls = calls
		if r, err := w.sendTx(d); err != nil || !strings.Contains(r.RevertReason, want) {
			t.Errorf("%+v, %v; want %s", r, err, want)
		}
	}
	f("MaxInputExceeded", swap(100, 99))
	f("InsufficientLiquidity", swap(101, 200))
	f("InsufficientAllowance", swap(100, 100)[1:])
	out := w.view(Exchange, pack("quoteSwapExactAmountOut(address,address,uint128)", addressKey(other), addressKey(PathUSD), u(50)))
	if string(out) != string(wordsOf(u(50))) {
		t.Errorf("quote %x", out)
	}
}

// Blocks come by the clock; transactions wait for the next.
func TestBlockTime(t *testing.T) {
	w := newWorld(t, Options{BlockTime: 500 * time.Millisecond})
	raw := draftTx{key: payer, calls: []Call{pay(1)}, validBefore: epoch + 20}.raw()
	var hash common.Hash
	if err := w.rpc(&hash, "eth_sendRawTransaction", hexutil.Bytes(raw)); err != nil {
		t.Fatal(err)
	}
	receipt := func() *receiptJSON {
		var r *receiptJSON
		if err := w.rpc(&r, "eth_getTransactionReceipt", hash); err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := receipt(); r != nil {
		t.Fatalf("mined at once: %+v", r)
	}
	var waiting transactionJSON
	if w.rpc(&waiting, "eth_getTransactionByHash", hash); waiting.Hash != hash || waiting.BlockHash != nil {
		t.Errorf("pending: %+v", waiting)
	}
	w.clock.at = w.clock.at.Add(499 * time.Millisecond)
	if r := receipt(); r != nil {
		t.Fatalf("mined too early: %+v", r)
	}
	w.clock.at = w.clock.at.Add(time.Millisecond)
	if r := receipt(); r == nil || r.BlockNumber != 1 || r.Status != 1 {
		t.Fatalf("not mined: %+v", r)
	}
	// An hour of silence is one block.
	w.clock.at = w.clock.at.Add(time.Hour)
	var number hexutil.Uint64
	if w.rpc(&number, "eth_blockNumber"); number != 2 {
		t.Errorf("block %d", number)
	}
	var b blockJSON
	if w.rpc(&b, "eth_getBlockByNumber", "latest", false); uint64(b.Timestamp) != epoch+3600 {
		t.Errorf("time %d", b.Timestamp)
	}
	// Sync waits.
	before := w.clock.now()
	if r := w.takes(draftTx{key: payer, calls: []Call{pay(1)}, validBefore: epoch + 3620}); r.BlockNumber != 3 || w.clock.now().Sub(before) > 500*time.Millisecond {
		t.Errorf("block %d after %s", r.BlockNumber, w.clock.now().Sub(before))
	}
}

// Without a block time the head is never older than idleBlock, and no block is made
// before that.
func TestIdleBlock(t *testing.T) {
	w := newWorld(t, Options{})
	f := func(later time.Duration, number, age uint64) {
		t.Helper()
		w.clock.at = w.clock.at.Add(later)
		var b blockJSON
		if w.rpc(&b, "eth_getBlockByNumber", "latest", false); uint64(b.Number) != number || w.seconds()-uint64(b.Timestamp) != age {
			t.Errorf("block %d is %d s old", b.Number, w.seconds()-uint64(b.Timestamp))
		}
	}
	f(0, 0, 0)
	f(9*time.Second, 0, 9)
	f(time.Second, 1, 0)
	f(time.Hour, 2, 0)
	w.takes(draftTx{key: payer, calls: []Call{pay(1)}, validBefore: w.seconds() + 20})
	f(9*time.Second, 3, 9)
}

// A transaction whose time runs out in the pool is never mined.
func TestExpiresInThePool(t *testing.T) {
	w := newWorld(t, Options{BlockTime: 10 * time.Second})
	r, err := w.sendTx(draftTx{key: payer, calls: []Call{pay(1)}, validBefore: epoch + 8})
	if err == nil || !strings.Contains(err.Message, "dropped") {
		t.Errorf("%+v, %v", r, err)
	}
	w.wantBalanced()
}

// Two transactions of one account can wait at once; the same one cannot.
func TestPool(t *testing.T) {
	w := newWorld(t, Options{BlockTime: time.Second})
	send := func(d draftTx) *Error { return w.rpc(nil, "eth_sendRawTransaction", hexutil.Bytes(d.raw())) }
	d := draftTx{key: payer, calls: []Call{pay(1)}, nonceKey: amount(0)}
	if err := send(d); err != nil {
		t.Fatal(err)
	}
	if err := send(d); err == nil || err.Message != "already known" {
		t.Errorf("the same again: %v", err)
	}
	d.nonce = 1
	if err := send(d); err != nil {
		t.Error(err)
	}
	var pending, latest hexutil.Uint64
	w.rpc(&pending, "eth_getTransactionCount", payer.address(), "pending")
	w.rpc(&latest, "eth_getTransactionCount", payer.address(), "latest")
	if pending != 2 || latest != 0 {
		t.Errorf("pending %d, latest %d", pending, latest)
	}
	w.clock.sleep(t.Context(), time.Second)
	var b blockJSON
	if w.rpc(&b, "eth_getBlockByNumber", "latest", true); len(b.Transactions) != 2 {
		t.Errorf("block %+v", b)
	}
	if w.rpc(&latest, "eth_getTransactionCount", payer.address(), "latest"); latest != 2 {
		t.Errorf("latest %d", latest)
	}
}

// The same requests at the same times give the same hashes.
func TestDeterministic(t *testing.T) {
	run := func() string {
		w := newWorld(t, Options{})
		d, _ := w.open(payer, Descriptor{}, 500)
		w.ok(payee, to(settleData(d, 100, w.voucher(payer, d, 100))))
		w.IncreaseTime(time.Minute)
		w.ok(payee, to(closeData(d, 200, 200, w.voucher(payer, d, 200))))
		var head json.RawMessage
		w.rpc(&head, "eth_getBlockByNumber", "latest", true)
		return string(head) + string(encode(w.Books()))
	}
	if one, two := run(), run(); one != two {
		t.Errorf("\n%s\n%s", one, two)
	}
}
