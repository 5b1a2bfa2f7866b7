package narrate_test

import (
	"math/big"
	"strings"
	"testing"

	"txlens/engine/chain"
	"txlens/engine/classify"
	"txlens/engine/ethrpc"
	"txlens/engine/facts"
	"txlens/engine/label"
	"txlens/engine/narrate"
	"txlens/engine/trace"
	"txlens/engine/verdict"
	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// Entry points of ERC-4337 and accounts of the bundles below.
var (
	entryV06 = common.HexToAddress("0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789")
	entryV07 = common.HexToAddress("0x0000000071727De22E5E9d8BAf0edAc6f37da032")
	entryV08 = common.HexToAddress("0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108")
	wallet   = scene.Addr(0xacc0)
	wallet2  = scene.Addr(0xacc2)
	sponsor  = scene.Addr(0x9a57)
	payee    = scene.Addr(0x9a1e)
	game     = scene.Addr(0x6a3e)
)

const milliEther = 1_000_000_000_000_000

// costScene is a transaction whose frames carry logs.
type costScene struct {
	t    *testing.T
	id   uint64
	tx   *ethrpc.Transaction
	rc   *ethrpc.Receipt
	root *trace.Frame
	bare bool // the trace has no logs
	flat bool // there is no trace but the receipt
}

func newCostScene(t *testing.T, id uint64, to common.Address, input []byte) *costScene {
	ok := uint64(1)
	return &costScene{t: t, id: id,
		tx:   &ethrpc.Transaction{From: scene.User, To: &to, Value: new(big.Int), Input: input, Gas: 900000, GasPrice: big.NewInt(10)},
		rc:   &ethrpc.Receipt{Status: &ok, GasUsed: 100000, EffectiveGasPrice: big.NewInt(10)},
		root: &trace.Frame{Kind: trace.Call, From: scene.User, To: to, HasTo: true, Input: input, Gas: 900000}}
}

func (s *costScene) call(in *trace.Frame, from, to common.Address, wei uint64, input []byte) *trace.Frame {
	f := &trace.Frame{Kind: trace.Call, From: from, To: to, HasTo: true, Input: input, Value: *uint256.NewInt(wei)}
	in.Children = append(in.Children, f)
	return f
}

// log emits a log in a frame; nil: in none.
func (s *costScene) log(in *trace.Frame, emitter common.Address, signature string, indexed []any, data ...any) {
	x := scene.New(nil, 0, nil).Log(emitter, signature, indexed, data...).Rc.Logs[0]
	x.Index = uint64(len(s.rc.Logs))
	s.rc.Logs = append(s.rc.Logs, x)
	if in != nil && !s.bare {
		in.Logs = append(in.Logs, trace.Log{Address: x.Address, Topics: x.Topics, Data: x.Data, Calls: len(in.Children), Receipt: -1})
	}
}

func (s *costScene) transfer(in *trace.Frame, token, from, to common.Address, n int) {
	s.log(in, token, "Transfer(address,address,uint256)", []any{from, to}, n)
}

func (s *costScene) judge() (*facts.Case, *classify.Verdict, narrate.Text) {
	s.t.Helper()
	j := scene.Held(s.t, "", s.input())
	return j.Words.Case, j.Verdict, j.Text
}

func (s *costScene) input() *facts.Input {
	s.t.Helper()
	ch, ok := chain.ByID(s.id)
	if !ok {
		s.t.Fatalf("chain %d is not in the table", s.id)
	}
	tree := &trace.Tree{Source: trace.SourceDebug, Root: s.root, HasLogs: !s.bare}
	if s.flat {
		tree = trace.FromReceipt(s.tx, s.rc, s.rc.Status == nil || *s.rc.Status == 1)
	}
	tree.Finish()
	in := scene.Compose(ch, s.tx, s.rc, &ethrpc.Block{Number: 1, Timestamp: 1_760_000_000, Miner: scene.Miner, BaseFee: big.NewInt(10)}, tree)
	six := uint8(6)
	in.Tokens[scene.Usdc] = label.Token{Address: scene.Usdc, Symbol: "USDC", Decimals: &six, Listed: true}
	return in
}

// want compares the headline, and looks for steps.
func (s *costScene) want(headline string, steps ...string) {
	s.t.Helper()
	_, v, told := s.judge()
	if got := string(*v.TxType) + ": " + told.Summary; got != headline {
		s.t.Errorf("got  %s\nwant %s", got, headline)
	}
	all := strings.Join(told.Steps, "\n")
	for _, x := range steps {
		if !strings.Contains(all, x) {
			s.t.Errorf("no step %q in\n%s", x, all)
		}
	}
}

var (
	validateV06 = "validateUserOp((address,uint256,bytes,bytes,uint256,uint256,uint256,uint256,uint256,bytes,bytes),bytes32,uint256)"
	handleV06   = "handleOps((address,uint256,bytes,bytes,uint256,uint256,uint256,uint256,uint256,bytes,bytes)[],address)"
	handleV07   = "handleOps((address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)[],address)"
	validateV07 = "validateUserOp((address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes),bytes32,uint256)"
)

// operation adds an operation to a bundle: act makes the calls of its account, post those
// of the paymaster once it is done.
func (s *costScene) operation(entry, account, paymaster common.Address, failed bool, act func(exec *trace.Frame), post func(f *trace.Frame)) {
	validate := validateV07
	if entry == entryV06 {
		validate = validateV06
	}
	check := s.call(s.root, entry, account, 0, scene.Input(validate, 96, 1, 1))
	if paymaster == (common.Address{}) {
		s.call(check, account, entry, 2*milliEther, nil)
		s.log(check, entry, "Deposited(address,uint256)", []any{account}, 2*milliEther)
	} else {
		s.call(s.root, entry, paymaster, 0, scene.Input("validatePaymasterUserOp()", 96))
	}
	run := s.call(s.root, entry, entry, 0, scene.Input("innerHandleOp(bytes)", 1))
	exec := s.call(run, entry, account, 0, scene.Input("execute(address,uint256,bytes)", game, 0, 96, 0))
	if act != nil {
		act(exec)
	}
	if failed {
		exec.Err = "execution reverted"
	}
	if post != nil {
		post(s.call(run, entry, paymaster, 0, scene.Input("postOp(uint8,bytes,uint256)", 0)))
	}
	s.log(run, entry, "UserOperationEvent(bytes32,address,address,uint256,bool,uint256,uint256)", []any{1, account, paymaster}, 1, !failed, milliEther, 90000)
}

func bundle(t *testing.T, id uint64, entry common.Address) *costScene {
	handle := handleV07
	if entry == entryV06 {
		handle = handleV06
	}
	return newCostScene(t, id, entry, scene.Input(handle, 64, scene.User, 0))
}

// payout ends a bundle.
func (s *costScene) payout(entry common.Address) *costScene {
	s.call(s.root, entry, scene.User, milliEther, nil)
	return s
}

// TestOperationCosts: what fills deposits and what the bundler gets are no act, by any
// entry point.
func TestOperationCosts(t *testing.T) {
	f := func(id uint64, entry, paymaster common.Address, coin string) {
		t.Helper()
		s := bundle(t, id, entry)
		s.operation(entry, wallet, paymaster, false, func(x *trace.Frame) { s.call(x, wallet, game, 0, []byte{0xde, 0xad, 0xbe, 0xef}) }, nil)
		payer := wallet
		if paymaster != (common.Address{}) {
			payer = paymaster
		}
		s.payout(entry).want("other: Called function 0xdeadbeef of 0x6a3e…6a3e; no tokens moved, for smart account 0xacc0…acc0",
			shortOf(payer)+" paid 0.001 "+coin+" for its gas.")
	}
	f(1, entryV06, common.Address{}, "ETH")
	f(1, entryV07, sponsor, "ETH")
	f(137, entryV07, common.Address{}, "POL")
	f(8453, entryV08, common.Address{}, "ETH")
	f(8453, entryV08, sponsor, "ETH")
}

func shortOf(a common.Address) string {
	s := strings.ToLower(a.Hex())
	return s[:6] + "…" + s[38:]
}

// TestDepositIsNoCost: coin that an operation itself puts into the entry point is an act,
// and so is coin that it takes out.
func TestDepositIsNoCost(t *testing.T) {
	s := bundle(t, 1, entryV07)
	s.operation(entryV07, wallet, common.Address{}, false, func(x *trace.Frame) { s.call(x, wallet, entryV07, 5*milliEther, nil) }, nil)
	if a, _, _ := s.payout(entryV07).judge(); len(a.Costs) != 2 || len(a.Out) != 1 || a.Out[0].Amount.Int64() != 5*milliEther {
		t.Errorf("costs %v, out %v", a.Costs, a.Out)
	}
	s = bundle(t, 1, entryV06)
	s.operation(entryV06, wallet, common.Address{}, false, func(x *trace.Frame) {
		out := s.call(x, wallet, entryV06, 0, scene.Input("withdrawTo(address,uint256)", payee, 7))
		s.call(out, entryV06, payee, 7*milliEther, nil)
	}, nil)
	if a, _, _ := s.payout(entryV06).judge(); len(a.Costs) != 2 || len(a.Flow.Moves) == 0 {
		t.Errorf("costs %v, moves %v", a.Costs, a.Flow.Moves)
	}
}

// TestTokenPaymaster: tokens that a paymaster takes for the gas are no act, whoever moves
// them, net of what it gives back.
func TestTokenPaymaster(t *testing.T) {
	send := func(s *costScene) func(*trace.Frame) {
		return func(x *trace.Frame) {
			s.transfer(s.call(x, wallet, scene.Usdc, 0, scene.Input("transfer(address,uint256)", payee, 7_000000)), scene.Usdc, wallet, payee, 7_000000)
		}
	}
	const sent = "transfer: Sent 7 USDC to 0x9a1e…9a1e, for smart account 0xacc0…acc0; paid 0.05 USDC for gas to "
	// It is charged by the paymaster, after the operation.
	s := bundle(t, 8453, entryV08)
	s.operation(entryV08, wallet, sponsor, false, send(s), func(f *trace.Frame) {
		s.transfer(s.call(f, sponsor, scene.Usdc, 0, scene.Input("transferFrom(address,address,uint256)", wallet, sponsor, 50000)), scene.Usdc, wallet, sponsor, 50000)
	})
	s.payout(entryV08).want(sent+"0x9a57…9a57", "0xacc0…acc0 paid 0.05 USDC for gas to 0x9a57…9a57.")
	// To a treasury of the paymaster.
	s = bundle(t, 1, entryV07)
	s.operation(entryV07, wallet, sponsor, false, send(s), func(f *trace.Frame) {
		s.transfer(s.call(f, sponsor, scene.Usdc, 0, scene.Input("transferFrom(address,address,uint256)", wallet, scene.Vault, 50000)), scene.Usdc, wallet, scene.Vault, 50000)
	})
	s.payout(entryV07).want(sent + "0x7a17…7a17")
	// The account pays it by itself, in a batch, and gets some back.
	s = bundle(t, 137, entryV06)
	s.operation(entryV06, wallet, sponsor, false, func(x *trace.Frame) {
		s.transfer(s.call(x, wallet, scene.Usdc, 0, scene.Input("transfer(address,uint256)", sponsor, 60000)), scene.Usdc, wallet, sponsor, 60000)
		send(s)(x)
	}, func(f *trace.Frame) {
		s.transfer(s.call(f, sponsor, scene.Usdc, 0, scene.Input("transfer(address,uint256)", wallet, 10000)), scene.Usdc, sponsor, wallet, 10000)
	})
	s.payout(entryV06).want(sent + "0x9a57…9a57")
	// Nobody has a trace.
	s = bundle(t, 1, entryV07)
	s.bare = true
	s.transfer(nil, scene.Usdc, wallet, payee, 7_000000)
	s.transfer(nil, scene.Usdc, wallet, sponsor, 50000)
	s.operation(entryV07, wallet, sponsor, false, nil, nil)
	s.root.Children = nil
	if a, _, _ := s.judge(); len(a.Out) != 1 || a.Out[0].Amount.Int64() != 7_000000 {
		t.Errorf("out %v", a.Out)
	}
}

// TestSafeRefund: what a Safe pays back for gas is no act, in coin or in a token.
func TestSafeRefund(t *testing.T) {
	safe, owner := scene.Addr(0x5afe), scene.User
	f := func(price int, gasToken, receiver common.Address, refund func(s *costScene, in *trace.Frame), want string) {
		t.Helper()
		exec := scene.Input("execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)",
			scene.Usdc, 0, 320, 0, 0, 30000, price, gasToken, receiver, 352, 0, 0)
		s := newCostScene(t, 1, safe, exec)
		d := &trace.Frame{Kind: trace.DelegateCall, From: safe, To: scene.Addr(0x5a11), HasTo: true, Input: exec}
		s.root.Children = append(s.root.Children, d)
		s.transfer(s.call(d, safe, scene.Usdc, 0, scene.Input("transfer(address,uint256)", payee, 3_000000)), scene.Usdc, safe, payee, 3_000000)
		refund(s, d)
		s.log(d, safe, "ExecutionSuccess(bytes32,uint256)", []any{1}, 65)
		s.want(want)
	}
	coin := func(to common.Address) func(s *costScene, in *trace.Frame) {
		return func(s *costScene, in *trace.Frame) { s.call(in, safe, to, milliEther, nil) }
	}
	f(1, common.Address{}, common.Address{}, coin(owner),
		"transfer: Sent 3 USDC to 0x9a1e…9a1e, for Safe 0x5afe…5afe; refunded 0.001 ETH for gas to 0xa11c…a11c")
	f(1, common.Address{}, scene.Friend, coin(scene.Friend),
		"transfer: Sent 3 USDC to 0x9a1e…9a1e, for Safe 0x5afe…5afe; refunded 0.001 ETH for gas to 0xf00d…f00d")
	f(1, scene.Usdc, scene.Friend, func(s *costScene, in *trace.Frame) {
		s.transfer(s.call(in, safe, scene.Usdc, 0, scene.Input("transfer(address,uint256)", scene.Friend, 250000)), scene.Usdc, safe, scene.Friend, 250000)
	}, "transfer: Sent 3 USDC to 0x9a1e…9a1e, for Safe 0x5afe…5afe; refunded 0.25 USDC for gas to 0xf00d…f00d")
	f(0, common.Address{}, common.Address{}, coin(owner), // without a price it is no refund
		"transfer: Sent 0.001 ETH and 3 USDC to 2 addresses, for Safe 0x5afe…5afe")
}

// TestFeeInToken: logs of the fee that no frame has are the fee, whether the token moves
// it or burns and mints, on chains that take tokens for it.
func TestFeeInToken(t *testing.T) {
	vault, handler := common.HexToAddress("0x4200000000000000000000000000000000000011"), common.HexToAddress("0xcD437749E43A154C07F3553504c68fBfD56B8778")
	f := func(bare bool, before, after func(s *costScene)) {
		t.Helper()
		s := newCostScene(t, 42220, scene.Usdc, scene.Input("transfer(address,uint256)", payee, 5_000000))
		s.bare = bare
		fee := common.HexToAddress("0x2F25deB3848C207fc8E0c34035B3Ba7fC157602B")
		s.tx.Type, s.tx.FeeCurrency = 0x7b, &fee
		before(s)
		s.transfer(s.root, scene.Usdc, scene.User, payee, 5_000000)
		after(s)
		s.want("transfer: Sent 5 USDC to 0x9a1e…9a1e", "0xa11c…a11c paid a fee of 0.0003 USDC.")
	}
	none := common.Address{}
	burns := func(s *costScene) { s.transfer(nil, scene.Usdc, scene.User, none, 500) }
	mints := func(s *costScene) {
		s.transfer(nil, scene.Usdc, none, scene.User, 200)
		s.transfer(nil, scene.Usdc, none, vault, 100)
		s.transfer(nil, scene.Usdc, none, handler, 200)
	}
	moves := func(s *costScene) {
		s.transfer(nil, scene.Usdc, scene.User, vault, 100)
		s.transfer(nil, scene.Usdc, scene.User, handler, 200)
	}
	for _, bare := range [2]bool{false, true} {
		f(bare, burns, mints)
		f(bare, func(*costScene) {}, moves)
	}
	s := newCostScene(t, 4217, scene.Usdc, scene.Input("transfer(address,uint256)", payee, 5_000000))
	s.tx.Type = 0x76
	s.transfer(s.root, scene.Usdc, scene.User, payee, 5_000000)
	s.transfer(nil, scene.Usdc, scene.User, common.HexToAddress("0xfeec000000000000000000000000000000000000"), 300)
	s.want("transfer: Sent 5 USDC to 0x9a1e…9a1e", "0xa11c…a11c paid a fee of 0.0003 USDC.")
}

// failWith makes a frame, and those that only pass it on, fail with a message.
func failWith(message string, frames ...*trace.Frame) {
	text := make([]byte, (len(message)+31)/32*32)
	copy(text, message)
	out := append(scene.Input("Error(string)", 32, len(message)), text...)
	for _, f := range frames {
		f.Err, f.Output = "execution reverted", out
	}
}

// TestFailedOperation: an operation that failed is told by its reason and by what it
// tried, by any entry point, from the frames or from what the entry point logged.
func TestFailedOperation(t *testing.T) {
	const tail = `; attempted to send 7 USDC to 0x9a1e…9a1e, for smart account 0xacc0…acc0`
	send := scene.Input("transfer(address,uint256)", payee, 7_000000)
	for _, entry := range []common.Address{entryV06, entryV07, entryV08} {
		s := bundle(t, 8453, entry)
		s.operation(entry, wallet, sponsor, true, func(x *trace.Frame) {
			failWith("no funds", x, s.call(x, wallet, scene.Usdc, 0, send))
		}, nil)
		s.payout(entry).want(`transfer: User operation failed: reverted: "no funds"` + tail)
		_, v, _ := s.judge()
		for _, why := range v.Reasons {
			if why.Form == verdict.FailureUnexplained {
				t.Errorf("%s: the failure is not explained", entry)
			}
		}
		if !v.Attempted {
			t.Errorf("%s: no attempt", entry)
		}
	}
	// The account tried coin, or a function that nobody knows.
	s := bundle(t, 137, entryV07)
	s.operation(entryV07, wallet, common.Address{}, true, func(x *trace.Frame) { failWith("closed", x, s.call(x, wallet, game, 3*milliEther, nil)) }, nil)
	s.payout(entryV07).want(`transfer: User operation failed: reverted: "closed"; attempted to send 0.003 POL to 0x6a3e…6a3e, for smart account 0xacc0…acc0`)
	s = bundle(t, 1, entryV07)
	s.operation(entryV07, wallet, common.Address{}, true, func(x *trace.Frame) {
		failWith("closed", x, s.call(x, wallet, game, 0, []byte{0xde, 0xad, 0xbe, 0xef}))
	}, nil)
	s.payout(entryV07).want(`other: User operation failed: reverted: "closed"; attempted to call function 0xdeadbeef of 0x6a3e…6a3e, for smart account 0xacc0…acc0`)
	// There is no trace: the entry point logged the reason, and the calldata hold the call.
	data := func(inner []byte) []byte {
		b := scene.Input("execute(address,uint256,bytes)", scene.Usdc, 0, 96, len(inner))
		return append(append(b, inner...), make([]byte, (64-len(inner)%32)%32)...)
	}(send)
	op := scene.Input(handleV07, 64, scene.User, 1, 32, wallet, 1, 0, 288, 0, 0, 0, 0, 0, len(data))
	s = newCostScene(t, 1, entryV07, append(op, append(data, make([]byte, 64)...)...))
	s.bare = true
	reason := scene.Input("Error(string)", 32, 8)
	reason = append(append(reason, "no funds"...), make([]byte, 24)...)
	s.log(nil, entryV07, "UserOperationRevertReason(bytes32,address,uint256,bytes)", []any{1, wallet}, 1, 64, len(reason))
	last := &s.rc.Logs[0]
	last.Data = append(append(last.Data, reason...), make([]byte, 28)...)
	s.log(nil, entryV07, "UserOperationEvent(bytes32,address,address,uint256,bool,uint256,uint256)", []any{1, wallet, 0}, 1, false, milliEther, 9)
	s.want(`transfer: User operation failed: reverted: "no funds"` + tail)
}

// TestOperationsOneByOne: a bundle tells each account's operation.
func TestOperationsOneByOne(t *testing.T) {
	s := bundle(t, 1, entryV07)
	s.operation(entryV07, wallet, common.Address{}, false, func(x *trace.Frame) {
		s.transfer(s.call(x, wallet, scene.Usdc, 0, scene.Input("transfer(address,uint256)", payee, 7_000000)), scene.Usdc, wallet, payee, 7_000000)
	}, nil)
	s.operation(entryV07, wallet2, sponsor, true, func(x *trace.Frame) {
		failWith("no funds", x, s.call(x, wallet2, scene.Usdc, 0, scene.Input("transfer(address,uint256)", payee, 9_000000)))
	}, nil)
	s.operation(entryV07, scene.Bot, sponsor, false, func(x *trace.Frame) { s.call(x, scene.Bot, game, 0, []byte{0xde, 0xad, 0xbe, 0xef}) }, nil)
	s.payout(entryV07).want(`transfer: Ran 3 user operations, 1 of which failed: 0xacc0…acc0 sent 7 USDC to 0x9a1e…9a1e; ` +
		`0xacc2…acc2 failed to send 9 USDC to 0x9a1e…9a1e (reverted: "no funds"); 0xb070…b070 called function 0xdeadbeef of 0x6a3e…6a3e`)
	if _, v, _ := s.judge(); v.Attempted {
		t.Error("a bundle of which a part succeeded is an attempt")
	}
}

// TestFailedSafe: what a Safe tried and could not do is told the same way.
func TestFailedSafe(t *testing.T) {
	safe := scene.Addr(0x5afe)
	f := func(to common.Address, wei uint64, inner []byte, want string) {
		t.Helper()
		exec := scene.Input("execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)",
			to, int(wei), 320, 0, 9000, 30000, 1, 0, 0, 352, 0, 0)
		s := newCostScene(t, 1, safe, exec)
		failWith("no funds", s.call(s.root, safe, to, wei, inner))
		s.call(s.root, safe, scene.User, milliEther, nil)
		s.log(s.root, safe, "ExecutionFailure(bytes32,uint256)", []any{1}, milliEther)
		s.want(want)
		if a, v, _ := s.judge(); !v.Attempted || len(a.Costs) != 1 || len(a.Out) != 0 {
			t.Errorf("attempted %v, costs %v, out %v", v.Attempted, a.Costs, a.Out)
		}
	}
	const tail = ", for Safe 0x5afe…5afe; refunded 0.001 ETH for gas to 0xa11c…a11c"
	f(scene.Usdc, 0, scene.Input("transfer(address,uint256)", payee, 7_000000),
		`transfer: Safe transaction failed: reverted: "no funds"; attempted to send 7 USDC to 0x9a1e…9a1e`+tail)
	f(payee, 2*milliEther, nil, `transfer: Safe transaction failed: reverted: "no funds"; attempted to send 0.002 ETH to 0x9a1e…9a1e`+tail)
	f(scene.Usdc, 0, scene.Input("approve(address,uint256)", game, 5_000000),
		`approval: Safe transaction failed: reverted: "no funds"; attempted to allow 0x6a3e…6a3e to spend 5 USDC`+tail)
}

// TestSponsor: tokens for the account that paid the fee in the sender's place are no act,
// as on ZKsync where a paymaster takes them before it pays.
func TestSponsor(t *testing.T) {
	const id = 324
	ch, _ := chain.ByID(id)
	native, boot := *ch.Stack.NativeToken(), *ch.Stack.Fee(chain.Latest).Prepaid
	f := func(payer common.Address, want string) {
		t.Helper()
		s := newCostScene(t, id, scene.Usdc, scene.Input("transfer(address,uint256)", payee, 7_000000))
		s.transfer(s.root, native, payer, boot, 900)
		s.transfer(s.root, scene.Usdc, scene.User, sponsor, 20000)
		s.transfer(s.root, scene.Usdc, scene.User, payee, 7_000000)
		s.transfer(s.root, native, boot, payer, 400)
		s.want(want, shortOf(payer)+" paid a fee of 500 wei.")
	}
	f(sponsor, "transfer: Sent 7 USDC to 0x9a1e…9a1e; paid 0.02 USDC for gas to 0x9a57…9a57")
	f(scene.User, "transfer: Sent 7 USDC to 0x9a1e…9a1e; 0.02 USDC went to 0x9a57…9a57 as a fee of the token")
}

// TestSponsorIsPaid: who pays the fee of a customer is paid for something else by what the
// customer's calls send, and for the fee by what it takes itself.
func TestSponsorIsPaid(t *testing.T) {
	ch, _ := chain.ByID(324)
	native, boot := *ch.Stack.NativeToken(), *ch.Stack.Fee(chain.Latest).Prepaid
	f := func(to common.Address, input []byte, pay func(s *costScene) *trace.Frame, cost bool) {
		t.Helper()
		s := newCostScene(t, 324, to, input)
		s.transfer(s.root, native, sponsor, boot, 900)
		s.transfer(pay(s), scene.Usdc, scene.User, sponsor, 7_000000)
		s.transfer(s.root, native, boot, sponsor, 400)
		if a, _, _ := s.judge(); (len(a.Costs) == 1) != cost {
			t.Errorf("costs %+v, want one %t", a.Costs, cost)
		}
	}
	taking := scene.Input("transferFrom(address,address,uint256)", scene.User, sponsor, 7_000000)
	f(scene.Usdc, scene.Input("transfer(address,uint256)", sponsor, 7_000000), func(s *costScene) *trace.Frame { return s.root }, false)
	f(scene.Router, nil, func(s *costScene) *trace.Frame { return s.call(s.root, scene.Router, scene.Usdc, 0, taking) }, false)
	f(scene.Router, nil, func(s *costScene) *trace.Frame { return s.root }, false)
	f(scene.Router, nil, func(s *costScene) *trace.Frame { return nil }, true) // no call of the trace took it
	f(scene.Router, nil, func(s *costScene) *trace.Frame {
		return s.call(s.call(s.root, boot, sponsor, 0, nil), sponsor, scene.Usdc, 0, taking)
	}, true)
}

// TestTokenRefund: the refund of a Safe is what the token that it names moves of the Safe's,
// also behind a proxy that makes other calls; what else moves in that call is none.
func TestTokenRefund(t *testing.T) {
	safe, other := scene.Addr(0x5afe), scene.Addr(0x07e2)
	f := func(token, from common.Address, proxied, want bool) {
		t.Helper()
		s := newCostScene(t, 1, safe, scene.Input("execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)",
			scene.User, 0, 320, 0, 0, 30000, 1, scene.Usdc, scene.Friend, 352, 0, 0))
		s.call(s.root, safe, scene.User, 0, nil)
		pay := s.call(s.root, safe, scene.Usdc, 0, scene.Input("transfer(address,uint256)", scene.Friend, 250000))
		if proxied {
			s.call(pay, scene.Usdc, game, 0, nil)
			code := s.call(pay, scene.Usdc, game, 0, pay.Input)
			code.Kind, pay = trace.DelegateCall, code
		}
		s.transfer(pay, token, from, scene.Friend, 250000)
		s.log(s.root, safe, "ExecutionSuccess(bytes32,uint256)", []any{1}, 65)
		if a, _, _ := s.judge(); (len(a.Costs) == 1) != want {
			t.Errorf("costs %+v, want one %t", a.Costs, want)
		}
	}
	f(scene.Usdc, safe, false, true)
	f(scene.Usdc, safe, true, true)
	f(scene.Usdc, scene.User, false, false)
	f(other, safe, false, false)
}

// TestPaymentsAreNoCosts: what a Safe's own transaction pays who sent it is no refund, and
// what an operation takes out of the entry point for its paymaster is no prefund.
func TestPaymentsAreNoCosts(t *testing.T) {
	safe := scene.Addr(0x5afe)
	s := newCostScene(t, 1, safe, scene.Input("execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)",
		scene.User, milliEther, 320, 0, 9000, 30000, 1, 0, 0, 352, 0, 0))
	s.call(s.root, safe, scene.User, milliEther, nil)
	s.log(s.root, safe, "ExecutionSuccess(bytes32,uint256)", []any{1}, 0)
	if a, _, _ := s.judge(); len(a.Costs) != 0 || len(a.Out) != 1 {
		t.Errorf("costs %v, out %v", a.Costs, a.Out)
	}
	s = bundle(t, 1, entryV07)
	s.operation(entryV07, wallet, sponsor, false, func(x *trace.Frame) {
		out := s.call(x, wallet, entryV07, 0, scene.Input("withdrawTo(address,uint256)", sponsor, 7))
		s.call(out, entryV07, sponsor, 7*milliEther, nil)
	}, nil)
	if a, _, _ := s.payout(entryV07).judge(); len(a.Costs) != 1 {
		t.Errorf("costs %v", a.Costs)
	}
}
