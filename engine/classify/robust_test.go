package classify_test

import (
	"bytes"
	"math/big"
	"reflect"
	"sort"
	"strings"
	"testing"
	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/facts"
	"txlens/engine/narrate"
	"txlens/engine/trace"
	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
)

// Evidence may be missing in any combination; a verdict still comes.
func TestMissingEvidence(t *testing.T) {
	f := func(name string, facts *facts.Input, want api.Confidence) {
		t.Helper()
		v := scene.Held(t, name, facts)
		if v.TxType == nil || v.Summary == "" || len(v.Steps) == 0 || v.Confidence != want {
			t.Errorf("%s: %s, %+v", name, v.Confidence, v)
		}
	}
	bare := func(ok bool) *facts.Input {
		return &facts.Input{Tx: scene.New(scene.At(scene.Router), 7, scene.Input("swapExactETHForTokens(uint256,address[],address,uint256)")).Tx, Succeeded: ok}
	}
	f("transaction alone", bare(false), api.Low)
	f("transaction alone, said to have succeeded", bare(true), api.Low)
	full := usdcForWeth(scene.New(scene.At(scene.Router), 0, nil2()), scene.User).Known(scene.Router, "Router", "router", "uniswap_v2").Facts(t)
	noTree := *full
	noTree.Tree = nil
	f("no tree", &noTree, api.Low)
	noFlow := *full
	noFlow.Flow = nil
	f("no flow", &noFlow, api.Medium)
	noReceipt := *full
	noReceipt.Receipt = nil
	f("no receipt", &noReceipt, api.Low)
	creation := &facts.Input{Tx: &ethrpc.Transaction{From: scene.User, Value: new(big.Int)}, Succeeded: true}
	f("creation alone", creation, api.Low)
}

func TestUnknownOutcomeIsSaid(t *testing.T) {
	s := scene.New(scene.At(scene.Usdc), 0, scene.Input("transfer(address,uint256)", scene.Friend, 5))
	s.Rc.Status, s.Source = nil, trace.SourceReceipt
	facts := s.Facts(t)
	facts.Succeeded = false
	v := scene.Held(t, "", facts)
	if v.Attempted || !strings.HasSuffix(v.Summary, "the outcome is not known") || v.Confidence != api.Low {
		t.Errorf("attempted %v, %s, %q", v.Attempted, v.Confidence, v.Summary)
	}
}

func TestStepsAreBounded(t *testing.T) {
	s := scene.New(scene.At(scene.Router), 0, nil2())
	for i := 0; i < 500; i++ {
		s.Transfer(scene.Usdc, scene.User, scene.Addr(uint16(i+1)), 1000000+i)
	}
	v := scene.Held(t, "", s.Facts(t))
	if len(v.Steps) != narrate.MaxSteps+1 || v.Steps[narrate.MaxSteps-1] != "... and 472 more" || !strings.Contains(v.Steps[narrate.MaxSteps], " paid a fee of ") {
		t.Errorf("%d steps, last %q", len(v.Steps), v.Steps[len(v.Steps)-1])
	}
}

// Steps tell things in the order in which they happened: coin moves before the logs
// that follow them, and after those that precede them.
func TestStepsKeepTheOrderOfExecution(t *testing.T) {
	s := scene.New(scene.At(scene.Router), 0, nil2())
	s.Transfer(scene.Usdc, scene.User, scene.Pool1, 1)
	s.Call(scene.Pool1, scene.Friend, 5, nil)
	s.Transfer(scene.Usdc, scene.Pool1, scene.Vault, 2)
	s.Call(scene.Pool1, scene.Bot, 6, nil)
	v := scene.Held(t, "", s.Facts(t))
	var order []string
	for _, step := range v.Steps {
		for _, name := range []string{"to 0x9001", "to 0xf00d", "to 0x7a17", "to 0xb070"} {
			if strings.Contains(step, name) {
				order = append(order, name)
			}
		}
	}
	if want := []string{"to 0x9001", "to 0xf00d", "to 0x7a17", "to 0xb070"}; !reflect.DeepEqual(order, want) {
		t.Errorf("order %q, want %q\n%s", order, want, strings.Join(v.Steps, "\n"))
	}
}

// The order of the rules is the precedence of the types.
func TestRulesStandInPrecedence(t *testing.T) {
	s := usdcForWeth(scene.New(scene.At(scene.Router), 0, nil2()), scene.User)
	s.Log(scene.Vault, "V3FundsDeposited(address,address,uint256,uint256,uint256,uint32,uint32,uint32,uint32,address,address,address,bytes)", []any{10, 1, scene.User})
	s.Log(scene.Vault, "LiquidateBorrow(address,address,uint256,address,uint256)", nil, scene.Bot, scene.Friend, 1, scene.Vault, 1)
	v := scene.Held(t, "", s.Facts(t))
	var types []string
	for _, x := range v.Votes {
		types = append(types, string(x.TxType))
	}
	if len(types) < 3 || types[0] != "liquidation" || types[1] != "bridge" || types[2] != "swap" {
		t.Errorf("votes %q", types)
	}
	if !sort.SliceIsSorted(v.Votes[0].Logs, func(i, j int) bool { return v.Votes[0].Logs[i] < v.Votes[0].Logs[j] }) || len(v.Votes[0].Logs) == 0 {
		t.Errorf("evidence %v", v.Votes[0].Logs)
	}
}

