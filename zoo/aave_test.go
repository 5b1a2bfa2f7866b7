package zoo

import (
	"bytes"
	"encoding/json"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// Where the market of Ethereum stands.
var (
	aaveProvider = common.HexToAddress("0x2f39d218133AFaB8F2B819B1066c7E434Ad94E9e")
	aavePool     = common.HexToAddress("0x87870Bca3F3fD6335C3F4ce8392D69350B4fA4E2")
	aaveAdmin    = common.HexToAddress("0x5300A1a15135EA4dc7aD5a167152C01EFc9b192A")
)

// reserve is a token that the market takes, and what one is worth in USD with eight
// decimals.
type reserve struct {
	token    common.Address
	symbol   string
	decimals uint8
	price    int64
}

// aave is the market while it is built, as its own scripts do it: libraries, provider,
// pool behind its proxy, configurator, and a reserve for each token.
type aave struct {
	g            *genesis
	libraries    map[string]common.Address
	pool         contract
	configurator contract
	tokens       [3]common.Address // behind aToken, stable and variable debt
	rates        common.Address
	feeds        map[common.Address]contract // of each token
}

func layAave(g *genesis, reserves ...reserve) *aave {
	g.tb.Helper()
	m := &aave{g: g, libraries: map[string]common.Address{}, feeds: map[common.Address]contract{}}
	for _, name := range []string{"BorrowLogic", "BridgeLogic", "EModeLogic", "FlashLoanLogic", "LiquidationLogic", "PoolLogic", "SupplyLogic", "ConfiguratorLogic"} {
		m.libraries[name] = m.build("protocol/libraries/logic/", name).addr
	}
	provider := m.buildAt(aaveProvider, "protocol/configuration/", "PoolAddressesProvider", "Aave Ethereum Market", aaveAdmin)
	// The first proxy that the provider makes lands where the pool is on Ethereum.
	m.pool = m.build("protocol/pool/", "Pool", aaveProvider)
	m.do(provider, "setPoolImpl", m.pool.addr)
	if at := common.BytesToAddress(m.do(provider, "getPool")); at != aavePool {
		g.tb.Fatalf("the pool is at %s", at)
	}
	m.pool.addr = aavePool

	m.do(provider, "setACLAdmin", aaveAdmin)
	roles := m.build("protocol/configuration/", "ACLManager", aaveProvider)
	m.do(provider, "setACLManager", roles.addr)
	m.do(roles, "addPoolAdmin", aaveAdmin)
	m.configurator = m.build("protocol/pool/", "PoolConfigurator")
	m.do(provider, "setPoolConfiguratorImpl", m.configurator.addr)
	m.configurator.addr = common.BytesToAddress(m.do(provider, "getPoolConfigurator"))

	for i, name := range []string{"AToken", "StableDebtToken", "VariableDebtToken"} {
		m.tokens[i] = m.build("protocol/tokenization/", name, aavePool).addr
	}
	ray := func(percent int64) *big.Int { return new(big.Int).Mul(big.NewInt(percent*1e9), big.NewInt(1e16)) }
	m.rates = m.build("protocol/pool/", "DefaultReserveInterestRateStrategy", aaveProvider,
		ray(80), ray(0), ray(4), ray(75), ray(5), ray(75), ray(1), ray(8), ray(20)).addr
	m.do(m.configurator, "updateFlashloanPremiumTotal", big.NewInt(5)) // of ten thousand
	var assets, sources []common.Address
	for _, r := range reserves {
		assets, sources = append(assets, r.token), append(sources, m.list(r))
	}
	oracle := m.build("misc/", "AaveOracle", aaveProvider, assets, sources, common.Address{}, common.Address{}, big.NewInt(1e8))
	m.do(provider, "setPriceOracle", oracle.addr)
	return m
}

// list makes a token a reserve that can be pledged, borrowed and borrowed for the
// length of a call, and a feed with its price.
func (m *aave) list(r reserve) (feed common.Address) {
	type input struct {
		ATokenImpl, StableDebtTokenImpl, VariableDebtTokenImpl common.Address
		UnderlyingAssetDecimals                                uint8
		InterestRateStrategyAddress, UnderlyingAsset           common.Address
		Treasury, IncentivesController                         common.Address
		ATokenName, ATokenSymbol                               string
		VariableDebtTokenName, VariableDebtTokenSymbol         string
		StableDebtTokenName, StableDebtTokenSymbol             string
		Params                                                 []byte
	}
	m.do(m.configurator, "initReserves", []input{{
		m.tokens[0], m.tokens[1], m.tokens[2], r.decimals, m.rates, r.token, aaveAdmin, common.Address{},
		"Aave Ethereum " + r.symbol, "aEth" + r.symbol, "Aave Ethereum Variable Debt " + r.symbol, "variableDebtEth" + r.symbol,
		"Aave Ethereum Stable Debt " + r.symbol, "stableDebtEth" + r.symbol, []byte{},
	}})
	m.do(m.configurator, "configureReserveAsCollateral", r.token, big.NewInt(8000), big.NewInt(8250), big.NewInt(10500))
	m.do(m.configurator, "setReserveBorrowing", r.token, true)
	m.do(m.configurator, "setReserveFlashLoaning", r.token, true)
	by := who("feeder").addr
	c := m.g.construct(aaveAddress("feed of "+r.symbol), by, compiled(m.g.tb, "Feed"))
	m.g.run(by, c.addr, c.pack(m.g.tb, "transmit", big.NewInt(r.price)))
	m.feeds[r.token] = c
	return c.addr
}

// build makes a contract of the package at an address that its name gives.
func (m *aave) build(folder, name string, args ...any) contract {
	m.g.tb.Helper()
	return m.buildAt(aaveAddress(name), folder, name, args...)
}

func (m *aave) buildAt(addr common.Address, folder, name string, args ...any) contract {
	m.g.tb.Helper()
	path := "@aave/core-v3/artifacts/contracts/" + folder + name + ".sol/" + name + ".json"
	return m.g.construct(addr, aaveAdmin, linked(m.g.tb, path, m.libraries), args...)
}

func (m *aave) do(c contract, method string, args ...any) []byte {
	m.g.tb.Helper()
	return m.g.run(aaveAdmin, c.addr, c.pack(m.g.tb, method, args...))
}

func aaveAddress(name string) common.Address {
	return common.BytesToAddress(crypto.Keccak256([]byte("aave " + name)))
}

// linked reads an artefact of hardhat and writes the addresses of libraries where its
// code leaves them open.
func linked(tb testing.TB, path string, libraries map[string]common.Address) *artefact {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join("node_modules", filepath.FromSlash(path)))
	if err != nil {
		tb.Fatalf("read artefact: %v", err)
	}
	var build struct {
		ABI            json.RawMessage
		Bytecode       string
		LinkReferences map[string]map[string][]struct{ Start int }
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&build); err != nil {
		tb.Fatalf("read artefact %s: %v", path, err)
	}
	code := []byte(strings.TrimPrefix(build.Bytecode, "0x"))
	for _, file := range build.LinkReferences {
		for name, places := range file {
			addr, ok := libraries[name]
			if !ok {
				tb.Fatalf("%s wants the library %s", path, name)
			}
			for _, p := range places {
				copy(code[2*p.Start:], common.Bytes2Hex(addr[:]))
			}
		}
	}
	a, err := newArtefact(build.ABI, string(code))
	if err != nil {
		tb.Fatalf("read artefact %s: %v", path, err)
	}
	return a
}
