package replay

import (
	"txlens/engine/chain"
	"txlens/engine/ethrpc"
)

// Supported reports, before any request to a node, whether tx can be re-executed by the
// rules of its chain and block. The error is ErrUnsupported with the reason.
func Supported(ch *chain.Chain, blk *ethrpc.Block, tx *ethrpc.Transaction) error {
	_, err := newEnvironment(ch, blk, []*ethrpc.Transaction{tx}, Options{})
	return err
}
