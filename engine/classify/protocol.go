package classify

import (
	"txlens/engine/trace"
)

func isCreate(f *trace.Frame) bool { return f.Kind == trace.Create || f.Kind == trace.Create2 }

// protocolOf names the protocol of an opinion, or nothing. An aggregator names the
// whole swap; else the contract that the actor called; else the pools, when they agree.
func (a *analysis) protocolOf(o *opinion) string {
	entry := ""
	if a.hasTo {
		entry = a.protocolAt(a.entry)
	}
	if entry == "permit2" || entry == "safe" {
		entry = ""
	}
	slug, agreed := "", true
	for _, h := range o.hits {
		if h.rule == nil {
			continue
		}
		if h.rule.flags&flagAggregator != 0 && h.slug != "" {
			return h.slug
		}
		switch {
		case h.slug == "":
			agreed = false
		case slug == "":
			slug = h.slug
		case slug != h.slug:
			agreed = false
		}
	}
	switch {
	case o.act == actTransfer || o.act == actApproval || o.act == actWrap || o.act == actUnwrap:
		return ""
	case o.act != actSwap && slug != "" && (agreed || len(o.hits) > 0 && o.hits[0].slug == slug):
		return slug
	case entry == "uniswap" && agreed && slug != "" && o.act == actSwap:
		return slug // the router of all versions; the pools say which
	case entry != "":
		return entry
	case agreed:
		return slug
	}
	if a.call != nil && len(o.hits) == 0 && o.act == a.call.act && !forked[a.call.slug] {
		return a.call.slug
	}
	return ""
}

// forked are the families whose functions many protocols share.
var forked = map[string]bool{"uniswap_v2": true, "uniswap_v3": true, "uniswap": true, "aave": true, "aave_v2": true, "aave_v3": true,
	"compound_v2": true, "compound_v3": true, "lido": true, "curve": true, "zerox": true, "stargate": true, "maker": true}
