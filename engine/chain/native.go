package chain

const (
	idPolygon = 137
	idFraxtal = 252
	idKaia    = 8217
)

// era is the name of the native coin until a time (Unix seconds).
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

// FeeRatio reports whether transactions may split their fee between a fee payer and the sender,
// by a percentage (docs.kaia.io, partial fee delegation).
func (c *Chain) FeeRatio() bool { return c.ID == idKaia }
