package classify

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/decode"
	"txlens/engine/ethrpc"
	"txlens/engine/label"

	"github.com/ethereum/go-ethereum/common"
)

// TestSummariesClaimOnlyWhatIsShown: a name of a function is no proof of what it did,
// and what crossed, was minted or was traded stands at whoever it happened to.
func TestSummariesClaimOnlyWhatIsShown(t *testing.T) {
	f := func(name string, s *scene, sub, want string) {
		t.Helper()
		if v := judge(s.facts(t)); v.Summary != want || v.SubType != sub {
			t.Errorf("%s: %q\n  %s\nwant %q\n  %s", name, v.SubType, v.Summary, sub, want)
		}
	}
	zero := common.Address{}
	f("transfer without a log", newScene(at(vault), 0, input("transfer(address,uint256)", friend, 5)), "",
		"Called function 0xa9059cbb of 0x7a17…7a17, which recorded no movement of tokens")
	f("mint for a customer", newScene(at(usdc), 0, input("mint(address,uint256)", friend, 66_000000)).transfer(usdc, zero, friend, 66_000000), "mint",
		"Minted 66 USDC to 0xf00d…f00d")
	f("range of NFTs", newScene(at(nft), 0, input("mint(address,uint256)", friend, 100)).
		log(nft, "ConsecutiveTransfer(uint256,uint256,address,address)", []any{0, zero, friend}, 99), "mint",
		"Minted 100 NFTs of 0x0721…0721 (0 … 99) to 0xf00d…f00d")
	f("bot with a vault", newScene(at(bot), 9, nil2()).transfer(usdc, vault, pool1, 7_000000).transfer(weth, pool1, vault, 5).
		log(pool1, v2Swap, []any{bot, vault}, 7_000000, 0, 0, 5), "",
		"Swapped 7 USDC for 0.000000000000000005 WETH, by contract 0x7a17…7a17")
	f("coin beside what crosses", withMove(newScene(at(vault), 2_000000, nil2()), nil).transfer(usdc, user, vault, 1_000000).
		log(vault, "V3FundsDeposited(address,address,uint256,uint256,uint256,uint32,uint32,uint32,uint32,address,address,address,bytes)", []any{10, 1, user}), "send",
		"Bridged 1 USDC over Across, along with 0.000000000002 ETH")
	f("bought and bridged", withMove(newScene(at(router), 9_000000, nil2()), nil).transfer(usdc, pool1, router, 1_000000).transfer(usdc, router, vault, 1_000000).
		log(vault, "V3FundsDeposited(address,address,uint256,uint256,uint256,uint32,uint32,uint32,uint32,address,address,address,bytes)", []any{10, 1, user}), "send",
		"Bridged 1 USDC over Across, paid for with 0.000000000009 ETH")
	f("share of an unknown pool", newScene(at(router), 0, nil2()).transfer(vault, user, vault, 10).transfer(vault, vault, zero, 10).
		transfer(usdc, vault, user, 5_000000).transfer(weth, vault, user, 7), "remove_liquidity",
		"Removed liquidity: gave 10 base units of 0x7a17…7a17, got 5 USDC and 0.000000000000000007 WETH")
	f("loan against collateral that its pool records as a deposit", newScene(at(router), 0, nil2()).transfer(usdc, user, vault, 5_000000).
		log(vault, "Staked(address,uint256)", []any{user}, 5_000000).
		log(router, "Borrow(address,address,address,uint256,uint8,uint256,uint16)", []any{usdc, user, 0}, user, 5, 2, 1), "borrow",
		"Borrowed: gave 5 USDC")
	many := newScene(at(nft), 0, nil2())
	for i := range 9 {
		many.log(nft, "Transfer(address,address,uint256)", []any{zero, user, 40 + i})
	}
	f("NFTs of one contract", many, "mint_nft", "Minted 9 NFTs of 0x0721…0721 (40 … 48)")
	f("value that steers a call", withMove(newScene(at(router), 1, nil2()), nil), "contract_call", "Called 0x4007…4007, giving 0.000000000000000001 ETH")
	f("coin in the bridge's own form", withMove(newScene(at(vault), 9_000000, nil2()), nil).transfer(nft, zero, vault, 9_000000).
		log(vault, "V3FundsDeposited(address,address,uint256,uint256,uint256,uint32,uint32,uint32,uint32,address,address,address,bytes)", []any{10, 1, user}), "send",
		"Bridged 0.000000000009 ETH over Across")
	f("contract that pays many", newScene(at(router), 0, nil2()).transfer(usdc, router, friend, 1_000000).transfer(usdc, router, bot, 2_000000), "contract_call",
		"Called 0x4007…4007, which sent 3 USDC to 2 addresses")
	f("wrapped coin that also logs its mint", withMove(newScene(at(weth), 1000, input("deposit()")), nil).
		transfer(weth, zero, user, 1000).log(weth, "Deposit(address,uint256)", []any{user}, 1000), "wrap",
		"Wrapped 0.000000000000001 ETH to 0.000000000000001 WETH")
	f("message to oneself", note2(newScene(at(user), 0, []byte("gm"))), "data", "Sent the message \"gm\" to itself")
	f("data that is no text", note2(newScene(at(friend), 0, []byte{1, 2, 3, 0xff})), "data", "Sent 4 bytes of data to 0xf00d…f00d")
	f("coin with a message", note2(withMove(newScene(at(friend), 2_000000_000000, []byte("rent")), nil)), "", "Sent 0.000002 ETH with the message \"rent\" to 0xf00d…f00d")
}

