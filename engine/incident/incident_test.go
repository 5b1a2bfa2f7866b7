package incident

import (
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

func TestLookup(t *testing.T) {
	tx := common.HexToHash("0xad89ff16fd1ebe3a0a7cf4ed282302c06626c1af33221ebe0d3a470aba4a660f")
	x, ok := Lookup(1, tx)
	if !ok || x.Name != "Beauty Chain" || x.Date != "2018-04-22" || x.Cause != "Integer Overflow" {
		t.Errorf("%v %+v", ok, x)
	}
	if x, ok := Lookup(1, common.HexToHash("0xc5c61b3ac39d854773b9dc34bd0cdbc8b5bbf75f18551802a0b5881fcb990513")); !ok || x.Name != "TrustedVolumes" || x.Date != "2026-05-07" {
		t.Errorf("%v %+v", ok, x)
	}
	if _, ok := Lookup(56, tx); ok {
		t.Error("the same hash on another chain is known")
	}
	if _, ok := Lookup(1, common.Hash{1}); ok {
		t.Error("a made-up hash is known")
	}
}

func TestRead(t *testing.T) {
	f := func(text string, n int, fails bool) {
		t.Helper()
		list, err := Read(strings.NewReader(text))
		if len(list) != n || (err != nil) != fails {
			t.Errorf("%q: %d, %v", text, len(list), err)
		}
	}
	f("# comment\n1\t0xab\t2020-01-01\tA\tB\tC\n", 1, false)
	f("1\t0xab\t2020-01-01\tA\tB\n", 0, true)
	f("x\t0xab\t2020-01-01\tA\tB\tC\n", 0, true)
}
