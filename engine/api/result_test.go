package api

import (
	"bytes"
	"math/big"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// TestDecodeResult: what was sent is written again as it came.
func TestDecodeResult(t *testing.T) {
	f := func(want *Result) {
		t.Helper()
		sent, err := json.Marshal(want, jsontext.AllowInvalidUTF8(true))
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeResult(sent)
		if err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(got, jsontext.AllowInvalidUTF8(true))
		if err != nil || !bytes.Equal(again, sent) {
			t.Errorf("%v\n%s\nwant\n%s", err, again, sent)
		}
	}
	f(&Result{})
	price, kind, sig := Decimal{big.NewInt(-1234500), 7}, TypeSwap, "Transfer(address)"
	f(&Result{
		TxHash: "0x12", TxType: &kind, USDValue: &price, Costs: Costs{TotalUSD: NanoDollars(20_000_001)},
		RawTrace: jsontext.Value(`{"z":1,"a":[2,{"b":"0x"}]}`), Steps: []string{"one", "\xff"},
		PrettyTrace: []Node{{Input: Hex{1, 2}, EventSignature: &sig, To: &Addr{3}, DecodedArgs: []Arg{
			{Name: "a", Value: "12"}, {Value: true, Indexed: true}, {Value: []any{"1", []any{"2"}}}, {Value: []Arg{{Name: "b", Value: []any{}}}},
			{Value: []any{[]Arg{{Name: "c", Value: "d"}}}},
		}}},
		TraceAnnotations: map[int]string{3: "x"},
	})
}

// FuzzDecodeResult: no bytes of a server make a client panic.
func FuzzDecodeResult(f *testing.F) {
	f.Add([]byte(`{"costs":{"totalUsd":1.20},"prettyTrace":[{"input":"0x00","decodedArgs":[{"value":[{"value":"x"}]}]}]}`))
	f.Add([]byte(`{"prettyTrace":[{"decodedArgs":[{"value":[[[["x"]]]]}]}],"rawTrace":null}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		if r, err := DecodeResult(doc); err == nil {
			if _, err := json.Marshal(r, jsontext.AllowInvalidUTF8(true)); err != nil {
				t.Error(err)
			}
		}
	})
}
