package check_test

import (
	"math/big"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/check"
	"txlens/engine/evmsig"
	"txlens/engine/trace"
	"txlens/engine/verdict"
	"txlens/testkit/recorded"

	"github.com/ethereum/go-ethereum/common"
)

// Made-up drains and their honest twins. The calls have the wire format of the published
// functions.

const (
	transferFrom721 = "safeTransferFrom(address,address,uint256)"
	permit2612      = "permit(address,address,uint256,uint256,uint8,bytes32,bytes32)"
	permitDAI       = "permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)"
	permit2Single   = "permit(address,((address,uint160,uint48,uint48),address,uint256),bytes)"
	permit2Batch    = "permit(address,((address,uint160,uint48,uint48)[],address,uint256),bytes)"
	permit2Transfer = "permitTransferFrom(((address,uint256),uint256,uint256),(address,uint256),address,bytes)"
	permit2Witness  = "permitWitnessTransferFrom(((address,uint256),uint256,uint256),(address,uint256),address,bytes32,string,bytes)"
	permit2From     = "transferFrom(address,address,uint160,address)"
	receiveSigned   = "receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)"
)

// word is a number of 256 bits as an argument of calldata.
func word(n *big.Int) []byte { return common.BigToHash(n).Bytes() }

// top is the largest number of so many bits.
func top(bits uint) []byte {
	n := new(big.Int).Lsh(common.Big1, bits)
	return word(n.Sub(n, common.Big1))
}

// recovers is the recovery of a signature, by the contract that checks it.
func recovers(signer string) *trace.Frame {
	w := who(signer)
	f := call("signer", "recover_0(uint256)", w[:], 2, 3, 4)
	f.Kind, f.Input = trace.StaticCall, f.Input[4:]
	f.Output = common.LeftPadBytes(w[:], 32)
	return f
}

// permit is ERC-2612: the owner allows a spender so much.
func permit(token, owner, spender string, most []byte) *trace.Frame {
	return call(token, permit2612, owner, spender, most, 9999999, 27, 1, 2, recovers(owner))
}

// nft is a transfer of one token of a collection by whoever makes the call, with its event.
func nft(collection, from, to string, id int) *trace.Frame {
	f := call(collection, transferFrom721, from, to, id)
	g := trace.Log{Address: f.To, Topics: []common.Hash{evmsig.Hash("Transfer(address,address,uint256)")}, Receipt: -1}
	for _, name := range []string{from, to} {
		a := who(name)
		g.Topics = append(g.Topics, common.BytesToHash(a[:]))
	}
	f.Logs = append(f.Logs, trace.Log{Address: g.Address, Topics: append(g.Topics, common.BigToHash(big.NewInt(int64(id)))), Receipt: -1})
	return f
}

// through is a call by Permit2 that moves tokens by a right given there.
func through(owner, to string, amount int, token string) *trace.Frame {
	return call("permit2", permit2From, owner, to, amount, token, take(token, owner, to, amount))
}

