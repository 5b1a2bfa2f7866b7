package flat

import (
	"fmt"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

func sample() []Row {
	a := common.HexToAddress("0x00000000219ab540356cBB839Cbe05303d7705Fa")
	b := common.HexToAddress("0xffFFfFffFFffFfFffFFfFfFfFFfFfFfFfFFFfFfF")
	return []Row{
		{1, b, "last", "router", "x", "s", 3},
		{0, a, "anywhere", "other", "", "s", 2},
		{10, a, "on ten", "vault", "y", "t", 1},
	}
}

func TestFind(t *testing.T) {
	packed, err := Encode(sample())
	if err != nil {
		t.Fatal(err)
	}
	table, err := Open(string(packed))
	if err != nil {
		t.Fatal(err)
	}
	f := func(chain uint64, address, want string) {
		t.Helper()
		got := "none"
		if r, ok := table.Find(chain, common.HexToAddress(address)); ok {
			got = fmt.Sprint(r.Chain, r.Name, r.Category, r.Protocol, r.Source, r.Confidence)
		}
		if got != want {
			t.Errorf("%d %s: %s, want %s", chain, address, got, want)
		}
	}
	f(1, "0xffFFfFffFFffFfFffFFfFfFfFFfFfFfFfFFFfFfF", fmt.Sprint(1, "last", "router", "x", "s", 3))
	f(10, "0xffFFfFffFFffFfFffFFfFfFfFFfFfFfFfFFFfFfF", "none")
	f(1, "0x00000000219ab540356cBB839Cbe05303d7705Fa", fmt.Sprint(0, "anywhere", "other", "", "s", 2))
	f(10, "0x00000000219ab540356cBB839Cbe05303d7705Fa", fmt.Sprint(10, "on ten", "vault", "y", "t", 1))
	f(1, "0x00000000219ab540356cBB839Cbe05303d7705Fb", "none")
	f(1, "0x01", "none")
	if table.Len() != 3 {
		t.Errorf("%d rows", table.Len())
	}
}

func TestEncodeRejectsDuplicates(t *testing.T) {
	rows := sample()
	if _, err := Encode(append(rows, rows[0])); err == nil {
		t.Error("two rows of one address and chain were accepted")
	}
}

func TestOpenRejectsDamage(t *testing.T) {
	packed, err := Encode(sample())
	if err != nil {
		t.Fatal(err)
	}
	for n := range packed {
		if _, err := Open(string(packed[:n])); err == nil {
			t.Fatalf("a table cut after %d bytes was accepted", n)
		}
	}
	if _, err := Open(string(packed) + "x"); err == nil {
		t.Error("a table with a rest was accepted")
	}
}

// FuzzOpen: whatever Open accepts can be read without a panic.
func FuzzOpen(f *testing.F) {
	packed, err := Encode(sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(packed))
	f.Fuzz(func(t *testing.T, s string) {
		table, err := Open(s)
		if err != nil {
			return
		}
		for i := range table.Len() {
			r := table.Row(i)
			table.Find(r.Chain, r.Address)
		}
	})
}
