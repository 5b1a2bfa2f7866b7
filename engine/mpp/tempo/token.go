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

func accountAndNumber(s selector, account common.Address, v *uint256.Int) []byte {
	e := newEncoder(s, 2)
	e.address(account)
	e.uint256(v)
	return e
}

// DecodeTransferCall reads a token's transfer, strictly.
func DecodeTransferCall(data []byte) (to common.Address, amount uint256.Int, err error) {
	return decodeAccountAndNumber(selectorTransfer, data)
}

// DecodeApproveCall reads a token's approve, strictly.
func DecodeApproveCall(data []byte) (spender common.Address, amount uint256.Int, err error) {
	return decodeAccountAndNumber(selectorApprove, data)
}

func decodeAccountAndNumber(s selector, data []byte) (account common.Address, v uint256.Int, err error) {
	if !bytes.HasPrefix(data, s[:]) {
		return account, v, ErrUnknownFunction
	}
	d := &decoder{rest: data[4:]}
	account, v = d.address(), d.uint256()
	return account, v, d.end()
}

// DecodeBalanceOfCall reads a token's balanceOf, strictly.
func DecodeBalanceOfCall(data []byte) (account common.Address, err error) {
	if !bytes.HasPrefix(data, selectorBalanceOf[:]) {
		return account, ErrUnknownFunction
	}
	d := &decoder{rest: data[4:]}
	account = d.address()
	return account, d.end()
}

// DecodeUint256 reads a single number, such as what balanceOf returned.
func DecodeUint256(ret []byte) (uint256.Int, error) {
	d := &decoder{rest: ret}
	v := d.uint256()
	return v, d.end()
}

// Transfer is a token's event.
type Transfer struct {
	From, To common.Address
	Amount   uint256.Int
}

// Log is the event's topics and data.
func (t Transfer) Log() ([]common.Hash, []byte) {
	var e encoder
	e.uint256(&t.Amount)
	return []common.Hash{topicTransfer, common.BytesToHash(t.From[:]), common.BytesToHash(t.To[:])}, e
}

// DecodeTransfer reads a token's Transfer log. The error is ErrUnknownEvent or
// ErrABI.
func DecodeTransfer(topics []common.Hash, data []byte) (Transfer, error) {
	if len(topics) != 3 || topics[0] != topicTransfer {
		return Transfer{}, ErrUnknownEvent
	}
	d := &decoder{rest: append(append(topics[1].Bytes(), topics[2][:]...), data...)}
	t := Transfer{From: d.address(), To: d.address(), Amount: d.uint256()}
	return t, d.end()
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
