package replay

import (
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/misc/eip4844"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"

	"txlens/engine/chain"
	"txlens/engine/ethrpc"
)

// environment is shared by all transactions of a block.
type environment struct {
	config      *params.ChainConfig
	block       *ethrpc.Block
	approximate bool // the chain may differ from Ethereum in more than its forks
	guessed     bool // the forks were read off the header
	merged      bool // post-merge rules; DIFFICULTY is PREVRANDAO
	blobFee     *big.Int
}

// newEnvironment selects the rules for blk and checks that the header has the fields they
// need.
func newEnvironment(ch *chain.Chain, blk *ethrpc.Block, txs []*ethrpc.Transaction, opt Options) (*environment, error) {
	env := &environment{block: blk, merged: blk.Difficulty == nil || blk.Difficulty.Sign() == 0}
	switch {
	case opt.Config != nil:
		env.config = opt.Config
	case ch == nil:
		return nil, fmt.Errorf("%w: no chain given", ErrUnsupported)
	case ch.ID == 1:
		env.config = params.MainnetChainConfig
	default:
		if err := env.guess(ch, txs); err != nil {
			return nil, err
		}
	}
	if env.config.IsLondon(env.number()) && blk.BaseFee == nil {
		return nil, fmt.Errorf("read header: block %d has no base fee", blk.Number)
	}
	for _, tx := range txs {
		if tx.Type > types.SetCodeTxType {
			return nil, fmt.Errorf("%w: transaction %s has type 0x%x", ErrUnsupported, tx.Hash, tx.Type)
		}
		if tx.Gas > blk.GasLimit {
			return nil, fmt.Errorf("read transaction %s: gas %d above the block's limit %d", tx.Hash, tx.Gas, blk.GasLimit)
		}
	}
	return env, env.setBlobFee()
}

// guess derives the rules of a chain that go-ethereum has no configuration for: from its
// published forks or, where they are unknown, from the header, in which a field that a fork
// added shows that the fork is active. Both are approximate: what a chain changed beside
// the forks, such as precompiles of its own, is not known here.
func (env *environment) guess(ch *chain.Chain, txs []*ethrpc.Transaction) error {
	reason := ch.Stack.Unreplayable()
	if reason == "" && env.block.BaseFee == nil {
		reason = "the header does not tell which rules were in force"
	}
	if reason != "" {
		return fmt.Errorf("%w on %s: %s", ErrUnsupported, ch.Name, reason)
	}
	env.approximate = true
	l, published := levelOf(ch.ID, env.block, txs)
	env.guessed = !published
	env.config = configOf(ch.ID, l)
	env.merged = env.merged || env.config.ShanghaiTime != nil
	return nil
}

// configOf has the forks that are active in a block, and no other.
func configOf(id uint64, l level) *params.ChainConfig {
	cfg := *params.AllDevChainProtocolChanges
	cfg.ChainID = new(big.Int).SetUint64(id)
	active := func(f level) *uint64 {
		if l < f {
			return nil
		}
		return new(uint64)
	}
	cfg.ShanghaiTime, cfg.CancunTime = active(shanghai), active(cancun)
	cfg.PragueTime, cfg.OsakaTime = active(prague), active(osaka)
	cfg.AmsterdamTime, cfg.BogotaTime = nil, nil
	return &cfg
}

func (env *environment) number() *big.Int { return new(big.Int).SetUint64(env.block.Number) }

func (env *environment) rules() params.Rules {
	return env.config.Rules(env.number(), env.merged, env.block.Timestamp)
}

// setBlobFee derives the blob base fee (EIP-4844) from the header. The formula is
// exponential in a number that the node sends, so what would exceed 256 bits is
// refused before it is computed: e^178 > 2^256.
func (env *environment) setBlobFee() error {
	blk := env.block
	if blk.ExcessBlobGas == nil || eip4844.MaxBlobsPerBlock(env.config, blk.Timestamp) == 0 {
		return nil
	}
	// With the largest update fraction of all forks; a smaller one makes a few
	// thousand bits of it, which is harmless.
	if limit := 178 * params.DefaultBPO3BlobConfig.UpdateFraction; *blk.ExcessBlobGas > limit {
		return fmt.Errorf("read header: excess blob gas %d is out of range", *blk.ExcessBlobGas)
	}
	header := &types.Header{Number: env.number(), Time: blk.Timestamp, ExcessBlobGas: blk.ExcessBlobGas}
	env.blobFee = eip4844.CalcBlobFee(env.config, header)
	return nil
}

// blockContext returns the values of the block opcodes.
func (env *environment) blockContext(v *view) vm.BlockContext {
	blk := env.block
	ctx := vm.BlockContext{
		CanTransfer:      core.CanTransfer,
		Transfer:         core.Transfer,
		GetHash:          v.blockHash,
		Coinbase:         blk.Miner,
		BlockNumber:      env.number(),
		Time:             blk.Timestamp,
		Difficulty:       new(big.Int),
		GasLimit:         blk.GasLimit,
		BlobBaseFee:      env.blobFee,
		CostPerStateByte: params.CostPerStateByte,
	}
	if blk.Difficulty != nil {
		ctx.Difficulty.Set(blk.Difficulty)
	}
	if env.config.IsLondon(ctx.BlockNumber) {
		ctx.BaseFee = new(big.Int).Set(blk.BaseFee)
	}
	if env.merged {
		mix := blk.MixHash
		ctx.Random = &mix
	}
	return ctx
}

// daoFork reports whether this block starts with the irregular state change of EIP-779.
func (env *environment) daoFork() bool {
	fork := env.config.DAOForkBlock
	return env.config.DAOForkSupport && fork != nil && fork.Cmp(env.number()) == 0
}

// daoAccounts returns the accounts whose balance that change moves.
func daoAccounts() []common.Address {
	return append(params.DAODrainList(), params.DAORefundContract)
}
