package claim

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/check"
	"txlens/engine/flow"
	"txlens/engine/trace"
	"txlens/engine/verdict"
	"txlens/testkit/recorded"
	"txlens/testkit/size"

	"github.com/ethereum/go-ethereum/common"
)

// TestFacts: what each kind of reference is rendered to, and what resolves to nothing.
func TestFacts(t *testing.T) {
	ix := NewIndex(exploitCase(t))
	ix.compute([]Figure{
		{Sum, []string{"log:40", "log:41"}},                                              // 1
		{Difference, []string{"log:41", "log:40"}},                                       // 2
		{PercentOf, []string{"net:" + vault + ":" + usdc, "sent:" + vault + ":" + usdc}}, // 3
		{PercentChange, []string{"before:" + vault + ":7", "after:" + vault + ":7"}},     // 4
		{Ratio, []string{"log:41", "log:40"}},                                            // 5
		{Difference, []string{"before:" + vault + ":7", "after:" + vault + ":7"}},        // 6
		{Sum, []string{"log:41", "before:" + vault + ":7"}},                              // 7: a token and none
		{Sum, []string{"log:41", "log:41"}},                                              // 8: twice the same
		{Sum, []string{"log:41"}},                                                        // 9
		{PercentOf, []string{"log:40", "log:41", "log:40"}},                              // 10
		{Sum, []string{"log:41", "5000"}},                                                // 11
		{Sum, []string{"log:41", "log:42"}},                                              // 12
		{PercentOf, []string{"log:40", "log:41"}},                                        // 13
	})
	ix.AddAnswerTo(3, map[string]any{"rows": []any{map[string]any{"wei": "123456789", "to": bystand, "name": "7", "gas": 31}}, "priceUsd": api.Decimal{Unscaled: big.NewInt(3107), Scale: 2},
		"source": "1", "args": []any{map[string]any{"type": "string", "value": "55"}, map[string]any{"type": "uint256", "value": "-56"}}, "block": 424242}, []byte(`{"block":424242}`))
	f := func(ref, want string) {
		t.Helper()
		ref = strings.NewReplacer("VAULT", vault, "TOOL", wielder, "USDC", usdc, "OTHER", "0x5555555555555555555555555555555555555555").Replace(ref)
		r, ok := parseTextReference(ref)
		if !ok {
			t.Fatalf("%s cannot be parsed", ref)
		}
		got, why := ix.resolve(&r, false)
		if why != Accepted {
			got.text = "! " + why.String()
		}
		if got.text != want {
			t.Errorf("%s: %q, want %q", ref, got.text, want)
		}
	}
	const unknown, unit = "! unresolved_reference", "! wrong_unit"
	f("amount:log:41", "5,000 USDC")
	f("amount:transfer:41", "5,000 USDC")
	f("amount:log:42", unknown)
	f("amount:log:x", unknown)
	f("amount:net:VAULT:USDC", "4,900 USDC")
	f("amount:sent:VAULT:USDC", "5,000 USDC")
	f("amount:received:0x3333…3333:0xa0b8…eb48", "100 USDC")
	f("amount:received:0x3333...3333:USDC", "100 USDC")
	f("amount:sent:VAULT:native", unknown) // nothing moved
	f("amount:sent:OTHER:USDC", unknown)
	f("amount:sent:VAULT", "! malformed_reference")
	f("amount:nothing:VAULT", "! unknown_kind")
	f("amount:minted:USDC", unknown)
	f("amount:fee", "0.000063 ETH")
	f("amount:value:0", unknown)
	f("amount:value:0.9", unknown)
	f("amount:before:VAULT:7", unit)
	f("usd:log:41", "$5,000")
	f("usd:net:VAULT:USDC", "$4,900")
	f("usd:fee", unknown) // no price
	f("usd:before:VAULT:7", unit)
	f("number:before:VAULT:7", "9,000,000,000")
	f("number:after:VAULT:0x7", "4,100,000,000")
	f("number:after:VAULT:8", unknown)
	f("number:arg:41:2", "5,000,000,000")
	f("number:log:41", unit)
	f("figure:1", "5,100 USDC")
	f("figure:1.amount", "5,100 USDC")
	f("figure:1.usd", "$5,100")
	f("figure:1.percent", unit)
	f("figure:2", "4,900 USDC")
	f("figure:3.percent", "98 %")
	f("figure:3.usd", unit)
	f("figure:4", "54.44 %")
	f("figure:5.times", "50 times")
	f("figure:5.percent", unit)
	f("figure:6", "4,900,000,000")
	f("figure:6.usd", unit)
	f("figure:7", unit)
	f("figure:8", unit)
	f("figure:9", "! malformed_reference")
	f("figure:10", "! malformed_reference")
	f("figure:11", "! unknown_kind")
	f("figure:12", unknown)
	f("figure:13", "2 %")
	f("figure:14", unknown)
	f("figure:0", unknown)
	f("figure:x", unknown)
	f("price:USDC", "$1")
	f("price:native", unknown)
	f("count:transfers", "2 token transfers")
	f("count:transfers:USDC", "2 transfers of USDC")
	f("count:logs", "2 logs")
	f("count:tokens", "1 token")
	f("count:calls", "6 calls")
	f("count:failed", "0 failed calls")
	f("count:calls:USDC", "! malformed_reference")
	f("count:victims", "! unknown_kind")
	f("call:0.0", "\"SavingsVault\" (0x3333…3333), function deposit")
	f("call:0.7", unknown)
	f("function:0.0", "deposit")
	f("function:0", "0xdeadbeef")
	f("frame:0.0.1", "frame 0.0.1")
	f("frame:9", unknown)
	f("reason:0.0", unknown) // it did not fail
	f("log:41", "log 41")
	f("log:1", unknown)
	f("event:41", "Transfer")
	f("event:1", unknown)
	f("slot:VAULT:7", "slot 7")
	f("slot:VAULT:8", unknown)
	f("slot:TOOL:7", unknown)
	f("selector:0x3CCFD60B", "0x3ccfd60b")
	f("selector:0x3ccfd60c", unknown)
	f("block", "block 19,000,000")
	f("time", "2024-01-11 19:06:40 UTC")
	f("gas", "21,000 gas")
	f("address:VAULT", "\"SavingsVault\" (0x3333…3333)")
	f("address:sender", "0x1111…1111")
	f("address:target", "0x2222…2222")
	f("address:OTHER", unknown)
	f("address:0x33…33", unknown) // too short
	f("address:0x1234", unknown)
	f("token:USDC", "USDC")
	f("token:native", "ETH")
	f("protocol:evil_protocol", unknown)
	f("chain", "Ethereum")
	f("tool:3:rows.0.wei", "123,456,789")
	f("tool:3:rows.0.gas", "31")
	f("tool:3:rows.0.to", "0x4444…4444")
	f("tool:3:priceUsd", "31.07")
	f("tool:3:args.1.value", "-56")
	f("tool:3:args.0.value", unknown) // text
	f("tool:3:rows.0.name", unknown)
	f("tool:3:source", unknown)
	f("tool:3:block", unknown) // the question said it
	f("tool:3:rows.1.wei", unknown)
	f("tool:3:rows", unknown)
	f("tool:3:rows.x", unknown)
	f("tool:4:rows.0.wei", unknown)
	f("block:1", "! malformed_reference")
}

