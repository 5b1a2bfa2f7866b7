package facts

import (
	"txlens/engine/decode"

	"github.com/ethereum/go-ethereum/common"
)

// Vouched reports whether a table or a verified source says who stands at an address.
func (a *Case) Vouched(who common.Address) bool {
	if x, ok := a.Labels[who]; ok && x.Category != "contract" && !x.Accuses() {
		return true
	}
	if c := a.Contracts[who]; c != nil && c.ABI != nil && c.Source != "" {
		return true
	}
	t, ok := a.Tokens[who]
	return ok && t.Symbol != ""
}

// PublishedCall reports whether the function that a frame calls stands in an ABI that somebody
// published; names of databases that anybody may write to do not count.
func (a *Case) PublishedCall(frame int) bool {
	if a.Decoded == nil || frame >= len(a.Decoded.Calls) || a.Decoded.Calls[frame] == nil {
		return false
	}
	switch a.Decoded.Calls[frame].Provenance {
	case decode.FromVerified, decode.FromVerifiedImpl, decode.FromCurated, decode.FromPackages:
		return true
	}
	return false
}

// CallName is the name of the function that a frame calls; empty where it is not known.
func (a *Case) CallName(frame int) string {
	if a.Decoded == nil || frame >= len(a.Decoded.Calls) || a.Decoded.Calls[frame] == nil {
		return ""
	}
	return a.Decoded.Calls[frame].Name
}