// drains are made of an owner "alice" (and "bob"), a drainer "tool" called by "sender", and
// accounts that ran no code.
var drainCases = []struct {
	name string
	want string // rules that fire, ! where they decide
	root func() *trace.Frame
}{
	{"a permit without limit, split between two accounts", "signed_drain!", func() *trace.Frame {
		return attackBy(permit("usdc", "alice", "tool", top(256)), take("usdc", "alice", "thief", 800), take("usdc", "alice", "partner", 200))
	}},
	{"twin: a relayer swaps for the owner, who gets the other token", "", func() *trace.Frame {
		return attackBy(permit("usdc", "alice", "tool", top(256)), take("usdc", "alice", "tool", 1000), pay("usdc", "pool", 990), call("pool", "swap(uint256,uint256,address,bytes)", 0, 5, "alice", pay("weth", "alice", 5)))
	}},
	{"twin: a permit without limit, paid out to six", "signed_drain", func() *trace.Frame {
		return attackBy(all(permit("usdc", "alice", "tool", top(256)), times(6, func(i int) *trace.Frame { return take("usdc", "alice", "p"+string(rune('a'+i)), 100) }))...)
	}},
	{"a permit without limit, split among five", "signed_drain!", func() *trace.Frame {
		return attackBy(all(permit("usdc", "alice", "tool", top(256)), times(5, func(i int) *trace.Frame { return take("usdc", "alice", "p"+string(rune('a'+i)), 100) }))...)
	}},
	{"a permit without limit, with a twentieth for another", "signed_drain!", func() *trace.Frame {
		return attackBy(permit("usdc", "alice", "tool", top(256)), take("usdc", "alice", "thief", 950), take("usdc", "alice", "partner", 50))
	}},
	{"twin: a permit without limit, with less than a twentieth as a fee", "signed_drain", func() *trace.Frame {
		return attackBy(permit("usdc", "alice", "tool", top(256)), take("usdc", "alice", "thief", 951), take("usdc", "alice", "partner", 49))
	}},
	{"a permit without limit for a token, and an NFT with it", "signed_drain!", func() *trace.Frame {
		return attackBy(permit("usdc", "alice", "tool", top(256)), take("usdc", "alice", "tool", 1000), nft("apes", "alice", "tool", 7))
	}},
	{"twin: a permit, and what was taken lies in a contract of others", "", func() *trace.Frame {
		return attackBy(permit("usdc", "alice", "tool", top(256)), take("usdc", "alice", "bridge", 1000), call("bridge", "send_1()", view("x", "z()", 1)))
	}},
	{"twin: a permit that nobody used", "", func() *trace.Frame {
		return attackBy(permit("usdc", "alice", "tool", top(256)), take("usdc", "bob", "tool", 1000))
	}},
	{"twin: a permit of one who has coin for it", "", func() *trace.Frame {
		return attackBy(permit("usdc", "alice", "tool", top(256)), take("usdc", "alice", "thief", 800), take("usdc", "alice", "partner", 200), sends("alice", 5000))
	}},
	{"twin: the owner brings the permit and pays", "", func() *trace.Frame {
		return attackBy(permit("usdc", "sender", "tool", top(256)), take("usdc", "sender", "thief", 800), take("usdc", "sender", "partner", 200))
	}},
	{"a permit of the exact amount for one of several owners", "signed_drain!", func() *trace.Frame {
		return attackBy(permit("usdc", "alice", "tool", top(160)), take("usdc", "alice", "tool", 700), permit("usdc", "bob", "tool", top(160)), take("usdc", "bob", "tool", 900))
	}},
	{"twin: a payment of an exact amount to a merchant", "", func() *trace.Frame {
		return attackBy(permit("usdc", "alice", "tool", word(big.NewInt(700))), take("usdc", "alice", "merchant", 700))
	}},
	{"twin: a payment of an exact amount with a fee for the platform", "", func() *trace.Frame {
		return attackBy(permit("usdc", "alice", "tool", word(big.NewInt(1000))), take("usdc", "alice", "merchant", 970), take("usdc", "alice", "platform", 30))
	}},
	{"DAI's permit, the loot split", "signed_drain!", func() *trace.Frame {
		return attackBy(call("dai", permitDAI, "alice", "tool", 0, 9999999, 1, 27, 1, 2, recovers("alice")), take("dai", "alice", "tool", 1000), pay("dai", "thief", 750), pay("dai", "partner", 250))
	}},
	{"twin: a deposit into a bridge with DAI's permit", "", func() *trace.Frame {
		return attackBy(call("dai", permitDAI, "alice", "tool", 0, 9999999, 1, 27, 1, 2, recovers("alice")), take("dai", "alice", "tool", 1000), pay("dai", "sender", 10), pay("dai", "bridge", 990), call("bridge", "send_1(address)", "alice"))
	}},
	{"Permit2 for one token, without limit, split", "signed_drain!", func() *trace.Frame {
		return attackBy(call("permit2", permit2Single, "alice", "dai", top(160), 9, 0, "tool", 9, 0x100, recovers("alice")), through("alice", "thief", 900, "dai"), through("alice", "partner", 300, "dai"))
	}},
	{"twin: a gasless swap with a witness through Permit2", "", func() *trace.Frame {
		return attackBy(call("permit2", permit2Witness, "dai", 1000, 1, 9, "tool", 1000, "alice", 7, 0x140, 0x160, recovers("alice"), take("dai", "alice", "tool", 1000)), take("mkr", "maker", "alice", 20))
	}},
	{"twin: an order whose other end is on another chain", "", func() *trace.Frame {
		return attackBy(call("permit2", permit2Witness, "dai", 1000, 1, 9, "tool", 1000, "alice", 7, 0x140, 0x160, recovers("alice"), take("dai", "alice", "tool", 1000)))
	}},
	{"Permit2 for several tokens", "signed_drain!", func() *trace.Frame {
		return attackBy(call("permit2", permit2Batch, "alice", 0x60, 0x200, 0x60, "tool", 99, 2, "dai", top(160), 9, 0, "mkr", top(160), 9, 0, recovers("alice")),
			through("alice", "tool", 900, "dai"), through("alice", "tool", 500, "mkr"))
	}},
	{"twin: Permit2 for several tokens into a position of the owner", "", func() *trace.Frame {
		return attackBy(call("permit2", permit2Batch, "alice", 0x60, 0x200, 0x60, "tool", 99, 2, "dai", top(160), 9, 0, "mkr", top(160), 9, 0, recovers("alice")),
			through("alice", "pool", 900, "dai"), through("alice", "pool", 500, "mkr"), call("pool", "mint(address)", "alice", pay("shares", "alice", 77)))
	}},
	{"permitTransferFrom, sold at once", "signed_drain", func() *trace.Frame {
		return attackBy(call("permit2", permit2Transfer, "mkr", top(256), 1, 9, "tool", 500, "alice", 0x100, recovers("alice"), take("mkr", "alice", "tool", 500)), pay("mkr", "pool", 500), call("pool", "swap(uint256,uint256,address,bytes)", 0, 5000, "tool", pay("dai", "tool", 5000)))
	}},
	{"twin: permitTransferFrom into a vault for shares", "", func() *trace.Frame {
		return attackBy(call("permit2", permit2Transfer, "mkr", top(256), 1, 9, "tool", 500, "alice", 0x100, recovers("alice"), take("mkr", "alice", "tool", 500)), pay("mkr", "vault", 500), call("vault", "enter_1(address)", "alice", pay("shares", "alice", 500)))
	}},
	{"twin: a token that takes every call has no permit", "", func() *trace.Frame {
		return attackBy(call("usdc", permit2612, "alice", "tool", top(256), 9999999, 27, 1, 2), take("usdc", "alice", "thief", 800), take("usdc", "alice", "partner", 200))
	}},
	{"an allowance near 2^96, split", "signed_drain!", func() *trace.Frame {
		return attackBy(permit("uni", "alice", "tool", top(96)), take("uni", "alice", "thief", 700), take("uni", "alice", "partner", 100))
	}},
	{"half of 2^96 is as good as none", "signed_drain!", func() *trace.Frame {
		return attackBy(permit("uni", "alice", "tool", top(95)), take("uni", "alice", "thief", 700), take("uni", "alice", "partner", 100))
	}},
	{"twin: a relayer checks what the owner asked for", "", func() *trace.Frame {
		return attackBy(permit("usdc", "alice", "tool", top(256)), recovers("alice"), take("usdc", "alice", "friend", 800), take("usdc", "alice", "tool", 100))
	}},
	{"twin: a payment that names its payee", "", func() *trace.Frame {
		return attackBy(call("usdc", receiveSigned, "alice", "tool", 900, 0, 9, 1, 27, 1, 2, recovers("alice"), pay("usdc", "tool", 900)))
	}},
	{"signed orders for several collections, for nothing", "signed_order!", func() *trace.Frame {
		return attackBy(call("market", "fill_1(bytes)", recovers("alice"), nft("apes", "alice", "tool", 7), nft("punks", "alice", "tool", 8)))
	}},
	{"twin: a marketplace, where the seller is paid", "", func() *trace.Frame {
		return attackBy(call("market", "fill_1(bytes)", recovers("alice"), nft("apes", "alice", "tool", 7), nft("punks", "alice", "tool", 8), sends("alice", 5000)))
	}},
	{"twin: one voucher of a collection", "", func() *trace.Frame {
		return attackBy(call("market", "fill_1(bytes)", recovers("alice"), nft("apes", "alice", "tool", 7)))
	}},
	{"approvals for collections of earlier transactions", "split_takings", func() *trace.Frame {
		return attackBy(nft("apes", "alice", "thief", 7), nft("apes", "alice", "thief", 8), nft("punks", "alice", "thief", 9))
	}},
	{"twin: a sale of three at once by a market of its own", "", func() *trace.Frame {
		return attackBy(nft("apes", "alice", "buyer", 7), nft("apes", "alice", "buyer", 8), nft("punks", "alice", "buyer", 9), sends("alice", 900))
	}},
	{"earlier approvals for several tokens, split alike", "split_takings!", func() *trace.Frame {
		return attackBy(take("usdc", "alice", "thief", 800), take("usdc", "alice", "partner", 200), take("dai", "alice", "thief", 8000), take("dai", "alice", "partner", 2000))
	}},
	{"earlier approvals of two owners, each split", "split_takings", func() *trace.Frame {
		return attackBy(take("usdc", "alice", "thief", 800), take("usdc", "alice", "partner", 200), take("usdc", "bob", "thief", 800), take("usdc", "bob", "partner", 200))
	}},
	{"twin: earlier approvals of two owners, one of them split", "", func() *trace.Frame {
		return attackBy(take("usdc", "alice", "thief", 800), take("usdc", "alice", "partner", 200), take("usdc", "bob", "thief", 1000))
	}},
	{"earlier approvals of three owners, of whom two were split", "split_takings", func() *trace.Frame {
		return attackBy(take("usdc", "alice", "thief", 800), take("usdc", "alice", "partner", 200), take("usdc", "bob", "thief", 800), take("usdc", "bob", "partner", 200), take("usdc", "carol", "thief", 1000))
	}},
	{"twin: two collections of one owner", "", func() *trace.Frame {
		return attackBy(nft("apes", "alice", "thief", 7), nft("punks", "alice", "thief", 9))
	}},
	{"twin: the owner of several tokens ran code", "", func() *trace.Frame {
		return attackBy(take("usdc", "alice", "thief", 800), take("usdc", "alice", "partner", 200), take("dai", "alice", "thief", 8000), take("dai", "alice", "partner", 2000), call("alice", "x_1()"))
	}},
	{"twin: several tokens by a right of a contract of others", "", func() *trace.Frame {
		return attackBy(call("shop", "x_1()", take("usdc", "alice", "thief", 800), take("usdc", "alice", "partner", 200), take("dai", "alice", "thief", 8000), take("dai", "alice", "partner", 2000)))
	}},
	{"twin: several tokens to six accounts", "", func() *trace.Frame {
		return attackBy(all(times(6, func(i int) *trace.Frame { return take("usdc", "alice", "p"+string(rune('a'+i)), 100) }), take("dai", "alice", "pa", 8000), take("dai", "alice", "pb", 2000))...)
	}},
	{"twin: the taking failed", "", func() *trace.Frame {
		return attackBy(failing(take("usdc", "alice", "thief", 800)), failing(take("usdc", "alice", "partner", 200)), failing(take("dai", "alice", "thief", 8000)))
	}},
	{"twin: a subscription charges several owners, with a fee", "", func() *trace.Frame {
		return attackBy(take("usdc", "alice", "merchant", 97), take("usdc", "alice", "platform", 3), take("usdc", "bob", "merchant", 97), take("usdc", "bob", "platform", 3))
	}},
	{"rights at Permit2 of earlier transactions, split alike", "split_takings!", func() *trace.Frame {
		return attackBy(through("alice", "thief", 8000, "dai"), through("alice", "partner", 2000, "dai"), through("alice", "thief", 800, "mkr"), through("alice", "partner", 200, "mkr"))
	}},
	{"twin: a service charges by a right at Permit2", "", func() *trace.Frame {
		return attackBy(through("alice", "tool", 8000, "dai"), through("bob", "tool", 8000, "dai"))
	}},
	{"twin: a payroll pays many from one", "", func() *trace.Frame {
		return attackBy(times(8, func(i int) *trace.Frame { return take("usdc", "company", "worker"+string(rune('a'+i)), 100+i) })...)
	}},
	{"a claim that costs and gives nothing", "paid_claim", func() *trace.Frame {
		f := call("lure", "claim()", sends("thief", 900), sends("partner", 100))
		f.Value.SetUint64(1000)
		return f
	}},
	{"twin: a claim with a fee that gives tokens", "", func() *trace.Frame {
		f := call("lure", "claim()", sends("treasury", 1000), pay("mkr", "sender", 50))
		f.Value.SetUint64(1000)
		return f
	}},
	{"twin: a claim whose fee stays with the contract", "", func() *trace.Frame {
		f := call("lure", "claim()", view("oracle", "price_1()", 5))
		f.Value.SetUint64(1000)
		return f
	}},
}

