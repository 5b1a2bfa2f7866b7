package tool

import "slices"

// All is the toolbox, sorted by name: the list is the same for every transaction,
// so that a vendor's prompt cache can keep it.
func All() []Tool { return slices.Clone(all) }

var all = []Tool{
	callContract, decodeCalldata, getABI, getAccount, getBalances, getNeighbours, getDeals, getFrame, getLabel, getLogs,
	getPrice, getSource, getStateDiff, getStorage, getSubtree, getToken, simulate,
}
