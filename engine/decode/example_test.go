package decode_test

import (
	"fmt"

	"txlens/engine/decode"
	"txlens/engine/trace"
)

// A transfer of 25 USDC, as debug_traceTransaction answers with the callTracer.
const transfer = `{"type":"CALL","from":"0x1111111111111111111111111111111111111111","to":"0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48",
	"gas":"0xea60","gasUsed":"0x9c40","value":"0x0",
	"input":"0xa9059cbb000000000000000000000000222222222222222222222222222222222222222200000000000000000000000000000000000000000000000000000000017d7840",
	"output":"0x0000000000000000000000000000000000000000000000000000000000000001"}`

// Without sources of its own a Decoder knows the embedded tables. A name is given only
// when its signature reproduces the calldata byte for byte.
func ExampleDecoder_All() {
	tree, err := trace.ParseCallTracerBytes([]byte(transfer), trace.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	call := decode.New(nil, decode.Sources{}).All(tree, nil).Calls[0]
	fmt.Println(call.Signature, "from", call.Provenance)
	for _, arg := range call.Args {
		fmt.Println(arg.Type, arg.Value)
	}
	// Output:
	// transfer(address,uint256) from curated
	// address 0x2222222222222222222222222222222222222222
	// uint256 25000000
}
