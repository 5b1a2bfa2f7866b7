package slots

import (
	"math"
	"net/netip"

	"github.com/ethereum/go-ethereum/common"
)

// Holder is the party that an analysis runs for. The zero value is an unknown party: only the
// total limits it.
type Holder struct {
	Channel common.Hash
	Payer   common.Address
	Origin  netip.Prefix // network address
	// Network is the network that counts as one party with others, see NetworkOf. The zero
	// value means that it is unknown.
	Network netip.Prefix
	// the payer has paid at least the maximum debt
	Known         bool
	Paid, Deposit uint64 // of the channel, in base units
}

// stranger reports whether the limits for strangers apply to the party.
func (h Holder) stranger() bool { return h.Payer != (common.Address{}) && !h.Known }

// NetworkOf returns the network of an address that counts as one party: the /24 of an IPv4
// address and the /48 of an IPv6 address, because one customer of a provider gets as much. It
// is zero for an address of this host or of a private network, which is that of a proxy and
// says nothing about the client.
func NetworkOf(origin netip.Prefix) netip.Prefix {
	ip := origin.Addr()
	if !origin.IsValid() || ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() {
		return netip.Prefix{}
	}
	bits := 48
	if ip.Is4() {
		bits = 24
	}
	network, _ := ip.Prefix(min(bits, origin.Bits())) // the prefix length is valid for the address
	return network
}

// OriginLimit returns how many of all places one network address may hold, by the limit that is
// set: 0 means no limit. A negative one means a quarter, at least four, for an address that says
// something about the client, see NetworkOf, and no limit for others. Without an address there is
// no limit.
func OriginLimit(limit, total int, origin netip.Prefix) int {
	switch {
	case limit == 0 || !origin.IsValid():
		return math.MaxInt
	case limit > 0:
		return limit
	case !NetworkOf(origin).IsValid():
		return math.MaxInt
	}
	return max(4, total/4)
}

// PartOf is the part of a limit that each of so many servers has, at least one. Those of all servers are
// together at most one for each server more than the limit.
func PartOf(limit, servers int) int {
	if servers <= 1 || limit == math.MaxInt {
		return limit
	}
	return max(1, (limit+servers-1)/servers)
}

// Places are a number of places that payers share. A stranger is a payer that is not Known. The
// load of a party is the number of places of its payer or, if it is a stranger, of the strangers
// in its network, whichever is more. A place is not taken away from its holder, so some are left
// free for parties that hold none. Of t places, of which strangers may hold s:
//
//   - Strangers make a stranger without load wait only while they hold all s places, and at least
//     half of those belong to different payers in different networks. So it takes s/2 payers in
//     s/2 networks, whatever each of them requests, and it ends when the first of their analyses
//     ends.
//   - A stranger with load gets a further place while strangers hold less than half of s, up to
//     a quarter of s, and at least two.
//   - Strangers make a known payer wait for none of the other t-s places.
//   - The last eighth of t is for parties without load. So a payer without load waits for known
//     payers only while they and the strangers hold all t places, and at least t/8 of those belong
//     to different payers.
//
// Where no network is known, the first guarantee is about payers alone. Places are not safe for
// concurrent use.
type Places struct {
	total, share    int // all places, and those that strangers may hold
	used, strangers int // places that are taken, and those of strangers
	payers          map[common.Address]int
	networks        map[netip.Prefix]int // places of strangers
}

// NewPlaces returns places of which strangers may hold a share.
func NewPlaces(total, share int) *Places {
	return &Places{total: total, share: min(max(1, share), total), payers: make(map[common.Address]int), networks: make(map[netip.Prefix]int)}
}

// Fits reports whether a party may take a place now.
func (p *Places) Fits(h Holder) bool {
	load := p.Load(h)
	switch {
	case p.used >= p.total, load > 0 && p.used >= p.total-p.total/8:
		return false
	case !h.stranger():
		return true
	case load > 0:
		return p.strangers < p.share-p.share/2 && load < max(2, p.share/4)
	}
	return p.strangers < p.share
}

// Load returns the load of a party. It is zero for an unknown party.
func (p *Places) Load(h Holder) int {
	switch {
	case h.Payer == (common.Address{}):
		return 0
	case h.Known:
		return p.payers[h.Payer]
	}
	return max(p.payers[h.Payer], p.networks[h.Network])
}

// Take counts a place that Fits. Give it back with the same Holder.
func (p *Places) Take(h Holder) {
	p.used++
	if h.Payer != (common.Address{}) {
		p.payers[h.Payer]++
	}
	if !h.stranger() {
		return
	}
	p.strangers++
	if h.Network.IsValid() {
		p.networks[h.Network]++
	}
}

// Give reverts Take.
func (p *Places) Give(h Holder) {
	p.used--
	drop(p.payers, h.Payer)
	if h.stranger() {
		p.strangers--
		drop(p.networks, h.Network)
	}
}

// Used returns the number of places that are taken, and of those that strangers hold.
func (p *Places) Used() (all, strangers int) { return p.used, p.strangers }

func drop[K comparable](m map[K]int, k K) {
	if m[k]--; m[k] <= 0 {
		delete(m, k)
	}
}
