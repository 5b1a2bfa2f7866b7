package assemble

import (
	"math/big"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/label"

	"github.com/ethereum/go-ethereum/common"
)

// TestBonus: what a liquidator gains is told to the hundredth of a per cent, where both
// sides have a price and there is a gain.
func TestBonus(t *testing.T) {
	weth, usdc := common.HexToAddress("0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"), common.HexToAddress("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48")
	dollars := func(n int64) Price {
		return Price{USD: api.Decimal{Unscaled: big.NewInt(n)}, Source: "test", Time: 1}
	}
	f := func(prices map[common.Address]Price, debt, collateral int64, want string) {
		t.Helper()
		ev := evidenceOf(t, 1, `{"type":"CALL",`+head+`,"value":"0x0"}`)
		ev.Tx.Value, ev.Prices, ev.Tokens = new(big.Int), prices, map[common.Address]label.Token{}
		for _, a := range []common.Address{weth, usdc} {
			ev.Tokens[a], _ = label.LookupToken(1, a)
		}
		addLog(ev, to, "LiquidationCall(address,address,address,uint256,uint256,address,bool)", []common.Address{weth, usdc, from}, debt, collateral, 7, 0)
		told := ""
		for _, s := range Result(ev).Steps {
			if strings.Contains(s, "bonus") {
				told = s
			}
		}
		if want == "" && told != "" || !strings.Contains(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	}
	both := map[common.Address]Price{weth: dollars(2000), usdc: dollars(1)}
	f(both, 1_000_000_000, 525_000_000_000_000_000, "worth 1050 USD, 5.00 % more than the 1000 USD of debt repaid")
	f(both, 1_000_000_000, 525_050_000_000_000_000, "5.01 % more")
	f(both, 1_000_000_000, 500_000_000_000_000_000, "") // nothing gained
	f(both, 1_000_000_000, 400_000_000_000_000_000, "") // a loss is no bonus
	f(map[common.Address]Price{weth: dollars(2000)}, 1_000_000_000, 525_000_000_000_000_000, "")
}
