package evmsig

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
)

// messageEvent is the layout of an event of a messenger that says which token its fee was paid in:
// the words of the data with the token, the amount and who sent the message. -1: it does not say.
type messageEvent struct {
	token, amount, sender int
	carried               int // word of the offset of the tokens that the message carries
	each                  int // words of one of them; 0: each is behind an offset of its own
	at                    int // word of the amount in one of them
}

// messageEvents are those of CCIP, whose data is one tuple behind an offset, and of Axelar.
var messageEvents = map[common.Hash]messageEvent{
	Hash("CCIPSendRequested((uint64,uint64,uint256,address,uint64,uint256,bool,address,bytes,(address,uint256)[],address,bytes32))"):         {11, 3, 4, 10, 2, 1},
	Hash("CCIPSendRequested((uint64,address,address,uint64,uint256,bool,uint64,address,uint256,bytes,(address,uint256)[],bytes[],bytes32))"): {8, 9, 2, 11, 2, 1},
	Hash("CCIPMessageSent(uint64,uint64,((bytes32,uint64,uint64,uint64,uint64),address,bytes,bytes,bytes,address,uint256,uint256,(address,bytes,bytes,uint256,bytes)[]))"): {
		10, 11, 6, 13, 0, 3},
	Hash("GasPaidForContractCall(address,string,string,bytes32,address,uint256,address)"):                         {2, 3, -1, -1, 0, 0},
	Hash("GasPaidForContractCallWithToken(address,string,string,bytes32,string,uint256,address,uint256,address)"): {4, 5, -1, -1, 0, 0},
}

// MessageFee is the fee in a token that the log of a messenger tells of, and who sent the message;
// the zero address where it does not say.
func MessageFee(topics []common.Hash, data []byte) (token, sender common.Address, amount *big.Int, ok bool) {
	if len(topics) == 0 {
		return token, sender, nil, false
	}
	e, known := messageEvents[topics[0]]
	if !known {
		return token, sender, nil, false
	}
	if token, ok = Address(Word(data, e.token)); ok && e.sender >= 0 {
		sender, ok = Address(Word(data, e.sender))
	}
	amount = Uint(data, e.amount)
	return token, sender, amount, ok && amount != nil && amount.Sign() > 0
}

// MessageCarries are the amounts of the tokens that the message of a log carries to the other chain.
func MessageCarries(topics []common.Hash, data []byte) (amounts []*big.Int) {
	if len(topics) == 0 || len(data) < wordSize {
		return nil
	}
	e, known := messageEvents[topics[0]]
	if !known || e.carried < 0 {
		return nil
	}
	tuple := data[wordSize:]
	tail, ok := Tail(tuple, e.carried-1)
	if !ok || len(tail) < wordSize {
		return nil
	}
	body := tail[wordSize:]
	n, ok := Length(tail[:wordSize], len(body)/wordSize)
	for i := 0; ok && i < n; i++ {
		one := body
		if e.each > 0 {
			one = body[min(len(body), i*e.each*wordSize):]
		} else if one, ok = Tail(body, i); !ok {
			break
		}
		if amount := Uint(one, e.at); amount != nil {
			amounts = append(amounts, amount)
		}
	}
	return amounts
}

// SelCCIPSend sends a message over CCIP to the chain that its first argument numbers.
var SelCCIPSend = Func("ccipSend(uint64,(bytes,bytes,(address,uint256)[],address,bytes))")

// messageSends are the published functions that take native coin for the delivery of a message on
// another chain, with the position of the argument that says how much of it is delivered there;
// -1: nothing is.
var messageSends = map[Selector]int{
	Func("send(uint16,bytes,bytes,address,address,bytes)"):  -1, // LayerZero v1
	Func("send((uint32,bytes32,bytes,bytes,bool),address)"): -1, // LayerZero v2
	Func("publishMessage(uint32,bytes,uint8)"):              -1, // Wormhole
	SelCCIPSend: -1, // Chainlink CCIP
	Func("payNativeGasForContractCall(address,string,string,bytes,address)"):                         -1, // Axelar
	Func("payNativeGasForContractCallWithToken(address,string,string,bytes,string,uint256,address)"): -1,
	Func("payNativeGasForExpressCall(address,string,string,bytes,address)"):                          -1,
	Func("payNativeGasForExpressCallWithToken(address,string,string,bytes,string,uint256,address)"):  -1,
	Func("payGas(address,string,string,bytes,uint256,bool,address,bytes)"):                           -1,
	Func("addNativeGas(bytes32,uint256,address)"):                                                    -1,
	Func("dispatch(uint32,bytes32,bytes)"):                                                           -1, // Hyperlane
	Func("dispatch(uint32,bytes32,bytes,bytes)"):                                                     -1,
	Func("dispatch(uint32,bytes32,bytes,bytes,address)"):                                             -1,
	Func("payForGas(bytes32,uint32,uint256,address)"):                                                -1,
	Func("createRetryableTicket(address,uint256,uint256,address,address,uint256,uint256,bytes)"):     1, // Arbitrum
}

// MessageSend reports whether calldata sends a message to another chain for native coin, and which
// argument says how much of that coin is delivered there; -1: none does.
func MessageSend(input []byte) (delivered int, sends bool) {
	if len(input) < len(Selector{}) {
		return 0, false
	}
	delivered, sends = messageSends[Selector(input[:len(Selector{})])]
	return delivered, sends
}
