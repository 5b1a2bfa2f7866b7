package replay

import (
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"

	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"
)

// Every chain that is replayed without a configuration of go-ethereum has its forks in the
// table, in order, each with where it was published; no other chain is there.
func TestForkTable(t *testing.T) {
	var want, got []uint64
	for _, ch := range chain.All() {
		if ch.ID != 1 && ch.Stack.Unreplayable() == "" {
			want = append(want, ch.ID)
		}
	}
	for id, rows := range forksOf() {
		got = append(got, id)
		last, before := -1, uint64(0)
		for _, f := range rows {
			if !strings.Contains(f.source, "/") || !strings.Contains(f.source, " ") && !strings.HasPrefix(f.source, "https://") {
				t.Errorf("chain %d, %s: source %q", id, f.name, f.source)
			}
			i := slices.Index(ruleForks, f.name)
			if i < 0 || f.never {
				continue
			}
			if i != last+1 || f.time < before || f.time > 1<<32 {
				t.Errorf("chain %d: %s at %d after fork %d at %d", id, f.name, f.time, last, before)
			}
			last, before = i, f.time
		}
		if !slices.ContainsFunc(rows, func(f fork) bool { return f.name == "prague" }) {
			t.Errorf("chain %d has no row for Prague", id)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("table of %v, replayed are %v", got, want)
	}
}

func TestReadForks(t *testing.T) {
	f := func(table, want string) {
		t.Helper()
		_, err := readForks(table)
		if got := ""; err != nil {
			got = err.Error()
			if want == "" || !strings.Contains(got, want) {
				t.Errorf("%q: error %q, want %q", table, got, want)
			}
		} else if want != "" {
			t.Errorf("%q: no error, want %q", table, want)
		}
	}
	f("# a comment\n\n5\tprague\t7\ta/b c\n5\tosaka\t-\ta/b c", "")
	f("5\tprague\t7\n", "line 1: 3 columns")
	f("#\n5\tprague\t7\ta\tb\n", "line 2: 5 columns")
	f("5\t\t7\ta\n", "line 1: no name")
	f("5\tprague\t7\t\n", "no source")
	f("x\tprague\t7\ta\n", "line 1: strconv")
	f("5\tprague\tsoon\ta\n", "line 1: strconv")
	f("5\tprague\t-1\ta\n", "line 1: strconv")
	f("5\tprague\t7\ta\n5\tprague\t8\tb\n", "line 2: prague of chain 5 stands twice")
}

// A published time decides at its very second, whatever the header leaves out; a block that
// shows more than its schedule allows is read as it stands.
func TestLevel(t *testing.T) {
	f := func(id, time uint64, seen, want level, published bool) {
		t.Helper()
		blk := &ethrpc.Block{Timestamp: time, Withdrawals: -1}
		var txs []*ethrpc.Transaction
		switch seen {
		case prague:
			txs = append(txs, &ethrpc.Transaction{Type: types.LegacyTxType}, &ethrpc.Transaction{Type: types.SetCodeTxType})
			fallthrough
		case cancun:
			blk.ExcessBlobGas = new(uint64)
			fallthrough
		case shanghai:
			blk.Withdrawals = 0
		}
		if got, ok := levelOf(id, blk, txs); got != want || ok != published {
			t.Errorf("chain %d at %d showing %d: level %d, published %v; want %d, %v", id, time, seen, got, ok, want, published)
		}
	}
	forks := func(id uint64, times ...uint64) { // of Shanghai and so on
		t.Helper()
		for i, at := range times {
			now := level(i + 1)
			for int(now) < len(times) && times[now] == at {
				now++
			}
			f(id, at, london, now, true)
			if at > 0 && (i == 0 || times[i-1] < at) {
				f(id, at-1, london, level(i), true)
			}
		}
		f(id, 1<<33, london, level(len(times)), true)
	}
	forks(100, 1690889660, 1710181820, 1746021820, 1776168380)
	forks(999, 0, 0)
	forks(1514, 0, 0, 1751934608)
	forks(43114, 1709740800, 1734368400)
	forks(59144, 1761213600, 1761645600, 1761646200, 1764798551)
	forks(80094, 0, 0, 1749056400, 1783526400)
	forks(167000, 0, 1786021200, 1786021200, 1786021200)

	f(100, 1776168380, cancun, osaka, true)
	f(100, 1776168380, prague, osaka, true)
	f(43114, 1790000000, cancun, cancun, true) // Prague of mainnet is not Avalanche's
	f(999, 1790000000, cancun, cancun, true)
	f(43114, 1709740799, shanghai, shanghai, false)
	f(43114, 1709740800, cancun, cancun, false)
	f(999, 1790000000, prague, prague, false)
	f(43114, 1700000000, prague, prague, false)
	f(59144, 1761646199, prague, prague, false)

	// A chain without rows.
	pectra := *params.MainnetChainConfig.PragueTime
	f(5, pectra, london, london, false)
	f(5, pectra, shanghai, shanghai, false)
	f(5, pectra-1, cancun, cancun, false)
	f(5, pectra, cancun, prague, false)
	f(5, 1, prague, prague, false)
	blk := &ethrpc.Block{Timestamp: pectra, Withdrawals: -1, ParentBeaconRoot: &common.Hash{}}
	if l, _ := levelOf(5, blk, nil); l != prague {
		t.Errorf("with a beacon root only: level %d", l)
	}
	blk.ParentBeaconRoot = nil
	if l, _ := levelOf(5, blk, []*ethrpc.Transaction{{Type: types.SetCodeTxType}}); l != london {
		t.Errorf("with an authorization only: level %d", l)
	}
}

// runAt runs a made call in a block of a chain at a time.
func runAt(t *testing.T, id, at uint64, change func(*ethrpc.Block, *ethrpc.Transaction), code ...byte) (*Result, error) {
	t.Helper()
	ch, ok := chain.ByID(id)
	if !ok {
		t.Fatalf("no chain %d", id)
	}
	blk, tx, st := made(code...)
	blk.Timestamp, blk.Number, blk.Difficulty = at, 25_000_000, new(big.Int)
	if change != nil {
		change(blk, tx)
	}
	return Run(t.Context(), ch, blk, tx, nil, st, trace.Limits{})
}

// CLZ (EIP-7939) is an instruction from Osaka on and an invalid one before.
func TestCountLeadingZeros(t *testing.T) {
	f := func(id, at, status uint64) {
		t.Helper()
		// return CLZ(1)
		res, err := runAt(t, id, at, nil, byte(vm.PUSH1), 1, byte(vm.CLZ), byte(vm.PUSH1), 0, byte(vm.MSTORE), byte(vm.PUSH1), 32, byte(vm.PUSH1), 0, byte(vm.RETURN))
		if err != nil {
			t.Errorf("chain %d at %d: %v", id, at, err)
			return
		}
		if res.Status != status || status == 1 && (len(res.Tree.Root.Output) != 32 || res.Tree.Root.Output[31] != 255) ||
			status == 0 && !strings.Contains(res.Tree.Root.Err, "invalid opcode") {
			t.Errorf("chain %d at %d: status %d, output %x, error %q", id, at, res.Status, res.Tree.Root.Output, res.Tree.Root.Err)
		}
		if res.Approximate != (id != 1) || id != 1 && (len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "published schedule")) {
			t.Errorf("chain %d at %d: approximate %v, notes %q", id, at, res.Approximate, res.Notes)
		}
	}
	f(1, 1764798550, 0)
	f(1, 1764798551, 1)
	f(100, 1776168379, 0)
	f(100, 1776168380, 1)
	f(59144, 1764798551, 1)
	f(80094, 1783526399, 0)
	f(80094, 1783526400, 1)
	f(167000, 1786021199, 0)
	f(167000, 1786021200, 1)
	f(43114, 1790000000, 0)
	f(999, 1790000000, 0)
	f(1514, 1790000000, 0)
}

