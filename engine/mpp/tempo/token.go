package tempo

import (
	"bytes"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// DEX is the stablecoin exchange on every Tempo chain.
var DEX = common.HexToAddress("0xdec0000000000000000000000000000000000000")

var (
	selectorTransfer  = selectorOf("transfer(address,uint256)")
	selectorApprove   = selectorOf("approve(address,uint256)")
	selectorBalanceOf = selectorOf("balanceOf(address)")
	selectorDecimals  = selectorOf("decimals()")
	selectorSwapOut   = selectorOf("swapExactAmountOut(address,address,uint128,uint128)")

	topicTransfer = eventTopic("Transfer(address,address,uint256)")
)

// tokenPrefix begins the address of every TIP-20 token.
var tokenPrefix = common.FromHex("0x20c000000000000000000000")

// IsToken reports whether a is in the address space of TIP-20 tokens; whether
// the token was created, only the chain knows.
func IsToken(a common.Address) bool { return bytes.HasPrefix(a[:], tokenPrefix) }

// TransferCalldata is a token's transfer.
func TransferCalldata(to common.Address, amount *uint256.Int) []byte {
	return accountAndNumber(selectorTransfer, to, amount)
}

// ApproveCalldata is a token's approve.
func ApproveCalldata(spender common.Address, amount *uint256.Int) []byte {
	return accountAndNumber(selectorApprove, spender, amount)
}

// BalanceOfCalldata is a token's balanceOf.
func BalanceOfCalldata(account common.Address) []byte {
	e := newEncoder(selectorBalanceOf, 1)
	e.address(account)
	return e
}

// DecimalsCalldata is a token's decimals.
func DecimalsCalldata() []byte { return newEncoder(selectorDecimals, 0) }

func accountAndNumber(s selector, account common.Address, v *uint256.Int) []byte {
	e := newEncoder(s, 2)
	e.address(account)
	e.uint256(v)
	return e
}

// DecodeUint256 reads a single number, such as what balanceOf returned.
func DecodeUint256(ret []byte) (uint256.Int, error) {
	d := &decoder{rest: ret}
	v := d.uint256()
	return v, d.end()
}

// Swap is the pair of calls by which a payer buys the deposit with another
// token, in the transaction that pays it in.
type Swap struct {
	TokenIn common.Address
	// MaxIn is below 2^128.
	MaxIn uint256.Int
}

// Calls buys out of token, for at most MaxIn.
func (s Swap) Calls(token common.Address, out Amount) []Call {
	e := newEncoder(selectorSwapOut, 4)
	e.address(s.TokenIn)
	e.address(token)
	e.amount(out)
	e.uint256(&s.MaxIn)
	tokenIn, dex := s.TokenIn, DEX
	return []Call{{To: &tokenIn, Data: ApproveCalldata(DEX, &s.MaxIn)}, {To: &dex, Data: e}}
}

// decodeSwapOut reads the parts of a swap that a payer chooses.
func decodeSwapOut(data []byte) (s Swap, ok bool) {
	if !bytes.HasPrefix(data, selectorSwapOut[:]) {
		return s, false
	}
	d := &decoder{rest: data[4:]}
	s.TokenIn = d.address()
	d.address()
	d.amount()
	s.MaxIn = d.uint256()
	return s, d.end() == nil && s.MaxIn.BitLen() <= 128
}
