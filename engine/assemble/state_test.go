package assemble

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/statediff"
	"txlens/engine/trace"
	"txlens/testkit/fixture"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

// stateScene is a transaction to a token with logs, calls and changed words.
type stateScene struct {
	logs  []ethrpc.Log
	calls string // frames below the outermost
	words map[common.Hash][2]int64
}

func (s *stateScene) result(t *testing.T) *api.Result {
	t.Helper()
	ev := evidenceOf(t, 1, `{"type":"CALL",`+head+`,"value":"0x6f05b59d3b20000","calls":[`+s.calls+`]}`)
	ev.Receipt.Logs = s.logs
	n, pre, post := uint64(8), map[common.Hash]common.Hash{}, map[common.Hash]common.Hash{}
	was := uint64(7)
	for slot, w := range s.words {
		pre[slot], post[slot] = wordOf(w[0]), wordOf(w[1])
	}
	ev.Diff = &ethrpc.StateDiff{
		Pre:  map[common.Address]*ethrpc.Account{to: {Storage: pre}, from: {Nonce: &was, Balance: big.NewInt(100)}},
		Post: map[common.Address]*ethrpc.Account{to: {Storage: post}, from: {Nonce: &n, Balance: big.NewInt(40)}},
	}
	return Result(ev)
}

// wordOf is a number as a word of storage, modulo 2^256.
func wordOf(n int64) common.Hash {
	return common.BigToHash(new(big.Int).And(big.NewInt(n), common.MaxHash.Big()))
}

func mappingSlot(number byte, keys ...common.Address) common.Hash {
	at := common.Hash{31: number}
	for _, k := range keys {
		at = crypto.Keccak256Hash(common.LeftPadBytes(k[:], 32), at[:])
	}
	return at
}

