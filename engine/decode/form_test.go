package decode

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

// fill writes a form with the target in its hole and zeros in the others.
func (f *proxyPattern) fill(target common.Address) (code []byte) {
	for _, p := range f.parts {
		switch {
		case p.target:
			code = append(code, target[20-p.n:]...)
		case p.literal != nil:
			code = append(code, p.literal...)
		default:
			code = append(code, make([]byte, p.n)...)
		}
	}
	return code
}

// TestForms: each form is told from all others, with and without arguments behind it,
// and delegates as an instruction, not as data.
func TestForms(t *testing.T) {
	short := common.HexToAddress("0x00000000000000000000000000000000deadbeef")
	for i := range proxyPatterns {
		f := &proxyPatterns[i]
		target := common.HexToAddress("0x00000000000000112233445566778899aabbccdd")
		for _, p := range f.parts {
			if p.target && p.n == 12 {
				target = short
			}
		}
		for _, args := range [][]byte{nil, {1, 2, 3}} {
			code := append(f.fill(target), args...)
			s, ok := codeInfoOf(code)
			switch {
			case !ok || s.kind != f.kind || !bytes.Equal(s.args, args) || !delegatesCode(code):
				t.Errorf("form %d, %s: %+v, %v", i, f.kind, s, ok)
			case (s.target == common.Address{}) != strings.HasPrefix(f.kind, "erc7760") && f.kind != kindSequence,
				s.target != common.Address{} && s.target != target:
				t.Errorf("form %d, %s: target %s", i, f.kind, s.target)
			}
			if s, ok := codeInfoOf(code[:f.size-1]); ok && s.kind != kindClone {
				t.Errorf("form %d, %s, cut short: %+v", i, f.kind, s)
			}
		}
	}
	if want := 20 + 16; len(proxyPatterns) != want {
		t.Errorf("%d forms, want %d", len(proxyPatterns), want)
	}
}

// Codes as they stand in the standards and in deployed contracts.
func TestShapeOf(t *testing.T) {
	f := func(code, kind, target string, args int) {
		t.Helper()
		s, ok := codeInfoOf(common.FromHex(code))
		if ok != (kind != "") || s.kind != kind || s.target != common.HexToAddress(target) || len(s.args) != args {
			t.Errorf("%.40s: %+v, want %s %s with %d bytes", code, s, kind, target, args)
		}
	}
	const a = "bebebebebebebebebebebebebebebebebebebebe"
	f("0x363d3d373d3d3d363d73"+a+"5af43d82803e903d91602b57fd5bf3", kindClone, a, 0) // EIP-1167
	f("0x363d3d373d3d3d363d6fbebebebebebebebebebebebebebebebe5af43d82803e903d91602757fd5bf3", kindClone, "0xbebebebebebebebebebebebebebebebe", 0)
	f("0x363d3d373d3d3d363d73"+a+"5af43d82803e903d91602b57fd5bf3"+"c0ffee", kindClone, a, 3)
	f("0x3d3d3d3d363d3d3761003f603736393661003f013d73"+a+"5af43d3d93803e603557fd5bf3"+strings.Repeat("11", 61)+"003f", kindArgs, a, 63)
	f("0xef0100"+a, kindDelegated, a, 0)
	f("0xef010073"+a, "", "", 0)
	// Of no known form, but a clone all the same: a receive event before it.
	f("0x36603057343d52307f"+strings.Repeat("83", 32)+"60203da23d3df35b3d3d3d3d363d3d37363d73"+a+"5af43d3d93803e605b57fd5bf3", kindClone, a, 0)
	f("0x73"+a+"5af4", kindClone, a, 0)
	// A target that is read, called first, or not delegated to is none of the code's.
	f("0x5f5473"+a+"5af4", "", "", 0)
	f("0x73"+a+"5af1", "", "", 0)
	f("0x7f"+strings.Repeat("00", 12)+a+"5af4", "", "", 0)
	f("0x", "", "", 0)
	f("0x73", "", "", 0)
}

// FuzzShapeOf: no code makes the readers of code fall over, what is read comes from the
// code, and a form that matches can be written again.
func FuzzShapeOf(f *testing.F) {
	for i := range proxyPatterns {
		f.Add(append(proxyPatterns[i].fill(common.HexToAddress("0x112233445566778899aabbccddeeff0011223344")), 7, 7))
	}
	f.Add([]byte{0xef, 0x01, 0x00})
	f.Add(bytes.Repeat([]byte{0x7f}, 200))
	f.Fuzz(func(t *testing.T, code []byte) {
		s, ok := codeInfoOf(code)
		if ok != (s.kind != "") || len(s.args) > len(code) || !bytes.HasSuffix(code, s.args) {
			t.Fatalf("%+v, %v", s, ok)
		}
		if s.target != (common.Address{}) && !bytes.Contains(code, bytes.TrimLeft(s.target[:], "\x00")) {
			t.Fatalf("target %s is not in the code", s.target)
		}
		if ok && (s.kind == kindClone || s.kind == kindArgs) && !delegatesCode(code) && !bytes.Contains(code, []byte{opGas, opDelegateCall}) {
			t.Fatal("a clone without DELEGATECALL")
		}
		kindByConstant(code)
		if n := len(code); n > 4 {
			appended(code[:4], code)
		}
	})
}

// TestAppended: a clone passes its arguments on behind the calldata.
func TestAppended(t *testing.T) {
	f := func(own, passed string, want bool) {
		t.Helper()
		if got := appended(common.FromHex(own), common.FromHex(passed)); got != want {
			t.Errorf("%s, %s: %v", own, passed, got)
		}
	}
	f("12345678", "12345678"+"aabb0004", true)
	f("12345678", "12345678"+"aabb0002", true)
	f("12345678", "12345678"+"aabb0003", false)
	f("12345678", "12345678", false)
	f("12345678", "12345679"+"aabb0004", false)
	f("", "aabb0004", false)
	f("12345678", "12345678"+"00", false)
	f("12345678", "12345678"+fmt.Sprintf("%0*x%04x", 2*300, 0, 302), true)
}
