package check

import (
	"testing"

	"txlens/engine/facts"

	"github.com/ethereum/go-ethereum/common"
)

// TestQuestionsAsked: a question that differs in anything is another one; each is asked once, and so are
// no more than a few, with no more calldata than a call has.
func TestQuestionsAsked(t *testing.T) {
	one, other := common.Address{1}, common.Address{2}
	first := Question{From: one, To: one, Data: []byte{1}, When: Before, Asker: "x"}
	f := func(name string, known bool, change func(q *Question)) {
		t.Helper()
		q := first
		change(&q)
		answered := &inspection{Input: &Input{Views: []View{{Question: first, Output: []byte{7}}}}}
		v, ok := answered.ask(q)
		if ok != known || v.Reverted == known || (len(v.Output) == 1) != known || (len(answered.asks) == 0) != known {
			t.Errorf("%s: answered %+v, %v, asked %d", name, v, ok, len(answered.asks))
		}
		asking := &inspection{Input: &Input{}}
		for _, q := range []Question{first, q, first, q} {
			if v, ok := asking.ask(q); ok || !v.Reverted || v.To != q.To {
				t.Errorf("%s: %+v, %v without an answer", name, v, ok)
			}
		}
		if got := len(asking.open()); (got == 1) != known || got > 2 {
			t.Errorf("%s: %d asked", name, got)
		}
	}
	f("the same", true, func(*Question) {})
	f("by another check", true, func(q *Question) { q.Asker = "y" })
	f("another caller", false, func(q *Question) { q.From = other })
	f("another contract", false, func(q *Question) { q.To = other })
	f("another state", false, func(q *Question) { q.When = After })
	f("another call", false, func(q *Question) { q.Data = []byte{2} })

	asked := func(n, size int) int {
		l := &inspection{Input: &Input{}}
		for i := range n {
			l.ask(Question{To: common.Address{byte(i)}, Data: make([]byte, size)})
		}
		return len(l.open())
	}
	if got := asked(maxQuestions, 4); got != maxQuestions {
		t.Errorf("%d of %d questions", got, maxQuestions)
	}
	if got := asked(maxQuestions+1, 4); got != maxQuestions {
		t.Errorf("%d of %d questions and one more", got, maxQuestions)
	}
	if got := asked(1, maxCalldata); got != 1 {
		t.Errorf("%d of one question with as much calldata as may be", got)
	}
	if got := asked(1, maxCalldata+1); got != 0 {
		t.Errorf("%d of one question with too much calldata", got)
	}
}

// TestTokensOfPairs: the two tokens that moved through a pair, sorted, without its own shares, coin and NFTs.
func TestTokensOfPairs(t *testing.T) {
	pair, who := common.Address{9}, common.Address{8}
	low, high, third := common.Address{1}, common.Address{2}, common.Address{3}
	into := func(token common.Address) facts.Move {
		return facts.Move{From: who, To: pair, Token: token, Key: facts.Key{Token: token}}
	}
	out := func(token common.Address) facts.Move {
		return facts.Move{From: pair, To: who, Token: token, Key: facts.Key{Token: token}}
	}
	f := func(name string, want bool, moves ...facts.Move) {
		t.Helper()
		l := &inspection{moves: moves}
		t0, t1 := l.pairTokens(pair)
		if ok := t0 == low && t1 == high; ok != want || !ok && (t0 != common.Address{} || t1 != common.Address{}) {
			t.Errorf("%s: %s, %s", name, t0, t1)
		}
	}
	f("in order", true, into(low), out(high))
	f("the other way", true, into(high), out(low))
	f("several times", true, into(high), out(low), into(high), out(low))
	f("one", false, into(low), out(low))
	f("none", false)
	f("three", false, into(low), out(high), out(third))
	f("its share before", true, out(pair), into(low), out(high))
	f("coin before", true, out(common.Address{}), into(low), out(high))
	other := into(third)
	other.To = who
	f("past it", true, other, into(low), out(high))
	item := into(third)
	item.Key.NFT = true
	f("an NFT before", true, item, into(low), out(high))
	item.Key.NFT, item.Key.ID = false, "7"
	f("an item before", true, item, into(low), out(high))
}
