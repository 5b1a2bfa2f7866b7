package gethdata

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/math"
	"github.com/ethereum/go-ethereum/consensus/misc/eip4844"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"txlens/engine/ethrpc"
)

// Folders of the test data whose results are a callTracer trace.
const (
	CallTracer        = "call_tracer"
	CallTracerWithLog = "call_tracer_withLog"
)

// Cases that the demo is made of.
const (
	TokenTransfer  = "call_tracer_withLog/simple.json"          // mainnet 765825, one ERC-20 transfer
	MultiContracts = "call_tracer_withLog/multi_contracts.json" // mainnet 1881284, 162 frames
	FailedTx       = "call_tracer_withLog/tx_failed.json"       // mainnet 1968180, invalid jump at the top
	Delegated7702  = "prestate_tracer/7702_delegate.json"       // mainnet 22763678, EIP-7702
)

// Case is one recorded transaction.
type Case struct {
	Name         string // folder and file
	Config       *params.ChainConfig
	Block        *ethrpc.Block
	Tx           *ethrpc.Transaction
	Tracer       string          // of the recorded result
	TracerConfig json.RawMessage // as recorded, may be nil
	Result       json.RawMessage // as recorded

	raw    *types.Transaction
	header *types.Header
	merged bool
	alloc  types.GenesisAlloc
}

// file is one file of the test data.
type file struct {
	Genesis      *core.Genesis   `json:"genesis"`
	Context      blockContext    `json:"context"`
	Input        string          `json:"input"`
	TracerConfig json.RawMessage `json:"tracerConfig"`
	Result       json.RawMessage `json:"result"`
}

type blockContext struct {
	Number     math.HexOrDecimal64   `json:"number"`
	Difficulty *math.HexOrDecimal256 `json:"difficulty"`
	Time       math.HexOrDecimal64   `json:"timestamp"`
	GasLimit   math.HexOrDecimal64   `json:"gasLimit"`
	Miner      common.Address        `json:"miner"`
	BaseFee    *math.HexOrDecimal256 `json:"baseFeePerGas"`
}

// Dir returns the folder of the test data in the module cache.
func Dir() (string, error) { return dir() }

var dir = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/ethereum/go-ethereum").Output()
	if err != nil {
		return "", fmt.Errorf("find go-ethereum: %w", err)
	}
	module := strings.TrimSpace(string(out))
	if module == "" {
		return "", errors.New("find go-ethereum: the module is not downloaded")
	}
	dir := filepath.Join(module, "eth", "tracers", "internal", "tracetest", "testdata")
	if _, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("find tracer test data: %w", err)
	}
	return dir, nil
})

// Open reads one case by its name, as in "call_tracer/create.json".
func Open(name string) (*Case, error) {
	dir, err := Dir()
	if err != nil {
		return nil, err
	}
	blob, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		return nil, fmt.Errorf("read case: %w", err)
	}
	c, err := parse(name, blob)
	if err != nil {
		return nil, fmt.Errorf("parse case %s: %w", name, err)
	}
	return c, nil
}

// Names lists the cases in the given folders.
func Names(folders ...string) ([]string, error) {
	dir, err := Dir()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range folders {
		paths, err := filepath.Glob(filepath.Join(dir, f, "*.json"))
		if err != nil {
			return nil, fmt.Errorf("list cases: %w", err)
		}
		for _, p := range paths {
			names = append(names, f+"/"+filepath.Base(p))
		}
	}
	sort.Strings(names)
	return names, nil
}

// Cases reads all cases of the given folders, or skips the test where the module's
// source is not at hand. It fails instead when TXLENS_REQUIRE_FIXTURES is set.
func Cases(tb testing.TB, folders ...string) []*Case {
	tb.Helper()
	names, err := Names(folders...)
	if err != nil {
		missing(tb, err)
	}
	out := make([]*Case, len(names))
	for i, n := range names {
		if out[i], err = Open(n); err != nil {
			tb.Fatal(err)
		}
	}
	return out
}

// Get is Open for tests.
func Get(tb testing.TB, name string) *Case {
	tb.Helper()
	if _, err := Dir(); err != nil {
		missing(tb, err)
	}
	c, err := Open(name)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func missing(tb testing.TB, err error) {
	tb.Helper()
	if os.Getenv("TXLENS_REQUIRE_FIXTURES") != "" {
		tb.Fatalf("go-ethereum's tracer test data is required here and absent: %v", err)
	}
	tb.Skipf("no tracer test data of go-ethereum: %v", err)
}

func parse(name string, blob []byte) (*Case, error) {
	var f file
	if err := json.Unmarshal(blob, &f); err != nil {
		return nil, err
	}
	var parent struct {
		Genesis struct{ Hash common.Hash }
	}
	if err := json.Unmarshal(blob, &parent); err != nil {
		return nil, err
	}
	c := &Case{
		Name:         name,
		Config:       f.Genesis.Config,
		TracerConfig: f.TracerConfig,
		Result:       f.Result,
		raw:          new(types.Transaction),
		alloc:        f.Genesis.Alloc,
	}
	if err := c.raw.UnmarshalBinary(common.FromHex(f.Input)); err != nil {
		return nil, fmt.Errorf("read transaction: %w", err)
	}
	switch folder, _, _ := strings.Cut(name, "/"); {
	case strings.HasPrefix(folder, "call_tracer_flat"):
		c.Tracer = "flatCallTracer"
	case strings.HasPrefix(folder, "call_tracer"):
		c.Tracer = "callTracer"
	case strings.HasPrefix(folder, "prestate_tracer"):
		c.Tracer = "prestateTracer"
	}
	c.setHeader(&f, parent.Genesis.Hash)
	return c, c.setTransaction()
}

// setHeader follows go-ethereum's own reading of the files: what the block's
// context leaves out is taken from the parent.
func (c *Case) setHeader(f *file, parent common.Hash) {
	g, cfg := f.Genesis, c.Config
	h := &types.Header{
		ParentHash: parent,
		Number:     new(big.Int).SetUint64(uint64(f.Context.Number)),
		Time:       uint64(f.Context.Time),
		GasLimit:   uint64(f.Context.GasLimit),
		Coinbase:   f.Context.Miner,
		Difficulty: new(big.Int),
		UncleHash:  types.EmptyUncleHash,
	}
	if d := (*big.Int)(f.Context.Difficulty); d != nil {
		h.Difficulty.Set(d)
	}
	if cfg.IsLondon(h.Number) {
		h.BaseFee = (*big.Int)(f.Context.BaseFee)
	}
	if ttd := cfg.TerminalTotalDifficulty; ttd != nil && ttd.Sign() == 0 {
		c.merged = true
		h.MixDigest = g.Mixhash
	}
	if g.ExcessBlobGas != nil && g.BlobGasUsed != nil {
		at := &types.Header{Number: cfg.LondonBlock, Time: *cfg.CancunTime}
		excess := eip4844.CalcExcessBlobGas(cfg, at, g.Timestamp)
		h.ExcessBlobGas = &excess
	}
	c.header = h
}

// Mainnet reports whether the case ran on mainnet under mainnet's rules. The
// configuration recorded with a case may name chain 1 and be made up.
func (c *Case) Mainnet() bool {
	h := c.header
	mainnet := params.MainnetChainConfig.Rules(h.Number, c.merged, h.Time)
	own := c.Config.Rules(h.Number, c.merged, h.Time)
	return c.Config.ChainID.Cmp(params.MainnetChainConfig.ChainID) == 0 && mainnet == own
}

// Hash is the transaction's hash.
func (c *Case) Hash() common.Hash { return c.raw.Hash() }
