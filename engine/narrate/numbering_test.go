package narrate

import (
	"math/big"
	"testing"

	"txlens/engine/chain"
)

// TestChainNumbers: a messenger's number is told by the name of the chain; an unknown one stays
// a number.
func TestChainNumbers(t *testing.T) {
	f := func(slug string, n uint64, want string) {
		t.Helper()
		if got := chainNamed(slug, new(big.Int).SetUint64(n)); got != want {
			t.Errorf("%s %d: %q, want %q", slug, n, got, want)
		}
	}
	f("layerzero", 112, "Fantom Opera")
	f("layerzero", 30112, "Fantom Opera")
	f("stargate", 30168, "Solana")
	f("stargate", 30367, "HyperEVM")
	f("layerzero", 999, "chain 999 by its own numbers")
	f("cctp", 0, "Ethereum")
	f("cctp", 5, "Solana")
	f("cctp", 77, "chain 77 by its own numbers")
	f("wormhole", 1, "Solana")
	f("wormhole", 21, "Sui")
	f("wormhole", 30, "Base")
	f("ccip", 15971525489660198786, "Base")
	f("ccip", 1, "chain 1 by its own numbers")
	f("across", 8453, "Base")
	f("across", 123456789, "chain 123456789")
	f("hop", 100, "Gnosis")
	f("", 1, "")
	if got := chainNamed("across", new(big.Int).Lsh(big.NewInt(1), 64)); got != "" {
		t.Errorf("a number beyond 64 bits: %q", got)
	}
}

// TestNumberingsAreOfChains: every place is a known chain or has a name, and no two numbers of a messenger are of one
// chain.
func TestNumberingsAreOfChains(t *testing.T) {
	for name, numbers := range map[string]numbering{"layerzero": layerZeroNumbers, "cctp": cctpNumbers, "wormhole": wormholeNumbers, "ccip": ccipNumbers} {
		seen := map[string]uint64{}
		for n, p := range numbers {
			if _, ok := chain.ByID(p.id); ok == (p.name != "") {
				t.Errorf("%s %d: %q, a known chain: %v", name, n, p.name, ok)
			}
			if first, twice := seen[p.String()]; twice {
				t.Errorf("%s: %d and %d are both %s", name, first, n, p)
			}
			seen[p.String()] = n
		}
	}
}
