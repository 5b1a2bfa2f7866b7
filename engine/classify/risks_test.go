package classify

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"txlens/engine/decode"
	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/flow"
	"txlens/engine/label"
	"txlens/engine/narrate"
	"txlens/engine/trace"

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
			if w := word(v); w != (common.Hash{}) {
				(*side)[c.at].Storage[c.slot] = w
			}
		}
	}
	return d
}

func slotNumber(n int64) common.Hash { return common.BigToHash(big.NewInt(n)) }

// lines are the risks as results carry them.
func lines(v *judged) []string { return narrate.Risks(v.words, v.Risks) }

// raised judges facts and gives the flags that are up, and whether each has a text.
func raised(t *testing.T, f *Facts) (flags []string, all string) {
	t.Helper()
	v := judge(f)
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
	member := mappedTo(friend, crypto.Keccak256Hash(role[:], slotNumber(0).Bytes()))
	implementation := common.HexToHash("0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc")
	f := func(flag string, s *scene, confirms, other change) {
		t.Helper()
		for _, x := range []struct {
			diff *ethrpc.StateDiff
			want string
		}{{diffOf(confirms), "event and storage"}, {diffOf(other), "a claim of its event: no word"}, {nil, "a claim of its event: there is no state diff"}} {
			facts := s.facts(t)
			facts.Diff = x.diff
			flags, all := raised(t, facts)
			if !slices.Equal(flags, []string{flag}) || !strings.Contains(all, x.want) {
				t.Errorf("%s: %v\n%s\nwant %q", flag, flags, all, x.want)
			}
		}
	}
	nothing := change{at: usdc, slot: slotNumber(1), pre: 1, post: 2}
	call := func() *scene { return newScene(at(vault), 0, nil2()) }
	f("owner_changed", call().log(vault, "OwnershipTransferred(address,address)", []any{user, friend}), change{vault, slotNumber(0), user, friend}, change{vault, slotNumber(0), user, bot})
	f("owner_changed", call().log(vault, "OwnershipTransferred(address,address)", nil, user, friend), change{vault, slotNumber(7), user, friend}, nothing)
	f("role_granted", call().log(vault, "RoleGranted(bytes32,address,address)", []any{role, friend, user}), change{vault, member, 0, 1}, change{vault, member, 1, 0})
	f("role_revoked", call().log(vault, "RoleRevoked(bytes32,address,address)", []any{role, friend, user}), change{vault, member, 1, 0}, nothing)
	f("module_enabled", call().log(vault, "EnabledModule(address)", []any{friend}), change{vault, mappedTo(friend, slotNumber(1)), 0, 1}, nothing)
	f("threshold_changed", call().log(vault, "ChangedThreshold(uint256)", nil, 3), change{vault, slotNumber(4), 2, 3}, change{vault, slotNumber(4), 2, 1})
	f("implementation_changed", call().log(vault, "Upgraded(address)", []any{friend}), change{vault, implementation, bot, friend}, nothing)

	// Storage alone: a proxy that emits nothing.
	facts := call().facts(t)
	facts.Diff = diffOf(change{vault, implementation, bot, friend})
	if flags, all := raised(t, facts); !slices.Equal(flags, []string{"implementation_changed"}) || !strings.Contains(all, "no event says so") {
		t.Errorf("silent upgrade: %v\n%s", flags, all)
	}
	// A contract that is made here is set up, not changed.
	s := call().log(vault, "OwnershipTransferred(address,address)", []any{user, friend})
	made := s.call(user, vault, 0, nil)
	made.Kind = trace.Create
	facts = s.facts(t)
	facts.Diff = diffOf(change{vault, slotNumber(0), 0, friend}, change{vault, implementation, 0, friend})
	if flags, _ := raised(t, facts); len(flags) > 0 {
		t.Errorf("a new contract: %v", flags)
	}
}

