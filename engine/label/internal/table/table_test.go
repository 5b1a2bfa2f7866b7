package table

import (
	"bytes"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

func sample() []Row {
	return []Row{
		{1, common.HexToAddress("0x02"), 18, []string{"USDC", "USD Coin"}},
		{1, common.HexToAddress("0x01"), 6, []string{"USDT", ""}},
		{56, common.HexToAddress("0x01"), 255, []string{"USDC", "USD Coin"}},
	}
}

func TestRoundTrip(t *testing.T) {
	packed, err := Encode(sample())
	if err != nil {
		t.Fatal(err)
	}
	tab, err := Decode(packed)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range sample() {
		i, ok := tab.Find(want.Chain, want.Address)
		if !ok || tab.Byte(i) != want.Byte || tab.Address(i) != want.Address {
			t.Fatalf("%d %s: row %d, %v", want.Chain, want.Address, i, ok)
		}
		for f, s := range want.Fields {
			if got := tab.Field(i, f); got != s {
				t.Errorf("%d %s field %d: %q, want %q", want.Chain, want.Address, f, got, s)
			}
		}
	}
	for _, absent := range []Row{{Chain: 1, Address: common.HexToAddress("0x03")}, {Chain: 1}, {Chain: 57, Address: common.HexToAddress("0x01")}} {
		if i, ok := tab.Find(absent.Chain, absent.Address); ok {
			t.Errorf("%d %s found at %d", absent.Chain, absent.Address, i)
		}
	}
}

func TestEncodeDependsOnTheSetOnly(t *testing.T) {
	rows := sample()
	a, _ := Encode(rows)
	rows[0], rows[2] = rows[2], rows[0]
	b, _ := Encode(rows)
	if !bytes.Equal(a, b) {
		t.Error("the order of the rows changed the bytes")
	}
	if _, err := Encode(append(rows, rows[1])); err == nil {
		t.Error("a double entry was accepted")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(magic))
	f.Add(append([]byte(magic), 1, 1, 1))
	raw := []byte(magic)
	raw = appendChains(raw, sample()[:1])
	raw = append(raw, make([]byte, 21)...)
	raw = append(raw, 1)
	raw = appendColumn(raw, sample()[:1], 0)
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		tab, err := parse(raw)
		if err != nil {
			return
		}
		for _, id := range tab.Chains() {
			start, end := tab.Rows(id)
			for i := start; i < end; i++ {
				for c := range tab.columns {
					tab.Field(i, c)
				}
			}
		}
	})
}
