package label

import "txlens/engine/api"

// maxRunes is how much of a string from the chain is kept.
const maxRunes = 200

// Clean makes a string from the chain fit to be shown: see api.Clean. 200
// characters are kept.
func Clean(s string) string { return api.Clean(s, maxRunes) }
