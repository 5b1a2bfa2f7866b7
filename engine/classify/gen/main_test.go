package main

import (
	"os"
	"path/filepath"
	"testing"

	"txlens/engine/fixture"
)

// The committed table is what the generator makes of its sources today.
func TestTableIsFresh(t *testing.T) {
	rows, err := build(fixture.Data(t), ".")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "registry.tsv")
	if err := write(path, rows); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../registry.tsv")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("registry.tsv is not what the generator makes; run go generate")
	}
}

func TestVotes(t *testing.T) {
	f := func(vote, act, flags string) {
		t.Helper()
		if a, fl := actOf(vote); a != act || fl != flags {
			t.Errorf("%q is %q %q, want %q %q", vote, a, fl, act, flags)
		}
	}
	f("swap", "swap", "own")
	f("swap (nft)", "nft_sale", "own")
	f("other (add-liquidity)", "add_liquidity", "own")
	f("flag owner_changed", "flag:owner_changed", "")
	f("risk flag bad_debt", "flag:bad_debt", "")
	f("amplifier flash_loan", "flash_loan", "")
	f("-", "note", "")
}

// Places of arguments, as package classify reads them.
func TestRoles(t *testing.T) {
	f := func(text string, plain bool, signature string, indexed int, want string) {
		t.Helper()
		d, err := parseDeclaration(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if d.signature() != signature || d.indexed() != indexed || d.roles(plain) != want {
			t.Errorf("%s:\n%s with %d indexed, %s\nwant\n%s with %d indexed, %s", text, d.signature(), d.indexed(), d.roles(plain), signature, indexed, want)
		}
	}
	f("Transfer(address indexed from, address indexed to, uint256 value)", false, "Transfer(address,address,uint256)", 2, "from=t1,to=t2,value=d0")
	f("Transfer(address indexed from, address indexed to, uint256 value)", true, "Transfer(address,address,uint256)", 2, "from=d0,to=d1,value=d2")
	f("A(uint256[2] amounts, uint256 after)", false, "A(uint256[2],uint256)", 0, "amounts=d0,after=d2")
	f("A((address token,uint256 amount) paid, uint256 after)", false, "A((address,uint256),uint256)", 0, "token=d0,amount=d1,after=d2")
	f("A((bytes32 joinKey,string bridge,uint256 amount) data, uint256 after)", false, "A((bytes32,string,uint256),uint256)", 0, "join_key=d0/0,bridge=d0/1*,amount=d0/2,after=d1")
	f("A(bytes data, address[] list, (address,bytes)[] calls)", false, "A(bytes,address[],(address,bytes)[])", 0, "data=d0*,list=d1*,calls=d2*")
	f("A(string[2] pair, uint256)", false, "A(string[2],uint256)", 0, "pair=d0*,arg1=d1")
	f("A((address token) one, (address token) two)", false, "A((address),(address))", 0, "token=d0,token_2=d1")
	f("A()", false, "A()", 0, "")
	for _, bad := range []string{"A", "A(", "A((uint256 x)", "A((uint256 x) "} {
		if _, err := parseDeclaration(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
