package classify

import (
	"math/big"
	"sort"

	"txlens/engine/api"
	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"

	"github.com/ethereum/go-ethereum/common"
)

// grant is one right over tokens that was given or taken back.
type grant struct {
	log      int
	owner    common.Address
	spender  common.Address
	token    common.Address
	amount   *big.Int // nil for operators and single NFTs
	id       *big.Int // of a single NFT
	operator bool
	permit2  bool
	revoke   bool
}

var (
	unlimitedFrom   = new(big.Int).Lsh(big.NewInt(1), 255)
	unlimitedPermit = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 160), big.NewInt(1))
)

func (g *grant) unlimited() bool {
	if g.amount == nil {
		return false
	}
	if g.permit2 {
		return g.amount.Cmp(unlimitedPermit) >= 0
	}
	return g.amount.Cmp(unlimitedFrom) >= 0
}

// grants reads the approvals of the transaction. An Approval beside a transfer of the
// same owner's same token is the token counting down an allowance, not a new right.
func (a *Reading) grants() []grant {
	if !a.granted {
		a.granted, a.grantList = true, a.readGrants()
	}
	return a.grantList
}

func (a *Reading) readGrants() (list []grant) {
	if a.Receipt == nil {
		return nil
	}
	for _, i := range a.approves {
		if g, ok := readApproval(&a.Receipt.Logs[i]); ok {
			g.log = i
			if !a.countsDown(&g) {
				list = append(list, g)
			}
		}
		if len(list) == 200 {
			return list
		}
	}
	for _, h := range a.find(actApproval) {
		if g, ok := readPermit2(a.eventOf(h)); ok {
			g.log = h.log
			list = append(list, g)
		}
	}
	return list
}

func readApproval(l *ethrpc.Log) (grant, bool) {
	g := grant{token: l.Address}
	var ok1, ok2 bool
	switch {
	case len(l.Topics) == 3:
		g.owner, ok1 = evmsig.Address(l.Topics[1][:])
		g.spender, ok2 = evmsig.Address(l.Topics[2][:])
		g.value(l, 0)
	case len(l.Topics) == 4:
		g.owner, ok1 = evmsig.Address(l.Topics[1][:])
		g.spender, ok2 = evmsig.Address(l.Topics[2][:])
		g.id = l.Topics[3].Big()
		g.revoke = (g.spender == common.Address{})
	case len(l.Topics) == 1 && len(l.Data) >= 96:
		g.owner, ok1 = evmsig.Address(evmsig.Word(l.Data, 0))
		g.spender, ok2 = evmsig.Address(evmsig.Word(l.Data, 1))
		g.value(l, 2)
	}
	return g, ok1 && ok2
}

// value reads the amount of an ERC-20 approval, or the flag of an operator's.
func (g *grant) value(l *ethrpc.Log, word int) {
	w := evmsig.Word(l.Data, word)
	if w == nil {
		return
	}
	g.amount = new(big.Int).SetBytes(w)
	g.revoke = g.amount.Sign() == 0
	if l.Topics[0] == evmsig.TopicApprovalForAll {
		g.operator, g.amount = true, nil
	}
}

func readPermit2(l *ethrpc.Log) (grant, bool) {
	g := grant{permit2: true}
	var ok [3]bool
	if len(l.Topics) == 2 && len(l.Data) >= 64 { // Lockdown(owner, token, spender)
		g.owner, ok[0] = evmsig.Address(l.Topics[1][:])
		g.token, ok[1] = evmsig.Address(evmsig.Word(l.Data, 0))
		g.spender, ok[2] = evmsig.Address(evmsig.Word(l.Data, 1))
		g.amount, g.revoke = new(big.Int), true
		return g, ok[0] && ok[1] && ok[2]
	}
	if len(l.Topics) != 4 {
		return g, false
	}
	g.owner, ok[0] = evmsig.Address(l.Topics[1][:])
	g.token, ok[1] = evmsig.Address(l.Topics[2][:])
	g.spender, ok[2] = evmsig.Address(l.Topics[3][:])
	if w := evmsig.Word(l.Data, 0); w != nil {
		g.amount = new(big.Int).SetBytes(w)
		g.revoke = g.amount.Sign() == 0
	}
	return g, ok[0] && ok[1] && ok[2]
}

func (a *Reading) countsDown(g *grant) bool {
	if a.Flow == nil || g.operator {
		return false
	}
	list := a.Flow.Transfers // ordered by log
	from := sort.Search(len(list), func(i int) bool { return list[i].Log >= g.log-1 })
	for i := from; i < len(list) && list[i].Log <= g.log+1; i++ {
		t := &list[i]
		if t.Token == g.token && t.From == g.owner && (t.Log == g.log-1 || t.Log == g.log+1) {
			return true
		}
	}
	return false
}

// sayGrant writes a grant as a sentence without its subject.
func (a Words) sayGrant(g *grant) string {
	spender, token := a.Who(g.spender), a.Symbol(g.token)
	switch {
	case g.operator && g.revoke:
		return "took back the right of " + spender + " to move all " + token
	case g.operator:
		return "let " + spender + " move all " + token + " it holds"
	case g.id != nil && g.revoke:
		return "cleared the approval of NFT " + clip(g.id.String()) + " of " + token
	case g.id != nil:
		return "let " + spender + " move NFT " + clip(g.id.String()) + " of " + token
	case g.revoke:
		return "revoked the " + token + " allowance of " + spender
	case g.unlimited():
		return "allowed " + spender + " to spend unlimited " + token
	case g.amount == nil:
		return "approved " + spender + " for " + token
	}
	return "allowed " + spender + " to spend " + a.Amount(leg20(g.token), g.amount)
}

func (a *headlineWriter) sumApproval() string {
	list := a.grants()
	if len(list) == 0 {
		if a.hasTo {
			return "Changed token approvals on " + a.Who(a.entry)
		}
		return "Changed token approvals"
	}
	s := a.sayGrant(&list[0])
	s = upperFirst(s)
	if len(list) > 1 {
		s += " and changed " + api.Count(len(list)-1, "more approval")
	}
	return s
}
