package mpp

import (
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"github.com/ethereum/go-ethereum/common"
)

// Source names the payer of a credential: did:pkh:eip155:<chainId>:<address>.
type Source struct {
	ChainID uint64
	Address common.Address
}

const sourcePrefix = "did:pkh:eip155:"

var errSource = errors.New("source is not did:pkh:eip155:<chainId>:<0x address>")

// ParseSource reads a source; the chain id is decimal without leading zeros.
func ParseSource(s string) (src Source, err error) {
	rest, ok := strings.CutPrefix(s, sourcePrefix)
	chain, address, both := strings.Cut(rest, ":")
	if !ok || !both || len(chain) > 16 || chain == "" || chain[0] < '1' || chain[0] > '9' {
		return Source{}, errSource
	}
	if src.ChainID, err = strconv.ParseUint(chain, 10, 53); err != nil {
		return Source{}, errSource
	}
	digits, ok := strings.CutPrefix(address, "0x")
	if !ok || len(digits) != 2*len(src.Address) {
		return Source{}, errSource
	}
	if _, err := hex.Decode(src.Address[:], []byte(digits)); err != nil {
		return Source{}, errSource
	}
	return src, nil
}

// String is the source as a credential carries it. Its address is checksummed
// (EIP-55), as the method did:pkh asks.
func (s Source) String() string {
	return sourcePrefix + strconv.FormatUint(s.ChainID, 10) + ":" + s.Address.Hex()
}
