package check_test

import (
	"testing"

	"txlens/engine/trace"
)

// acceptedBy is the question to a contract whether it signed, with its yes.
func acceptedBy(wallet string) *trace.Frame {
	f := view(wallet, "isValidSignature(bytes32,bytes)", 0, 1, 0x40, 0)
	f.Output = append([]byte{0x16, 0x26, 0xba, 0x7e}, make([]byte, 28)...)
	return f
}

// executed is the transaction of a Safe, which the sender brought.
func executed(safe string, inside ...*trace.Frame) *trace.Frame {
	const exec = "execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)"
	f := call(safe, exec, "market", 0, 0x140, 0, 0, 0, 0, "zero", "zero", 0x160, 0, 0)
	f.Children = inside
	return emits(f, "ExecutionSuccess(bytes32,uint256)", nil, 1, 0)
}

// operated is the operation of an account of ERC-4337, which the sender bundled.
func operated(account string, inside ...*trace.Frame) *trace.Frame {
	const handle = "handleOps((address,uint256,bytes,bytes,uint256,uint256,uint256,uint256,uint256,bytes,bytes)[],address)"
	f := call("entrypoint", handle, 0x40, "sender", 0)
	f.Children = inside
	return emits(f, "UserOperationEvent(bytes32,address,address,uint256,bool,uint256,uint256)", []string{"operation", account, "zero"}, 1, 1, 0, 0)
}

// TestOwnBusiness: a Safe whose owners signed what it does gives its assets away; another
// wallet whose order is filled for nothing by a stranger loses them.
func TestOwnBusiness(t *testing.T) {
	f := firing(t)
	fill := func(wallet, to string, more ...*trace.Frame) *trace.Frame {
		x := call("market", "fill_1(bytes)", acceptedBy(wallet), nft("apes", wallet, to, 7), nft("punks", wallet, to, 8))
		x.Children = append(x.Children, more...)
		return x
	}
	f("signed_order!", attackBy(fill("wallet", "tool")))
	f("", attackBy(fill("wallet", "tool", sends("wallet", 5000)))) // paid
	f("", operated("wallet", fill("wallet", "carol")))
	f("", operated("wallet", fill("wallet", "sender")))
	f("signed_order!", operated("other", fill("wallet", "sender"))) // the operation of another
	f("", executed("safe", fill("safe", "sender")))
	f("", executed("safe", fill("safe", "carol")))
	f("", executed("safe", take("dai", "safe", "thief", 800), take("dai", "safe", "partner", 200), take("usdc", "safe", "thief", 800))) // a payroll of its own

	// The same of an account that the sender acts for itself.
	f("", attackBy(fill("sender", "tool")))
	f("", attackBy(fill("tool", "sender")))
}
