package sandbox

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"
)

// token is a TIP-20 stablecoin.
type token struct {
	name, symbol string
	decimals     uint8
}

const tokenDecimals = 6

var (
	transferEvent = crypto.Keccak256Hash([]byte("Transfer(address,address,uint256)"))
	approvalEvent = crypto.Keccak256Hash([]byte("Approval(address,address,uint256)"))

	errInvalidRecipient = reverting("InvalidRecipient()")
	errPolicyForbids    = reverting("PolicyForbids()")
	errInvalidToken     = reverting("InvalidToken()")
	errAllowance        = reverting("InsufficientAllowance()")
	errSpendingLimit    = reverting("SpendingLimitExceeded()")
)

// What a token's transfer policy (TIP-403) forbids an account.
const (
	forbidSending   = 1
	forbidReceiving = 2
)

var tokenFunctions = bySelector(map[string]function{
	"transfer(address,uint256)":             {30_000, tokenTransfer},
	"transferFrom(address,address,uint256)": {35_000, tokenTransferFrom},
	"approve(address,uint256)":              {25_000, tokenApprove},
	"balanceOf(address)": {2_100, view(func(m *machine, self common.Address, a *arguments) uint256.Int {
		return m.balance(self, a.address())
	})},
	"allowance(address,address)": {2_100, view(func(m *machine, self common.Address, a *arguments) uint256.Int {
		return m.get(allowanceCell(self, a.address(), a.address()))
	})},
	"totalSupply()": {2_100, view(func(m *machine, self common.Address, _ *arguments) uint256.Int {
		return m.get(cell{space: supplySpace, owner: self})
	})},
	"decimals()": {100, view(func(m *machine, self common.Address, _ *arguments) uint256.Int {
		return *uint256.NewInt(uint64(m.tokens[self].decimals))
	})},
	"paused()":   {100, constant(0)},
	"name()":     {100, text(func(t *token) string { return t.name })},
	"symbol()":   {100, text(func(t *token) string { return t.symbol })},
	"currency()": {100, text(func(*token) string { return "USD" })},
})

// view makes a function that returns one word.
func view(
	read func(m *machine, self common.Address, a *arguments) uint256.Int,
) func(*machine, common.Address, common.Address, *arguments) ([]byte, error) {
	return func(m *machine, _, self common.Address, a *arguments) ([]byte, error) {
		v := read(m, self, a)
		if a.bad {
			return nil, errCalldata
		}
		return wordsOf(wordOf(v)), nil
	}
}

func constant(v uint64) func(*machine, common.Address, common.Address, *arguments) ([]byte, error) {
	return view(func(*machine, common.Address, *arguments) uint256.Int { return *uint256.NewInt(v) })
}

func text(read func(*token) string) func(*machine, common.Address, common.Address, *arguments) ([]byte, error) {
	return func(m *machine, _, self common.Address, _ *arguments) ([]byte, error) {
		return returnString(read(m.tokens[self])), nil
	}
}

func balanceCell(token, holder common.Address) cell {
	return cell{balanceSpace, token, addressKey(holder)}
}

func allowanceCell(token, holder, spender common.Address) cell {
	return cell{allowanceSpace, token, pairKey(holder, spender)}
}

func (m *machine) balance(token, holder common.Address) uint256.Int {
	return m.get(balanceCell(token, holder))
}

// forbids reports whether the token's policy forbids an account what is asked.
func (m *machine) forbids(token, account common.Address, what uint64) bool {
	policy := m.get(cell{policySpace, token, addressKey(account)})
	return policy.Uint64()&what != 0
}

// admits reports whether an account may receive a token from a sender: by the token's policy,
// and by its own (TIP-1028).
func (m *machine) admits(token, sender, account common.Address) bool {
	for _, from := range []common.Address{sender, {}} {
		if v := m.get(cell{receiveSpace, account, addressKey(from)}); !v.IsZero() {
			return false
		}
	}
	return !m.forbids(token, account, forbidReceiving)
}

// transfer moves tokens as a transfer by a holder does: recipients are checked and
// both sides must be allowed.
func (m *machine) transfer(token, from, to common.Address, amount uint256.Int) error {
	target, err := m.resolve(to)
	if err != nil {
		return err
	}
	if m.forbids(token, from, forbidSending) || m.forbids(token, target, forbidReceiving) {
		return errPolicyForbids
	}
	return m.deliver(token, from, to, amount)
}

