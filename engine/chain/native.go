package chain

import "github.com/ethereum/go-ethereum/common"

const (
	idPolygon   = 137
	idFraxtal   = 252
	idMetis     = 1088
	idMoonbeam  = 1284
	idMoonriver = 1285
	idKaia      = 8217
	idCelo      = 42220
	idBoba      = 288
)

// era is what the native coin was called before until (Unix seconds).
type era struct {
	until     uint64
	coin      Coin
	coingecko string
}

// eras holds the chains whose native coin was renamed or exchanged.
var eras = map[uint64]era{
	idPolygon: {1725408000, Coin{"MATIC", "Matic", 18}, "matic-network"},    // 2024-09-04, POL upgrade
	idKaia:    {1724889600, Coin{"KLAY", "Klaytn", 18}, "klay-token"},       // 2024-08-29, Kaia launch
	idFraxtal: {1745884800, Coin{"frxETH", "Frax Ether", 18}, "frax-ether"}, // 2025-04-29, North Star
}

// NativeAt is the native coin under the name it had at a time (Unix seconds).
func (c *Chain) NativeAt(unix uint64) Coin {
	if e, ok := eras[c.ID]; ok && unix < e.until {
		return e.coin
	}
	return c.Native
}

// CoingeckoAt is the CoinGecko id of the native coin at a time, empty when unknown.
func (c *Chain) CoingeckoAt(unix uint64) string {
	if e, ok := eras[c.ID]; ok && unix < e.until {
		return e.coingecko
	}
	return c.CoingeckoID
}

// nativeToken is the contract under which the native coin is a token too. A log
// of it and the value of a call may be the same movement: count it once.
func nativeToken(id uint64, s Stack) *common.Address {
	switch {
	case s == StackZkSync: // L2BaseToken: a Transfer log for every move, fees included
		return address("0x000000000000000000000000000000000000800a")
	case id == idPolygon: // MRC20: LogTransfer and LogFeeTransfer for every move
		return address("0x0000000000000000000000000000000000001010")
	case id == idCelo: // GoldToken: Transfer logs only for moves made through it
		return address("0x471EcE3750Da237f93B8E339c536989b8978a438")
	case id == idMetis, id == idBoba: // OVM_ETH of the first OVM
		return address("0xDeadDeAddeAddEAddeadDEaDDEaDDeaDDeAD0000")
	case id == idMoonbeam, id == idMoonriver: // native ERC-20 precompile
		return address("0x0000000000000000000000000000000000000802")
	}
	return nil
}
