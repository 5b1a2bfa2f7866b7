package narrate_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/trace"
	"txlens/testkit/scene"
)

// TestShortfalls: errors that state two amounts of a token are told in whole tokens and
// percent; in raw numbers where nothing shows of which token they are.
func TestShortfalls(t *testing.T) {
	router, holder := scene.Addr(0x70e7), scene.Addr(0x401d)
	answered := func(s *scene.Scene, parent *trace.Frame, token common.Address, n int64) {
		f := s.Call(parent.To, token, 0, scene.Input("balanceOf(address)", router))
		f.Kind, f.Output = trace.StaticCall, common.BigToHash(big.NewInt(n)).Bytes()
	}
	f := func(name string, revert []byte, before func(s *scene.Scene, router *trace.Frame) (thrower *trace.Frame), want string) {
		t.Helper()
		s := scene.New(&router, 0, scene.Input("go()"))
		thrower := s.Root
		if before != nil {
			if x := before(s, s.Root); x != nil {
				thrower = x
			}
		}
		s.Fail("execution reverted")
		s.Root.Output, thrower.Output = revert, revert
		thrower.Err, thrower.Status = "execution reverted", trace.Failed
		got := scene.Held(t, name, s.Facts(t)).Summary
		if !strings.HasSuffix(got, want) {
			t.Errorf("%s: %s\nwant …%s", name, got, want)
		}
	}
	little := scene.Input("ReturnAmountIsNotEnough(uint256,uint256)", 857_900_830_000, 933_566_380_000)
	const told = "reverted with ReturnAmountIsNotEnough: returned 857,900.83 USDC, asked for at least 933,566.38 USDC: 8.1 % too little"
	f("1inch, by a balance", little, func(s *scene.Scene, r *trace.Frame) *trace.Frame {
		answered(s, r, scene.Usdc, 857_900_830_000)
		return nil
	}, told)
	f("1inch, by a transfer", little, func(s *scene.Scene, r *trace.Frame) *trace.Frame {
		s.Call(holder, scene.Usdc, 0, scene.Input("transfer(address,uint256)", router, 857_900_830_000))
		return nil
	}, told)
	f("1inch, by a transfer from", little, func(s *scene.Scene, r *trace.Frame) *trace.Frame {
		s.Call(router, scene.Usdc, 0, scene.Input("transferFrom(address,address,uint256)", holder, router, 857_900_830_000))
		return nil
	}, told)
	const raw = "reverted with ReturnAmountIsNotEnough(result 857900830000, minReturn 933566380000): the swap would return less than the stated minimum"
	f("1inch, no token", little, nil, raw)
	f("1inch, another amount", little, func(s *scene.Scene, r *trace.Frame) *trace.Frame {
		answered(s, r, scene.Usdc, 857_900_830_001)
		return nil
	}, raw)
	f("1inch, two tokens", little, func(s *scene.Scene, r *trace.Frame) *trace.Frame {
		answered(s, r, scene.Usdc, 857_900_830_000)
		answered(s, r, scene.Weth, 857_900_830_000)
		return nil
	}, raw)
	f("1inch, an unknown token", little, func(s *scene.Scene, r *trace.Frame) *trace.Frame {
		answered(s, r, holder, 857_900_830_000)
		return nil
	}, raw)
	f("Settler", scene.Input("TooMuchSlippage(address,uint256,uint256)", scene.Usdc, 100_000_000, 99_950_000), nil,
		"reverted with TooMuchSlippage: returned 99.95 USDC, asked for at least 100 USDC: 0.1 % too little")
	f("Settler, by next to nothing", scene.Input("TooMuchSlippage(address,uint256,uint256)", scene.Usdc, 100_000_000, 99_999_999), nil,
		"reverted with TooMuchSlippage: returned 100 USDC, asked for at least 100 USDC: less than 0.1 % too little")
	f("universal router", scene.Input("V4TooMuchRequested(uint256,uint256)", 100_000_000, 150_000_000), func(s *scene.Scene, r *trace.Frame) *trace.Frame {
		answered(s, r, scene.Usdc, 150_000_000)
		return nil
	}, "reverted with V4TooMuchRequested: would cost 150 USDC, allowed at most 100 USDC: 50.0 % too much")
	short := scene.Input("ERC20InsufficientBalance(address,uint256,uint256)", holder, 5_000_000, 20_000_000)
	f("ERC-6093", short, func(s *scene.Scene, r *trace.Frame) *trace.Frame {
		return s.Call(router, scene.Usdc, 0, scene.Input("transfer(address,uint256)", holder, 20_000_000))
	}, "reverted with ERC20InsufficientBalance: the balance is 5 USDC, needed 20 USDC: 75.0 % too little")
	f("ERC-6093 behind a proxy", short, func(s *scene.Scene, r *trace.Frame) *trace.Frame {
		proxy := s.Call(router, scene.Usdc, 0, scene.Input("transfer(address,uint256)", holder, 20_000_000))
		proxy.Err, proxy.Status, proxy.Output = "execution reverted", trace.Failed, short
		code := s.Call(scene.Usdc, holder, 0, proxy.Input)
		s.Root.Children = s.Root.Children[:len(s.Root.Children)-1]
		code.Kind, code.Parent, proxy.Children = trace.DelegateCall, proxy, []*trace.Frame{code}
		return code
	}, "reverted with ERC20InsufficientBalance: the balance is 5 USDC, needed 20 USDC: 75.0 % too little")
	f("ERC-6093 of an unknown token", short, func(s *scene.Scene, r *trace.Frame) *trace.Frame {
		return s.Call(router, holder, 0, scene.Input("transfer(address,uint256)", holder, 20_000_000))
	}, "balance 5000000, needed 20000000): the token balance is too small")
	f("allowance", scene.Input("ERC20InsufficientAllowance(address,uint256,uint256)", holder, 0, 20_000_000), func(s *scene.Scene, r *trace.Frame) *trace.Frame {
		return s.Call(router, scene.Usdc, 0, scene.Input("transferFrom(address,address,uint256)", holder, router, 20_000_000))
	}, "reverted with ERC20InsufficientAllowance: the allowance is 0 USDC, needed 20 USDC: 100.0 % too little")
}

// TestHalfSwapWithoutTrace: without a call trace nothing is said of where the other side of a
// swap went.
func TestHalfSwapWithoutTrace(t *testing.T) {
	f := func(source trace.Source, want string) {
		t.Helper()
		s := scene.New(&scene.Router, 0, scene.Input("swap(string,address,uint256,bytes)", 128, scene.Usdc, 5_000_000, 160, 0, 0))
		s.Known(scene.Router, "Aggregator: Router", "router", "metamask_swaps")
		s.Transfer(scene.Usdc, scene.User, scene.Pool1, 5_000_000)
		s.Transfer(scene.Weth, scene.Pool1, scene.Router, 1_000_000)
		s.Log(scene.Pool1, "Swap(address,uint256,uint256,uint256,uint256,address)", []any{scene.Router, scene.Router}, 5_000_000, 0, 0, 1_000_000)
		s.Log(scene.Weth, "Withdrawal(address,uint256)", []any{scene.Router}, 1_000_000)
		s.Source = source
		if got := scene.Held(t, string(source), s.Facts(t)).Summary; !strings.HasSuffix(got, want) {
			t.Errorf("%s: %s", source, got)
		}
	}
	f(trace.SourceDebug, "; what it bought went to others")
	f(trace.SourceReceipt, "; what it bought is not known without a call trace")
}
