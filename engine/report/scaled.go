package report

import (
	"math/big"

	"txlens/engine/api"
)

// amountArgs are the functions and events of ERC-20 whose argument at the given place is an
// amount of the token itself.
var amountArgs = map[string]int{
	"transfer(address,uint256)":             1,
	"transferFrom(address,address,uint256)": 2,
	"approve(address,uint256)":              1,
	"increaseAllowance(address,uint256)":    1,
	"decreaseAllowance(address,uint256)":    1,
	"Transfer(address,address,uint256)":     2,
	"Approval(address,address,uint256)":     2,
}

// returns are the functions of ERC-20 whose result is one word, and what the word is.
var returns = map[string]struct {
	name   string
	amount bool // of the token itself; otherwise a boolean
}{
	"balanceOf(address)":                    {"balance", true},
	"totalSupply()":                         {"total supply", true},
	"allowance(address,address)":            {"allowance", true},
	"transfer(address,uint256)":             {"success", false},
	"transferFrom(address,address,uint256)": {"success", false},
	"approve(address,uint256)":              {"success", false},
}

// tokenUnit is how amounts of an ERC-20 token are written.
type tokenUnit struct{ symbol, decimals string }

// tokenUnits are the ERC-20 tokens of a result whose decimals are known.
func (n *names) tokenUnits(r *api.Result) map[api.Addr]tokenUnit {
	out := map[api.Addr]tokenUnit{}
	for i := range r.TokenTransfers {
		t := &r.TokenTransfers[i]
		if _, known := units("0", t.Decimals); known && t.Type == "erc20" && t.TokenID == "" {
			out[t.TokenAddress] = tokenUnit{n.symbol(t.TokenSymbol, t.TokenAddress), t.Decimals}
		}
	}
	return out
}

// tokenOf is the contract in whose name a line of the call tree speaks.
func tokenOf(node *api.Node) api.Addr {
	if node.Type == "LOG" || node.Type == "DELEGATECALL" || node.To == nil {
		return node.From
	}
	return *node.To
}

// signature is that of the event of a log, of the function of a frame.
func signature(node *api.Node) string {
	if node.Type != "LOG" {
		return node.FunctionSignature
	}
	if node.EventSignature == nil {
		return ""
	}
	return *node.EventSignature
}

// unlimited reports whether an allowance is one that no use exhausts: 2^255 and more, or the
// largest 96-bit number, which tokens with smaller allowances take for the same.
func unlimited(n *big.Int) bool {
	return n.BitLen() >= 256 || n.BitLen() == 96 && n.TrailingZeroBits() == 0 && new(big.Int).Add(n, big.NewInt(1)).BitLen() == 97
}

// scaledArg writes the argument at place i in whole tokens; empty where it is no amount of a
// token that is known with its decimals.
func (n *names) scaledArg(node *api.Node, i int) string {
	raw, isText := node.DecodedArgs[i].Value.(string)
	if !isText {
		return ""
	}
	if at, ok := amountArgs[signature(node)]; ok {
		if at != i {
			return ""
		}
		return n.inTokens(tokenOf(node), raw)
	}
	return n.poolAmount(node, i, raw)
}

// inTokens writes base units of a token in whole tokens, empty when it has no known decimals.
func (n *names) inTokens(token api.Addr, raw string) string {
	unit, ok := n.units[token]
	if !ok {
		return ""
	}
	d, ok := units(raw, unit.decimals)
	switch {
	case !ok:
		return ""
	case unlimited(d.Unscaled):
		return "unlimited " + unit.symbol
	}
	return amount(d) + " " + unit.symbol
}

// returned is what a frame gave back: the result of a function of ERC-20, the values of a
// known ABI by name, else the data; nothing where there is none.
func (n *names) returned(node *api.Node, most int) []arg {
	if node.Type == "LOG" || len(node.Output) == 0 {
		return nil
	}
	known, ok := returns[node.FunctionSignature]
	switch {
	case node.Status == api.NodeFailed:
		return []arg{outputData(node)}
	case ok && len(node.Output) == 32:
		return []arg{n.returnedWord(node, known.name, known.amount)}
	case len(node.DecodedOutput) > 0:
		return n.returnedValues(node, most)
	}
	return []arg{outputData(node)}
}

// returnedWord is the result of a function of ERC-20.
func (n *names) returnedWord(node *api.Node, name string, amount bool) arg {
	word := new(big.Int).SetBytes(node.Output)
	if amount {
		return arg{Name: name, Value: word.String(), Scaled: n.inTokens(tokenOf(node), word.String())}
	}
	if word.Sign() == 0 {
		return arg{Name: name, Value: "false"}
	}
	return arg{Name: name, Value: "true"}
}

// returnedValues are the values of a known ABI; one without a name has its type.
func (n *names) returnedValues(node *api.Node, most int) (list []arg) {
	for _, a := range head(node.DecodedOutput, most) {
		name := api.OneLine(a.Name, 40)
		if name == "" {
			name = api.OneLine(a.Type, 60)
		}
		list = append(list, arg{Name: name, Value: n.value(a.Value, 2)})
	}
	return list
}

func outputData(node *api.Node) arg {
	text := api.Hex(head(node.Output, maxFrameOutput)).String()
	if more := len(node.Output) - maxFrameOutput; more > 0 {
		text += " and " + api.Count(more, "more byte")
	}
	return arg{Name: "data", Value: text}
}
