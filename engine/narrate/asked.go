package narrate

import (
	"math/big"
	"strings"

	"txlens/engine/evmsig"
	"txlens/engine/facts"
	"txlens/engine/flow"

	"github.com/ethereum/go-ethereum/common"
)

// sayTransferCall reads the transaction as a token call that moves or allows tokens: "send 5 PNK
// to ...".
func (a Words) sayTransferCall() string {
	return a.sayTokenCall(a.Sender, *a.Tx.To, a.Tx.Input)
}

// sayTokenCall says what a call of a token by an account asks for; empty where that is not known.
func (a Words) sayTokenCall(who, token common.Address, in []byte) string {
	if len(in) < 4 {
		return ""
	}
	word := func(i int) common.Address {
		x, _ := evmsig.Address(evmsig.Word(in[4:], i))
		return x
	}
	say := func(amount int) string {
		w := evmsig.Word(in[4:], amount)
		if w == nil {
			return ""
		}
		return a.Amount(facts.FungibleKey(token), new(big.Int).SetBytes(w))
	}
	if a.Token(token).Symbol == "" || a.Token(token).Decimals == nil {
		return "" // it may be an NFT
	}
	switch evmsig.Called(in) {
	case evmsig.SelTransfer:
		if n := say(1); n != "" {
			return "send " + n + " to " + a.Who(word(0))
		}
	case evmsig.SelTransferFrom:
		if n := say(2); n != "" {
			return "send " + n + " from " + a.Who(word(0)) + " to " + a.Who(word(1))
		}
	case evmsig.SelIncreaseAllowance, evmsig.SelIncreaseApproval:
		if n := say(1); n != "" {
			return "raise the allowance of " + a.Who(word(0)) + " by " + n
		}
	case evmsig.SelDecreaseAllowance, evmsig.SelDecreaseApproval:
		if n := say(1); n != "" {
			return "reduce the allowance of " + a.Who(word(0)) + " by " + n
		}
	case evmsig.SelApprove:
		if n := say(1); n != "" {
			g := facts.Grant{Owner: who, Spender: word(0), Token: token, Amount: new(big.Int).SetBytes(evmsig.Word(in[4:], 1))}
			g.Revoke = g.Amount.Sign() == 0
			return strings.Replace(strings.Replace(a.sayGrant(&g), "allowed ", "allow ", 1), "revoked ", "revoke ", 1)
		}
	}
	return ""
}

// sayAsked says what a call that an account is to make asks for: "send 1 ETH to ...".
func (a Words) sayAsked(who common.Address, c *facts.InnerCall) string {
	coin := c.Value != nil && c.Value.Sign() > 0
	s := a.sayTokenCall(who, c.To, c.Input)
	switch {
	case len(c.Input) < 4 && (coin || len(c.Input) == 0):
		s, coin = "send "+a.Amount(flow.TokenKey{}, orZero(c.Value))+" to "+a.Who(c.To), false
	case len(c.Input) < 4:
		s = "call " + a.Who(c.To)
	case s == "":
		s = "call " + a.functionIn(c.Input) + " of " + a.Who(c.To)
	}
	if coin {
		s += " with " + a.Amount(flow.TokenKey{}, c.Value)
	}
	return s
}

func orZero(n *big.Int) *big.Int {
	if n == nil {
		return new(big.Int)
	}
	return n
}
