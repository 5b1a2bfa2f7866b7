package classify_test

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/decode"
	"txlens/engine/ethrpc"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/label"
	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
)

// TestReportedAddress: a list of frauds raises a flag and changes nothing else, neither
// the type nor what is said of an approval.
func TestReportedAddress(t *testing.T) {
	s := scene.New(scene.At(scene.Usdc), 0, scene.Input("approve(address,uint256)", scene.Bot, maxUint)).
		Log(scene.Usdc, "Approval(address,address,uint256)", []any{scene.User, scene.Bot}, maxUint)
	plain, _ := raised(t, s.Facts(t))
	// A reported spender is no longer unlabelled; the other flags stay.
	_, before := raised(t, s.Facts(t))
	for _, c := range []label.Confidence{label.Scraped, label.Curated} {
		reported := s.Facts(t)
		reported.Labels[scene.Bot] = label.Label{Name: "Reported as a scam", Category: label.Reported, Source: "scamsniffer", Confidence: c}
		flags, all := raised(t, reported)
		if want := slices.Concat([]string{"approval_to_reported"}, plain, []string{"reported_address"}); !slices.Equal(flags, want) {
			t.Errorf("%v, want %v\n%s", flags, want, all)
		}
		unlabelled := func(text string) bool { return strings.Contains(text, ", unlabelled,") }
		may := func(text string) int { return strings.Count(text, "may spend any amount") }
		if !unlabelled(before) || unlabelled(all) || may(before) != 1 || may(all) != 1 {
			t.Errorf("the spender is unlabelled before and has a label after:\n%s\n%s", before, all)
		}
	}
	if !slices.Contains(plain, "unlimited_approval") {
		t.Errorf("an unlimited approval raises %v", plain)
	}
}

// TestUnreviewedLabel: a label that nobody reviewed names no protocol, one of a reviewed
// list does.
func TestUnreviewedLabel(t *testing.T) {
	f := func(c label.Confidence, want string) {
		t.Helper()
		facts := scene.New(scene.At(scene.Vault), 0, nil2()).Transfer(scene.Usdc, scene.User, scene.Vault, 5_000000).Facts(t)
		facts.Labels[scene.Vault] = label.Label{Name: "Farm: Vault", Category: "yield", Protocol: "some_farm", Source: "list", Confidence: c}
		got := ""
		if v := scene.Judge(facts); v.Protocol != nil {
			got = *v.Protocol
		}
		if got != want {
			t.Errorf("confidence %d: protocol %q, want %q", c, got, want)
		}
	}
	f(label.Scraped, "")
	f(label.Curated, "some_farm")
	f(label.Official, "some_farm")
}

// TestOnlyBrand: a contract without label is of the protocol whose contracts alone took
// part; two brands, or one that serves everybody, name none.
func TestOnlyBrand(t *testing.T) {
	f := func(name, want string, emitters ...label.Label) {
		t.Helper()
		s := scene.New(scene.At(scene.Vault), 0, nil2()).Transfer(scene.Usdc, scene.User, scene.Vault, 5_000000)
		for i := range emitters {
			s.Log(scene.Addr(uint16(0x5000+i)), "Something(uint256)", nil, 1)
		}
		facts := s.Facts(t)
		for i, l := range emitters {
			facts.Labels[scene.Addr(uint16(0x5000+i))] = l
		}
		got := ""
		if v := scene.Judge(facts); v.Protocol != nil {
			got = *v.Protocol
		}
		if got != want {
			t.Errorf("%s: protocol %q, want %q", name, got, want)
		}
	}
	farm := label.Label{Name: "Farm: Core", Category: "infra", Protocol: "some_farm", Confidence: label.Official}
	other := label.Label{Name: "Other: Core", Category: "infra", Protocol: "other_farm", Confidence: label.Official}
	f("nobody", "")
	f("one brand", "some_farm", farm, farm)
	f("two brands", "", farm, other)
	f("beside a messenger", "some_farm", farm, label.Label{Name: "LayerZero", Category: "infra", Protocol: "layerzero", Confidence: label.Official})
	f("an oracle", "", label.Label{Name: "Feed", Category: "oracle", Protocol: "chainlink", Confidence: label.Official})
	f("unreviewed", "", label.Label{Name: "Farm", Category: "infra", Protocol: "some_farm", Confidence: label.Scraped})
}

