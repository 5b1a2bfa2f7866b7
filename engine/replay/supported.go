package replay

import (
	"txlens/engine/chain"
	"txlens/engine/evidence"
)

// Supported tells, before anything is asked of a node, whether tx can be
// re-executed by the rules of its chain and block. The error is ErrUnsupported
// with the reason.
func Supported(ch *chain.Chain, blk *evidence.Block, tx *evidence.Transaction) error {
	_, err := newEnvironment(ch, blk, []*evidence.Transaction{tx}, Options{})
	return err
}
