package zoo

import (
	"math/big"

	"txlens/engine/api"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

const proxyFolder = "@openzeppelin/contracts/build/contracts/"

var proxySpecimens = []specimen{
	{
		name: "deployment of a contract",
		script: func(w *world) common.Hash {
			_, hash := w.deployment(who("alice"), compiled(w.tb, "Counter"))
			return hash
		},
		want: truth{txType: api.TypeDeployment},
	},
	{
		name: "deployment of a proxy that is initialised at once",
		script: func(w *world) common.Hash {
			_, hash := deployProxy(w)
			return hash
		},
		want: truth{txType: api.TypeDeployment},
	},
	{
		name: "deployment that the constructor refuses",
		script: func(w *world) common.Hash {
			code := compiled(w.tb, "Stillborn").creation(w.tb, big.NewInt(7))
			return w.mine(tx{from: who("alice"), data: code, fails: true})[0]
		},
		want: truth{txType: api.TypeDeployment, attempted: true},
	},
	{
		name: "UUPS proxy: upgrade by the owner",
		script: func(w *world) common.Hash {
			proxy, _ := deployProxy(w)
			next := w.deploy(who("alice"), compiled(w.tb, "CounterByTen"))
			return w.call(who("alice"), proxy, "upgradeToAndCall", next.addr, []byte{})
		},
		want: truth{txType: api.TypeOther, subType: "admin", flags: []string{"implementation_changed"}},
	},
	{
		name: "UUPS proxy: an upgrade by a stranger is refused",
		script: func(w *world) common.Hash {
			proxy, _ := deployProxy(w)
			next := w.deploy(who("mallory"), compiled(w.tb, "CounterByTen"))
			return w.failing(who("mallory"), proxy, "upgradeToAndCall", next.addr, []byte{})
		},
		want: truth{txType: api.TypeOther, subType: "admin", attempted: true},
	},
	{
		name: "transparent proxy: upgrade through its admin",
		script: func(w *world) common.Hash {
			first, next := w.deploy(who("alice"), compiled(w.tb, "Counter")), w.deploy(who("alice"), compiled(w.tb, "CounterByTen"))
			proxy, hash := w.deployment(who("alice"), published(w.tb, proxyFolder+"TransparentUpgradeableProxy.json"), first.addr, who("alice").addr, []byte{})
			admins := contract{proxy.addr, published(w.tb, "@openzeppelin/contracts/build/contracts/TransparentUpgradeableProxy.json").abi}
			admin, ok := w.emitted(hash, admins, "AdminChanged")["newAdmin"].(common.Address)
			if !ok {
				w.tb.Fatal("the proxy names no admin")
			}
			keeper := contract{admin, published(w.tb, proxyFolder+"ProxyAdmin.json").abi}
			return w.call(who("alice"), keeper, "upgradeAndCall", proxy.addr, next.addr, []byte{})
		},
		want: truth{txType: api.TypeOther, subType: "admin", flags: []string{"implementation_changed"}},
	},
	{
		name: "beacon: an upgrade of all its proxies",
		script: func(w *world) common.Hash {
			first, next := w.deploy(who("alice"), compiled(w.tb, "Counter")), w.deploy(who("alice"), compiled(w.tb, "CounterByTen"))
			beacon := w.deploy(who("alice"), published(w.tb, proxyFolder+"UpgradeableBeacon.json"), first.addr, who("alice").addr)
			w.deploy(who("alice"), published(w.tb, proxyFolder+"BeaconProxy.json"), beacon.addr, []byte{})
			return w.call(who("alice"), beacon, "upgradeTo", next.addr)
		},
		want: truth{txType: api.TypeOther, subType: "admin", flags: []string{"implementation_changed"}},
	},
	{
		name: "beacon: a call through one of its proxies",
		script: func(w *world) common.Hash {
			first := w.deploy(who("alice"), compiled(w.tb, "Counter"))
			beacon := w.deploy(who("alice"), published(w.tb, proxyFolder+"UpgradeableBeacon.json"), first.addr, who("alice").addr)
			proxy := w.deploy(who("alice"), published(w.tb, proxyFolder+"BeaconProxy.json"), beacon.addr, []byte{})
			return w.call(who("bob"), contract{proxy.addr, first.abi}, "increment")
		},
		want: truth{txType: api.TypeOther, subType: "contract_call"},
	},
	{
		name: "clone: a bare one is made",
		script: func(w *world) common.Hash {
			of, maker := w.deploy(who("alice"), compiled(w.tb, "Counter")), w.deploy(who("alice"), compiled(w.tb, "CloneMaker"))
			return w.call(who("bob"), maker, "make", of.addr)
		},
		want: truth{txType: api.TypeDeployment},
	},
	{
		name: "clone: a call through one with arguments behind its code",
		script: func(w *world) common.Hash {
			of, maker := w.deploy(who("alice"), compiled(w.tb, "Counter")), w.deploy(who("alice"), compiled(w.tb, "CloneMaker"))
			hash := w.call(who("bob"), maker, "makeWith", of.addr, crypto.Keccak256([]byte("arguments")))
			clone, ok := w.emitted(hash, maker, "Cloned")["clone"].(common.Address)
			if !ok {
				w.tb.Fatal("the maker names no clone")
			}
			return w.call(who("bob"), contract{clone, of.abi}, "increment")
		},
		want: truth{txType: api.TypeOther, subType: "contract_call"},
	},
	{
		name: "diamond: a facet is added",
		script: func(w *world) common.Hash {
			diamond, facet := w.deploy(who("alice"), compiled(w.tb, "Diamond"), who("alice").addr), w.deploy(who("alice"), compiled(w.tb, "CountFacet"))
			return cut(w, diamond, facet)
		},
		want: truth{txType: api.TypeOther, subType: "admin", flags: []string{"facets_changed"}},
	},
	{
		name: "diamond: a call that a facet serves",
		script: func(w *world) common.Hash {
			diamond, facet := w.deploy(who("alice"), compiled(w.tb, "Diamond"), who("alice").addr), w.deploy(who("alice"), compiled(w.tb, "CountFacet"))
			cut(w, diamond, facet)
			return w.call(who("bob"), contract{diamond.addr, facet.abi}, "increment")
		},
		want: truth{txType: api.TypeOther, subType: "contract_call"},
	},
	{
		name: "role: granted by the admin",
		script: func(w *world) common.Hash {
			ward := w.deploy(who("alice"), compiled(w.tb, "Ward"), who("alice").addr)
			return w.call(who("alice"), ward, "grantRole", crypto.Keccak256Hash([]byte("MINTER_ROLE")), who("bob").addr)
		},
		want: truth{txType: api.TypeOther, subType: "admin", flags: []string{"role_granted"}},
	},
	{
		name: "ownership: accepted by who was named",
		script: func(w *world) common.Hash {
			ward := w.deploy(who("alice"), compiled(w.tb, "Ward"), who("alice").addr)
			w.call(who("alice"), ward, "transferOwnership", who("bob").addr)
			return w.call(who("bob"), ward, "acceptOwnership")
		},
		want: truth{txType: api.TypeOther, subType: "admin", flags: []string{"owner_changed"}},
	},
	{
		name: "initialiser: a stranger is first and empties the box",
		script: func(w *world) common.Hash {
			token := w.token("TOK", 18)
			box := w.deploy(who("deployer"), compiled(w.tb, "LateSafeBox"))
			bot := w.deploy(who("mallory"), compiled(w.tb, "BoxMover"))
			w.name("box", box.addr)
			w.name("bot", bot.addr)
			w.call(who("deployer"), token, "mint", box.addr, ether("1000"))
			return w.call(who("mallory"), bot, "initAndEmpty", box.addr, token.addr)
		},
		want: truth{
			txType: api.TypeExploit, subType: "access_control",
			moves: []string{"mallory +1000 TOK", "box -1000 TOK"}, flags: []string{"uninitialised_takeover", "owner_changed", "drain"},
			findings: []api.Category{api.AccessControl}, victim: []string{"box"}, attacker: []string{"mallory", "bot"},
		},
	},
	{
		name: "initialiser: the deployer is first",
		script: func(w *world) common.Hash {
			box := w.deploy(who("deployer"), compiled(w.tb, "LateSafeBox"))
			return w.call(who("deployer"), box, "initialize", who("deployer").addr)
		},
		want: truth{txType: api.TypeOther, subType: "admin", flags: []string{"owner_changed"}},
	},
}

// deployProxy makes a UUPS proxy of a counter, whose owner is alice.
func deployProxy(w *world) (proxy contract, hash common.Hash) {
	w.tb.Helper()
	of := w.deploy(who("alice"), compiled(w.tb, "Counter"))
	first := of.pack(w.tb, "initialize", who("alice").addr)
	proxy, hash = w.deployment(who("alice"), published(w.tb, proxyFolder+"ERC1967Proxy.json"), of.addr, first)
	proxy.abi = of.abi
	return proxy, hash
}

// cut has a diamond serve increment by a facet.
func cut(w *world, diamond, facet contract) common.Hash {
	w.tb.Helper()
	type facetCut struct {
		FacetAddress      common.Address
		Action            uint8
		FunctionSelectors [][4]byte
	}
	selector := [4]byte(facet.abi.Methods["increment"].ID)
	return w.call(who("alice"), diamond, "diamondCut", []facetCut{{facet.addr, 0, [][4]byte{selector}}}, common.Address{}, []byte{})
}
