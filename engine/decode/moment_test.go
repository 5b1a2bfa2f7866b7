package decode

import (
	"context"
	"slices"
	"strings"
	"testing"

	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/statediff"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// Addresses of the scenes below: a proxy, two implementations, two beacons.
var (
	proxyAt  = common.HexToAddress("0xaa00000000000000000000000000000000000001")
	oldImpl  = common.HexToAddress("0xbb00000000000000000000000000000000000002")
	newImpl  = common.HexToAddress("0xcc00000000000000000000000000000000000003")
	beacon1  = common.HexToAddress("0xb100000000000000000000000000000000000004")
	beacon2  = common.HexToAddress("0xb200000000000000000000000000000000000005")
	ordinary = "6080604052600080fd"
)

// held is a world in which a contract holds one slot.
func held(code string, slot common.Hash, to common.Address) *state {
	return &state{code: map[common.Address]string{proxyAt: code, oldImpl: ordinary, newImpl: ordinary},
		slots: map[common.Address]map[common.Hash]common.Address{proxyAt: {slot: to}}}
}

// answers is a world in which contracts answer implementation().
func (s *state) answers(at, with common.Address) *state {
	if s.calls == nil {
		s.calls = map[common.Address]map[string]common.Address{}
	}
	s.calls[at] = map[string]common.Address{"5c60da1b": with}
	return s
}

// changed is a state diff of one slot.
func changed(at common.Address, slot common.Hash, before, after common.Address) *ethrpc.StateDiff {
	side := func(v common.Address) map[common.Address]*ethrpc.Account {
		if v == (common.Address{}) {
			return map[common.Address]*ethrpc.Account{at: {}}
		}
		return map[common.Address]*ethrpc.Account{at: {Storage: map[common.Hash]common.Hash{slot: common.BytesToHash(v[:])}}}
	}
	return &ethrpc.StateDiff{Pre: side(before), Post: side(after)}
}

// ranThrough is a tree in which the proxy ran these implementations in turn.
func ranThrough(impl ...common.Address) *trace.Tree {
	root := &trace.Frame{Kind: trace.Call, To: beacon2, HasTo: true}
	for i, to := range impl {
		in := []byte{1, 2, 3, byte(i)}
		f := &trace.Frame{Kind: trace.Call, From: beacon2, To: proxyAt, HasTo: true, Input: in}
		f.Children = []*trace.Frame{{Kind: trace.DelegateCall, From: proxyAt, To: to, HasTo: true, Input: in}}
		root.Children = append(root.Children, f)
	}
	t := &trace.Tree{Source: trace.SourceDebug, Root: root}
	t.Finish()
	return t
}

// TestImplementationAsOfTheTransaction: what stood there when it began, and what it made of it.
func TestImplementationAsOfTheTransaction(t *testing.T) {
	none := common.Address{}
	f := func(name string, m TxState, kind string, before, after common.Address, doubt bool) {
		t.Helper()
		p, err := Implementation(context.Background(), m, proxyAt)
		if err != nil || p == nil {
			t.Errorf("%s: %+v, %v", name, p, err)
			return
		}
		var up common.Address
		if p.Upgraded != nil {
			up = *p.Upgraded
		}
		if p.Kind != kind || p.Behind[0] != before || up != after || (p.Doubt != "") != doubt {
			t.Errorf("%s: %s %v, then %s (%s); want %s %s, then %s", name, p.Kind, p.Behind, up, p.Doubt, kind, before, after)
		}
	}
	code := proxyCode("7f" + statediff.Implementation.Hex()[2:])
	was, is := held(code, statediff.Implementation, oldImpl), held(code, statediff.Implementation, newImpl)
	upgraded := &ethrpc.Receipt{Logs: []ethrpc.Log{{Address: proxyAt, Topics: []common.Hash{evmsig.TopicUpgraded, common.BytesToHash(newImpl[:])}}}}
	nothing := &ethrpc.StateDiff{}

	f("unchanged", TxState{Before: was, After: was}, kind1967, oldImpl, none, false)
	f("changed by it", TxState{Before: was, After: is, Diff: changed(proxyAt, statediff.Implementation, oldImpl, newImpl)}, kind1967, oldImpl, newImpl, false)
	f("set by it", TxState{Before: held("", statediff.Implementation, none), After: is, Diff: changed(proxyAt, statediff.Implementation, none, newImpl)}, kind1967, newImpl, none, false)
	f("changed by another", TxState{Before: was, After: is, Diff: nothing}, kind1967, oldImpl, none, true)
	f("changed, no diff, announced", TxState{Before: was, After: is, Receipt: upgraded}, kind1967, oldImpl, newImpl, false)
	f("changed, no diff, silent", TxState{Before: was, After: is}, kind1967, oldImpl, none, true)
	f("made in this block", TxState{Before: held("", statediff.Implementation, none), After: is}, kind1967, newImpl, none, false)
	f("only the end of the block", TxState{After: is}, kind1967, newImpl, none, false)

	f("frames: old", TxState{After: is, Tree: ranThrough(oldImpl)}, kind1967, oldImpl, none, false)
	f("frames: both, with diff", TxState{After: is, Tree: ranThrough(oldImpl, newImpl), Diff: changed(proxyAt, statediff.Implementation, oldImpl, newImpl)}, kind1967, oldImpl, newImpl, false)
	f("frames: the new one alone", TxState{After: is, Tree: ranThrough(newImpl), Diff: changed(proxyAt, statediff.Implementation, oldImpl, newImpl)}, kind1967, oldImpl, newImpl, false)
	f("frames: both, announced", TxState{After: is, Tree: ranThrough(oldImpl, newImpl), Receipt: upgraded}, kind1967, oldImpl, newImpl, false)

	// Beacons.
	code = proxyCode()
	b1 := held(code, statediff.Beacon, beacon1).answers(beacon1, oldImpl)
	b1new := held(code, statediff.Beacon, beacon1).answers(beacon1, newImpl)
	b2 := held(code, statediff.Beacon, beacon2).answers(beacon2, newImpl)
	f("beacon", TxState{Before: b1, After: b1}, kindBeacon, oldImpl, none, false)
	f("beacon upgraded", TxState{Before: b1, After: b1new, Diff: changed(beacon1, common.Hash{31: 1}, oldImpl, newImpl)}, kindBeacon, oldImpl, newImpl, false)
	f("beacon upgraded by another", TxState{Before: b1, After: b1new, Diff: nothing}, kindBeacon, oldImpl, none, true)
	both := held(code, statediff.Beacon, beacon2).answers(beacon2, newImpl)
	both.calls[beacon1] = map[string]common.Address{"5c60da1b": oldImpl}
	f("beacon exchanged", TxState{Before: both, After: both, Diff: changed(proxyAt, statediff.Beacon, beacon1, beacon2)}, kindBeacon, oldImpl, newImpl, false)
	f("beacon in the frames", TxState{After: held(proxyCode("7f"+statediff.Beacon.Hex()[2:]), statediff.Beacon, beacon1), Tree: ranThrough(oldImpl, newImpl)}, kindBeacon, oldImpl, newImpl, false)
	f("beacon of ERC-7760", TxState{Before: b2, After: held(common.Bytes2Hex(proxyPatterns[17].fill(none)), statediff.Beacon, beacon2).answers(beacon2, newImpl)}, kind7760b, newImpl, none, false)

	// The other places.
	f("getter", TxState{Before: held(proxyCode("63aaf10f42"), common.Hash{}, none), After: withGetter("aaf10f42", newImpl)}, "getter", newImpl, none, false)
	f("comptroller", TxState{After: withGetter("bb82aa5e", newImpl)}, "getter", newImpl, none, false)
	f("ERC-7760", TxState{After: held(common.Bytes2Hex(proxyPatterns[15].fill(none))+"0102", statediff.Implementation, newImpl)}, kind7760, newImpl, none, false)
	f("Sequence", TxState{After: held(common.Bytes2Hex(proxyPatterns[19].fill(none)), common.BytesToHash(proxyAt[:]), newImpl)}, kindSequence, newImpl, none, false)
	f("Safe", TxState{Before: held(proxyCode("7fa619486e"+strings.Repeat("00", 28)), common.Hash{}, oldImpl), After: held(proxyCode("7fa619486e"+strings.Repeat("00", 28)), common.Hash{}, newImpl),
		Diff: changed(proxyAt, common.Hash{}, oldImpl, newImpl)}, "safe", oldImpl, newImpl, false)

	// EIP-7702: the list is applied before anything runs.
	set := &ethrpc.StateDiff{Pre: map[common.Address]*ethrpc.Account{proxyAt: {}}, Post: map[common.Address]*ethrpc.Account{proxyAt: {Code: common.FromHex("ef0100" + common.Bytes2Hex(newImpl[:]))}}}
	f("delegated by it", TxState{After: held("", common.Hash{}, none), Diff: set}, kindDelegated, newImpl, none, false)
	f("gone at the block's end", TxState{Before: held("ef0100"+common.Bytes2Hex(oldImpl[:]), common.Hash{}, none), After: held("", common.Hash{}, none)}, kindDelegated, oldImpl, none, false)
}

func withGetter(selector string, to common.Address) *state {
	s := held(proxyCode("63"+selector), common.Hash{}, common.Address{})
	s.calls = map[common.Address]map[string]common.Address{proxyAt: {selector: to}}
	return s
}

// TestUpgrades: the standard slots of a diff, contracts in order; what is no address is none.
func TestUpgrades(t *testing.T) {
	d := changed(proxyAt, statediff.Implementation, oldImpl, newImpl)
	d.Pre[beacon1] = &ethrpc.Account{Storage: map[common.Hash]common.Hash{statediff.Admin: common.BytesToHash(oldImpl[:])}}
	d.Post[beacon2] = &ethrpc.Account{Storage: map[common.Hash]common.Hash{statediff.Beacon: common.BytesToHash(newImpl[:]), statediff.Proxiable: {1}}}
	want := []Upgrade{{proxyAt, kind1967, oldImpl, newImpl}, {beacon1, kindAdmin, oldImpl, common.Address{}}, {beacon2, kindBeacon, common.Address{}, newImpl}}
	if got := Upgrades(d); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Upgrades(nil); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}
