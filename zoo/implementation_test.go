package zoo

import (
	"fmt"
	"math/big"
	"testing"

	"txlens/engine/chain"
	"txlens/engine/decode"
	"txlens/engine/gather"
	"txlens/engine/meter"
	"txlens/engine/upstream"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

// behind is what the program finds behind an address as of a transaction. Blind, it has
// neither frames nor state diff, and only the node's state at both ends of the block.
func (w *world) behind(addr common.Address, hash common.Hash, blind bool) string {
	w.tb.Helper()
	client, err := upstream.New(upstream.Config{Endpoints: map[uint64][]string{1: {w.node.url}}, RPCOnly: true, SourcesOff: true, MaxConcurrent: 32})
	if err != nil {
		w.tb.Fatal(err)
	}
	defer client.Close()
	ethereum, _ := chain.ByID(1)
	s := client.Session(&meter.Meter{}, nil)
	facts, err := gather.ReadFacts(w.tb.Context(), s, ethereum, hash)
	if err != nil {
		w.tb.Fatal(err)
	}
	m := gather.TxStateOf(s, ethereum, facts.Tx, nil, facts.Receipt, nil)
	if !blind {
		traced, err := gather.Trace(w.tb.Context(), s, ethereum, hash, gather.TraceOptions{})
		if err != nil || traced.Tree == nil || traced.Diff == nil {
			w.tb.Fatalf("trace: %+v, %v", traced, err)
		}
		m = gather.TxStateOf(s, ethereum, facts.Tx, traced.Tree, facts.Receipt, traced.Diff)
	}
	p, err := decode.Implementation(w.tb.Context(), m, addr)
	if err != nil || p == nil {
		return fmt.Sprint(err)
	}
	text := p.Kind
	for _, a := range p.Behind {
		text += " " + nameOf(w, a)
	}
	if p.Upgraded != nil {
		text += ", then " + nameOf(w, *p.Upgraded)
	}
	if len(p.Args) > 0 {
		text += fmt.Sprintf(", %d bytes", len(p.Args))
	}
	if p.Doubt != "" {
		text += "?"
	}
	return text
}

// placed mines code as it is, with one slot written.
func (w *world) placed(runtime []byte, slot common.Hash, value common.Address) common.Address {
	w.tb.Helper()
	init := append([]byte{0x73}, value[:]...)
	init = append(append(append(init, 0x7f), slot[:]...), 0x55) // PUSH20 value, PUSH32 slot, SSTORE
	n := len(runtime)
	const tail = 14 // copies the code behind it to memory and returns it
	init = append(init, 0x61, byte(n>>8), byte(n), 0x60, byte(len(init)+tail), 0x60, 0, 0x39, 0x61, byte(n>>8), byte(n), 0x60, 0, 0xf3)
	addr := crypto.CreateAddress(who("deployer").addr, w.nonce(who("deployer")))
	w.mine(tx{from: who("deployer"), data: append(init, runtime...)})
	return addr
}

// eip1967 is a slot by the rule of EIP-1967.
func eip1967(what string) common.Hash {
	h := crypto.Keccak256Hash([]byte("eip1967.proxy." + what))
	return common.BigToHash(new(big.Int).Sub(h.Big(), big.NewInt(1)))
}

// The runtime codes of ERC-7760: UUPS, its I-variant, beacon, its I-variant.
var minimal = []string{
	"363d3d373d3d363d7f360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc545af43d6000803e6038573d6000fd5b3d6000f3",
	"365814604357363d3d373d3d363d7f360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc545af43d6000803e603e573d6000fd5b3d6000f35b6020600f3d393d51543d52593df3",
	"363d3d373d3d363d602036600436635c60da1b60e01b36527fa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50545afa5036515af43d6000803e604d573d6000fd5b3d6000f3",
	"363d3d373d3d363d602036600436635c60da1b60e01b36527fa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50545afa361460525736515af43d600060013e6052573d6001fd5b3d6001f3",
}

// TestBehindProxies: what stands behind real proxies on a real node, with frames and
// without, before and after they are changed.
func TestBehindProxies(t *testing.T) {
	base := open(t)
	w := on(t, base.node, base.head)
	const oz = "@openzeppelin/contracts/build/contracts/"
	owner, user := who("owner1"), who("alice")
	counter, byTen := w.deploy(who("deployer"), compiled(t, "Counter")), w.deploy(who("deployer"), compiled(t, "CounterByTen"))
	w.name("old", counter.addr)
	w.name("new", byTen.addr)
	f := func(what string, addr common.Address, hash common.Hash, seen, blind string) {
		t.Helper()
		if got := w.behind(addr, hash, false); got != seen {
			t.Errorf("%s: %s, want %s", what, got, seen)
		}
		if got := w.behind(addr, hash, true); got != blind {
			t.Errorf("%s, blind: %s, want %s", what, got, blind)
		}
	}
	use := func(addr common.Address) common.Hash {
		t.Helper()
		return w.call(user, contract{addr, counter.abi}, "increment")
	}
	start := counter.pack(t, "initialize", owner.addr)

	uups := w.deploy(who("deployer"), published(t, oz+"ERC1967Proxy.json"), counter.addr, start)
	f("ERC1967Proxy", uups.addr, use(uups.addr), "eip1967 old", "eip1967 old")
	upgrade := w.call(owner, contract{uups.addr, counter.abi}, "upgradeToAndCall", byTen.addr, counter.pack(t, "increment"))
	f("its upgrade", uups.addr, upgrade, "eip1967 old, then new", "eip1967 old, then new")
	f("after it", uups.addr, use(uups.addr), "eip1967 new", "eip1967 new")
	again := w.mine(w.calling(user, contract{uups.addr, counter.abi}, "increment"), w.calling(owner, contract{uups.addr, counter.abi}, "upgradeToAndCall", counter.addr, []byte{}))
	f("another transaction of the block changes it", uups.addr, again[0], "eip1967 new", "eip1967 new?")

	transparent := w.deploy(who("deployer"), published(t, oz+"TransparentUpgradeableProxy.json"), counter.addr, owner.addr, []byte{})
	admin := contract{crypto.CreateAddress(transparent.addr, 1), published(t, oz+"ProxyAdmin.json").abi}
	f("TransparentUpgradeableProxy", transparent.addr, use(transparent.addr), "eip1967 old", "eip1967 old")
	f("its upgrade", transparent.addr, w.call(owner, admin, "upgradeAndCall", transparent.addr, byTen.addr, []byte{}), "eip1967 old, then new", "eip1967 old, then new")

	beacon := w.deploy(who("deployer"), published(t, oz+"UpgradeableBeacon.json"), counter.addr, owner.addr)
	viaBeacon := w.deploy(who("deployer"), published(t, oz+"BeaconProxy.json"), beacon.addr, []byte{})
	small := w.placed(common.FromHex(minimal[3]+"c0ffee"), eip1967("beacon"), beacon.addr)
	f("BeaconProxy", viaBeacon.addr, use(viaBeacon.addr), "beacon old", "beacon old")
	f("ERC-7760 beacon, I-variant", small, use(small), "erc7760_beacon old, 3 bytes", "erc7760_beacon old, 3 bytes")
	turned := w.call(owner, beacon, "upgradeTo", byTen.addr)
	f("the beacon's upgrade", viaBeacon.addr, turned, "beacon old, then new", "beacon old, then new")
	f("and of a small one", small, turned, "erc7760_beacon old, then new, 3 bytes", "erc7760_beacon old, then new, 3 bytes")

	for i, code := range minimal[:3] {
		slot, value, want := eip1967("implementation"), counter.addr, "erc7760 old"
		if i == 2 {
			slot, value, want = eip1967("beacon"), beacon.addr, "erc7760_beacon new"
		}
		at := w.placed(common.FromHex(code), slot, value)
		f(fmt.Sprintf("ERC-7760, form %d", i), at, use(at), want, want)
	}

	maker := w.deploy(who("deployer"), compiled(t, "CloneMaker"))
	cloned := func(hash common.Hash) common.Address {
		t.Helper()
		a, _ := w.emitted(hash, maker, "Cloned")["clone"].(common.Address)
		return a
	}
	plain := cloned(w.call(user, maker, "make", counter.addr))
	f("EIP-1167", plain, use(plain), "eip1167 old", "eip1167 old")
	args := cloned(w.call(user, maker, "makeWith", counter.addr, []byte("forty-two bytes or some other number of them")))
	f("EIP-1167 with arguments", args, use(args), "eip1167 old, 44 bytes", "eip1167 old, 44 bytes")
	appending := w.placed(append(append(common.FromHex("3d3d3d3d363d3d37610006603736393661000601"+"3d73"), counter.addr[:]...), common.FromHex("5af43d3d93803e603557fd5bf3"+"c0ffee010006")...), common.Hash{}, common.Address{})
	f("arguments behind the calldata", appending, use(appending), "clone_with_immutable_args old, 6 bytes", "clone_with_immutable_args old, 6 bytes")
	w.name("clone", plain)
	layered := w.deploy(who("deployer"), published(t, oz+"ERC1967Proxy.json"), plain, start)
	f("a proxy of a clone", layered.addr, use(layered.addr), "eip1967 clone old", "eip1967 clone old")
	w.name("proxy", uups.addr)
	hollow := cloned(w.call(user, maker, "make", uups.addr))
	f("a clone of a proxy has an empty slot", hollow, use(hollow), "eip1167 proxy", "eip1167 proxy")

	carry := func(to common.Address) common.Hash {
		t.Helper()
		list := []types.SetCodeAuthorization{w.authorize(user, to, false)}
		return w.mine(tx{from: who("relayer"), to: &owner.addr, auth: list})[0]
	}
	f("EIP-7702", user.addr, carry(byTen.addr), "eip7702 new", "eip7702 new")
	f("EIP-7702, taken back", user.addr, carry(common.Address{}), "<nil>", "eip7702 new")
	f("no proxy", counter.addr, use(counter.addr), "<nil>", "<nil>")
}