// TestStakingLabel: what goes into a contract that a reviewed label calls staking is
// staked, though its event is that of a vault and a receipt is minted for it.
func TestStakingLabel(t *testing.T) {
	f := func(name string, s *scene.Scene, category string, c label.Confidence, want string) {
		t.Helper()
		facts := s.Facts(t)
		facts.Labels[scene.Vault] = label.Label{Name: "Stake", Category: category, Protocol: "some_stake", Confidence: c}
		if v := scene.Judge(facts); typeName(v) != want {
			t.Errorf("%s: %s, want %s: %s", name, typeName(v), want, v.Summary)
		}
	}
	zero := common.Address{}
	receipt := func() *scene.Scene {
		return scene.New(scene.At(scene.Vault), 0, nil2()).Transfer(scene.Usdc, scene.User, scene.Vault, 5_000000).
			Transfer(scene.Vault, zero, scene.User, 5)
	}
	vault := func() *scene.Scene {
		return scene.New(scene.At(scene.Vault), 0, nil2()).Transfer(scene.Usdc, scene.User, scene.Vault, 5_000000).
			Transfer(scene.Vault, zero, scene.User, 5).Log(scene.Vault, "Deposit(address,address,uint256,uint256)", []any{scene.User, scene.User}, 5_000000, 5)
	}
	f("receipt", receipt(), "staking", label.Official, "stake")
	f("receipt of no staking", receipt(), "yield", label.Official, "other")
	f("receipt, unreviewed", receipt(), "staking", label.Scraped, "other")
	leave := scene.New(scene.At(scene.Vault), 0, nil2()).Transfer(scene.Usdc, scene.Vault, scene.User, 5_000000).
		Transfer(scene.Vault, scene.User, zero, 5).
		Log(scene.Vault, "Withdraw(address,address,address,uint256,uint256)", []any{scene.User, scene.User, scene.User}, 5_000000, 5)
	f("left a vault", leave, "staking", label.Official, "stake")
	f("left a vault, unreviewed", leave, "staking", label.Scraped, "other")
	sent := scene.New(scene.At(scene.Vault), 0, nil2()).Transfer(scene.Usdc, scene.User, scene.Vault, 5_000000)
	f("to a bridge", sent, "bridge", label.Official, "bridge")
	f("to a bridge, unreviewed", sent, "bridge", label.Scraped, "other")
	f("vault", vault(), "staking", label.Official, "stake")
	f("vault of no staking", vault(), "yield", label.Official, "other")
}

// TestPerpetual: a position in derivatives is no swap, though the exchange's pools
// emit the events of swaps; a position of somebody else decides nothing.
func TestPerpetual(t *testing.T) {
	f := func(trader, want string) {
		t.Helper()
		who := scene.User
		if trader == "somebody" {
			who = scene.Friend
		}
		s := scene.New(scene.At(scene.Router), 0, nil2()).
			Log(scene.Pool1, "Swap(address,address,int256,int256,uint160,uint128,int24)", []any{scene.Router, scene.Router}, 5, 7, 1, 1, 1).
			Log(scene.Router, "PositionChanged(address,address,int256,int256,uint256,int256,int256,uint256)", []any{who, scene.Usdc}, 1, 2, 3, 4, 5, 6)
		if v := scene.Judge(s.Facts(t)); v.SubType != want {
			t.Errorf("position of %s: %s/%s, want sub-type %q", trader, typeName(v), v.SubType, want)
		}
	}
	f("the sender", "perp")
	f("somebody", "")
}

// TestFeeVaultLeftOut: a state diff without the credit of a rollup's fee vault does not
// lower the confidence; one that contradicts the movements does.
func TestFeeVaultLeftOut(t *testing.T) {
	f := func(name, category string, recorded int64, want bool) {
		t.Helper()
		facts := scene.New(scene.At(scene.Friend), 7_000_000_000_000_000, nil).Facts(t)
		facts.Labels[scene.Vault] = label.Label{Name: "Vault", Category: category, Confidence: label.Official}
		facts.Flow.Mismatches = []flow.Mismatch{{Address: scene.Vault, Ledger: big.NewInt(9), Recorded: big.NewInt(recorded)}}
		if got := scene.Judge(facts).Confidence != api.High; got != want {
			t.Errorf("%s: confidence lowered %v, want %v", name, got, want)
		}
	}
	f("fee vault left out", "fee_vault", 0, false)
	f("fee vault with another amount", "fee_vault", 5, true)
	f("account left out", "account", 0, true)
}

