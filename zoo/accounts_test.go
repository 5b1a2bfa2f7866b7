package zoo

import (
	"math/big"

	"txlens/engine/api"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

// addrEntryPoint is where version 0.7 stands on every chain.
var addrEntryPoint = common.HexToAddress("0x0000000071727De22E5E9d8BAf0edAc6f37da032")

var entryPoint contract

func placeEntryPoint(g *genesis) {
	entryPoint = g.construct(addrEntryPoint, who("deployer").addr, published(g.tb, "@account-abstraction/contracts/artifacts/EntryPoint.json"))
}

var accountSpecimens = []specimen{
	{
		name: "ERC-4337: one operation that pays somebody",
		script: func(w *world) common.Hash {
			a := newSmartAccount(w, "alice", "account")
			return w.bundle(a.operation(w, a.run(w, who("bob").addr, ether("2"), nil)))
		},
		want: truth{
			txType: api.TypeTransfer, actor: "account", moves: []string{"bob +2 ETH"}, says: []string{"Sent 2 ETH"},
		},
	},
	{
		name: "ERC-4337: an operation that makes its account",
		script: func(w *world) common.Hash {
			a := plannedAccount(w, "alice", "account")
			w.transfer(who("alice"), a.addr, ether("5"))
			op := a.operation(w, a.run(w, who("bob").addr, ether("2"), nil))
			op.InitCode = append(a.factory.addr.Bytes(), a.factory.pack(w.tb, "createAccount", who("alice").addr, new(big.Int))...)
			a.sign(w, &op)
			return w.bundle(op)
		},
		want: truth{
			txType: api.TypeDeployment, subType: "account", actor: "account", moves: []string{"bob +2 ETH"}, says: []string{"2 ETH"},
		},
	},
	{
		name: "ERC-4337: of a bundle of two one operation fails",
		script: func(w *world) common.Hash {
			a, b := newSmartAccount(w, "alice", "account"), newSmartAccount(w, "carol", "other")
			w.call(who("deployer"), canon.usdc, "mint", a.addr, usd("300"))
			good := a.operation(w, a.run(w, addrUSDC, new(big.Int), canon.usdc.pack(w.tb, "transfer", who("bob").addr, usd("300"))))
			bad := b.operation(w, b.run(w, addrUSDC, new(big.Int), canon.usdc.pack(w.tb, "transfer", who("dave").addr, usd("50"))))
			return w.bundle(good, bad)
		},
		want: truth{
			txType: api.TypeTransfer, actor: "account",
			moves: []string{"bob +300 USDC", "dave"}, says: []string{"Ran 2 user operations, 1 of which failed", "sent 300 USDC"}, flags: []string{"caught_inner_failure", "inner_failure"},
		},
	},
	{
		name: "EIP-7702: an account runs a batch of its own",
		script: func(w *world) common.Hash {
			code := batchCode(w)
			w.call(who("deployer"), canon.usdc, "mint", who("alice").addr, usd("80"))
			batch := code.pack(w.tb, "execute", []batchCall{
				{who("bob").addr, ether("1"), []byte{}},
				{addrUSDC, new(big.Int), canon.usdc.pack(w.tb, "transfer", who("carol").addr, usd("80"))},
			})
			auth := w.authorize(who("alice"), code.addr, true)
			return w.delegating(who("alice"), batch, auth)
		},
		want: truth{
			txType: api.TypeTransfer, actor: "alice",
			moves: []string{"alice -1 ETH -80 USDC", "bob +1 ETH", "carol +80 USDC"}, flags: []string{"account_delegation"},
		},
	},
	{
		name: "EIP-7702: an authorization alone, brought by a relayer",
		script: func(w *world) common.Hash {
			code := batchCode(w)
			auth := w.authorize(who("alice"), code.addr, false)
			return w.delegating(who("relayer"), nil, auth)
		},
		want: truth{txType: api.TypeOther, subType: "delegation", flags: []string{"account_delegation"}, says: []string{"Applied"}},
	},
	{
		name: "EIP-7702: an authorization with a used nonce is skipped",
		script: func(w *world) common.Hash {
			auth, err := types.SignSetCode(who("alice").key, types.SetCodeAuthorization{
				ChainID: *unsigned(big.NewInt(1)), Address: batchCode(w).addr, Nonce: w.nonce(who("alice")),
			})
			if err != nil {
				w.tb.Fatal(err)
			}
			w.transfer(who("alice"), who("bob").addr, ether("1"))
			return w.delegating(who("relayer"), nil, auth)
		},
		want: truth{txType: api.TypeOther, subType: "delegation", says: []string{"not applied"}},
	},
}

// smartAccount is a SimpleAccount that its owner's operations run.
type smartAccount struct {
	contract
	owner   account
	factory contract
}

// plannedAccount is one that does not stand yet.
func plannedAccount(w *world, owner, name string) smartAccount {
	w.tb.Helper()
	const folder = "@account-abstraction/contracts/artifacts/"
	factory := w.deploy(who("deployer"), published(w.tb, folder+"SimpleAccountFactory.json"), addrEntryPoint)
	addr := one[common.Address](w, factory, "getAddress", who(owner).addr, new(big.Int))
	w.name(name, addr)
	return smartAccount{contract{addr, published(w.tb, folder+"SimpleAccount.json").abi}, who(owner), factory}
}

// newSmartAccount is one with five coins.
func newSmartAccount(w *world, owner, name string) smartAccount {
	w.tb.Helper()
	a := plannedAccount(w, owner, name)
	w.call(who("bundler"), a.factory, "createAccount", a.owner.addr, new(big.Int))
	w.transfer(a.owner, a.addr, ether("5"))
	return a
}

// run is the calldata with which an account calls somebody.
func (a smartAccount) run(w *world, to common.Address, value *big.Int, data []byte) []byte {
	w.tb.Helper()
	if data == nil {
		data = []byte{}
	}
	return a.pack(w.tb, "execute", to, value, data)
}

// packedOperation is a user operation as version 0.7 has it.
type packedOperation struct {
	Sender             common.Address
	Nonce              *big.Int
	InitCode, CallData []byte
	AccountGasLimits   [32]byte // for validation, for the call: 16 bytes each
	PreVerificationGas *big.Int
	GasFees            [32]byte // tip, cap
	PaymasterAndData   []byte
	Signature          []byte
}

func (a smartAccount) operation(w *world, calldata []byte) packedOperation {
	w.tb.Helper()
	halves := func(high, low int64) (out [32]byte) {
		copy(out[:16], word(big.NewInt(high))[16:])
		copy(out[16:], word(big.NewInt(low))[16:])
		return out
	}
	op := packedOperation{
		Sender: a.addr, Nonce: new(big.Int), InitCode: []byte{}, CallData: calldata, AccountGasLimits: halves(600_000, 300_000),
		PreVerificationGas: big.NewInt(50_000), GasFees: halves(1e9, 5e10), PaymasterAndData: []byte{},
	}
	a.sign(w, &op)
	return op
}

func (a smartAccount) sign(w *world, op *packedOperation) {
	w.tb.Helper()
	op.Signature = []byte{}
	digest := one[[32]byte](w, entryPoint, "getUserOpHash", *op)
	op.Signature = a.owner.sign(crypto.Keccak256([]byte("\x19Ethereum Signed Message:\n32"), digest[:]))
}

// bundle has a bundler run operations.
func (w *world) bundle(ops ...packedOperation) common.Hash {
	w.tb.Helper()
	return w.call(who("bundler"), entryPoint, "handleOps", ops, who("bundler").addr)
}

// batchCall is one call of a BatchDelegate.
type batchCall struct {
	To    common.Address
	Value *big.Int
	Data  []byte
}

func batchCode(w *world) contract {
	w.tb.Helper()
	return w.deploy(who("deployer"), compiled(w.tb, "BatchDelegate"))
}

// delegating mines a transaction to alice that carries an authorization.
func (w *world) delegating(from account, data []byte, auth types.SetCodeAuthorization) common.Hash {
	w.tb.Helper()
	to := who("alice").addr
	return w.mine(tx{from: from, to: &to, data: data, auth: []types.SetCodeAuthorization{auth}})[0]
}
