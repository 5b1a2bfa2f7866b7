package zoo

import (
	"math/big"
	"slices"

	"txlens/engine/api"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/math"
)

// Where Safe 1.4.1 stands on Ethereum.
var (
	addrSafe        = common.HexToAddress("0x41675C099F32341bf84BFc5382aF534df5C7461a")
	addrSafeFactory = common.HexToAddress("0x4e1DCf7AD4e460CfD30791CCC4F9c8a4f820ec67")
	addrMultiSend   = common.HexToAddress("0x38869bf66a61cF6bDB996A6aE40D5853Fd43B526")
)

var safes struct{ singleton, factory, multiSend contract }

func placeSafe(g *genesis) {
	at := func(addr common.Address, path string) contract {
		return g.construct(addr, who("deployer").addr, published(g.tb, "@safe-global/safe-contracts/build/artifacts/contracts/"+path))
	}
	safes.singleton = at(addrSafe, "Safe.sol/Safe.json")
	safes.factory = at(addrSafeFactory, "proxies/SafeProxyFactory.sol/SafeProxyFactory.json")
	safes.multiSend = at(addrMultiSend, "libraries/MultiSend.sol/MultiSend.json")
}

var safeSpecimens = []specimen{
	{
		name: "Safe: made by its factory",
		script: func(w *world) common.Hash {
			return w.call(who("alice"), safes.factory, "createProxyWithNonce", addrSafe, setUpOf(w), big.NewInt(1))
		},
		want: truth{txType: api.TypeDeployment, subType: "account", protocol: "safe"},
	},
	{
		name: "Safe: the owners pay somebody",
		script: func(w *world) common.Hash {
			s := newSafe(w)
			return s.exec(w, who("bob").addr, ether("3"), nil, 0)
		},
		want: truth{
			txType: api.TypeTransfer, protocol: "safe", actor: "safe",
			moves: []string{"safe -3 ETH", "bob +3 ETH", "relayer"},
		},
	},
	{
		name: "Safe: a batch of two payments",
		script: func(w *world) common.Hash {
			s := newSafe(w)
			w.call(who("deployer"), canon.usdc, "mint", s.addr, usd("900"))
			batch := append(packedCall(who("bob").addr, ether("1"), nil), packedCall(addrUSDC, new(big.Int), canon.usdc.pack(w.tb, "transfer", who("carol").addr, usd("250")))...)
			return s.exec(w, addrMultiSend, new(big.Int), safes.multiSend.pack(w.tb, "multiSend", batch), 1)
		},
		want: truth{
			txType: api.TypeTransfer, protocol: "safe", actor: "safe",
			moves: []string{"safe -1 ETH -250 USDC", "bob +1 ETH", "carol +250 USDC"},
		},
	},
	{
		name: "Safe: an owner is added and the threshold raised",
		script: func(w *world) common.Hash {
			s := newSafe(w)
			return s.exec(w, s.addr, new(big.Int), s.pack(w.tb, "addOwnerWithThreshold", who("dave").addr, big.NewInt(3)), 0)
		},
		want: truth{
			txType: api.TypeOther, subType: "admin", protocol: "safe", actor: "safe",
			flags: []string{"owner_added", "threshold_changed"},
		},
	},
	{
		name: "Safe: a module is enabled",
		script: func(w *world) common.Hash {
			s := newSafe(w)
			module := w.deploy(who("keeper"), compiled(w.tb, "AllowanceModule"))
			return s.exec(w, s.addr, new(big.Int), s.pack(w.tb, "enableModule", module.addr), 0)
		},
		want: truth{
			txType: api.TypeOther, subType: "admin", protocol: "safe", actor: "safe", flags: []string{"module_enabled"},
		},
	},
	{
		name: "Safe: a module pays",
		script: func(w *world) common.Hash {
			s := newSafe(w)
			module := w.deploy(who("keeper"), compiled(w.tb, "AllowanceModule"))
			s.exec(w, s.addr, new(big.Int), s.pack(w.tb, "enableModule", module.addr), 0)
			return w.call(who("keeper"), module, "spend", s.addr, who("bob").addr, ether("0.5"))
		},
		want: truth{
			txType: api.TypeTransfer, protocol: "safe", actor: "safe", moves: []string{"safe -0.5 ETH", "bob +0.5 ETH"},
		},
	},
	{
		name: "Safe: the call fails and the transaction does not",
		script: func(w *world) common.Hash {
			s := newSafe(w)
			s.gas = big.NewInt(200_000) // with gas of its own a failed call is only reported
			return s.exec(w, addrUSDC, new(big.Int), canon.usdc.pack(w.tb, "transfer", who("bob").addr, usd("1")), 0)
		},
		want: truth{
			txType: api.TypeTransfer, protocol: "safe", actor: "safe", attempted: true, moves: []string{"safe", "bob"},
			flags: []string{"caught_inner_failure", "inner_failure"},
		},
	},
}

// safe is one of three owners, two of whom must sign, with ten coins.
type safe struct {
	contract
	owners []account
	gas    *big.Int // safeTxGas
}

// setUpOf is the call that a new Safe begins with.
func setUpOf(w *world) []byte {
	w.tb.Helper()
	none := common.Address{}
	return safes.singleton.pack(w.tb, "setup", []common.Address{who("owner1").addr, who("owner2").addr, who("owner3").addr},
		big.NewInt(2), none, []byte{}, none, none, new(big.Int), none)
}

func newSafe(w *world) *safe {
	w.tb.Helper()
	hash := w.call(who("alice"), safes.factory, "createProxyWithNonce", addrSafe, setUpOf(w), big.NewInt(1))
	addr, ok := w.emitted(hash, safes.factory, "ProxyCreation")["proxy"].(common.Address)
	if !ok {
		w.tb.Fatal("the factory names no proxy")
	}
	w.name("safe", addr)
	w.transfer(who("alice"), addr, ether("10"))
	return &safe{contract{addr, safes.singleton.abi}, []account{who("owner1"), who("owner2")}, new(big.Int)}
}

// exec has a relayer bring what two owners signed.
func (s *safe) exec(w *world, to common.Address, value *big.Int, data []byte, operation uint8) common.Hash {
	w.tb.Helper()
	zero, none := new(big.Int), common.Address{}
	nonce := one[*big.Int](w, s.contract, "nonce")
	digest := one[[32]byte](w, s.contract, "getTransactionHash", to, value, data, operation, s.gas, zero, zero, none, none, nonce)
	// The contract wants signers in ascending order.
	signers := slices.Clone(s.owners)
	slices.SortFunc(signers, func(a, b account) int { return a.addr.Cmp(b.addr) })
	var signatures []byte
	for _, o := range signers {
		signatures = append(signatures, o.sign(digest[:])...)
	}
	return w.call(who("relayer"), s.contract, "execTransaction", to, value, data, operation, s.gas, zero, zero, none, none, signatures)
}

// packedCall is one call of a batch as multiSend reads it.
func packedCall(to common.Address, value *big.Int, data []byte) []byte {
	out := append([]byte{0}, to[:]...)
	out = append(out, math.U256Bytes(new(big.Int).Set(value))...)
	out = append(out, word(len(data))...)
	return append(out, data...)
}
