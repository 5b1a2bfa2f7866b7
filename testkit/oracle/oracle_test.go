package oracle

import (
	"go/parser"
	"go/token"
	"math/big"
	"path/filepath"
	"strings"
	"testing"

	"txlens/engine/api"
)

// TestApart: the oracle shares nothing with what it judges but the types of a result.
func TestApart(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range f.Imports {
			if path := strings.Trim(x.Path.Value, `"`); strings.HasPrefix(path, "txlens/") && path != "txlens/engine/api" {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}

// TestTells: an amount is read in each form in which it is printed, and a thousandfold is none.
func TestTells(t *testing.T) {
	f := func(text string, raw int64, decimals string, want bool) {
		t.Helper()
		if _, ok := tells(text, big.NewInt(raw), decimals); ok != want {
			t.Errorf("%q, %d with %s decimals: %v", text, raw, decimals, ok)
		}
	}
	f("1,503.81 USDC", 1_503_813_333, "6", true)
	f("1,503.81 USDC", 1_503_813_333_000, "6", false)
	f("1.503 USDC", 1_503_813_333, "6", false)
	f("2.977e15 raw units of 0xc17c…0ca3", 2_977_000_000_000_000, "", true)
	f("240B raw units", 240_000_000_000, "", true)
	f("240M raw units", 240_000_000_000, "", false)
	f("100 wei", 100, "18", true)
	f("no number", 100, "18", false)
}

// TestRolesAreTold: a text that puts one account into the other's place is a fault.
func TestRolesAreTold(t *testing.T) {
	owner, spender, tok := api.Addr{1: 0xaa}, api.Addr{2: 0xbb}, api.Addr{3: 0xcc}
	word := func(a api.Addr) string { full, _ := digits(a); return "0x" + strings.Repeat("0", 24) + full[2:] }
	f := func(part Part, event, kind, text string, actor api.Addr, faults int) {
		t.Helper()
		c := &Case{Hash: "0x1", From: api.Addr{9}, OK: true, Logs: []Log{{tok, []string{topic(event), word(owner), word(spender)}, big.NewInt(5_000000).FillBytes(make([]byte, 32)), 7}}}
		amount := "5"
		s := api.StepDetail{Text: text, Kind: kind, Actor: &actor, Amounts: []api.StepAmount{{TokenAddress: tok, RawAmount: "5000000", Amount: &amount}}, Refs: api.StepRefs{LogIndexes: []uint64{7}}}
		var p Report
		j := &judge{c, &api.Result{StepsDetail: []api.StepDetail{s}, TokenTransfers: []api.TokenTransfer{{TokenAddress: tok, Decimals: "6"}}}, names{}, &p, map[Part]bool{}}
		j.step(&s)
		if len(p.Faults) != faults || !j.parts[part] {
			t.Errorf("%q: %d faults, want %d: %q", text, len(p.Faults), faults, p.Faults)
		}
	}
	_, o := digits(owner)
	_, s := digits(spender)
	const approval, transfer = "Approval(address,address,uint256)", "Transfer(address,address,uint256)"
	f(Approval, approval, "approval", o+" allowed "+s+" to spend 5 USDC.", owner, 0)
	f(Approval, approval, "approval", s+" allowed "+o+" to spend 5 USDC.", owner, 1)
	f(Approval, approval, "approval", o+" allowed "+s+" to spend 5 USDC.", spender, 1)
	f(Approval, approval, "approval", o+" allowed "+s+" to spend 5,000 USDC.", owner, 1)
	f(Approval, approval, "approval", o+" allowed "+s+" to spend unlimited USDC.", owner, 1)
	f(Transfer, transfer, "transfer", o+" sent 5 USDC to "+s+".", owner, 0)
	f(Transfer, transfer, "transfer", s+" sent 5 USDC to "+o+".", owner, 1)
	f(Transfer, transfer, "transfer", o+" sent 5 USDC to "+s+".", spender, 1)
	f(Transfer, transfer, "transfer", o+" sent 0.005 USDC to "+s+".", owner, 1)
}
