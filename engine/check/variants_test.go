package check_test

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strings"

	"txlens/engine/evmsig"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// variantsOfScene is how many changed copies of each scene are judged.
const variantsOfScene = 24

// variants judges changed copies of the scenes of a test: frames left out, repeated, moved,
// with other amounts, accounts, functions or answers. Nobody has decided what is right for
// each; they stand near the guards of the rules, so that a guard that is dropped or moved
// changes what is found in some of them. The draw depends on the name of the test alone.
func variants(name string, scenes []*trace.Frame) string {
	var out strings.Builder
	for n, root := range scenes {
		seed := crc32.ChecksumIEEE([]byte(name))
		rnd := rand.New(rand.NewPCG(uint64(seed), uint64(n)))
		for v := range variantsOfScene {
			changed := clone(root)
			for range 1 + rnd.IntN(2) {
				change(rnd, changed)
			}
			matches := built(changed).Triage.Matches()
			if len(matches) == 0 {
				continue
			}
			var rules []string
			for _, h := range matches {
				rule, _, _ := strings.Cut(h, " ")
				rules = append(rules, rule)
			}
			fmt.Fprintf(&out, "scene %d, variant %d: %08x %s\n", n, v, crc32.ChecksumIEEE([]byte(strings.Join(matches, "\n"))), strings.Join(rules, " "))
		}
	}
	return out.String()
}

// functions are those that rules know, and one that none does.
var functions = []string{
	"odd_9()", "balanceOf(address)", "transfer(address,uint256)", "transferFrom(address,address,uint256)", "approve(address,uint256)",
	"deposit()", "withdraw(uint256)", "mint(address)", "burn(address)", "skim(address)", "sync()", "repayBorrow(uint256)", "getReserves()",
	"swap(uint256,uint256,address,bytes)", "initialize()", "execute(address,bytes)", "claim()", "redeem(uint256)",
}

// change makes one random change inside of a scene.
func change(rnd *rand.Rand, root *trace.Frame) {
	var all []*trace.Frame
	var accounts []common.Address
	var walk func(f *trace.Frame)
	walk = func(f *trace.Frame) {
		all, accounts = append(all, f), append(accounts, f.To)
		for _, c := range f.Children {
			walk(c)
		}
	}
	walk(root)
	accounts = append(accounts, who("sender"), who("stranger"), common.Address{})
	f, account := all[rnd.IntN(len(all))], accounts[rnd.IntN(len(accounts))]
	n := len(f.Children)
	switch rnd.IntN(12) {
	case 0, 1:
		changeChildren(rnd, f)
	case 2, 3:
		changeWord(rnd, f, account)
	case 4:
		f.Value.SetUint64([]uint64{0, 1, 1000, 50_000}[rnd.IntN(4)])
	case 5:
		if f != root {
			f.To = account
		}
	case 6:
		s := evmsig.Func(functions[rnd.IntN(len(functions))])
		if len(f.Input) >= 4 {
			f.Input = append(s[:], f.Input[4:]...)
		}
	case 7:
		f.Input = f.Input[:[]int{0, min(4, len(f.Input)), len(f.Input)}[rnd.IntN(3)]]
	case 8:
		if f != root && f.Kind != trace.Create {
			f.Kind = []trace.Kind{trace.Call, trace.StaticCall, trace.DelegateCall}[rnd.IntN(3)]
		}
	case 9:
		f.Output = [][]byte{nil, make([]byte, 32), common.MaxHash.Bytes()}[rnd.IntN(3)]
	case 10:
		if f != root {
			f.Err = "execution reverted"
		}
	case 11:
		if to := all[rnd.IntN(len(all))]; n > 0 {
			moved := f.Children[n-1]
			f.Children = f.Children[:n-1]
			if !within(moved, to) {
				to.Children = append(to.Children, moved)
			}
		}
	}
}

func within(root, f *trace.Frame) bool {
	if root == f {
		return true
	}
	for _, c := range root.Children {
		if within(c, f) {
			return true
		}
	}
	return false
}

// changeChildren leaves a call out, repeats it, or swaps it with the one before.
func changeChildren(rnd *rand.Rand, f *trace.Frame) {
	n := len(f.Children)
	if n == 0 {
		return
	}
	i := rnd.IntN(n)
	switch rnd.IntN(4) {
	case 0:
		f.Children = append(f.Children[:i:i], f.Children[i+1:]...)
	case 1:
		f.Children = append(f.Children, clone(f.Children[i]))
	case 2:
		for range 3 {
			f.Children = append(f.Children, clone(f.Children[i]))
		}
	default:
		if i > 0 {
			f.Children[i], f.Children[i-1] = f.Children[i-1], f.Children[i]
		}
	}
}

// changeWord writes another account or amount into a word of the calldata.
func changeWord(rnd *rand.Rand, f *trace.Frame, account common.Address) {
	words := (len(f.Input) - 4) / 32
	if words < 1 {
		return
	}
	f.Input = append([]byte(nil), f.Input...)
	w := f.Input[4+32*rnd.IntN(words):][:32]
	n := binary.BigEndian.Uint64(w[24:])
	switch rnd.IntN(6) {
	case 0:
		clear(w)
	case 1:
		binary.BigEndian.PutUint64(w[24:], n*2)
	case 2:
		binary.BigEndian.PutUint64(w[24:], n/10)
	case 3:
		binary.BigEndian.PutUint64(w[24:], n+n/64)
	case 4:
		copy(w, common.MaxHash[:])
	default:
		clear(w)
		copy(w[12:], account[:])
	}
}
