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

func (s *costScene) judge() (*facts.Reading, *classify.Verdict, narrate.Text) {
	s.t.Helper()
	ch, ok := chain.ByID(s.id)
	if !ok {
		s.t.Fatalf("chain %d is not in the table", s.id)
	}
	tree := &trace.Tree{Source: trace.SourceDebug, Root: s.root, HasLogs: !s.bare}
	tree.Finish()
	in := scene.Compose(ch, s.tx, s.rc, &ethrpc.Block{Number: 1, Timestamp: 1_760_000_000, Miner: scene.Miner, BaseFee: big.NewInt(10)}, tree)
	six := uint8(6)
	in.Tokens[scene.Usdc] = label.Token{Address: scene.Usdc, Symbol: "USDC", Decimals: &six, Listed: true}
	a := facts.Read(in)
	v := classify.Classify(a)
	return a, v, narrate.Describe(a, v)
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
		s.operation(entry, wallet, paymaster, false, func(x *trace.Frame) { s.call(x, wallet, game, 0, scene.Input("f()")) }, nil)
		payer := wallet
		if paymaster != (common.Address{}) {
			payer = paymaster
		}
		s.payout(entry).want("other: Called function 0x26121ff0 of 0x6a3e…6a3e; no tokens moved, for smart account 0xacc0…acc0",
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
