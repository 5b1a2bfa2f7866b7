package tool

import "slices"

// All returns all tools, sorted by name. The list is the same for every transaction, so
// that a provider's prompt cache can keep it.
func All() []Tool { return slices.Clone(all) }

var all = []Tool{
	callContract, decodeCalldata, getABI, getAccount, getBalances, getNeighbours, getDeals, getFrame, getLabel, getLogs,
	getPrice, getSource, getStateDiff, getStorage, getSubtree, getToken, simulate,
}