// TestDrains: each drain is found, and no honest twin is.
func TestDrains(t *testing.T) {
	drains := 0
	for _, c := range drainCases {
		if c.want != "" {
			drains++
		}
		if got := fired(t, c.root()); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	if drains < 12 {
		t.Errorf("only %d drains", drains)
	}
}

// built is the result of a scene.
func built(root *trace.Frame, views ...check.View) *assemble.Analysis {
	ev := recorded.OfTree(1, "0x"+strings.Repeat("12", 32), treeOf(root))
	ev.Views = views
	return assemble.Build(ev)
}

// TestDrainHeadline: the one line names who lost what, and what to revoke; so does the
// finding.
func TestDrainHeadline(t *testing.T) {
	c := built(drainCases[0].root())
	r := c.Result
	if r.TxType == nil || *r.TxType != api.TypeExploit || !strings.HasPrefix(r.Summary, "Drain of ") || !strings.Contains(r.Summary, "; loss: ") || !strings.Contains(r.Summary, "; revoke ") {
		t.Errorf("type %v, summary %q", r.TxType, r.Summary)
	}
	if len(r.Findings) != 1 {
		t.Fatalf("%d findings", len(r.Findings))
	}
	f := &r.Findings[0]
	want := api.Approval{Owner: api.AddrOf(who("alice")), Token: api.AddrOf(who("usdc")), Spender: api.AddrOf(who("tool"))}
	if f.Category != api.PhishingApproval || len(f.Victim) != 1 || f.Victim[0] != want.Owner || len(f.Revoke) != 1 || f.Revoke[0] != want {
		t.Errorf("%+v", f)
	}
	if len(f.Loss) != 1 || f.Loss[0].Amount != "1000" || len(r.Risks) == 0 {
		t.Errorf("loss %+v, %d risks", f.Loss, len(r.Risks))
	}
}

// TestDrainAsksForBalance: of a right without limit that was used once, the balance before
// tells whether everything went.
func TestDrainAsksForBalance(t *testing.T) {
	root := func() *trace.Frame {
		return attackBy(permit("usdc", "alice", "tool", top(256)), take("usdc", "alice", "tool", 1000))
	}
	open := built(root())
	if q := open.Triage.Questions; len(q) != 1 || q[0].To != who("usdc") {
		t.Fatalf("questions %+v", q)
	}
	f := func(had int64, want api.TxType, suspicious bool) {
		t.Helper()
		c := built(root(), check.View{Question: open.Triage.Questions[0], Output: word(big.NewInt(had))})
		_, s := graded(c)
		if got := *c.Result.TxType; (got == api.TypeExploit) != (want == api.TypeExploit) || s != suspicious || suspicious && len(c.Triage.Questions) > 0 {
			t.Errorf("had %d: %s, suspicious %v", had, got, s)
		}
	}
	f(1000, api.TypeExploit, false) // all of it
	f(1040, api.TypeExploit, false)
	f(20000, "", false)                                            // the first payment of a subscription
	for _, collection := range []string{"apes", "punks", "lure"} { // an NFT has no balance that tells
		both := built(attackBy(permit("usdc", "alice", "tool", word(big.NewInt(1000))), take("usdc", "alice", "tool", 1000), nft(collection, "alice", "tool", 7)))
		if q := both.Triage.Questions; len(q) != 1 || q[0].To != who("usdc") {
			t.Errorf("with an NFT of %s: questions %+v", collection, q)
		}
	}
	if _, s := graded(open); !s || !strings.HasPrefix(open.Result.Summary, "Possible drain of ") {
		t.Errorf("without the balance: suspicious %v, %q", s, open.Result.Summary)
	}
}

// TestPoisoningBatch: batches of transfers of nothing, or of tokens that nobody knows,
// between accounts that took no part.
func TestPoisoningBatch(t *testing.T) {
	f := func(want bool, inside ...*trace.Frame) {
		t.Helper()
		c := built(attackBy(inside...))
		flagged := verdict.Flagged(c.Triage.Flags, verdict.AddressPoisoning)
		if flagged != want || want != strings.HasPrefix(c.Result.Summary, "Address poisoning") {
			t.Errorf("flagged %v, want %v: %q", flagged, want, c.Result.Summary)
		}
	}
	fake := func(from, to string, n int) *trace.Frame { return take("fake", from, to, n) }
	f(true, fake("a", "x", 500), fake("b", "y", 700), fake("c", "z", 900))
	f(true, fake("a", "x", 500), fake("a", "y", 700), fake("b", "z", 900), fake("c", "w", 900))
	f(true, fake("a", "x", 500), fake("b", "y", 700), fake("c", "z", 900), sends("miner", 5))           // for the builder
	f(false, fake("a", "x", 500), fake("b", "y", 700))                                                  // two are no batch
	f(false, fake("a", "x", 500), fake("b", "x", 700), fake("c", "x", 900))                             // all to one
	f(false, pay("fake", "x", 500), pay("fake", "y", 500), pay("fake", "z", 500))                       // an airdrop of the sender's
	f(false, fake("a", "x", 5), recovers("a"), fake("b", "y", 7), fake("c", "z", 9), fake("d", "w", 9)) // somebody signed
	f(false, take("weth", "a", "x", 500), take("weth", "b", "y", 700), take("weth", "c", "z", 900))     // a known token
	f(true, take("weth", "a", "x", 0), take("weth", "b", "y", 0), fake("c", "z", 900))                  // with nothing of it
}

// TestDealings: the external calls and the balances that a finding rests on are laid out, and only
// beside one.
func TestDealings(t *testing.T) {
	c := built(attackBy(call("vault", "put_1(uint256)", 1, take("dai", "tool", "vault", 1000)), call("x", "y_1()"), pay("dai", "vault", 500), call("vault", "get_1(uint256)", 1, pay("dai", "tool", 2500))))
	d := c.Result.Dealings
	if d == nil || len(d.Deals) != 2 || d.MoreDeals != 0 {
		t.Fatalf("%+v", d)
	}
	put, get := d.Deals[0], d.Deals[1]
	if put.Target != api.AddrOf(who("vault")) || len(put.Taken) != 0 || len(put.Given) != 1 || put.Given[0].Amount != "1000" || put.Frame == get.Frame {
		t.Errorf("put %+v", put)
	}
	if len(get.Taken) != 1 || get.Taken[0].Amount != "2000" || len(get.Given) != 0 {
		t.Errorf("get %+v", get)
	}
	if len(d.Side) != 2 || len(d.Gained) != 1 || d.Gained[0].Account != api.AddrOf(who("tool")) || len(d.Gained[0].Assets) != 1 {
		t.Errorf("side %v, gained %+v", d.Side, d.Gained)
	}
	if len(d.Lost) > 1 || len(d.Lost) == 1 && d.Lost[0].Account != api.AddrOf(who("vault")) {
		t.Errorf("lost %+v", d.Lost)
	}
	many := built(attackBy(times(60, func(i int) *trace.Frame { return call("vault", "claim_1(uint256)", i, pay("dai", "tool", 200)) })...))
	if d := many.Result.Dealings; d == nil || len(d.Deals) != 40 || d.MoreDeals != 20 || len(d.Lost) != 1 {
		t.Errorf("%+v", d)
	}
	if d := built(attackBy(call("x", "y_1()"))).Result.Dealings; d != nil {
		t.Errorf("nothing happened, and %+v", d)
	}
}