// TestRulesDisagree: a loan beside a trade may be either, and the confidence says so; a
// plain trade and a plain loan are certain.
func TestRulesDisagree(t *testing.T) {
	f := func(name string, s *scene.Scene, want bool) {
		t.Helper()
		v := scene.Judge(s.Facts(t))
		if got := strings.Contains(strings.Join(v.ReasonTexts(), "\n"), "can also be read as a transaction of type swap"); got != want {
			t.Errorf("%s: %v, want %v: %s %v", name, got, want, v.Summary, v.ReasonTexts())
		}
	}
	trade := func() *scene.Scene {
		return scene.New(scene.At(scene.Router), 0, nil2()).Transfer(scene.Usdc, scene.User, scene.Pool1, 5_000000).
			Transfer(scene.Weth, scene.Pool1, scene.User, 7).Log(scene.Pool1, v2Swap, []any{scene.Router, scene.User}, 5_000000, 0, 0, 7)
	}
	borrow := "Borrow(address,address,address,uint256,uint8,uint256,uint16)"
	f("trade", trade(), false)
	f("loan", scene.New(scene.At(scene.Router), 0, nil2()).Transfer(scene.Usdc, scene.Vault, scene.User, 5_000000).
		Log(scene.Router, borrow, []any{scene.Usdc, scene.User, 0}, scene.User, 5, 2, 1), false)
	f("both", trade().Log(scene.Vault, borrow, []any{scene.Usdc, scene.User, 0}, scene.User, 5, 2, 1), true)
}

// TestApprovalToReported: only a right that a user gives to a reported address counts, and not
// one of nothing or one that is taken back.
func TestApprovalToReported(t *testing.T) {
	f := func(name string, want bool, owner, spender common.Address, amount any) {
		t.Helper()
		s := scene.New(scene.At(scene.Usdc), 0, scene.Input("approve(address,uint256)", spender, amount)).
			Log(scene.Usdc, "Approval(address,address,uint256)", []any{owner, spender}, amount)
		c := s.Facts(t)
		c.Labels[scene.Bot] = label.Label{Name: "Reported as a scam", Category: label.Reported, Source: "scamsniffer", Confidence: label.Scraped}
		flags, all := raised(t, c)
		if got := slices.Contains(flags, "approval_to_reported"); got != want {
			t.Errorf("%s: %t\n%s", name, got, all)
		}
	}
	f("limited", true, scene.User, scene.Bot, 5)
	f("unlimited", true, scene.User, scene.Bot, maxUint)
	f("nothing", false, scene.User, scene.Bot, 0)
	f("another spender", false, scene.User, scene.Router, 5)
	f("of a contract", false, scene.Friend, scene.Bot, 5)
}

// TestSanctionedAddress: an address of the list raises a flag, vouches for nothing, and is not called unlabelled.
func TestSanctionedAddress(t *testing.T) {
	s := scene.New(scene.At(scene.Usdc), 0, scene.Input("approve(address,uint256)", scene.Bot, maxUint)).
		Log(scene.Usdc, "Approval(address,address,uint256)", []any{scene.User, scene.Bot}, maxUint)
	c := s.Facts(t)
	c.Labels[scene.Bot] = label.Label{Name: "OFAC: listed", Category: label.Sanctioned, Source: "ofac", Confidence: label.Curated}
	flags, all := raised(t, c)
	if !slices.Equal(flags, []string{"unlimited_approval", "sanctioned_address"}) || !strings.Contains(all, "may spend any amount") || strings.Contains(all, "unlabelled") {
		t.Errorf("%v\n%s", flags, all)
	}
}

