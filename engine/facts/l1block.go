package facts

import (
	"encoding/binary"

	"txlens/engine/evmsig"
)

// Functions by which an OP-stack rollup takes in what it needs to know of the chain below.
const packedL1Number = 28 // selector, two scalars of 4 bytes, sequence number and time of 8 bytes

// L1Block is the number of the block of the chain below that the calldata of a rollup's
// system transaction names.
func L1Block(input []byte) (uint64, bool) {
	switch evmsig.Called(input) {
	case evmsig.SelSetL1BlockValues:
		if w := evmsig.Word(input[4:], 0); w != nil && AllZero(w[:24]) {
			return binary.BigEndian.Uint64(w[24:]), true
		}
	case evmsig.SelSetL1BlockValuesEcotone, evmsig.SelSetL1BlockValuesIsthmus:
		if len(input) >= packedL1Number+8 {
			return binary.BigEndian.Uint64(input[packedL1Number:]), true
		}
	}
	return 0, false
}
