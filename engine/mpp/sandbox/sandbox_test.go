package sandbox

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"sync"
	"testing"
	"time"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	secpecdsa "github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/holiman/uint256"
)

// clock stands still until it is moved; waiting moves it.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
	return ctx.Err()
}

// epoch is a second at which the transactions T1 and T4 can be mined.
const epoch = 0x6b0145d4 - 20

// key signs as one kind of account.
type key interface {
	address() common.Address
	sign(digest common.Hash) []byte
}

type secpKey struct{ *secp256k1.PrivateKey }

func newSecpKey(hex string) secpKey {
	return secpKey{secp256k1.PrivKeyFromBytes(common.FromHex(hex))}
}

func (k secpKey) address() common.Address {
	return addressOf(k.PubKey().SerializeUncompressed()[1:])
}

func (k secpKey) sign(digest common.Hash) []byte {
	compact := secpecdsa.SignCompact(k.PrivateKey, digest[:], false)
	return append(compact[1:], compact[0])
}

// p256TestKey signs with P-256; with webAuthn set as an authenticator would.
type p256TestKey struct {
	d        *big.Int
	webAuthn bool
	prehash  byte
}

func (k p256TestKey) private() *ecdsa.PrivateKey {
	priv, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), k.d.FillBytes(make([]byte, 32)))
	if err != nil {
		panic(err)
	}
	return priv
}

func (k p256TestKey) xy() []byte {
	point, err := k.private().PublicKey.Bytes()
	if err != nil {
		panic(err)
	}
	return point[1:]
}

func (k p256TestKey) address() common.Address { return addressOf(k.xy()) }

func (k p256TestKey) rs(message []byte) []byte {
	r, s, err := ecdsa.Sign(nil, k.private(), message)
	if err != nil {
		panic(err)
	}
	if s.Cmp(p256Half) > 0 {
		s.Sub(elliptic.P256().Params().N, s)
	}
	return append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
}

func (k p256TestKey) sign(digest common.Hash) []byte {
	if k.webAuthn {
		return k.assert(digest, 0x01, `{"type":"webauthn.get","challenge":"`+base64.RawURLEncoding.EncodeToString(digest[:])+`","origin":"https://a.example"}`)
	}
	message := digest[:]
	if k.prehash != 0 {
		hashed := sha256.Sum256(message)
		message = hashed[:]
	}
	sig := append([]byte{p256Mark}, k.rs(message)...)
	return append(append(sig, k.xy()...), k.prehash)
}

func (k p256TestKey) assert(_ common.Hash, flags byte, client string) []byte {
	data := make([]byte, authDataSize)
	data[32] = flags
	hashed := sha256.Sum256([]byte(client))
	message := sha256.Sum256(append(append([]byte(nil), data...), hashed[:]...))
	sig := append(append([]byte{webAuthnMark}, data...), client...)
	return append(append(sig, k.rs(message[:])...), k.xy()...)
}

var (
	payer    = newSecpKey("0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")
	payee    = newSecpKey("0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d")
	stranger = newSecpKey("0x0101010101010101010101010101010101010101010101010101010101010101")
	operator = newSecpKey("0x0202020202020202020202020202020202020202020202020202020202020202")
)

// draftTx is a transaction to be signed.
type draftTx struct {
	key         key            // signs
	account     common.Address // with an access key: for whom
	feePayer    key
	feeToken    []byte
	calls       []Call
	chainID     uint64
	nonceKey    *uint256.Int // nil: expiring
	nonce       uint64
	validBefore uint64
	validAfter  uint64
	gas         uint64
	maxFee      uint64
	keyAuth     []byte
	handOff     bool
	mutate      func(items [][]byte) [][]byte // before signing
}

func enc(v any) []byte {
	out, err := rlp.EncodeToBytes(v)
	if err != nil {
		panic(err)
	}
	return out
}

func orDefault(v, otherwise uint64) uint64 {
	if v == 0 {
		return otherwise
	}
	return v
}

