package zoo

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"
)

// genesis is the state of the first block while it is built.
type genesis struct {
	tb      testing.TB
	state   *state.StateDB
	touched map[common.Address]map[common.Hash]bool
}

func newGenesis(tb testing.TB) *genesis {
	tb.Helper()
	db, err := state.New(types.EmptyRootHash, state.NewDatabaseForTesting())
	if err != nil {
		tb.Fatalf("make state: %v", err)
	}
	g := &genesis{tb: tb, state: db, touched: map[common.Address]map[common.Hash]bool{}}
	for addr, a := range core.SystemContractAllocs() {
		g.place(addr, a.Code)
		g.state.SetNonce(addr, a.Nonce, tracing.NonceChangeUnspecified)
	}
	return g
}

// place puts code at an address as it is.
func (g *genesis) place(addr common.Address, code []byte) {
	g.touch(addr)
	g.state.CreateAccount(addr)
	g.state.SetNonce(addr, 1, tracing.NonceChangeNewContract)
	g.state.SetCode(addr, code, tracing.CodeChangeUnspecified)
}

// fund gives an account this many whole coins.
func (g *genesis) fund(addr common.Address, coins uint64) {
	g.touch(addr)
	wei := new(uint256.Int).Mul(uint256.NewInt(coins), uint256.NewInt(params.Ether))
	g.state.AddBalance(addr, wei, tracing.BalanceIncreaseGenesisBalance)
}

// construct runs a constructor at the address where the contract is to stand: what it
// returns becomes the code, and storage and contracts that it makes stay. So immutables
// and addresses of children come out as they would had it been deployed there.
func (g *genesis) construct(addr, deployer common.Address, a *artefact, args ...any) contract {
	g.tb.Helper()
	g.place(addr, a.creation(g.tb, args...))
	code := g.run(deployer, addr, nil)
	g.state.SetCode(addr, code, tracing.CodeChangeUnspecified)
	return contract{addr, a.abi}
}

// run is one call in the state of the first block.
func (g *genesis) run(from, to common.Address, input []byte) []byte {
	g.tb.Helper()
	config := chainConfig()
	rules := config.Rules(big.NewInt(1), true, startTime)
	block := vm.BlockContext{
		CanTransfer: core.CanTransfer, Transfer: core.Transfer, GetHash: func(uint64) common.Hash { return common.Hash{} },
		Coinbase: proposer, BlockNumber: big.NewInt(1), Time: startTime, Difficulty: new(big.Int), GasLimit: math.MaxUint64,
		BaseFee: big.NewInt(params.InitialBaseFee), BlobBaseFee: big.NewInt(1), Random: &common.Hash{},
	}
	watched := state.NewHookedState(g.state, &tracing.Hooks{
		OnStorageChange: func(addr common.Address, slot, _, _ common.Hash) { g.touch(addr)[slot] = true },
		OnCodeChange:    func(addr common.Address, _ common.Hash, _ []byte, _ common.Hash, _ []byte) { g.touch(addr) },
		OnNonceChange:   func(addr common.Address, _, _ uint64) { g.touch(addr) },
		OnBalanceChange: func(addr common.Address, _, _ *big.Int, _ tracing.BalanceChangeReason) { g.touch(addr) },
	})
	evm := vm.NewEVM(block, watched, config, vm.Config{})
	evm.SetTxContext(vm.TxContext{Origin: from, GasPrice: uint256.NewInt(params.GWei)})
	g.state.Prepare(rules, from, proposer, &to, vm.ActivePrecompiles(rules), nil)
	const gas = 100_000_000
	out, _, err := evm.Call(from, to, input, vm.NewGasBudget(gas, 0), new(uint256.Int))
	if err != nil {
		g.tb.Fatalf("run constructor at %s: %v: %#x", to, err, out)
	}
	g.state.Finalise(rules)
	return out
}

func (g *genesis) touch(addr common.Address) map[common.Hash]bool {
	slots := g.touched[addr]
	if slots == nil {
		slots = map[common.Hash]bool{}
		g.touched[addr] = slots
	}
	return slots
}

// alloc is the state as a node takes it.
func (g *genesis) alloc() types.GenesisAlloc {
	made := types.GenesisAlloc{}
	for addr, slots := range g.touched {
		a := types.Account{
			Code: g.state.GetCode(addr), Nonce: g.state.GetNonce(addr), Balance: g.state.GetBalance(addr).ToBig(),
			Storage: map[common.Hash]common.Hash{},
		}
		for slot := range slots {
			if v := g.state.GetState(addr, slot); v != (common.Hash{}) {
				a.Storage[slot] = v
			}
		}
		if len(a.Code) > 0 || a.Nonce > 0 || a.Balance.Sign() > 0 {
			made[addr] = a
		}
	}
	return made
}

// mustHex is for addresses and hashes in tables.
func mustHex(s string) []byte {
	b := common.FromHex(s)
	if len(b) == 0 {
		panic(fmt.Sprintf("no hex: %q", s))
	}
	return b
}
