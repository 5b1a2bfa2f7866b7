package check_test

import (
	"math/big"
	"path/filepath"
	"slices"
	"testing"

	"txlens/engine/assemble"
	"txlens/engine/chain"
	"txlens/engine/check"
	"txlens/engine/ethrpc"
	"txlens/engine/narrate"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

func names(risks []verdict.Risk) (out []string) {
	for _, r := range risks {
		out = append(out, r.Flag.String())
	}
	slices.Sort(out)
	return out
}

// TestFlags: which flags the trace and the storage of recorded transactions raise.
func TestFlags(t *testing.T) {
	f := func(prefix string, want ...string) {
		t.Helper()
		c := readCase(t, filepath.Join("testdata", match(t, prefix)))
		if got := names(c.Triage.Flags); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", prefix, got, want)
		}
		for _, line := range narrate.Risks(c.Words, c.Triage.Flags) {
			if !slices.Contains(c.Result.Risks, line) {
				t.Errorf("%s: %q is not among the risks", prefix, line)
			}
		}
	}
	f("price-manipulation-by-flash-loan", "drain", "flash_loan", "price_moved")
	f("price-manipulation-twin-leverage", "flash_loan")               // the price comes from a feed
	f("price-manipulation-twin-a-flash-loan-arbitrage", "flash_loan") // who trades reads as well
	f("access-control-anybody", "drain")
	f("reentrancy-paid", "drain")
	f("reentrancy-twin-the-second", []string(nil)...)
	f("first-depositor-twin-a-keeper", []string(nil)...)
	f("unchecked-signature-twin", []string(nil)...)
}

// TestOverSupply: an allowance is unlimited when it is for more than there is.
func TestOverSupply(t *testing.T) {
	token, user, spender := common.HexToAddress("0x70"), common.HexToAddress("0xa1"), common.HexToAddress("0x5e")
	amount := big.NewInt(1_000_001)
	ch, _ := chain.ByID(1)
	ok, number := uint64(1), uint64(20_000_000)
	sel := crypto.Keccak256([]byte("totalSupply()"))[:4]
	approve := append(crypto.Keccak256([]byte("approve(address,uint256)"))[:4], append(common.BytesToHash(spender[:]).Bytes(), common.BigToHash(amount).Bytes()...)...)
	ev := func(supply int64) *assemble.Evidence {
		e := &assemble.Evidence{TxHash: "0xaa", Chain: ch, Version: "test",
			Tx: &ethrpc.Transaction{Type: 2, From: user, To: &token, Gas: 100_000, GasPrice: big.NewInt(1), Value: new(big.Int), Input: approve, BlockNumber: &number},
			Receipt: &ethrpc.Receipt{Status: &ok, GasUsed: 40_000, EffectiveGasPrice: big.NewInt(1), Logs: []ethrpc.Log{{
				Address: token, Topics: []common.Hash{crypto.Keccak256Hash([]byte("Approval(address,address,uint256)")), common.BytesToHash(user[:]), common.BytesToHash(spender[:])},
				Data: common.BigToHash(amount).Bytes(),
			}}},
			Tree: tree(t, user, token, approve),
		}
		if supply > 0 {
			e.Views = []check.View{{Question: check.Question{To: token, Data: sel, When: check.Before}, Output: common.BigToHash(big.NewInt(supply)).Bytes()}}
		}
		return e
	}
	f := func(supply int64, want bool, questions int) {
		t.Helper()
		r := assemble.Build(ev(supply)).Triage
		if got := slices.Contains(names(r.Flags), "unlimited_approval"); got != want || len(r.Questions) != questions {
			t.Errorf("of %d: %v, %d questions; want %v, %d", supply, got, len(r.Questions), want, questions)
		}
	}
	f(0, false, 1)
	f(1_000_000, true, 0)
	f(1_000_001, false, 0)
}

// TestAccusedTakers: an account that a list accuses is as unknown as one without label, so
// tokens that went there are as gone.
func TestAccusedTakers(t *testing.T) {
	f := func(want, one, other string) {
		t.Helper()
		c := built(attackBy(permit("usdc", "alice", "tool", top(256)), take("usdc", "alice", one, 800), take("usdc", "alice", other, 200)))
		if got := allFired(c); got != want {
			t.Errorf("to %s and %s: %q, want %q", one, other, got, want)
		}
	}
	f("signed_drain!", "thief", "partner")
	f("signed_drain!", "phisher", "partner")
	f("signed_drain!", "thief", "listed")
	f("", "balancer", "balancer") // twin: a contract of a protocol
}

// TestAsked: which words ask for a triage.
func TestAsked(t *testing.T) {
	f := func(context string, want bool) {
		t.Helper()
		if check.Asked(context) != want {
			t.Errorf("%q: %v, want %v", context, !want, want)
		}
	}
	f("Was this an exploit?", true)
	f("we got HACKED", true)
	f("please triage", true)
	f("who drained the vault", true)
	f("root-cause this", true)
	f("any vulnerabilities?", true)
	f("was it a re-entrancy", true)
	f("post mortem of the incident", true)
	f("is the token a rug pull? it was rugged", true)
	f("", false)
	f("what did this swap cost me", false)
	f("which pool did I drag my tokens through", false)
	f("how many rugs did I buy", false)
	f("explain the attachment of the NFT", false)
}
