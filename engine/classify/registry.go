package classify

import (
	"fmt"
	"slices"
	"sync"

	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/label"
	"txlens/engine/protocol"

	"github.com/ethereum/go-ethereum/common"
)

// flags of a signature.
type flags uint16

const (
	flagOwn        flags = 1 << iota // the text alone names the protocol
	flagFork                         // forks share the text: the emitter must be known to name the protocol
	flagCommon                       // unrelated contracts share the text: counts only from a known emitter
	flagPool                         // the emitter is the pool
	flagVault                        // the emitter is the protocol's one vault for all pools
	flagAggregator                   // names the protocol of the whole swap
	flagIntent                       // the party is the actor, whoever sent the transaction
	flagAlways                       // counts for the actor though it names no party
	flagMasterChef                   // farm layout: (user, pool id)
	flagERC4626
	flagMaker // an order was filled whose maker only the movements show
	flagBrand // of a note: what its emitter does is of this protocol
)

var flagNames = map[string]flags{
	"own": flagOwn, "fork": flagFork, "common": flagCommon, "pool": flagPool, "vault": flagVault,
	"aggregator": flagAggregator, "intent": flagIntent, "always": flagAlways,
	"masterchef": flagMasterChef, "erc4626": flagERC4626, "maker": flagMaker, "brand": flagBrand,
}

// rule4log is what an event says, or a call that stands in for one.
type rule4log struct {
	act       act
	slug      string // protocol, when the text alone or a known emitter tells it; empty for standards
	family    string // what the text alone tells: "uniswap-v2" is also emitted by its forks
	indexed   int    // number of indexed arguments; -1 for any
	party     []slot
	flags     flags
	signature string
	roles     roles
}

// rule4call is what a function or a callback says.
type rule4call struct {
	act       act
	slug      string
	signature string
	minOut    int  // word of the calldata that holds the least amount accepted; -1 when none
	own       bool // the text alone names the protocol, whoever stands at the address
	roles     roles
}

// deployment is what the rules know to stand at an address.
type deployment struct {
	label.Label
	chains []uint64 // nil: every chain
}

// factory is where the pools of a deployer stand.
type factory struct {
	protocol.Factory
	slug string
}

// registry holds the declarations of package protocol by selector, topic and address. It
// is read-only once made.
type registry struct {
	events      map[common.Hash][]*rule4log
	calls       map[[4]byte]*rule4call
	callbacks   map[[4]byte]*rule4call // what pools and lenders call at their borrower
	frames      map[[4]byte]*rule4log  // calls that stand in for events where logs are missing
	payloads    map[[4]byte]payload    // functions that carry other calls
	deployments map[common.Address][]deployment
	factories   []factory
}

var theRegistry = sync.OnceValue(func() *registry {
	r, err := newRegistry(protocol.All())
	if err != nil {
		panic("classify: " + err.Error()) // a build that fails its tests
	}
	return r
})

func newRegistry(list []*protocol.Protocol) (*registry, error) {
	r := &registry{events: map[common.Hash][]*rule4log{}, calls: map[[4]byte]*rule4call{}, callbacks: map[[4]byte]*rule4call{},
		frames: map[[4]byte]*rule4log{}, payloads: map[[4]byte]payload{}, deployments: map[common.Address][]deployment{}}
	for _, p := range list {
		for i := range p.Signatures {
			if err := r.add(p, &p.Signatures[i]); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", p.Slug, p.Signatures[i].Text, err)
			}
		}
		for i := range p.Contracts {
			r.deploy(p, &p.Contracts[i])
		}
		for i := range p.Factories {
			r.factories = append(r.factories, factory{p.Factories[i], p.Slug})
		}
	}
	return r, nil
}