// note2 sets the gas to what the data costs and nothing more.
func note2(s *scene) *scene {
	s.rc.GasUsed = 21000
	for _, b := range s.tx.Input {
		s.rc.GasUsed += 4
		if b != 0 {
			s.rc.GasUsed += 12
		}
	}
	return s
}

// TestStepsTellOnce: many alike are one step, two events of one crossing are one, and
// the fee is said whatever was cut.
func TestStepsTellOnce(t *testing.T) {
	f := func(name string, s *scene, want ...string) {
		t.Helper()
		if got := judge(s.facts(t)).Steps; !slices.Equal(got[1:len(got)-1], want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	mint := newScene(at(router), 0, nil2())
	drop := newScene(at(router), 0, nil2())
	for i := range 7 {
		mint.log(nft, "Transfer(address,address,uint256)", []any{common.Address{}, user, i})
		drop.transfer(usdc, router, addr(uint16(0x30+i)), 1_000000)
	}
	f("NFTs", mint, "7 NFTs of 0x0721…0721 (0 … 6) were minted to 0xa11c…a11c.")
	f("airdrop", drop, "0x4007…4007 sent 1 USDC each to 7 addresses.")
	f("range", newScene(at(router), 0, nil2()).log(nft, "ConsecutiveTransfer(uint256,uint256,address,address)", []any{5, common.Address{}, friend}, 9),
		"5 NFTs of 0x0721…0721 (5 … 9) were minted to 0xf00d…f00d.")
	blobs := newScene(at(friend), 0, nil)
	blobs.tx.BlobHashes = make([]common.Hash, 3)
	f("blobs", blobs, "The transaction carried 3 blobs of data.")
}

// TestAuthorizations: an EIP-7702 transaction says of its authorizations what became of
// each, and for which code; a risk is only what may have taken effect.
func TestAuthorizations(t *testing.T) {
	f := func(step, summary, risk string, list ...decode.Authorization) {
		t.Helper()
		s := newScene(at(user), 0, nil)
		s.tx.Authorizations = make([]ethrpc.Authorization, len(list))
		facts := s.facts(t)
		facts.Authorizations = list
		v := judge(facts)
		if step = "The transaction carried " + step + "."; !slices.Contains(v.Steps, step) || v.Summary != summary {
			t.Errorf("%q, steps %q\nwant %q, %q", v.Summary, v.Steps, summary, step)
		}
		if got := strings.Join(lines(v), ";"); !strings.HasPrefix(got, risk) || risk == "" && got != "" {
			t.Errorf("risks %q, want %q", got, risk)
		}
	}
	one := func(who, to common.Address, o decode.Outcome, why string) decode.Authorization {
		return decode.Authorization{Authority: &who, Delegate: to, ChainID: big.NewInt(1), Outcome: o, Why: why}
	}
	const risk = "account_delegation: an EIP-7702 authorization names the code of 0x7a17…7a17, which no label knows"
	f("1 EIP-7702 authorization: 0xf00d…f00d runs the code of 0x7a17…7a17 from now on",
		"Applied an EIP-7702 authorization: 0xf00d…f00d runs the code of 0x7a17…7a17 from now on", risk, one(friend, vault, decode.Applied, ""))
	f("2 EIP-7702 authorizations: 0xf00d…f00d runs no code any more",
		"Applied an EIP-7702 authorization: 0xf00d…f00d runs no code any more", risk,
		one(friend, vault, decode.Applied, ""), one(friend, common.Address{}, decode.Applied, ""))
	f("3 EIP-7702 authorizations: 1 was skipped, for it is old; whether 2 were applied is not known, naming the code of 0x7a17…7a17: there is no state diff",
		"Sent 3 EIP-7702 authorizations for accounts to run the code of 0x7a17…7a17", risk,
		one(friend, router, decode.Skipped, "it is old"), one(friend, vault, decode.Unknown, "there is no state diff"), one(friend, common.Address{}, decode.Unknown, "there is no state diff"))
	f("1 EIP-7702 authorization: 1 was skipped, for it is old", "Sent 1 EIP-7702 authorization, which was not applied", "", one(friend, vault, decode.Skipped, "it is old"))
}

// TestRolesOfTraders: a contract that keeps what it bought is no router, a router that
// may spend is still one, and a share token that trades is a pool.
func TestRolesOfTraders(t *testing.T) {
	f := func(name string, s *scene, who common.Address, want string) {
		t.Helper()
		if got := judge(s.facts(t)).Roles[who]; got != want {
			t.Errorf("%s: role %q, want %q", name, got, want)
		}
	}
	f("bot", newScene(at(bot), 0, nil2()).transfer(usdc, bot, pool1, 7).transfer(weth, pool1, bot, 5).log(pool1, v2Swap, []any{bot, bot}, 7, 0, 0, 5), bot, "trading contract")
	f("router", usdcForWeth(newScene(at(router), 0, nil2()), user), router, "router")
	f("router that may spend", usdcForWeth(newScene(at(router), 0, nil2()), user).known(router, "Router", "router", "uniswap_v2").
		log(usdc, "Approval(address,address,uint256)", []any{user, router}, 9).log(weth, "Approval(address,address,uint256)", []any{user, router}, 9), router, "router")
}

// TestWhoMayJudge: a spender that a label knows raises no alarm, one that nobody
// knows keeps the confidence from being high.
func TestWhoMayJudge(t *testing.T) {
	f := func(spender common.Address, confidence api.Confidence, risks int) {
		t.Helper()
		s := newScene(at(nft), 0, input("setApprovalForAll(address,bool)", spender, true)).
			log(nft, "ApprovalForAll(address,address,bool)", []any{user, spender}, true)
		s.known(friend, "Market", "nft", "seaport").tokens[nft] = label.Token{Address: nft, Symbol: "PUNK"}
		v := judge(s.facts(t))
		if v.Confidence != confidence || len(v.Risks) != risks {
			t.Errorf("%s: %s %q, want %s and %d risks", spender, v.Confidence, lines(v), confidence, risks)
		}
	}
	f(friend, api.High, 0)
	f(bot, api.Medium, 1)
}

// TestPrecompileFailures: what failed in a precompile undid nothing.
func TestPrecompileFailures(t *testing.T) {
	f := func(to common.Address, want int) {
		t.Helper()
		s := newScene(at(vault), 0, nil2())
		s.call(vault, to, 0, nil).Err = "out of gas"
		if v := judge(s.facts(t)); len(v.Risks) != want {
			t.Errorf("%s: risks %q, want %d", to, lines(v), want)
		}
	}
	f(common.BytesToAddress([]byte{4}), 0)
	f(bot, 1)
}

func TestNamesInSentences(t *testing.T) {
	f := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f(plainText("add_liquidity"), "add_liquidity")
	f(plainText("_evil_ (0xabc)"), "evil 0xabc")
	f(labelText("Wrapped Ether (WETH)"), "Wrapped Ether (WETH)")
	f(note([]byte("say \"hi\"\n there")), "say 'hi' there")
	f(note([]byte{0xff, 0xfe, 'a'}), "")
}

// TestRelayedDelegate: who brings an authorization and calls the account with it acts for
// the account, when the authorization was applied.
func TestRelayedDelegate(t *testing.T) {
	f := func(o decode.Outcome, to, want common.Address) {
		t.Helper()
		who := friend
		s := newScene(&who, 0, input("execute()")).transfer(usdc, friend, vault, 5_000000)
		s.tx.Authorizations = make([]ethrpc.Authorization, 1)
		facts := s.facts(t)
		facts.Authorizations = []decode.Authorization{{Authority: &who, Delegate: to, ChainID: big.NewInt(1), Outcome: o, Why: "it is old"}}
		if v := judge(facts); v.Actor != want {
			t.Errorf("%s: actor %s, want %s: %s", o, v.Actor, want, v.Summary)
		}
	}
	f(decode.Applied, vault, friend)
	f(decode.Skipped, vault, user)
	f(decode.Unknown, vault, user)
	f(decode.Applied, common.Address{}, user)
}
