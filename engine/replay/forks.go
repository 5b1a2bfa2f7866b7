package replay

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"txlens/engine/ethrpc"
)

//go:embed forks.tsv
var forkTable string

// fork is one row of the table: when a chain took a fork, as its developers published it.
type fork struct {
	chain  uint64
	name   string
	time   uint64
	never  bool // the chain's schedule ends before this fork
	source string
}

// ruleForks are the forks that change the rules, oldest first. Each includes those before it.
var ruleForks = []string{"shanghai", "cancun", "prague", "osaka"}

// forksOf has the rows of each chain.
var forksOf = sync.OnceValue(func() map[uint64][]fork {
	list, err := readForks(forkTable)
	if err != nil { // embedded by the build: a damaged table is a broken binary
		panic("replay: " + err.Error())
	}
	out := make(map[uint64][]fork)
	for _, f := range list {
		out[f.chain] = append(out[f.chain], f)
	}
	return out
})

// readForks reads rows of chain id, fork, time and source.
func readForks(table string) ([]fork, error) {
	var list []fork
	n := 0
	for line := range strings.Lines(table) {
		n++
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		f, err := readFork(line)
		if err != nil {
			return nil, fmt.Errorf("read forks: line %d: %w", n, err)
		}
		if slices.ContainsFunc(list, func(o fork) bool { return o.chain == f.chain && o.name == f.name }) {
			return nil, fmt.Errorf("read forks: line %d: %s of chain %d stands twice", n, f.name, f.chain)
		}
		list = append(list, f)
	}
	return list, nil
}

func readFork(line string) (fork, error) {
	cells := strings.Split(line, "\t")
	if len(cells) != 4 {
		return fork{}, fmt.Errorf("%d columns, want 4", len(cells))
	}
	f := fork{name: cells[1], never: cells[2] == "-", source: cells[3]}
	if f.name == "" || f.source == "" {
		return fork{}, fmt.Errorf("no name or no source")
	}
	var err error
	if f.chain, err = strconv.ParseUint(cells[0], 10, 64); err != nil {
		return fork{}, err
	}
	if f.never {
		return f, nil
	}
	f.time, err = strconv.ParseUint(cells[2], 10, 64)
	return f, err
}

// level counts the forks of ruleForks that are active in a block.
type level int

const (
	london level = iota
	shanghai
	cancun
	prague
	osaka
)

// scheduled returns what the table says of a block; ok is false for a chain without rows. A
// fork without a row is off.
func scheduled(id, time uint64) (l level, ok bool) {
	rows := forksOf()[id]
	for _, f := range rows {
		if !f.never && time >= f.time {
			l = max(l, level(slices.Index(ruleForks, f.name)+1))
		}
	}
	return l, len(rows) > 0
}

// shown returns the forks that the fields of a block and its transactions show. A transaction
// of Prague's type counts only beside the fields of Cancun: no chain has one without the other.
func shown(blk *ethrpc.Block, txs []*ethrpc.Transaction) level {
	switch {
	case blk.ExcessBlobGas != nil || blk.ParentBeaconRoot != nil:
		if slices.ContainsFunc(txs, func(tx *ethrpc.Transaction) bool { return tx.Type == types.SetCodeTxType }) {
			return prague
		}
		return cancun
	case blk.Withdrawals >= 0:
		return shanghai
	}
	return london
}

// levelOf returns the forks of a block. The published times decide, since Prague and Osaka add
// no field that is kept here and a chain may leave fields out. A block that shows more than its
// schedule allows proves the table wrong: then, and where the table knows nothing, the header
// decides, and Prague is taken for active since it was on mainnet. published is false there.
func levelOf(id uint64, blk *ethrpc.Block, txs []*ethrpc.Transaction) (l level, published bool) {
	seen := shown(blk, txs)
	if l, ok := scheduled(id, blk.Timestamp); ok && l >= seen {
		return l, true
	}
	if seen == cancun && blk.Timestamp >= *params.MainnetChainConfig.PragueTime {
		seen = prague
	}
	return seen, false
}
