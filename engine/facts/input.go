package facts

import (
	"txlens/engine/chain"
	"txlens/engine/decode"
	"txlens/engine/ethrpc"
	"txlens/engine/flow"
	"txlens/engine/label"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// Input is everything the rules may look at. Nothing in it is changed.
type Input struct {
	Chain     *chain.Chain
	Tx        *ethrpc.Transaction
	Receipt   *ethrpc.Receipt
	Block     *ethrpc.Block // may be nil
	Tree      *trace.Tree
	Flow      *flow.Flow
	Decoded   *decode.Set
	Labels    map[common.Address]label.Label
	Tokens    map[common.Address]label.Token
	Contracts map[common.Address]*decode.Contract
	Rules     *Registry // nil: Tables
	Succeeded bool
	Diff      *ethrpc.StateDiff // may be nil; events of control are held against it
	NoLogs    bool              // nobody has the logs: calls must do
	NoReceipt bool              // nothing confirms what calldata and trace show: Receipt is a stand-in

	// Codeless says whether the receiver of the transaction has no code; nil where nobody
	// looked.
	Codeless *bool

	// Neighbours are the transactions around this one in its block; nil where nobody
	// looked at them.
	Neighbours *ethrpc.Neighbours

	// Authorizations are the transaction's own, with what became of each; nil where
	// nobody looked at a state diff.
	Authorizations []decode.Authorization
}