// raw encodes and signs.
func (d draftTx) raw() []byte {
	nonceKey := d.nonceKey
	if nonceKey == nil {
		nonceKey = new(uint256.Int).SetAllOne()
	}
	type callRLP struct {
		To    common.Address
		Value uint64
		Data  []byte
	}
	calls := []callRLP{}
	for _, c := range d.calls {
		calls = append(calls, callRLP{c.To, c.Value.Uint64(), c.Data})
	}
	items := [][]byte{
		enc(orDefault(d.chainID, Moderato)), enc(uint64(1_000_000_000)), enc(orDefault(d.maxFee, 25_000_000_000)),
		enc(orDefault(d.gas, 1_000_000)), enc(calls), enc([]uint64{}), enc(nonceKey), enc(d.nonce), enc(d.validBefore), enc(d.validAfter),
		enc(d.feeToken), {0x80}, enc([]uint64{}),
	}
	if d.keyAuth != nil {
		items = append(items, d.keyAuth)
	}
	if d.mutate != nil {
		items = d.mutate(items)
	}
	signed := append([][]byte(nil), items...)
	if d.feePayer != nil || d.handOff {
		signed[atFeeToken], signed[atFeePayer] = []byte{0x80}, []byte{0x00}
	}
	digest := crypto.Keccak256Hash([]byte{TypeTransaction}, listOf(signed...))
	sender, sig := d.key.address(), []byte(nil)
	if d.account != (common.Address{}) {
		sender = d.account
		bound := crypto.Keccak256Hash([]byte{keychainMark}, digest[:], sender[:])
		sig = append(append([]byte{keychainMark}, sender[:]...), d.key.sign(bound)...)
	} else {
		sig = d.key.sign(digest)
	}
	kind := byte(TypeTransaction)
	if d.handOff {
		kind, items[atFeePayer], items[atFeeToken] = TypeHandOff, enc(sender), []byte{0x80}
	} else if d.feePayer != nil {
		items[atFeePayer] = enc(sender)
		rs := d.feePayer.sign(crypto.Keccak256Hash([]byte{TypeHandOff}, listOf(items...)))
		items[atFeePayer] = listOf(enc(uint64(rs[64]-27)), enc(new(big.Int).SetBytes(rs[:32])), enc(new(big.Int).SetBytes(rs[32:64])))
	}
	return append([]byte{kind}, listOf(append(items, enc(sig))...)...)
}

func pack(signature string, words ...common.Hash) []byte {
	s := selectorOf(signature)
	return append(s[:], wordsOf(words...)...)
}

func u(v uint64) common.Hash { return wordOf64(v) }

func amount(v uint64) *uint256.Int { return uint256.NewInt(v) }

// tail encodes a dynamic bytes argument after head words, the last of which is its
// offset.
func tail(sig []byte) []byte {
	padded := make([]byte, (len(sig)+31)/32*32)
	copy(padded, sig)
	return append(wordsOf(u(uint64(len(sig)))), padded...)
}

func openData(d Descriptor, deposit *uint256.Int) []byte {
	return pack(openSignature, addressKey(d.Payee), addressKey(d.Operator), addressKey(d.Token), deposit.Bytes32(), d.Salt, addressKey(d.AuthorizedSigner))
}

func withDescriptor(signature string, d Descriptor, more ...common.Hash) []byte {
	return pack(signature, append(d.words(), more...)...)
}

func settleData(d Descriptor, cumulative uint64, sig []byte) []byte {
	return append(withDescriptor(settleSignature, d, u(cumulative), u(9*32)), tail(sig)...)
}

func closeData(d Descriptor, cumulative, capture uint64, sig []byte) []byte {
	return append(withDescriptor(closeSignature, d, u(cumulative), u(capture), u(10*32)), tail(sig)...)
}

// world is a chain with a still clock.
type world struct {
	*testing.T
	*Chain
	clock *clock
	salt  uint64
}

const million = 1_000_000

func newWorld(t *testing.T, opt Options) *world {
	t.Helper()
	w := &world{T: t, clock: &clock{at: time.Unix(epoch, 0)}}
	opt.Clock, opt.Sleep = w.clock.now, w.clock.sleep
	if opt.Fund == nil {
		for _, k := range []key{payer, payee, stranger, operator} {
			opt.Fund = append(opt.Fund, Funding{Account: k.address(), Amount: *amount(1000 * million)})
		}
	}
	c, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	w.Chain = c
	return w
}

// rpc calls a method and decodes its result into out.
func (w *world) rpc(out any, method string, params ...any) *Error {
	w.Helper()
	if params == nil {
		params = []any{}
	}
	body := encode(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	answer := w.ServeRPC(context.Background(), body)
	if answer == nil {
		return &Error{Message: "no answer"}
	}
	var r struct {
		Result json.RawMessage
		Error  *Error
	}
	if err := json.Unmarshal(answer, &r); err != nil {
		w.Fatalf("%s: %v: %s", method, err, answer)
	}
	if r.Error == nil && out != nil {
		if err := json.Unmarshal(r.Result, out); err != nil {
			w.Fatalf("%s: %v: %s", method, err, r.Result)
		}
	}
	return r.Error
}

// seconds is the chain's time.
func (w *world) seconds() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return unixSeconds(w.now())
}

