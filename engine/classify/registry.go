package classify

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/label"

	"github.com/ethereum/go-ethereum/common"
)

//go:embed registry.tsv
var registryText string

//go:embed deployments.tsv
var deploymentsText string

//go:embed factories.tsv
var factoriesText string

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

// rule4log is one row of the table of events.
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

// rule4call is one row of the table of functions, of callbacks or of errors.
type rule4call struct {
	act       act
	slug      string
	family    string
	signature string
	minOut    int  // word of the calldata that holds the least amount accepted; -1 when none
	own       bool // the text alone names the protocol, whoever stands at the address
	roles     roles
}

// deployment is one row of deployments.tsv.
type deployment struct {
	label.Label
	chains []uint64 // nil: every chain
}

// registry is the parsed tables. It is read-only once made.
type registry struct {
	events      map[common.Hash][]*rule4log
	calls       map[[4]byte]*rule4call
	callbacks   map[[4]byte]*rule4call // what pools and lenders call at their borrower
	errors      map[[4]byte]*rule4call
	deployments map[common.Address][]deployment
	factories   []factory
}

var theRegistry = sync.OnceValue(func() *registry {
	r, err := parseRegistry(registryText, deploymentsText, factoriesText)
	if err != nil {
		panic("classify: embedded tables: " + err.Error()) // a build that fails its tests
	}
	return r
})

func parseRegistry(table, deployments, factories string) (*registry, error) {
	r := &registry{events: map[common.Hash][]*rule4log{}, calls: map[[4]byte]*rule4call{}, callbacks: map[[4]byte]*rule4call{},
		errors: map[[4]byte]*rule4call{}, deployments: map[common.Address][]deployment{}}
	for _, t := range []struct {
		name, text string
		columns    int
		add        func([]string) error
	}{{"registry", table, 9, r.add}, {"deployments", deployments, 5, r.deploy}, {"factories", factories, 6, r.factory}} {
		for n, line := range strings.Split(t.text, "\n") {
			if line == "" || line[0] == '#' {
				continue
			}
			cells := strings.Split(line, "\t")
			if len(cells) != t.columns {
				return nil, fmt.Errorf("%s, line %d: %d columns", t.name, n+1, len(cells))
			}
			if err := t.add(cells); err != nil {
				return nil, fmt.Errorf("%s, line %d: %w", t.name, n+1, err)
			}
		}
	}
	return r, nil
}

// columns of registry.tsv.
const (
	colKind = iota
	colVote
	colSlug
	colFamily
	colIndexed
	colParty
	colFlags
	colSignature
	colRoles
)

func (r *registry) add(cells []string) error {
	hash := evmsig.Hash(cells[colSignature])
	roles, err := parseRoles(cells[colRoles])
	if err != nil {
		return err
	}
	if cells[colKind] != "event" {
		return r.addCall([4]byte(hash[:4]), cells, roles)
	}
	e := &rule4log{act: act(cells[colVote]), slug: cells[colSlug], family: cells[colFamily], indexed: -1, signature: cells[colSignature], roles: roles}
	if cells[colIndexed] != "*" {
		if _, err := fmt.Sscan(cells[colIndexed], &e.indexed); err != nil {
			return fmt.Errorf("read indexed count: %w", err)
		}
	}
	for _, name := range fields(cells[colFlags]) {
		f, ok := flagNames[name]
		if !ok {
			return fmt.Errorf("unknown flag %q", name)
		}
		e.flags |= f
	}
	for _, p := range fields(cells[colParty]) {
		s, err := parseSlot(p)
		if err != nil {
			return err
		}
		e.party = append(e.party, s)
	}
	r.events[hash] = append(r.events[hash], e)
	return nil
}

func (r *registry) addCall(selector [4]byte, cells []string, roles roles) error {
	c := &rule4call{act: act(cells[colVote]), slug: cells[colSlug], family: cells[colFamily], signature: cells[colSignature], minOut: -1, roles: roles}
	c.own = cells[colFlags] == "own"
	if rest, ok := strings.CutPrefix(cells[colFlags], "minout"); ok {
		if _, err := fmt.Sscan(rest, &c.minOut); err != nil {
			return fmt.Errorf("read position of the minimum: %w", err)
		}
	}
	table := map[string]map[[4]byte]*rule4call{"call": r.calls, "callback": r.callbacks, "error": r.errors}[cells[colKind]]
	if table == nil {
		return fmt.Errorf("unknown kind %q", cells[colKind])
	}
	if _, twice := table[selector]; twice {
		return fmt.Errorf("selector of %s twice", c.signature)
	}
	table[selector] = c
	return nil
}

func fields(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

func (r *registry) deploy(cells []string) (err error) {
	if !common.IsHexAddress(cells[0]) {
		return fmt.Errorf("malformed address %q", cells[0])
	}
	d := deployment{Label: label.Label{Name: cells[4], Category: cells[3], Protocol: cells[2], Source: "rules"}}
	if d.chains, err = chainIDs(cells[1]); err != nil {
		return err
	}
	a := common.HexToAddress(cells[0])
	r.deployments[a] = append(r.deployments[a], d)
	return nil
}

// chainIDs reads a comma-separated list; "*" is nil and means every chain.
func chainIDs(list string) (ids []uint64, err error) {
	if list == "*" {
		return nil, nil
	}
	for _, c := range strings.Split(list, ",") {
		var id uint64
		if _, err := fmt.Sscan(c, &id); err != nil {
			return nil, fmt.Errorf("read chain id: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, nil
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
