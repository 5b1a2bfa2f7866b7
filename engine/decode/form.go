package decode

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common"
)

// Kinds of proxy that their code alone determines.
const (
	kindDelegated = "eip7702"
	kindClone     = "eip1167"
	kindArgs      = "clone_with_immutable_args" // the arguments are appended to the calldata
	kind7760      = "erc7760"
	kind7760b     = "erc7760_beacon"
	kindSequence  = "sequence"
)

// proxyPattern is the exact code of a proxy, with placeholders.
type proxyPattern struct {
	kind  string
	parts []part
	size  int
}

// part is literal bytes, or a placeholder of n bytes.
type part struct {
	literal []byte
	n       int
	target  bool // the placeholder contains the address that is delegated to
}

// codeInfo is what the code of a proxy shows.
type codeInfo struct {
	kind   string
	target common.Address // zero: the address is in storage
	args   []byte         // immutable arguments after the code
}

// proxyPatterns are the known codes, by kind. {n} is a placeholder of n bytes and {@n} one
// that contains the target. Those of ERC-7760 are the runtime codes of the standard, in its
// order.
var proxyPatterns = compileForms(
	// Clones that append arguments to the calldata: wighawag, its first version, Sudoswap's
	// of fixed length, Solady's and Splits' with an event for plain payments.
	kindArgs,
	"3d3d3d3d363d3d3761{2}603736393661{2}013d73{@20}5af43d3d93803e603557fd5bf3",
	kindArgs,
	"363d3d3761{2}603836393d3d3d3661{2}013d73{@20}5af43d82803e903d91603657fd5bf3",
	kindArgs,
	"3d3d3d3d363d3d37605160353639366051013d73{@20}5af43d3d93803e603357fd5bf3",
	kindArgs,
	"36602c57343d527f{32}593da1005b363d3d373d3d3d3d61{2}806062363936013d73{@20}5af43d3d93803e606057fd5bf3",
	kindArgs,
	"36602f57343d527f{32}60203da13d3df35b3d3d3d3d363d3d3761{2}606736393661{2}013d73{@20}5af43d3d93803e606557fd5bf3",
	// EIP-1167 and what came after it: 0age's, EIP-7511 and Solady with PUSH0, Vyper's two.
	// Arguments behind them are read with EXTCODECOPY (OpenZeppelin, Solady).
	kindClone,
	"363d3d373d3d3d363d73{@20}5af43d82803e903d91602b57fd5bf3",
	kindClone,
	"3d3d3d3d363d3d37363d73{@20}5af43d3d93803e602a57fd5bf3",
	kindClone,
	"365f5f375f5f365f73{@20}5af43d5f5f3e5f3d91602a57fd5bf3",
	kindClone,
	"5f5f365f5f37365f73{@20}5af43d5f5f3e6029573d5ffd5b3d5ff3",
	kindClone,
	"366000600037611000600036600073{@20}5af4602c57600080fd5b6110006000f3",
	kindClone,
	"366000600037611000600036600073{@20}5af41558576110006000f3",
	// ERC-7760: transparent for a factory of 14 and of 20 bytes, each with its I-variant.
	kind7760,
	"3d3d336d{14}14605157363d3d37363d7f360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc545af43d6000803e604c573d6000fd5b3d6000f35b3d3560203555604080361115604c5736038060403d373d3d355af43d6000803e604c573d6000fd",
	kind7760,
	"3d3d3373{20}14605757363d3d37363d7f360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc545af43d6000803e6052573d6000fd5b3d6000f35b3d356020355560408036111560525736038060403d373d3d355af43d6000803e6052573d6000fd",
	kind7760,
	"3658146083573d3d3373{20}14605d57363d3d37363d7f360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc545af43d6000803e6058573d6000fd5b3d6000f35b3d35602035556040360380156058578060403d373d3d355af43d6000803e6058573d6000fd5b602060293d393d51543d52593df3",
	kind7760,
	"365814607d573d3d336d{14}14605757363d3d37363d7f360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc545af43d6000803e6052573d6000fd5b3d6000f35b3d35602035556040360380156052578060403d373d3d355af43d6000803e6052573d6000fd5b602060233d393d51543d52593df3",
	// ERC-7760: UUPS and beacon, each with its I-variant.
	kind7760,
	"363d3d373d3d363d7f360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc545af43d6000803e6038573d6000fd5b3d6000f3",
	kind7760,
	"365814604357363d3d373d3d363d7f360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc545af43d6000803e603e573d6000fd5b3d6000f35b6020600f3d393d51543d52593df3",
	kind7760b,
	"363d3d373d3d363d602036600436635c60da1b60e01b36527fa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50545afa5036515af43d6000803e604d573d6000fd5b3d6000f3",
	kind7760b,
	"363d3d373d3d363d602036600436635c60da1b60e01b36527fa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50545afa361460525736515af43d600060013e6052573d6001fd5b3d6001f3",
	// Sequence wallets keep the target in the slot of their own address.
	kindSequence,
	"363d3d373d3d3d363d30545af43d82803e903d91601857fd5bf3",
)

