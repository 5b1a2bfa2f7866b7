package sandbox

import (
	"math"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"
)

// maxKeyLimits bounds the spending limits that one authorization sets.
const maxKeyLimits = 32

// keyAuthorization lets an access key sign for an account. It rides along in a
// transaction and is signed by the account's own key.
type keyAuthorization struct {
	chainID uint64 // 0: any chain
	kind    keyKind
	key     common.Address
	expiry  uint64                         // Unix seconds; math.MaxUint64 for never
	limits  map[common.Address]uint256.Int // nil: no limits
}

// readKeyAuthorization decodes [[chainId, keyType, keyId, expiry?, limits?], signature]
// and checks that the account itself signed it. Restrictions that this chain would
// not enforce (call scopes, periods, administrators) are refused: a key that may do
// more here than on the real chain would hide faults.
func readKeyAuthorization(it item, account common.Address) (*keyAuthorization, error) {
	if !it.list {
		return nil, malformed("the key authorization is no list")
	}
	parts, err := splitItems(it.body, 2)
	if err != nil {
		return nil, err
	}
	if len(parts) != 2 || !parts[0].list || parts[1].list {
		return nil, malformed("the key authorization is not [authorization, signature]")
	}
	fields, err := splitItems(parts[0].body, 9)
	if err != nil {
		return nil, err
	}
	if len(fields) < 3 {
		return nil, malformed("the key authorization has %d fields", len(fields))
	}
	auth, err := readKeyFields(fields)
	if err != nil {
		return nil, err
	}
	signer, err := readPrimitive(crypto.Keccak256Hash(parts[0].whole), parts[1].body)
	if err != nil {
		return nil, malformed("key authorization: %v", err)
	}
	if signer.signer != account {
		return nil, malformed("the key authorization is not signed by the account")
	}
	return auth, nil
}

func readKeyFields(fields []item) (*keyAuthorization, error) {
	r := &itemReader{items: fields}
	kind, key := r.integer64(1), r.address(2)
	auth := &keyAuthorization{chainID: r.integer64(0), kind: keyKind(kind), expiry: math.MaxUint64}
	if len(fields) > 3 {
		if expiry := r.integer64(3); expiry != 0 {
			auth.expiry = expiry
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	if kind > uint64(webAuthnKey) || key == nil || *key == (common.Address{}) {
		return nil, malformed("the key authorization names no key")
	}
	auth.key = *key
	if len(fields) > 4 && (fields[4].list || len(fields[4].body) > 0) {
		limits, err := readLimits(r.list(4, maxKeyLimits))
		if err != nil || r.err != nil {
			return nil, malformed("the limits of the key authorization cannot be read")
		}
		auth.limits = limits
	}
	// 5 calls, 6 witness, 7 isAdmin, 8 account. A witness restricts nothing.
	for at := 5; at < len(fields); at++ {
		if at != 6 && (fields[at].list || len(fields[at].body) > 0) {
			return nil, malformed("call scopes and administrators of access keys are not simulated")
		}
	}
	return auth, nil
}

func readLimits(items []item) (map[common.Address]uint256.Int, error) {
	out := make(map[common.Address]uint256.Int, len(items))
	for _, it := range items {
		pair, err := splitItems(it.body, 3)
		if err != nil {
			return nil, err
		}
		if !it.list || len(pair) != 2 {
			return nil, malformed("a limit is not [token, amount]; periods are not simulated")
		}
		r := &itemReader{items: pair}
		token, amount := r.address(0), r.integer(1)
		if r.err != nil || token == nil {
			return nil, malformed("a limit is not [token, amount]")
		}
		out[*token] = amount
	}
	return out, nil
}
