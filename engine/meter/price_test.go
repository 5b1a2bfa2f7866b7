package meter

import (
	"context"
	"errors"
	"math"
	"math/big"
	"testing"
)

func TestOwed(t *testing.T) {
	f := func(nano int64, want uint64) {
		t.Helper()
		if got := Owed(nano); got != want {
			t.Errorf("%d nano: %d, want %d", nano, got, want)
		}
	}
	f(0, 20_000)
	f(-5, 20_000)
	f(1, 30_000)                // a nano-dollar above two cents is the third cent
	f(8_333_333, 30_000)        // $0.0299999996
	f(8_333_334, 40_000)        // $0.0300000008
	f(1_000_000_000, 1_220_000) // $1.22 exactly
	f(1_000_000_001, 1_230_000)
	f(3_500_000_000, 4_220_000)
	for _, nano := range []int64{1, 999, 86_000, 123_456_789, math.MaxInt64 / 12} {
		x := new(big.Rat).Mul(big.NewRat(nano, 1_000_000_000), big.NewRat(12, 10))
		x.Add(x, big.NewRat(2, 100)).Mul(x, big.NewRat(100, 1))
		cents := new(big.Int).Div(new(big.Int).Add(x.Num(), new(big.Int).Sub(x.Denom(), big.NewInt(1))), x.Denom())
		f(nano, cents.Uint64()*Cent)
	}
}

func TestGate(t *testing.T) {
	no := errors.New("no")
	var totals []int64
	m := Meter{Gate: func(context.Context, int64) (Hold, error) { return nil, no }, OnCost: func(n int64) { totals = append(totals, n) }}
	m.Add(Call{Nano: 5})
	m.Add(Call{Nano: 0})
	m.Add(Call{Bucket: LLMs, Nano: 7})
	if _, err := m.Reserve(context.Background(), 5); len(totals) != 2 || totals[1] != 12 || !errors.Is(err, no) {
		t.Errorf("totals %v, %v", totals, err)
	}
	for _, free := range []*Meter{nil, new(Meter)} {
		hold, err := free.Reserve(context.Background(), 5)
		if err != nil {
			t.Fatal("a meter without gate refuses")
		}
		hold.Use(5)
		hold.Break()
		hold.End()
	}
}
