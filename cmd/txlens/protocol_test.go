package main

import "testing"

// protocolCase is one rule of the payment protocol, by its name there.
type protocolCase struct {
	name string
	// run is on a server that others use at the same time, with a payer of its own.
	run func(t *testing.T, s *shop)
	// alone is on a server of its own, whose chain may be made to fail.
	alone func(t *testing.T, s *shop)
	flags []string // of that server
}

// runProtocol runs the cases.
func runProtocol(t *testing.T, cases []protocolCase) {
	shared := newShop(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			switch {
			case c.alone != nil:
				c.alone(t, newShop(t, c.flags...))
			case c.run != nil:
				own := *shared
				own.payer = shared.another(t)
				c.run(t, &own)
			}
		})
	}
}
