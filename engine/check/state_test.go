package check_test

import (
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"testing"

	"txlens/engine/assemble"
	"txlens/engine/check"
	"txlens/engine/evmsig"
	"txlens/engine/gather"
	"txlens/engine/trace"
	"txlens/engine/upstream"
	"txlens/testkit/recorded"
	"txlens/testkit/stubnode"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

// answer is the state's answer to questions of one function: to whom, about which account,
// and when; empty: whichever.
type answer struct {
	function, to, about string
	when                check.When
	words               []int64
}

// withAnswers builds a scene with answers to its questions; what has no answer reverts, and
// what is silent stays open.
func withAnswers(root *trace.Frame, silent string, list ...answer) *assemble.Analysis {
	var views []check.View
	for range 2 {
		views = append(views, answersTo(built(root, views...).Triage.Questions, silent, list)...)
	}
	return built(root, views...)
}

func answersTo(questions []check.Question, silent string, list []answer) (views []check.View) {
	for _, q := range questions {
		if s := evmsig.Func(silent); silent != "" && s.Begins(q.Data) {
			continue
		}
		v := check.View{Question: q, Reverted: true}
		for _, a := range list {
			s := evmsig.Func(a.function)
			about := who(a.about)
			if !s.Begins(q.Data) || a.to != "" && q.To != who(a.to) || a.when != "" && q.When != a.when || a.about != "" && !strings.Contains(string(q.Data), string(about[:])) {
				continue
			}
			v.Reverted = false
			for _, w := range a.words {
				v.Output = append(v.Output, word(big.NewInt(w))...)
			}
		}
		views = append(views, v)
	}
	return views
}

// TestPairAtRest: a pair whose reserves before the block show that it ended no poorer paid
// for no gain; of one that is poorer the result says by how much.
func TestPairAtRest(t *testing.T) {
	scene := func() *trace.Frame { // the pair ends with 450 dai less and 1000 mkr more
		return attackBy(all(swapped("pool", "dai", 10000, "mkr", 50000), swapped("other", "dai", 101, "mkr", 6000), swapped("pool", "mkr", 51000, "dai", 10450))...)
	}
	const reserves = "getReserves()"
	f := func(suspicious bool, told string, silent string, words ...int64) {
		t.Helper()
		if d, m := who("dai"), who("mkr"); len(words) > 1 && d.Cmp(m) > 0 {
			words[0], words[1] = words[1], words[0]
		}
		var list []answer
		if words != nil {
			list = append(list, answer{function: reserves, to: "pool", when: check.Before, words: words})
		}
		c := withAnswers(scene(), silent, list...)
		if _, s := graded(c); s != suspicious || told != "" && !strings.Contains(c.Result.Summary, told) {
			t.Errorf("%v: suspicious %v, want %v: %s", words, s, suspicious, c.Result.Summary)
		}
		if told == "" && strings.Contains(c.Result.Summary, "product of the reserves") {
			t.Errorf("%v: %s", words, c.Result.Summary)
		}
	}
	f(true, "", reserves) // not known
	f(true, "", "")       // reverted: no pair
	f(true, " is 35 % lower than at the block before", "", 1000, 6000, 1)
	f(true, "", "", 100000, 600000, 1)  // by less than 1 %
	f(false, "", "", 100000, 100000, 1) // no poorer
	f(true, "", "", 100000, 100000)     // no answer of a pair
	f(true, "", "", 0, 100000, 1)       // empty
	f(true, "", "", 100000, 0, 1)
	f(true, "", "", 400, 100000, 1) // less than it paid
}

// TestRealBalances: what the token itself says that accounts held explains a payment which
// moved nothing, and is told where the balance fell.
func TestRealBalances(t *testing.T) {
	scene := func() *trace.Frame {
		return attackBy(call("farm", "getReward_1()", pay("dai", "tool", 5000)), call("x", "y_1()"), call("x", "y_2()"), call("x", "y_3()"))
	}
	const balance = "balanceOf(address)"
	f := func(suspicious, told bool, farmBefore, farmAfter, toolBefore, toolAfter int64) {
		t.Helper()
		of := func(who string, when check.When, n int64) answer {
			return answer{balance, "dai", who, when, []int64{n}}
		}
		c := withAnswers(scene(), "", of("farm", check.Before, farmBefore), of("farm", check.After, farmAfter), of("tool", check.Before, toolBefore), of("tool", check.After, toolAfter))
		if _, s := graded(c); s != suspicious || strings.Contains(c.Result.Summary, "; the balance of") != told {
			t.Errorf("suspicious %v, want %v: %s", s, suspicious, c.Result.Summary)
		}
	}
	f(true, true, 9000, 4000, 0, 5000)
	f(true, true, 9000, 4000, 0, 0)     // passed on
	f(true, false, 9000, 9000, 0, 5000) // the payer was paid by others in the block
	f(false, false, 9000, 9000, 7, 7)   // only events moved
	f(false, false, 9000, 9500, 7, 6)
	if n := len(built(scene()).Triage.Questions); n > 10 {
		t.Errorf("%d questions in the first request", n)
	}

	for _, silent := range []string{balance, "earned(address)"} {
		c := withAnswers(scene(), silent)
		if _, s := graded(c); !s || strings.Contains(c.Result.Summary, "; the balance of") {
			t.Errorf("without %s: suspicious %v: %s", silent, s, c.Result.Summary)
		}
	}
	c := withAnswers(scene(), "", answer{balance, "dai", "farm", "", []int64{9000}}) // the payee's are not told
	if _, s := graded(c); !s {
		t.Errorf("without those of the payee: %s", c.Result.Summary)
	}
}

// TestStateAsked: what is asked of whom, and nothing where a rule decides or the answer would
// decide nothing.
func TestStateAsked(t *testing.T) {
	filler := []*trace.Frame{call("x", "y_1()"), call("x", "y_2()"), call("x", "y_3()")}
	f := func(name string, want bool, function, to string, root *trace.Frame) {
		t.Helper()
		s := evmsig.Func(function)
		got := false
		for _, q := range built(root).Triage.Questions {
			got = got || s.Begins(q.Data) && q.To == who(to)
		}
		if got != want {
			t.Errorf("%s: %v, want %v: %s", name, got, want, allFired(built(root)))
		}
	}
	const balance, reserves = "balanceOf(address)", "getReserves()"
	trip := func(more ...*trace.Frame) *trace.Frame {
		return attackBy(all(swapped("pool", "dai", 10000, "mkr", 50000), swapped("other", "dai", 101, "mkr", 6000), more, swapped("pool", "mkr", 51000, "dai", 10450))...)
	}
	f("a pair", true, reserves, "pool", trip())
	reward := call("farm", "getReward_1()", pay("dai", "tool", 5000), pay("mkr", "tool", 5000))
	f("two assets", true, reserves, "farm", attackBy(all(reward, filler)...))
	three := clone(reward)
	three.Children = append(three.Children, pay("usd", "tool", 5000))
	f("three assets", false, reserves, "farm", attackBy(all(three, filler)...))
	f("the asset of which the pool has more", false, balance, "mkr", trip())
	f("a reward", true, balance, "dai", attackBy(all(call("farm", "getReward_1()", pay("dai", "tool", 5000)), filler)...))
	f("a reward that is passed on", false, balance, "dai", attackBy(all(call("farm", "getReward_1()", pay("dai", "tool", 5000)), pay("dai", "sender", 5000), filler)...))
	f("a reward in coin", false, balance, "zero", attackBy(all(call("farm", "getReward_1()", sends("tool", 5000)), filler)...))
	f("a theft", false, balance, "dai", attackBy(call("x", "y_1()"), call("x", "y_2()"), call("vault", "put_1(uint256)", 1, take("dai", "tool", "vault", 1000)), call("vault", "get_1(uint256)", 1, pay("dai", "tool", 1500))))
}

// TestReceiptsAreNoGain: what is minted to the cluster beside a payment in the same external call is a
// receipt, unless units of it also come alone.
func TestReceiptsAreNoGain(t *testing.T) {
	reward := call("farm", "getReward_1()", minted("share", "tool", 41), pay("dai", "tool", 5000))
	f := func(want string, told bool, inside ...*trace.Frame) {
		t.Helper()
		c := built(attackBy(all(inside, call("x", "y_1()"), call("x", "y_2()"), call("x", "y_3()"))...))
		if s := c.Result.Summary; !strings.Contains(s, "5,000 raw units") || strings.Contains(s, want) != told {
			t.Errorf("%q told, want %v: %s", want, told, s)
		}
	}
	f("4,100 raw units", false, call("farm", "getReward_1()", minted("share", "tool", 4100), pay("dai", "tool", 5000)))
	f("4,141 raw units", true, call("farm", "bonus_1()", minted("share", "tool", 4100)), reward)
	f("4,141 raw units", true, reward, call("farm", "bonus_1()", minted("share", "tool", 4100)))
	f("4,100 raw units", true, call("farm", "getReward_1()", pay("share", "tool", 4100), pay("dai", "tool", 5000))) // not minted
}

// TestStateOfNode: a node is asked for all of it in one request, at the block before and at
// the block itself; a node without state leaves the result as it was.
func TestStateOfNode(t *testing.T) {
	scene := func() *trace.Frame {
		return attackBy(call("farm", "getReward_1()", pay("dai", "tool", 5000)), call("x", "y_1()"), call("x", "y_2()"), call("x", "y_3()"))
	}
	farm, dai := who("farm"), who("dai")
	paid := func(params []json.RawMessage) (json.RawMessage, error) {
		var q struct {
			To    common.Address
			Data  hexutil.Bytes
			Input hexutil.Bytes
		}
		var block string
		if len(params) < 2 || json.Unmarshal(params[0], &q) != nil || json.Unmarshal(params[1], &block) != nil {
			return nil, errors.New("bad question")
		}
		data := append(q.Data, q.Input...)
		if q.To != dai || !evmsig.SelBalanceOf.Begins(data) || len(data) != 36 {
			return nil, &stubnode.RPCError{Code: 3, Message: "execution reverted"}
		}
		n := map[string]int64{"0x63": 9000, "0x64": 4000}[block]
		if common.BytesToAddress(data[4:]) != farm {
			n = 9000 - n
		}
		return json.Marshal(common.BigToHash(big.NewInt(n)).Hex())
	}
	f := func(name string, handler stubnode.Handler, told bool) {
		t.Helper()
		node := stubnode.New(nil, stubnode.Options{ChainID: 1})
		if handler != nil {
			node.Handle("eth_call", handler)
		}
		client, err := upstream.New(upstream.Config{RPCOnly: true, SourcesOff: true, Endpoints: map[uint64][]string{1: {node.Start(t)}}})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		ev := recorded.OfTree(1, "0x"+strings.Repeat("12", 32), treeOf(scene()))
		number := uint64(100)
		ev.Tx.BlockNumber = &number
		c := assemble.Build(ev)
		questions := c.Triage.Questions
		ev.Views, _ = gather.Views(t.Context(), client.Session(nil, nil), ev.Chain, ev.Tx, questions)
		c = assemble.Build(ev)
		_, suspicious := graded(c)
		if !suspicious || strings.Contains(c.Result.Summary, "; the balance of") != told {
			t.Errorf("%s: suspicious %v: %s", name, suspicious, c.Result.Summary)
		}
		if n := len(questions); n == 0 || n > 10 || told && (node.Calls("eth_call") != n || node.Requests() != 1) {
			t.Errorf("%s: %d questions, %d calls in %d requests", name, n, node.Calls("eth_call"), node.Requests())
		}
	}
	f("a node with state", paid, true)
	f("a node without state", nil, false)
}