// TestUnits: what is told apart by an id is rendered with it and not added up; supply is
// told by what came from and went to nobody.
func TestUnits(t *testing.T) {
	f := func(transfers []flow.Transfer, want map[string]string) {
		t.Helper()
		c := exploitCase(t)
		moved := *c.Flow
		moved.Transfers = transfers
		c.Flow = &moved
		ix := NewIndex(c)
		ix.compute([]Figure{{Sum, []string{"sent:" + vault + ":" + usdc, "received:" + vault + ":" + usdc}}, {Sum, []string{"log:40", "log:41"}}})
		for ref, want := range want {
			r, _ := parseTextReference(ref)
			got, why := ix.resolve(&r, false)
			if why != Accepted {
				got.text = "! " + why.String()
			}
			if got.text != want {
				t.Errorf("%s: %q, want %q", ref, got.text, want)
			}
		}
	}
	token, zero := common.HexToAddress(usdc), common.Address{}
	at := func(log, id int64, standard flow.Standard) flow.Transfer {
		x := flow.Transfer{Standard: standard, Token: token, From: common.HexToAddress(vault), To: common.HexToAddress(wielder), Amount: big.NewInt(3), Log: int(log)}
		if x.ID = big.NewInt(id); standard == flow.ERC721 {
			x.Amount = big.NewInt(1)
		}
		return x
	}
	const unit = "! wrong_unit"
	f([]flow.Transfer{at(0, 7, flow.ERC721), at(1, 8, flow.ERC1155), at(1, 9, flow.ERC1155)}, map[string]string{
		"amount:log:40": "NFT 7 of USDC", "amount:log:41": "3 of USDC id 8, 3 of USDC id 9", "usd:log:41": unit,
		"amount:sent:" + vault + ":" + usdc: unit, "usd:sent:" + vault + ":" + usdc: unit, "figure:1": unit, "figure:1.usd": unit, "figure:2": unit,
	})
	ids := at(0, 7, flow.ERC721)
	ids.Last, ids.Amount = big.NewInt(123_456), big.NewInt(123_450)
	f([]flow.Transfer{ids}, map[string]string{"amount:log:40": "123,450 NFTs of USDC (7 … 123456)"})
	c := exploitCase(t)
	c.Flow = &flow.Flow{Transfers: []flow.Transfer{ids}}
	if ix := NewIndex(c); !ix.raws["123456"] || !ix.raws["123450"] || ix.raws["123457"] {
		t.Error("a text may name the last id of a range and the number of ids, and no other number")
	}
	many := []flow.Transfer{at(0, 7, flow.ERC721)}
	for id := range int64(maxUnits + 1) {
		many = append(many, at(1, id, flow.ERC1155))
	}
	f(many, map[string]string{"amount:log:41": unit})
	vaultAt := common.HexToAddress(vault)
	f([]flow.Transfer{
		{Standard: flow.ERC20, Token: token, From: zero, To: vaultAt, Amount: big.NewInt(7e6)},
		{Standard: flow.ERC20, Token: token, From: vaultAt, To: zero, Amount: big.NewInt(2e6), Log: 1},
	}, map[string]string{"amount:minted:" + usdc: "7 USDC", "amount:burnt:" + usdc: "2 USDC", "figure:1.usd": "$9"})
}

