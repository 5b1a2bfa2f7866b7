package classify

import (
	"math/big"
	"slices"
	"testing"

	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/label"
	"txlens/engine/protocol"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// TestTablesNameProtocols: a protocol that a rule asks for is one that the tables have.
func TestTablesNameProtocols(t *testing.T) {
	for _, table := range []map[string]bool{stakers, forEverybody, generic, pegModules} {
		for slug := range table {
			if p := protocol.Find(slug); p == nil || p.Slug != slug {
				t.Errorf("%s is no protocol", slug)
			}
		}
	}
}

// lowerings collects why the confidence is lowered to medium.
func lowerings(t *testing.T, list *[]verdict.Form) lowering {
	return func(to api.Confidence, why verdict.Form, _ ...verdict.Arg) {
		if to != api.Medium {
			t.Errorf("lowered to %s", to)
		}
		*list = append(*list, why)
	}
}

// someCase is the case of a call of a contract, with its label.
func someCase(l label.Label) *facts.Case {
	mainnet, _ := chain.ByID(1)
	entry := common.HexToAddress("0x7777777777777777777777777777777777777777")
	a := &facts.Case{Entry: entry, HasTo: true, Registry: facts.Tables()}
	a.Input = &facts.Input{Chain: mainnet, Succeeded: true, Tx: &ethrpc.Transaction{To: &entry, Value: new(big.Int)}, Labels: map[common.Address]label.Label{entry: l}}
	return a
}

// TestTrustTrade: the event of a deposit beside a trade makes the trade less certain, if the protocol is
// known; what an aggregator tells is of the whole trade.
func TestTrustTrade(t *testing.T) {
	f := func(name string, o Opinion, lowered bool, votes ...Vote) {
		t.Helper()
		var got []verdict.Form
		trustTrade(someCase(label.Label{}), &Verdict{Deciding: &o, Votes: append([]Vote{{}}, votes...)}, lowerings(t, &got))
		if want := []verdict.Form{verdict.DepositEventToo}; lowered != slices.Equal(got, want) || !lowered && len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	trade := Opinion{Act: facts.ActSwap}
	for _, sub := range []string{"add_liquidity", "remove_liquidity", "vault_deposit", "vault_withdraw", "supply", "withdraw", "borrow", "repay"} {
		f(sub, trade, true, Vote{SubType: sub, Evidence: ProtocolEvent})
		f(sub+" after another", trade, true, Vote{SubType: "x"}, Vote{SubType: sub, Evidence: OwnEvent})
		f(sub+" by what was called", trade, false, Vote{SubType: sub, Evidence: CalledProtocol})
		f(sub+" alone", Opinion{Act: facts.ActSupply}, false, Vote{SubType: sub, Evidence: ProtocolEvent})
		for _, rule := range []*facts.EventRule{{Flags: facts.FlagAggregator}, {Flags: facts.FlagIntent}} {
			told := Opinion{Act: facts.ActSwap, Matches: []*facts.Match{{Rule: rule}}}
			f(sub+" in a trade that is told whole", told, false, Vote{SubType: sub, Evidence: ProtocolEvent})
		}
	}
	f("a claim", trade, false, Vote{SubType: "claim", Evidence: OwnEvent})
}

// TestTrustNames: an act that means little without a protocol is less certain without one.
func TestTrustNames(t *testing.T) {
	f := func(act facts.Act, family string, slug *string, want ...verdict.Form) {
		t.Helper()
		var got []verdict.Form
		trustNames(someCase(label.Label{}), &Verdict{Deciding: &Opinion{Act: act}, Protocol: slug, Votes: []Vote{{Family: family}}}, lowerings(t, &got))
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", act, got, want)
		}
	}
	slug := "x"
	for _, act := range []facts.Act{facts.ActTransfer, facts.ActApproval, facts.ActWrap, facts.ActUnwrap, facts.ActDeploy, facts.ActSystem, facts.ActBatchPost,
		facts.ActStatePost, facts.ActRelayFill, facts.ActNote, facts.ActAuthorize} {
		f(act, "", nil)
	}
	for _, act := range []facts.Act{facts.ActSwap, facts.ActBridgeOut, facts.ActStake, facts.ActLiquidate, facts.ActVote, facts.ActSupply, facts.ActClaim, facts.ActMint} {
		f(act, "", nil, verdict.ProtocolUnknown)
		f(act, "uniswap-v2", nil, verdict.ProtocolUnknownOfFamily)
		f(act, "", &slug)
	}
}

// TestTrustMoves: an approval without its event, a trade of which a side is unseen, and balances that
// are not what the events say make less certain.
func TestTrustMoves(t *testing.T) {
	token, other := common.HexToAddress("0x05dc"), common.HexToAddress("0x0da1")
	six := uint8(6)
	f := func(name string, act facts.Act, change func(a *facts.Case, o *Opinion), want ...verdict.Form) {
		t.Helper()
		a, o := someCase(label.Label{}), &Opinion{Act: act}
		a.Tokens = map[common.Address]label.Token{token: {Address: token, Symbol: "USDC", Decimals: &six, Listed: true}}
		a.Flow = &flow.Flow{}
		change(a, o)
		var got []verdict.Form
		trustMoves(a, o, lowerings(t, &got))
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	leg := []facts.Leg{{Key: facts.FungibleKey(token), Amount: big.NewInt(5)}}
	f("approval", facts.ActApproval, func(*facts.Case, *Opinion) {}, verdict.NoApprovalEvent)
	f("claim", facts.ActClaim, func(*facts.Case, *Opinion) {})
	f("trade", facts.ActSwap, func(a *facts.Case, _ *Opinion) { a.Out, a.In = leg, leg })
	f("trade for another", facts.ActSwap, func(a *facts.Case, o *Opinion) { a.Out, o.Benefit = leg, leg })
	f("trade that gave", facts.ActSwap, func(a *facts.Case, _ *Opinion) { a.Out = leg }, verdict.ExchangeSidesUnseen)
	f("trade that got", facts.ActSwap, func(a *facts.Case, _ *Opinion) { a.In = leg }, verdict.ExchangeSidesUnseen)
	f("no decimals", facts.ActClaim, func(a *facts.Case, _ *Opinion) {
		a.In = []facts.Leg{{Key: facts.FungibleKey(other), Amount: big.NewInt(5)}}
	}, verdict.DecimalsUnknown)
	f("an NFT", facts.ActClaim, func(a *facts.Case, _ *Opinion) {
		a.In = []facts.Leg{{Key: flow.TokenKey{Token: other, ID: "7", NFT: true}, Amount: big.NewInt(1)}}
	})
	f("an item", facts.ActClaim, func(a *facts.Case, _ *Opinion) {
		a.In = []facts.Leg{{Key: flow.TokenKey{Token: other, ID: "7"}, Amount: big.NewInt(1)}}
	})
	f("an amount or an NFT", facts.ActClaim, func(a *facts.Case, _ *Opinion) {
		a.Flow.Undecided = map[common.Address]bool{other: true}
		a.In = []facts.Leg{{Key: flow.TokenKey{Token: other, ID: "7", NFT: true}, Amount: big.NewInt(1)}}
	}, verdict.AmountOrNFT)
	check := func(at common.Address, m flow.LogStateMatch, in bool) func(a *facts.Case, _ *Opinion) {
		return func(a *facts.Case, _ *Opinion) {
			if a.Flow.Checks = []flow.TokenCheck{{Token: at, Match: m}}; in {
				a.In = leg
			} else {
				a.Out = leg
			}
		}
	}
	f("another balance, got", facts.ActClaim, check(token, flow.LogsDiffer, true), verdict.BalancesDiffer)
	f("another balance, given", facts.ActClaim, check(token, flow.LogsDiffer, false), verdict.BalancesDiffer)
	f("a fee kept", facts.ActClaim, check(token, flow.FeeOnTransfer, true), verdict.BalancesDiffer)
	f("another token's balance", facts.ActClaim, check(other, flow.LogsDiffer, true))
	f("the balance of the events", facts.ActClaim, check(token, flow.LogsMatch, true))
}

// TestRolesByKind: who sent the transaction and for whom, by how the actor is known.
func TestRolesByKind(t *testing.T) {
	sender, actor := common.HexToAddress("0xa11c"), common.HexToAddress("0xf00d")
	f := func(kind facts.ActorKind, of, by string) {
		t.Helper()
		a := someCase(label.Label{})
		a.Sender, a.Actor, a.Actors, a.ActorKind = sender, actor, []common.Address{actor}, kind
		v := &Verdict{Deciding: &Opinion{Act: facts.ActTransfer}, Roles: map[common.Address]string{}}
		assignRoles(a, v)
		if v.Roles[sender] != by || v.Roles[actor] != of {
			t.Errorf("%v: %v", kind, v.Roles)
		}
	}
	f(facts.ActorSender, "", "sender")
	f(facts.ActorUserOp, "smart account", "bundler")
	f(facts.ActorSafe, "safe", "sender")
	f(facts.ActorOrder, "trader", "solver")
	f(facts.ActorFill, "recipient", "relayer")
	f(facts.ActorSigned, "signer", "relayer")
	f(facts.ActorRelayed, "signer", "relayer")
	f(facts.ActorDelegated, "delegated account", "sender")
}

// TestRolesByCategory: a called contract has the role of what it is labelled as, else of what it did.
func TestRolesByCategory(t *testing.T) {
	f := func(category string, act facts.Act, want string) {
		t.Helper()
		a := someCase(label.Label{Name: "X", Category: category})
		a.Tx.Input = []byte{1, 2, 3, 4}
		v := &Verdict{Deciding: &Opinion{Act: act}, Roles: map[common.Address]string{}}
		assignRoles(a, v)
		if got := v.Roles[a.Entry]; got != want {
			t.Errorf("%s, %s: %q, want %q", category, act, got, want)
		}
	}
	for category, role := range map[string]string{"router": "router", "aggregator": "router", "bridge": "bridge", "nft": "marketplace", "lending": "lending pool",
		"lending_token": "lending pool", "staking": "staking contract", "restaking": "staking contract", "name_service": "name service", "governance": "governance",
		"oracle": "oracle", "dex": "pool", "yield": "vault", "": "contract", "exchange": "contract"} {
		f(category, facts.ActClaim, role)
	}
	f("", facts.ActSwap, "router")
	f("", facts.ActNFTSale, "router")
	f("", facts.ActArbitrage, "arbitrage contract")
}

// TestRolesByEvents: an emitter has the role of what its event tells.
func TestRolesByEvents(t *testing.T) {
	at := common.HexToAddress("0x9001")
	f := func(h facts.Match, want string) {
		t.Helper()
		if h.Emitter = at; h.Rule == nil {
			h.Rule = &facts.EventRule{}
		}
		got := ""
		hitRoles(someCase(label.Label{}), &h, func(_ common.Address, role string) {
			if got == "" {
				got = role
			}
		})
		if got != want {
			t.Errorf("%s: %q, want %q", h.Act, got, want)
		}
	}
	for role, acts := range map[string][]facts.Act{
		"lending pool": {facts.ActSupply, facts.ActWithdraw, facts.ActBorrow, facts.ActRepay},
		"bridge":       {facts.ActBridgeOut, facts.ActBridgeIn, facts.ActBridgeProv, facts.ActMessageOut, facts.ActMessageIn},
		"entry point":  {"userop"}, "vault": {facts.ActVaultIn, facts.ActVaultOut}, "marketplace": {facts.ActNFTSale}, "oracle": {facts.ActOracle},
		"staking contract": {facts.ActStake, facts.ActUnstake, facts.ActClaimStake},
		"governance":       {"propose", facts.ActVote, "queue_proposal", "execute_proposal", "cancel_proposal"}, "": {facts.ActClaim, facts.ActSwap},
	} {
		for _, act := range acts {
			f(facts.Match{Act: act}, role)
		}
	}
	f(facts.Match{Act: facts.ActVaultIn, Weak: true}, "")
	f(facts.Match{Act: facts.ActVaultIn, Weak: true, Mine: true}, "vault")
	f(facts.Match{Act: facts.ActSwap, Rule: &facts.EventRule{Flags: facts.FlagPool}}, "pool")
	f(facts.Match{Act: facts.ActSwap, Rule: &facts.EventRule{Flags: facts.FlagVault}}, "vault")
	f(facts.Match{Act: facts.ActSwap, Rule: &facts.EventRule{Flags: facts.FlagAggregator}}, "router")
	f(facts.Match{Act: facts.ActSwap, Rule: &facts.EventRule{Flags: facts.FlagIntent}}, "")
}

// TestPlumbing: what serves every protocol is none that took part.
func TestPlumbing(t *testing.T) {
	f := func(category string, want ...string) {
		t.Helper()
		if got := protocolsOf(someCase(label.Label{Category: category, Protocol: "x"})); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", category, got, want)
		}
	}
	for _, category := range []string{"token", "lp_token", "safe", "exchange", "builder", "miner", "oracle", "account", "stablecoin", "system", "fee_vault"} {
		f(category)
	}
	f("router", "x")
	f("", "x")
}

// TestFrontDoors: an aggregator is the front of a trade, a bridge of a bridging, another contract of
// whatever is no trade.
func TestFrontDoors(t *testing.T) {
	f := func(category, slug string, kind facts.ActorKind, trade, bridging, other bool) {
		t.Helper()
		a := someCase(label.Label{Category: category, Protocol: slug})
		a.ActorKind = kind
		for act, want := range map[facts.Act]bool{facts.ActSwap: trade, facts.ActBridgeOut: bridging, facts.ActSupply: other} {
			if got := frontDoor(a, &Opinion{Act: act}); got != want {
				t.Errorf("%s of %s, %s: %v", category, slug, act, got)
			}
		}
	}
	f("aggregator", "x", facts.ActorSender, true, true, false)
	f("router", "x", facts.ActorSender, true, true, false)
	f("bridge", "x", facts.ActorSender, false, true, false)
	f("lending", "x", facts.ActorSender, false, true, true)
	f("", "x", facts.ActorSender, false, false, false)
	f("router", "uniswap", facts.ActorSender, false, false, false)
	f("router", "x", facts.ActorOrder, false, false, false)
}

// TestMinimum: the word of the least output, where the function is known and there is one.
func TestMinimum(t *testing.T) {
	f := func(call *facts.CallRule, input []byte, want int64, known bool) {
		t.Helper()
		a := someCase(label.Label{})
		if a.Call = call; input != nil {
			a.Frame = &trace.Frame{Input: input}
		}
		if n, ok := Minimum(a); ok != known || ok && n.Int64() != want {
			t.Errorf("%v, %d bytes: %v %v", call, len(input), n, ok)
		}
	}
	words := append(append(make([]byte, 4), common.BigToHash(big.NewInt(5)).Bytes()...), common.BigToHash(big.NewInt(6)).Bytes()...)
	f(&facts.CallRule{MinOut: 0}, words, 5, true)
	f(&facts.CallRule{MinOut: 1}, words, 6, true)
	f(&facts.CallRule{MinOut: 2}, words, 0, false)
	f(&facts.CallRule{MinOut: -1}, words, 0, false)
	f(&facts.CallRule{MinOut: 0}, words[:3], 0, false)
	f(&facts.CallRule{MinOut: 0}, nil, 0, false)
	f(nil, words, 0, false)
}

// TestRunnerUp: the first vote for another type than that of the verdict.
func TestRunnerUp(t *testing.T) {
	swap, stake, bridge := Vote{TxType: api.TypeSwap}, Vote{TxType: api.TypeStake}, Vote{TxType: api.TypeBridge}
	typ := api.TypeSwap
	if got := (&Verdict{TxType: &typ, Votes: []Vote{swap, swap, stake, bridge}}).RunnerUp(); got == nil || got.TxType != api.TypeStake {
		t.Errorf("%+v", got)
	}
	if got := (&Verdict{TxType: &typ, Votes: []Vote{swap, swap}}).RunnerUp(); got != nil {
		t.Errorf("%+v", got)
	}
	if got := (&Verdict{Votes: []Vote{swap}}).RunnerUp(); got != nil {
		t.Errorf("%+v", got)
	}
}
