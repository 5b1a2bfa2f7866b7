package label

import "txlens/engine/explain"

// maxRunes is how much of a string from the chain is kept.
const maxRunes = 200

// Clean makes a string from the chain fit to be shown: see explain.Clean. 200
// characters are kept.
func Clean(s string) string { return explain.Clean(s, maxRunes) }