// A transaction may ask for 2^24 gas and no more from Osaka on (EIP-7825).
func TestTransactionGasCap(t *testing.T) {
	f := func(id, at, gas uint64, ok bool) {
		t.Helper()
		_, err := runAt(t, id, at, func(_ *ethrpc.Block, tx *ethrpc.Transaction) { tx.Gas = gas }, byte(vm.STOP))
		if (err == nil) != ok {
			t.Errorf("chain %d at %d, %d gas: %v", id, at, gas, err)
		}
	}
	f(1, 1764798550, 1<<24+1, true)
	f(1, 1764798551, 1<<24+1, false)
	f(1, 1764798551, 1<<24, true)
	f(100, 1776168379, 1<<24+1, true)
	f(100, 1776168380, 1<<24+1, false)
	f(59144, 1764798551, 1<<24, true)
	f(59144, 1764798551, 1<<24+1, false)
	f(43114, 1790000000, 1<<24+1, true)
}

// Between Durango and Etna Avalanche had PUSH0, though its headers never have withdrawals; the
// floor price of calldata (EIP-7623) came to mainnet and to Gnosis, but not to it.
func TestForksThatHeadersDoNotShow(t *testing.T) {
	f := func(id, at, status, gas uint64, code byte) {
		t.Helper()
		res, err := runAt(t, id, at, func(blk *ethrpc.Block, tx *ethrpc.Transaction) {
			tx.Input = make([]byte, 100)
			if at > 1734368400 {
				blk.ExcessBlobGas = new(uint64)
			}
		}, code, byte(vm.STOP))
		if err != nil || res.Status != status || gas != 0 && res.GasUsed != gas {
			t.Errorf("chain %d at %d: result %+v, error %v", id, at, res, err)
		}
	}
	const plain, floor = 21000 + 400 + 1, 21000 + 1000
	f(43114, 1709740799, 0, 0, byte(vm.PUSH0))
	f(43114, 1709740800, 1, 0, byte(vm.PUSH0))
	f(43114, 1790000000, 1, plain, byte(vm.JUMPDEST))
	f(999, 1790000000, 1, plain, byte(vm.JUMPDEST))
	f(100, 1746021819, 1, plain, byte(vm.JUMPDEST))
	f(100, 1746021820, 1, floor, byte(vm.JUMPDEST))
	f(1514, 1751934607, 1, plain, byte(vm.JUMPDEST)) // after Prague of mainnet
	f(1514, 1751934608, 1, floor, byte(vm.JUMPDEST))
}