// TestFakeAirdrop: tokens with the address of a site in their name, or that imitate another
// token, sent to five accounts or more. Its twins are ordinary distributions.
func TestFakeAirdrop(t *testing.T) {
	f := func(name string, want bool, tok label.Token, known bool, n int, change ...func(*facts.Input)) {
		t.Helper()
		s := scene.New(scene.At(scene.Vault), 0, nil2())
		token := scene.Addr(0x7777)
		for i := range n {
			s.Transfer(token, scene.Vault, scene.Addr(uint16(0x6000+i)), 5)
		}
		s.Transfer(token, scene.Vault, scene.User, 5)
		c := s.Facts(t)
		tok.Address = token
		c.Tokens[token] = tok
		if known {
			c.Labels[token] = label.Label{Name: "Farm", Category: "yield", Protocol: "farm", Source: "list", Confidence: label.Curated}
		}
		for _, x := range change {
			x(c)
		}
		flags, all := raised(t, c)
		if got := slices.Contains(flags, "fake_airdrop"); got != want {
			t.Errorf("%s: %t\n%s", name, got, all)
		}
	}
	f("a site", true, label.Token{Symbol: "$ claim on win-eth.xyz"}, false, 5)
	f("a site in the name", true, label.Token{Symbol: "ETHG", Name: "Visit https://ethgain to claim"}, false, 9)
	f("a site that is not shown", true, label.Token{Claims: "ETHG\nVisit https://ethgain to claim"}, false, 5)
	f("a channel", true, label.Token{Symbol: "t.me/freedrop"}, false, 5)
	f("an imitation", true, label.Token{Symbol: "USDC", Lookalike: "USDC"}, false, 5)
	f("four and the sender", false, label.Token{Symbol: "win-eth.xyz"}, false, 4)
	f("a listed token", false, label.Token{Symbol: "yearn.finance", Listed: true}, false, 9)
	f("a known token", false, label.Token{Symbol: "yearn.finance"}, true, 9)
	f("a token without a site", false, label.Token{Symbol: "UNI-V2", Name: "Uniswap V2"}, false, 9)
	f("events without storage", true, label.Token{Symbol: "win-eth.xyz"}, false, 5, func(c *facts.Input) {
		c.Flow.Transfers, c.Flow.Fakes = nil, c.Flow.Transfers
	})
	f("accounts that gave something", false, label.Token{Symbol: "win-eth.xyz"}, false, 9, func(c *facts.Input) {
		for i := range 9 {
			c.Flow.Transfers = append(c.Flow.Transfers, flow.Transfer{Token: scene.Usdc, From: scene.Addr(uint16(0x6000 + i)), To: scene.Vault, Amount: big.NewInt(7)})
		}
	})
	f("an account that paid", false, label.Token{Symbol: "win-eth.xyz"}, false, 5, func(c *facts.Input) {
		c.Flow.Moves = append(c.Flow.Moves, flow.Move{From: scene.Addr(0x6000), To: scene.Vault, Amount: big.NewInt(7)})
	})
	f("burnt", false, label.Token{Symbol: "win-eth.xyz"}, false, 4, func(c *facts.Input) {
		c.Flow.Transfers[0].To, c.Flow.Transfers[4].To = common.Address{}, scene.Addr(0x6009)
	})
	f("transfers of nothing", false, label.Token{Symbol: "win-eth.xyz"}, false, 5, func(c *facts.Input) { c.Flow.Transfers[0].Amount = new(big.Int) })
	f("a version", false, label.Token{Symbol: "v2.0", Name: "Pool No.5 Inc."}, false, 9)
}

// TestAccusedIsNotUnlabelled: the risks of rights say "unlabelled" of an account without a label,
// and not of one whose label accuses it.
func TestAccusedIsNotUnlabelled(t *testing.T) {
	f := func(risk string, input func(testing.TB) *facts.Input) {
		t.Helper()
		accused := input(t)
		accused.Labels[scene.Bot] = label.Label{Name: "OFAC: listed", Category: label.Sanctioned, Source: "ofac", Confidence: label.Curated}
		for _, c := range []struct {
			in         *facts.Input
			unlabelled bool
		}{{input(t), true}, {accused, false}} {
			_, all := raised(t, c.in)
			if !strings.Contains(all, risk+": ") || strings.Contains(all, ", unlabelled") != c.unlabelled {
				t.Errorf("unlabelled %t is wanted in\n%s", c.unlabelled, all)
			}
		}
	}
	f("operator_approval", scene.New(scene.At(scene.Nft), 0, nil2()).
		Log(scene.Nft, "ApprovalForAll(address,address,bool)", []any{scene.User, scene.Bot}, true).Facts)
	bulk := scene.New(scene.At(scene.Vault), 0, nil2())
	for _, token := range []common.Address{scene.Usdc, scene.Weth, scene.Vault} {
		bulk.Log(token, "Approval(address,address,uint256)", []any{scene.User, scene.Bot}, 5)
	}
	f("bulk_approvals", bulk.Facts)
	f("account_delegation", func(t testing.TB) *facts.Input {
		s := scene.New(scene.At(scene.User), 0, nil)
		s.Tx.Authorizations = make([]ethrpc.Authorization, 1)
		in, who := s.Facts(t), scene.Friend
		in.Authorizations = []decode.Authorization{{Authority: &who, Delegate: scene.Bot, ChainID: big.NewInt(1), Outcome: decode.Applied}}
		return in
	})
}
