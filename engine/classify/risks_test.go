package classify_test

import (
	"math/big"
	"slices"
	"strings"
	"testing"
	"txlens/engine/classify"
	"txlens/engine/decode"
	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/label"
	"txlens/engine/narrate"
	"txlens/engine/trace"
	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// change is one slot before and after.
type change struct {
	at        common.Address
	slot      common.Hash
	pre, post any
}

func diffOf(list ...change) *ethrpc.StateDiff {
	d := &ethrpc.StateDiff{Pre: map[common.Address]*ethrpc.Account{}, Post: map[common.Address]*ethrpc.Account{}}
	for _, c := range list {
		for side, v := range map[*map[common.Address]*ethrpc.Account]any{&d.Pre: c.pre, &d.Post: c.post} {
			if (*side)[c.at] == nil {
				(*side)[c.at] = &ethrpc.Account{Storage: map[common.Hash]common.Hash{}}
			}
			if w := scene.Word(v); w != (common.Hash{}) {
				(*side)[c.at].Storage[c.slot] = w
			}
		}
	}
	return d
}

func slotNumber(n int64) common.Hash { return common.BigToHash(big.NewInt(n)) }

// lines are the risks as results carry them.
func lines(v *scene.Judged) []string { return narrate.Risks(v.Words, v.Risks) }

// raised judges facts and gives the flags that are up, and whether each has a text.
func raised(t *testing.T, f *facts.Input) (flags []string, all string) {
	t.Helper()
	v := scene.Held(t, "", f)
	for _, r := range lines(v) {
		flag, text, ok := strings.Cut(r, ": ")
		if !ok || len(text) < 10 {
			t.Errorf("risk %q is not flag and explanation", r)
		}
		flags = append(flags, flag)
	}
	return flags, strings.Join(lines(v), "\n")
}

// TestControlNeedsEventAndStorage: a change of control is one by event and storage; the
// event alone is said to be a claim.
func TestControlNeedsEventAndStorage(t *testing.T) {
	role := crypto.Keccak256Hash([]byte("MINTER"))
	member := classify.MappedTo(scene.Friend, crypto.Keccak256Hash(role[:], slotNumber(0).Bytes()))
	implementation := common.HexToHash("0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc")
	f := func(flag string, s *scene.Scene, confirms, other change) {
		t.Helper()
		for _, x := range []struct {
			diff *ethrpc.StateDiff
			want string
		}{{diffOf(confirms), "event and storage"}, {diffOf(other), "a claim of its event: no word"}, {nil, "a claim of its event: there is no state diff"}} {
			facts := s.Facts(t)
			facts.Diff = x.diff
			flags, all := raised(t, facts)
			if !slices.Equal(flags, []string{flag}) || !strings.Contains(all, x.want) {
				t.Errorf("%s: %v\n%s\nwant %q", flag, flags, all, x.want)
			}
		}
	}
	nothing := change{at: scene.Usdc, slot: slotNumber(1), pre: 1, post: 2}
	call := func() *scene.Scene { return scene.New(scene.At(scene.Vault), 0, nil2()) }
	f("owner_changed", call().Log(scene.Vault, "OwnershipTransferred(address,address)", []any{scene.User, scene.Friend}), change{scene.Vault, slotNumber(0), scene.User, scene.Friend}, change{scene.Vault, slotNumber(0), scene.User, scene.Bot})
	f("owner_changed", call().Log(scene.Vault, "OwnershipTransferred(address,address)", nil, scene.User, scene.Friend), change{scene.Vault, slotNumber(7), scene.User, scene.Friend}, nothing)
	f("role_granted", call().Log(scene.Vault, "RoleGranted(bytes32,address,address)", []any{role, scene.Friend, scene.User}), change{scene.Vault, member, 0, 1}, change{scene.Vault, member, 1, 0})
	f("role_revoked", call().Log(scene.Vault, "RoleRevoked(bytes32,address,address)", []any{role, scene.Friend, scene.User}), change{scene.Vault, member, 1, 0}, nothing)
	f("module_enabled", call().Log(scene.Vault, "EnabledModule(address)", []any{scene.Friend}), change{scene.Vault, classify.MappedTo(scene.Friend, slotNumber(1)), 0, 1}, nothing)
	f("threshold_changed", call().Log(scene.Vault, "ChangedThreshold(uint256)", nil, 3), change{scene.Vault, slotNumber(4), 2, 3}, change{scene.Vault, slotNumber(4), 2, 1})
	f("implementation_changed", call().Log(scene.Vault, "Upgraded(address)", []any{scene.Friend}), change{scene.Vault, implementation, scene.Bot, scene.Friend}, nothing)

	// Storage alone: a proxy that emits nothing.
	facts := call().Facts(t)
	facts.Diff = diffOf(change{scene.Vault, implementation, scene.Bot, scene.Friend})
	if flags, all := raised(t, facts); !slices.Equal(flags, []string{"implementation_changed"}) || !strings.Contains(all, "no event says so") {
		t.Errorf("silent upgrade: %v\n%s", flags, all)
	}
	// A contract that is made here is set up, not changed.
	s := call().Log(scene.Vault, "OwnershipTransferred(address,address)", []any{scene.User, scene.Friend})
	made := s.Call(scene.User, scene.Vault, 0, nil)
	made.Kind = trace.Create
	facts = s.Facts(t)
	facts.Diff = diffOf(change{scene.Vault, slotNumber(0), 0, scene.Friend}, change{scene.Vault, implementation, 0, scene.Friend})
	if flags, _ := raised(t, facts); len(flags) > 0 {
		t.Errorf("a new contract: %v", flags)
	}
}

// TestFlagsOfTheRest: each flag that needs more than a receipt, and what looks like it.
func TestFlagsOfTheRest(t *testing.T) {
	f := func(name string, facts *facts.Input, want ...string) {
		t.Helper()
		if flags, all := raised(t, facts); !slices.Equal(flags, want) {
			t.Errorf("%s: %v, want %v\n%s", name, flags, want, all)
		}
	}
	permit := func(owner common.Address) *facts.Input {
		return scene.New(scene.At(scene.Usdc), 0, scene.Input("permit(address,address,uint256,uint256,uint8,bytes32,bytes32)", owner, scene.Bot, maxUint, 9, 27, 1, 1)).
			Log(scene.Usdc, "Approval(address,address,uint256)", []any{scene.Friend, scene.Bot}, maxUint).Facts(t)
	}
	f("a permit that another one hands in", permit(scene.Friend), "unlimited_approval")
	f("a permit of somebody else", permit(scene.Vault))

	f("first initialisation, later", scene.New(scene.At(scene.Vault), 0, nil2()).Log(scene.Vault, "Initialized(uint64)", nil, 1).Facts(t), "uninitialised_takeover")
	f("the second version of an upgrade", scene.New(scene.At(scene.Vault), 0, nil2()).Log(scene.Vault, "Initialized(uint64)", nil, 2).Facts(t))
	s := scene.New(scene.At(scene.Bot), 0, nil2()).Log(scene.Vault, "Initialized(uint64)", nil, 1)
	s.Call(scene.Bot, scene.Vault, 0, nil).Kind = trace.Create
	f("set up where it is made", s.Facts(t))

	delegate := func(known bool) *facts.Input {
		s := scene.New(scene.At(scene.Vault), 0, nil2())
		s.Call(scene.Vault, scene.Pool1, 0, nil2()).Kind = trace.DelegateCall
		facts := s.Facts(t)
		facts.Contracts = map[common.Address]*decode.Contract{scene.Vault: {Address: scene.Vault, ABI: &abi.ABI{}}}
		if known {
			facts.Contracts[scene.Pool1] = &decode.Contract{Address: scene.Pool1, ABI: &abi.ABI{}}
		}
		return facts
	}
	f("code that nobody knows", delegate(false), "unverified_delegatecall")
	f("verified code", delegate(true))
	unasked := delegate(false)
	unasked.Contracts = nil
	f("no source was asked for", unasked)

	fake := scene.New(scene.At(scene.Bot), 0, nil2()).Facts(t)
	fake.Flow.Fakes = []flow.Transfer{{Standard: flow.ERC20, Token: scene.Addr(77), From: scene.Friend, To: scene.User, Amount: big.NewInt(5)}}
	f("an event without storage", fake, "fake_transfer_event")
	imitated := scene.New(scene.At(scene.Bot), 0, nil2()).Facts(t)
	imitated.Flow.Fakes = fake.Flow.Fakes
	imitated.Tokens[scene.Addr(77)] = label.Token{Symbol: "USDC", Lookalike: "USDC"}
	f("an event without storage of an imitation", imitated, "address_poisoning", "fake_transfer_event")
	told := func(by int64) *facts.Input {
		facts := scene.New(scene.At(scene.Bot), 0, nil2()).Facts(t)
		facts.Flow.Checks = []flow.TokenCheck{{Token: scene.Addr(77), Match: flow.LogsDiffer, ByCalls: true, Holder: scene.User, ByLogs: big.NewInt(5), ByState: big.NewInt(by)}}
		return facts
	}
	f("a balance that did not change", told(0), "fake_transfer_event")
	f("a balance that changed otherwise", told(3))
	f("no event", scene.New(scene.At(scene.Bot), 0, nil2()).Facts(t))

	alike := scene.Friend
	alike[7] ^= 1
	f("dust from one that looks alike", scene.New(scene.At(scene.Bot), 0, nil2()).Transfer(scene.Usdc, scene.Friend, scene.Vault, 5_000000).Transfer(scene.Usdc, alike, scene.Vault, 1).Facts(t), "address_poisoning")
	f("dust from one that does not", scene.New(scene.At(scene.Bot), 0, nil2()).Transfer(scene.Usdc, scene.Friend, scene.Vault, 5_000000).Transfer(scene.Usdc, scene.Bot, scene.Vault, 1).Facts(t))
	f("much from one that looks alike", scene.New(scene.At(scene.Bot), 0, nil2()).Transfer(scene.Usdc, scene.Friend, scene.Vault, 5_000000).Transfer(scene.Usdc, alike, scene.Vault, 5_000000).Facts(t))

	sent := func(to common.Address, value int64, in []byte, gas uint64) *facts.Input {
		s := scene.New(scene.At(to), value, in)
		s.Rc.GasUsed = gas
		return s.Facts(t)
	}
	call := scene.Input("transfer(address,uint256)", scene.Friend, 5)
	cost := uint64(21000)
	for _, b := range call {
		if cost += 4; b != 0 {
			cost += 12
		}
	}
	f("coins with a call where no code is", sent(scene.Friend, 9, call, cost), "stuck_value")
	f("coins with a call that ran", sent(scene.Friend, 9, call, cost+700))
	f("coins with a note", sent(scene.Friend, 9, []byte("thanks for all the fish"), 21000+23*16))
	f("coins to the zero address", sent(common.Address{}, 9, nil, 21000), "stuck_value")
	f("tokens to the zero address", scene.New(scene.At(scene.Usdc), 0, scene.Input("transfer(address,uint256)", 0, 5)).Transfer(scene.Usdc, scene.User, common.Address{}, 5).Facts(t), "stuck_value")
	f("tokens burnt", scene.New(scene.At(scene.Usdc), 0, scene.Input("burn(uint256)", 5)).Transfer(scene.Usdc, scene.User, common.Address{}, 5).Facts(t))
}

// TestSlippageInCommands: the least output of swaps that stand in the commands of the
// Universal Router, or in a multicall that a payment with a minimum closes.
func TestSlippageInCommands(t *testing.T) {
	execute := func(commands []byte, inputs ...[]byte) []byte {
		b, _ := abi.NewType("bytes", "", nil)
		list, _ := abi.NewType("bytes[]", "", nil)
		args, err := abi.Arguments{{Type: b}, {Type: list}}.Pack(commands, inputs)
		if err != nil {
			t.Fatal(err)
		}
		sel := evmsig.SelExecute
		return append(sel[:], args...)
	}
	words := func(list ...any) (b []byte) {
		for _, x := range list {
			w := scene.Word(x)
			b = append(b, w[:]...)
		}
		return b
	}
	f := func(name string, in []byte, want bool) {
		t.Helper()
		flags, all := raised(t, scene.New(scene.At(scene.Router), 0, in).Facts(t))
		if slices.Contains(flags, "no_slippage_limit") != want {
			t.Errorf("%s: %v, want %v\n%s", name, flags, want, all)
		}
	}
	f("v2, any output", execute([]byte{classify.CmdV2ExactIn}, words(scene.User, 5, 0, 160, 1, 0)), true)
	bytesAndList := func(list []byte, params ...[]byte) []byte { return execute(list, params...)[4:] }
	path := func(least int) []byte {
		return execute([]byte{0x10}, bytesAndList([]byte{7}, words(32, scene.Usdc, 128, 5, least, 0)))
	}
	f("v4 along a path, any output", path(1), true)
	f("v4 along a path, a least output", path(77), false)
	single := func(least int) []byte {
		return execute([]byte{0x10}, bytesAndList([]byte{6}, words(32, scene.Usdc, scene.Weth, 500, 10, 0, 1, 5, least, 288, 0)))
	}
	f("v4 in one pool, any output", single(1), true)
	f("v4 in one pool, a least output", single(77), false)
	taken := func(least int) []byte {
		return execute([]byte{0x10}, bytesAndList([]byte{7, 15}, words(32, scene.Usdc, 128, 5, 0, 0), words(scene.Weth, least)))
	}
	f("v4, taken without a minimum", taken(0), true)
	f("v4, taken with one", taken(77), false)
	f("v3, any output", execute([]byte{classify.CmdV3ExactIn}, words(scene.User, 5, 1, 160, 1, 0)), true)
	f("v3, a least output", execute([]byte{classify.CmdV3ExactIn}, words(scene.User, 5, 77, 160, 1, 0)), false)
	f("any output, but a least payment", execute([]byte{classify.CmdV3ExactIn, classify.CmdUnwrap}, words(scene.User, 5, 0, 160, 1, 0), words(scene.User, 4)), false)
	f("any output, and any payment", execute([]byte{classify.CmdV3ExactIn, classify.CmdSweep}, words(scene.User, 5, 0, 160, 1, 0), words(scene.Usdc, scene.User, 0)), true)
	f("no swap", execute([]byte{classify.CmdSweep}, words(scene.Usdc, scene.User, 0)), false)
	f("cut short", execute([]byte{classify.CmdV3ExactIn}, words(scene.User, 5, 0))[:150], false)
	f("an offset beyond the end", append(scene.Input("execute(bytes,bytes[])", maxUint, maxUint), 1), false)
}

// TestImitationsAreLeftOut: what a token that imitates another moved is not what the
// summary tells.
func TestImitationsAreLeftOut(t *testing.T) {
	six, fake := uint8(6), scene.Addr(0xfa4e)
	f := func(name string, s *scene.Scene, want, never string) {
		t.Helper()
		facts := s.Facts(t)
		facts.Tokens[fake] = label.Token{Address: fake, Symbol: "USDC", Decimals: &six, Lookalike: "USDC"}
		v := scene.Held(t, name, facts)
		if !strings.Contains(v.Summary, want) || strings.Contains(v.Summary, never) {
			t.Errorf("%s: %q, want %q and never %q", name, v.Summary, want, never)
		}
		if !slices.ContainsFunc(lines(v), func(r string) bool { return strings.HasPrefix(r, "address_poisoning: ") }) {
			t.Errorf("%s: %q", name, lines(v))
		}
	}
	f("sent", scene.New(scene.At(fake), 0, nil2()).Transfer(fake, scene.User, scene.Friend, 7_000000), "left out", "7 USDC")
	f("swapped for", scene.New(scene.At(scene.Router), 0, nil2()).Transfer(scene.Usdc, scene.User, scene.Pool1, 5_000000).Transfer(fake, scene.Pool1, scene.User, 9_000000).
		Log(scene.Pool1, "Swap(address,uint256,uint256,uint256,uint256,address)", []any{scene.Router, scene.User}, 5_000000, 0, 0, 9_000000), "left out", "9 USDC")
	s := scene.New(scene.At(scene.Bot), 0, nil2()).Transfer(scene.Usdc, scene.Friend, scene.Vault, 0).Transfer(scene.Usdc, scene.Vault, scene.Friend, 0)
	f("nothing between others", s, "left out", "USDC from")
}

// FuzzCommands: no bytes make the reader of a router's commands go outside of them.
func FuzzCommands(f *testing.F) {
	f.Add([]byte{})
	f.Add(scene.Input("execute(bytes,bytes[])", 64, 128, 1, 0, 1, 32, 96)[4:])
	f.Add(scene.Input("execute(bytes,bytes[])", maxUint, 64, maxUint)[4:])
	f.Fuzz(func(t *testing.T, data []byte) {
		m := &classify.Minima{}
		m.Commands(data)
		m.Actions(data)
		if m.Swaps > 0 && m.Most == nil {
			t.Error("a swap without its minimum")
		}
	})
}