// do sends one transaction of calls and gives its receipt.
func (w *world) do(k key, calls ...Call) *receiptJSON {
	w.Helper()
	w.salt++ // makes each transaction its own
	r, err := w.sendTx(draftTx{key: k, calls: calls, validBefore: w.seconds() + 25, validAfter: 1000 + w.salt})
	if err != nil {
		w.Fatalf("send: %v", err)
	}
	return r
}

func (w *world) sendTx(d draftTx) (*receiptJSON, *Error) {
	w.Helper()
	return w.sendRaw(d.raw())
}

func (w *world) sendRaw(raw []byte) (*receiptJSON, *Error) {
	w.Helper()
	var r *receiptJSON
	err := w.rpc(&r, "eth_sendRawTransactionSync", hexutil.Bytes(raw))
	return r, err
}

// to is a call of the reserve.
func to(data []byte) Call { return Call{To: Reserve, Data: data} }

// open opens a channel and fills in the descriptor.
func (w *world) open(k key, d Descriptor, deposit uint64) (Descriptor, *receiptJSON) {
	w.Helper()
	w.salt++
	d.Payer, d.Salt = k.address(), u(w.salt)
	if d.Payee == (common.Address{}) {
		d.Payee = payee.address()
	}
	if d.Token == (common.Address{}) {
		d.Token = PathUSD
	}
	raw := draftTx{key: k, calls: []Call{to(openData(d, amount(deposit)))}, validBefore: w.seconds() + 25}.raw()
	tx, err := ReadTransaction(raw)
	if err != nil {
		w.Fatal(err)
	}
	d.ExpiringNonceHash = tx.ExpiringNonceHash
	r, rpcErr := w.sendRaw(raw)
	if rpcErr != nil {
		w.Fatalf("open: %v", rpcErr)
	}
	return d, r
}

// voucher signs the right to cumulative base units.
func (w *world) voucher(k key, d Descriptor, cumulative uint64) []byte {
	return k.sign(VoucherDigest(w.ChainID(), d.ID(w.ChainID()), amount(cumulative)))
}

// state asks for settled, deposit and closeRequestedAt.
func (w *world) channelState(d Descriptor) (settled, deposit, closing uint64) {
	w.Helper()
	out := w.view(Reserve, pack("getChannelState(bytes32)", d.ID(w.ChainID())))
	a := &arguments{data: out}
	s, dep, at := a.uint(96), a.uint(96), a.uint(32)
	return s.Uint64(), dep.Uint64(), at.Uint64()
}

func (w *world) view(at common.Address, data []byte) []byte {
	w.Helper()
	var out hexutil.Bytes
	if err := w.rpc(&out, "eth_call", map[string]any{"to": at, "data": hexutil.Bytes(data)}, "latest"); err != nil {
		w.Fatalf("eth_call: %v", err)
	}
	return out
}

// balance is what an account holds of pathUSD.
func (w *world) holds(k key) uint64 { return w.Balance(PathUSD, k.address()).Uint64() }

// wantBalanced checks that tokens neither came nor went.
func (w *world) wantBalanced() {
	w.Helper()
	books := w.Books()
	for i, s := range books.Supplies {
		sum, inChannels := new(uint256.Int), new(uint256.Int)
		var reserve, fees uint256.Int
		for _, b := range books.Balances {
			if b.Token != s.Token {
				continue
			}
			sum.Add(sum, b.Amount)
			switch b.Holder {
			case Reserve:
				reserve = *b.Amount
			case FeeManager:
				fees = *b.Amount
			}
		}
		for _, c := range books.Channels {
			if c.Descriptor.Token != s.Token {
				continue
			}
			left := new(uint256.Int).Sub(c.Deposited, c.Captured)
			inChannels.Add(inChannels, left.Sub(left, c.Refunded))
			if c.Open && (!c.Deposit.Eq(c.Deposited) || !c.Settled.Eq(c.Captured) || !c.Refunded.IsZero()) {
				w.Errorf("open channel %s: state and logs differ: %+v", c.ID, c)
			}
			if !c.Open && !new(uint256.Int).Add(c.Captured, c.Refunded).Eq(c.Deposited) {
				w.Errorf("finished channel %s: %s captured and %s refunded of %s", c.ID, c.Captured.Dec(), c.Refunded.Dec(), c.Deposited.Dec())
			}
		}
		if !sum.Eq(s.Amount) {
			w.Errorf("token %s: balances sum to %s, supply is %s", s.Token, sum.Dec(), s.Amount.Dec())
		}
		if !reserve.Eq(inChannels) {
			w.Errorf("token %s: the reserve holds %s, the channels %s", s.Token, reserve.Dec(), inChannels.Dec())
		}
		if !fees.Eq(books.Fees[i].Amount) {
			w.Errorf("token %s: the fee manager holds %s, receipts say %s", s.Token, fees.Dec(), books.Fees[i].Amount.Dec())
		}
	}
}
