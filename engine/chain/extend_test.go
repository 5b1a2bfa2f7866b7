package chain

import (
	"strings"
	"testing"
)

func TestExtend(t *testing.T) {
	defer Extend(nil)
	before := len(All())
	own, err := Declare(777777, "Our Own  Net!", Coin{"coin", "coin", 18}, "")
	if err != nil || own.Slug != "our-own-net" || own.Stack.Name() != "other" {
		t.Fatalf("%+v, %v", own, err)
	}
	if err := Extend([]*Chain{own}); err != nil {
		t.Fatal(err)
	}
	f := func(found bool) {
		t.Helper()
		byID, ok := ByID(777777)
		bySlug, ok2 := BySlug("Our-Own-Net")
		if ok != found || ok2 != found || found && (byID != own || bySlug != own) {
			t.Errorf("found %v and %v, want %v", ok, ok2, found)
		}
		if c, ok := ByID(1); !ok || c.Slug != "ethereum-mainnet" {
			t.Errorf("Ethereum is %+v", c)
		}
	}
	f(true)
	if list := All(); len(list) != before+1 || list[before] != own {
		t.Errorf("%d chains, want %d with the new one last", len(list), before+1)
	}
	if err := Extend([]*Chain{own, own}); err == nil {
		t.Error("a chain was added twice")
	}
	f(true)
	Extend(nil)
	f(false)
	g := func(id uint64, name, stack, want string) {
		t.Helper()
		if _, err := Declare(id, name, Coin{}, stack); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d %q %q: %v, want %q", id, name, stack, err, want)
		}
	}
	g(0, "X", "", "needs an id")
	g(777777, "¡!", "", "needs an id")
	g(777777, "X", "nostack", "unknown stack")
	g(10, "X", "", "are those of")
	g(777777, "Ethereum", "", "are those of")
}
