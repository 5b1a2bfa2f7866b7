package flow

import (
	"math/big"
	"testing"

	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/statediff"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// TestRecordedTransfersAgainstSlots holds every recorded ERC-20 transfer against the
// state diff of its transaction: no event is called fake, and the exceptions are known.
func TestRecordedTransfersAgainstSlots(t *testing.T) {
	count := map[LogStateMatch]int{}
	transfers, backed, answered := 0, 0, 0
	eachRecorded(t, func(r *recorded) {
		in := r.in
		in.Diff = r.diff
		f := Compute(in)
		outcome := map[common.Address]LogStateMatch{}
		for _, k := range f.Checks {
			count[k.Match]++
			outcome[k.Token] = k.Match
			if k.ByCalls {
				answered++
			}
			if k.Match != LogsMatch {
				t.Logf("%s: %s %s: %s by logs %s, by state %s", r.name, k.Token, k.Match, k.Holder, k.ByLogs, k.ByState)
			}
		}
		for _, x := range f.Transfers {
			if x.Standard == ERC20 {
				transfers++
				if outcome[x.Token] == LogsMatch {
					backed++
				}
			}
		}
	})
	t.Logf("%d of %d ERC-20 transfers are of tokens whose slots agree; tokens: %v, %d of them by balanceOf", backed, transfers, count, answered)
	if count[FakeEvent] != 0 || count[FeeOnTransfer] != 1 || count[LogsDiffer] != 2 || backed < 255 {
		t.Errorf("%d of %d, %v", backed, transfers, count)
	}
}

// moved is a state diff in which slots of the token changed.
func moved(changes map[common.Hash][2]*uint256.Int) *ethrpc.StateDiff {
	n := uint64(1)
	pre, post := &ethrpc.Account{Storage: map[common.Hash]common.Hash{}}, &ethrpc.Account{Storage: map[common.Hash]common.Hash{}}
	for slot, c := range changes {
		if !c[0].IsZero() {
			pre.Storage[slot] = c[0].Bytes32()
		}
		if !c[1].IsZero() {
			post.Storage[slot] = c[1].Bytes32()
		}
	}
	return &ethrpc.StateDiff{Pre: map[common.Address]*ethrpc.Account{token: pre},
		Post: map[common.Address]*ethrpc.Account{token: post, alice: {Nonce: &n}}}
}

func balances2(before, after uint64) [2]*uint256.Int {
	return [2]*uint256.Int{uint256.NewInt(before), uint256.NewInt(after)}
}

// TestBacking: what slots that are found where compilers put them say of the logs.
func TestBacking(t *testing.T) {
	sent := logOf(token, topics(evmsig.TopicTransfer, alice, bob), 5000)
	f := func(name string, diff *ethrpc.StateDiff, want LogStateMatch, holder common.Address, byState int64, logs ...ethrpc.Log) {
		t.Helper()
		in := withLogs(logs...)
		in.Diff = diff
		out := Compute(in)
		if want == "" {
			if len(out.Checks) != 0 {
				t.Errorf("%s: %+v", name, out.Checks)
			}
			return
		}
		if len(out.Checks) != 1 || len(out.Transfers) != len(logs) {
			t.Errorf("%s: %+v, %d transfers", name, out.Checks, len(out.Transfers))
			return
		}
		k := out.Checks[0]
		if k.Match != want || k.Holder != holder || k.ByState != nil && k.ByState.Cmp(big.NewInt(byState)) != 0 {
			t.Errorf("%s: %+v, want %s of %s by %d", name, k, want, holder, byState)
		}
	}
	at := func(l statediff.Layout, a, b [2]*uint256.Int) *ethrpc.StateDiff {
		return moved(map[common.Hash][2]*uint256.Int{l.Slot(statediff.Word(alice)): a, l.Slot(statediff.Word(bob)): b})
	}
	gives, gets, none := balances2(9000, 4000), balances2(0, 5000), common.Address{}
	third := statediff.Layout{Mapping: common.Hash{31: 3}}
	f("Solidity", at(third, gives, gets), LogsMatch, none, 0, sent)
	f("the sender gives all", at(third, balances2(5000, 0), gets), LogsMatch, none, 0, sent)
	f("Vyper", at(statediff.Layout{Mapping: common.Hash{31: 7}, Order: statediff.Vyper}, gives, gets), LogsMatch, none, 0, sent)
	f("ERC-7201", at(statediff.Layout{Mapping: statediff.Namespace("openzeppelin.storage.ERC20")}, gives, gets), LogsMatch, none, 0, sent)
	f("Solady", at(statediff.Layout{Order: statediff.Solady}, gives, gets), LogsMatch, none, 0, sent)
	flag := new(uint256.Int).Lsh(uint256.NewInt(1), 255)
	flagged := [2]*uint256.Int{new(uint256.Int).Or(flag, uint256.NewInt(9000)), new(uint256.Int).Or(flag, uint256.NewInt(4000))}
	f("a flag in the same slot", at(third, flagged, gets), LogsMatch, none, 0, sent)
	stamp := func(n, b uint64) *uint256.Int {
		v := uint256.NewInt(n)
		return v.Add(v.Lsh(v, 128), uint256.NewInt(b))
	}
	f("a time in the same slot", at(third, [2]*uint256.Int{stamp(1, 9000), stamp(2, 4000)}, [2]*uint256.Int{stamp(1, 0), stamp(2, 5000)}), LogsMatch, none, 0, sent)
	f("a fee of the receiver", at(third, gives, balances2(0, 4900)), FeeOnTransfer, bob, 4900, sent)
	f("a fee of the sender", at(third, balances2(9000, 3900), gets), FeeOnTransfer, alice, -5100, sent)
	f("shares", at(third, balances2(9000, 5000), balances2(0, 4001)), Rebasing, alice, -4000, sent)
	f("the receiver got more", at(third, gives, balances2(0, 5100)), LogsDiffer, bob, 5100, sent)
	f("the receiver got nothing", at(third, gives, balances2(7, 7)), LogsDiffer, bob, 0, sent)
	f("another mapping of the same holders", at(third, balances2(1, 2), balances2(8, 9)), "", none, 0, sent)
	f("slots that are nowhere", moved(map[common.Hash][2]*uint256.Int{{1}: balances2(1, 2)}), "", none, 0, sent)
	f("no diff", nil, "", none, 0, sent)
}

// TestFakeEvents: an event is fake only when nothing could bear it out.
func TestFakeEvents(t *testing.T) {
	sent := logOf(token, topics(evmsig.TopicTransfer, alice, bob), 5000)
	n := uint64(1)
	f := func(name string, want bool, change func(*Input)) {
		t.Helper()
		in := withLogs(sent)
		in.Diff = &ethrpc.StateDiff{Pre: map[common.Address]*ethrpc.Account{}, Post: map[common.Address]*ethrpc.Account{alice: {Nonce: &n}}}
		change(&in)
		out := Compute(in)
		kept := len(in.Receipt.Logs) == len(out.Transfers)
		if want {
			kept = len(out.Transfers) == 0 && len(out.Checks) == 1 && out.Checks[0].Match == FakeEvent
		}
		for _, c := range out.Changes {
			for _, d := range c.Deltas {
				kept = kept && !(want && d.Key.Token == token)
			}
		}
		if !kept || len(out.Fakes) > 0 != want {
			t.Errorf("%s: fakes %v, transfers %v, checks %+v", name, out.Fakes, out.Transfers, out.Checks)
		}
	}
	stored := func(a common.Address) func(*Input) {
		return func(in *Input) {
			in.Diff.Post[a] = &ethrpc.Account{Storage: map[common.Hash]common.Hash{{1}: {2}}}
		}
	}
	f("nothing was written", true, func(*Input) {})
	f("an NFT", true, func(in *Input) { in.Receipt.Logs[0] = logOf(token, topics(evmsig.TopicTransfer, alice, bob, 7)) })
	f("the token wrote something", false, stored(token))
	f("a ledger beside it", false, stored(common.Address{0x77}))
	f("a token that speaks for itself", true, func(in *Input) {
		stored(common.Address{0x77})(in)
		in.Receipt.Logs = append(in.Receipt.Logs, logOf(common.Address{0x77}, topics(common.Hash{9})))
	})
	f("back and forth", false, func(in *Input) {
		in.Receipt.Logs = append(in.Receipt.Logs, logOf(token, topics(evmsig.TopicTransfer, bob, alice), 5000))
	})
	f("nothing was said to move", false, func(in *Input) { in.Receipt.Logs[0] = logOf(token, topics(evmsig.TopicTransfer, alice, bob), 0) })
	f("no diff", false, func(in *Input) { in.Diff = nil })
	f("a diff of something else", false, func(in *Input) { delete(in.Diff.Post, alice) })
	f("no trace", false, func(in *Input) { in.Tree = trace.FromReceipt(in.Tx, in.Receipt, true) })
	f("coin came in", false, func(in *Input) { in.Tree = made(frame(trace.Call, alice, token, 3)).Tree })
	f("the token is gone", false, func(in *Input) { in.Diff.Pre[token] = &ethrpc.Account{Code: []byte{1}} })
	f("the chain's own contract", false, func(in *Input) { in.Receipt.Logs[0].Address = common.Address{18: 8, 19: 2} })
}

// TestRecordedTransfersAgainstAnswers: without a state diff the tokens' own answers bear
// the recorded transfers out, each of them.
func TestRecordedTransfersAgainstAnswers(t *testing.T) {
	tokens, holders := 0, 0
	eachRecorded(t, func(r *recorded) {
		for _, k := range Compute(r.in).Checks {
			tokens++
			holders += k.Holders
			if k.Match != LogsMatch || !k.ByCalls {
				t.Errorf("%s: %s %s: %s by logs %s, by its answers %s", r.name, k.Token, k.Match, k.Holder, k.ByLogs, k.ByState)
			}
		}
	})
	t.Logf("%d tokens, %d pairs of answers", tokens, holders)
	if tokens < 30 {
		t.Errorf("only %d tokens", tokens)
	}
}

// TestAnswers: what balanceOf said before and after a transfer.
func TestAnswers(t *testing.T) {
	sent := logOf(token, topics(evmsig.TopicTransfer, alice, bob), 5000)
	ask := func(who common.Address, n uint64) *trace.Frame {
		f := frame(trace.StaticCall, pool, token, 0)
		f.Input = append(append([]byte(nil), evmsig.SelBalanceOf[:]...), topicOf(who).Bytes()...)
		f.Output = word(n)
		return f
	}
	f := func(name string, want LogStateMatch, byState int64, before, after *trace.Frame, logs ...ethrpc.Log) {
		t.Helper()
		paid := frame(trace.Call, pool, token, 0)
		in := made(frame(trace.Call, alice, pool, 0, before, paid, after))
		for _, l := range logs {
			paid.Logs = append(paid.Logs, trace.Log{Address: l.Address, Topics: l.Topics, Data: l.Data})
		}
		in.Receipt.Logs, in.Tree.HasLogs = logs, true
		out := Compute(in)
		if want == "" {
			if len(out.Checks) != 0 {
				t.Errorf("%s: %+v", name, out.Checks)
			}
			return
		}
		if len(out.Checks) != 1 || out.Checks[0].Match != want || !out.Checks[0].ByCalls ||
			want != LogsMatch && (out.Checks[0].ByState.Cmp(big.NewInt(byState)) != 0 || out.Checks[0].Holder != bob) {
			t.Errorf("%s: %+v, want %s by %d", name, out.Checks, want, byState)
		}
	}
	f("all arrived", LogsMatch, 0, ask(bob, 7), ask(bob, 5007), sent)
	f("all left", LogsMatch, 0, ask(alice, 5000), ask(alice, 0), sent)
	f("rounded", LogsMatch, 0, ask(bob, 7), ask(bob, 5005), sent)
	f("less arrived", FeeOnTransfer, 4900, ask(bob, 7), ask(bob, 4907), sent)
	f("more arrived", LogsDiffer, 5100, ask(bob, 7), ask(bob, 5107), sent)
	f("nothing arrived", LogsDiffer, 0, ask(bob, 7), ask(bob, 7), sent)
	f("another was asked", "", 0, ask(carol, 7), ask(carol, 7), sent)
	f("the token did something else", "", 0, ask(bob, 7), ask(bob, 9), sent, logOf(token, topics(common.Hash{5})))
	f("an approval besides", LogsMatch, 0, ask(bob, 7), ask(bob, 5007), sent, logOf(token, topics(evmsig.TopicApproval, alice, pool), 3))
	failed := ask(bob, 9)
	failed.Err = "execution reverted"
	f("the answer failed", "", 0, ask(bob, 7), failed, sent)
}

// FuzzBacking: hostile logs, answers and slots make nothing fall over, neither here nor
// where trades are read, and what is fake is not in the ledger.
func FuzzBacking(f *testing.F) {
	f.Add(numbers(units(2000, 6), big.NewInt(0), big.NewInt(0), units(1, 18)), numbers(big.NewInt(7)), uint8(0), true)
	f.Add(numbers(units(2000, 6), units(-1, 18), units(5, 20), big.NewInt(1), big.NewInt(0), big.NewInt(3)), []byte{1}, uint8(4), false)
	f.Add([]byte{1, 2, 3}, []byte(nil), uint8(9), true)
	f.Fuzz(func(t *testing.T, data, answer []byte, kind uint8, wrote bool) {
		events := []common.Hash{evmsig.TopicSwapV2, evmsig.TopicSwapSolidly, evmsig.TopicSwapV3, evmsig.TopicSwapPancakeV3, evmsig.TopicSwapV4, evmsig.TopicSync, evmsig.TopicSyncSolidly, evmsig.TopicTransfer, evmsig.TopicDeposit, evmsig.TopicApproval}
		event := events[int(kind)%len(events)]
		in := withLogs(logOf(token, topics(evmsig.TopicTransfer, alice, pool), data), logOf(thing, topics(evmsig.TopicTransfer, pool, alice), data),
			logOf(pool, topics(evmsig.TopicSync), data), logOf(pool, topics(event, alice, bob), data), logOf(token, topics(event, 7, alice), data))
		n := uint64(1)
		in.Diff = &ethrpc.StateDiff{Pre: map[common.Address]*ethrpc.Account{}, Post: map[common.Address]*ethrpc.Account{alice: {Nonce: &n}}}
		if slot := common.BytesToHash(answer); wrote {
			in.Diff.Post[token] = &ethrpc.Account{Storage: map[common.Hash]common.Hash{slot: common.BytesToHash(data), statediff.Layouts()[3].Slot(statediff.Word(alice)): slot}}
		}
		ask := frame(trace.StaticCall, pool, token, 0)
		ask.Input, ask.Output = append(append([]byte(nil), evmsig.SelBalanceOf[:]...), topicOf(alice).Bytes()...), answer
		again := *ask
		root := frame(trace.Call, alice, pool, 0, ask, &again)
		for i := range in.Receipt.Logs {
			l := &in.Receipt.Logs[i]
			root.Logs = append(root.Logs, trace.Log{Address: l.Address, Topics: l.Topics, Data: l.Data, Calls: 1})
		}
		in.Tree = made(root).Tree
		in.Tree.HasLogs = true
		out := Compute(in)
		for _, x := range out.Fakes {
			for _, c := range out.Changes {
				for _, d := range c.Deltas {
					if d.Key.Token == x.Token {
						t.Fatalf("%s is fake and moved at %s", x.Token, c.Address)
					}
				}
			}
		}
		for _, q := range quotesOf(in, nil) {
			if q.USD.Unscaled.Sign() <= 0 || q.Most != nil && q.Most.Sign() <= 0 {
				t.Fatalf("%+v", q)
			}
		}
	})
}
