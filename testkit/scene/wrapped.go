package scene

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"txlens/engine/ethrpc"
	"txlens/engine/label"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// Wrapped are made transactions that an account sends for others, and trades, loans and messages:
// bundles of user operations with their deposits, paymasters and refunds, Safes with the refund
// of their gas, searchers, borrowers, and senders to other chains. The number of the
// transaction decides what is in it, as in Mixed.
func Wrapped(tb testing.TB, n int) (list []Made) {
	tb.Helper()
	kinds := []struct {
		name string
		make func(m *mixer)
	}{
		{"bundle", (*mixer).bundle}, {"Safe", (*mixer).safe}, {"trades", (*mixer).trades}, {"loan", (*mixer).loan}, {"message", (*mixer).message},
	}
	for i := range n {
		m := &mixer{tb: tb, r: rand.New(rand.NewPCG(uint64(i), 29))}
		kind := kinds[i%len(kinds)]
		kind.make(m)
		list = append(list, Made{Name: fmt.Sprint(kind.name, " ", i), Scene: m.s})
	}
	return list
}

var (
	entryPoint   = common.HexToAddress("0x0000000071727De22E5E9d8BAf0edAc6f37da032")
	wallets      = []common.Address{Addr(0xacc0), Addr(0xacc1), Addr(0xacc2)}
	sponsor      = Addr(0x9a57)
	owned        = Addr(0x5afe)
	crossApp     = Addr(0xb01d)
	crossing     = Addr(0xe9d0)
	tradedTokens = []common.Address{Usdc, Weth, Addr(0x0da1), Share}
)

const milliEther = 1_000_000_000_000_000

// begin makes the transaction and runs its root.
func (m *mixer) begin(to common.Address, value int64, input []byte) {
	m.s = New(&to, value, input)
	six := uint8(6)
	m.s.Tokens[Share] = label.Token{Address: Share, Symbol: "SHARE", Decimals: &six}
	m.in = m.s.Root
	if m.once(10) {
		m.s.Source = pick(m, mixedSources)
	}
}

// run makes a frame below the one that runs, and runs it for as long as the function does.
func (m *mixer) run(from, to common.Address, wei uint64, input []byte, inside func()) *trace.Frame {
	up := m.in
	f := &trace.Frame{Kind: trace.Call, From: from, To: to, HasTo: true, Input: input, Value: *uint256.NewInt(wei), Gas: 90000}
	up.Children = append(up.Children, f)
	if inside != nil {
		m.in = f
		inside()
		m.in = up
	}
	return f
}

// send has a token move by a call of its holder.
func (m *mixer) send(token, from, to common.Address, n int) {
	m.run(from, token, 0, Input("transfer(address,uint256)", to, n), func() { m.transfer(token, from, to, n) })
}

// act is what an account does by itself.
func (m *mixer) act(who common.Address) {
	switch m.r.IntN(7) {
	case 6:
		m.run(who, Friend, 0, nil, nil) // a call of nothing
	case 0, 1:
		m.send(pick(m, []common.Address{Usdc, Weth}), who, pick(m, []common.Address{Friend, Bot, Vault, sponsor}), pick(m, mixedAmounts[1:8]))
	case 2:
		m.run(who, pick(m, []common.Address{Friend, Vault}), milliEther, nil, nil)
	case 3:
		m.run(who, Usdc, 0, Input("approve(address,uint256)", Router, -1), func() {
			m.log(Usdc, "Approval(address,address,uint256)", []any{who, Router}, pick(m, []int{-1, 0, 77}))
		})
	case 4:
		m.run(who, Pool1, 0, []byte{0xde, 0xad, 0xbe, 0xef}, func() { m.trade(Pool1, who, Usdc, Weth, 4_000000, 900) })
	default:
		m.run(who, Router, 0, SampleCall(m.tb, m.function()).Input, nil)
	}
}

