package main

import (
	"fmt"
	"slices"
	"strings"

	"txlens/testkit/fixture"
)

// ownType is a txType of Txlens.
func ownType(t string) []string {
	if t == "" {
		return nil
	}
	return []string{t}
}

// loopTypes maps the types of 3loop's interpreter onto values of txType. Where a word
// of theirs covers several of ours, each counts as right: a mint may be a stake or a
// deposit, and an NFT may change hands for money or for nothing.
func loopTypes(t string) []string {
	switch t {
	case "swap":
		return []string{"swap"}
	case "transfer-token":
		return []string{"transfer"}
	case "transfer-nft":
		return []string{"transfer", "swap"}
	case "approve-token", "approve-nft":
		return []string{"approval"}
	case "send-to-bridge", "receive-from-bridge":
		return []string{"bridge"}
	case "stake-token", "unstake-token":
		return []string{"stake"}
	case "mint", "burn":
		return []string{"other", "stake"}
	case "wrap", "unwrap", "borrow", "repay-loan", "deposit-collateral", "withdraw-collateral", "batch", "account-abstraction":
		return []string{"other"}
	}
	return nil // unknown
}

// score counts judgements. Of the transactions without an expected type or protocol
// nothing is counted.
type score struct {
	typed, typeRight, typeWrong         int
	named, protocolRight, protocolWrong int
}

func judge(c *corpus, r *result, means func(string) []string, verbose bool) score {
	var s score
	for _, t := range c.txs {
		a := r.answers[strings.ToLower(t.hash)]
		if len(t.expect.types) > 0 {
			s.typed++
			switch said := means(a.Type); {
			case slices.ContainsFunc(said, func(one string) bool { return slices.Contains(t.expect.types, one) }):
				s.typeRight++
			case said != nil:
				s.typeWrong++
				if verbose {
					fmt.Printf("%d %s: want %s, got %s\n", t.chainID, t.hash, strings.Join(t.expect.types, " or "), a.Type)
				}
			}
		}
		if len(t.expect.protocols) > 0 {
			s.named++
			switch {
			case a.Protocol == "":
			case slices.ContainsFunc(t.expect.protocols, func(want string) bool { return fixture.SameProtocol(a.Protocol, want) }):
				s.protocolRight++
			default:
				s.protocolWrong++
			}
		}
	}
	return s
}

func answered(r *result) int {
	n := 0
	for _, a := range r.answers {
		if a.Error == "" {
			n++
		}
	}
	return n
}
