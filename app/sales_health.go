package app

import (
	"errors"

	"github.com/ethereum/go-ethereum/common"

	"txlens/actors/channel"
	"txlens/transport/admin"
)

// totals sums the channels up for the metrics.
func (s *Sales) totals() admin.ChannelTotals {
	sum := s.Channels.Totals()
	out := admin.ChannelTotals{
		Open: sum.Open, Owing: sum.Owing, Unsettled: sum.Unsettled, Settled: sum.Settled, Lost: sum.Lost,
		Payouts: sum.Payouts, Losses: sum.Losses, Faults: sum.Failed,
	}
	for _, f := range s.Channels.Faults() {
		out.PayeeFaults = append(out.PayeeFaults, admin.PayeeFault{Kind: string(f.Kind), Count: f.Count, Active: f.Active})
	}
	if h := s.Channels.Health(); h != nil {
		out.Health = &admin.Health{Gas: h.Gas, HasKey: h.Key != common.Address{}, ClockAhead: h.Drift}
	}
	return out
}

// blocking are the faults of the payee that make a server not ready.
var blocking = map[channel.PayeeFault]bool{channel.FaultForeign: true, channel.FaultChain: true}

// ready is nil unless the payee has a blocking fault.
func (s *Sales) ready() error { return s.faulty(true) }

// warnings returns the other faults; the server continues with them.
func (s *Sales) warnings() error { return s.faulty(false) }

func (s *Sales) faulty(blocks bool) error {
	var list []error
	for _, f := range s.Channels.Faults() {
		if f.Active && blocking[f.Kind] == blocks {
			list = append(list, errors.New(f.String()))
		}
	}
	return errors.Join(list...)
}