// TestIncompleteTrace: calls that are not all known are not counted.
func TestIncompleteTrace(t *testing.T) {
	ev := exploitEvidence(t)
	ev.Tree.Source = trace.SourceReplayQuick
	ix := NewIndex(assemble.Build(ev))
	for _, s := range []string{"It made {count:calls}.", "It made {count:failed}."} {
		if got := ix.rendered(s, mode{}); got != "! unresolved_reference" {
			t.Errorf("%q", got)
		}
	}
}

// TestRecordedReferences: on recorded transactions what the digest shows can be referred
// to, is rendered as the rules render it, and no other log has an amount.
func TestRecordedReferences(t *testing.T) {
	resolved, altered := 0, 0
	for ev := range recorded.Sample(t) {
		c := assemble.Build(ev)
		ix := NewIndex(c)
		f := func(ref, want string) {
			t.Helper()
			r, ok := parseTextReference(ref)
			got, why := ix.resolve(&r, false)
			if resolved++; !ok || why != Accepted || want != "" && got.text != want {
				t.Errorf("%s: %s: %q (%s), want %q", ev.TxHash, ref, got.text, why, want)
			}
		}
		for _, a := range c.Result.Addresses {
			f("address:"+a.Address.String(), c.Words.Who(common.Address(a.Address)))
		}
		for i := range c.Result.PrettyTrace {
			if n := &c.Result.PrettyTrace[i]; n.Type != "LOG" && n.Path != "" {
				f("call:"+n.Path, "")
			}
		}
		moved := map[uint64]bool{}
		for _, x := range c.Flow.Transfers {
			index := c.Receipt.Logs[x.Log].Index
			if moved[index] = true; x.ID == nil && x.Amount.Sign() > 0 {
				f(fmt.Sprint("amount:log:", index), c.Words.Amount(flow.TokenKey{Token: x.Token}, x.Amount))
			}
		}
		for n := range ix.logs {
			for _, other := range []uint64{n, n + 1000} {
				r, _ := parseTextReference(fmt.Sprint("amount:log:", other))
				if _, why := ix.resolve(&r, false); !moved[other] {
					if altered++; why != Unresolved {
						t.Errorf("%s: log %d: %s", ev.TxHash, other, why)
					}
				}
			}
		}
	}
	t.Logf("%d references resolve, %d to other logs do not", resolved, altered)
	if resolved < size.Of(500, 5000) || altered < size.Of(100, 1000) {
		t.Error("too few")
	}
}

