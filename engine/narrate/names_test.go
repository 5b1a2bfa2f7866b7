package narrate

import (
	"math/big"
	"strings"
	"testing"

	"txlens/engine/decode"
	"txlens/engine/ethrpc"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/label"

	"github.com/ethereum/go-ethereum/common"
)

// TestNames: who chose a name decides how it stands in a sentence, and no two addresses
// are called alike.
func TestNames(t *testing.T) {
	at := func(n byte) common.Address { return common.BytesToAddress(append(make([]byte, 19), n)) }
	one, two, three, four, five, six := at(1), at(2), at(3), at(4), at(5), at(6)
	w := NewWords(facts.Read(&facts.Input{
		Tx: &ethrpc.Transaction{From: at(9), To: &one, Value: new(big.Int)},
		Labels: map[common.Address]label.Label{
			one: {Name: "Bank: Hot Wallet"}, two: {Name: "bank: hot wallet"}, three: {Name: "Router"},
			four: {Name: "Vault", Category: "contract", Origin: label.InSource}, five: {Name: "ZORK token", Category: "token", Origin: label.ByToken},
			six: {Name: "imitation of USDC", Category: "token", Origin: label.Imitation},
		},
		Tokens: map[common.Address]label.Token{
			one: {Symbol: "CELL", Listed: true}, two: {Symbol: "cell", Listed: true}, three: {Symbol: "FIRE", Listed: true},
			four: {Symbol: "FIRE", Source: "chain"}, five: {Symbol: "", Source: "chain", Lookalike: "USDC"}, six: {Symbol: "USDC*", Source: "chain", Lookalike: "USDC"},
		},
		Contracts: map[common.Address]*decode.Contract{at(7): {Name: "Pool"}, at(8): {Name: "MetaMask: Swap router"}},
	}))
	f := func(got, want string) {
		t.Helper()
		if want = strings.ReplaceAll(want, "#", "0x0000…000"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	f(w.Who(one), "Bank: Hot Wallet (#1)")
	f(w.Who(two), "bank: hot wallet (#2)")
	f(w.Who(three), "Router")
	f(w.Who(four), `"Vault" (#4)`)
	f(w.Who(five), `"ZORK" token (#5)`)
	f(w.Who(six), "imitation of USDC (#6)")
	f(w.Who(at(7)), `"Pool" (#7)`)
	f(w.Who(at(8)), "#8")
	f(w.Symbol(one), "CELL (#1)")
	f(w.Symbol(two), "cell (#2)")
	f(w.Symbol(three), "FIRE")
	f(w.Symbol(four), `"FIRE" (#4)`)
	f(w.Symbol(five), "imitation of USDC (#5)")
	f(w.Symbol(six), `"USDC" (imitation, #6)`)
	f(w.Amount(flow.TokenKey{Token: four}, big.NewInt(2)), `2 raw units of "FIRE" (#4)`)
}

func TestOnce(t *testing.T) {
	f := func(s, want string) {
		t.Helper()
		if got := once(s); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	f(`1 "A" (0x1111…1111) for 2 "A" (0x1111…1111) and "B" (0x1111…2222)`, `1 "A" (0x1111…1111) for 2 "A" and "B" (0x1111…2222)`)
	f(`1 "A" (0x1111…1111) for 2 "A" (0x2222…2222)`, `1 "A" (0x1111…1111) for 2 "A" (0x2222…2222)`)
	f("plain", "plain")
}

// TestQuotationsAreClosed: a reason that is cut ends its quotation.
func TestQuotationsAreClosed(t *testing.T) {
	if got := closed(sentence(`reverted: "` + strings.Repeat("word ", 100) + `"`)); strings.Count(got, `"`) != 2 || len(got) > 220 {
		t.Error(got)
	}
}
