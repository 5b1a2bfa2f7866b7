package classify_test

import (
	"regexp"
	"strings"
	"testing"
	"txlens/engine/classify"
	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/facts"
	"txlens/engine/label"
	"txlens/engine/protocol"
	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

func TestTableIsLarge(t *testing.T) {
	r := facts.Tables()
	events := 0
	for _, rows := range r.Events {
		events += len(rows)
	}
	if events < 239 || len(r.Calls) < 100 {
		t.Errorf("%d events, %d functions", events, len(r.Calls))
	}
}

// Every act of the table is said in words, or is machinery that the code names.
func TestEveryActHasAKind(t *testing.T) {
	machinery := map[facts.Act]bool{"note": true, "authorization": true, "safe_success": true, "safe_failure": true, "safe_module": true,
		"userop": true, "userop_begin": true, "userop_revert": true, "userop_postop": true, "userop_prefund": true}
	for _, rows := range facts.Tables().Events {
		for _, e := range rows {
			if !classify.IsKind(e.Act) && !machinery[e.Act] && !strings.HasPrefix(string(e.Act), "flag:") {
				t.Errorf("%s: act %q has no kind", e.Signature, e.Act)
			}
		}
	}
	for _, c := range facts.Tables().Calls {
		if !classify.IsKind(c.Act) {
			t.Errorf("%s: act %q has no kind", c.Signature, c.Act)
		}
	}
}

// Slugs are what a result shows as protocol: words in snake case.
func TestSlugsAreWords(t *testing.T) {
	word := regexp.MustCompile(`^[a-z0-9]*(_[a-z0-9]+)*$`)
	check := func(slug, of string) {
		if !word.MatchString(slug) {
			t.Errorf("slug %q of %s", slug, of)
		}
	}
	reg := facts.Tables()
	for _, rows := range reg.Events {
		for _, e := range rows {
			check(e.Slug, e.Signature)
			if e.Family == "" {
				t.Errorf("%s has no family", e.Signature)
			}
		}
	}
	for _, c := range reg.Calls {
		check(c.Slug, c.Signature)
	}
	for a, list := range reg.Deployments {
		for i := range list {
			check(list[i].Protocol, a.Hex())
		}
	}
}

func TestLayoutTellsEventsOfOneText(t *testing.T) {
	f := func(signature string, indexed int, want facts.Act, slug string) {
		t.Helper()
		l := &ethrpc.Log{Topics: make([]common.Hash, 1+indexed)}
		l.Topics[0] = crypto.Keccak256Hash([]byte(signature))
		e := facts.Tables().Event(l)
		switch {
		case e == nil && want != "":
			t.Errorf("%s with %d indexed is unknown", signature, indexed)
		case e != nil && (e.Act != want || e.Slug != slug):
			t.Errorf("%s with %d indexed is %s of %q", signature, indexed, e.Act, e.Slug)
		}
	}
	f("Mint(address,uint256,uint256)", 1, facts.ActAddLiq, "uniswap_v2")
	f("Mint(address,uint256,uint256)", 0, facts.ActSupply, "compound_v2")
	f("Mint(address,uint256,uint256)", 2, "", "")
	f("Deposit(address,address,uint256,uint256)", 2, facts.ActVaultIn, "")
	f("Deposit(address,address,uint256,uint256)", 0, facts.ActVaultIn, "etherdelta")
	f("ExecutionSuccess(bytes32,uint256)", 0, "safe_success", "safe")
	f("ExecutionSuccess(bytes32,uint256)", 1, "safe_success", "safe")
	f("Transfer(address,address,uint256)", 3, facts.ActTransfer, "")
	f("AddLiquidity(address,uint256[],uint256[],uint256,uint256)", 1, facts.ActAddLiq, "") // shared, in the file of curve
}

// TestFunctions: what calldata alone names, and whose functions others share.
func TestFunctions(t *testing.T) {
	f := func(signature, slug string, shared bool) {
		t.Helper()
		selector := evmsig.Func(signature)
		c := facts.Tables().Call(selector[:])
		if c == nil || c.Slug != slug || classify.Forked(slug) != shared {
			t.Errorf("%s: %+v, forked %v", signature, c, classify.Forked(slug))
		}
	}
	f("swapExactTokensForTokens(uint256,uint256,address[],address,uint256)", "uniswap_v2", true)
	f("swap(uint256,uint256,address,bytes)", "", false) // of each pair, and of its forks
	f("depositV3(address,address,address,address,uint256,uint256,uint256,address,uint32,uint32,uint32,bytes)", "across", false)
	f("transfer(address,uint256)", "", false)
	for slug, want := range map[string]bool{"optimism": true, "arbitrum": true, "across": false, "no_such_thing": false} {
		if facts.IsRollup(slug) != want {
			t.Errorf("%s is a rollup: %v", slug, !want)
		}
	}
}

// What the rules know to stand at an address: contracts and deployments of protocols and
// standards on their chains, and no accounts of a group.
func TestAttributedAddresses(t *testing.T) {
	f := func(chainID uint64, address, want string) {
		t.Helper()
		if l, _ := facts.Tables().LabelOf(chainID, common.HexToAddress(address)); l.Protocol != want {
			t.Errorf("%s on chain %d is of %q, want %q", address, chainID, l.Protocol, want)
		}
	}
	f(1, "0x7d655c57f71464B6f83811C55D84009Cd9f5221C", "gitcoin") // a deployment
	f(10, "0x7d655c57f71464B6f83811C55D84009Cd9f5221C", "")
	f(1, "0xc3d688B66703497DAA19211EEdff47f25384cdc3", "compound_v3") // a contract
	f(1, "0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789", "erc4337")     // of a standard
	f(1, "0x28C6c06298d514Db089934071355E5743bf21d60", "")            // custody of an exchange
}

func TestCanonical(t *testing.T) {
	f := func(slug, category, want string) {
		t.Helper()
		if got := facts.Canonical(label.Label{Protocol: slug, Category: category}); got != want {
			t.Errorf("%s (%s) is %q, want %q", slug, category, got, want)
		}
	}
	f("uniswap_v3", "dex", "uniswap_v3")
	f("1inch", "aggregator", "oneinch")
	f("optimism", "bridge", "optimism_bridge")
	f("optimism", "governance", "optimism")
	f("across", "bridge", "across")
	f("zksync_lite", "bridge", "zksync_bridge")
	f("erc4337", "account", "")
	f("some_dex", "dex", "some_dex")
}

// A vote that no rule can read is an error, which the tests of any change meet.
func TestRegistryRefusesBadVotes(t *testing.T) {
	f := func(want string, signatures ...protocol.Signature) {
		t.Helper()
		_, err := facts.NewRegistry([]*protocol.Protocol{{Slug: "some_dex", Name: "Some Dex", Signatures: signatures}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	event := protocol.Signature{Kind: protocol.Event, Text: "A()", Vote: &protocol.Vote{Act: "swap"}}
	call := protocol.Signature{Kind: protocol.Function, Text: "A()", Vote: &protocol.Vote{Act: "swap"}}
	with := func(s protocol.Signature, v protocol.Vote) protocol.Signature {
		s.Vote = &v
		return s
	}
	f("unknown flag", with(event, protocol.Vote{Act: "swap", Flags: []string{"shiny"}}))
	f("no minimum", with(event, protocol.Vote{Act: "swap", Min: &protocol.Place{}}))
	f("declared twice", event, event)
	f("declared twice", call, call)
	f("no flag", with(call, protocol.Vote{Act: "swap", Flags: []string{"pool"}}))
	f("no word", with(call, protocol.Vote{Act: "swap", Min: &protocol.Place{Topic: true}}))
	f("no word", with(call, protocol.Vote{Act: "swap", Min: &protocol.Place{Inside: []int{1}}}))
	f("an error has a vote", protocol.Signature{Kind: protocol.Error, Text: "A()", Vote: &protocol.Vote{Act: "swap"}})
	frame := protocol.Signature{Kind: protocol.Function, Text: "A()", Frame: &protocol.Vote{Act: "swap", Flags: []string{"own"}}}
	f("frame declared twice", frame, frame)
	carrier := func(what, reader string, words ...int) protocol.Signature {
		return protocol.Signature{Kind: protocol.Function, Text: "A()", Carries: &protocol.Carried{What: what, Reader: reader, Words: words}}
	}
	f("no reader", carrier("batch", "crystal ball"))
	f("no reader", carrier("batch", "self"))
	f("unknown carrier", carrier("pigeon", "packed"))
}

// The pools are the oldest and largest of each factory.
func TestPoolsProveTheirFactory(t *testing.T) {
	usdc := common.HexToAddress("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48")
	wbnb, usdt := common.HexToAddress("0xbb4CdB9CBd36B01bD1cBaEBF2De08d9173bc095c"), common.HexToAddress("0x55d398326f99059fF775485246999027B3197955")
	f := func(chainID uint64, family, pool, want string, tokens ...common.Address) {
		t.Helper()
		if got := facts.Tables().FactoryOf(chainID, family, common.HexToAddress(pool), tokens); got != want {
			t.Errorf("%s: %q, want %q", pool, got, want)
		}
	}
	f(1, "uniswap_v2", "0xB4e16d0168e52d35CaCD2c6185b44281Ec28C9Dc", "uniswap_v2", scene.Weth, usdc)
	f(1, "uniswap_v2", "0x397FF1542f962076d0BFE58eA045FfA2d347ACa0", "sushiswap", usdc, scene.Weth)
	f(1, "uniswap_v3", "0x88e6A0c2dDD26FEEb64F039a2c41296FcB3f5640", "uniswap_v3", usdc, scene.Friend, scene.Weth)
	f(56, "uniswap_v2", "0x16b9a82891338f9bA80E2D6970FddA79D1eb0daE", "pancakeswap_v2", usdt, wbnb)
	f(56, "pancakeswap_v3", "0x36696169C63e42cd08ce11f5deeBbCeBae652050", "pancakeswap_v3", usdt, wbnb)
	f(8453, "uniswap_v3", "0xd0b53D9277642d899DF5C87A3966A349A798F224", "uniswap_v3",
		common.HexToAddress("0x4200000000000000000000000000000000000006"), common.HexToAddress("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"))
	f(1, "uniswap_v2", "0xB4e16d0168e52d35CaCD2c6185b44281Ec28C9Dc", "", scene.Weth)
	f(1, "uniswap_v2", "0xB4e16d0168e52d35CaCD2c6185b44281Ec28C9Dd", "", scene.Weth, usdc)
	f(10, "uniswap_v2", "0xB4e16d0168e52d35CaCD2c6185b44281Ec28C9Dc", "", scene.Weth, usdc)
}

// A flash loan moves one token of the pool: its likely partners prove the factory too.
func TestOneTokenProvesAPool(t *testing.T) {
	pool := common.HexToAddress("0x88e6A0c2dDD26FEEb64F039a2c41296FcB3f5640")
	f := func(pool common.Address, want string) {
		t.Helper()
		s := scene.New(scene.At(scene.Bot), 0, nil2()).Transfer(scene.Weth, pool, scene.Bot, 100).Transfer(scene.Weth, scene.Bot, pool, 101).
			Log(pool, "Flash(address,address,uint256,uint256,uint256,uint256)", []any{scene.Bot, scene.Bot}, 0, 100, 0, 1)
		v := scene.Held(t, "", s.Facts(t))
		if got := v.Protocol; want == "" && got != nil || want != "" && (got == nil || *got != want) {
			t.Errorf("pool %s: %v, want %q", pool, got, want)
		}
		if v.Votes[0].Family != "" != (want == "") {
			t.Errorf("pool %s: family %q", pool, v.Votes[0].Family)
		}
	}
	f(pool, "uniswap_v3")
	f(scene.Pool1, "")
}
