package label

import (
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

func TestStablecoin(t *testing.T) {
	f := func(chainID uint64, a string, want string) {
		t.Helper()
		got, ok := Stablecoin(chainID, common.HexToAddress(a))
		if ok != (want != "") || ok && (got.Symbol != want || got.Decimals == nil) {
			t.Errorf("%d %s: %+v, %v, want %s", chainID, a, got, ok, want)
		}
	}
	f(1, "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", "USDC")
	f(1, "0xdac17f958d2ee523a2206206994597c13d831ec7", "USDT")
	f(1, "0x6b175474e89094c44da98b954eedeac495271d0f", "DAI")
	f(10, "0x0b2c639c533813f4aa9d7837caf62653d097ff85", "USDC")
	f(10, "0x7f5c764cbc14f9669b88837ca1490cca17c31607", "USDC.e")
	f(56, "0x55d398326f99059ff775485246999027b3197955", "USDT")
	f(100, "0xe91d153e0b41518a2ce8dd3d7944fa863463a97d", "WXDAI")
	f(137, "0xc2132d05d31c914a87c6611c10748aeb04b58e8f", "USDT0")
	f(137, "0x2791bca1f2de4661ed88a30c99a7a9449aa84174", "USDC.e")
	f(42161, "0xff970a61a04b1ca14834a43f5de4533ebddb5cc8", "USDC.e")
	f(137, "0x3c499c542cef5e3811e1192ce70d8cc03d5c3359", "USDC")
	f(130, "0x078d782b760474a361dda0af3839290b0ef57ad6", "USDC")
	f(143, "0x754704bc059f8c67012fed69bc8a327a5aafb603", "USDC")
	f(480, "0x79a02482a880bce3f13e09da970dc34db4cd24d1", "USDC")
	f(999, "0xb8ce59fc3717ada4c02eadf9682a9e934f625ebb", "USDT0")
	f(1329, "0xe15fc38f6d8c56af07bbcbe3baf5708a2bf42392", "USDC")
	f(1, "0x8d0d000ee44948fc98c9b98a4fa4921476f08b0d", "USD1")
	f(56, "0x8d0d000ee44948fc98c9b98a4fa4921476f08b0d", "USD1")
	f(1, "0xdc035d45d973e3ec169d2276ddab16f1e407384f", "USDS")
	f(1, "0x6c3ea9036406852006290770bedfcaba0e23a0e8", "PYUSD")
	f(4217, "0x20c0000000000000000000000000000000000000", "pathUSD")
	f(4217, "0x20c0000000000000000000006a37da5c996874be", "OUSD")
	f(4217, "0x20c000000000000000000000b9537d11c60e8b50", "USDC.e")
	f(43114, "0xa7d7079b0fead91f3e65f86e8915cb59c1a4c664", "USDC.e")
	f(8453, "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913", "USDC")
	f(42161, "0xaf88d065e77c8cc2239327c5edb3a432268e5831", "USDC")
	f(534352, "0x06efdbff2a14a7c8e15944d1f4a48f9f95f663a4", "USDC")
	f(56, "0x524bc91dc82d6b90ef29f76a3ecaabafffd490bc", "") // a USDT of a bridge, from another list
	f(1, "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2", "")
	f(1, "0x0000000000000000000000000000000000000000", "")
}

// TestKeysOfTheAddressBook: the constants of Aave's address book are not shown for symbols.
func TestKeysOfTheAddressBook(t *testing.T) {
	for _, id := range []uint64{1, 10, 100, 137, 1868, 42161, 43114, 4326, 9745} {
		rows := 0
		all := tokens()
		for i, end := all.Rows(id); i < end; i++ {
			tok, ok := LookupToken(id, all.Address(i))
			if !ok || tok.Source != stablecoinSource {
				continue
			}
			rows++
			switch tok.Symbol {
			case "USDCn", "ONE_INCH", "BTCb", "AAVEe", "DAIe", "LINKe", "USDCe", "USDTe", "WBTCe", "WETHe":
				t.Errorf("%d %s: %s", id, tok.Address, tok.Symbol)
			}
			if strings.Contains(tok.Symbol, "_") {
				t.Errorf("%d %s: %s", id, tok.Address, tok.Symbol)
			}
		}
		if rows == 0 {
			t.Errorf("%d: no token of the address book", id)
		}
	}
}