// deliver is transfer without a look at policies.
func (m *machine) deliver(token, from, to common.Address, amount uint256.Int) error {
	if to == (common.Address{}) || isToken(to) {
		return errInvalidRecipient
	}
	target, err := m.resolve(to)
	if err != nil {
		return err
	}
	if err := m.move(token, from, target, amount); err != nil {
		return err
	}
	m.emit(token, transferEvent, []common.Hash{addressKey(from), addressKey(to)}, wordOf(amount))
	if target != to {
		m.emit(token, transferEvent, []common.Hash{addressKey(to), addressKey(target)}, wordOf(amount))
	}
	return nil
}

// move changes two balances and nothing else.
func (m *machine) move(token, from, to common.Address, amount uint256.Int) error {
	have := m.balance(token, from)
	if have.Lt(&amount) {
		return reverting("InsufficientBalance(uint256,uint256,address)", wordOf(have), wordOf(amount), addressKey(token))
	}
	m.set(balanceCell(token, from), *have.Sub(&have, &amount))
	got := m.balance(token, to) // after the debit: from and to may be one
	m.set(balanceCell(token, to), *got.Add(&got, &amount))
	return nil
}

// spend counts an amount against the limit of the access key that signed for the
// account, if one did and has limits.
func (m *machine) spend(account, token common.Address, amount uint256.Int) error {
	at, limited := m.limit(account, token)
	if !limited {
		return nil
	}
	left := m.get(at)
	if left.Lt(&amount) {
		return errSpendingLimit
	}
	m.set(at, *left.Sub(&left, &amount))
	return nil
}

// unspend takes a part of spend back.
func (m *machine) unspend(account, token common.Address, amount uint256.Int) {
	if at, limited := m.limit(account, token); limited {
		left := m.get(at)
		m.set(at, *left.Add(&left, &amount))
	}
}

// limit is where the limit of the signing access key stands, if one signed for the
// account and has limits.
func (m *machine) limit(account, token common.Address) (at cell, limited bool) {
	if m.signer == nil || m.signer.account != account {
		return at, false
	}
	key := m.signer.key
	return limitCell(account, key, token), unpackKey(m.get(keyCell(account, key))).limited
}

func tokenTransfer(m *machine, from, self common.Address, a *arguments) ([]byte, error) {
	to, amount := a.address(), a.uint(256)
	if a.bad {
		return nil, errCalldata
	}
	if err := m.spend(from, self, amount); err != nil {
		return nil, err
	}
	return wordsOf(wordOfBool(true)), m.transfer(self, from, to, amount)
}

func tokenTransferFrom(m *machine, from, self common.Address, a *arguments) ([]byte, error) {
	holder, to, amount := a.address(), a.address(), a.uint(256)
	if a.bad {
		return nil, errCalldata
	}
	if err := m.useAllowance(self, holder, from, amount); err != nil {
		return nil, err
	}
	return wordsOf(wordOfBool(true)), m.transfer(self, holder, to, amount)
}

// useAllowance lowers an allowance; the largest of all never runs out.
func (m *machine) useAllowance(token, holder, spender common.Address, amount uint256.Int) error {
	at := allowanceCell(token, holder, spender)
	allowed := m.get(at)
	if allowed.Lt(&amount) {
		return errAllowance
	}
	if allowed != *new(uint256.Int).SetAllOne() {
		m.set(at, *allowed.Sub(&allowed, &amount))
	}
	return nil
}

func tokenApprove(m *machine, from, self common.Address, a *arguments) ([]byte, error) {
	spender, amount := a.address(), a.uint(256)
	if a.bad {
		return nil, errCalldata
	}
	at := allowanceCell(self, from, spender)
	if had := m.get(at); amount.Gt(&had) { // an access key spends when it lets others spend
		if err := m.spend(from, self, *new(uint256.Int).Sub(&amount, &had)); err != nil {
			return nil, err
		}
	}
	m.set(at, amount)
	m.emit(self, approvalEvent, []common.Hash{addressKey(from), addressKey(spender)}, wordOf(amount))
	return wordsOf(wordOfBool(true)), nil
}

// mint makes tokens out of nothing; the supply knows.
func (m *machine) mint(token, to common.Address, amount uint256.Int) error {
	supply := m.get(cell{space: supplySpace, owner: token})
	if _, over := supply.AddOverflow(&supply, &amount); over || supply.BitLen() > 128 {
		return reverting("SupplyCapExceeded()")
	}
	m.set(cell{space: supplySpace, owner: token}, supply)
	got := m.balance(token, to)
	m.set(balanceCell(token, to), *got.Add(&got, &amount))
	m.emit(token, transferEvent, []common.Hash{{}, addressKey(to)}, wordOf(amount))
	return nil
}
