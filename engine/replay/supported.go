package replay

import (
	"txlens/engine/chain"
	"txlens/engine/ethrpc"
)

// Supported tells, before anything is asked of a node, whether tx can be
// re-executed by the rules of its chain and block. The error is ErrUnsupported
// with the reason.
func Supported(ch *chain.Chain, blk *ethrpc.Block, tx *ethrpc.Transaction) error {
	_, err := newEnvironment(ch, blk, []*ethrpc.Transaction{tx}, Options{})
	return err
}
