package api

import "testing"

func TestAbbreviations(t *testing.T) {
	x := NewAbbreviations()
	zeroLike := Addr{5: 1}
	one, other := Addr{0: 0xaa, 5: 1, 19: 0xbb}, Addr{0: 0xaa, 5: 2, 19: 0xbb}
	alone, late := Addr{0: 0xcc}, Addr{0: 0xcc, 9: 1}
	for _, a := range []Addr{zeroLike, one, other, alone} {
		x.Add(a)
	}
	f := func(a Addr, want string) {
		t.Helper()
		if got := x.Of(a); got != want {
			t.Errorf("%s: %s, want %s", a, got, want)
		}
	}
	f(alone, "0xcc00…0000")
	f(late, late.String()) // not known, but it reads like one that is
	f(one, one.String())
	f(other, other.String())
	f(zeroLike, zeroLike.String())
}
