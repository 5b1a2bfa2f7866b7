package tool

// All is the toolbox, sorted by name: the list is the same for every transaction,
// so that a vendor's prompt cache can keep it.
func All() []Tool { return nil }
