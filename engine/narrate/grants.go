package narrate

import (
	"txlens/engine/api"
	"txlens/engine/facts"
)

// sayGrant writes a grant as a sentence without its subject.
func (a Words) sayGrant(g *facts.Grant) string {
	spender, token := a.Who(g.Spender), a.Symbol(g.Token)
	switch {
	case g.Operator && g.Revoke:
		return "took back the right of " + spender + " to move all " + token
	case g.Operator:
		return "let " + spender + " move all " + token + " it holds"
	case g.ID != nil && g.Revoke:
		return "cleared the approval of NFT " + clip(g.ID.String()) + " of " + token
	case g.ID != nil:
		return "let " + spender + " move NFT " + clip(g.ID.String()) + " of " + token
	case g.Revoke:
		return "revoked the " + token + " allowance of " + spender
	case g.Lowered != nil && g.Unlimited():
		return "reduced the " + token + " allowance of " + spender + ", which stays unlimited"
	case g.Lowered != nil && g.Lowered.Sign() == 0:
		return "left the allowance of " + spender + " at " + a.Amount(facts.FungibleKey(g.Token), g.Amount)
	case g.Lowered != nil:
		key := facts.FungibleKey(g.Token)
		return "reduced the allowance of " + spender + " by " + a.Amount(key, g.Lowered) + " to " + a.Amount(key, g.Amount)
	case g.Unlimited():
		return "allowed " + spender + " to spend unlimited " + token
	case g.Amount == nil:
		return "approved " + spender + " for " + token
	}
	return "allowed " + spender + " to spend " + a.Amount(facts.FungibleKey(g.Token), g.Amount)
}

func (a *headlineWriter) approvalHeadline() string {
	list := a.Grants()
	if len(list) == 0 {
		if a.HasTo {
			return "Changed token approvals on " + a.Who(a.Entry)
		}
		return "Changed token approvals"
	}
	s := upperFirst(a.sayGrant(&list[0]))
	if owner := list[0].Owner; owner != a.Sender && !facts.Contains(a.Actors, owner) {
		s = a.Who(owner) + " " + lowerFirst(s) // not the one who acted
	}
	if len(list) > 1 {
		s += " and changed " + api.Count(len(list)-1, "more approval")
	}
	return s
}
