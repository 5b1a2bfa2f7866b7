package report

import (
	"fmt"
	"math/big"

	"txlens/engine/api"
	"txlens/engine/chain"
)

// maxApprovals bounds the table of approvals.
const maxApprovals = 100

// approvalRow is one right of a spender over the tokens of an owner.
type approvalRow struct {
	Owner, Token, Spender party
	Given, Used, Left     string
	Revoke                string // address of a page where the owner can revoke it; empty: nothing to revoke
}

// approvalKey says whose right over what it is; id is that of one NFT.
type approvalKey struct {
	owner, token, spender api.Addr
	id                    string
	all                   bool // over all NFTs of the contract
}

// approvalState is what the transaction did to one right.
type approvalState struct {
	given *big.Int // as the last event set it; nil: not in this transaction
	since *big.Int // used after the last event
	used  *big.Int
}

// approvalLog collects approvals in the order of their first mention.
type approvalLog struct {
	order []approvalKey
	state map[approvalKey]*approvalState
}

func (l *approvalLog) of(k approvalKey) *approvalState {
	s := l.state[k]
	if s == nil {
		s = &approvalState{since: new(big.Int), used: new(big.Int)}
		l.state[k], l.order = s, append(l.order, k)
	}
	return s
}

// readApprovals reads the approvals that took effect, and the uses of those over ERC-20 tokens.
func readApprovals(r *api.Result) *approvalLog {
	l := &approvalLog{state: map[approvalKey]*approvalState{}}
	for i := range r.PrettyTrace {
		node := &r.PrettyTrace[i]
		if node.Status != api.NodeOK || len(node.DecodedArgs) != 3 {
			continue
		}
		first, ok1 := addressArg(node, 0)
		second, ok2 := addressArg(node, 1)
		if !ok1 || !ok2 {
			continue
		}
		switch signature(node) {
		case "Approval(address,address,uint256)", "ApprovalForAll(address,address,bool)":
			l.given(node, first, second)
		case "transferFrom(address,address,uint256)":
			// The token of a delegated call is the caller, which made the same call itself.
			if node.Type == "CALL" && node.To != nil && node.From != first && !refused(node) {
				l.used(node, first)
			}
		}
	}
	return l
}

func (l *approvalLog) given(node *api.Node, owner, spender api.Addr) {
	k := approvalKey{owner: owner, token: node.From, spender: spender}
	third := node.DecodedArgs[2]
	if on, is := third.Value.(bool); is {
		k.all = true
		l.of(k).given = new(big.Int)
		if on {
			l.of(k).given = big.NewInt(1)
		}
		return
	}
	raw, _ := third.Value.(string)
	value := integer(raw)
	if value == nil {
		return
	}
	if third.Indexed { // the number of an NFT; the zero address takes the right away
		k.id, value = raw, big.NewInt(1)
		if k.spender == (api.Addr{}) {
			value = new(big.Int)
		}
	}
	s := l.of(k)
	s.given, s.since = value, new(big.Int)
}

func (l *approvalLog) used(node *api.Node, owner api.Addr) {
	raw, _ := node.DecodedArgs[2].Value.(string)
	if value := integer(raw); value != nil && value.Sign() > 0 {
		s := l.of(approvalKey{owner: owner, token: *node.To, spender: node.From})
		s.used = new(big.Int).Add(s.used, value)
		s.since = new(big.Int).Add(s.since, value)
	}
}

// refused reports whether a token answered with false.
func refused(node *api.Node) bool {
	return len(node.Output) >= 32 && new(big.Int).SetBytes(node.Output[:32]).Sign() == 0
}

func addressArg(node *api.Node, i int) (a api.Addr, ok bool) {
	text, _ := node.DecodedArgs[i].Value.(string)
	return a, a.UnmarshalText([]byte(text)) == nil
}

// approvals is the table of rights that were given or used, and how many are left out. Of
// tokens that are NFTs the use is not told: a transfer takes the right with it.
func (n *names) approvals(r *api.Result) (rows []approvalRow, more int) {
	l := readApprovals(r)
	nfts := map[api.Addr]bool{}
	for i := range r.TokenTransfers {
		if r.TokenTransfers[i].Type != "erc20" {
			nfts[r.TokenTransfers[i].TokenAddress] = true
		}
	}
	for _, k := range l.order {
		s := l.state[k]
		if s.given == nil && nfts[k.token] {
			continue
		}
		if len(rows) == maxApprovals {
			more++
			continue
		}
		row := approvalRow{Owner: n.party(k.owner), Token: n.party(k.token), Spender: n.party(k.spender)}
		left := n.approvalTexts(&row, k, s)
		if c, ok := chain.BySlug(r.Chain); ok && left {
			row.Revoke = fmt.Sprintf("https://revoke.cash/address/%s?chainId=%d", k.owner, c.ID)
		}
		rows = append(rows, row)
	}
	return rows, more
}

// approvalTexts fills in the amounts and reports whether anything may be left to revoke.
func (n *names) approvalTexts(row *approvalRow, k approvalKey, s *approvalState) (left bool) {
	switch {
	case k.all && s.given.Sign() > 0:
		row.Given, row.Left = "all NFTs", "all NFTs"
		return true
	case k.id != "" && s.given.Sign() > 0:
		row.Given, row.Left = "NFT #"+api.OneLine(k.id, 12), "until it is transferred"
		return true
	case (k.all || k.id != "") && s.given.Sign() == 0:
		row.Given, row.Left = "revoked", "nothing"
		return false
	}
	if s.used.Sign() > 0 {
		row.Used = n.tokenAmount(k.token, s.used)
	}
	switch {
	case s.given == nil:
		row.Given, row.Left = "before this transaction", "not known"
		return true
	case s.given.Sign() == 0:
		row.Given, row.Left = "0", "nothing"
		return false
	}
	row.Given = n.tokenAmount(k.token, s.given)
	if unlimited(s.given) {
		row.Left = "unlimited"
		return true
	}
	rest := new(big.Int).Sub(s.given, s.since)
	switch rest.Sign() {
	case 1:
		row.Left = n.tokenAmount(k.token, rest)
	case 0:
		row.Left = "nothing"
	default:
		row.Left = "not known" // the token counts in another way
	}
	return rest.Sign() != 0
}

// tokenAmount writes an amount in whole tokens, or in base units where the decimals are not
// known.
func (n *names) tokenAmount(token api.Addr, raw *big.Int) string {
	switch text := n.inTokens(token, raw.String()); {
	case text != "":
		return text
	case unlimited(raw):
		return "unlimited"
	}
	return amount(api.Decimal{Unscaled: raw}) + " base units"
}