// TestFlagsOfTheRest: each flag that needs more than a receipt, and what looks like it.
func TestFlagsOfTheRest(t *testing.T) {
	f := func(name string, facts *Facts, want ...string) {
		t.Helper()
		if flags, all := raised(t, facts); !slices.Equal(flags, want) {
			t.Errorf("%s: %v, want %v\n%s", name, flags, want, all)
		}
	}
	permit := func(owner common.Address) *Facts {
		return newScene(at(usdc), 0, input("permit(address,address,uint256,uint256,uint8,bytes32,bytes32)", owner, bot, maxUint, 9, 27, 1, 1)).
			log(usdc, "Approval(address,address,uint256)", []any{friend, bot}, maxUint).facts(t)
	}
	f("a permit that another one hands in", permit(friend), "unlimited_approval")
	f("a permit of somebody else", permit(vault))

	f("first initialisation, later", newScene(at(vault), 0, nil2()).log(vault, "Initialized(uint64)", nil, 1).facts(t), "uninitialised_takeover")
	f("the second version of an upgrade", newScene(at(vault), 0, nil2()).log(vault, "Initialized(uint64)", nil, 2).facts(t))
	s := newScene(at(bot), 0, nil2()).log(vault, "Initialized(uint64)", nil, 1)
	s.call(bot, vault, 0, nil).Kind = trace.Create
	f("set up where it is made", s.facts(t))

	delegate := func(known bool) *Facts {
		s := newScene(at(vault), 0, nil2())
		s.call(vault, pool1, 0, nil2()).Kind = trace.DelegateCall
		facts := s.facts(t)
		facts.Contracts = map[common.Address]*decode.Contract{vault: {Address: vault, ABI: &abi.ABI{}}}
		if known {
			facts.Contracts[pool1] = &decode.Contract{Address: pool1, ABI: &abi.ABI{}}
		}
		return facts
	}
	f("code that nobody knows", delegate(false), "unverified_delegatecall")
	f("verified code", delegate(true))
	unasked := delegate(false)
	unasked.Contracts = nil
	f("no source was asked for", unasked)

	fake := newScene(at(bot), 0, nil2()).facts(t)
	fake.Flow.Fakes = []flow.Transfer{{Standard: flow.ERC20, Token: addr(77), From: friend, To: user, Amount: big.NewInt(5)}}
	f("an event without storage", fake, "fake_transfer_event")
	told := func(by int64) *Facts {
		facts := newScene(at(bot), 0, nil2()).facts(t)
		facts.Flow.Checks = []flow.TokenCheck{{Token: addr(77), Backing: flow.Differs, ByCalls: true, Holder: user, ByLogs: big.NewInt(5), ByState: big.NewInt(by)}}
		return facts
	}
	f("a balance that did not change", told(0), "fake_transfer_event")
	f("a balance that changed otherwise", told(3))
	f("no event", newScene(at(bot), 0, nil2()).facts(t))

	alike := friend
	alike[7] ^= 1
	f("dust from one that looks alike", newScene(at(bot), 0, nil2()).transfer(usdc, friend, vault, 5_000000).transfer(usdc, alike, vault, 1).facts(t), "address_poisoning")
	f("dust from one that does not", newScene(at(bot), 0, nil2()).transfer(usdc, friend, vault, 5_000000).transfer(usdc, bot, vault, 1).facts(t))
	f("much from one that looks alike", newScene(at(bot), 0, nil2()).transfer(usdc, friend, vault, 5_000000).transfer(usdc, alike, vault, 5_000000).facts(t))

	sent := func(to common.Address, value int64, in []byte, gas uint64) *Facts {
		s := newScene(at(to), value, in)
		s.rc.GasUsed = gas
		return s.facts(t)
	}
	call := input("transfer(address,uint256)", friend, 5)
	cost := uint64(21000)
	for _, b := range call {
		if cost += 4; b != 0 {
			cost += 12
		}
	}
	f("coins with a call where no code is", sent(friend, 9, call, cost), "stuck_value")
	f("coins with a call that ran", sent(friend, 9, call, cost+700))
	f("coins with a note", sent(friend, 9, []byte("thanks for all the fish"), 21000+23*16))
	f("coins to the zero address", sent(common.Address{}, 9, nil, 21000), "stuck_value")
	f("tokens to the zero address", newScene(at(usdc), 0, input("transfer(address,uint256)", 0, 5)).transfer(usdc, user, common.Address{}, 5).facts(t), "stuck_value")
	f("tokens burnt", newScene(at(usdc), 0, input("burn(uint256)", 5)).transfer(usdc, user, common.Address{}, 5).facts(t))
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
			w := word(x)
			b = append(b, w[:]...)
		}
		return b
	}
	f := func(name string, in []byte, want bool) {
		t.Helper()
		flags, all := raised(t, newScene(at(router), 0, in).facts(t))
		if slices.Contains(flags, "no_slippage_limit") != want {
			t.Errorf("%s: %v, want %v\n%s", name, flags, want, all)
		}
	}
	f("v2, any output", execute([]byte{cmdV2ExactIn}, words(user, 5, 0, 160, 1, 0)), true)
	f("v3, any output", execute([]byte{cmdV3ExactIn}, words(user, 5, 1, 160, 1, 0)), true)
	f("v3, a least output", execute([]byte{cmdV3ExactIn}, words(user, 5, 77, 160, 1, 0)), false)
	f("any output, but a least payment", execute([]byte{cmdV3ExactIn, cmdUnwrap}, words(user, 5, 0, 160, 1, 0), words(user, 4)), false)
	f("any output, and any payment", execute([]byte{cmdV3ExactIn, cmdSweep}, words(user, 5, 0, 160, 1, 0), words(usdc, user, 0)), true)
	f("no swap", execute([]byte{cmdSweep}, words(usdc, user, 0)), false)
	f("cut short", execute([]byte{cmdV3ExactIn}, words(user, 5, 0))[:150], false)
	f("an offset beyond the end", append(input("execute(bytes,bytes[])", maxUint, maxUint), 1), false)
}

