package check_test

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/check"
	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/trace"
	"txlens/engine/verdict"
	"txlens/testkit/recorded"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// Checks that ask the state around the transaction, or read its storage, each guard with its
// twin.

// reply is what the state answers to questions of one function; nil: the call reverts.
type reply struct {
	function string
	output   []byte
}

// open is the reply of a call that anybody may make.
func open(function string) reply { return reply{function, []byte{}} }

// replied builds evidence with replies to its questions; what has none stays open.
func replied(ev *assemble.Evidence, list ...reply) *assemble.Analysis {
	c := assemble.Build(ev)
	for range 2 {
		for _, q := range c.Triage.Questions {
			for _, r := range list {
				if s := evmsig.Func(r.function); s.Begins(q.Data) {
					ev.Views = append(ev.Views, check.View{Question: q, Output: r.output, Reverted: r.output == nil})
				}
			}
		}
		c = assemble.Build(ev)
	}
	return c
}

// evidenceOf is the evidence of a scene.
func evidenceOf(root *trace.Frame) *assemble.Evidence {
	return recorded.OfTree(1, "0x"+strings.Repeat("12", 32), treeOf(root))
}

// account is the word of an account.
func account(name string) []byte {
	a := who(name)
	return common.LeftPadBytes(a[:], 32)
}

// found is the finding of a cause whose check has a term; nil for none.
func found(c *assemble.Analysis, cause api.Category, term string) *api.Finding {
	for i := range c.Triage.Findings {
		if f := &c.Triage.Findings[i].Facts; f.Category == cause && strings.Contains(f.Check, term) {
			return f
		}
	}
	return nil
}

