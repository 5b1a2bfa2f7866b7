package evmsig

// messageSends are the published functions that take native coin for the delivery of a message on
// another chain, with the position of the argument that says how much of it is delivered there;
// -1: nothing is.
var messageSends = map[Selector]int{
	Func("send(uint16,bytes,bytes,address,address,bytes)"):                                           -1, // LayerZero v1
	Func("send((uint32,bytes32,bytes,bytes,bool),address)"):                                          -1, // LayerZero v2
	Func("publishMessage(uint32,bytes,uint8)"):                                                       -1, // Wormhole
	Func("ccipSend(uint64,(bytes,bytes,(address,uint256)[],address,bytes))"):                         -1, // Chainlink CCIP
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