// TestStateNames: a slot has the name that hashes, transfers and events confirm, and no other.
func TestStateNames(t *testing.T) {
	spender := common.HexToAddress("0x4444444444444444444444444444444444444444")
	addr := func(a common.Address) int64 { return new(big.Int).SetBytes(a[12:]).Int64() }
	sent := []ethrpc.Log{sentLog(to, from, miner, 50)}
	approved := append(sent[:1:1], ethrpc.Log{Address: to, Topics: []common.Hash{evmsig.TopicApproval, statediff.Word(from), statediff.Word(spender)}, Data: wordOf(900).Bytes()})
	drawn := func(n int64) string {
		return fmt.Sprintf(`{"type":"CALL","from":%q,"to":%q,"gas":"0x1","gasUsed":"0x1","value":"0x0","calls":[
			{"type":"CALL","from":%[2]q,"to":%[1]q,"gas":"0x1","gasUsed":"0x1","value":"0x0","input":"0x23b872dd%[3]x%[4]x%[5]x"}]}`,
			to.Hex(), spender.Hex(), statediff.Word(from), statediff.Word(miner), wordOf(n))
	}
	short := common.HexToAddress("0x0000000000000000000000001111111111111111") // fits a number of the scene
	owned := []ethrpc.Log{{Address: to, Topics: []common.Hash{evmsig.TopicOwnershipTransferred, statediff.Word(short), statediff.Word(common.Address{})}}}
	f := func(name string, s stateScene, slot common.Hash, want, difference string) {
		t.Helper()
		r := s.result(t)
		i := slices.IndexFunc(r.StateChanges, func(c api.StateChange) bool { return slices.Equal(c.Slot, slot[:]) })
		if i < 0 {
			t.Fatalf("%s: no change of the slot in %+v", name, r.StateChanges)
		}
		got := ""
		if n := r.StateChanges[i].Name; n != nil {
			got = n.Text
		}
		if got != want || r.StateChanges[i].Difference != difference {
			t.Errorf("%s: %q by %q, want %q by %q", name, got, r.StateChanges[i].Difference, want, difference)
		}
	}
	words := func(slot common.Hash, before, after int64) map[common.Hash][2]int64 {
		return map[common.Hash][2]int64{slot: {before, after}}
	}
	key := "key " + strings.ToLower(from.Hex())
	keys := "keys " + strings.ToLower(from.Hex()) + " and " + strings.ToLower(spender.Hex())
	bal, other, allowed := mappingSlot(3, from), mappingSlot(5, from), mappingSlot(4, from, spender)
	f("balance", stateScene{logs: sent, words: words(bal, 80, 30)}, bal, "balance (mapping at slot 3, "+key+")", "-50")
	f("by another amount", stateScene{logs: sent, words: words(bal, 80, 31)}, bal, "mapping at slot 3, "+key, "")
	f("no transfer", stateScene{words: words(bal, 80, 30)}, bal, "mapping at slot 3, "+key, "")
	f("two that fit", stateScene{logs: sent, words: map[common.Hash][2]int64{bal: {80, 30}, other: {50, 0}}}, bal, "mapping at slot 3, "+key, "")
	both := map[common.Hash][2]int64{bal: {80, 30}, other: {50, 0}, mappingSlot(3, miner): {0, 50}}
	f("the mapping that fits more holders", stateScene{logs: sent, words: both}, bal, "balance (mapping at slot 3, "+key+")", "-50")
	f("another mapping that changed alike", stateScene{logs: sent, words: both}, other, "mapping at slot 5, "+key, "")
	f("allowance by its event", stateScene{logs: approved, words: words(allowed, 0, 900)}, allowed, "allowance (mapping at slot 4, "+keys+")", "900")
	f("allowance that the event contradicts", stateScene{logs: approved, words: words(allowed, 0, 901)}, allowed, "mapping at slot 4, "+keys, "")
	f("allowance by its use", stateScene{logs: sent, calls: drawn(20) + "," + drawn(30), words: words(allowed, 70, 20)}, allowed, "allowance (mapping at slot 4, "+keys+")", "-50")
	f("use of another amount", stateScene{logs: sent, calls: drawn(20), words: words(allowed, 70, 20)}, allowed, "mapping at slot 4, "+keys, "")
	f("admin", stateScene{words: words(statediff.Admin, 0, addr(from))}, statediff.Admin, "admin (EIP-1967)", "")
	zero := common.Hash{}
	f("owner by its event", stateScene{logs: owned, words: words(zero, addr(short), 0)}, zero, "owner (OwnershipTransferred)", "")
	f("owner that the event contradicts", stateScene{logs: owned, words: words(zero, addr(short)+1, 0)}, zero, "", "")
	f("two owners", stateScene{logs: owned, words: map[common.Hash][2]int64{zero: {addr(short), 0}, {31: 1}: {addr(short), 0}}}, zero, "", "")
	f("array", stateScene{words: words(crypto.Keccak256Hash(make([]byte, 32)), 1, 2)}, crypto.Keccak256Hash(make([]byte, 32)), "array at slot 0, word 0", "")
	f("unknown", stateScene{words: words(common.Hash{9}, 1, 2)}, common.Hash{9}, "", "")
}