// A forkCheck names a chain whose newest fork may be older than a year, with the reason.
type forkCheck struct {
	until  time.Time
	reason string
}

// quiet has the chains for which no fork later than those of the table was found published
// when it was last looked for, and the day by which somebody has to look again.
var quiet = map[uint64]forkCheck{
	999:   {time.Date(2027, 11, 26, 0, 0, 0, 0, time.UTC), "all its forks are active since genesis; its documentation names none after Cancun"},
	1514:  {time.Date(2027, 11, 26, 0, 0, 0, 0, time.UTC), "story-geth has scheduled nothing after Prague for its mainnet"},
	59144: {time.Date(2027, 11, 26, 0, 0, 0, 0, time.UTC), "Amsterdam is prepared (lineth-monorepo issue 3930) and has no time"},
}

// stale returns what is wrong with the forks of a chain at the time of its head.
func stale(id uint64, head time.Time) string {
	last := lastFork(id)
	if head.Sub(last) <= 366*24*time.Hour {
		return ""
	}
	if q, ok := quiet[id]; ok && head.Before(q.until) && q.reason != "" {
		return ""
	}
	return "its last known fork was at " + last.UTC().Format(time.DateOnly) +
		": look for a later one in the chain's node software and add its time and source to forks.tsv (Ethereum: update go-ethereum);" +
		" where there is none, say so in quiet with the day of the search and a year more"
}

// lastFork is when the newest fork of a chain was, or will be.
func lastFork(id uint64) time.Time {
	var last uint64
	if id == 1 {
		c := params.MainnetChainConfig
		for _, at := range []*uint64{c.ShanghaiTime, c.CancunTime, c.PragueTime, c.OsakaTime, c.BPO1Time, c.BPO2Time, c.BPO3Time, c.BPO4Time, c.BPO5Time, c.AmsterdamTime, c.BogotaTime} {
			if at != nil {
				last = max(last, *at)
			}
		}
	}
	for _, f := range forksOf()[id] {
		last = max(last, f.time)
	}
	return time.Unix(int64(last), 0)
}

// heads has the newest blocks of the recorded transactions, in Unix seconds.
var heads = map[uint64]int64{1: 1785822875, 100: 1785777775, 999: 1783573784}

// No recorded block is later than the last known fork of its chain by more than a year.
func TestForksOfRecordedHeads(t *testing.T) {
	for id, at := range heads {
		if s := stale(id, time.Unix(at, 0)); s != "" {
			t.Errorf("chain %d: %s", id, s)
		}
	}
	for _, id := range []uint64{1, 100, 43114} {
		last := lastFork(id)
		if s := stale(id, last.AddDate(0, 0, 300)); s != "" {
			t.Errorf("chain %d after 300 days: %s", id, s)
		}
		if s := stale(id, last.AddDate(0, 0, 367)); !strings.Contains(s, last.UTC().Format(time.DateOnly)) {
			t.Errorf("chain %d after 367 days: %q", id, s)
		}
	}
	for id, q := range quiet {
		if stale(id, q.until.AddDate(0, 0, -1)) != "" || stale(id, q.until) == "" {
			t.Errorf("chain %d: the exemption does not end at %s", id, q.until)
		}
	}
}

// The heads of today. This test fails as time goes by, with what to do about it.
func TestForksOfToday(t *testing.T) {
	now := time.Now()
	for id := range forksOf() {
		if s := stale(id, now); s != "" {
			t.Errorf("chain %d: %s", id, s)
		}
	}
	if s := stale(1, now); s != "" {
		t.Errorf("chain 1: %s", s)
	}
}
