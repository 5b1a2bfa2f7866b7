package label

import (
	"sync"

	"txlens/engine/protocol"

	"github.com/ethereum/go-ethereum/common"
)

type place struct {
	chain   uint64
	address common.Address
}

// curatedLabels are the labels of the contracts of package protocol.
var curatedLabels = sync.OnceValue(func() map[place]Label {
	m := make(map[place]Label)
	for _, p := range protocol.All() {
		slug := p.Slug
		if p.Kind == protocol.Group {
			slug = ""
		}
		for i := range p.Contracts {
			c := &p.Contracts[i]
			if c.Unlabelled {
				continue
			}
			l := Label{Name: c.Name, Category: c.Category, Protocol: slug, Source: ruleCurated}
			if c.Chains == nil {
				m[place{anywhere, c.Address}] = l
			}
			for _, id := range c.Chains {
				m[place{id, c.Address}] = l
			}
		}
	}
	return m
})

// curated looks in the list kept by hand, the chain's own rows first.
func curated(chainID uint64, a common.Address) (Label, bool) {
	m := curatedLabels()
	if l, ok := m[place{chainID, a}]; ok {
		return l, true
	}
	l, ok := m[place{anywhere, a}]
	return l, ok
}