// bundle is one of up to three user operations.
func (m *mixer) bundle() {
	m.begin(entryPoint, 0, Input("handleOps((address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)[],address)", 64, User, 0))
	for _, wallet := range wallets[:1+m.r.IntN(3)] {
		paymaster := pick(m, []common.Address{{}, {}, sponsor})
		check := Input("validateUserOp((address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes),bytes32,uint256)", 96, 1, 1)
		m.run(entryPoint, wallet, 0, check, func() {
			if paymaster == (common.Address{}) && m.once(2) {
				m.run(wallet, entryPoint, 2*milliEther, nil, nil)
				m.log(entryPoint, "Deposited(address,uint256)", []any{wallet}, 2*milliEther)
			}
		})
		failed := m.once(4)
		m.run(entryPoint, entryPoint, 0, Input("innerHandleOp(bytes)", 1), func() {
			exec := m.run(entryPoint, wallet, 0, Input("execute(address,uint256,bytes)", Vault, 0, 96, 0), func() {
				if !failed {
					m.act(wallet)
				}
			})
			if failed {
				exec.Err = "execution reverted"
				if m.once(2) {
					m.log(entryPoint, "UserOperationRevertReason(bytes32,address,uint256,bytes)", []any{1, wallet}, 1, 64, 0)
				}
			}
			if paymaster == sponsor {
				m.run(entryPoint, sponsor, 0, Input("postOp(uint8,bytes,uint256)", 0), func() {
					if m.once(2) {
						m.run(sponsor, Usdc, 0, Input("transferFrom(address,address,uint256)", wallet, sponsor, 50000), func() {
							m.transfer(Usdc, wallet, pick(m, []common.Address{sponsor, Vault}), 50000)
						})
					}
				})
			}
			m.log(entryPoint, "UserOperationEvent(bytes32,address,address,uint256,bool,uint256,uint256)",
				[]any{1, wallet, paymaster}, 1, !failed, milliEther, 90000)
		})
	}
	m.run(entryPoint, pick(m, []common.Address{User, User, Bot}), milliEther, nil, nil)
}

// safe is a transaction of a Safe, with or without the refund of its gas.
func (m *mixer) safe() {
	price, token, receiver := m.r.IntN(2), pick(m, []common.Address{{}, Usdc}), pick(m, []common.Address{{}, Friend})
	target := pick(m, []common.Address{Usdc, Usdc, Friend, owned})
	exec := Input("execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)",
		target, 0, 320, 0, 0, 30000, price, token, receiver, 352, 0, 0)
	m.begin(owned, 0, exec)
	master := m.run(owned, Addr(0x5a11), 0, exec, func() {
		m.in.Kind = trace.DelegateCall
		if target != Usdc {
			m.run(owned, target, 0, nil, nil) // a call of nothing
			m.log(owned, "ExecutionSuccess(bytes32,uint256)", []any{1}, 65)
			return
		}
		for range m.r.IntN(3) {
			m.act(owned)
		}
		to := receiver
		if to == (common.Address{}) {
			to = User
		}
		if token == Usdc {
			m.send(Usdc, owned, to, 250000)
		} else {
			m.run(owned, to, milliEther, nil, nil)
		}
		m.log(owned, pick(m, []string{"ExecutionSuccess", "ExecutionSuccess", "ExecutionFailure"})+"(bytes32,uint256)", []any{1}, 65)
	})
	if m.once(6) {
		master.Children[0].Err = "execution reverted"
	}
}

// trade is one of a pair of the second version of Uniswap.
func (m *mixer) trade(pool, who, in, out common.Address, paid, got int) {
	m.transfer(in, who, pool, paid)
	m.transfer(out, pool, who, got)
	words := []any{paid, 0, 0, got}
	if m.once(3) {
		words = []any{0, paid, got, 0}
	}
	m.log(pool, "Swap(address,uint256,uint256,uint256,uint256,address)", []any{Router, who}, words...)
}

// trades is a chain of trades, of a user or a bot, which may close.
func (m *mixer) trades() {
	who := pick(m, []common.Address{User, Bot, Friend})
	m.begin(pick(m, []common.Address{Router, Bot}), 0, pick(m, [][]byte{{0xde, 0xad, 0xbe, 0xef}, SampleCall(m.tb, m.function()).Input}))
	if m.once(3) {
		m.s.Known(Router, "Router", "router", "uniswap_v2")
	}
	in, n := pick(m, tradedTokens), pick(m, []int{1000, 7_000000, 900_000000})
	first := in
	for i := range 1 + m.r.IntN(4) {
		out := pick(m, tradedTokens)
		if i > 0 && m.once(2) {
			out = first
		}
		if out == in {
			continue
		}
		got := n + m.r.IntN(500) - 100
		m.trade(Addr(uint16(0x9001+i)), who, in, out, n, got)
		in, n = out, got
	}
	if m.once(3) {
		m.run(m.s.Root.To, Miner, 500, nil, nil)
	}
	if m.once(4) {
		m.transfer(in, who, pick(m, []common.Address{Friend, Vault}), n/2)
	}
}

