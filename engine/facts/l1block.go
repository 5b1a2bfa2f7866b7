package facts

import (
	"encoding/binary"

	"txlens/engine/evmsig"
)

// packedL1Number is the offset of the L1 block number in the packed calldata of
// setL1BlockValuesEcotone and its successors: behind the selector, two scalars of 4 bytes,
// and sequence number and time of 8 bytes each.
const packedL1Number = 28

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