// vanity adds EIP-1167 and 0age's proxy for targets with leading zeros: the push is
// shorter, and so is the jump distance after it.
func vanity(list []proxyPattern) []proxyPattern {
	for n := 19; n >= 12; n-- {
		list = append(list,
			compileForm(kindClone, fmt.Sprintf("363d3d373d3d3d363d%02x{@%d}5af43d82803e903d9160%02x57fd5bf3", opPush1+n-1, n, 0x2b-20+n)),
			compileForm(kindClone, fmt.Sprintf("3d3d3d3d363d3d37363d%02x{@%d}5af43d3d93803e60%02x57fd5bf3", opPush1+n-1, n, 0x2a-20+n)))
	}
	return list
}

func compileForms(pairs ...string) (list []proxyPattern) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, compileForm(pairs[i], pairs[i+1]))
	}
	return vanity(list)
}

func compileForm(kind, text string) proxyPattern {
	f := proxyPattern{kind: kind}
	for text != "" {
		p, rest := part{}, ""
		if hole, after, is := strings.Cut(text, "}"); is && text[0] == '{' {
			size := strings.TrimPrefix(hole[1:], "@")
			p.target = size != hole[1:]
			if _, err := fmt.Sscan(size, &p.n); err != nil {
				panic(fmt.Errorf("read form %s: %w", kind, err))
			}
			rest = after
		} else {
			literal, _, more := strings.Cut(text, "{")
			if more {
				rest = text[len(literal):]
			}
			var err error
			if p.literal, err = hex.DecodeString(literal); err != nil {
				panic(fmt.Errorf("read form %s: %w", kind, err))
			}
			p.n = len(p.literal)
		}
		f.parts, f.size, text = append(f.parts, p), f.size+p.n, rest
	}
	return f
}

// match parses code of this pattern; the bytes after it are immutable arguments.
func (f *proxyPattern) match(code []byte) (s codeInfo, ok bool) {
	if len(code) < f.size {
		return s, false
	}
	s.kind = f.kind
	at := 0
	for i := range f.parts {
		p := &f.parts[i]
		here := code[at : at+p.n]
		at += p.n
		switch {
		case p.target:
			s.target = common.BytesToAddress(here)
		case p.literal != nil && !bytes.Equal(here, p.literal):
			return codeInfo{}, false
		}
	}
	if len(code) > at {
		s.args = code[at:]
	}
	return s, true
}

// codeInfoOf determines what code alone shows of a proxy: EIP-7702, the known patterns, and
// any other code that pushes an address and delegates to it at once.
func codeInfoOf(code []byte) (codeInfo, bool) {
	if a, ok := delegation(code); ok {
		return codeInfo{kind: kindDelegated, target: a}, true
	}
	for i := range proxyPatterns {
		if s, ok := proxyPatterns[i].match(code); ok {
			return s, true
		}
	}
	if a, ok := clone(code); ok {
		return codeInfo{kind: kindClone, target: a}, true
	}
	return codeInfo{}, false
}

// delegation parses the code of an account that delegates (EIP-7702).
func delegation(code []byte) (common.Address, bool) {
	if len(code) != 23 || !bytes.HasPrefix(code, []byte{0xef, 0x01, 0x00}) {
		return common.Address{}, false
	}
	return common.Address(code[3:]), true
}

// Opcodes that are searched for.
const (
	opSLoad        = 0x54
	opGas          = 0x5a
	opPush1        = 0x60
	opPush32       = 0x7f
	opCall         = 0xf1
	opDelegateCall = 0xf4
	opStaticCall   = 0xfa
)

// maxClone bounds the position of the target in the code of a clone.
const maxClone = 160

// clone finds the target of a minimal proxy without a known pattern. What they have in
// common: the code pushes an address and executes GAS DELEGATECALL at once, without any
// SLOAD or call before.
func clone(code []byte) (common.Address, bool) {
	for pc := 0; pc < len(code) && pc < maxClone; pc++ {
		op := code[pc]
		if op == opSLoad || op == opCall || op == opStaticCall || op == opDelegateCall {
			break
		}
		if op < opPush1 || op > opPush32 {
			continue
		}
		n := int(op - opPush1 + 1)
		end := pc + 1 + n
		if n >= 12 && n <= 20 && end+2 <= len(code) && code[end] == opGas && code[end+1] == opDelegateCall {
			return common.BytesToAddress(code[pc+1 : end]), true
		}
		pc += n
	}
	return common.Address{}, false
}

// delegatesCode reports whether the code contains the instruction DELEGATECALL.
func delegatesCode(code []byte) bool {
	for pc := 0; pc < len(code); pc++ {
		op := code[pc]
		if op == opDelegateCall {
			return true
		}
		if op >= opPush1 && op <= opPush32 {
			pc += int(op - opPush1 + 1)
		}
	}
	return false
}
