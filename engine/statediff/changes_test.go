package statediff

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/ethrpc"
)

var (
	alice = common.HexToAddress("0x00000000000000000000000000000000000a11ce")
	bob   = common.HexToAddress("0x0000000000000000000000000000000000000b0b")
)

type accounts = map[common.Address]*ethrpc.Account

func TestChanges(t *testing.T) {
	n := func(n uint64) *uint64 { return &n }
	f := func(name string, pre, post accounts, want ...string) {
		t.Helper()
		var got []string
		for _, c := range Changes(&ethrpc.StateDiff{Pre: pre, Post: post}) {
			got = append(got, text(&c))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	slots := func(pairs ...byte) map[common.Hash]common.Hash {
		m := map[common.Hash]common.Hash{}
		for i := 0; i < len(pairs); i += 2 {
			m[common.Hash{31: pairs[i]}] = common.Hash{31: pairs[i+1]}
		}
		return m
	}
	account := &ethrpc.Account{Balance: big.NewInt(9), Nonce: n(1), Code: []byte{1, 2}, Storage: slots(1, 5, 2, 6, 3, 7)}
	f("nothing", accounts{}, accounts{})
	f("a missing member did not change", accounts{alice: account}, accounts{alice: {Balance: big.NewInt(4), Storage: slots(1, 5, 2, 8)}},
		"ce balance 9 4", "ce slot 2 6 8", "ce slot 3 7 0")
	f("a new account", nil, accounts{alice: {Balance: big.NewInt(4), Nonce: n(1), Code: []byte{7}, Storage: slots(4, 1)}},
		"ce balance 0 4", "ce nonce 0 1", "ce code 0 1", "ce slot 4 0 1")
	f("a deleted account", accounts{alice: account}, nil,
		"ce balance 9 0", "ce nonce 1 0", "ce code 2 0", "ce slot 1 5 0", "ce slot 2 6 0", "ce slot 3 7 0")
	f("sorted by address", accounts{alice: {Nonce: n(1)}, bob: {Nonce: n(1)}}, accounts{alice: {Nonce: n(2)}, bob: {Nonce: n(2)}},
		"0b nonce 1 2", "ce nonce 1 2")
}

func text(c *Change) string {
	who := fmt.Sprintf("%02x ", c.Address[19])
	switch c.Kind {
	case Balance:
		return who + fmt.Sprintf("balance %s %s", c.BalanceBefore, c.BalanceAfter)
	case Nonce:
		return who + fmt.Sprintf("nonce %d %d", c.NonceBefore, c.NonceAfter)
	case Code:
		return who + fmt.Sprintf("code %d %d", len(c.CodeBefore), len(c.CodeAfter))
	}
	return who + fmt.Sprintf("slot %d %d %d", c.Slot[31], c.WordBefore[31], c.WordAfter[31])
}

func TestDifference(t *testing.T) {
	most := common.MaxHash
	f := func(before, after common.Hash, want string) {
		t.Helper()
		c := Change{WordBefore: before, WordAfter: after}
		if got := c.Difference().String(); got != want {
			t.Errorf("%s to %s: %s, want %s", before, after, got, want)
		}
	}
	f(common.Hash{31: 9}, common.Hash{31: 4}, "-5")
	f(common.Hash{31: 4}, common.Hash{31: 9}, "5")
	f(common.Hash{}, most, "-1") // modulo 2^256
	f(most, common.Hash{}, "1")
}