// add enters what a signature says. Errors say nothing that rules read.
func (r *registry) add(p *protocol.Protocol, s *protocol.Signature) (err error) {
	if s.Vote == nil && s.Frame == nil && s.Carries == nil {
		return nil
	}
	hash := evmsig.Hash(s.Text)
	selector := [4]byte(hash[:4])
	if s.Frame != nil {
		if r.frames[selector] != nil {
			return fmt.Errorf("frame declared twice")
		}
		if r.frames[selector], err = newRule(p, s, s.Frame); err != nil {
			return err
		}
	}
	if s.Carries != nil {
		if r.payloads[selector], err = newPayload(s.Carries); err != nil {
			return err
		}
	}
	switch {
	case s.Vote == nil:
		return nil
	case s.Kind == protocol.Event:
		e, err := newRule(p, s, s.Vote)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(r.events[hash], func(o *rule4log) bool { return o.indexed == e.indexed }) {
			return fmt.Errorf("%d indexed arguments declared twice", e.indexed)
		}
		r.events[hash] = append(r.events[hash], e)
		return nil
	case s.Kind == protocol.Function:
		return addCall(r.calls, selector, p, s)
	case s.Kind == protocol.Callback:
		return addCall(r.callbacks, selector, p, s)
	}
	return fmt.Errorf("an error has a vote")
}

// slugIn is the slug that a vote names: none where many share the text.
func slugIn(p *protocol.Protocol, v *protocol.Vote) string {
	if v.Shared || p.Kind != protocol.Named {
		return ""
	}
	return p.Slug
}

func newRule(p *protocol.Protocol, s *protocol.Signature, v *protocol.Vote) (*rule4log, error) {
	e := &rule4log{act: act(v.Act), slug: slugIn(p, v), family: s.Family, indexed: s.Indexed, signature: s.Text, roles: signatureRoles(s)}
	for _, name := range v.Flags {
		f, ok := flagNames[name]
		if !ok {
			return nil, fmt.Errorf("unknown flag %q", name)
		}
		e.flags |= f
	}
	if v.Min != nil {
		return nil, fmt.Errorf("an event has no minimum")
	}
	for _, place := range v.Party {
		e.party = append(e.party, slot(place))
	}
	return e, nil
}

func addCall(table map[[4]byte]*rule4call, selector [4]byte, p *protocol.Protocol, s *protocol.Signature) error {
	v := s.Vote
	c := &rule4call{act: act(v.Act), slug: slugIn(p, v), signature: s.Text, minOut: -1, roles: signatureRoles(s)}
	for _, name := range v.Flags {
		if name != "own" {
			return fmt.Errorf("a function has no flag %q", name)
		}
		c.own = true
	}
	if m := v.Min; m != nil {
		if m.Topic || m.Body || m.Inside != nil {
			return fmt.Errorf("the minimum is no word of the arguments")
		}
		c.minOut = m.N
	}
	if table[selector] != nil {
		return fmt.Errorf("selector declared twice, also by %s", table[selector].signature)
	}
	table[selector] = c
	return nil
}

func (r *registry) deploy(p *protocol.Protocol, c *protocol.Contract) {
	if p.Kind == protocol.Group {
		return // says nothing of a protocol
	}
	r.deployments[c.Address] = append(r.deployments[c.Address],
		deployment{label.Label{Name: c.Name, Category: c.Category, Protocol: p.Slug, Source: "rules"}, c.Chains})
}

// event finds the row for a log: the one with its exact count of indexed arguments,
// else one that takes any. Equal texts with other layouts are other events.
func (r *registry) event(l *ethrpc.Log) *rule4log {
	if len(l.Topics) == 0 {
		return nil
	}
	var any *rule4log
	for _, e := range r.events[l.Topics[0]] {
		if e.indexed == len(l.Topics)-1 {
			return e
		}
		if e.indexed < 0 {
			any = e
		}
	}
	return any
}

// call finds the row for calldata.
func (r *registry) call(input []byte) *rule4call {
	if len(input) < 4 {
		return nil
	}
	return r.calls[[4]byte(input)]
}

// labelOf finds what the rules know to stand at an address of a chain.
func (r *registry) labelOf(chainID uint64, a common.Address) (label.Label, bool) {
	for i := range r.deployments[a] {
		if d := &r.deployments[a][i]; d.chains == nil || slices.Contains(d.chains, chainID) {
			return d.Label, true
		}
	}
	return label.Label{}, false
}
