package narrate_test

import (
	"slices"
	"strings"
	"testing"

	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
)

const (
	amount404 = "ERC20Transfer(address,address,uint256)"
	moved     = "Transfer(address,address,uint256)"
	v2Trade   = "Swap(address,uint256,uint256,uint256,uint256,address)"
)

// TestHybrids: a token that has amounts and items burns an item of whoever falls below a whole unit,
// and mints one for whoever reaches it. What was sent is the amount and what went with it.
func TestHybrids(t *testing.T) {
	f := func(name string, s *scene.Scene, want string, steps ...string) {
		t.Helper()
		v := scene.Held(t, name, s.Facts(t))
		if v.Summary != want {
			t.Errorf("%s: %s\nwant %s", name, v.Summary, want)
		}
		for _, step := range steps {
			if !slices.Contains(v.Steps, step) {
				t.Errorf("%s: no step %q in\n%s", name, step, strings.Join(v.Steps, "\n"))
			}
		}
	}
	none := common.Address{}
	send := func() *scene.Scene {
		return scene.New(&scene.Vault, 0, scene.Input("transfer(address,uint256)", scene.Friend, 1500)).
			Log(scene.Vault, amount404, []any{scene.User, scene.Friend}, 1500)
	}
	item := func(s *scene.Scene, from, to common.Address, id int) *scene.Scene {
		return s.Log(scene.Vault, moved, []any{from, to, id})
	}
	const sent = "Sent 1,500 raw units of 0x7a17…7a17"
	f("burnt", item(send(), scene.User, none, 7), sent+" to 0xf00d…f00d; NFT 7 of 0x7a17…7a17 burnt",
		"NFT 7 of 0x7a17…7a17 of 0xa11c…a11c was burnt by the token.")
	f("burnt and minted", item(item(send(), scene.User, none, 7), none, scene.Friend, 9),
		sent+" to 0xf00d…f00d; NFT 7 of 0x7a17…7a17 burnt; NFT 9 of 0x7a17…7a17 minted to 0xf00d…f00d",
		"NFT 9 of 0x7a17…7a17 was minted to 0xf00d…f00d.")
	f("minted", item(send(), none, scene.Friend, 9), sent+" to 0xf00d…f00d; NFT 9 of 0x7a17…7a17 minted to 0xf00d…f00d")
	f("moved and burnt", item(item(send(), scene.User, scene.Friend, 7), scene.User, none, 8),
		"Sent 1,500 raw units of 0x7a17…7a17 and NFT 7 of 0x7a17…7a17 to 0xf00d…f00d; NFT 8 of 0x7a17…7a17 burnt")
	f("moved", item(send(), scene.User, scene.Friend, 7), "Sent 1,500 raw units of 0x7a17…7a17 and NFT 7 of 0x7a17…7a17 to 0xf00d…f00d")
	many := send()
	for id := range 7 {
		item(many, scene.User, none, id)
	}
	f("seven burnt", many, sent+" to 0xf00d…f00d; 7 NFTs of 0x7a17…7a17 (0 … 6) burnt",
		"7 NFTs of 0x7a17…7a17 (0 … 6) of 0xa11c…a11c were burnt by the token.")
	f("minted to two", item(item(send(), none, scene.Friend, 7), none, scene.Bot, 8),
		sent+" to 0xf00d…f00d; NFT 7 of 0x7a17…7a17 and NFT 8 of 0x7a17…7a17 minted to 2 addresses")
	f("another token beside it", item(send(), scene.User, none, 7).Transfer(scene.Usdc, scene.User, scene.Friend, 5_000000),
		"Sent 5 USDC and 1,500 raw units of 0x7a17…7a17 to 0xf00d…f00d; NFT 7 of 0x7a17…7a17 burnt")
	f("two payees", item(send().Log(scene.Vault, amount404, []any{scene.User, scene.Bot}, 5), scene.User, none, 7),
		"Sent 1,505 raw units of 0x7a17…7a17 to 2 addresses; NFT 7 of 0x7a17…7a17 burnt")
	f("amount and item burnt", item(scene.New(&scene.Vault, 0, scene.Input("burn(uint256)", 1500)).Log(scene.Vault, amount404, []any{scene.User, none}, 1500),
		scene.User, none, 7), "Burnt 1,500 raw units of 0x7a17…7a17 and NFT 7 of 0x7a17…7a17", "0xa11c…a11c burnt 1,500 raw units of 0x7a17…7a17.")
	f("item alone", scene.New(&scene.Nft, 0, scene.Input("burn(uint256)", 7)).Log(scene.Nft, moved, []any{scene.User, none, 7}),
		"Burnt NFT 7 of 0x0721…0721", "0xa11c…a11c burnt NFT 7 of 0x0721…0721.")
}