// TestAmbiguous: an abbreviated address that fits several is none.
func TestAmbiguous(t *testing.T) {
	ix := NewIndex(exploitCase(t))
	f := func(s, want string) {
		t.Helper()
		if got := ix.rendered("{address:"+s+"} sent {amount:log:41}.", mode{}); got != want {
			t.Errorf("%s: %q, want %q", s, got, want)
		}
	}
	f("0x3333…3333", "\"SavingsVault\" (0x3333…3333) sent 5,000 USDC.")
	ix.address(addr("0x3333000000000000000000000000000000003333"))
	f("0x3333…3333", "! ambiguous_address")
	f("0x33333…3333", "\"SavingsVault\" (0x3333…3333) sent 5,000 USDC.")
	f(vault, "\"SavingsVault\" (0x3333…3333) sent 5,000 USDC.")
}

// TestReverted: what was undone moved nothing, and what failed says why.
func TestReverted(t *testing.T) {
	ev := exploitEvidence(t)
	failed := uint64(0)
	ev.Receipt.Status, ev.Receipt.Logs = &failed, nil
	ev.Tree.Root.Err = "execution reverted"
	for _, f := range ev.Tree.Frames {
		f.Value.SetUint64(5)
		f.Status = 1
	}
	ix := NewIndex(assemble.Build(ev))
	for _, ref := range []string{"amount:log:41", "amount:net:" + vault + ":" + usdc, "amount:sent:" + vault + ":" + usdc, "amount:value:0.0", "event:41", "log:41"} {
		r, _ := parseTextReference(ref)
		if got, why := ix.resolve(&r, false); why != Unresolved {
			t.Errorf("%s: %q (%s)", ref, got.text, why)
		}
	}
	if got := ix.rendered("It failed: {reason:0}.", mode{}); strings.HasPrefix(got, "!") {
		t.Error(got)
	}
}

// TestImitation: an amount of a token that imitates another says so.
func TestImitation(t *testing.T) {
	ev := exploitEvidence(t)
	tok := ev.Tokens[common.HexToAddress(usdc)]
	tok.Lookalike = "USDC"
	ev.Tokens[common.HexToAddress(usdc)] = tok
	ix := NewIndex(assemble.Build(ev))
	if got := ix.rendered("It paid {amount:log:41}.", mode{}); !strings.Contains(got, "imitation") {
		t.Error(got)
	}
}

// TestVerdictReferences: each check of the rules can be named, and says how it came out.
func TestVerdictReferences(t *testing.T) {
	c := exploitCase(t)
	ix := NewIndex(c)
	for _, x := range check.Listed() {
		got := ix.rendered("{check:"+x.Name+"}.", mode{})
		title := strings.ToUpper(x.Title[:1]) + x.Title[1:] + ": "
		if !strings.HasPrefix(got, title) {
			t.Errorf("%s: %q", x.Name, got)
		}
	}
	c.Verdict.Risks = append(slices.Clone(c.Verdict.Risks), verdict.Risk{Flag: verdict.BadDebt})
	if got := ix.rendered("{flag:bad_debt}.", mode{}); got != "Flagged: bad debt recorded by a lending market." {
		t.Error(got)
	}
}

// TestOwnAccounts: the account for which the sender acted is the party's own, but where the cause is
// that its own rights were used against it.
func TestOwnAccounts(t *testing.T) {
	c := exploitCase(t)
	ix := NewIndex(c)
	f := func(cause api.Category, actor common.Address, want bool) {
		t.Helper()
		c.Case.Actor = actor
		if got := ix.own(cause)[api.AddrOf(actor)]; got != want {
			t.Errorf("%s, %s: %v, want %v", cause, actor, got, want)
		}
	}
	owner := common.Address(addr(vault))
	f(api.Reentrancy, owner, true)
	for _, cause := range []api.Category{api.PhishingApproval, api.SignatureVerification, api.AccountAbstraction} {
		f(cause, owner, false)
		f(cause, c.Case.Sender, true)
	}
}
