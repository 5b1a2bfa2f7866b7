package classify

import (
	"iter"
	"regexp"

	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// airdropped is the number of accounts from which a distribution of a token is one to many.
const airdropped = 5

// advertises finds the address of a site in the name or symbol of a token.
var advertises = regexp.MustCompile(`(?i)https?:|www\.|\bt\.me/|\b[a-z0-9-]{2,}\.(?:com|net|org|io|xyz|app|finance|site|online|top|pro|live|gift|gifts|vip|cc|co|fi|link|events|info|ltd|lol|fun|club|cash|money|us|eu|sbs|shop|art|world|land|network|exchange|claims?)\b`)

// riskAirdrop: tokens that advertise a site, or that imitate another token, came to many
// accounts that took no part. Their readers are meant to visit the site, or to take the token
// for the other one.
func riskAirdrop(a *facts.Case) (risks []verdict.Risk) {
	if a.Flow == nil {
		return nil
	}
	givers := givers(a.Flow)
	received := map[common.Address]map[common.Address]bool{}
	var order []common.Address
	for t := range moved(a.Flow) {
		if givers[t.To] || t.To == (common.Address{}) || !bait(a, t.Token) {
			continue
		}
		if received[t.Token] == nil {
			received[t.Token] = map[common.Address]bool{}
			order = append(order, t.Token)
		}
		received[t.Token][t.To] = true
	}
	for _, token := range order {
		if len(received[token]) < airdropped || len(risks) == maxReported {
			continue
		}
		count := verdict.Count{N: len(received[token]), Of: verdict.OfAccounts}
		if like := a.Tokens[token].Lookalike; like != "" {
			risks = append(risks, flag(verdict.FakeAirdrop, verdict.AirdropImitates, verdict.Abbreviated(token), verdict.Foreign(like), count))
		} else {
			risks = append(risks, flag(verdict.FakeAirdrop, verdict.AirdropAdvertises, verdict.Abbreviated(token), count))
		}
	}
	return risks
}

// moved are all transfers of something, those included that only events tell of.
func moved(f *flow.Flow) iter.Seq[*flow.Transfer] {
	return func(yield func(*flow.Transfer) bool) {
		for _, list := range [][]flow.Transfer{f.Transfers, f.Fakes} {
			for i := range list {
				if list[i].Amount.Sign() != 0 && !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// givers are the accounts that gave something in the transaction, if only the fee. What they
// got they may have asked for.
func givers(f *flow.Flow) map[common.Address]bool {
	out := map[common.Address]bool{}
	for t := range moved(f) {
		out[t.From] = true
	}
	for i := range f.Moves {
		out[f.Moves[i].From] = true
	}
	return out
}

// bait reports whether a token that no list knows advertises a site or imitates another token.
func bait(a *facts.Case, token common.Address) bool {
	t := a.Tokens[token]
	if t.Listed || a.HasLabel(token) {
		return false
	}
	return t.Lookalike != "" || advertises.MatchString(t.Name+"\n"+t.Symbol+"\n"+t.Claims)
}
