package scene

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/facts"
	"txlens/engine/label"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"
)

// Mixed are made transactions of several acts at once: movements, rights, events, calls and failures
// in an order that the number of the transaction decides. They hold what no rule has a case of
// its own for: that much is told together, in which order, and up to which bound.
func Mixed(tb testing.TB, n int) (list []Made) {
	tb.Helper()
	for i := range n {
		m := &mixer{tb: tb, r: rand.New(rand.NewPCG(uint64(i), 28))}
		list = append(list, Made{Name: fmt.Sprint("mixed ", i), Scene: m.make()})
	}
	return list
}

// mixer makes one transaction.
type mixer struct {
	tb testing.TB
	r  *rand.Rand
	s  *Scene
	in *trace.Frame // that runs
}

// Accounts, contracts and tokens of the mixed transactions.
var (
	mixedAccounts  = []common.Address{User, User, Friend, Bot, Router, Pool1, Pool2, Vault, {}, Miner}
	mixedContracts = []common.Address{Router, Pool1, Pool2, Vault, Vault}
	mixedTokens    = []common.Address{Usdc, Usdc, Weth, Share, Addr(0x0da1)}
	mixedAmounts   = []int{0, 1, 2, 99, 5_000000, 5_000000, 7_250000, 999_999_999, 123_456_789_012, 1 << 60}
	mixedLabels    = []string{
		"router", "bridge", "staking", "lending", "dex", "cex", "nft", "token", "safe", "oracle", "system", label.Reported, label.Sanctioned,
	}
	mixedErrors  = []string{"execution reverted", "out of gas", "invalid opcode: INVALID", "stack underflow"}
	mixedSources = []trace.Source{
		trace.SourceReceipt, trace.SourceReplayQuick, trace.SourceExplorer, trace.SourceOtterscan, trace.SourceParity,
	}
)

func pick[T any](m *mixer, list []T) T { return list[m.r.IntN(len(list))] }

// once says yes in one of n cases.
func (m *mixer) once(n int) bool { return m.r.IntN(n) == 0 }

func (m *mixer) make() *Scene {
	to := pick(m, []common.Address{Router, Vault, Pool1, Usdc, Nft, Friend})
	value := pick(m, []int64{0, 0, 0, 1, 3000, 1_500_000_000_000_000_000})
	switch m.r.IntN(8) {
	case 0:
		m.s = New(&to, value, nil)
	case 1:
		m.s = New(nil, value, []byte{0x60, 0x80})
		m.s.Rc.ContractAddress = At(Addr(0xc0de))
		m.s.Root.To, m.s.Root.HasTo, m.s.Root.Output = Addr(0xc0de), true, make([]byte, 1234)
	case 2:
		m.s = New(&to, value, pick(m, [][]byte{[]byte("hello there"), []byte("x"), {1, 2, 3}, {0xde, 0xad, 0xbe, 0xef}}))
	default:
		m.s = New(&to, value, SampleCall(m.tb, m.function()).Input)
	}
	six := uint8(6)
	m.s.Tokens[Share] = label.Token{Address: Share, Symbol: "SHARE", Name: "Share of www.example.com", Decimals: &six}
	if m.once(6) {
		m.s.Tokens[Share] = label.Token{Address: Share, Symbol: "USDC", Decimals: &six, Lookalike: "USDC"}
	}
	for range m.r.IntN(3) {
		at := pick(m, mixedContracts)
		m.s.Known(at, "Place "+fmt.Sprint(at[1]), pick(m, mixedLabels), pick(m, []string{"", "aave_v3", "uniswap_v2", "across", "lido"}))
	}
	m.envelope()
	m.in = m.s.Root
	for range m.r.IntN(9) {
		m.step(0)
	}
	if m.once(7) {
		m.s.Fail(pick(m, mixedErrors))
		for _, f := range m.s.Root.Children {
			f.Logs = nil
		}
	}
	return m.s
}

func (m *mixer) envelope() {
	if m.once(5) {
		m.s.Source = pick(m, mixedSources)
	}
	if m.once(12) {
		m.s.Tx.BlobHashes = make([]common.Hash, 1+m.r.IntN(3))
	}
	if m.once(10) {
		m.s.Tx.Type = 4
		for i := range 1 + m.r.IntN(6) {
			m.s.Tx.Authorizations = append(m.s.Tx.Authorizations, ethrpc.Authorization{ChainID: big.NewInt(int64(m.r.IntN(2))),
				Address: pick(m, mixedAccounts), Nonce: uint64(i), R: big.NewInt(1), S: big.NewInt(1)})
		}
	}
}

// step adds one thing that happens in the frame that runs.
func (m *mixer) step(depth int) {
	from, to := pick(m, mixedAccounts), pick(m, mixedAccounts)
	switch m.r.IntN(14) {
	case 0, 1, 2, 3:
		m.transfer(pick(m, mixedTokens), from, to, pick(m, mixedAmounts))
	case 4:
		token, n := pick(m, mixedTokens), 1+m.r.IntN(6)
		for i := range n {
			m.transfer(token, from, Addr(uint16(0xe000+i)), pick(m, mixedAmounts[1:]))
		}
	case 5:
		m.items(from, to)
	case 6:
		m.right(from, to)
	case 7, 8, 9:
		m.event(pick(m, []common.Address{User, User, Friend, Bot}))
	default:
		m.call(depth)
	}
}

