package zoo

import (
	"context"
	"fmt"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/eth/tracers"
	_ "github.com/ethereum/go-ethereum/eth/tracers/native" // callTracer, prestateTracer
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/miner"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/params"
)

// The first block is made at startTime, and each later one slot seconds after the
// one before: no clock has a say in what a transaction is.
const (
	startTime = 1_760_000_000
	slot      = 12
)

// proposer receives the fees of every block.
var proposer = common.HexToAddress("0x95222290DD7278Aa3Ddd389Cc1E1d165CC4BAfe5")

// chainConfig has every fork that Ethereum has, and its id.
func chainConfig() *params.ChainConfig {
	c := *params.AllDevChainProtocolChanges
	c.ChainID = big.NewInt(1)
	c.BogotaTime = nil
	return &c
}

// chainNode is a node without peers, whose blocks are made to order.
type chainNode struct {
	eth    *eth.Ethereum
	client *ethclient.Client // in process, for the scripts
	url    string            // for the program
}

func startNode(tb testing.TB, alloc types.GenesisAlloc) *chainNode {
	tb.Helper()
	stack, err := node.New(&node.Config{
		Name: "zoo", HTTPHost: "127.0.0.1", HTTPModules: []string{"eth", "net", "web3", "debug"},
		P2P: p2p.Config{NoDiscovery: true, NoDial: true, MaxPeers: 0},
	})
	if err != nil {
		tb.Fatalf("make node: %v", err)
	}
	tb.Cleanup(func() { stack.Close() })
	conf := ethconfig.Defaults
	conf.NetworkId = 1
	conf.SyncMode = ethconfig.FullSync
	conf.LogNoHistory = true
	conf.NoPruning = true
	// Under the path scheme a trace is refused once its block is 128 deep.
	conf.StateScheme = rawdb.HashScheme
	conf.Genesis = &core.Genesis{
		Config: chainConfig(), Timestamp: startTime, GasLimit: 60_000_000,
		BaseFee: big.NewInt(params.InitialBaseFee), Alloc: alloc,
	}
	backend, err := eth.New(stack, &conf)
	if err != nil {
		tb.Fatalf("make Ethereum: %v", err)
	}
	stack.RegisterAPIs(tracers.APIs(backend.APIBackend))
	if err := stack.Start(); err != nil {
		tb.Fatalf("start node: %v", err)
	}
	client := ethclient.NewClient(stack.Attach())
	tb.Cleanup(client.Close)
	return &chainNode{eth: backend, client: client, url: stack.HTTPEndpoint()}
}

// seal makes the block of exactly these transactions in this order upon parent, and
// makes it the head, whatever was the head before.
func (n *chainNode) seal(parent *types.Header, time uint64, txs []*types.Transaction) (*types.Block, error) {
	block, _, err := n.eth.Miner().BuildTestingPayload(&miner.BuildPayloadArgs{
		Parent: parent.Hash(), Timestamp: time, FeeRecipient: proposer,
		Random: common.BigToHash(parent.Number), BeaconRoot: &common.Hash{},
		Withdrawals: types.Withdrawals{},
	}, txs, false, nil)
	if err != nil {
		return nil, fmt.Errorf("build block: %w", err)
	}
	chain := n.eth.BlockChain()
	if _, err := chain.InsertBlockWithoutSetHead(context.Background(), block, false); err != nil {
		return nil, fmt.Errorf("insert block: %w", err)
	}
	if _, err := chain.SetCanonical(block); err != nil {
		return nil, fmt.Errorf("set head: %w", err)
	}
	return block, nil
}