// TestMirroredHybrids: the items of DN-404 are logged by a contract that the token calls. An NFT
// contract that somebody else called is none of the token's.
func TestMirroredHybrids(t *testing.T) {
	f := func(entry common.Address, want string) {
		t.Helper()
		s := scene.New(&entry, 0, scene.Input("transfer(address,uint256)", scene.Friend, 1500)).
			Transfer(scene.Vault, scene.User, scene.Friend, 1500)
		s.Log(scene.Nft, moved, []any{scene.User, common.Address{}, 7})
		mirror := s.Call(entry, scene.Nft, 0, scene.Input("logTransfer(uint256[])"))
		n := len(s.Root.Logs)
		mirror.Logs, s.Root.Logs = s.Root.Logs[n-1:], s.Root.Logs[:n-1]
		if got := scene.Held(t, "", s.Facts(t)).Summary; got != want {
			t.Errorf("%s: %s\nwant %s", entry, got, want)
		}
	}
	f(scene.Vault, "Sent 1,500 raw units of 0x7a17…7a17 to 0xf00d…f00d; NFT 7 of 0x0721…0721 burnt")
	f(scene.Router, "Sent 1,500 raw units of 0x7a17…7a17 to 0xf00d…f00d; NFT 7 of 0x0721…0721 burnt")
}

// TestHybridTrades: who trades amounts trades no NFT, and items that came or went with them are told.
func TestHybridTrades(t *testing.T) {
	f := func(name string, s *scene.Scene, want string) {
		t.Helper()
		if v := scene.Held(t, name, s.Facts(t)); v.Summary != want || v.SubType != "" {
			t.Errorf("%s: %q %s\nwant %s", name, v.SubType, v.Summary, want)
		}
	}
	none := common.Address{}
	trade := func() *scene.Scene {
		return scene.New(&scene.Router, 0, scene.Input("swapExactTokensForTokens(uint256,uint256,address[],address,uint256)")).
			Known(scene.Router, "Router", "router", "uniswap_v2")
	}
	bought := trade().Transfer(scene.Usdc, scene.User, scene.Pool1, 9_000000).Log(scene.Vault, amount404, []any{scene.Pool1, scene.User}, 1500).
		Log(scene.Pool1, v2Trade, []any{scene.Router, scene.User}, 9_000000, 0, 0, 1500)
	f("minted", bought.Log(scene.Vault, moved, []any{none, scene.User, 9}).Log(scene.Vault, moved, []any{scene.Pool1, none, 3}),
		"Swapped 9 USDC for 1,500 raw units of 0x7a17…7a17 on Uniswap v2; NFT 9 of 0x7a17…7a17 minted")
	sold := trade().Log(scene.Vault, amount404, []any{scene.User, scene.Pool1}, 1500).Transfer(scene.Usdc, scene.Pool1, scene.User, 9_000000).
		Log(scene.Pool1, v2Trade, []any{scene.Router, scene.User}, 1500, 0, 0, 9_000000)
	f("burnt", sold.Log(scene.Vault, moved, []any{scene.User, none, 9}),
		"Swapped 1,500 raw units of 0x7a17…7a17 for 9 USDC on Uniswap v2; NFT 9 of 0x7a17…7a17 burnt")
	moves := trade().Transfer(scene.Usdc, scene.User, scene.Pool1, 9_000000).Log(scene.Vault, amount404, []any{scene.Pool1, scene.User}, 1500).
		Log(scene.Vault, moved, []any{scene.Pool1, scene.User, 9}).Log(scene.Pool1, v2Trade, []any{scene.Router, scene.User}, 9_000000, 0, 0, 1500)
	f("minted to another", trade().Transfer(scene.Usdc, scene.User, scene.Pool1, 9_000000).Log(scene.Vault, amount404, []any{scene.Pool1, scene.User}, 1500).
		Log(scene.Pool1, v2Trade, []any{scene.Router, scene.User}, 9_000000, 0, 0, 1500).Log(scene.Vault, moved, []any{none, scene.Friend, 9}), "Swapped 9 USDC for 1,500 raw units of 0x7a17…7a17 on Uniswap v2")
	f("burnt of another", trade().Log(scene.Vault, amount404, []any{scene.User, scene.Pool1}, 1500).Transfer(scene.Usdc, scene.Pool1, scene.User, 9_000000).
		Log(scene.Pool1, v2Trade, []any{scene.Router, scene.User}, 1500, 0, 0, 9_000000).Log(scene.Vault, moved, []any{scene.Friend, none, 9}), "Swapped 1,500 raw units of 0x7a17…7a17 for 9 USDC on Uniswap v2")
	f("moved and minted", trade().Transfer(scene.Usdc, scene.User, scene.Pool1, 9_000000).Log(scene.Vault, amount404, []any{scene.Pool1, scene.User}, 1500).
		Log(scene.Vault, moved, []any{scene.Pool1, scene.User, 9}).Log(scene.Vault, moved, []any{none, scene.User, 10}).
		Log(scene.Pool1, v2Trade, []any{scene.Router, scene.User}, 9_000000, 0, 0, 1500), "Swapped 9 USDC for 1,500 raw units of 0x7a17…7a17 and NFT 9 of 0x7a17…7a17 on Uniswap v2; NFT 10 of 0x7a17…7a17 minted")
	f("moved", moves, "Swapped 9 USDC for 1,500 raw units of 0x7a17…7a17 and NFT 9 of 0x7a17…7a17 on Uniswap v2")
}