// loan borrows for the length of a call, trades, and pays back.
func (m *mixer) loan() {
	m.begin(Bot, 0, []byte{0xde, 0xad, 0xbe, 0xef})
	token, n, fee := pick(m, []common.Address{Usdc, Weth}), 5_000_000000, pick(m, []int{0, 9, 4_500000})
	m.run(Bot, Vault, 0, Input("flashLoan(address,address,uint256,bytes)", Bot, token, n, 128, 0), func() {
		m.transfer(token, Vault, Bot, n)
		m.run(Vault, Bot, 0, Input("onFlashLoan(address,address,uint256,uint256,bytes)", Bot, token, n, fee, 160, 0), func() {
			for i := range m.r.IntN(3) {
				m.trade(Addr(uint16(0x9001+i)), Bot, token, Share, 1_000000, 500)
				m.trade(Addr(uint16(0x9001+m.r.IntN(2))), Bot, Share, token, 500, pick(m, []int{900000, 1_500000}))
			}
			if m.once(2) {
				m.run(Bot, Pool2, 0, Input("liquidationCall(address,address,address,uint256,bool)", Weth, Usdc, Friend, 7, 0), func() {
					m.transfer(token, Bot, Pool2, 3_000000)
					m.transfer(Share, Pool2, Bot, 80)
				})
			}
		})
		m.transfer(token, Bot, Vault, n+fee)
	})
	if m.once(2) {
		m.log(Vault, "FlashLoan(address,address,address,uint256,uint8,uint256,uint16)", []any{Bot, token, 0}, Bot, n, 0, fee)
	}
	if m.once(2) {
		m.send(token, Bot, User, 1_000000)
	}
}

// message sends a token or coin to another chain, for a fee.
func (m *mixer) message() {
	fee := pick(m, []int64{0, 10 * milliEther, 1010 * milliEther})
	m.begin(crossApp, fee, Input("cross(uint256)", 1))
	if m.once(2) {
		m.transfer(Usdc, User, pick(m, []common.Address{crossApp, {}}), 5_000000)
	}
	input := pick(m, [][]byte{Input("send((uint32,bytes32,bytes,bytes,bool),address)", 64, User),
		Input("send(uint16,bytes,bytes,address,address,bytes)", 110, 192, 192, User, 0, 192, 0),
		Input("ccipSend(uint64,(bytes,bytes,(address,uint256)[],address,bytes))", 7, 64)})
	m.run(crossApp, crossing, uint64(min(fee, 10*milliEther)), input, func() {
		if m.once(3) {
			m.run(crossing, User, milliEther, nil, nil)
		}
	})
	switch m.r.IntN(4) {
	case 0:
		m.log(crossApp, "OFTSent(bytes32,uint32,address,uint256,uint256)", []any{1, User},
			pick(m, []int{30110, 30184, 40999}), 5_000000, 4_900000)
	case 1:
		m.log(crossApp, "TransferSentToL2(uint256,address,uint256,uint256,uint256,address,uint256)",
			[]any{10, pick(m, []common.Address{User, Friend}), 0}, 5_000000, 100000, 0, 0)
	case 2:
		m.log(crossApp, "DepositForBurn(uint64,address,uint256,address,bytes32,uint32,bytes32,bytes32)",
			[]any{1, Usdc, User}, 5_000000, Friend, 6, 0, 0)
	default:
		m.event(User)
	}
	if m.once(5) {
		m.s.Tx.Type = 3
		m.s.Tx.BlobHashes = []common.Hash{{1}}
		m.s.Tx.Authorizations = []ethrpc.Authorization{{ChainID: big.NewInt(1), Address: Friend, R: big.NewInt(1), S: big.NewInt(1)}}
	}
}