func TestStateChangesOfAccounts(t *testing.T) {
	r := (&stateScene{words: map[common.Hash][2]int64{{31: 5}: {1, 2}}}).result(t)
	want := []string{"balance 100 40 -60", "nonce 7 8 1", "storage " + wordOf(1).Hex() + " " + wordOf(2).Hex() + " "}
	var got []string
	for _, c := range r.StateChanges {
		got = append(got, fmt.Sprintf("%s %s %s %s", c.Kind, c.Before, c.After, c.Difference))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	ev := evidenceOf(t, 1, "")
	if r = Result(ev); r.StateChanges != nil {
		t.Errorf("without a state diff %+v", r.StateChanges)
	}
	ev.Diff = &ethrpc.StateDiff{}
	if r = Result(ev); r.StateChanges == nil || len(r.StateChanges) > 0 {
		t.Errorf("nothing changed, and the list is %+v", r.StateChanges)
	}
}

func TestStateOfCode(t *testing.T) {
	f := func(code []byte, want string) {
		t.Helper()
		if got := codeText(code); got != want {
			t.Errorf("%x: %s, want %s", code, got, want)
		}
	}
	delegated := types.AddressToDelegation(from)
	f(nil, "0x")
	f(delegated, "0x"+hex.EncodeToString(delegated))
	f([]byte{1}, crypto.Keccak256Hash([]byte{1}).Hex())
}

// TestStateChangesAreBounded: slots without a name are left out first, and counted.
func TestStateChangesAreBounded(t *testing.T) {
	words := map[common.Hash][2]int64{statediff.Beacon: {1, 2}}
	for i := range int64(maxStateChanges) {
		words[wordOf(i)] = [2]int64{1, 2}
	}
	r := (&stateScene{words: words}).result(t)
	named := slices.ContainsFunc(r.StateChanges, func(c api.StateChange) bool { return c.Name != nil })
	m := r.StateChangesMeta
	if len(r.StateChanges) != maxStateChanges || !named || m == nil || m.OriginalChanges != maxStateChanges+3 || m.KeptChanges != maxStateChanges {
		t.Errorf("%d changes, named %v, %+v", len(r.StateChanges), named, m)
	}
	if !slices.IsSortedFunc(r.StateChanges, func(a, b api.StateChange) int { return slices.Compare(a.Address[:], b.Address[:]) }) {
		t.Error("the changes that are kept are out of order")
	}
}

// recordedStates calls visit with the evidence of the recorded transactions of mainnet that
// have a state diff.
func recordedStates(tb testing.TB, visit func(ev *Evidence)) {
	tb.Helper()
	ch, _ := chain.ByID(1)
	for _, blk := range fixture.Blocks(tb) {
		if blk.ChainID != 1 {
			continue
		}
		header, err := ethrpc.ParseBlock(blk.Header)
		for i := range blk.Txs {
			t := &blk.Txs[i]
			if err != nil || len(t.StateDiff) == 0 {
				continue
			}
			ev := &Evidence{TxHash: t.Hash, Chain: ch, Block: header, Version: "test"}
			var errs [4]error
			ev.Tx, errs[0] = ethrpc.ParseTransaction(t.Tx)
			ev.Receipt, errs[1] = ethrpc.ParseReceipt(t.Receipt)
			ev.Diff, errs[2] = ethrpc.ParseStateDiff(t.StateDiff)
			ev.Tree, errs[3] = trace.ParseCallTracerBytes(t.Trace, trace.Limits{})
			if errs != [4]error{} {
				continue
			}
			visit(ev)
		}
	}
}

// TestRecordedStateNames counts what the slots of recorded transactions are named.
func TestRecordedStateNames(t *testing.T) {
	count, slots, hashed, placed := map[api.SlotKind]int{}, 0, 0, 0
	recordedStates(t, func(ev *Evidence) {
		for _, c := range Result(ev).StateChanges {
			if c.Kind != api.StateStorage {
				continue
			}
			slots++
			if statediff.Hashed(common.Hash(c.Slot)) {
				hashed++
				if c.Name != nil {
					placed++
				}
			}
			if c.Name != nil {
				count[c.Name.Kind]++
			}
		}
	})
	t.Logf("%d slots, %d of them hashes, %d of these with a name: %v", slots, hashed, placed, count)
	if slots == 0 {
		t.Skip("no state diff is recorded")
	}
	if placed*100 < hashed*75 || count[api.SlotBalance] == 0 || count[api.SlotAllowance] == 0 {
		t.Errorf("too few slots have a name")
	}
}

// BenchmarkStateChanges names the slots of each recorded transaction.
func BenchmarkStateChanges(b *testing.B) {
	var list []*builder
	recordedStates(b, func(ev *Evidence) {
		x := &builder{ev: ev, r: base(ev)}
		x.analyse()
		list = append(list, x)
	})
	for b.Loop() {
		for _, x := range list {
			x.state()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(len(list)), "us/tx")
}