func (m *mixer) emit(l *ethrpc.Log) {
	x := *l
	x.Index = uint64(len(m.s.Rc.Logs))
	at := trace.Log{Address: x.Address, Topics: x.Topics, Data: x.Data, Calls: len(m.in.Children), Receipt: len(m.s.Rc.Logs)}
	m.in.Logs = append(m.in.Logs, at)
	m.s.Rc.Logs = append(m.s.Rc.Logs, x)
}

func (m *mixer) log(emitter common.Address, signature string, indexed []any, data ...any) {
	m.emit(&New(nil, 0, nil).Log(emitter, signature, indexed, data...).Rc.Logs[0])
}

func (m *mixer) transfer(token, from, to common.Address, n int) {
	m.log(token, "Transfer(address,address,uint256)", []any{from, to}, n)
}

// items moves NFTs or items of a collection.
func (m *mixer) items(from, to common.Address) {
	switch m.r.IntN(4) {
	case 0:
		m.log(Nft, "TransferSingle(address,address,address,uint256,uint256)", []any{from, from, to}, 3, 1+m.r.IntN(9))
	case 1:
		m.log(Nft, "ConsecutiveTransfer(uint256,uint256,address,address)", []any{3, from, to}, 3+m.r.IntN(9))
	default:
		for i := range 1 + m.r.IntN(5) {
			m.log(Nft, "Transfer(address,address,uint256)", []any{from, to, 7 + i})
		}
	}
}

// right gives or takes the right to spend tokens.
func (m *mixer) right(owner, spender common.Address) {
	switch m.r.IntN(4) {
	case 0:
		m.log(Nft, "ApprovalForAll(address,address,bool)", []any{owner, spender}, m.once(2))
	case 1:
		m.log(Nft, "Approval(address,address,uint256)", []any{owner, spender, 7})
	default:
		m.log(pick(m, mixedTokens), "Approval(address,address,uint256)", []any{owner, spender}, pick(m, []int{-1, 0, 5_000000}))
	}
}

// event emits an event that the registry knows.
func (m *mixer) event(reader common.Address) {
	list := rows().events
	e := nearest(list, m.r.Uint64(), func(e *facts.EventRule) string { return e.Signature })
	at := pick(m, mixedContracts)
	if e.Act == facts.ActWrap || e.Act == facts.ActUnwrap {
		at = Weth
	}
	m.emit(SampleLog(m.tb, e, at, reader).Log)
}

func (m *mixer) function() *facts.CallRule {
	return nearest(rows().calls, m.r.Uint64(), func(c *facts.CallRule) string { return c.Signature })
}

// call runs a frame, with more steps inside.
func (m *mixer) call(depth int) {
	up := m.in
	f := &trace.Frame{Kind: trace.Call, From: up.To, To: pick(m, mixedAccounts[1:8]), HasTo: true, Gas: 90000}
	switch m.r.IntN(8) {
	case 0, 1:
		f.Value = *uint256.NewInt(uint64(pick(m, mixedAmounts)))
	case 2:
		f.Kind, f.To, f.Output = trace.Create, Addr(uint16(0xc100+m.r.IntN(9))), make([]byte, 77)
	case 3:
		f.Kind = pick(m, []trace.Kind{trace.StaticCall, trace.DelegateCall, trace.CallCode})
		f.Input = SampleCall(m.tb, m.function()).Input
	case 4:
		f.To = pick(m, []common.Address{Usdc, Weth})
		f.Input = Input("transfer(address,uint256)", pick(m, mixedAccounts), 5)
		f.Output = Word(m.r.IntN(2)).Bytes()
	default:
		f.Input = SampleCall(m.tb, m.function()).Input
	}
	up.Children = append(up.Children, f)
	if m.once(5) {
		f.Err = pick(m, mixedErrors)
		return
	}
	if f.Kind == trace.StaticCall || depth == 2 {
		return
	}
	m.in = f
	for range m.r.IntN(3) {
		m.step(depth + 1)
	}
	m.in = up
}

// rows are the events and functions that the registry knows, in the order of their hashes.
var rows = sync.OnceValue(func() (all struct {
	events []*facts.EventRule
	calls  []*facts.CallRule
}) {
	for _, list := range facts.Tables().Events {
		all.events = append(all.events, list...)
	}
	for _, c := range facts.Tables().Calls {
		all.calls = append(all.calls, c)
	}
	slices.SortFunc(all.events, func(x, y *facts.EventRule) int {
		return cmp.Or(compareHashes(x.Signature, y.Signature), cmp.Compare(x.Indexed, y.Indexed))
	})
	slices.SortFunc(all.calls, func(x, y *facts.CallRule) int { return compareHashes(x.Signature, y.Signature) })
	return all
})

func compareHashes(x, y string) int {
	return bytes.Compare(crypto.Keccak256([]byte(x)), crypto.Keccak256([]byte(y)))
}

// nearest is the row whose hash comes next after a number. A row that is added changes the choice for
// few numbers.
func nearest[T any](list []T, n uint64, signature func(T) string) T {
	at, _ := slices.BinarySearchFunc(list, n, func(x T, n uint64) int {
		h := evmsig.Hash(signature(x))
		return cmp.Compare(binary.BigEndian.Uint64(h[:8]), n)
	})
	return list[at%len(list)]
}