// FuzzClassify feeds logs and calldata of any shape.
func FuzzClassify(f *testing.F) {
	seeds := facts.Tables().Events
	var topics []common.Hash
	for h := range seeds {
		topics = append(topics, h)
	}
	sort.Slice(topics, func(i, j int) bool { return topics[i].Cmp(topics[j]) < 0 })
	for i := range topics {
		f.Add(uint16(i), uint8(i%4), scene.User[:], topics[(i*7)%len(topics)][:], true)
	}
	var selectors [][4]byte
	for id := range facts.Tables().Calls {
		selectors = append(selectors, id)
	}
	sort.Slice(selectors, func(i, j int) bool { return string(selectors[i][:]) < string(selectors[j][:]) })
	for i, id := range selectors {
		f.Add(uint16(i), uint8(i%4), []byte{}, append(id[:], scene.User[:]...), i%2 == 0)
		f.Add(uint16(i), uint8(i%4), []byte{}, id[:], i%2 == 1)
	}
	ch, _ := chain.ByID(1)
	f.Fuzz(func(t *testing.T, pick uint16, indexed uint8, data, calldata []byte, ok bool) {
		status := uint64(0)
		if ok {
			status = 1
		}
		rc := &ethrpc.Receipt{Status: &status, GasUsed: 21000, EffectiveGasPrice: big.NewInt(1)}
		for n := 0; ok && n < 4; n++ {
			l := ethrpc.Log{Address: []common.Address{scene.Pool1, scene.Usdc, scene.Router, entryPoint}[n], Data: data}
			l.Topics = append(l.Topics, topics[(int(pick)+n*int(indexed))%len(topics)])
			for i := 0; i < int(indexed)%5; i++ {
				l.Topics = append(l.Topics, common.BytesToHash(append(calldata, byte(i))))
			}
			rc.Logs = append(rc.Logs, l)
		}
		tx := &ethrpc.Transaction{From: scene.User, To: &scene.Router, Value: new(big.Int), Input: calldata}
		facts := scene.Compose(ch, tx, rc, nil, trace.FromReceipt(tx, rc, ok))
		checkVerdict(t, "fuzz", facts, scene.Judge(facts))
	})
}

// FuzzRoles reads the roles of every kind of place off data that means harm: offsets
// beyond the end, before the start, or in circles.
func FuzzRoles(f *testing.F) {
	f.Add([]byte{}, uint8(0))
	f.Add(make([]byte, 31), uint8(3))
	f.Add(append(make([]byte, 31), 32), uint8(1))
	f.Add(bytes.Repeat([]byte{0xff}, 320), uint8(7))
	rows := []*facts.EventRule{}
	for _, list := range facts.Tables().Events {
		rows = append(rows, list...)
	}
	sort.Slice(rows, func(i, j int) bool {
		return rows[i].Signature < rows[j].Signature || rows[i].Signature == rows[j].Signature && rows[i].Indexed < rows[j].Indexed
	})
	f.Fuzz(func(t *testing.T, data []byte, n uint8) {
		l := &ethrpc.Log{Topics: make([]common.Hash, n%5), Data: data}
		for _, e := range rows {
			for _, r := range e.Roles.List {
				e.Number(l, r.Name)
				e.Address(l, r.Name)
				if b := bodyOf(r.Slot, data); len(b) > len(data) {
					t.Fatalf("%s: body of %d bytes out of %d", e.Signature, len(b), len(data))
				}
			}
		}
	})
}

// TestManyEventsOfOneKind: thousands of loans, seizures and swaps that no movement bears
// out are told by their first few; each is looked for among all transfers.
func TestManyEventsOfOneKind(t *testing.T) {
	s := scene.New(scene.At(scene.Bot), 0, nil2()).Known(scene.Vault, "Balancer vault", "dex", "balancer_v2")
	for i := range 2000 {
		s.Transfer(scene.Usdc, scene.Vault, scene.Bot, 5).Log(scene.Vault, "FlashLoan(address,address,uint256,uint256)", []any{scene.Bot, scene.Usdc}, 5, 0).
			Log(scene.Vault, "LiquidationCall(address,address,address,uint256,uint256,address,bool)", []any{scene.Weth, scene.Usdc, scene.Friend}, 4+i, 3, scene.User, false).
			Log(scene.Addr(uint16(i)), v2Swap, []any{scene.Bot, scene.Bot}, 5, 0, 0, 7).Log(scene.Vault, "UpdateLastTotalAssets(uint256)", nil, i)
	}
	v := scene.Held(t, "", s.Facts(t))
	if len(v.Steps) > narrate.MaxSteps+1 || len(v.Seizures) > facts.MaxLoans {
		t.Errorf("%d steps, %d seizures", len(v.Steps), len(v.Seizures))
	}
}
