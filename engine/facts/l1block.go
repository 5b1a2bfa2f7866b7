package facts

import (
	"encoding/binary"

	"txlens/engine/evmsig"
)

// Functions by which an OP-stack rollup takes in what it needs to know of the chain below.
var (
	selL1Values    = evmsig.Func("setL1BlockValues(uint64,uint64,uint256,bytes32,uint64,bytes32,uint256,uint256)")
	selL1Ecotone   = evmsig.Func("setL1BlockValuesEcotone()")
	selL1Isthmus   = evmsig.Func("setL1BlockValuesIsthmus()")
	packedL1Number = 28 // selector, two scalars of 4 bytes, sequence number and time of 8 bytes
)

// L1Block is the number of the block of the chain below that the calldata of a rollup's
// system transaction names.
func L1Block(input []byte) (uint64, bool) {
	switch evmsig.Called(input) {
	case selL1Values:
		if w := evmsig.Word(input[4:], 0); w != nil && AllZero(w[:24]) {
			return binary.BigEndian.Uint64(w[24:]), true
		}
	case selL1Ecotone, selL1Isthmus:
		if len(input) >= packedL1Number+8 {
			return binary.BigEndian.Uint64(input[packedL1Number:]), true
		}
	}
	return 0, false
}
