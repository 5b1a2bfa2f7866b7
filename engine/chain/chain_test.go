package chain

import (
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

func TestTableIsWhole(t *testing.T) {
	all := All()
	if len(all) < 80 {
		t.Fatalf("%d chains, want at least 80", len(all))
	}
	ids, names := map[uint64]string{}, map[string]string{}
	full := 0
	for i, c := range all {
		if other, dup := ids[c.ID]; dup {
			t.Errorf("id %d: %s and %s", c.ID, other, c.Slug)
		}
		ids[c.ID] = c.Slug
		for _, n := range append([]string{c.Slug}, c.Aliases...) {
			if other, dup := names[n]; dup {
				t.Errorf("name %q: %s and %s", n, other, c.Slug)
			}
			names[n] = c.Slug
			if n != strings.ToLower(n) || strings.ContainsAny(n, " \t") {
				t.Errorf("%s: alias %q can not be typed", c.Slug, n)
			}
			if got, ok := BySlug(n); !ok || got != c {
				t.Errorf("BySlug(%q) is not %s", n, c.Slug)
			}
		}
		if c.Popularity != i {
			t.Errorf("%s: popularity %d at position %d", c.Slug, c.Popularity, i)
		}
		if c.FullEnrichment {
			full++
		}
		checkChain(t, c)
	}
	if full != 29 {
		t.Errorf("%d chains with full enrichment, want 29", full)
	}
}

func checkChain(t *testing.T, c *Chain) {
	t.Helper()
	if c.Name == "" || c.Native.Symbol == "" || c.Native.Decimals < 6 || c.Native.Decimals > 18 {
		t.Errorf("%s: name or coin missing: %q %+v", c.Slug, c.Name, c.Native)
	}
	if len(c.RPC) == 0 {
		t.Errorf("%s: no endpoint", c.Slug)
	}
	for _, u := range append([]string{c.Explorer}, c.RPC...) {
		checkURL(t, c.Slug, u)
	}
	if c.Blockscout != "" {
		checkURL(t, c.Slug, c.Blockscout)
	}
	for _, a := range []*common.Address{c.WrappedNative, c.Multicall3, c.Stack.NativeToken()} {
		if a != nil && *a == (common.Address{}) {
			t.Errorf("%s: zero address in the table", c.Slug)
		}
	}
	if token := c.Stack.NativeToken(); c.WrappedNative != nil && token != nil && *c.WrappedNative == *token {
		t.Errorf("%s: the coin's own contract is no wrapper", c.Slug)
	}
}

func checkURL(t *testing.T, slug, raw string) {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || strings.HasSuffix(raw, "/") || strings.ContainsAny(raw, "${} ") {
		t.Errorf("%s: bad URL %q", slug, raw)
	}
}

func TestInterfaceSlugs(t *testing.T) {
	f := func(slug string, id uint64) {
		t.Helper()
		c, ok := BySlug(slug)
		if !ok || c.ID != id || c.Slug != slug || !c.FullEnrichment {
			t.Errorf("BySlug(%q) = %+v, %v; want id %d with full enrichment", slug, c, ok, id)
		}
		if d, ok := ByID(id); !ok || d != c {
			t.Errorf("ByID(%d) is not %s", id, slug)
		}
	}
	f("ethereum-mainnet", 1)
	f("base-mainnet", 8453)
	f("arbitrum-mainnet", 42161)
	f("optimism-mainnet", 10)
	f("matic-mainnet", 137)
	f("bsc-mainnet", 56)
	f("avalanche-mainnet", 43114)
	f("linea-mainnet", 59144)
	f("zksync-mainnet", 324)
	f("scroll-mainnet", 534352)
	f("blast-mainnet", 81457)
	f("xdai-mainnet", 100)
	f("abstract-mainnet", 2741)
	f("bera-mainnet", 80094)
	f("celo-mainnet", 42220)
	f("fantom-mainnet", 250)
	f("fraxtal-mainnet", 252)
	f("hype-mainnet", 999)
	f("kaia-mainnet", 8217)
	f("mantle-mainnet", 5000)
	f("mode-mainnet", 34443)
	f("nova-mainnet", 42170)
	f("soneium-mainnet", 1868)
	f("sonic-mainnet", 146)
	f("story-mainnet", 1514)
	f("unichain-mainnet", 130)
	f("worldchain-mainnet", 480)
	f("zkevm-mainnet", 1101)
	f("sei-pacific", 1329)
}

func TestAliases(t *testing.T) {
	f := func(name, slug string) {
		t.Helper()
		if c, ok := BySlug(name); !ok || c.Slug != slug {
			t.Errorf("BySlug(%q) = %v, %v; want %s", name, c, ok, slug)
		}
	}
	f("bnbchain-mainnet", "bsc-mainnet")
	f("polygon-mainnet", "matic-mainnet")
	f("gnosis-mainnet", "xdai-mainnet")
	f("hyperevm-mainnet", "hype-mainnet")
	f("sei-mainnet", "sei-pacific")
	f("Ethereum", "ethereum-mainnet")
	f("eth", "ethereum-mainnet")
	f("mainnet", "ethereum-mainnet")
	f(" arb1 ", "arbitrum-mainnet")
	f("ARBITRUM", "arbitrum-mainnet")
	f("op", "optimism-mainnet")
	f("optimism", "optimism-mainnet")
	f("polygon", "matic-mainnet")
	f("bnb", "bsc-mainnet")
	f("avalanche", "avalanche-mainnet")
	f("gnosis", "xdai-mainnet")
	f("era", "zksync-mainnet")
	f("scroll", "scroll-mainnet")
	for _, name := range []string{"", "nowhere", "ethereum mainnet", "1"} {
		if c, ok := BySlug(name); ok {
			t.Errorf("BySlug(%q) = %s, want none", name, c.Slug)
		}
	}
	if _, ok := ByID(0); ok {
		t.Error("ByID(0) found a chain")
	}
}

func TestFeeRules(t *testing.T) {
	f := func(slug string, h Head, want FeeRule) {
		t.Helper()
		c, _ := BySlug(slug)
		if got := c.Stack.Fee(h); !reflect.DeepEqual(got, want) {
			t.Errorf("%s at %+v: %+v, want %+v", slug, h, got, want)
		}
	}
	at := func(unix uint64) Head { return Head{Time: unix, BaseFee: true} }
	preBedrock := Head{Time: 1650000000}
	op := FeeRule{
		AddL1Fee: true, OperatorFee: true, RecipientsKnown: true,
		BaseFeeVault:     address("0x4200000000000000000000000000000000000019"),
		L1FeeVault:       address("0x420000000000000000000000000000000000001A"),
		OperatorFeeVault: address("0x420000000000000000000000000000000000001B"),
		Collector:        address("0x4200000000000000000000000000000000000011"),
	}
	oldOP := op
	oldOP.L1FeeVault, oldOP.L1FeeNeedsPrice = op.Collector, true
	shared := FeeRule{AddL1Fee: true, L1FeeVault: op.L1FeeVault}
	vault := address("0x5300000000000000000000000000000000000005")
	validators := address("0xfffffffffffffffffffffffffffffffffffffffe")
	f("ethereum", Latest, FeeRule{BurnsBaseFee: true, RecipientsKnown: true})
	f("linea", Latest, FeeRule{BurnsBaseFee: true, RecipientsKnown: true})
	f("avalanche", Latest, FeeRule{RecipientsKnown: true})
	f("base", Latest, op)
	f("optimism", Latest, op)
	f("optimism", preBedrock, oldOP)
	f("mantle", Latest, op)
	f("mantle", at(1776841199), FeeRule{BaseFeeVault: op.BaseFeeVault, Collector: op.Collector})
	f("celo", Latest, shared)
	f("celo", at(1742957257), FeeRule{})
	f("blast", Latest, shared)
	f("scroll", Latest, FeeRule{AddL1Fee: true, RecipientsKnown: true, BaseFeeVault: vault, L1FeeVault: vault, Collector: vault, CollectorIs: CollectorAll})
	f("arbitrum", Latest, FeeRule{L1GasPool: address("0xA4B00000000000000000000000000000000000f6")})
	f("zksync", Latest, FeeRule{Prepaid: address("0x0000000000000000000000000000000000008001")})
	f("polygon", Latest, FeeRule{TipInLog: true})
	f("bsc", Latest, FeeRule{RecipientsKnown: true, Collector: validators, CollectorIs: CollectorValidators, BlobFeeVault: validators})
	f("gnosis", Latest, FeeRule{RecipientsKnown: true, BaseFeeVault: gnosisCollector, BlobFeeVault: gnosisCollector})
	f("gnosis", at(1746021819), FeeRule{RecipientsKnown: true, BaseFeeVault: gnosisCollector})
	f("tempo", Latest, FeeRule{})
	f("sonic", Latest, FeeRule{})
}

func TestTransactionTypes(t *testing.T) {
	f := func(slug string, txType uint64, want TxType) {
		t.Helper()
		c, _ := BySlug(slug)
		if got := c.Stack.TxType(txType); got != want {
			t.Errorf("%s type %#x: %+v, want %+v", slug, txType, got, want)
		}
	}
	for ty := uint64(0); ty <= 4; ty++ {
		for _, c := range All() {
			f(c.Slug, ty, TxType{FeeInToken: c.Slug == "tempo-mainnet"})
		}
	}
	deposit := TxType{System: true, ZeroFee: true, Mint: MintField}
	f("ethereum", 0x7e, TxType{})
	f("base", 0x7e, deposit)
	f("mantle", 0x7e, deposit)
	f("celo", 0x7e, deposit)
	f("scroll", 0x7e, TxType{System: true, ZeroFee: true})
	f("arbitrum", 0x64, TxType{System: true, ZeroFee: true, Mint: MintValue})
	f("arbitrum", 0x65, TxType{System: true})
	f("arbitrum", 0x66, TxType{System: true})
	f("arbitrum", 0x67, TxType{})
	f("arbitrum", 0x68, TxType{System: true, OutsideFrames: true})
	f("arbitrum", 0x69, TxType{System: true, OutsideFrames: true})
	f("nova", 0x6a, TxType{System: true, ZeroFee: true})
	f("arbitrum", 0x78, TxType{})
	f("zksync", 0xff, TxType{System: true})
	f("abstract", 0xfe, TxType{System: true, ZeroFee: true})
	f("zksync", 0x71, TxType{})
	f("polygon", 0x7f, TxType{System: true, ZeroFee: true})
	f("celo", 0x7b, TxType{FeeInToken: true})
	f("celo", 0x7c, TxType{FeeInToken: true})
	f("base", 0x7b, TxType{})
	f("tempo", 0x76, TxType{FeeInToken: true})
}

func TestNative(t *testing.T) {
	f := func(slug string, unix uint64, symbol, coingecko string) {
		t.Helper()
		c, _ := BySlug(slug)
		if got := c.NativeAt(unix).Symbol; got != symbol {
			t.Errorf("%s at %d: %s, want %s", slug, unix, got, symbol)
		}
		if got := c.CoingeckoAt(unix); got != coingecko {
			t.Errorf("%s at %d: coin id %s, want %s", slug, unix, got, coingecko)
		}
	}
	f("polygon", 1600000000, "MATIC", "matic-network")
	f("polygon", 1725408000, "POL", "polygon-ecosystem-token")
	f("kaia", 1700000000, "KLAY", "klay-token")
	f("fraxtal", 1740000000, "frxETH", "frax-ether")
	f("ethereum", 1, "ETH", "ethereum")

	for slug, want := range map[string]string{
		"zksync": "0x000000000000000000000000000000000000800A", "lens": "0x000000000000000000000000000000000000800A",
		"polygon": "0x0000000000000000000000000000000000001010", "celo": "0x471EcE3750Da237f93B8E339c536989b8978a438",
		"metis": "0xDeadDeAddeAddEAddeadDEaDDEaDDeaDDeAD0000",
	} {
		if c, _ := BySlug(slug); c.Stack.NativeToken() == nil || *c.Stack.NativeToken() != common.HexToAddress(want) {
			t.Errorf("%s: native token %v, want %s", slug, c.Stack.NativeToken(), want)
		}
	}
	if c, _ := BySlug("ethereum"); c.Stack.NativeToken() != nil {
		t.Error("ethereum: the native coin is no token")
	}
}

func TestAllIsACopy(t *testing.T) {
	All()[0] = nil
	if All()[0] == nil {
		t.Error("a caller changed the table")
	}
}
