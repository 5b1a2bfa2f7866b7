package sandbox

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"
)

// accessKey is what the account keychain knows of one key of an account.
type accessKey struct {
	kind                    keyKind
	expiry                  uint64 // Unix seconds
	limited, revoked, known bool
}

func keyCell(account, key common.Address) cell { return cell{keySpace, account, addressKey(key)} }

func limitCell(account, key, token common.Address) cell {
	return cell{limitSpace, account, pairKey(key, token)}
}

func (k accessKey) pack() (v uint256.Int) {
	flags := uint64(k.kind)
	for i, set := range []bool{k.limited, k.revoked, k.known} {
		if set {
			flags |= 1 << (8 + i)
		}
	}
	v.SetUint64(flags)
	return *v.Lsh(&v, 64).Or(&v, uint256.NewInt(k.expiry))
}

func unpackKey(v uint256.Int) (k accessKey) {
	k.expiry = v.Uint64()
	flags := v.Rsh(&v, 64).Uint64()
	k.kind = keyKind(flags)
	k.limited, k.revoked, k.known = flags>>8&1 == 1, flags>>9&1 == 1, flags>>10&1 == 1
	return k
}

var (
	keyAuthorizedEvent = crypto.Keccak256Hash([]byte("KeyAuthorized(address,address,uint8,uint64)"))
	keyRevokedEvent    = crypto.Keccak256Hash([]byte("KeyRevoked(address,address)"))
	feeTokenEvent      = crypto.Keccak256Hash([]byte("UserTokenSet(address,address)"))
)

// authorize stores a new access key of an account. A key that ever was stays known,
// so a revoked one cannot come back.
func (m *machine) authorize(account common.Address, auth *keyAuthorization) error {
	if unpackKey(m.get(keyCell(account, auth.key))).known {
		return reverting("KeyAlreadyExists()")
	}
	if auth.expiry <= m.time {
		return reverting("ExpiryInPast()")
	}
	key := accessKey{kind: auth.kind, expiry: auth.expiry, limited: auth.limits != nil, known: true}
	m.set(keyCell(account, auth.key), key.pack())
	for token, amount := range auth.limits { // each into a cell of its own: order has no effect
		m.set(limitCell(account, auth.key, token), amount)
	}
	m.emit(keychainAddress, keyAuthorizedEvent, []common.Hash{addressKey(account), addressKey(auth.key)},
		wordOf64(uint64(auth.kind)), wordOf64(auth.expiry))
	return nil
}

var keychainFunctions = bySelector(map[string]function{
	"getKey(address,address)": {2_100, keychainGetKey},
	"getRemainingLimit(address,address,address)": {2_100, view(func(m *machine, _ common.Address, a *arguments) uint256.Int {
		return m.get(limitCell(a.address(), a.address(), a.address()))
	})},
	"revokeKey(address)": {20_000, keychainRevoke},
})

func keychainGetKey(m *machine, _, _ common.Address, a *arguments) ([]byte, error) {
	account, key := a.address(), a.address()
	if a.bad {
		return nil, errCalldata
	}
	k := unpackKey(m.get(keyCell(account, key)))
	if !k.known || k.revoked {
		key = common.Address{}
	}
	return wordsOf(wordOf64(uint64(k.kind)), addressKey(key), wordOf64(k.expiry), wordOfBool(k.limited), wordOfBool(k.revoked)), nil
}

// keychainRevoke ends a key; only the account's own key may.
func keychainRevoke(m *machine, from, _ common.Address, a *arguments) ([]byte, error) {
	key := a.address()
	if a.bad {
		return nil, errCalldata
	}
	if m.signer != nil {
		return nil, reverting("UnauthorizedCaller()")
	}
	k := unpackKey(m.get(keyCell(from, key)))
	switch {
	case !k.known:
		return nil, reverting("KeyNotFound()")
	case k.revoked:
		return nil, reverting("KeyAlreadyRevoked()")
	}
	k.revoked, k.expiry = true, 0
	m.set(keyCell(from, key), k.pack())
	m.emit(keychainAddress, keyRevokedEvent, []common.Hash{addressKey(from), addressKey(key)})
	return nil, nil
}

var feeFunctions = bySelector(map[string]function{
	"userTokens(address)": {2_100, view(func(m *machine, _ common.Address, a *arguments) uint256.Int {
		return m.get(cell{space: feeTokenSpace, owner: a.address()})
	})},
	"setUserToken(address)": {22_000, feeSetToken},
})

func feeSetToken(m *machine, from, _ common.Address, a *arguments) ([]byte, error) {
	token := a.address()
	if a.bad {
		return nil, errCalldata
	}
	if m.tokens[token] == nil {
		return nil, errInvalidToken
	}
	m.set(cell{space: feeTokenSpace, owner: from}, addressWord(token))
	m.emit(FeeManager, feeTokenEvent, []common.Hash{addressKey(from), addressKey(token)})
	return nil, nil
}

var verifierFunctions = bySelector(map[string]function{
	"recover(bytes32,bytes)": {8_000, func(_ *machine, _, _ common.Address, a *arguments) ([]byte, error) {
		digest, sig := a.word(), a.bytes()
		if a.bad {
			return nil, errCalldata
		}
		signer, err := RecoverSigner(digest, sig)
		if err != nil {
			return nil, errBadVoucher // both contracts name it InvalidSignature()
		}
		return wordsOf(addressKey(signer)), nil
	}},
})

// The exchange trades one for one out of what was minted to it. It serves payers who
// hold another token than the one a channel needs.
var exchangeFunctions = bySelector(map[string]function{
	"quoteSwapExactAmountOut(address,address,uint128)": {5_000, func(m *machine, _, _ common.Address, a *arguments) ([]byte, error) {
		in, out, amount := a.address(), a.address(), a.uint(128)
		if a.bad {
			return nil, errCalldata
		}
		return wordsOf(wordOf(amount)), m.tradable(in, out, amount)
	}},
	"swapExactAmountOut(address,address,uint128,uint128)": {80_000, exchangeSwap},
})

func (m *machine) tradable(in, out common.Address, amount uint256.Int) error {
	switch have := m.balance(out, Exchange); {
	case in == out:
		return reverting("IdenticalTokens()")
	case m.tokens[in] == nil || m.tokens[out] == nil:
		return reverting("PairDoesNotExist()")
	case have.Lt(&amount):
		return reverting("InsufficientLiquidity()")
	}
	return nil
}

func exchangeSwap(m *machine, from, _ common.Address, a *arguments) ([]byte, error) {
	in, out, amount, most := a.address(), a.address(), a.uint(128), a.uint(128)
	if a.bad {
		return nil, errCalldata
	}
	if err := m.tradable(in, out, amount); err != nil {
		return nil, err
	}
	if amount.Gt(&most) {
		return nil, reverting("MaxInputExceeded()")
	}
	if err := m.useAllowance(in, from, Exchange, amount); err != nil {
		return nil, err
	}
	if err := m.transfer(in, from, Exchange, amount); err != nil {
		return nil, err
	}
	return wordsOf(wordOf(amount)), m.transfer(out, Exchange, from, amount)
}
