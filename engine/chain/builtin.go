package chain

import (
	"encoding/binary"

	"github.com/ethereum/go-ethereum/common"
)

// numbered splits an address of the form <prefix>00..00<four bytes>.
func numbered(prefix byte, a common.Address) (uint32, bool) {
	if a[0] != prefix {
		return 0, false
	}
	for _, b := range a[1:16] {
		if b != 0 {
			return 0, false
		}
	}
	return binary.BigEndian.Uint32(a[16:]), true
}

// precompiled is the name that a stack gives a low address, else Ethereum's.
func precompiled(names map[uint32]string, a common.Address) (Builtin, bool) {
	if n, ok := numbered(0, a); ok && names[n] != "" {
		return Builtin{names[n], "precompile"}, true
	}
	return Precompile(a)
}

// predeployed is a contract at an address with the stack's prefix, else one of
// Ethereum's precompiles.
func predeployed(prefix byte, list map[uint32]Builtin, a common.Address) (Builtin, bool) {
	if n, ok := numbered(prefix, a); ok {
		b, ok := list[n]
		return b, ok
	}
	return Precompile(a)
}
