package main

import (
	"errors"
	"testing"
)

// testLab skips where Node.js or the packages are absent.
func testLab(t *testing.T) *lab {
	t.Helper()
	l, err := open(t.Context(), options{packages: ".", txlens: "unused"})
	if errors.Is(err, errAbsent) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	return l
}

// Each peer names calls and logs of a transaction with all its state.
func TestPeersRun(t *testing.T) {
	l := testLab(t)
	c, err := executable()
	if err != nil {
		t.Skipf("no tracer test data of go-ethereum: %v", err)
	}
	t.Cleanup(c.close)
	const transfer = "0x5e3c77aeb3418a3e5fabe6cc97ec723e2c5cd36b5d5551984487286dcd2e92fc"
	var txs []*one
	for _, x := range c.txs {
		if x.hash == transfer {
			txs = append(txs, x)
		}
	}
	f := func(name string, run runner) {
		t.Helper()
		r, err := run(t.Context(), l, c, txs, 1)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		a := r.answers[transfer]
		if a.Error != "" || a.Frames == 0 || a.Logs == 0 || r.cpu == 0 || r.memory == 0 {
			t.Errorf("%s: %+v with %+v", name, a, r.usage)
		}
	}
	f(nameLoopNames, threeloop(true))
	f(nameCastNames, cast(true))
}
