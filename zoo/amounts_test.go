package zoo

import (
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/math"
	"github.com/holiman/uint256"
)

// maxUint is the largest word: an allowance without a limit.
var maxUint = math.MaxBig256

// units reads a decimal number of whole tokens as base units.
func units(whole string, decimals int) *big.Int {
	head, tail, _ := strings.Cut(whole, ".")
	n, ok := new(big.Int).SetString(head+tail+strings.Repeat("0", decimals-len(tail)), 10)
	if !ok {
		panic("no number: " + whole)
	}
	return n
}

// ether is units of the native coin, and of most tokens.
func ether(whole string) *big.Int { return units(whole, 18) }

// usd is units of USDC.
func usd(whole string) *big.Int { return units(whole, 6) }

func unsigned(n *big.Int) *uint256.Int { return uint256.MustFromBig(n) }

// word is an address or a number as one word of ABI.
func word(v any) []byte {
	switch v := v.(type) {
	case common.Address:
		return common.LeftPadBytes(v[:], 32)
	case *big.Int:
		return math.U256Bytes(new(big.Int).Set(v))
	case int:
		return math.U256Bytes(big.NewInt(int64(v)))
	case common.Hash:
		return v[:]
	}
	panic("no word")
}