// TestImitationsAreLeftOut: what a token that imitates another moved is not what the
// summary tells.
func TestImitationsAreLeftOut(t *testing.T) {
	six, fake := uint8(6), addr(0xfa4e)
	f := func(name string, s *scene, want, never string) {
		t.Helper()
		facts := s.facts(t)
		facts.Tokens[fake] = label.Token{Address: fake, Symbol: "USDC", Decimals: &six, Lookalike: "USDC"}
		v := judge(facts)
		if !strings.Contains(v.Summary, want) || strings.Contains(v.Summary, never) {
			t.Errorf("%s: %q, want %q and never %q", name, v.Summary, want, never)
		}
		if !slices.ContainsFunc(lines(v), func(r string) bool { return strings.HasPrefix(r, "address_poisoning: ") }) {
			t.Errorf("%s: %q", name, lines(v))
		}
	}
	f("sent", newScene(at(fake), 0, nil2()).transfer(fake, user, friend, 7_000000), "left out", "7 USDC")
	f("swapped for", newScene(at(router), 0, nil2()).transfer(usdc, user, pool1, 5_000000).transfer(fake, pool1, user, 9_000000).
		log(pool1, "Swap(address,uint256,uint256,uint256,uint256,address)", []any{router, user}, 5_000000, 0, 0, 9_000000), "left out", "9 USDC")
	s := newScene(at(bot), 0, nil2()).transfer(usdc, friend, vault, 0).transfer(usdc, vault, friend, 0)
	f("nothing between others", s, "left out", "USDC from")
}

// FuzzCommands: no bytes make the reader of a router's commands go outside of them.
func FuzzCommands(f *testing.F) {
	f.Add([]byte{})
	f.Add(input("execute(bytes,bytes[])", 64, 128, 1, 0, 1, 32, 96)[4:])
	f.Add(input("execute(bytes,bytes[])", maxUint, 64, maxUint)[4:])
	f.Fuzz(func(t *testing.T, data []byte) {
		m := &minima{}
		m.commands(data)
		m.actions(data)
		if m.swaps > 0 && m.most == nil {
			t.Error("a swap without its minimum")
		}
	})
}