// judgeFinding compares the roles in the finding of a category whose check has a part with what is
// wanted; none is wanted where that is empty.
func judgeFinding(t *testing.T, want string, c *assemble.Analysis, category api.Category, check string) {
	t.Helper()
	record(t, c)
	got := ""
	if x := found(c, category, check); x != nil {
		got = roles(x)
	}
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestOpenMint: a token that has an owner let a stranger mint, who sold what was minted.
func TestOpenMint(t *testing.T) {
	const mint = "mint(address,uint256)"
	minting := func(token, fn, to string, inside ...*trace.Frame) *trace.Frame {
		f := call(token, fn, to, 5000)
		f.Children = inside
		return moved(f, "zero", to, 5000)
	}
	sale := swapped("pool", "mkr", 5000, "dai", 900)
	f := func(want string, root *trace.Frame, list ...reply) {
		t.Helper()
		judgeFinding(t, want, replied(evidenceOf(root), list...), api.AccessControl, "minted(")
	}
	boss, anybody := reply{"owner()", account("boss")}, open(mint)
	plain := attackBy(all(minting("mkr", mint, "tool"), sale)...)
	f("access_control confirmed low: lost pool; faulty mkr; gained sender tool", plain, boss, anybody)
	for _, fn := range []string{"mint(uint256)", "mintTo(address,uint256)"} {
		f("access_control confirmed low: lost pool; faulty mkr; gained sender tool", attackBy(all(minting("mkr", fn, "tool"), sale)...), boss, open(fn))
	}
	f("access_control confirmed low: lost pool; faulty mkr; gained sender tool", attackBy(all(minting("mkr", mint, "tool", take("usd", "tool", "mkr", 0)), sale)...), boss, anybody) // for nothing
	f("", plain, boss, reply{mint, nil})                                                                                                                                             // only some may mint
	f("", plain, boss)                                                                                                                                                               // who may is not known
	f("", plain, anybody)                                                                                                                                                            // whether it has an owner is not known
	f("", plain, reply{"owner()", account("zero")}, anybody)                                                                                                                         // it has none, and may be meant so
	f("", plain, reply{"owner()", account("sender")}, anybody)                                                                                                                       // the sender's own token
	f("", plain, reply{"owner()", nil}, anybody)
	f("", plain, reply{"owner()", []byte{1}}, anybody)                                                                               // no address
	f("", attackBy(all(call("boss", "x_1()", call("mkr", "y_1()")), minting("mkr", mint, "tool"), sale)...), boss, anybody)          // the owner takes part
	f("", attackBy(all(minting("mkr", mint, "tool", take("usd", "tool", "mkr", 700)), sale)...), boss, anybody)                      // paid for
	f("", attackBy(all(pay("usd", "mkr", 700), minting("mkr", mint, "tool"), sale)...), boss, anybody)                               // paid for before
	f("", attackBy(all(minting("mkr", "gift_1(address,uint256)", "tool"), sale)...), boss, anybody, open("gift_1(address,uint256)")) // no function that mints
	f("", attackBy(minting("mkr", mint, "tool")), boss, anybody)                                                                     // and kept
	f("", attackBy(minting("mkr", mint, "tool"), pay("mkr", "alice", 5000)), boss, anybody)                                          // given away
	f("", attackBy(all(minting("mkr", mint, "alice"), sale)...), boss, anybody)                                                      // for somebody else
	f("", attackBy(all(creates("mkr"), minting("mkr", mint, "tool"), sale)...), boss, anybody)                                       // made here
}

// TestChosenCall: a router spends what others approved, by a call that its caller wrote.
// Only the owner's own consent explains it.
func TestChosenCall(t *testing.T) {
	f := func(want string, root *trace.Frame) {
		t.Helper()
		c := built(root)
		record(t, c)
		got := ""
		if x := found(c, api.ArbitraryCall, "received("); x != nil {
			got = roles(x)
		}
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	chosen := func(n int, before ...*trace.Frame) *trace.Frame {
		f := call("router", "run_9(address,bytes)", "dai", calldata("transferFrom(address,address,uint256)", "alice", "tool", n))
		f.Children = append(before, take("dai", "alice", "tool", n))
		return f
	}
	const stolen = "arbitrary_call confirmed high: lost alice; faulty router; gained sender tool"
	f(stolen, attackBy(chosen(700)))
	f("", attackBy(chosen(700, recovers("alice"))))      // she signed
	f(stolen, attackBy(chosen(700, recovers("bob"))))    // somebody else signed
	f(stolen, attackBy(chosen(700, recovers("sender")))) // the thief did
	f("", attackBy(chosen(700, view("alice", "isValidSignature(bytes32,bytes)", 1, 1, 2))))
	f(stolen, attackBy(chosen(700, view("bob", "isValidSignature(bytes32,bytes)", 1, 1, 2))))
	f(stolen, attackBy(chosen(700, view("alice", "nonce_1()", 1)))) // asked, but not whether she signed
	failed := recovers("alice")
	failed.Err = "out of gas"
	f(stolen, attackBy(chosen(700, failed)))                                 // nothing was recovered
	f(stolen, attackBy(recovers("alice"), chosen(700)))                      // not in this call
	f("", attackBy(chosen(0)))                                               // nothing moved
	f("", attackBy(chosen(700), pay("mkr", "alice", 300)))                   // she was paid
	f("", attackBy(chosen(700), pay("dai", "alice", 700)))                   // given back
	f("", attackBy(chosen(700), call("alice", "x_1()", call("z", "y_1()")))) // she acts here
	other := call("router", "run_9(address,bytes)", "dai", calldata("transferFrom(address,address,uint256)", "alice", "carol", 700), take("dai", "alice", "carol", 700))
	f("", attackBy(other)) // for somebody else
	const move = "move_1(address,address,uint256)"
	burn := moved(call("dai", move, "alice", "tool", 700), "alice", "tool", 700)
	f("", attackBy(call("router", "run_9(address,bytes)", "dai", calldata(move, "alice", "tool", 700), burn))) // no right of hers was used
	half := call("router", "run_9(address,bytes)", "usd", calldata("transferFrom(address,address,uint256)", "alice", "tool", 700), take("dai", "alice", "tool", 700))
	f("", attackBy(half))                                                                       // the router chose the token
	f("", attackBy(call("router", "run_9(address)", "dai", take("dai", "alice", "tool", 700)))) // and the words
}

// recovering is the recovery of a signature that the caller brought: r and s are 2 and 3
// above n, the signer empty where there is none.
func recovering(signer string, n int) *trace.Frame {
	f := call("signer", "recover_0(uint256)", 1, 27, n+2, n+3)
	f.Kind, f.Input, f.Output = trace.StaticCall, f.Input[4:], nil
	if signer != "" {
		f.Output = account(signer)
	}
	return f
}

// TestSignatures: a contract paid on a signature of nobody, or of whoever is paid where any
// key would do.
func TestSignatures(t *testing.T) {
	const claim = "claim_1(uint256,uint256)"
	f := func(want string, root *trace.Frame, list ...reply) {
		t.Helper()
		judgeFinding(t, want, replied(evidenceOf(root), list...), api.SignatureVerification, "")
	}
	claimed := func(inside ...*trace.Frame) *trace.Frame {
		f := call("vault", claim, 1002, 1003)
		f.Children = inside
		return attackBy(f)
	}
	loot := pay("dai", "tool", 500)
	const stolen = "signature_verification confirmed low: lost vault; faulty vault; gained sender tool"
	nobody := recovering("", 1000)
	f(stolen, claimed(nobody, loot))
	f("", claimed(loot, nobody))                                                      // paid before it asked
	f("", claimed(nobody, recovering("alice", 1000), loot))                           // others signed
	f("", claimed(nobody, view("alice", "isValidSignature(bytes32,bytes)", 1), loot)) // signed in another way
	half := func(r, v int) *trace.Frame { return attackBy(call("vault", claim, r, v, nobody, loot)) }
	f("", half(1002, 7)) // only half of the signature is the caller's
	f("", half(7, 1003))
	f("", claimed(recovering("", 7), loot))          // no signature of the caller
	f("", claimed(nobody, pay("dai", "alice", 500))) // somebody else is paid
	f("", claimed(nobody, pay("dai", "tool", 0)))
	f("", claimed(nobody, loot, take("dai", "tool", "vault", 500))) // given back
	f("", attackBy(nobody, call("vault", claim, 1002, 1003, loot))) // the party asked
	broken := recovering("", 1000)
	broken.Err = "out of gas"
	f("", claimed(broken, loot))

	own := recovering("sender", 1000)
	f(stolen, claimed(own, loot), open(claim))
	f("", claimed(own, loot), reply{claim, nil})                                                                                     // another key will not do
	f("", claimed(own, loot))                                                                                                        // not known
	f("", claimed(recovering("alice", 1000), loot), open(claim))                                                                     // her order, which somebody brings
	f("", claimed(recovering("sender", 7), loot), open(claim))                                                                       // no signature of the caller
	f(stolen, claimed(recovering("tool", 1000), loot), open(claim))                                                                  // of the party's contract
	f("", claimed(own, pay("dai", "alice", 500)), open(claim))                                                                       // for somebody else
	f(strings.Replace(stolen, "low: lost vault", "high: lost bank", 1), claimed(own, take("dai", "bank", "tool", 500)), open(claim)) // by a right of the vault
}

// TestControlIsTaken: control of a contract went to the party. Who was named for it before,
// and who had it and gave it, did no wrong.
func TestControlIsTaken(t *testing.T) {
	const fn = "setAdmin_1(address)"
	slotAt := func(n int64) string { return common.BigToHash(big.NewInt(n)).Hex() }
	type slots map[string][2]string
	f := func(want string, changed slots, root *trace.Frame, list ...reply) {
		t.Helper()
		ev := evidenceOf(root)
		pre, post := map[common.Hash]common.Hash{}, map[common.Hash]common.Hash{}
		for slot, x := range changed {
			pre[common.HexToHash(slot)], post[common.HexToHash(slot)] = packed(x[0]), packed(x[1])
		}
		ev.Diff = &ethrpc.StateDiff{Pre: map[common.Address]*ethrpc.Account{who("vault"): {Storage: pre}}, Post: map[common.Address]*ethrpc.Account{who("vault"): {Storage: post}}}
		c := replied(ev, list...)
		record(t, c)
		got := ""
		if x := found(c, api.AccessControl, "after("); x != nil {
			got = roles(x) + " " + string(x.Severity)
		}
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	set := func(to string, inside ...*trace.Frame) *trace.Frame {
		f := call("vault", fn, to)
		f.Children = inside
		return f
	}
	loot := call("vault", "get_1()", pay("dai", "tool", 500))
	const taken = "access_control confirmed low: lost vault; faulty vault; gained sender tool critical"
	admin := slots{adminSlot: {"boss", "tool"}}
	f(taken, admin, attackBy(set("tool"), loot), open(fn))
	f(taken, admin, attackBy(set("tool"), loot))                                                                  // who may call is not known, but the vault was emptied
	f("", admin, attackBy(set("tool")))                                                                           // and here nothing was taken
	f("", admin, attackBy(set("tool"), loot), reply{fn, nil})                                                     // the caller had the right
	f("", slots{adminSlot: {"boss", "tool"}, slotAt(9): {"tool", "zero"}}, attackBy(set("tool"), loot), open(fn)) // it was the pending owner
	f("", admin, attackBy(call("boss", "x_1()", call("vault", "offer_1()")), set("tool"), loot), open(fn))        // the owner takes part
	f("", slots{adminSlot: {"sender", "tool"}}, attackBy(set("tool"), loot), open(fn))                            // it was the sender's
	f("", slots{adminSlot: {"boss", "alice"}}, attackBy(set("alice"), loot), open(fn))                            // it is somebody else's
	f("", admin, attackBy(call("factory", "make_1()", creates("vault")), set("tool"), loot), open(fn))            // made here
	owner := reply{"owner()", account("boss")}
	f(taken, slots{slotAt(255): {"boss", "tool"}}, attackBy(set("tool"), loot), open(fn), owner)
	f("", slots{slotAt(256): {"boss", "tool"}}, attackBy(set("tool"), loot), open(fn), owner) // no slot of an owner
	f("", slots{slotAt(255): {"boss", "tool"}}, attackBy(set("tool"), loot), open(fn))        // whose slot is not known
	f("", slots{slotAt(255): {"boss", "tool"}}, attackBy(set("tool"), loot), open(fn), reply{"owner()", account("alice")})
	told := func(to string) *trace.Frame {
		return emits(set("tool"), "OwnershipTransferred(address,address)", []string{"boss", to})
	}
	f(taken, slots{slotAt(3): {"boss", "tool"}}, attackBy(told("tool"), loot), open(fn))
	f("", slots{slotAt(3): {"boss", "tool"}}, attackBy(told("alice"), loot), open(fn)) // the event names another
	f("", slots{slotAt(3): {"boss", "tool"}}, attackBy(set("tool"), emits(call("bank", "x_1()"), "OwnershipTransferred(address,address)", []string{"boss", "tool"}), loot), open(fn))
	f("", slots{slotAt(3): {"boss", "tool"}}, attackBy(emits(set("tool"), "RoleTransferred(address,address)", []string{"boss", "tool"}), loot), open(fn))
	plain := func(words ...string) *trace.Frame { // the names are data, and no topics
		x := emits(set("tool"), "OwnershipTransferred(address,address)", nil)
		for _, w := range words {
			x.Logs[0].Data = append(x.Logs[0].Data, account(w)...)
		}
		return x
	}
	f(taken, slots{slotAt(3): {"boss", "tool"}}, attackBy(plain("boss", "tool"), loot), open(fn))
	f("", slots{slotAt(3): {"boss", "tool"}}, attackBy(plain("boss", "alice"), loot), open(fn))
	f("", slots{slotAt(3): {"boss", "tool"}}, attackBy(plain("tool"), loot), open(fn))
	f("", slots{slotAt(3): {"boss", "tool"}}, attackBy(plain("boss", "tool", "boss"), loot), open(fn))
	unnamed := set("tool")
	unnamed.Logs = []trace.Log{{Address: who("vault"), Data: account("tool"), Receipt: -1}}
	f("", slots{slotAt(3): {"boss", "tool"}}, attackBy(unnamed, loot), open(fn))

	// Who wrote it, and who took part.
	f(strings.Replace(taken, "tool", "tool part", 1), admin, attackBy(creates("part"), set("tool"), loot), open(fn))
	f(taken, admin, attackBy(failing(call("boss", "x_1()", call("vault", "offer_1()"))), set("tool"), loot), open(fn))
	f(taken, admin, attackBy(call("boss", "x_1()", call("bank", "offer_1()")), set("tool"), loot), open(fn))
	f("", admin, attackBy(call("helper", "x_1()", set("tool")), loot.Children[0]), open(fn)) // somebody else
	f("", admin, attackBy(failing(set("tool")), call("bank", "x_1()", take("dai", "vault", "tool", 500))), open(fn))
	f("", admin, attackBy(view("vault", fn, 1, "tool"), call("bank", "x_1()", take("dai", "vault", "tool", 500))), open(fn))
	f("", admin, attackBy(sends("vault", 5, pay("dai", "tool", 500)))) // a payment names nobody
	f("", admin, attackBy(call("bank", fn, "tool"), call("bank", "x_1()", take("dai", "vault", "tool", 500))), open(fn))
	own := slots{adminSlot: {"boss", "sender"}}
	f(taken, own, attackBy(set("sender"), loot), open(fn))
	f("", own, attackBy(set("alice"), loot), open(fn)) // by whom it was written is not told
	dirty := set("sender")
	dirty.Input[4] = 1 // no address
	f("", own, attackBy(dirty, loot), open(fn))
	first := call("vault", "claim_1()")
	f(taken, admin, attackBy(first, call("vault", "other_1()"), loot), open("claim_1()"))
	f("", admin, attackBy(first, call("vault", "other_1()"), loot), reply{"claim_1()", nil})
	f("", slots{adminSlot: {"boss", "pool"}}, attackBy(set("tool"), loot), open(fn))

	// What was taken.
	f(taken, admin, attackBy(set("tool"), call("vault", "get_1()", pay("dai", "alice", 7), pay("dai", "tool", 0), pay("usd", "tool", 300), take("usd", "tool", "vault", 300), pay("dai", "tool", 500))), open(fn))
	f("", slots{codeSlot: {"boss", "zero"}}, attackBy(set("zero"), loot), open(fn))           // no code
	f("", slots{codeSlot: {"boss", "boss with flag"}}, attackBy(set("boss"), loot), open(fn)) // the same code
	f(taken, slots{codeSlot: {"boss", "new code"}}, attackBy(set("new code"), loot), open(fn))
	f("", slots{codeSlot: {"boss", "new code"}}, attackBy(set("new code"), loot))

	// Nobody stood there: whoever set it up may have been meant.
	const possible = "access_control possible low: lost vault; faulty vault; gained sender tool critical"
	f(possible, slots{adminSlot: {"zero", "tool"}}, attackBy(set("tool"), loot))
	f(taken, slots{adminSlot: {"zero", "tool"}}, attackBy(set("tool"), loot), open(fn))
	f(possible, slots{adminSlot: {"zero", "tool"}}, attackBy(set("tool")), open(fn))
}

// packed is the word of an account in storage, with a flag above it where its name says so.
func packed(name string) common.Hash {
	plain, flagged := strings.CutSuffix(name, " with flag")
	w := common.BytesToHash(account(plain))
	if flagged {
		w[0] = 1
	}
	return w
}

// TestDrainedPart: both sides of the part of a contract's coin from which it is drained, and
// of the value where a price is known.
func TestDrainedPart(t *testing.T) {
	f := func(want bool, had, lost int64, cents int64, root *trace.Frame) {
		t.Helper()
		ev := evidenceOf(root)
		left := big.NewInt(had - lost)
		ev.Diff = &ethrpc.StateDiff{Pre: map[common.Address]*ethrpc.Account{who("vault"): {Balance: big.NewInt(had)}}, Post: map[common.Address]*ethrpc.Account{who("vault"): {Balance: left}}}
		if cents > 0 {
			ev.Prices = map[common.Address]assemble.Price{{}: {USD: api.Decimal{Unscaled: big.NewInt(cents), Scale: 2}, Source: "test"}}
		}
		c := assemble.Build(ev)
		if got := slices.ContainsFunc(c.Triage.Flags, func(r verdict.Risk) bool { return r.Flag == verdict.Drain }); got != want {
			t.Errorf("%d of %d at %d cents: %v, want %v", lost, had, cents, got, want)
		}
	}
	out := func(to string, n uint64) *trace.Frame { return attackBy(call("vault", "get_1()", sends(to, n))) }
	f(true, 1000, 990, 0, out("tool", 990))
	f(false, 1000, 989, 0, out("tool", 989))
	f(false, 0, 0, 0, out("tool", 0))
	f(false, 0, 0, 0, attackBy(sends("vault", 5, sends("tool", 5)))) // it had nothing
	f(false, 1000, 990, 0, out("alice", 990))                        // to somebody else
	const ether = 1_000_000_000_000_000_000
	f(true, ether, ether, 1_000_100, out("tool", ether))
	f(false, ether, ether, 1_000_000, out("tool", ether)) // ten thousand dollars are no more than that
}

// TestDrainedSupply: without a price all of a token that a contract had matters from 6 % of
// the supply on.
func TestDrainedSupply(t *testing.T) {
	f := func(want bool, list ...reply) {
		t.Helper()
		ev := evidenceOf(attackBy(call("vault", "get_1()", pay("dai", "tool", 1000))))
		slot := crypto.Keccak256Hash(account("vault"), make([]byte, 32))
		at := func(n int64) map[common.Address]*ethrpc.Account {
			return map[common.Address]*ethrpc.Account{who("dai"): {Storage: map[common.Hash]common.Hash{slot: common.BigToHash(big.NewInt(n))}}}
		}
		ev.Diff = &ethrpc.StateDiff{Pre: at(1000), Post: at(0)}
		c := replied(ev, list...)
		if got := slices.ContainsFunc(c.Triage.Flags, func(r verdict.Risk) bool { return r.Flag == verdict.Drain }); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
	supply := func(n int64) reply { return reply{"totalSupply()", word(big.NewInt(n))} }
	f(true, supply(16_666))
	f(false, supply(16_667))
	f(false, supply(0))
	f(false) // not known
}
