package claim

import (
	"txlens/engine/api"
	"txlens/engine/narrate"

	"github.com/ethereum/go-ethereum/common"
)

// countFact counts items of the evidence: transfers (also of one token), calls, failed
// calls, logs, tokens, addresses, contracts.
func (ix *Index) countFact(args []string, w narrate.Words) (fact, Reason) {
	if len(args) == 2 {
		token, why := ix.tokenOf(args[1])
		if why != Accepted || args[0] != "transfers" {
			return fact{}, max(why, Malformed)
		}
		return ix.countTransfers(token, w)
	}
	n, noun := 0, ""
	switch r := ix.r; args[0] {
	case "transfers":
		n, noun = len(r.TokenTransfers), "token transfer"
	case "logs":
		n, noun = len(ix.logs), "log"
	case "addresses":
		n, noun = len(r.Addresses), "address"
	case "contracts":
		n, noun = len(r.Contracts), "contract"
	case "tokens":
		n, noun = len(ix.transfers), "token"
	case "calls", "failed":
		if !ix.c.Tree.Whole() {
			return fact{}, Unresolved
		}
		if n, noun = ix.c.Tree.Total, "call"; args[0] == "failed" {
			n, noun = ix.c.Tree.Failed, "failed call"
		}
	default:
		return fact{}, UnknownKind
	}
	return named(isFact, api.Count(n, noun))
}

func (ix *Index) countTransfers(token common.Address, w narrate.Words) (fact, Reason) {
	n := ix.transfers[api.AddrOf(token)]
	return named(isFact, api.Count(n, "transfer")+" of "+w.Symbol(token))
}
