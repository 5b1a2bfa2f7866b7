package export

import (
	"encoding/csv"
	"errors"
	"math/big"
	"strings"
	"testing"

	"txlens/engine/api"
)

func written(t *testing.T, name string, r *api.Result) string {
	t.Helper()
	f, ok := Find(name)
	if !ok {
		t.Fatalf("no format %q", name)
	}
	var b strings.Builder
	if err := f.Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// sample has one of each row.
func sample() *api.Result {
	a, b, token := api.Addr{1}, api.Addr{2}, api.Addr{3}
	at, signature, id := uint64(7), "Transfer(address,address,uint256)", "9"
	return &api.Result{
		TxMeta:         api.TxMeta{From: a, To: &b},
		Addresses:      []api.Address{{Address: b, Label: "=Bank, \"B\""}},
		TokenTransfers: []api.TokenTransfer{{Type: "erc20", From: a, To: b, TokenSymbol: "T", TokenName: "Token", TokenAddress: token, Total: "1500", Decimals: "3", LogIndex: at}},
		BalanceChanges: []api.BalanceChange{{
			Address: a, Role: "sender", IsSender: true,
			Tokens: []api.TokenChange{
				{TokenAddress: token, TokenSymbol: "T", Balance: "-1.5", RawSignedAmount: "-1500", PriceUSD: &api.Decimal{Unscaled: big.NewInt(2)}},
				{TokenAddress: token, TokenID: &id, IsNFT: true, Balance: "1", RawSignedAmount: "1"},
			},
		}},
		PrettyTrace: []api.Node{
			{Index: 0, Path: "0", Type: "CALL", From: a, To: &b, ToLabel: "Bank", Selector: "0xa9059cbb", FunctionName: "transfer", FunctionSignature: "transfer(address,uint256)",
				Input: make(api.Hex, 68), GasUsed: 21000, ValueWei: "0", Status: api.NodeOK, DecodedArgs: []api.Arg{{Name: "to", Type: "address", Value: b.String()}}},
			{Index: 1, Depth: 1, Path: "0", Type: "LOG", From: token, EventSignature: &signature, LogIndex: &at, Input: api.Hex{1, 2}, Status: api.NodeOK},
			{Index: 2, Depth: 1, Path: "0.0", Type: "CREATE", From: b, Status: api.NodeFailed, Error: "out of gas", ValueWei: "0"},
		},
	}
}

const (
	addrA = "0x0100000000000000000000000000000000000000"
	addrB = "0x0200000000000000000000000000000000000000"
	addrT = "0x0300000000000000000000000000000000000000"
)

// TestTables: the rows of each table, with text that begins a formula marked.
func TestTables(t *testing.T) {
	f := func(name, want string) {
		t.Helper()
		_, rows, _ := strings.Cut(written(t, name, sample()), "\n")
		if rows != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, rows, want)
		}
	}
	f("transfers.csv", "7,erc20,"+addrA+",,"+addrB+`,"'=Bank, ""B""",`+addrT+",T,Token,,1.5,1500,3\n")
	f("balances.csv", addrA+",,sender,true,"+addrT+",T,,false,-1.5,-1500,2,\n"+addrA+",,sender,true,"+addrT+",,9,true,1,1,,\n")
	f("calls.csv", "0,0,0,CALL,ok,"+addrA+",,"+addrB+`,Bank,0xa9059cbb,transfer,"transfer(address,uint256)","[{""name"":""to"",""type"":""address"",""value"":""`+addrB+`""}]",0,21000,68,0,,`+"\n"+
		"2,0.0,1,CREATE,failed,"+addrB+",,,,,,,,0,0,0,0,out of gas,\n")
	f("events.csv", "1,0,7,ok,"+addrT+`,,Transfer,"Transfer(address,address,uint256)",,0x0102`+"\n")
	f("transfers.csv", "7,erc20,"+addrA+",,"+addrB+`,"'=Bank, ""B""",`+addrT+",T,Token,,1.5,1500,3\n")
}

// TestEveryFormat: each writes something of a result and of one that has nothing, tables
// have rows as long as their head, and no error is swallowed.
func TestEveryFormat(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Formats() {
		if seen[f.Name()] || f.Doc == "" || f.Media == "" {
			t.Errorf("%s is there twice, or says nothing", f.Name())
		}
		seen[f.Name()] = true
		for _, r := range []*api.Result{sample(), {}} {
			text := written(t, f.Name(), r)
			if text == "" || !strings.HasSuffix(text, "\n") {
				t.Errorf("%s: %q", f.Name(), text)
			}
			if f.Kind == CSV {
				if _, err := csv.NewReader(strings.NewReader(text)).ReadAll(); err != nil {
					t.Errorf("%s: %v", f.Name(), err)
				}
			}
		}
		if err := f.Write(broken{}, sample()); !errors.Is(err, errBroken) {
			t.Errorf("%s: a broken pipe: %v", f.Name(), err)
		}
	}
	if got := strings.Join(Contents(CSV), " "); got != "transfers balances calls events" {
		t.Errorf("tables: %s", got)
	}
	if _, ok := Find("calls"); ok {
		t.Error("a format was found without its suffix")
	}
}

var errBroken = errors.New("broken pipe")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestPlain(t *testing.T) {
	f := func(cell, want string) {
		t.Helper()
		if got := plain(cell); got != want {
			t.Errorf("%q: %q, want %q", cell, got, want)
		}
	}
	f("", "")
	f("-1.5", "-1.5")
	f("-15", "-15")
	f("1=1", "1=1")
	f("=1+1", "'=1+1")
	f("-1+1", "'-1+1")
	f("-", "'-")
	f("-1.", "'-1.")
	f("+1", "'+1")
	f("@SUM(A1)", "'@SUM(A1)")
	f("\t=1", "'\t=1")
	f("\r=1", "'\r=1")
	for _, sign := range []string{"＝", "＋", "－", "＠"} {
		f(sign+"1+1", "'"+sign+"1+1")
		f("a;"+sign+"1", "a;'"+sign+"1")
	}
	f("a;=1;b", "a;'=1;b")
	f("a; =1", "a; '=1")
	f("a;\"=1", "a;\"'=1")
	f("a\t@x", "a\t'@x")
	f("a\n-x", "a\n'-x")
	f(" =1", " '=1")
	f("a;b=1", "a;b=1")
}

func TestScaled(t *testing.T) {
	f := func(raw, decimals, want string) {
		t.Helper()
		if got := scaled(raw, decimals); got != want {
			t.Errorf("%s of %s: %q, want %q", raw, decimals, got, want)
		}
	}
	f("1500", "3", "1.5")
	f("1", "18", "0.000000000000000001")
	f("1500", "", "")
	f("1500", "78", "")
	f("1500", "-1", "")
	f("x", "3", "")
	f(strings.Repeat("9", 121), "3", "")
}
