package label

import (
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
	f(10, "0x0b2c639c533813f4aa9d7837caf62653d097ff85", "USDCn")
	f(10, "0x7f5c764cbc14f9669b88837ca1490cca17c31607", "USDC")
	f(56, "0x55d398326f99059ff775485246999027b3197955", "USDT")
	f(100, "0xe91d153e0b41518a2ce8dd3d7944fa863463a97d", "WXDAI")
	f(137, "0xc2132d05d31c914a87c6611c10748aeb04b58e8f", "USDT0")
	f(8453, "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913", "USDC")
	f(42161, "0xaf88d065e77c8cc2239327c5edb3a432268e5831", "USDCn")
	f(534352, "0x06efdbff2a14a7c8e15944d1f4a48f9f95f663a4", "USDC")
	f(56, "0x524bc91dc82d6b90ef29f76a3ecaabafffd490bc", "") // a USDT of a bridge, from another list
	f(1, "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2", "")
	f(1, "0x0000000000000000000000000000000000000000", "")
}
